// SPDX-License-Identifier: MIT
//! What the rank consists of, elaborated from copies of the RTL. Where pyosys is not installed, the kept
//! hierarchy is all that is checked (`hw-models/estimate/src/kept.rs`).

use pimlico_estimate::device::{self, Level, TOP};
use pimlico_estimate::hierarchy::{self, Part};
use pimlico_estimate::kept::Hierarchy;
use pimlico_estimate::rtl::{self, Sources};
use pimlico_estimate::{Tools, clock};
use std::path::Path;

/// The tools, if they are installed.
fn tools() -> Option<Tools> {
    let python = std::env::var_os("PIMLICO_PYTHON").unwrap_or_else(|| "python3".into());
    Tools::find(Path::new(&python)).ok()
}

/// The parts of the rank with this text in place of another in one source.
fn parts_with(tools: &Tools, file: &str, from: &str, to: &str) -> Vec<Part> {
    let sources: Vec<(&Path, Vec<u8>)> = rtl::sources()
        .into_iter()
        .map(|(path, contents)| match path.ends_with(file) {
            true => {
                let text = std::str::from_utf8(contents).expect("text");
                assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
                (path, text.replace(from, to).into_bytes())
            }
            false => (path, contents.to_vec()),
        })
        .collect();
    let sources: Sources<'_> =
        sources.iter().map(|(path, text)| (*path, text.as_slice())).collect();
    hierarchy::parts(tools, &sources, TOP).expect("parts")
}

#[test]
fn the_kept_parts_are_those_that_yosys_finds() {
    let Some(tools) = tools() else { return };
    let found = hierarchy::parts(&tools, &rtl::sources(), TOP).expect("parts");
    assert_eq!(found, Hierarchy::kept().parts);
}

#[test]
fn an_instance_that_no_list_has_is_a_part_of_the_rank_pu() {
    let Some(tools) = tools() else { return };
    let timer = "  timer #(.WIDTH(5)) u_newcomer (\n    .clk_i (clk_pim), .rst_ni, .start_i (read_all), \
                 .clocks_i (5'd9), .over_o (newcomer)\n  );\n";
    let slots = "  slot_timer u_slots (";
    let planted = format!("  logic newcomer;\n{timer}{slots}");
    let parts = parts_with(&tools, "rank/pim_rank.sv", slots, &planted);
    let newcomer = parts.iter().find(|part| part.module == "timer").expect("the instance");
    assert_eq!((newcomer.place(), newcomer.count), ("pim_rank", 1));
    assert_eq!(newcomer.parameters.get("WIDTH"), Some(&5));
    assert_eq!(Level::of(newcomer), Level::RankPu);
    let costs: Vec<device::Cost> = parts
        .iter()
        .map(|part| device::Cost {
            ge: if part == newcomer { 7.0 } else { 0.0 },
            ..Default::default()
        })
        .collect();
    assert_eq!(device::total(&parts, &costs, Level::Dimm).buffer_chip.ge, 14.0);
    // It has no clock, which is an error.
    assert_eq!(clock::plan(&parts).expect_err("no clock").module, "timer");
}

#[test]
fn counts_are_those_of_l3() {
    let parts = Hierarchy::kept().parts;
    let count = |module: &str| -> u64 {
        parts.iter().filter(|part| part.module == module).map(|part| part.count).sum()
    };
    assert_eq!(count("bank_pu"), device::BANKS * device::CHIPS);
    assert_eq!(count("pim_chip"), device::CHIPS);
    assert_eq!(count("dispatcher"), 1);
}
