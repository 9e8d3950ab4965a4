// SPDX-License-Identifier: MIT
//! Rules between two commands: each gate opens at its tCK.

use crate::{
    ACT_ALL, ACT_UPPER, MRS, RD_ALL, RD_RESULT, WR_ALL, WR_SHARED, act, after, pre, rd,
    without_refresh, wr,
};
use pimlico_golden::pins::{Pin, Rules, Subject};

/// The command `last` after `before` is legal from tCK `legal` on, and a tCK earlier breaks `rule`
/// and nothing else.
pub struct Gate {
    pub rule: &'static str,
    before: Vec<(u64, Pin)>,
    last: Pin,
    legal: u64,
    rules: Rules,
}

fn gate(rule: &'static str, before: &[(u64, Pin)], last: Pin, legal: u64) -> Gate {
    Gate { rule, before: before.to_vec(), last, legal, rules: without_refresh() }
}

impl Gate {
    /// With a timing that lets no other rule hide this one.
    fn with(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }
}

/// Latencies of registers and buffers, as an AiM has them.
fn of_registers(rules: &mut Rules) {
    (rules.cl_reg, rules.cwl_gb) = (Some(4), Some(3));
}

/// Banks 0 to 3 are group 0, banks 4 to 7 group 1, and so on. Times are sums of the figures above.
pub fn gates() -> Vec<Gate> {
    let open = [(0, act(0)), (10, act(1)), (20, act(4))];
    let after_open = |more: &[(u64, Pin)]| [&open[..], more].concat();
    let all_open = |more: &[(u64, Pin)]| [&[(0, ACT_ALL)], more].concat();
    vec![
        gate("tRCD", &[(100, act(0))], rd(0), 122),
        gate("tRCD", &[(100, ACT_ALL)], rd(15), 122),
        gate("tRCD", &[(100, act(0))], rd(0), 130).with(|r| r.t_rcd = 30),
        gate("tRCD_WR", &[(100, act(0))], wr(0), 122),
        gate("tRCD_WR", &[(100, act(0))], wr(0), 130).with(|r| r.t_rcd_wr = 30),
        gate("tRCD_WR", &[(100, ACT_ALL)], WR_ALL, 122),
        gate("tRCD_MAC", &[(100, ACT_ALL)], RD_ALL, 122),
        gate("tRCD_MAC", &[(100, ACT_ALL)], RD_ALL, 156).with(|r| r.t_rcd_mac = 56),
        gate("tRAS", &[(100, act(0))], pre(0), 152),
        gate("tRAS", &[(0, act(4)), (100, act(0))], Pin::PreAll, 152),
        gate("tRAS", &[(100, ACT_ALL)], pre(9), 152),
        gate("tRP", &[(0, act(0)), (100, pre(0))], act(0), 122),
        gate("tRP", &[(0, act(0)), (100, Pin::PreAll)], act(9), 122),
        gate("tRP", &[(0, act(9)), (100, pre(9))], ACT_ALL, 122),
        // The last PRE counts, though the bank is closed already.
        gate("tRP", &[(0, act(0)), (100, pre(0)), (110, pre(0))], act(0), 132),
        gate("tRP", &[(0, act(0)), (100, pre(0))], Pin::Ref, 122),
        gate("tRP", &[(0, act(0)), (100, Pin::PreAll)], Pin::Ref, 122),
        gate("tRC", &[(0, act(0)), (52, pre(0))], act(0), 90).with(|r| r.t_rc = 90),
        gate("tRC", &[(0, ACT_ALL), (52, Pin::PreAll)], act(5), 90).with(|r| r.t_rc = 90),
        gate("tRC", &[(0, act(5)), (52, pre(5))], ACT_ALL, 90).with(|r| r.t_rc = 90),
        gate("tRRD_S", &[(100, act(0))], act(4), 104),
        gate("tRRD_S", &[(100, act(3))], act(4), 104),
        gate("tRRD_L", &[(100, act(0))], act(3), 108),
        // Of the two before, the one in the same group binds longer.
        gate("tRRD_L", &[(100, act(0)), (102, act(4))], act(1), 108).with(|r| r.t_rrd_s = 2),
        gate("tFAW", &[(0, act(0)), (4, act(4)), (8, act(8)), (12, act(12))], act(1), 34),
        gate("tFAW", &[(0, act(0)), (20, act(4)), (24, act(8)), (28, act(12))], act(1), 34)
            .with(|r| r.t_rrd_l = 4),
        // An all-bank activation takes the whole window.
        gate("tFAW", &[(0, ACT_ALL), (52, pre(0))], act(0), 99).with(|r| r.t_faw = 99),
        gate("tFAW", &[(0, act(0)), (52, pre(0))], ACT_ALL, 99).with(|r| r.t_faw = 99),
        gate("tFAW", &[(0, ACT_ALL), (52, Pin::PreAll)], ACT_ALL, 99).with(|r| r.t_faw = 99),
        // So does that of half of the banks, which are far enough from the others for tRRD.
        gate("tFAW", &[(0, ACT_ALL)], ACT_UPPER, 34).with(|r| r.faw_banks = 8),
        gate("tFAW", &[(0, ACT_UPPER)], act(0), 34).with(|r| r.faw_banks = 8),
        gate("tRAS", &[(0, ACT_ALL), (34, ACT_UPPER)], pre(8), 86).with(|r| r.faw_banks = 8),
        gate("tRCD_MAC", &[(0, ACT_ALL), (34, ACT_UPPER)], RD_ALL, 56).with(|r| r.faw_banks = 8),
        gate("tCCD_S", &after_open(&[(100, rd(0))]), rd(4), 104),
        gate("tCCD_S", &after_open(&[(100, wr(4))]), wr(0), 104),
        gate("tCCD_S", &after_open(&[(100, rd(0))]), RD_RESULT, 104),
        gate("tCCD_S", &[(100, RD_RESULT)], RD_RESULT, 104),
        gate("tCCD_S", &[(100, WR_SHARED)], WR_SHARED, 104),
        gate("tCCD_S", &[(100, WR_SHARED)], RD_RESULT, 104),
        gate("tCCD_S", &after_open(&[(100, WR_SHARED)]), wr(0), 104),
        gate("tCCD_L", &after_open(&[(100, rd(0))]), rd(1), 108),
        gate("tCCD_L", &after_open(&[(100, rd(0))]), rd(0), 108),
        gate("tCCD_L", &after_open(&[(100, wr(0))]), wr(1), 108),
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), RD_ALL, 108),
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), rd(9), 108),
        gate("tCCD_L", &all_open(&[(100, rd(9))]), RD_ALL, 108),
        // No turnaround, as the all-bank RD has no data on the bus.
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), wr(9), 108),
        gate("tCCD_L", &all_open(&[(100, RD_ALL)]), WR_ALL, 108),
        gate("tCCD_L", &all_open(&[(100, WR_ALL)]), wr(9), 108),
        gate("tCCD_S", &all_open(&[(100, WR_ALL)]), WR_SHARED, 104),
        gate("tCCD_RESULT", &[(100, RD_RESULT)], RD_RESULT, 108).with(|r| r.t_ccd_result = Some(8)),
        gate("tCCD_RESULT", &[(100, WR_SHARED)], WR_SHARED, 105).with(|r| r.t_ccd_result = Some(5)),
        gate("tCCD_RESULT", &[(100, WR_SHARED)], RD_RESULT, 108).with(|r| r.t_ccd_result = Some(8)),
        gate("tWTR_SHARED", &all_open(&[(100, WR_SHARED)]), RD_ALL, 124)
            .with(|r| r.t_wtr_shared = Some(4)),
        gate("tWTR_SHARED", &[(100, WR_SHARED)], RD_RESULT, 120).with(|r| r.t_wtr_shared = Some(0)),
        gate("tWTR_S", &after_open(&[(100, wr(0))]), rd(4), 124),
        gate("tWTR_L", &after_open(&[(100, wr(0))]), rd(1), 132),
        gate("tWTR_L", &after_open(&[(100, wr(0))]), rd(0), 132),
        gate("tWTR_L", &all_open(&[(100, wr(0))]), RD_ALL, 132),
        gate("tWTR_L", &all_open(&[(100, WR_ALL)]), RD_ALL, 132),
        gate("tWTR_L", &all_open(&[(100, WR_ALL)]), rd(7), 132),
        gate("tRTW", &after_open(&[(100, rd(0))]), wr(0), 112),
        gate("tRTW", &after_open(&[(100, rd(0))]), wr(4), 112),
        gate("tRTW", &all_open(&[(100, rd(0))]), WR_ALL, 112),
        gate("tRTW", &after_open(&[(100, rd(0))]), WR_SHARED, 112),
        gate("tRTW", &after_open(&[(100, RD_RESULT)]), wr(0), 112),
        gate("tRTW", &[(100, RD_RESULT)], WR_SHARED, 113).with(|r| r.rtw_gap = 3),
        gate("tRTW", &[(100, RD_RESULT)], WR_SHARED, 107).with(of_registers),
        gate("tRTW", &after_open(&[(100, rd(0))]), WR_SHARED, 125).with(of_registers),
        gate("tRTW", &after_open(&[(100, RD_RESULT)]), wr(0), 105).with(|r| r.cl_reg = Some(15)),
        gate("tMODCH", &all_open(&[(100, RD_ALL)]), RD_RESULT, 133).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, RD_ALL)]), WR_SHARED, 133).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, RD_RESULT)]), RD_ALL, 159).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &all_open(&[(100, WR_SHARED)]), RD_ALL, 153).with(|r| r.t_modch = Some(32)),
        gate("tMODCH", &[(100, WR_SHARED)], ACT_ALL, 153).with(|r| r.t_modch = Some(32)),
        gate("tWR", &after_open(&[(100, wr(0))]), pre(0), 144),
        gate("tWR", &after_open(&[(100, wr(4))]), Pin::PreAll, 144),
        gate("tWR", &all_open(&[(100, WR_ALL)]), pre(11), 144),
        gate("tRTP", &after_open(&[(100, rd(0))]), pre(0), 112),
        gate("tRTP", &after_open(&[(100, rd(4))]), Pin::PreAll, 112),
        gate("tRTP", &all_open(&[(100, RD_ALL)]), pre(11), 112),
        gate("tRFC", &[(100, Pin::Ref)], act(0), 660),
        gate("tRFC", &[(100, Pin::Ref)], ACT_ALL, 660),
        gate("tRFC", &[(100, Pin::Ref)], pre(0), 660),
        gate("tRFC", &[(100, Pin::Ref)], Pin::PreAll, 660),
        gate("tRFC", &[(100, Pin::Ref)], Pin::Ref, 660),
        gate("tRFC", &[(100, Pin::Ref)], RD_RESULT, 660),
        gate("tRFC", &[(100, Pin::Ref)], WR_SHARED, 660),
        gate("tRFC", &[(100, Pin::Ref)], MRS, 660),
        gate("tRP", &[(0, act(0)), (100, pre(0))], MRS, 122),
        gate("tMRD", &[(100, MRS)], MRS, 108),
        gate("tMOD", &[(100, MRS)], act(0), 124),
        gate("tMOD", &[(100, MRS)], Pin::PreAll, 124),
        gate("tMOD", &[(100, MRS)], Pin::Ref, 124),
        gate("tMOD", &[(100, MRS)], RD_RESULT, 124),
        gate("tMOD", &[(100, MRS)], Pin::SetWord { word: 1 }, 124),
        gate("command bus", &[(0, act(4)), (100, act(0))], pre(4), 101),
        gate("command bus", &all_open(&[(100, RD_ALL)]), RD_RESULT, 101),
    ]
}

#[test]
fn each_gate_opens_at_its_tck() {
    for Gate { rule, before, last, legal, rules } in gates() {
        let what = format!("{rule}: {last}");
        let checker = after(&rules, &before);
        let found = checker.clone().command(legal, last);
        assert!(found.is_empty(), "{what}: {}", found[0]);

        let found = checker.clone().command(legal - 1, last);
        assert_eq!(found.len(), 1, "{what}: {found:?}");
        assert_eq!((found[0].rule, found[0].at_tck), (rule, legal - 1), "{what}");
        assert_eq!(found[0].subject, Subject::Command(last), "{what}");
        assert_eq!(found[0].earliest_legal(), Some(legal), "{what}");
        let earlier = found[0].earlier.expect("a gate is between two commands");
        assert!(before.contains(&(earlier.at_tck, earlier.pin)), "{what}");
    }
}

/// Commands between which there is no gate: they are legal one tCK apart.
#[test]
fn what_shares_nothing_waits_for_nothing() {
    let open = [(0, act(0)), (10, act(1)), (20, act(4))];
    for (before, last) in [
        (vec![(100, act(0))], RD_RESULT),
        (vec![(100, act(0))], WR_SHARED),
        (vec![(100, ACT_ALL)], WR_SHARED),
        (vec![(100, RD_RESULT)], act(0)),
        (vec![(100, WR_SHARED)], ACT_ALL),
        (vec![(0, ACT_ALL), (100, RD_ALL)], WR_SHARED),
        (vec![(0, ACT_ALL), (100, WR_SHARED)], RD_ALL),
        (vec![(0, ACT_ALL), (100, RD_RESULT)], RD_ALL),
        (vec![(0, ACT_ALL), (100, RD_RESULT)], Pin::PreAll),
        (vec![(0, ACT_ALL), (100, WR_SHARED)], Pin::PreAll),
        ([&open[..], &[(100, rd(0))]].concat(), pre(1)),
        ([&open[..], &[(100, rd(0))]].concat(), act(9)),
        ([&open[..], &[(100, wr(0))]].concat(), pre(4)),
        ([&open[..], &[(100, pre(0))]].concat(), rd(1)),
        ([&open[..], &[(100, pre(0))]].concat(), pre(1)),
        ([&open[..], &[(100, pre(0))]].concat(), act(9)),
        (vec![(0, act(0)), (100, pre(0))], Pin::PreAll),
    ] {
        let found = after(&without_refresh(), &before).command(101, last);
        assert!(found.is_empty(), "{}", found[0]);
    }
}
