// SPDX-License-Identifier: MIT
//! The pins of a channel, as `golden` knows them.

use pimlico_dpa::types::{Options, PinCommand, Pins, Timing};
use pimlico_golden::pins::{Pin, Rules};

/// tCK of a cycle, and so of a burst.
pub(crate) const TCK: u64 = 2;
/// tCK from a command in a second slot to its burst.
pub(crate) const CWL_GB: u64 = 1;
pub(crate) const CL_REG: u64 = 3;

/// What a channel's DRAM demands.
pub(crate) fn rules(timing: &Timing, options: Options, mode_change: u8, pingpong: bool) -> Rules {
    let Timing { rrd_s, rrd_l, rcd, rcd_wr, rcd_mac, ras, rp, rc, rtp, faw, .. } = *timing;
    let Timing { wr_to_rd_s, wr_to_rd_l, wr_to_pre, rd_to_wr, faw_banks, .. } = *timing;
    let tck = |cycles: u8| TCK * u64::from(cycles);
    let (cl, cwl) = (tck(timing.cl), tck(timing.cwl));
    let refi = timing.refi.get();
    let change = u64::from(mode_change);
    Rules {
        bank_groups: 4,
        banks_per_group: 4,
        burst: TCK,
        t_ccd_s: TCK,
        t_ccd_l: TCK,
        t_ccd_result: Some(TCK),
        t_rrd_s: tck(rrd_s),
        t_rrd_l: tck(rrd_l),
        t_faw: tck(faw),
        faw_banks: faw_banks.get() as usize,
        t_rcd: tck(rcd),
        t_rcd_wr: tck(rcd_wr),
        t_rcd_mac: tck(rcd_mac),
        t_ras: tck(ras),
        t_rp: tck(rp),
        t_rc: tck(rc),
        cl,
        cwl,
        cl_reg: Some(CL_REG),
        cwl_gb: Some(CWL_GB),
        t_modch: change.checked_sub(1).filter(|_| !pingpong),
        // Words before results have but two.
        rtw_gap: (tck(rd_to_wr) + CWL_GB - CL_REG - TCK).min(2),
        t_wtr_s: tck(wr_to_rd_s).saturating_sub(cwl + TCK),
        t_wtr_l: tck(wr_to_rd_l).saturating_sub(cwl + TCK),
        t_wtr_shared: None,
        t_wr: tck(wr_to_pre).saturating_sub(cwl + TCK),
        t_rtp: tck(rtp),
        t_rfc: TCK * u64::from(timing.rfc),
        t_refi: Some(TCK * refi).filter(|_| options.refresh && refi > 0),
        max_postponed: 8,
        locked: false,
    }
}

/// The command on pins, if there is one.
pub(crate) fn pin(pins: &Pins) -> Option<Pin> {
    let bank = pins.bank.get() as usize;
    let (row, column) = (usize::from(pins.row), usize::from(pins.column));
    Some(match pins.command {
        PinCommand::None => return None,
        PinCommand::Act => Pin::Act { bank, row },
        PinCommand::ActAll => Pin::ActAll { bank, row },
        PinCommand::Pre => Pin::Pre { bank },
        PinCommand::PreAll => Pin::PreAll,
        PinCommand::Rd => Pin::Rd { bank, column },
        PinCommand::Wr => Pin::Wr { bank, column },
        PinCommand::RdAll => Pin::RdAll { column },
        PinCommand::RdResult => Pin::RdResult { bank: 0 },
        PinCommand::WrShared => Pin::WrShared { word: column },
        PinCommand::Ref => Pin::Ref,
        PinCommand::SetWord => Pin::SetWord { word: column },
        PinCommand::Mrs => Pin::Mrs { register: bank, opcode: row },
    })
}
