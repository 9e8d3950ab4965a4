// SPDX-License-Identifier: MIT
//! The rules by name: the timings between two commands, one by one, and what else can be broken.

use super::{Pin, Rules};
use std::ops::Range;

/// The later of two commands has to wait `delay` after the earlier one, where it is one of those that
/// `later` says and `binds` says that the gate is between the two.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) rule: &'static str,
    pub(super) delay: fn(&Rules) -> u64,
    pub(super) later: fn(Pin) -> bool,
    pub(super) binds: fn(&Rules, Pin, Pin) -> bool,
}

/// Every timing between two commands but those of REF. Gates of one rule stand side by side.
pub(super) static GATES: [Gate; 25] = [
    Gate {
        rule: "tRCD",
        delay: |r| r.t_rcd,
        later: |b| matches!(b, Pin::Rd { .. }),
        binds: |r, a, b| a.activates() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRCD_WR",
        delay: |r| r.t_rcd_wr,
        later: Pin::writes_a_bank,
        binds: |r, a, b| a.activates() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRCD_MAC",
        delay: |r| r.t_rcd_mac,
        later: |b| matches!(b, Pin::RdAll { .. }),
        binds: |_, a, _| a.activates(),
    },
    Gate {
        rule: "tRAS",
        delay: |r| r.t_ras,
        later: Pin::precharges,
        binds: |r, a, b| a.activates() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRP",
        delay: |r| r.t_rp,
        later: |b| b.activates() || b.sets_mode() || b == Pin::Ref,
        binds: |r, a, b| a.precharges() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRC",
        delay: |r| r.t_rc,
        later: Pin::activates,
        binds: |r, a, b| a.activates() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRRD_S",
        delay: |r| r.t_rrd_s,
        later: Pin::activates,
        binds: |r, a, b| a.activates() && !same_group(r, a, b),
    },
    Gate {
        rule: "tRRD_L",
        delay: |r| r.t_rrd_l,
        later: Pin::activates,
        binds: |r, a, b| a.activates() && same_group(r, a, b) && !same_bank(r, a, b),
    },
    Gate {
        rule: "tCCD_S",
        delay: |r| r.t_ccd_s,
        later: |b| b.driver().is_some(),
        binds: |r, a, b| a.driver().is_some() && !same_group(r, a, b),
    },
    Gate {
        rule: "tCCD_L",
        delay: |r| r.t_ccd_l,
        later: Pin::touches_columns,
        binds: |r, a, b| a.touches_columns() && same_group(r, a, b),
    },
    Gate {
        rule: "tCCD_RESULT",
        delay: |r| r.t_ccd_result.unwrap_or(0),
        later: Pin::moves_for_pus,
        binds: |_, a, _| a.moves_for_pus(),
    },
    Gate {
        rule: "tWTR_S",
        delay: |r| r.cwl + r.burst + r.t_wtr_s,
        later: |b| matches!(b, Pin::Rd { .. }),
        binds: |r, a, b| a.writes_a_bank() && !same_group(r, a, b),
    },
    Gate {
        rule: "tWTR_L",
        delay: |r| r.cwl + r.burst + r.t_wtr_l,
        later: Pin::reads_a_bank,
        binds: |r, a, b| a.writes_a_bank() && same_group(r, a, b),
    },
    Gate {
        rule: "tWTR_SHARED",
        delay: |r| r.t_wtr_shared.map_or(0, |t_wtr| r.shared_latency() + r.burst + t_wtr),
        later: |b| matches!(b, Pin::RdAll { .. } | Pin::RdResult { .. }),
        binds: |_, a, _| matches!(a, Pin::WrShared { .. }),
    },
    Gate {
        rule: "tRTW",
        delay: |r| r.rd_to_wr(r.cl, r.cwl),
        later: Pin::writes_a_bank,
        binds: |_, a, _| matches!(a, Pin::Rd { .. }),
    },
    Gate {
        rule: "tRTW",
        delay: |r| r.rd_to_wr(r.result_latency(), r.cwl),
        later: Pin::writes_a_bank,
        binds: |_, a, _| matches!(a, Pin::RdResult { .. }),
    },
    Gate {
        rule: "tRTW",
        delay: |r| r.rd_to_wr(r.cl, r.shared_latency()),
        later: |b| matches!(b, Pin::WrShared { .. }),
        binds: |_, a, _| matches!(a, Pin::Rd { .. }),
    },
    Gate {
        rule: "tRTW",
        delay: |r| r.rd_to_wr(r.result_latency(), r.shared_latency()),
        later: |b| matches!(b, Pin::WrShared { .. }),
        binds: |_, a, _| matches!(a, Pin::RdResult { .. }),
    },
    Gate {
        rule: "tMODCH",
        delay: Rules::mode_change,
        later: Pin::moves_for_pus,
        binds: |_, a, _| a.is_of_all_banks(),
    },
    Gate {
        rule: "tMODCH",
        delay: |r| r.mode_change_behind(r.result_latency()),
        later: Pin::is_of_all_banks,
        binds: |_, a, _| matches!(a, Pin::RdResult { .. }),
    },
    Gate {
        rule: "tMODCH",
        delay: |r| r.mode_change_behind(r.shared_latency()),
        later: Pin::is_of_all_banks,
        binds: |_, a, _| matches!(a, Pin::WrShared { .. }),
    },
    Gate {
        rule: "tWR",
        delay: |r| r.cwl + r.burst + r.t_wr,
        later: Pin::precharges,
        binds: |r, a, b| a.writes_a_bank() && same_bank(r, a, b),
    },
    Gate {
        rule: "tRTP",
        delay: |r| r.t_rtp,
        later: Pin::precharges,
        binds: |r, a, b| a.reads_a_bank() && same_bank(r, a, b),
    },
    Gate { rule: "tMRD", delay: |_| MRD, later: Pin::sets_mode, binds: |_, a, _| a.sets_mode() },
    Gate {
        rule: "tMOD",
        delay: |_| MOD,
        later: |b| !b.sets_mode(),
        binds: |_, a, _| a.sets_mode(),
    },
];

/// MRS to MRS, in tCK: 8 nCK of every speed bin (JESD79-4, Timing Parameters by Speed Grade).
pub(super) const MRD: u64 = 8;
/// MRS to any other command, in tCK: the longer of 24 nCK and 15 ns (ibid.), which are 24 tCK of 0.625 ns.
pub(super) const MOD: u64 = 24;

/// The rules that are no gate between two commands.
pub(super) const OTHER_RULES: [&str; 17] = [
    NO_SUCH_BANK,
    NO_SUCH_COMMAND,
    LOCKED,
    COMMAND_BUS,
    BANK_OPEN,
    BANK_CLOSED,
    FAW,
    RFC,
    REFI,
    REF_RATE,
    CL,
    CWL,
    BURST,
    NO_COMMAND,
    NO_DATA,
    DATA_BUS,
    TURNAROUND,
];
/// The command names a bank that there is not.
pub(super) const NO_SUCH_BANK: &str = "no such bank";
/// An ACT_ALL where the chips have none.
pub(super) const NO_SUCH_COMMAND: &str = "no such command";
/// A command of processing in memory before the key.
pub(super) const LOCKED: &str = "locked";
/// One command in a tCK, and time goes forward.
pub(super) const COMMAND_BUS: &str = "command bus";
/// ACT, REF and MRS want the bank closed.
pub(super) const BANK_OPEN: &str = "bank open";
/// RD and WR want it open.
pub(super) const BANK_CLOSED: &str = "bank closed";
/// No more than four ACTs in the window.
pub(super) const FAW: &str = "tFAW";
/// Nothing while the DRAM refreshes.
pub(super) const RFC: &str = "tRFC";
/// No more REFs postponed than may be, and none lost.
pub(super) const REFI: &str = "tREFI";
/// No more than [`REFS_IN_TWO_REFI`].
pub(super) const REF_RATE: &str = "REF rate";
/// Read data come CL after their RD.
pub(super) const CL: &str = "CL";
/// Write data come CWL after their WR.
pub(super) const CWL: &str = "CWL";
/// A burst is of one length.
pub(super) const BURST: &str = "BL";
/// Data belong to a command.
pub(super) const NO_COMMAND: &str = "no command";
/// A command with data gets them.
pub(super) const NO_DATA: &str = "no data";
/// One driver at a time.
pub(super) const DATA_BUS: &str = "data bus";
/// The data bus lies idle for a while when its driver changes.
pub(super) const TURNAROUND: &str = "turnaround";

/// REFs that may come within any two tREFI (JESD79-4, Refresh command).
pub(super) const REFS_IN_TWO_REFI: usize = 16;

/// The name of every rule that a [`Violation`](super::Violation) can carry.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    let again = |gate: usize| gate > 0 && GATES[gate - 1].rule == GATES[gate].rule;
    let of_gates = (0..GATES.len()).filter(move |&gate| !again(gate)).map(|gate| GATES[gate].rule);
    of_gates.chain(OTHER_RULES)
}

pub(super) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

pub(super) fn same_bank(rules: &Rules, a: Pin, b: Pin) -> bool {
    overlap(&a.banks(rules), &b.banks(rules))
}

pub(super) fn same_group(rules: &Rules, a: Pin, b: Pin) -> bool {
    let groups = |pin: Pin| {
        let banks = pin.banks(rules);
        banks.start / rules.banks_per_group..banks.end.div_ceil(rules.banks_per_group)
    };
    overlap(&groups(a), &groups(b))
}
