// SPDX-License-Identifier: MIT
//! The DRAM that an episode of `rank_controller` is configured for: drawn, and read back as times and rules.

use super::{BANK_GROUPS, BANKS, BANKS_PER_GROUP};
use pimlico_dpa::types::Timing;
use pimlico_golden::pins::Rules;
use pimlico_ports::U;
use pimlico_units::rank::RankControllerIn;

/// Makes a DRAM's configuration of random bytes.
pub fn configure(input: &mut RankControllerIn, sort: u16, slots: usize) {
    let timing = &mut input.timing_i;
    timing.faw_banks = U::new(match timing.faw_banks.get() {
        16.. => 16,
        8..16 => 8,
        _ => 4,
    });
    let shares_trunk = timing.cl.is_multiple_of(3);
    let turns = timing.cwl.is_multiple_of(3);
    match sort {
        0 => {
            *timing = Timing {
                ccd_s: 4,
                ccd_l: 8,
                ccd_result: if shares_trunk { 8 } else { 4 },
                rrd_s: 4,
                rrd_l: 8,
                rcd: 22,
                rcd_wr: 22,
                rcd_mac: 22,
                ras: 52,
                rp: 22,
                rtp: 12,
                rd_to_wr: 12,
                wr_to_rd_s: 24,
                wr_to_rd_l: 32,
                wr_to_pre: 44,
                shared_to_rd: if turns { 24 } else { 0 },
                faw: 34,
                rc: 74,
                rfc: 560,
                ..*timing
            };
        }
        1 => {
            *timing = Timing {
                ccd_s: 2,
                ccd_l: 2,
                ccd_result: if shares_trunk { 4 } else { 2 },
                rrd_s: 11,
                rrd_l: 11,
                rcd: 36,
                rcd_wr: 28,
                rcd_mac: 56,
                ras: 54,
                rp: 32,
                rtp: 12,
                rd_to_wr: 48,
                wr_to_rd_s: 17,
                wr_to_rd_l: 19,
                wr_to_pre: 41,
                shared_to_rd: if turns { 17 } else { 0 },
                faw: 42,
                rc: 89,
                rfc: 210,
                ..*timing
            }
            .in_cycles(slots as u8);
        }
        // Any bytes, and mostly short ones, so that much happens.
        sort => {
            let most = if sort == 2 { 255 } else { 1 << (sort - 2) };
            for time in [
                &mut timing.ccd_s,
                &mut timing.ccd_l,
                &mut timing.ccd_result,
                &mut timing.rrd_s,
                &mut timing.rrd_l,
                &mut timing.rcd,
                &mut timing.rcd_wr,
                &mut timing.rcd_mac,
                &mut timing.ras,
                &mut timing.rp,
                &mut timing.rtp,
                &mut timing.rd_to_wr,
                &mut timing.wr_to_rd_s,
                &mut timing.wr_to_rd_l,
                &mut timing.wr_to_pre,
                &mut timing.shared_to_rd,
                &mut timing.faw,
                &mut timing.rc,
            ] {
                *time = (u16::from(*time) % (most + 1)) as u8;
            }
            timing.shared_to_rd = if turns { timing.shared_to_rd } else { 0 };
            timing.rrd_l = timing.rrd_l.max(timing.rrd_s);
            timing.faw = timing.faw.max(timing.rrd_l);
            // Often longer than a row is open and closed, so that it decides when the next is opened.
            if timing.cl.is_multiple_of(2) {
                timing.faw = timing.faw.max(timing.cwl >> (sort % 4));
            }
            let any = sort == 2 && timing.rc.is_multiple_of(4);
            timing.rfc = if any { timing.rfc } else { timing.rfc % (2 * most) }.max(2);
        }
    }
}

/// The latched configuration. A time of 0 is one of 1: commands take a cycle.
pub struct Times {
    pub ccd_s: u64,
    pub ccd_l: u64,
    pub ccd_result: u64,
    /// WR_SHARED to RD_ALL and RD_RESULT, of which one is in another slot; 0 if they do not wait.
    pub shared_to_rd: u64,
    /// Of RD and WR, the longer.
    pub rcd: u64,
    pub rcd_mac: u64,
    pub rd_to_wr: u64,
    pub wr_to_rd_s: u64,
    pub wr_to_rd_l: u64,
    pub rp: u64,
    pub rfc: u64,
    pub faw_banks: usize,
    /// Longer than any array request waits at the head of its queue, but for refresh.
    pub array_bound: u64,
    /// And any bus request; one that may have to wait for an all-bank read.
    pub bus_bound: u64,
    pub read_bound: u64,
}

/// The latched configuration, and the same as a DRAM's rules, in slots. The controller is told sums, which are
/// taken apart as if a burst took a slot and write data came with their command.
pub fn configuration(first: &RankControllerIn, slots: usize) -> (Times, Rules) {
    let timing = first.timing_i;
    let time = |port: u8| u64::from(port).max(1);
    let apart = slots == 2;
    let slots = |port: u8| slots as u64 * time(port);
    let turns = timing.shared_to_rd > 0;
    let rules = Rules {
        bank_groups: BANK_GROUPS,
        banks_per_group: BANKS_PER_GROUP,
        burst: 1,
        t_ccd_s: slots(timing.ccd_s),
        t_ccd_l: slots(timing.ccd_l),
        t_ccd_result: Some(slots(timing.ccd_result)),
        t_rrd_s: slots(timing.rrd_s),
        t_rrd_l: slots(timing.rrd_l),
        t_faw: slots(timing.faw),
        faw_banks: timing.faw_banks.get() as usize,
        t_rcd: slots(timing.rcd),
        t_rcd_wr: slots(timing.rcd_wr),
        t_rcd_mac: slots(timing.rcd_mac),
        t_ras: slots(timing.ras),
        t_rp: slots(timing.rp),
        t_rc: slots(timing.rc),
        cl: slots(timing.rd_to_wr) - 1,
        cwl: 0,
        cl_reg: None,
        cwl_gb: None,
        t_modch: None,
        rtw_gap: 0,
        t_wtr_s: slots(timing.wr_to_rd_s) - 1,
        t_wtr_l: slots(timing.wr_to_rd_l) - 1,
        t_wtr_shared: turns.then(|| slots(timing.shared_to_rd) - 1),
        t_wr: slots(timing.wr_to_pre) - 1,
        t_rtp: slots(timing.rtp),
        t_rfc: slots(1) * u64::from(timing.rfc),
        t_refi: None,
        max_postponed: 8,
        locked: false,
    };
    let [rd_to_wr, wr_to_rd_s, wr_to_rd_l] =
        [timing.rd_to_wr, timing.wr_to_rd_s, timing.wr_to_rd_l].map(time);
    let [ccd_s, ccd_l, rp, rcd_mac] =
        [timing.ccd_s, timing.ccd_l, timing.rp, timing.rcd_mac].map(time);
    let column_rcd = time(timing.rcd).max(time(timing.rcd_wr));
    let close =
        time(timing.ras).max(time(timing.rc)) + time(timing.rtp) + time(timing.wr_to_pre) + rp;
    let faw_banks = timing.faw_banks.get() as usize;
    let windows = (BANKS / faw_banks) as u64;
    let open = windows * (time(timing.faw) + 4 * (time(timing.rrd_l) + 1));
    let ccd_result = time(timing.ccd_result);
    let shared_to_rd = u64::from(timing.shared_to_rd) + u64::from(apart && turns);
    let data = ccd_s.max(ccd_result) + rd_to_wr + 2;
    // Eight WR_SHAREDs go before an RD_ALL, and the ninth behind it.
    let shared = if turns { 9 * (data + 2) + shared_to_rd } else { 0 };
    let column = ccd_l + wr_to_rd_s.max(wr_to_rd_l) + 2;
    let times = Times {
        ccd_s,
        ccd_l,
        ccd_result,
        shared_to_rd,
        rcd: column_rcd,
        rcd_mac,
        rd_to_wr,
        wr_to_rd_s,
        wr_to_rd_l,
        rp,
        rfc: timing.rfc.into(),
        faw_banks,
        array_bound: close + open + column_rcd.max(rcd_mac) + column + shared + 2 * data + 10,
        bus_bound: 2 * data + 8,
        read_bound: column_rcd.max(rcd_mac) + column + shared + 2 * data + 8,
    };
    (times, rules)
}
