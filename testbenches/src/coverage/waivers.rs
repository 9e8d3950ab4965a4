// SPDX-License-Identifier: MIT
//! Bits that are tied in a unit, whatever its inputs: they do not count. The one branch that a parameter
//! makes unreachable, and that Verilator cannot tell, is in `src/build/coverage.rs`.

use std::ops::Range;

/// Tied bits of some signals.
struct Waiver {
    /// In which units.
    unit: fn(&str) -> bool,
    /// The module's file, from the folder `rtl`.
    file: &'static str,
    /// The signals, and their fields, without indices.
    signals: &'static [&'static str],
    /// Their bits: the last index.
    bits: Range<u32>,
}

const ALL: Range<u32> = 0..u32::MAX;
/// The bits of binary32 that binary16 and bfloat16 have not.
const BELOW_BINARY16: Range<u32> = 0..13;
const BELOW_BFLOAT16: Range<u32> = 0..16;

const WAIVERS: &[Waiver] = &[
    // Where subnormals are kept, no result is flushed.
    Waiver { unit: gradual, file: "rtl/arith/fp_round.sv", signals: &["underflow"], bits: ALL },
    Waiver { unit: gradual, file: "rtl/arith/fp_add.sv", signals: &["underflow"], bits: ALL },
    Waiver { unit: gradual, file: "rtl/arith/fp_pack.sv", signals: &["zero_i"], bits: ALL },
    // A number that is widened ends in zeros.
    Waiver { unit: widens_binary16, file: WIDEN, signals: WIDENED, bits: BELOW_BINARY16 },
    Waiver { unit: widens_bfloat16, file: WIDEN, signals: WIDENED, bits: BELOW_BFLOAT16 },
    Waiver { unit: widens_binary16, file: PIPE, signals: PIPED, bits: BELOW_BINARY16 },
    Waiver { unit: widens_bfloat16, file: PIPE, signals: PIPED, bits: BELOW_BFLOAT16 },
    Waiver { unit: softmax, file: SOFTMAX, signals: &["element"], bits: BELOW_BINARY16 },
    Waiver { unit: early_softmax, file: SOFTMAX, signals: &["multiplier"], bits: BELOW_BINARY16 },
    // Without late normalisation there are no sums of the context.
    Waiver {
        unit: early_softmax,
        file: SOFTMAX,
        signals: &["context_o", "context_valid_o", "sum_ready_o"],
        bits: ALL,
    },
    // Neither exponentials nor their sums and reciprocals are negative.
    Waiver { unit: softmax, file: SOFTMAX, signals: EXPONENTIALS, bits: 15..16 },
    Waiver { unit: softmax, file: SOFTMAX, signals: SUMS, bits: 31..32 },
    Waiver {
        unit: softmax,
        file: "rtl/rank/softmax_recip.sv",
        signals: &["sum_i", "result_o"],
        bits: 31..32,
    },
    Waiver {
        unit: early_softmax,
        file: SOFTMAX,
        signals: &["narrow", "narrow_d", "narrow_q"],
        bits: 15..16,
    },
    Waiver {
        unit: early_softmax,
        file: SOFTMAX,
        signals: &["product", "product_d", "product_q", "multiplier"],
        bits: 31..32,
    },
    Waiver {
        unit: exp,
        file: "rtl/arith/fp_exp.sv",
        signals: &["result", "result_o"],
        bits: 15..16,
    },
    Waiver { unit: exp, file: "rtl/arith/fp_pack.sv", signals: &["result_o"], bits: 15..16 },
    Waiver { unit: exp, file: "rtl/arith/fp_round.sv", signals: &["result_o"], bits: 15..16 },
    Waiver { unit: exp, file: "rtl/arith/fp_pack.sv", signals: &["negative_i"], bits: ALL },
    Waiver { unit: exp, file: "rtl/arith/fp_round.sv", signals: &["negative_i"], bits: ALL },
    // A division begins with no digits.
    Waiver { unit: recip, file: "rtl/arith/fp_recip.sv", signals: &["start.quotient"], bits: ALL },
    // What is at most 31 cycles ahead is bit 30.
    Waiver { unit: gemv_sequencer, file: GEMV_SEQUENCER, signals: BURSTS, bits: 31..32 },
    // The sum of two bytes.
    Waiver {
        unit: latency_estimator,
        file: "rtl/channel/latency_estimator.sv",
        signals: &["gemv_d", "gemv_q"],
        bits: 9..10,
    },
    // Of the pins' fields a command has those that it uses.
    Waiver { unit: controller, file: CONTROLLER, signals: OF_REFRESH, bits: ALL },
    Waiver { unit: controller, file: CONTROLLER, signals: CLOSES_PIM, bits: ALL },
    Waiver { unit: controller, file: CONTROLLER, signals: RELEASE_PIM, bits: ALL },
    Waiver { unit: controller, file: CONTROLLER, signals: &["release_pim.command"], bits: 0..3 },
    Waiver {
        unit: controller,
        file: CONTROLLER,
        signals: &["of_pim.of_mem", "of_pim.tag"],
        bits: ALL,
    },
    Waiver { unit: controller, file: CONTROLLER, signals: OF_MEM, bits: ALL },
    Waiver { unit: controller, file: "rtl/channel/channel_pim.sv", signals: OF_PIM_O, bits: ALL },
    Waiver { unit: controller, file: "rtl/channel/channel_mem.sv", signals: OF_MEM_O, bits: ALL },
    // The lower half of the banks is of the first pseudo-rank in either mode.
    Waiver { unit: controller, file: CONTROLLER, signals: &["banks"], bits: 0..16 },
    Waiver {
        unit: controller,
        file: "rtl/channel/channel_mem.sv",
        signals: &["banks_i"],
        bits: 0..16,
    },
    // Sums of a tree have the first lane alone, and its element is sum_o.
    Waiver { unit: channel, file: "rtl/channel/pim_bank.sv", signals: &["result"], bits: ALL },
    // A burst and its turn are over within 31 + 2 + 15 cycles.
    Waiver {
        unit: controller,
        file: "rtl/channel/channel_gates.sv",
        signals: &["read_mask_d", "read_mask_q", "write_mask_d", "write_mask_q"],
        bits: 48..64,
    },
];

const WIDEN: &str = "rtl/arith/fp_widen.sv";
const WIDENED: &[&str] = &["result", "result_o"];
const PIPE: &str = "rtl/prim/pipe.sv";
const PIPED: &[&str] = &["data_i", "data_o"];
const SOFTMAX: &str = "rtl/rank/softmax_unit.sv";
const EXPONENTIALS: &[&str] =
    &["exponential", "exp_d", "exp_q", "exp_o", "factor_d", "factor_q", "factor_o", "weight_o"];
const SUMS: &[&str] = &[
    "element",
    "multiplicand",
    "recip",
    "recip_o",
    "sum_d",
    "sum_q",
    "total",
    "total_d",
    "total_q",
];

const GEMV_SEQUENCER: &str = "rtl/channel/gemv_sequencer.sv";
const BURSTS: &[&str] = &[
    "latency_d",
    "latency_q",
    "cl_d",
    "cl_q",
    "bursts_d",
    "bursts_q",
    "of_gemv",
    "of_read",
    "near_bursts",
];

const CONTROLLER: &str = "rtl/channel/channel_controller.sv";
const OF_REFRESH: &[&str] = &[
    "of_refresh.row",
    "of_refresh.column",
    "of_refresh.count",
    "of_refresh.first",
    "of_refresh.last",
    "of_refresh.of_mem",
    "of_refresh.tag",
    "of_refresh.of_pim",
];
const CLOSES_PIM: &[&str] = &[
    "closes_pim.command",
    "closes_pim.row",
    "closes_pim.column",
    "closes_pim.count",
    "closes_pim.first",
    "closes_pim.last",
    "closes_pim.of_mem",
    "closes_pim.tag",
    "closes_pim.of_pim",
];
const RELEASE_PIM: &[&str] = &[
    "release_pim.row",
    "release_pim.column",
    "release_pim.count",
    "release_pim.first",
    "release_pim.last",
    "release_pim.of_mem",
    "release_pim.tag",
    "release_pim.of_pim",
];
const OF_MEM: &[&str] =
    &["of_mem.all", "of_mem.count", "of_mem.first", "of_mem.last", "of_mem.of_pim"];
const OF_MEM_O: &[&str] =
    &["of_mem_o.all", "of_mem_o.count", "of_mem_o.first", "of_mem_o.last", "of_mem_o.of_pim"];
const OF_PIM_O: &[&str] = &[
    "of_pim_o.of_mem",
    "of_pim_o.tag",
    "closes_pim_o.command",
    "closes_pim_o.row",
    "closes_pim_o.column",
    "closes_pim_o.count",
    "closes_pim_o.first",
    "closes_pim_o.last",
    "closes_pim_o.of_mem",
    "closes_pim_o.tag",
    "closes_pim_o.of_pim",
];

fn gradual(unit: &str) -> bool {
    !unit.contains("flush")
}

fn widens_binary16(unit: &str) -> bool {
    unit.starts_with("fp_widen") && !unit.contains("bfloat16")
}

fn widens_bfloat16(unit: &str) -> bool {
    unit.starts_with("fp_widen") && unit.contains("bfloat16")
}

fn softmax(unit: &str) -> bool {
    unit.starts_with("softmax_unit")
}

fn early_softmax(unit: &str) -> bool {
    softmax(unit) && !unit.contains("late")
}

fn exp(unit: &str) -> bool {
    unit.starts_with("fp_exp")
}

fn gemv_sequencer(unit: &str) -> bool {
    unit.starts_with("gemv_sequencer")
}

fn latency_estimator(unit: &str) -> bool {
    unit.starts_with("latency_estimator")
}

fn controller(unit: &str) -> bool {
    unit.starts_with("channel_controller")
}

fn channel(unit: &str) -> bool {
    unit.starts_with("pim_channel")
}

fn recip(unit: &str) -> bool {
    unit.starts_with("fp_recip")
}

/// Whether a bit (`fields.name[1][0]`) is tied in a unit.
pub fn is_waived(unit: &str, file: &str, bit: &str) -> bool {
    let (name, index) = bit.split_once('[').unwrap_or((bit, "0"));
    let index = index.trim_end_matches(']').rsplit('[').next().and_then(|last| last.parse().ok());
    WAIVERS.iter().any(|waiver| {
        (waiver.unit)(unit)
            && file == waiver.file
            && waiver.signals.contains(&name)
            && index.is_some_and(|index| waiver.bits.contains(&index))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_waiver_is_for_its_unit_signal_and_bits_alone() {
        let total = |unit, bit| is_waived(unit, SOFTMAX, bit);
        assert!(total("softmax_unit", "total_q[3][31]"));
        assert!(!total("softmax_unit", "total_q[3][30]"));
        assert!(!total("softmax_unit", "total_q[31][3]"));
        assert!(!total("softmax_unit", "total[31].x"));
        assert!(
            total("softmax_unit", "context_valid_o")
                && !total("softmax_unit:late", "context_valid_o")
        );
        assert!(is_waived("fp_mul", "rtl/arith/fp_round.sv", "underflow"));
        assert!(!is_waived("fp_mul:flush", "rtl/arith/fp_round.sv", "underflow"));
        assert!(!is_waived("fp_mul", "rtl/arith/fp_add.sv", "overflow"));
    }
}
