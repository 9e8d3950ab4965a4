// SPDX-License-Identifier: MIT
//! Libraries that somebody has damaged: whatever it is, it is read or refused, in memory that its size
//! bounds.

use pimlico_estimate::{Library, NANGATE45_AREAS};
use proptest::prelude::*;
use std::path::Path;

/// What a text may suffer.
#[derive(Clone, Debug)]
enum Damage {
    /// A part is missing.
    Cut(usize, usize),
    /// It ends early.
    End(usize),
    /// Something else stands there.
    Put(usize, Vec<u8>),
    /// A part is there again, elsewhere.
    Again(usize, usize, usize),
    /// A bit is wrong.
    Flip(usize, u8),
}

/// Pieces that mean something to the format, or to who reads numbers.
const PIECES: [&str; 24] = [
    "{",
    "}",
    "(",
    ")",
    ";",
    ":",
    "\"",
    "/*",
    "*/",
    "\\\n",
    ",",
    "area : 1e308;",
    "area : -1;",
    "area : nan;",
    "area : 99999999999999999999999;",
    "area : ;",
    "cell() {",
    "library(x) {",
    "values(\"1, 2\", \\\n\"3\");",
    "pin(",
    "function : \"\";",
    "((((((((((((((((",
    "\u{0}",
    "\u{feff}\u{1F600}",
];

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0_usize..20_000;
    prop_oneof![
        (at.clone(), 0_usize..200).prop_map(|(at, length)| Damage::Cut(at, length)),
        at.clone().prop_map(Damage::End),
        (at.clone(), 0..PIECES.len(), 1_usize..2000)
            .prop_map(|(at, n, times)| Damage::Put(at, PIECES[n].repeat(times).into())),
        (at.clone(), prop::collection::vec(any::<u8>(), 1..8))
            .prop_map(|(at, bytes)| Damage::Put(at, bytes)),
        (at.clone(), 0_usize..2000, at.clone())
            .prop_map(|(from, length, to)| Damage::Again(from, length, to)),
        (at, 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
    ]
}

fn damaged(mut text: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages {
        let length = text.len() + 1;
        let place = |at: usize| at % length;
        match damage {
            Damage::Cut(at, count) => {
                let at = place(*at);
                text.drain(at..(at + count).min(length - 1));
            }
            Damage::End(at) => text.truncate(place(*at)),
            Damage::Put(at, bytes) => {
                let at = place(*at);
                text.splice(at..at, bytes.iter().copied());
            }
            Damage::Again(from, count, to) => {
                let from = place(*from);
                let part = text[from..(from + count).min(length - 1)].to_vec();
                let to = place(*to);
                text.splice(to..to, part);
            }
            Damage::Flip(at, bit) => {
                if let Some(byte) = text.get_mut(place(*at)) {
                    *byte ^= 1 << bit;
                }
            }
        }
    }
    text
}

/// The most memory that this process has had, in KB; 0 where the system does not say.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_library_is_read_or_refused(damages in prop::collection::vec(damage(), 1..6)) {
        let before = peak_kb();
        let text = damaged(NANGATE45_AREAS.into(), &damages);
        let lines = 1 + text.iter().filter(|&&byte| byte == b'\n').count();
        match Library::from_text(Path::new("damaged.lib"), text) {
            Ok(library) => prop_assert!(library.nand2_um2 > 0.0 && library.nand2_um2 < 1e6),
            Err(error) => {
                prop_assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error}");
                let said = error.to_string();
                prop_assert!(said.starts_with("damaged.lib:") && !said.contains('\n'), "{said}");
            }
        }
        prop_assert!(peak_kb() < before + (64 << 10), "more than 64 MB");
    }
}

#[test]
fn brackets_in_a_comment_do_not_reach_the_parser() {
    for comment in ["(".repeat(40_000), "a+(".repeat(20_000), "}".to_owned()] {
        let damaged =
            NANGATE45_AREAS.replacen("area :", &format!("note : a /*{comment}*/; area :"), 1);
        let library = Library::from_text(Path::new("commented.lib"), damaged.into());
        let plain = Library::nangate45_areas().expect("the areas of the program");
        assert_eq!(library.expect("a library").nand2_um2, plain.nand2_um2);
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = std::env::temp_dir();
    let error = Library::read(&folder).expect_err("a folder").to_string();
    assert!(error.contains("expected a file of at most"), "{error}");
    let error = Library::read(&folder.join("no such.lib")).expect_err("nothing").to_string();
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn a_library_on_an_odd_path_is_copied_for_the_tools() {
    let folder = tempfile::tempdir().expect("a folder");
    let odd = folder.path().join("my \"lib\"; exit.lib");
    std::fs::write(&odd, NANGATE45_AREAS).expect("a file");
    let library = Library::read(&odd).expect("a library");
    assert!(library.file != odd && library.file.is_file());
    let plain = folder.path().join("plain.lib");
    std::fs::write(&plain, NANGATE45_AREAS).expect("a file");
    assert_eq!(Library::read(&plain).expect("a library").file, plain);
}
