// SPDX-License-Identifier: MIT
//! The timings between two commands, one by one.

use super::{DualPin, DualRules};

/// The later of two commands has to wait `delay` after the earlier one, which is one of those that `after` says, where `binds` says that
/// the gate is between the two.
pub(super) struct Gate {
    pub(super) rule: &'static str,
    pub(super) after: fn(DualPin) -> bool,
    pub(super) delay: fn(&DualRules, DualPin) -> u64,
    pub(super) binds: fn(&DualRules, DualPin, DualPin) -> bool,
}

fn same_bank(r: &DualRules, a: DualPin, b: DualPin) -> bool {
    let (a, b) = (a.banks(r), b.banks(r));
    a.start < b.end && b.start < a.end
}

fn same_group(r: &DualRules, a: DualPin, b: DualPin) -> bool {
    a.banks(r).start / r.banks_per_group == b.banks(r).start / r.banks_per_group
}

fn same_rank(r: &DualRules, a: DualPin, b: DualPin) -> bool {
    a.banks(r).start / r.banks_per_rank() == b.banks(r).start / r.banks_per_rank()
}

fn is_act(pin: DualPin) -> bool {
    matches!(pin, DualPin::Act { .. })
}

fn is_pim_act(pin: DualPin) -> bool {
    matches!(pin, DualPin::PimActivation { .. })
}

fn is_pre(pin: DualPin) -> bool {
    matches!(pin, DualPin::Pre { .. } | DualPin::PreAll { .. })
}

fn is_pim_pre(pin: DualPin) -> bool {
    matches!(pin, DualPin::PimPrecharge { .. })
}

fn is_rd(pin: DualPin) -> bool {
    matches!(pin, DualPin::Rd { .. })
}

fn is_wr(pin: DualPin) -> bool {
    matches!(pin, DualPin::Wr { .. })
}

fn is_gwrite(pin: DualPin) -> bool {
    matches!(pin, DualPin::Gwrite { .. })
}

fn is_ref(pin: DualPin) -> bool {
    matches!(pin, DualPin::Ref { .. })
}

fn is_column(pin: DualPin) -> bool {
    is_rd(pin) || is_wr(pin)
}

fn has_dots(pin: DualPin) -> bool {
    pin.dots() > 0
}

/// Every timing between two commands. Gates of one rule stand side by side.
pub(super) const GATES: &[Gate] = &[
    // MEM: as in any HBM.
    Gate {
        rule: "tRC",
        after: is_act,
        delay: |r, _| r.t_rc,
        binds: |r, a, b| is_act(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRCD",
        after: is_act,
        delay: |r, _| r.t_rcd,
        binds: |r, a, b| (is_rd(b) || is_gwrite(b)) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRCD_WR",
        after: is_act,
        delay: |r, _| r.t_rcd_wr,
        binds: |r, a, b| is_wr(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRAS",
        after: is_act,
        delay: |r, _| r.t_ras,
        binds: |r, a, b| is_pre(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRP",
        after: is_pre,
        delay: |r, _| r.t_rp,
        binds: |r, a, b| (is_act(b) || is_ref(b)) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRTP",
        after: is_rd,
        delay: |r, _| r.t_rtp,
        binds: |r, a, b| is_pre(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tWR",
        after: is_wr,
        delay: |r, _| r.cwl + r.burst + r.t_wr,
        binds: |r, a, b| is_pre(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tCCD_S",
        after: is_column,
        delay: |r, _| r.t_ccd_s,
        binds: |r, a, b| is_column(b) && same_rank(r, a, b) && !same_group(r, a, b),
    },
    Gate {
        rule: "tCCD_L",
        after: is_column,
        delay: |r, _| r.t_ccd_l,
        binds: |r, a, b| is_column(b) && same_group(r, a, b),
    },
    Gate {
        rule: "tWTR_S",
        after: is_wr,
        delay: |r, _| r.cwl + r.burst + r.t_wtr_s,
        binds: |r, a, b| (is_rd(b) || is_gwrite(b)) && same_rank(r, a, b) && !same_group(r, a, b),
    },
    Gate {
        rule: "tWTR_L",
        after: is_wr,
        delay: |r, _| r.cwl + r.burst + r.t_wtr_l,
        binds: |r, a, b| (is_rd(b) || is_gwrite(b)) && same_group(r, a, b),
    },
    // Activations of either kind.
    Gate {
        rule: "tRRD_S",
        after: is_act,
        delay: |r, _| r.t_rrd_s,
        binds: |r, a, b| (is_act(b) || is_pim_act(b)) && same_rank(r, a, b) && !same_group(r, a, b),
    },
    Gate {
        rule: "tRRD_L",
        after: is_act,
        delay: |r, _| r.t_rrd_l,
        binds: |r, a, b| (is_act(b) || is_pim_act(b)) && same_group(r, a, b),
    },
    Gate {
        rule: "tFAW",
        after: is_pim_act,
        delay: |r, _| r.t_faw,
        binds: |r, a, b| (is_act(b) || is_pim_act(b)) && same_rank(r, a, b),
    },
    // PIM.
    Gate {
        rule: "tRC_PIM",
        after: is_pim_act,
        delay: |r, _| r.t_rc,
        binds: |r, a, b| is_pim_act(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRCD_PIM",
        after: is_pim_act,
        delay: |r, _| r.t_rcd_pim,
        binds: |_, _, b| has_dots(b),
    },
    Gate {
        rule: "tRAS_PIM",
        after: is_pim_act,
        delay: |r, _| r.t_ras,
        binds: |r, a, b| is_pim_pre(b) && same_bank(r, a, b),
    },
    Gate {
        rule: "tRP_PIM",
        after: is_pim_pre,
        delay: |r, _| r.t_rp,
        binds: |r, a, b| (is_pim_act(b) || is_ref(b)) && same_bank(r, a, b),
    },
    // Behind the last dot product, not behind the command.
    Gate {
        rule: "tRTP_PIM",
        after: has_dots,
        delay: |r, a| (a.dots() - 1) * r.dot + r.t_rtp,
        binds: |_, _, b| is_pim_pre(b),
    },
    Gate {
        rule: "tDOT",
        after: has_dots,
        delay: |r, a| a.dots() * r.dot,
        binds: |_, _, b| has_dots(b) || is_gwrite(b),
    },
    Gate {
        rule: "tRESULT",
        after: has_dots,
        delay: |r, a| (a.dots() - 1) * r.dot + r.results,
        binds: |_, _, b| b == DualPin::ReadResult,
    },
    Gate {
        rule: "tGWRITE",
        after: is_gwrite,
        delay: |r, _| r.gwrite,
        binds: |r, a, b| {
            let of_bank = is_column(b) || is_pre(b);
            has_dots(b) || is_gwrite(b) || of_bank && same_bank(r, a, b)
        },
    },
    Gate { rule: "tGWRITE_RD", after: is_gwrite, delay: |r, _| r.burst, binds: |_, _, b| is_rd(b) },
    Gate {
        rule: "tRFC",
        after: is_ref,
        delay: |r, _| r.t_rfc,
        binds: |r, a, b| (is_act(b) || is_pim_act(b) || is_ref(b)) && same_rank(r, a, b),
    },
];

/// How long a command binds those behind it, and by which gates, a bit for each.
pub(super) fn reach_of(rules: &DualRules, pin: DualPin) -> (u64, u32) {
    let all = GATES.iter().enumerate().filter(|(_, gate)| (gate.after)(pin));
    all.fold((0, 0), |(reach, bits), (number, gate)| {
        (reach.max((gate.delay)(rules, pin)), bits | 1 << number)
    })
}
