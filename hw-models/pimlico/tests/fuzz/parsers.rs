// SPDX-License-Identifier: MIT
//! Families of files that are read in this process, by every parser that a command has.

use crate::mutation::{changed, mutations};
use crate::{Family, Finding, RUNNING, Shows, memory};
use pimlico_device::spd::{Description, Spd, Values};
use pimlico_device::{Config, DeviceSpec, SystemKind};
use pimlico_dpa::{Expansion, Request, Tables, assemble, disassemble};
use pimlico_estimate::power::netlist::Netlist;
use pimlico_estimate::{Library, NANGATE45_AREAS};
use pimlico_host::program;
use pimlico_model::checkpoint::config::Config as ModelConfig;
use pimlico_model::checkpoint::index::Index;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, safetensors};
use pimlico_model::small;
use proptest::prelude::*;
use proptest::sample::Index as Place;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::fmt::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that reading a file may take; all files are small.
const MOST: usize = 1 << 30;
/// Simplifications of a case that is told, and what they may take.
const SIMPLER: usize = 300;
const LONGEST: Duration = Duration::from_secs(3);
/// Dispatched commands of a program that are looked at.
const DISPATCHED: usize = 2000;

/// A parser: its name, files that it takes, and how one of them becomes one that it must refuse.
struct Parser {
    name: &'static str,
    files: Vec<Vec<u8>>,
    wrong: fn(&[u8], Place) -> Vec<u8>,
    /// Whether a file is accepted, or what is wrong with how it was read.
    read: fn(&[u8]) -> Result<bool, String>,
}

/// The families.
pub fn families() -> Vec<Family> {
    parsers().into_iter().map(family).collect()
}

fn parsers() -> Vec<Parser> {
    let device = |name: &&str| DeviceSpec::built_in(name).expect("built in").to_toml().into_bytes();
    let devices: Vec<_> = DeviceSpec::names().collect();
    let images = [Values::Honest, Values::Spoofed];
    let image = |values| Description::of(&Config::ddr4_3200()).image(values).expect("an image");
    let (index, _) = small::shards(&small::tensors(), "F16");
    let words = |text: &String| {
        let words = assemble(text).expect("a program");
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    };
    let texts = program_texts();
    let parser = |name, files, wrong, read| Parser { name, files, wrong, read };
    vec![
        parser("config", vec![small::CONFIG.into(), small::QWEN3.into()], cut_json, |text| {
            let Ok(config) = ModelConfig::read(text) else { return Ok(false) };
            let _ = (config.model(), config.ties_embeddings(), config.arithmetic());
            Ok(true)
        }),
        parser("safetensors", ["F16", "BF16", "F32"].map(small::safetensors).into(), cut, |file| {
            let config = ModelConfig::read(small::CONFIG.as_bytes()).expect("a config");
            Ok(safetensors::read(file, &config).is_ok())
        }),
        parser("index", vec![index.into()], cut_json, read_index),
        parser("llama2c", [false, true].map(small::llama2c).into(), cut, |file| {
            Ok(llama2c::read(file).is_ok())
        }),
        parser("tokenizer-bin", vec![small::tokenizer()], cut, |file| {
            let tokenizer = Tokenizer::read(file, small::VOCAB);
            Ok(tokenizer.is_ok_and(|tokenizer| uses(&tokenizer)))
        }),
        #[cfg(feature = "hf-tokenizers")]
        parser("tokenizer-json", vec![small::TOKENIZER_JSON.into()], cut_json, read_hugging_face),
        parser(
            "device",
            devices.iter().map(device).collect(),
            |text, _| [text, b"\n[nothing]\nkey = 1\n"].concat(),
            read_device,
        ),
        parser("spd", images.map(|values| image(values).as_bytes().to_vec()).into(), cut, |file| {
            let Ok(advertised) = Spd::parse(file) else { return Ok(false) };
            let _ = (advertised.values(), advertised.true_timing());
            let _ = advertised.module.density_mbit();
            Ok(true)
        }),
        parser(
            "dpa-text",
            texts.iter().map(|text| text.clone().into_bytes()).collect(),
            |text, at| spliced_line(text, at, "no_such_command row=1"),
            |text| str::from_utf8(text).map_or(Ok(false), read_program),
        ),
        parser("dpa-words", texts.iter().map(words).collect(), cut_words, |file| {
            let (words, rest) = file.as_chunks();
            if !rest.is_empty() {
                return Ok(false);
            }
            let words: Vec<_> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let _ = disassemble(&words);
            Ok(dispatches(&words))
        }),
        parser("liberty", vec![NANGATE45_AREAS.into(), SMALL_LIBRARY.into()], cut_braces, |text| {
            Ok(Library::from_text(Path::new("fuzzed.lib"), text.to_vec()).is_ok())
        }),
        parser(
            "netlist",
            vec![SMALL_NETLIST.into()],
            |text, _| replaced(text, "endmodule", ""),
            |text| str::from_utf8(text).map_or(Ok(false), |text| Ok(Netlist::parse(text).is_ok())),
        ),
    ]
}

/// A library with timing.
const SMALL_LIBRARY: &str = r#"library (small) {
  time_unit : "1ns"; capacitive_load_unit (1, pf); nom_voltage : 1.8;
  lu_table_template (t) { variable_1 : input_net_transition; variable_2 : total_output_net_capacitance;
    index_1 ("0.1, 0.2"); index_2 ("0.01, 0.02"); }
  cell (NAND2X1) { area : 12; pin (A) { direction : input; capacitance : 0.01; }
    pin (B) { direction : input; capacitance : 0.01; }
    pin (Y) { direction : output; function : "!(A B)"; max_capacitance : 0.5;
      timing () { related_pin : "A"; cell_rise (t) { values ("0.1, 0.2", "0.2, 0.3"); } } } }
  cell (INVX1) { area : 8; pin (A) { direction : input; capacitance : 0.01; }
    pin (Y) { direction : output; function : "!A"; } }
  cell (DFFPOSX1) { area : 40; ff (IQ, IQN) { next_state : "D"; clocked_on : "CLK"; }
    pin (D) { direction : input; } pin (CLK) { direction : input; clock : true; }
    pin (Q) { direction : output; function : "IQ"; } }
}
"#;

/// A netlist as Yosys writes it.
const SMALL_NETLIST: &str = r"/* by hand */
module small(a, clk_i, y);
  input [1:0] a;
  wire [1:0] a;
  input clk_i;
  output [2:0] y;
  wire \n.x[3] ;
  NAND2X1 _1_ ( .A(a[0]), .B(\n.x[3] ), .Y(y[0]) );
  INVX1 \u.inv  ( .A(1'h1), .Y(\n.x[3] ) );
  assign y[2:1] = { a[1], 1'h0 };
endmodule
";

/// Programs of attention and of a matrix, as text.
fn program_texts() -> Vec<String> {
    use pimlico_device::SumFormat;
    use pimlico_device::gemv::{IoBuffers, MatrixLayout};
    use pimlico_device::mapping::HeadLayout;
    use program::attention::{Passes, attention};
    let config = Config::ddr4_3200();
    let layout = HeadLayout::new(&config, 128, 4096, 0).expect("a layout");
    let matrix = MatrixLayout::new(&config, 64, 512).expect("a layout");
    let programs = [
        attention(&layout, 1, SumFormat::Binary16, Passes::One),
        attention(&layout, 4, SumFormat::Binary32, Passes::Several),
        program::gemv::gemv(&matrix, IoBuffers::PingPong),
    ];
    programs.map(|program| disassemble(&program.words().expect("words"))).into()
}

fn read_index(text: &[u8]) -> Result<bool, String> {
    let Ok(index) = Index::read(text) else { return Ok(false) };
    let config = ModelConfig::read(small::CONFIG.as_bytes()).expect("a config");
    let (_, files) = small::shards(&small::tensors(), "F16");
    let file = |name: &String| {
        let number = small::SHARDS.iter().position(|shard| shard == name)?;
        Some(files[number].clone())
    };
    let Some(shards) = index.shards().iter().map(file).collect::<Option<Vec<_>>>() else {
        let _ = index.unreadable(&index.shards()[0], "not there");
        return Ok(false);
    };
    Ok(safetensors::read_shards(&shards, &index, &config).is_ok())
}

/// Encodes and decodes with a tokenizer.
fn uses(tokenizer: &Tokenizer) -> bool {
    for text in ["", "a", "ab cd é", "\u{1F600} a"] {
        if let Ok(tokens) = tokenizer.encode(text) {
            let _ = tokenizer.decode(&tokens);
        }
    }
    let _ = tokenizer.decode(&(0..tokenizer.tokens()).collect::<Vec<_>>());
    let _ = tokenizer.ends();
    true
}

#[cfg(feature = "hf-tokenizers")]
fn read_hugging_face(text: &[u8]) -> Result<bool, String> {
    use pimlico_model::checkpoint::tokenizer::hugging_face::{HuggingFaceTokenizer, SpecialTokens};
    let _ = SpecialTokens::read(text);
    let special = SpecialTokens::read(br#"{"bos_token_id": 0, "eos_token_id": 1}"#);
    let special = special.map_err(|error| error.to_string())?;
    let tokenizer = HuggingFaceTokenizer::read(text, &special, 10);
    Ok(tokenizer.is_ok_and(|tokenizer| uses(&Tokenizer::HuggingFace(Box::new(tokenizer)))))
}

/// A device, which is written as it was read, and for which there is an image.
fn read_device(text: &[u8]) -> Result<bool, String> {
    let Ok(text) = str::from_utf8(text) else { return Ok(false) };
    let _ = Description::parse(text);
    let Ok(spec) = DeviceSpec::parse(text) else { return Ok(false) };
    let again = DeviceSpec::parse(&spec.to_toml()).map_err(|e| format!("as written: {e}"))?;
    if again != spec {
        return Err("what is written is read as another device".to_owned());
    }
    let config = spec.config();
    let _ = (spec.options(), spec.topology());
    match spec.system {
        SystemKind::L3 => drop(Description::of(&config).image(Values::Spoofed)),
        SystemKind::Aim => drop(spec.aim_options()),
        _ => {}
    }
    Ok(true)
}

/// A program, which is the same once it was disassembled.
fn read_program(text: &str) -> Result<bool, String> {
    let Ok(words) = assemble(text) else { return Ok(false) };
    let shown = disassemble(&words);
    match assemble(&shown) {
        Ok(again) if again == words => {
            dispatches(&words);
            Ok(true)
        }
        Ok(_) => Err("assembled, disassembled and assembled it is another program".to_owned()),
        Err(error) => Err(format!("disassembled it cannot be assembled: {error}")),
    }
}

/// Whether what a program dispatches is without a fault, as far as it is looked at.
fn dispatches(words: &[u64]) -> bool {
    let mut tables = Tables::default();
    tables.requests[0] = Request { tokens: 700, ..Request::default() };
    Expansion::new(words, &tables, 0).take(DISPATCHED).all(|dispatched| dispatched.is_ok())
}

/// A file that ends early.
fn cut(file: &[u8], at: Place) -> Vec<u8> {
    file[..at.index(file.len())].to_vec()
}

/// A document that ends before its last brace.
fn cut_json(text: &[u8], at: Place) -> Vec<u8> {
    cut(text.trim_ascii_end(), at)
}

/// A library that ends before its last brace.
fn cut_braces(text: &[u8], at: Place) -> Vec<u8> {
    cut(text.trim_ascii_end(), at)
}

/// Words of which the last is not whole.
fn cut_words(file: &[u8], at: Place) -> Vec<u8> {
    let mut bytes = cut(file, at);
    if bytes.len().is_multiple_of(8) {
        bytes.push(1);
    }
    bytes
}

fn spliced_line(text: &[u8], at: Place, line: &str) -> Vec<u8> {
    let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
    lines.insert(at.index(lines.len()), line.as_bytes());
    lines.join(&b'\n')
}

fn replaced(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    String::from_utf8_lossy(text).replace(from, to).into_bytes()
}

/// What is wrong with how a file was read, if anything.
fn judge(parser: &Parser, file: &[u8], is_wrong: bool) -> Option<String> {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Shows::File(file.to_vec());
    let read = || panic::catch_unwind(AssertUnwindSafe(|| (parser.read)(file)));
    let (read, bytes) = memory::most(read);
    let mut what = match read {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            format!("a panic: {}", text.unwrap_or("no words"))
        }
        Ok(Err(what)) => what,
        Ok(Ok(true)) if is_wrong => "accepted, though it is wrong".to_owned(),
        Ok(Ok(_)) => String::new(),
    };
    if bytes > MOST {
        let _ = write!(what, " {bytes} bytes of memory for a file of {}", file.len());
    }
    Some(what).filter(|what| !what.is_empty())
}

fn family(parser: Parser) -> Family {
    let parser = Arc::new(parser);
    let shared = Arc::clone(&parser);
    Family::parsed(parser.name, move |runner| case(&shared, runner))
}

/// A case: one in four is wrong by construction, the others are changed in some way.
fn case(parser: &Parser, runner: &mut TestRunner) -> Result<(), Finding> {
    let cases = (any::<Place>(), 0..4u8, any::<Place>(), mutations());
    let mut tree = cases.new_tree(runner).expect("no case is refused");
    let made = |(file, kind, at, mutations): (Place, u8, Place, Vec<_>)| {
        let file = &parser.files[file.index(parser.files.len())];
        match kind {
            0 => ((parser.wrong)(file, at), true),
            _ => (changed(file, &mutations), false),
        }
    };
    let (mut file, is_wrong) = made(tree.current());
    let Some(mut what) = judge(parser, &file, is_wrong) else { return Ok(()) };
    let begun = Instant::now();
    for _ in 0..SIMPLER {
        if begun.elapsed() > LONGEST || !tree.simplify() {
            break;
        }
        let (simpler, is_wrong) = made(tree.current());
        match judge(parser, &simpler, is_wrong) {
            Some(found) => (file, what) = (simpler, found),
            None if !tree.complicate() => break,
            None => {}
        }
    }
    Err(Finding { what, shows: Shows::File(file) })
}
