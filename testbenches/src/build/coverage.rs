// SPDX-License-Identifier: MIT
//! What of the RTL is counted where it is built for coverage.
//!
//! The arithmetic has benches of its own, so that it does not count in the units that use it: what a
//! multiplier has seen inside a bank PU says little beside what its own bench puts through it. Libraries do not count either.

use super::designs::has_rank;
use super::inputs::Sources;
use pimlico_ports::UnitInfo;
use std::path::Path;

/// Whether coverage was asked for.
pub const COUNTED: bool = cfg!(feature = "coverage");

/// Verilator's options for a unit. The whole rank is no unit of `cosim`.
pub fn options(unit: &UnitInfo) -> &'static [&'static str] {
    if COUNTED && !has_rank(unit.module) { &["--coverage-line", "--coverage-toggle"] } else { &[] }
}

/// A branch that a format's parameters make unreachable, though not in a way that Verilator sees: file, the
/// line's text, and for which units.
type Unreachable = (&'static str, &'static str, fn(&UnitInfo) -> bool);

const UNREACHABLE: &[Unreachable] = &[
    // The least exponent of two binary16 numbers is no further below the normal ones than the window is wide.
    ("fp_mul.sv", "if (excess < -exponent_t'(ROOM)) begin", |unit| {
        unit.module == "fp_mul" && unit.parameters.contains(&("EXP_BITS", 5))
    }),
];

/// Lines for Verilator's configuration that keep from counting in `unit` the checkers, what has a bench of
/// its own, and what cannot be reached.
///
/// # Panics
///
/// If a branch that is known as unreachable has gone from its file.
pub fn left_out(unit: &UnitInfo, sources: &Sources) -> String {
    let own = sources
        .files()
        .iter()
        .find(|file| file.file_stem().is_some_and(|stem| stem == unit.module));
    let is_arithmetic = own.and_then(|file| file.parent()).is_some_and(is_arithmetic);
    if !COUNTED {
        return String::new();
    }
    let off = |file: &str| format!("coverage_off -file \"{file}\"\n");
    let checkers = off("*_checks.sv");
    if is_arithmetic {
        let unreachable = UNREACHABLE.iter().filter(|(.., applies)| applies(unit));
        let lines = unreachable.map(|(file, text, _)| line_off(sources, file, text));
        return checkers + &lines.collect::<String>();
    }
    // Of a channel of NeuPIMs the other units are libraries.
    let sequencer =
        if unit.module == "pim_channel" { off("*/gemv_sequencer.sv") } else { String::new() };
    checkers + &off("*/arith/*.sv") + &off("*/prim/pipe.sv") + &off("*_library.sv") + &sequencer
}

fn line_off(sources: &Sources, file: &str, text: &str) -> String {
    let source = sources.text(file);
    let line = source.and_then(|source| source.lines().position(|line| line.trim() == text));
    let line = line.unwrap_or_else(|| panic!("{file} has no line \"{text}\"")) + 1;
    format!("coverage_off -file \"*/{file}\" -lines {line}-{line}\n")
}

fn is_arithmetic(room: &Path) -> bool {
    room.file_name().is_some_and(|name| name == "arith")
}
