// SPDX-License-Identifier: MIT
//! Families of the command as a process: flags of every command, and files that commands read.

use crate::child::Case;
use crate::mutation::{changed, mutations};
use crate::tree::{self, Argument, Kind, Leaf};
use crate::{Family, Finding, Shows, corpus};
use pimlico_device::spd::{Description, Values};
use pimlico_device::{Config, DeviceSpec};
use pimlico_model::small;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::sync::LazyLock;

/// Words that are no number of any kind.
const NO_NUMBER: [&str; 10] =
    ["", "x", "0x10", "1_000", " 1", "１", "1e", "--", "\u{1b}[31m1", "1 2"];
/// Integers that some commands take and some do not; none asks for much work.
const INTEGERS: [&str; 7] = ["0", "1", "2", "3", "5", "7", "16"];
/// Integers beyond any limit.
const LARGE: [&str; 8] = [
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
];
/// Numbers that are no size, no time, no share.
const NUMBERS: [&str; 9] = ["0", "1", "0.5", "-1", "nan", "inf", "1e300", "1e-300", "1e999"];
const TEXTS: [&str; 6] = ["", "x", "0=1", "\u{1b}[31m", "é", "a,b,,c"];
/// Files that there are, and that there are not.
const FILES: [&str; 6] = ["missing", ".", "empty", "noise", "/dev/full", "nodir/x"];

/// Commands that work for long, or with tools that may not be here: what they are given is always wrong.
const LONG: [&str; 4] = ["estimate", "cosim", "serve", "sweep"];

/// What a run is given, unless something else is drawn, so that it ends soon.
const LITTLE: [(&str, &str); 3] = [("context", "20"), ("tokens", "2"), ("config", "tiny.json")];

static LEAVES: LazyLock<Vec<Leaf>> = LazyLock::new(tree::leaves);

/// The families.
pub fn families() -> Vec<Family> {
    vec![Family::command("flags", flags), Family::command("files", files)]
}

fn finding(case: &Case, what: String) -> Finding {
    Finding { what, shows: Shows::Command(case.shown()) }
}

/// Flags of a command, as the command tree has them.
fn flags(runner: &mut TestRunner) -> Result<(), Finding> {
    let draws = (any::<Index>(), vec((any::<Index>(), any::<Index>(), 0..8u8), 1..5));
    let mut tree = draws.new_tree(runner).expect("no case is refused");
    let case = flags_case(&tree.current());
    let Err(mut what) = case.judge() else { return Ok(()) };
    let mut simplest = case;
    for _ in 0..30 {
        if !tree.simplify() {
            break;
        }
        let case = flags_case(&tree.current());
        match case.judge() {
            Err(found) => (simplest, what) = (case, found),
            Ok(_) if !tree.complicate() => break,
            Ok(_) => {}
        }
    }
    Err(finding(&simplest, what))
}

/// Which command, and for each of some arguments: which, which value, of which kind.
type Draws = (Index, Vec<(Index, Index, u8)>);

fn flags_case((command, draws): &Draws) -> Case {
    let leaves: Vec<_> = LEAVES.iter().filter(|leaf| !leaf.arguments.is_empty()).collect();
    let leaf = leaves[command.index(leaves.len())];
    let is_long = LONG.contains(&leaf.path[0].as_str());
    let mut given: Vec<(&Argument, String)> = Vec::new();
    let mut is_wrong = false;
    for (n, (which, value, kind)) in draws.iter().enumerate() {
        let numeric: Vec<_> =
            leaf.arguments.iter().filter(|argument| is_numeric(argument)).collect();
        // A long command has a wrong number first.
        let wrong = n == 0 && is_long;
        let argument = match wrong && !numeric.is_empty() {
            true => numeric[which.index(numeric.len())],
            false => &leaf.arguments[which.index(leaf.arguments.len())],
        };
        if given.iter().any(|(other, _)| other.name == argument.name) {
            continue;
        }
        let (value, no_number) = self::value(argument, *value, if wrong { 0 } else { *kind });
        is_wrong |= no_number;
        given.push((argument, value));
    }
    // A model of any size would take it long.
    let has = |name: &str| leaf.arguments.iter().any(|argument| argument.name == name);
    if has("config") {
        given.retain(|(argument, value)| argument.name != "model" || value == "no-such-choice");
    }
    for argument in &leaf.arguments {
        let is_given = given.iter().any(|(other, _)| other.name == argument.name);
        let little = LITTLE.iter().find(|(name, _)| *name == argument.name && !argument.required);
        match little {
            _ if is_given => {}
            Some((_, value)) if leaf.path[0] == "run" => {
                given.push((argument, (*value).to_owned()))
            }
            // What it cannot do without.
            _ if argument.required => given.push((argument, least(argument))),
            _ => {}
        }
    }
    let mut words = leaf.path.clone();
    if is_long && !is_wrong {
        words.push("--no-such-flag".to_owned());
        is_wrong = true;
    }
    for (argument, value) in &given {
        match (&argument.flag, argument.kind) {
            (Some(flag), Kind::Switch) => words.push(format!("--{flag}")),
            (Some(flag), _) => words.push(format!("--{flag}={value}")),
            (None, _) => {}
        }
    }
    let positional = given.iter().filter(|(argument, _)| argument.flag.is_none());
    words.extend(positional.map(|(_, value)| value.clone()));
    // `--help` and `--version` say nothing of the rest.
    is_wrong &= !words.iter().any(|word| word == "--help" || word == "--version");
    let files = vec![
        ("empty".to_owned(), Vec::new()),
        ("tiny.json".to_owned(), small::CONFIG.into()),
        ("noise".to_owned(), (0..200u8).map(|n| n.wrapping_mul(151)).collect()),
    ];
    Case {
        words,
        files,
        is_wrong,
        outputs: vec!["out".to_owned(), "pimlico-report".to_owned()],
        ..Case::default()
    }
}

fn is_numeric(argument: &Argument) -> bool {
    matches!(argument.kind, Kind::Integer | Kind::Number)
}

/// A value of an argument, and whether none such is taken.
fn value(argument: &Argument, which: Index, kind: u8) -> (String, bool) {
    let of = |values: &[&str]| values[which.index(values.len())].to_owned();
    match (argument.kind, kind) {
        (Kind::Switch, _) => (String::new(), false),
        (Kind::Integer | Kind::Number, 0) => (of(&NO_NUMBER), true),
        (Kind::Integer, 1) => (of(&LARGE), false),
        (Kind::Integer, 2) => (of(&NUMBERS), false),
        (Kind::Integer, 3) if argument.list => (format!("{0},{0},", of(&INTEGERS)), true),
        (Kind::Integer, _) => (of(&INTEGERS), false),
        (Kind::Number, _) => (of(&NUMBERS), false),
        (Kind::Choice, 0) => ("no-such-choice".to_owned(), true),
        (Kind::Choice, _) => (argument.values[which.index(argument.values.len())].clone(), false),
        (Kind::File, _) => (of(&FILES), false),
        (Kind::Text, _) => (of(&TEXTS), false),
    }
}

/// A value that asks for little.
fn least(argument: &Argument) -> String {
    match argument.kind {
        Kind::Switch => String::new(),
        Kind::Choice => argument.values[0].clone(),
        Kind::Integer | Kind::Number => "8".to_owned(),
        Kind::File => "noise".to_owned(),
        Kind::Text => "0=16".to_owned(),
    }
}

/// A command that reads a file, the file, and what else it needs.
struct Reads {
    line: &'static str,
    /// Its name, or standard input.
    name: Option<&'static str>,
    file: Vec<u8>,
    beside: Vec<(&'static str, Vec<u8>)>,
    output: Option<&'static str>,
}

static READS: LazyLock<Vec<Reads>> = LazyLock::new(|| {
    let reads =
        |line, name, file| Reads { line, name: Some(name), file, beside: Vec::new(), output: None };
    let program = corpus::PROGRAM.as_bytes().to_vec();
    let words: Vec<u8> = pimlico_dpa::assemble(corpus::PROGRAM)
        .expect("a program")
        .into_iter()
        .flat_map(u64::to_le_bytes)
        .collect();
    let image = Description::of(&Config::ddr4_3200()).image(Values::Spoofed).expect("an image");
    let device = |name| DeviceSpec::built_in(name).expect("built in").to_toml().into_bytes();
    let rows = b"0 0 7 # a comment\n0 1 9\n3 0 11\n".to_vec();
    vec![
        Reads { name: None, ..reads("fp add", "", b"3C00 4000\n7BFF 0001\n".to_vec()) },
        Reads {
            name: None,
            ..reads("fp mul --check", "", b"3C00 4000 4000\n7BFF 0001 0\n".to_vec())
        },
        reads("dpa expand p.txt --tcur 0=30,3=600", "p.txt", program.clone()),
        Reads {
            beside: vec![("p.txt", program.clone())],
            ..reads("dpa expand p.txt --tcur 0=30,3=600 --va2pa rows.txt", "rows.txt", rows)
        },
        Reads { output: Some("p.bin"), ..reads("dpa assemble p.txt p.bin", "p.txt", program) },
        reads("dpa disassemble p.bin", "p.bin", words),
        reads(
            "run aim gemv --rows 40 --cols 100 --channels 2 --program a.txt",
            "a.txt",
            corpus::AIM_PROGRAM.into(),
        ),
        reads("device check d.toml", "d.toml", device("ddr4-3200")),
        reads("device check d.toml", "d.toml", device("gddr6-aim")),
        reads("spd show image", "image", image.as_bytes().to_vec()),
        reads(
            "run l3 attention --config config.json --context 20",
            "config.json",
            small::QWEN3.into(),
        ),
        Reads {
            beside: vec![("t.bin", small::tokenizer())],
            ..reads(
                "run l3 decode --weights w.bin --tokenizer t.bin --prompt a --tokens 2",
                "w.bin",
                small::llama2c(false),
            )
        },
        Reads {
            beside: vec![("w.bin", small::llama2c(true))],
            ..reads(
                "run l3 decode --weights w.bin --tokenizer t.bin --prompt ab --tokens 2",
                "t.bin",
                small::tokenizer(),
            )
        },
        Reads {
            beside: vec![("t.bin", small::tokenizer())],
            ..reads(
                "stream run --weights w.bin --tokenizer t.bin --prompt a --tokens 2",
                "w.bin",
                small::llama2c(false),
            )
        },
        Reads {
            beside: vec![("t.bin", small::tokenizer()), ("c.json", small::QWEN3.into())],
            ..reads(
                "stream run --weights w.safetensors --config c.json --tokenizer t.bin --prompt a --tokens 2",
                "w.safetensors",
                small::file(&small::qwen3_tensors(), "BF16"),
            )
        },
        reads("layout prefill --image i.lp5 --policy owr", "i.lp5", corpus::lp5_image()),
    ]
});

/// A file that a command reads, changed.
fn files(runner: &mut TestRunner) -> Result<(), Finding> {
    let draws = (select((0..READS.len()).collect::<Vec<_>>()), mutations());
    let (which, mutations) = draws.new_tree(runner).expect("no case is refused").current();
    let Reads { line, name, file, beside, output } = &READS[which];
    let bytes = changed(file, &mutations);
    let mut case = Case::of(line);
    case.outputs = output.iter().map(|name| (*name).to_owned()).collect();
    case.files = beside.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
    match name {
        Some(name) => case.files.push(((*name).to_owned(), bytes.clone())),
        None => case.input.clone_from(&bytes),
    }
    let judged = case.judge();
    judged.map(drop).map_err(|what| Finding {
        what: format!("{what}\n  {}", case.shown()),
        shows: Shows::File(bytes),
    })
}
