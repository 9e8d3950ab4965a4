// SPDX-License-Identifier: MIT
//! What testers have found before: each finding that is an input is a case for ever.

use crate::child::Case;
use pimlico_dpa::assemble;
use pimlico_model::small;
use std::process::Command;

/// A program of a request: a row of scores.
pub const PROGRAM: &str = "\
wr_shared word=0
loop 2 {
    mac_score row=0+1@1 column=0 first last opens@1
    rd_result word=0 place=0+16@1 first@1
}
close_all
end
";

/// The program of a matrix of 40 x 100 on two channels of an AiM.
pub const AIM_PROGRAM: &str = "\
wr_shared word=7
loop 2 {
    mac_score column=0+7@1 word=7 first last opens@1
    rd_result place=0+32@1 first
}
close_all
end
";

/// The image of the built-in model in a small memory.
pub fn lp5_image() -> Vec<u8> {
    let words = ["layout", "convert", "-o", "-", "--map", "row:8 bank:1 col:5 byte:5"];
    let converted = Command::new(env!("CARGO_BIN_EXE_pimlico")).args(words).output();
    converted.expect("it runs").stdout
}

/// A finding of the past.
pub struct Past {
    /// The number that testers gave it, and what it was.
    pub name: &'static str,
    pub case: Case,
    /// Exit statuses that are right.
    statuses: &'static [i32],
    /// What the message says.
    says: &'static [&'static str],
    /// What it does not.
    never: &'static [&'static str],
    /// Bytes of it, at the most.
    longest: usize,
    /// Files that are there before, and are as they were behind it.
    kept: &'static [&'static str],
}

/// Bytes of a message, at the most.
const LONGEST: usize = 8000;

/// Findings that are not mended yet: with `FUZZ_OPEN` set they run and are told, and they fail nothing.
pub const OPEN: [&str; 0] = [];

impl Past {
    /// What is not as it should be.
    pub fn judge(&self) -> Result<(), String> {
        let ended = self.case.judge()?;
        let stderr = &ended.stderr;
        if !ended.status.is_some_and(|status| self.statuses.contains(&status)) {
            let (got, expected) = (ended.status, self.statuses);
            return Err(format!("status {got:?}, expected one of {expected:?}: {stderr:.300}"));
        }
        if let Some(text) = self.says.iter().find(|text| !stderr.contains(**text)) {
            return Err(format!("{text:?} is not in: {stderr:.300}"));
        }
        if let Some(text) = self.never.iter().find(|text| stderr.contains(**text)) {
            return Err(format!("{text:?} is in: {stderr:.300}"));
        }
        if stderr.len() > self.longest {
            return Err(format!("a message of {} bytes: {stderr:.300}", stderr.len()));
        }
        for name in self.kept {
            let before = self.case.files.iter().find(|(other, _)| other == name);
            if !before.is_some_and(|before| ended.files.contains(before)) {
                return Err(format!("{name} is not what it was"));
            }
        }
        Ok(())
    }
}

/// A finding whose command is refused.
fn refused(name: &'static str, line: &str) -> Past {
    let case = Case { is_wrong: true, ..Case::of(line) };
    Past { name, case, statuses: &[2], says: &[], never: &["\u{1b}"], longest: LONGEST, kept: &[] }
}

impl Past {
    fn file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.case.files.push((name.to_owned(), bytes.into()));
        self
    }

    fn input(mut self, bytes: &[u8]) -> Self {
        self.case.input = bytes.to_vec();
        self
    }

    fn says(self, says: &'static [&'static str]) -> Self {
        Self { says, ..self }
    }

    fn never(self, never: &'static [&'static str]) -> Self {
        Self { never, ..self }
    }

    fn statuses(mut self, statuses: &'static [i32]) -> Self {
        self.case.is_wrong = !statuses.contains(&0);
        Self { statuses, ..self }
    }

    fn keeps(self, kept: &'static [&'static str]) -> Self {
        Self { kept, ..self }
    }

    fn words(mut self, words: &[&str]) -> Self {
        self.case.words.extend(words.iter().map(|word| (*word).to_owned()));
        self
    }

    fn leaves(mut self, output: &str) -> Self {
        self.case.outputs.push(output.to_owned());
        self
    }
}

/// The program of an operator, as `dpa build` spells it, with a text of it replaced.
fn changed_program(
    program: &pimlico_host::program::Program,
    line: usize,
    from: &str,
    to: &str,
) -> String {
    let text = pimlico_dpa::disassemble(&program.words().expect("words"));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    assert!(lines[line].contains(from), "{from:?} in {:?}", lines[line]);
    lines[line] = lines[line].replace(from, to);
    lines.join("\n") + "\n"
}

/// The attention and the matrix of which one number is another.
fn changed_programs() -> [String; 2] {
    use pimlico_device::gemv::{IoBuffers, MatrixLayout};
    use pimlico_device::mapping::HeadLayout;
    use pimlico_device::{Config, SumFormat};
    use pimlico_host::program::attention::{Passes, attention};
    use pimlico_host::program::gemv::gemv;
    let config = Config::ddr4_3200();
    let head = HeadLayout::new(&config, 128, 4096, 0).expect("a layout");
    let of_heads = attention(&head, 4, SumFormat::Binary16, Passes::One);
    let matrix = MatrixLayout::new(&config, 64, 512).expect("a layout");
    let of_matrix = gemv(&matrix, IoBuffers::PingPong);
    let line = |program: &pimlico_host::program::Program, text: &str| {
        let shown = pimlico_dpa::disassemble(&program.words().expect("words"));
        shown.lines().position(|line| line.contains(text)).expect("a line")
    };
    let word = line(&of_heads, "word=0+1@1");
    let column = line(&of_matrix, "column=16+16@2");
    [
        changed_program(&of_heads, word, "word=0+1@1", "word=1+1@1"),
        changed_program(&of_matrix, column, "column=16+16@2", "column=26+16@2"),
    ]
}

/// A model of which a weight is no number.
fn not_a_number() -> Vec<u8> {
    let mut file = small::llama2c(false);
    let header = 7 * 4;
    let embedding = small::VOCAB * 8 * 4;
    let norms = 2 * 8 * 4;
    let at = header + embedding + norms;
    file[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    file
}

const HUGE_HEAD: &str = r#"{"model_type": "llama", "hidden_size": 8, "intermediate_size": 16,
    "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "vocab_size": 32,
    "head_dim": 16777216}"#;

/// All of them.
pub fn all() -> Vec<Past> {
    let [attention, gemv] = changed_programs();
    let own_words = assemble(PROGRAM).expect("a program").into_iter().flat_map(u64::to_le_bytes);
    let own_words: Vec<u8> = own_words.collect();
    let long_type = format!(r#"{{"model_type": "{}"}}"#, "x".repeat(200_000));
    let attention_of = "run l3 attention --context 20";
    let decode = "run l3 decode --weights w.bin --tokenizer t.bin --tokens 1 --prompt a";
    let gemv_of = "run l3 gemv --rows 8 --cols 8";
    vec![
        refused(
            "A1, a program of attention with wrong results",
            "run l3 attention --model llama-3.1-8b --heads 4 --context 700 --context-max 4096 \
             --program q.txt",
        )
        .file("q.txt", attention)
        .statuses(&[1]),
        refused(
            "A1, a program of a matrix with wrong results",
            "run l3 gemv --rows 64 --cols 512 --program g.txt",
        )
        .file("g.txt", gemv)
        .statuses(&[1]),
        refused("A3, a waveform of a refused context", "run l3 attention --context 0 --vcd k.vcd")
            .file("k.vcd", "precious")
            .keeps(&["k.vcd"]),
        refused(
            "A3, a waveform of a refused prompt",
            "run l3 decode --prompt é --tokens 1 --vcd k.vcd",
        )
        .file("k.vcd", "precious")
        .keeps(&["k.vcd"]),
        refused("A3, a waveform of a refused matrix", "run l3 gemv --rows 0 --cols 8 --vcd k.vcd")
            .file("k.vcd", "precious")
            .keeps(&["k.vcd"]),
        refused("A3, a waveform on a full disk", attention_of).words(&["--vcd", "/dev/full"]),
        refused("A3, a waveform beside a picture that cannot be written", attention_of)
            .words(&["--vcd", "v.vcd", "--plot", "nodir/x.svg"])
            .never(&[".tmp"]),
        refused("A4, a head of sixteen million", "run l3 fc --config c.json")
            .file("c.json", HUGE_HEAD)
            .says(&["c.json"]),
        refused("A4, a head of sixteen million, of a layer", "run l3 layer --config c.json")
            .file("c.json", HUGE_HEAD),
        refused("A4, a matrix that takes the memory", "run l3 gemv --rows 1048576 --cols 1048576"),
        refused(
            "B1, a limit below the context",
            "run l3 attention --context 200 --context-max 100",
        )
        .says(&["--context-max"]),
        refused("B2, one file for waveform and picture", attention_of)
            .words(&["--vcd", "s", "--plot", "s"]),
        refused("B2, a waveform in place of the weights", decode)
            .words(&["--vcd", "w.bin"])
            .file("w.bin", small::llama2c(false))
            .file("t.bin", small::tokenizer())
            .keeps(&["w.bin"]),
        refused("B2, words in place of their text", "dpa assemble a.txt a.txt")
            .file("a.txt", PROGRAM)
            .keeps(&["a.txt"]),
        refused("B3, a picture in no folder", attention_of)
            .words(&["--plot", "nodir/x.svg"])
            .says(&["nodir/x.svg"])
            .never(&[".tmp"]),
        refused("B6, a weight that is no number", decode)
            .file("w.bin", not_a_number())
            .file("t.bin", small::tokenizer())
            .says(&["w.bin"]),
        refused("B7, a fault of a request", "dpa expand p.bin --tcur 0=30,3=600 --va2pa r")
            .file("p.bin", own_words)
            .file("r", "0 0 7\n")
            .statuses(&[1]),
        refused("B9, a model's other name", "run l3 attention --model LLAMA3.1-8B")
            .says(&["llama-3.1-8b"]),
        refused("C1, a context of 2^32", "run l3 attention --context 4294967296")
            .says(&["1048575"]),
        refused("C1, a context of four million", "run l3 attention --context 4000000"),
        refused("C2, a negative seed", "run l3 attention --seed -1").says(&["--seed"]),
        refused("C2, a negative temperature", "run l3 decode --temperature -1")
            .says(&["--temperature"]),
        refused("C3, control bytes of operands", "fp add").input(b"3C00 \x1b[31mX\n"),
        refused("C3, control bytes of a name", "spd show").words(&["\u{1b}[31mX"]),
        refused("C4, a long type of model", "run l3 attention --config c.json")
            .file("c.json", long_type),
        refused("C4, a clock of 1e300", "estimate area bank_pu --clock 1e300")
            .never(&["00000000000000000000"]),
        refused("C5, words behind the operands", "fp recip").input(b"3C00 zz\n"),
        refused("C5, words behind the operands, as arguments", "fp recip 3C00 zz"),
        refused("C6, too few operands", gemv_of)
            .words(&["--program", "p.txt"])
            .file("p.txt", PROGRAM)
            .statuses(&[1, 2])
            .says(&["p.txt"]),
        refused("C7, sizes without commas", "sweep batch --memory 128 256 --requests 200")
            .statuses(&[0, 2]),
        refused("an empty file in place of each", "device check d.toml").file("d.toml", ""),
        refused("an image of zeros", "spd show i").file("i", [0; 512]),
        refused("a folder in place of a file", "dpa disassemble ."),
        Past { case: Case::of("dpa assemble p.txt p.bin"), ..refused("what is in order", "") }
            .file("p.txt", PROGRAM)
            .statuses(&[0])
            .leaves("p.bin"),
    ]
}
