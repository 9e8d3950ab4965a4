// SPDX-License-Identifier: MIT
//! A parameter outside of its range is refused where the module is elaborated, with a message.

use pimlico_rtl::{FOLDER, Sources};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A module, parameters of which the first is out of range, and what the message ends with.
type Refused = (&'static str, &'static str, &'static str);

const FORMAT: &str = "expected 5, 10 or 8, 7 or 8, 23";
const SHORT_FORMAT: &str = "expected 5, 10 or 8, 7";
const SUMS: &str = "expected 5, 10 or 8, 23";
const STAGES: &str = "expected 0 or 1, and 0 to 3";
const STAGES_4: &str = "expected 0 or 1, and 0 to 4";
const STAGES_6: &str = "expected 0 or 1, and 0 to 6";
const FOURTH_STAGE: &str = "expected 1 and 1 with STAGES = 4";
const BOOLEAN: &str = "expected 0 or 1";
const SOME: &str = "expected 1 or more";
/// Of the multiplier, to which the modules around it pass the parameter on.
const SETS: &str = "expected 1 to a set for each row";
/// Of the scheduler, to which the channel's modules pass the parameter on.
const QUEUE: &str = "expected a power of two, 4 or more";
const TWO: &str = "expected 2 or more";
const POWER: &str = "expected a power of two, 2 or more";
const IDLE: &str = "expected up to 15 and 31";
const STAGES_FAST: &str = "expected 0 or 1, 0 to 3, 0 to 2";
const GEAR: &str = "expected 1, 2 or 4";
const CHANNELS: &str = "expected a power of two, 1 to 32";
const ROWS: &str = "expected a power of two, 4 to 32, and 0 or 1";
const BANK_ROWS: &str = "expected a multiple of 16, up to 65536";
const SIDES: &str = "expected powers of two, 2 to 128";
const LANES: &str = "expected a power of two, 4 to 128";
const PLACES: &str = "expected a power of two, 8 to 131072";

const REFUSED: &[Refused] = &[
    ("fifo", "WIDTH=0", SOME),
    ("fifo", "DEPTH=1", POWER),
    ("fifo", "DEPTH=12", POWER),
    ("counted_fifo", "WIDTH=0", SOME),
    ("counted_fifo", "DEPTH=12", POWER),
    ("skid_buffer", "WIDTH=0", SOME),
    ("clock_gate", "OPEN_IN_RESET=2", BOOLEAN),
    ("pipe", "WIDTH=0", SOME),
    ("ram", "WIDTH=0", SOME),
    ("ram", "ELEMENTS=0", SOME),
    ("ram", "DEPTH=100", POWER),
    ("ram_1p", "WIDTH=0", SOME),
    ("ram_1p", "DEPTH=0", SOME),
    ("word_registers", "WIDTH=0", SOME),
    ("word_registers", "DEPTH=1", TWO),
    ("late_timer", "WIDTH=1", TWO),
    ("late_timer", "KEEP=2", BOOLEAN),
    ("timer", "WIDTH=1", TWO),
    ("timer", "KEEP=2", BOOLEAN),
    ("carry_select_adder", "WIDTH=1", TWO),
    ("significand_mul", "WIDTH=2", "expected 3 or more"),
    ("significand_mul", "FAST=3", "expected 0 to 2"),
    ("significand_mul", "SETS=7", SETS),
    ("leading_zeros", "WIDTH=1", TWO),
    ("fp_unpack", "EXP_BITS=6", FORMAT),
    ("fp_unpack", "MAN_BITS=11", FORMAT),
    ("fp_unpack", "SUBNORMALS=2", BOOLEAN),
    ("fp_pack", "EXP_BITS=8", FORMAT),
    ("fp_pack", "MAN_BITS=7", FORMAT),
    ("fp_round", "EXP_BITS=6", FORMAT),
    ("fp_round", "MAN_BITS=11", FORMAT),
    ("fp_round", "SUBNORMALS=2", BOOLEAN),
    ("exp2_fraction", "MAN_BITS=23", "expected 10 or 7"),
    ("fp_add", "EXP_BITS=6", FORMAT),
    ("fp_add", "MAN_BITS=11", FORMAT),
    ("fp_add", "SUBNORMALS=2", STAGES_4),
    ("fp_add", "STAGES=5", STAGES_4),
    ("fp_add", "STAGES=4", FOURTH_STAGE),
    ("fp_add", "STAGES=4 FAST=1 SUBNORMALS=0", FOURTH_STAGE),
    ("fp_add", "FAST=2", BOOLEAN),
    ("fp_add", "HALF_STAGE=2", BOOLEAN),
    ("fp_mul", "EXP_BITS=6", FORMAT),
    ("fp_mul", "MAN_BITS=11", FORMAT),
    ("fp_mul", "SUBNORMALS=2", STAGES_FAST),
    ("fp_mul", "STAGES=4", STAGES_FAST),
    ("fp_mul", "FAST=3", STAGES_FAST),
    ("fp_mul", "SETS=0", SETS),
    ("fp_max", "EXP_BITS=6", FORMAT),
    ("fp_max", "MAN_BITS=11", FORMAT),
    ("fp_max", "SUBNORMALS=2", STAGES),
    ("fp_max", "STAGES=4", STAGES),
    ("fp_exp", "EXP_BITS=6", SHORT_FORMAT),
    ("fp_exp", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("fp_exp", "SUBNORMALS=2", STAGES_4),
    ("fp_exp", "STAGES=5", STAGES_4),
    ("fp_recip", "EXP_BITS=6", FORMAT),
    ("fp_recip", "MAN_BITS=11", FORMAT),
    ("fp_recip", "SUBNORMALS=2", STAGES_6),
    ("fp_recip", "STAGES=7", STAGES_6),
    ("fp_widen", "EXP_BITS=6", "expected wider: 6, 10, 8, 23"),
    ("fp_widen", "MAN_BITS=23 EXP_BITS=8", "expected wider: 8, 23, 8, 23"),
    ("fp_widen", "WIDE_EXP_BITS=11", "expected wider: 5, 10, 11, 23"),
    ("fp_widen", "WIDE_MAN_BITS=7", "expected wider: 5, 10, 8, 7"),
    ("fp_widen", "SUBNORMALS=2", STAGES),
    ("fp_widen", "STAGES=4", STAGES),
    ("fp_narrow", "EXP_BITS=6", "expected wider: 6, 10, 8, 23"),
    ("fp_narrow", "MAN_BITS=23 EXP_BITS=8", "expected wider: 8, 23, 8, 23"),
    ("fp_narrow", "WIDE_EXP_BITS=11", "expected wider: 5, 10, 11, 23"),
    ("fp_narrow", "WIDE_MAN_BITS=7", "expected wider: 5, 10, 8, 7"),
    ("fp_narrow", "SUBNORMALS=2", STAGES),
    ("fp_narrow", "STAGES=4", STAGES),
    ("tree_pu", "LANES=2", "expected a power of two, 4 or more"),
    ("tree_pu", "EXP_BITS=6", "expected a format: 6, 10"),
    ("tree_pu", "MAN_BITS=11", "expected a format: 5, 11"),
    ("tree_pu", "SUBNORMALS=2", BOOLEAN),
    ("tree_pu", "MUL_STAGES=3", "expected 0 to 2"),
    ("tree_pu", "ADD_STAGES=3", "expected 0 to 2"),
    ("bank_pu", "LANES=2", "expected a power of two, 4 or more"),
    ("bank_pu", "EXP_BITS=6", "expected formats: 6, 10, sums 6, 10"),
    ("bank_pu", "MAN_BITS=11", "expected formats: 5, 11, sums 5, 11"),
    ("bank_pu", "SUBNORMALS=2", BOOLEAN),
    ("bank_pu", "HALF_STAGE=2", BOOLEAN),
    ("bank_pu", "RESULT_GATES=2", BOOLEAN),
    ("bank_pu", "SETS=7", SETS),
    ("bank_pu", "SUM_EXP_BITS=6", "expected formats: 5, 10, sums 6, 10"),
    ("bank_pu", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", "expected formats: 5, 10, sums 8, 7"),
    ("pingpong_buffer", "WIDTH=0", "expected 1 or more, and 0 or 1"),
    ("pingpong_buffer", "PING_PONG=2", "expected 1 or more, and 0 or 1"),
    ("pingpong_buffer", "DEPTH=257", "expected 1 to 2^ADDRESS_BITS words"),
    ("pingpong_buffer", "ADDRESS_BITS=3", "expected 1 to 2^ADDRESS_BITS words"),
    ("dual_row_buffer", "WORDS=24", ROWS),
    ("dual_row_buffer", "WORDS=64", ROWS),
    ("dual_row_buffer", "DUAL=2", ROWS),
    ("pim_block", "EXP_BITS=6", "expected formats: 6, 7, sums 6, 7"),
    ("pim_block", "EXP_BITS=8 MAN_BITS=23", "expected elements of 16 bits"),
    ("pim_block", "MAN_BITS=11", "expected formats: 8, 11, sums 8, 11"),
    ("pim_block", "SUBNORMALS=2", BOOLEAN),
    ("pim_block", "SUM_EXP_BITS=5", "expected formats: 8, 7, sums 5, 7"),
    ("pim_block", "SUM_MAN_BITS=10", "expected formats: 8, 7, sums 8, 10"),
    ("pim_mode", "ROWS=40", BANK_ROWS),
    ("pim_mode", "ROWS=65552", BANK_ROWS),
    ("systolic_cell", "COLUMN=8", "expected a column of so many bits"),
    ("systolic_cell", "COLUMN_BITS=0", "expected a column of so many bits"),
    ("systolic_cell", "EXP_BITS=6", SHORT_FORMAT),
    ("systolic_cell", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("systolic_array", "ROWS=12", SIDES),
    ("systolic_array", "COLS=256", SIDES),
    ("systolic_array", "EXP_BITS=6", SHORT_FORMAT),
    ("systolic_array", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("vector_lane", "EXP_BITS=6", SHORT_FORMAT),
    ("vector_lane", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("vector_unit", "LANES=2", LANES),
    ("vector_unit", "EXP_BITS=6", SHORT_FORMAT),
    ("vector_unit", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("gemv_sequencer", "K_MAX=33", "expected 2 to 32"),
    ("latency_estimator", "FILL=0", "expected 1 to 32"),
    ("mem_queue", "DEPTH=1", POWER),
    ("mem_queue", "DEPTH=12", POWER),
    ("mem_scheduler", "READS=2", QUEUE),
    ("mem_scheduler", "WRITES=12", QUEUE),
    ("channel_mem", "READS=2", QUEUE),
    ("channel_mem", "WRITES=12", QUEUE),
    ("channel_controller", "READS=2", QUEUE),
    ("channel_controller", "WRITES=12", QUEUE),
    ("channel_controller", "ROW_BUFFERS=3", "expected 0 to 2"),
    ("pim_channel", "BANKS=2", "expected 4, 8, ..., 32"),
    ("pim_channel", "BANKS=6", "expected 4, 8, ..., 32"),
    ("pim_channel", "BANKS=36", "expected 4, 8, ..., 32"),
    ("pim_channel", "SUM_EXP_BITS=6", SUMS),
    ("pim_channel", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("pim_bank", "SUM_EXP_BITS=6", SUMS),
    ("pim_bank", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("adder_unit", "GEAR=3", GEAR),
    ("adder_unit", "EXP_BITS=6", "expected formats: 6, 10, sums 6, 10"),
    ("adder_unit", "MAN_BITS=11", "expected formats: 5, 11, sums 5, 11"),
    ("adder_unit", "SUBNORMALS=2", BOOLEAN),
    ("adder_unit", "SUM_EXP_BITS=6", "expected formats: 5, 10, sums 6, 10"),
    ("adder_unit", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", "expected formats: 5, 10, sums 8, 7"),
    ("softmax_norm", "EXP_BITS=6", "expected formats"),
    ("softmax_norm", "MAN_BITS=11", "expected formats"),
    ("softmax_norm", "X_EXP_BITS=6", "expected formats"),
    ("softmax_norm", "X_MAN_BITS=11", "expected formats"),
    ("softmax_norm", "SUBNORMALS=2", BOOLEAN),
    ("softmax_norm", "X_SUBNORMALS=2", BOOLEAN),
    ("softmax_norm", "R_BITS=1", TWO),
    ("softmax_norm", "STAGES=3", "expected 1 or 2"),
    ("softmax_recip", "INT_BITS=1", "expected 2 or more, 19 or less"),
    ("softmax_recip", "BITS=20", "expected 2 or more, 19 or less"),
    ("softmax_recip", "ROWS=3", "expected a divisor of BITS = 14"),
    ("softmax_sum", "EXP_BITS=6", SHORT_FORMAT),
    ("softmax_sum", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("softmax_sum", "GEAR=3", GEAR),
    ("softmax_sum", "DIGIT=10", "expected more than MAN_BITS, and 1 or 2"),
    ("softmax_sum", "STAGES=3", "expected more than MAN_BITS, and 1 or 2"),
    ("softmax_unit", "EXP_BITS=6", SHORT_FORMAT),
    ("softmax_unit", "MAN_BITS=23 EXP_BITS=8", SHORT_FORMAT),
    ("softmax_unit", "SUBNORMALS=2", BOOLEAN),
    ("softmax_unit", "LATE=2", BOOLEAN),
    ("softmax_unit", "HEADS=1", TWO),
    ("softmax_unit", "GEAR=3", GEAR),
    ("ddr_in", "WIDTH=0", SOME),
    ("ddr_out", "WIDTH=0", SOME),
    ("shared_buffer", "DEPTH=1", TWO),
    ("relayout_unit", "ELEMENT_BITS=24", "expected a ratio of 2^n"),
    ("relayout_unit", "CHIP_BITS=32", "expected a ratio of 2^n"),
    ("burst_timer", "LONGEST=256", "expected 2 to 255"),
    ("burst_timer", "LENGTH=3", GEAR),
    ("slot_timer", "IDLE_SLOTS=0", SOME),
    ("slot_timer", "LONGEST=256", "expected 2 to 255"),
    ("burst_source", "WIDTH=0", SOME),
    ("burst_source", "DEPTH=1", TWO),
    ("operand_path", "HOST_DEPTH=1", TWO),
    ("operand_path", "PU_DEPTH=1", TWO),
    ("result_path", "GEAR=3", GEAR),
    ("result_path", "DEPTH=12", POWER),
    ("result_path", "SUM_EXP_BITS=6", SUMS),
    ("result_path", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("context_queue", "GEAR=3", GEAR),
    ("context_queue", "DEPTH=100", POWER),
    ("context_queue", "LATE=2", BOOLEAN),
    ("context_queue", "SUM_EXP_BITS=6", SUMS),
    ("context_queue", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("weight_path", "WORDS=12", POWER),
    ("weight_path", "GEAR=3", GEAR),
    ("request_queue", "WIDTH=0", SOME),
    ("request_queue", "DEPTH=12", POWER),
    ("ram_1r1w", "WIDTH=0", SOME),
    ("ram_1r1w", "DEPTH=1", TWO),
    ("refresh_manager", "MAX_POSTPONED=15", "expected 1 to 14"),
    ("refresh_manager", "MARGIN=1048576", "expected 1 to 2^20 - 1"),
    ("rank_controller", "BANK_GROUPS=2", "expected a power of two, 4 or more"),
    ("rank_controller", "BANKS_PER_GROUP=3", POWER),
    ("rank_controller", "BANKS_PER_GROUP=8", "expected 16 or less"),
    ("rank_controller", "SLOTS=3", "expected 1 or 2"),
    ("softmax_path", "LATE=2", BOOLEAN),
    ("softmax_path", "SCORES=12", PLACES),
    ("softmax_path", "GEAR=3", GEAR),
    ("sequencer", "SCORES=2", "expected 4 to 131072"),
    ("sequencer", "LATENCY=16", IDLE),
    ("sequencer", "CONTEXT_AFTER_CONTEXT=6", "expected up to 5"),
    ("sequencer", "CONTEXT_AFTER_TREE=32", IDLE),
    ("sequencer", "TREE_AFTER_CONTEXT=32", IDLE),
    ("sequencer_decode", "SCORES=2", "expected 4 to 131072"),
    ("core_timing", "GEAR=3", GEAR),
    ("sequencer_results", "LATENCY=16", IDLE),
    ("sequencer_results", "CONTEXT_AFTER_CONTEXT=6", "expected up to 5"),
    ("sequencer_results", "CONTEXT_AFTER_TREE=32", IDLE),
    ("sequencer_results", "TREE_AFTER_CONTEXT=32", IDLE),
    ("pim_chip", "DEPTH=12", POWER),
    ("pim_chip", "LONGEST=3", "expected 4 to 255"),
    ("pim_chip", "SUM_EXP_BITS=6", SUMS),
    ("pim_chip", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("pim_rank", "SUM_EXP_BITS=6", SUMS),
    ("pim_rank", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("pim_rank", "LATE=2", BOOLEAN),
    ("pim_rank", "SCORES=12", PLACES),
    ("pim_rank", "GEAR=3", GEAR),
    ("dispatcher", "REQUESTS=17", "expected 1 to 16, and 1 to 16380"),
    ("dispatcher", "COMMANDS=16381", "expected 1 to 16, and 1 to 16380"),
    ("dispatcher", "ENTRIES=65536", "expected 1 to 65535"),
    ("dispatcher_check", "REQUESTS=17", "expected 1 to 16"),
    ("dispatcher_requests", "REQUESTS=17", "expected 1 to 16"),
    ("dispatcher_sequence", "REQUESTS=17", "expected 1 to 16"),
    ("dispatcher_status", "REQUESTS=0", "expected 1 to 16"),
    ("host_results", "GEAR=3", GEAR),
    ("host_port", "GEAR=3", GEAR),
    ("pim_module", "SUM_EXP_BITS=6", SUMS),
    ("pim_module", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("pim_module", "LATE=2", BOOLEAN),
    ("pim_module", "SCORES=12", PLACES),
    ("pim_module", "GEAR=3", GEAR),
    ("pim_dimm", "SUM_EXP_BITS=6", SUMS),
    ("pim_dimm", "SUM_MAN_BITS=7 SUM_EXP_BITS=8", SUMS),
    ("pim_dimm", "LATE=2", BOOLEAN),
    ("pim_dimm", "SCORES=12", PLACES),
    ("pim_dimm", "GEAR=3", GEAR),
    ("aim_sums", "LATENCY=3", "expected 4 or more"),
    ("aim_array_port", "PINGPONG=2", BOOLEAN),
    ("aim_bus_port", "PINGPONG=2", BOOLEAN),
    ("aim_pus", "PINGPONG=2", BOOLEAN),
    ("aim_channel", "PINGPONG=2", BOOLEAN),
    ("aim_decode", "CHANNELS=3", CHANNELS),
    ("aim_feeder", "CHANNELS=3", CHANNELS),
    ("aim_adders", "CHANNELS=3", CHANNELS),
    ("aim_softmax", "CHANNELS=64", CHANNELS),
    ("aim_hub", "PINGPONG=2", BOOLEAN),
    ("aim_hub", "CHANNELS=3", CHANNELS),
];

/// Parameters of which every value of their type will do, or is refused without a check: an adder of no bits
/// lacks the carry that it puts out.
const ANY: &[(&str, &str)] =
    &[("pipe", "ENABLED"), ("pipe", "RESET"), ("ripple_adder", "WIDTH"), ("pim_bank", "BANK")];

/// What Verilator says about instances of a module with these sets of parameters, `refused.u_0` the first.
fn elaborate(sets: &[Refused]) -> String {
    let instance = |(n, (module, parameters, _)): (usize, &Refused)| {
        let set = |parameter: &str| {
            let (name, value) = parameter.split_once('=').expect("a name and a value");
            format!(".{name}({value})")
        };
        let sets: Vec<_> = parameters.split(' ').map(set).collect();
        format!("  {module} #({}) u_{n} ();\n", sets.join(", "))
    };
    let instances: String = sets.iter().enumerate().map(instance).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let top = folder.path().join("refused.sv");
    fs::write(&top, format!("module refused;\n{instances}endmodule\n")).expect("writable");
    let output = Command::new("verilator")
        .current_dir(FOLDER)
        .args(["--lint-only", "-Wno-lint", "-Werror-USERFATAL", "--error-limit", "1000"])
        .args([
            "pimlico_pkg.sv",
            "arith/fp_pkg.sv",
            "module/dispatcher_pkg.sv",
            "channel/channel_pkg.sv",
        ])
        // Only what the module uses is read.
        .args(
            ["prim", "arith", "bank", "rank", "channel", "npu", "module"]
                .map(|room| format!("+incdir+{room}")),
        )
        .args(["--top-module", "refused"])
        .arg(&top)
        .output()
        .expect("verilator runs");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_parameter_out_of_range_is_refused() {
    use rayon::prelude::*;
    // All sets of a module are refused in one run, each where its own instance is elaborated.
    let modules: Vec<&[Refused]> = REFUSED.chunk_by(|(a, ..), (b, ..)| a == b).collect();
    let missing = |sets: &&[Refused]| {
        let text = elaborate(sets);
        let is_refused = |(n, (_, _, message)): &(usize, &Refused)| {
            let instance = format!("refused.u_{n}");
            let named = |text: &str| {
                let name = text.lines().next().unwrap_or_default().trim();
                let is_within = || name.starts_with(&format!("{instance}."));
                name == instance || [SETS, QUEUE].contains(message) && is_within()
            };
            // The message, and the instance on the line behind it.
            text.split("%Error-USERFATAL: ").skip(1).any(|error| {
                let is_it = error.lines().next().is_some_and(|line| line.ends_with(message));
                is_it && error.split("... In instance ").nth(1).is_some_and(named)
            })
        };
        let missing = sets.iter().enumerate().filter(|set| !is_refused(set));
        missing.map(|(_, set)| *set).collect::<Vec<_>>()
    };
    let missing: Vec<Refused> = modules.par_iter().flat_map_iter(missing).collect();
    assert!(missing.is_empty(), "without their message: {missing:#?}");
}

#[test]
fn every_parameter_has_a_range() {
    let sources: Sources = pimlico_rtl::sources!();
    // A checker has the parameters of its unit.
    let is_module = |file: &str| file.ends_with(".sv") && !file.ends_with("_checks.sv");
    for (file, text) in sources.iter().filter(|(file, _)| is_module(file)) {
        let module = Path::new(file).file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let declared = |line: &str| {
            let (declaration, _) = line.trim().strip_prefix("parameter ")?.split_once('=')?;
            declaration.split_whitespace().last().map(str::to_owned)
        };
        for parameter in text.lines().filter_map(declared) {
            let first = |parameters: &str| parameters.split('=').next() == Some(&parameter);
            let refused = REFUSED.iter().any(|&(m, p, _)| m == module && first(p));
            let any = ANY.iter().any(|&(m, p)| m == module && p == parameter);
            assert!(refused || any, "{module} {parameter}: neither refused nor free");
        }
    }
}
