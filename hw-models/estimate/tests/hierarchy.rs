// SPDX-License-Identifier: MIT
//! What the rank consists of, elaborated from copies of the RTL. Where pyosys is not installed, the kept
//! hierarchy is all that is checked (`hw-models/estimate/src/kept.rs`).

use pimlico_estimate::clock;
use pimlico_estimate::device::{self, Cost, Design, Level};
use pimlico_estimate::hierarchy::{self, Part};
use pimlico_estimate::kept::Hierarchy;
use pimlico_estimate::rtl::{self, Sources};
use pimlico_estimate::{DEFAULT_LIBRARY, Estimator, Library, Tools, UnitSpec};
use std::path::Path;

/// The tools, if they are installed.
fn tools() -> Option<Tools> {
    let python = std::env::var_os("PIMLICO_PYTHON").unwrap_or_else(|| "python3".into());
    Tools::find(Path::new(&python)).ok()
}

fn parts(tools: &Tools, sources: &Sources<'_>, design: Design) -> Vec<Part> {
    hierarchy::parts(tools, sources, design.top(), design.parameters()).expect("parts")
}

/// The sources with this text in place of another in one of them, and with one more.
fn planted<'a>(file: &'a Path, text: &'a str, newcomer: (&'a Path, &'a str)) -> Sources<'a> {
    let (path, contents) = newcomer;
    let mut sources: Sources<'a> = rtl::sources();
    sources.push((path, contents.as_bytes()));
    let old = sources.iter_mut().find(|(path, _)| *path == file).expect("a source");
    old.1 = text.as_bytes();
    sources
}

/// The text of a source.
fn source(file: &str) -> &'static str {
    let of_file = rtl::sources().into_iter().find(|(path, _)| *path == Path::new(file));
    std::str::from_utf8(of_file.expect("a source").1).expect("text")
}

#[test]
fn the_kept_parts_are_those_that_yosys_finds() {
    let Some(tools) = tools() else { return };
    for design in Design::KEPT {
        let found = parts(&tools, &rtl::sources(), design);
        assert_eq!(found, Hierarchy::kept().parts(design), "{design:?}");
    }
}

/// A module that no list has.
const NEWCOMER: &str = "\
module newcomer #(parameter int unsigned WIDTH = 4) (
  input logic clk_i, input logic [WIDTH-1:0] a_i, output logic [WIDTH-1:0] sum_o
);
  logic [WIDTH-1:0] sum_d, sum_q;
  assign sum_d = sum_q + a_i;
  always_ff @(posedge clk_i) sum_q <= sum_d;
  assign sum_o = sum_q;
endmodule
";

#[test]
fn a_module_that_no_list_has_is_a_part_of_the_rank_pu_and_in_its_totals() {
    let Some(tools) = tools() else { return };
    let slots = "  slot_timer u_slots (";
    let instance =
        "  newcomer #(.WIDTH(5)) u_newcomer (.clk_i(clk_pim), .a_i(5'd9), .sum_o(new_sum));\n";
    let pim_rank = source("rank/pim_rank.sv");
    assert_eq!(pim_rank.matches(slots).count(), 1);
    let text = pim_rank.replace(slots, &format!("  logic [4:0] new_sum;\n{instance}{slots}"));
    let newcomer = (Path::new("rank/newcomer.sv"), NEWCOMER);
    let sources = planted(Path::new("rank/pim_rank.sv"), &text, newcomer);

    let parts = parts(&tools, &sources, Design::RANK);
    let newcomer = parts.iter().find(|part| part.module == "newcomer").expect("the instance");
    assert_eq!((newcomer.place(), newcomer.count), ("pim_rank", 1));
    assert_eq!(newcomer.parameters.get("WIDTH"), Some(&5));
    assert_eq!(Level::of(newcomer), Level::RankPu);
    // It has no clock, which is an error.
    assert_eq!(clock::plan(&[(Design::RANK, &parts)]).expect_err("no clock").module, "newcomer");

    // What it takes is in the totals of a rank PU once, and in those of a DIMM twice.
    let Ok(library) = Library::read(Path::new(DEFAULT_LIBRARY)) else { return };
    let estimator = Estimator::new(&tools, &library, 5.0, None).with_sources(sources);
    let ge = estimator.area(&UnitSpec::from(newcomer)).expect("an area").ge;
    assert!(ge > 5.0 * 4.0, "five flip-flops and an adder: {ge}");
    let cost =
        |part: &Part| if part == newcomer { Cost::new(ge, &[]) } else { Cost::new(7.0, &[]) };
    let costs: Vec<Cost> = parts.iter().map(cost).collect();
    let kept = Hierarchy::kept();
    let before = kept.parts(Design::RANK);
    let old = vec![Cost::new(7.0, &[]); before.len()];
    for (level, count) in [(Level::RankPu, 1.0), (Level::BufferChip, 2.0), (Level::Dimm, 2.0)] {
        let now = device::total(Design::RANK, &parts, &costs, level).buffer_chip.ge;
        let was = device::total(Design::RANK, before, &old, level).buffer_chip.ge;
        assert!((now - was - count * ge).abs() < 1e-6, "{}: {was} {now}", level.name());
    }
}

#[test]
fn counts_are_those_of_l3() {
    let kept = Hierarchy::kept();
    let parts = kept.parts(Design::RANK);
    let count = |module: &str| -> u64 {
        parts.iter().filter(|part| part.module == module).map(|part| part.count).sum()
    };
    assert_eq!(count("bank_pu"), device::BANKS * device::CHIPS);
    assert_eq!(count("pim_chip"), device::CHIPS);
    assert_eq!(count("dispatcher"), 1);
}

#[test]
fn counts_are_those_of_an_aim_module() {
    for design in [Design::AIM, Design::AIM_SINGLE] {
        let kept = Hierarchy::kept();
        let parts = kept.parts(design);
        let count = |module: &str| -> u64 {
            parts.iter().filter(|part| part.module == module).map(|part| part.count).sum()
        };
        assert_eq!(count("tree_pu"), device::BANKS * device::CHANNELS);
        for module in ["aim_channel", "rank_controller", "adder_unit"] {
            assert_eq!(count(module), device::CHANNELS, "{module}");
        }
        assert_eq!(count("pingpong_buffer"), 2 * device::CHANNELS);
        for module in ["aim_hub", "dispatcher", "softmax_unit"] {
            assert_eq!(count(module), 1, "{module}");
        }
        let modes = if design == Design::AIM { 0 } else { device::CHANNELS };
        assert_eq!(count("aim_modes"), modes);
    }
}
