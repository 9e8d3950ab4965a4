// SPDX-License-Identifier: MIT
//! Input that is wrong, too large, or not meant for a terminal: each is refused in one line that names it.

use crate::common;
use pimlico_model::checkpoint::tiny;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder in which commands run.
struct Bench {
    folder: TempDir,
}

/// Words of a command, without those of a shell.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), bytes).expect("writable");
    }

    fn given(&self, words: &[String], input: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pimlico"))
            .args(words)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        // What it refuses it need not have read.
        let _ = child.stdin.take().expect("piped").write_all(input);
        child.wait_with_output().expect("it ends")
    }

    fn run(&self, line: &str) -> Output {
        self.given(&words(line), b"")
    }

    /// The one line that is said of a command that is refused.
    fn refused(&self, line: &str) -> String {
        refusal(line, &self.run(line))
    }

    fn printed(&self, line: &str) -> String {
        let output = self.run(line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{line}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn json(&self, line: &str) -> Value {
        common::document(self.printed(&format!("{line} --json")).as_bytes())
    }
}

fn refusal(line: &str, output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).expect("text");
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    assert!(output.stdout.is_empty(), "{line}");
    assert_eq!(said.lines().count(), 1, "{line}: {said}");
    said
}

/// A `config.json` of small sizes, but for some keys.
fn config(keys: &[(&str, u64)]) -> String {
    let mut config = serde_json::json!({
        "model_type": "llama", "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 32, "head_dim": 8
    });
    for &(key, value) in keys {
        config[key] = value.into();
    }
    config.to_string()
}

const LARGEST: u64 = 1 << 24;

#[test]
fn shapes_of_a_file_are_refused_by_its_name_and_keys() {
    let bench = Bench::new();
    bench.write("wide.json", config(&[("head_dim", LARGEST)]));
    bench.write("ffn.json", config(&[("intermediate_size", LARGEST), ("hidden_size", LARGEST)]));
    bench.write(
        "heads.json",
        config(&[
            ("num_attention_heads", LARGEST),
            ("num_key_value_heads", LARGEST),
            ("num_hidden_layers", LARGEST),
        ]),
    );
    for (line, expected) in [
        (
            "run l3 fc --config wide.json",
            "wide.json: head_dim: 16777216: the device takes 1 to 256",
        ),
        ("run aim fc --config wide.json", "wide.json: head_dim: 16777216"),
        ("run l3 attention --config wide.json", "wide.json: head_dim: attention: head dimension"),
        (
            "run l3 fc --config ffn.json",
            "ffn.json: intermediate_size, hidden_size: ffn1: matrix of",
        ),
        ("run l3 attention --config heads.json --heads 16777216", "heads.json: rank 0 of 1"),
        (
            "run l3 attention --config heads.json --heads 16777216 --timing-only",
            "heads.json: rank 0 of",
        ),
        (
            "run l3 layer --config heads.json",
            "heads.json: num_attention_heads, num_key_value_heads,",
        ),
    ] {
        let said = bench.refused(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
    // A dimension that is given is not the file's.
    let said = bench.refused("run l3 attention --config heads.json --head-dim 257");
    assert!(said.starts_with("pimlico: attention: head dimension 257"), "{said}");
}

/// A command with so many KB of address space.
#[cfg(target_os = "linux")]
fn limited(kilobytes: u64, line: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_pimlico");
    let script = format!("ulimit -v {kilobytes}; exec {program} {line}");
    Command::new("sh").args(["-c", &script]).output().expect("a shell")
}

#[cfg(target_os = "linux")]
#[test]
fn what_this_machine_has_no_memory_for_is_refused_before_it_is_made() {
    for (line, what) in [
        ("run l3 gemv --rows 32768 --cols 32768", "gemv: "),
        ("run l3 gemv --rows 32768 --cols 32768 --channels 2 --threads 2", "gemv: "),
        ("run aim gemv --rows 65536 --cols 65536", "gemv: "),
        ("run l3 attention --context 1000000", "attention: "),
        ("run l3 layer --model gpt-175b --context 60", "qkv, attention, projection, ffn1, ffn2: "),
        ("sweep io-buffers --contexts 64 --tp 1 --model qwen1.5-72b", "ffn1: "),
    ] {
        let output = limited(900_000, line);
        let said = refusal(line, &output);
        assert!(said.starts_with(&format!("pimlico: {what}")), "{line}: {said}");
        assert!(said.contains("bytes of this machine's memory, there are "), "{line}: {said}");
    }
    let output = limited(900_000, "run l3 gemv --rows 64 --cols 64");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_small_header_asks_for_no_memory() {
    let bench = Bench::new();
    let header = |sizes: [i32; 7]| sizes.into_iter().flat_map(i32::to_le_bytes).collect::<Vec<_>>();
    let most = i32::MAX;
    bench.write("a.bin", header([most - 1, most, most, 1, 1, most, most]));
    bench.write("t.bin", tiny::TOKENIZER);
    let said = bench.refused("run l3 decode --weights a.bin --tokenizer t.bin");
    assert!(said.contains("a.bin: byte 28: 0 bytes of weights, expected "), "{said}");
}

#[test]
fn the_longest_context_that_is_provided_for_is_no_shorter_than_one_that_is_there() {
    let bench = Bench::new();
    let said = bench.refused("run l3 attention --context 20,200 --context-max 100");
    assert!(said.contains("--context-max 100: expected 200 or more, the longest of"), "{said}");
    bench.printed("run l3 attention --context 20 --context-max 20");
}

#[test]
fn the_limit_of_a_context_is_the_first_that_holds() {
    let bench = Bench::new();
    for context in ["4294967296", "16777217", "4000000"] {
        let said = bench.refused(&format!("run l3 attention --context {context}"));
        assert!(said.trim_end().contains("1048575") && !said.contains("16777216"), "{said}");
    }
}

#[test]
fn weights_that_binary16_does_not_hold_are_told_by_file_and_tensor() {
    let bench = Bench::new();
    let mut weights = tiny::WEIGHTS.to_vec();
    // Behind the header of seven numbers, the embedding of 96 x 32 and three attention norms of 32: wq.
    let at = 28 + 4 * (96 * 32 + 3 * 32 + 2 * 32 + 5);
    weights[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    bench.write("w.bin", &weights);
    bench.write("t.bin", tiny::TOKENIZER);
    let said = bench.refused("run l3 decode --weights w.bin --tokenizer t.bin");
    let expected = "w.bin: wq of layer 0, row 2, column 5: weight NaN, expected one that binary16";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_fault_stops_no_other_request() {
    let bench = Bench::new();
    bench.printed("dpa build --op gemv --rows 16 --cols 32 --text -o a.txt");
    bench.write("rows", "3 0 7\n");
    let output = bench.run("dpa expand a.txt --tcur 0=1,3=1 --va2pa rows --json");
    assert_eq!(output.status.code(), Some(1));
    let document = common::document(&output.stdout);
    let [first, second] = [0, 1].map(|n| &document["requests"][n]);
    assert!(first["fault"]["fault"].as_str().is_some_and(|fault| fault.contains("Va2Pa miss")));
    assert_eq!((&first["complete"], &second["complete"]), (&false.into(), &true.into()));
    assert!(
        second["fault"].is_null() && !second["commands"].as_array().expect("a list").is_empty()
    );
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("request 0: Va2Pa miss") && !said.contains("request 3"), "{said}");
}

#[test]
fn models_have_one_set_of_names() {
    let bench = Bench::new();
    let sweep = "sweep batch --system l3 --memory 512 --requests 2 --max-context 40960 --model";
    bench.printed(&format!("{sweep} llama-3.1-8b"));
    bench.printed(&format!("{sweep} Qwen3-8B"));
    let capitals = bench.printed("run l3 attention --context 20 --model Llama-3.1-8B");
    assert!(capitals.starts_with("attention of llama-3.1-8b on l3"), "{capitals}");
    let commands =
        ["run l3 fc", "sweep batch", "sweep groups", "sweep io-buffers", "sweep programs"];
    for command in commands {
        let said = bench.refused(&format!("{command} --model llama3.1-8b"));
        assert!(said.contains("the nearest: llama-3.1-8b,"), "{command}: {said}");
        assert!(said.contains("--help` lists all"), "{command}: {said}");
    }
}

#[test]
fn a_units_defaults_have_one_name() {
    let output = Bench::new().run("estimate area fp_max:");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("no such unit"), "{said}");
    assert!(Bench::new().refused("estimate area fp_max::").contains("fp_max::: no such unit"));
}

#[test]
fn negative_numbers_are_told_by_their_flag() {
    let bench = Bench::new();
    for (line, flag) in [
        ("run l3 attention --seed -1", "--seed"),
        ("run l3 decode --temperature -1", "--temperature"),
        ("run aim attention --context -5", "--context"),
        ("sweep batch --memory -8", "--memory"),
        ("sweep numerics --head-dim -128", "--head-dim"),
    ] {
        let said = bench.refused(line);
        assert!(said.contains(&format!("for '{flag} <")), "{line}: {said}");
    }
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let bench = Bench::new();
    let said = refusal("fp", &bench.given(&words("fp add"), b"3C00 \x1b[31mX\n"));
    assert!(said.contains("`\\x1b[31mX`"), "{said:?}");
    let name = "x\x1b[31m\u{9b}\u{202e}.toml";
    for line in [
        ["device", "check", name].as_slice(),
        &["device", "show", name],
        &["dpa", "disassemble", name],
        &["run", "l3", "attention", "--config", name],
        &["run", "l3", "attention", name],
        &["run", "l3", "attention", "--model", name],
        &["run", "l3", "decode", "--prompt", "\x1b[31m\x7f", "--tokens", "1"],
    ] {
        let line: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        let output = bench.given(&line, b"");
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            let is_plain = |c: char| !c.is_control() && c != '\u{202e}' || c == '\n';
            assert!(text.chars().all(is_plain), "{line:?}: {text:?}");
        }
    }
}

#[test]
fn long_words_of_input_are_cut() {
    let bench = Bench::new();
    let long = "x".repeat(100_000);
    bench.write("c.json", config(&[]).replace("llama", &long));
    bench.write("long.txt", format!("{long}\n"));
    for line in [
        "run l3 fc --config c.json".to_owned(),
        "dpa assemble long.txt a.bin".to_owned(),
        format!("run l3 attention --model {long}"),
        format!("run l3 attention --{long}"),
        format!("device check {}", &long[..200]),
        "estimate area fp_max --clock 1e300".to_owned(),
        "estimate area fp_max --clock 1e-300".to_owned(),
        "estimate power --clock 1e300".to_owned(),
        "estimate area --fo4 1e300".to_owned(),
    ] {
        let said = bench.refused(&line);
        assert!(said.len() < 1500, "{line:.60}: {said}");
    }
    let said = bench.refused("estimate area fp_max --clock 1e-300");
    assert!(said.contains("--clock 1e-300: expected 0.001 to 1000000 ns"), "{said}");
}

#[test]
fn words_behind_operands_are_refused() {
    let bench = Bench::new();
    for (line, input) in [
        ("fp recip", "3C00 zz\n"),
        ("fp add", "3C00 3C00 00\n"),
        ("fp add --check", "3C00 3C00 4000 00 more\n"),
        ("fp recip 3C00 zz", ""),
    ] {
        refusal(line, &bench.given(&words(line), input.as_bytes()));
    }
}

#[test]
fn lists_take_commas_and_several_values() {
    let bench = Bench::new();
    let commas = bench.printed("sweep programs --contexts 64,128");
    assert_eq!(bench.printed("sweep programs --contexts 64 128"), commas);
    assert_eq!(bench.printed("sweep programs --contexts 64 --contexts 128"), commas);
    let spaces = bench.json("run l3 attention --context 20 30 --seed 2");
    assert_eq!(spaces["contexts"], serde_json::json!([20, 30]));
    for command in ["sweep batch", "sweep numerics", "run aim attention"] {
        let help = bench.printed(&format!("{command} --help"));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("several with commas or spaces between them"), "{help}");
    }
}

#[test]
fn a_table_of_several_is_printed_alone() {
    let bench = Bench::new();
    let all = bench.printed("run l3 attention --context 20 --format csv");
    let tables: Vec<_> = all.split("\n\n").collect();
    assert!(tables.len() > 2);
    for (number, table) in (1..).zip(&tables) {
        let line = format!("run l3 attention --context 20 --format csv --table {number}");
        assert_eq!(bench.printed(&line).trim_end(), table.trim_end());
    }
    let count = tables.len();
    let said = bench.refused("run l3 attention --context 20 --format csv --table 99");
    assert!(said.contains(&format!("--table 99: expected 1 to {count}")), "{said}");
    bench.refused("device list --format json --table 1");
    bench.refused("device list --json --table 1");
}

#[test]
fn documents_of_all_operators_have_the_same_keys() {
    let bench = Bench::new();
    let gemv = bench.json("run l3 gemv --rows 9 --cols 9");
    assert!(gemv.as_object().expect("an object").contains_key("model") && gemv["model"].is_null());
    let of = |line: &str| bench.json(&format!("{line} --model llama-3.2-1b --context 20"));
    for report in [of("run l3 attention"), of("run l3 layer --timing-only")] {
        let keys = (&report["contexts"], &report["model"], report.get("context"));
        assert_eq!(keys, (&serde_json::json!([20]), &"llama-3.2-1b".into(), None));
    }
}
