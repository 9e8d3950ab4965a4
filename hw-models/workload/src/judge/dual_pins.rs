// SPDX-License-Identifier: MIT
//! The checker at the pins of a channel of NeuPIMs.

use pimlico_device::neupims::{
    BANKS, ChannelOptions, ChannelPins, ChannelWatch, GROUP, NeupimsSpec, WORDS, Window,
};
use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
use pimlico_units::channel::ChannelCommand;
use std::sync::{Arc, Mutex, PoisonError};

/// Violations of a channel that are kept; the others are counted.
const KEPT: usize = 4;

/// A command on the pins, and its tCK.
pub type Seen = (u64, ChannelPins);

/// The checker at the pins of a channel, and the first commands.
#[derive(Clone)]
pub struct DualPinLog(Arc<Mutex<Log>>);

struct Log {
    checker: DualChecker,
    of_rank: usize,
    count: u64,
    first: Vec<String>,
    /// Commands of PIM that are kept, and how many at the most.
    seen: Vec<Seen>,
    room: usize,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct DualFindings {
    /// How many violations.
    pub violations: u64,
    /// The first of them, as text.
    pub first: Vec<String>,
    /// The first commands of PIM.
    pub seen: Vec<Seen>,
}

/// The rules of a device: its own numbers, none of them from the controller.
pub fn rules(spec: &NeupimsSpec, options: &ChannelOptions) -> DualRules {
    let (o, t, p) = (&spec.organisation, &spec.timing, &spec.pim);
    DualRules {
        ranks: o.pseudo_ranks as usize,
        groups_per_rank: o.groups_per_rank as usize,
        banks_per_group: o.banks_per_group as usize,
        words: WORDS as u64,
        burst: t.bl,
        t_ccd_s: t.ccd_s,
        t_ccd_l: t.ccd_l,
        t_rrd_s: t.rrd_s,
        t_rrd_l: t.rrd_l,
        t_faw: t.faw,
        t_rcd: t.rcd,
        t_rcd_wr: t.rcd_wr,
        t_rcd_pim: t.rcd_pim,
        t_ras: t.ras,
        t_rp: t.rp,
        t_rc: t.rc,
        cl: t.cl,
        cwl: t.cwl,
        t_wr: t.wr,
        t_rtp: t.rtp,
        t_wtr_s: t.wtr_s,
        t_wtr_l: t.wtr_l,
        rtw_gap: t.rtw_gap,
        t_rtrs: t.rtrs,
        gwrite: p.gwrite,
        dot: p.dot,
        results: p.fill * p.dot,
        t_rfc: t.rfc,
        t_refi: options.refresh.then_some(t.refi),
        max_postponed: 1,
        pim_in_window: options.window == Window::Paper,
    }
}

impl DualPinLog {
    /// The checker of a channel that has just been reset; so many of the first commands of PIM are kept.
    pub fn new(spec: &NeupimsSpec, options: &ChannelOptions, room: usize) -> Self {
        let rules = rules(spec, options);
        Self(Arc::new(Mutex::new(Log {
            of_rank: BANKS / rules.ranks,
            checker: DualChecker::new(rules),
            count: 0,
            first: Vec::new(),
            seen: Vec::new(),
            room,
        })))
    }

    /// What was found until a tCK.
    pub fn findings(&self, at_tck: u64) -> DualFindings {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let late = log.checker.finish(at_tck);
        log.add(&late);
        DualFindings { violations: log.count, first: log.first.clone(), seen: log.seen.clone() }
    }
}

impl Log {
    fn add(&mut self, found: &[pimlico_golden::pins_dual::DualViolation]) {
        self.count += found.len() as u64;
        let room = KEPT - self.first.len();
        self.first.extend(found.iter().take(room).map(ToString::to_string));
    }
}

impl ChannelWatch for DualPinLog {
    fn command(&mut self, at_tck: u64, pins: ChannelPins) {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pin) = pin(pins, log.of_rank) else { return };
        if pins.command as usize >= ChannelCommand::PimActivation as usize
            && log.seen.len() < log.room
        {
            log.seen.push((at_tck, pins));
        }
        let found = log.checker.command(at_tck, pin);
        log.add(&found);
    }
}

/// A command as the checker has it.
fn pin(pins: ChannelPins, of_rank: usize) -> Option<DualPin> {
    let (bank, row, column) = (usize::from(pins.bank), u64::from(pins.row), u64::from(pins.column));
    Some(match pins.command {
        ChannelCommand::None => return None,
        ChannelCommand::Act => DualPin::Act { bank, row },
        ChannelCommand::Pre => DualPin::Pre { bank },
        ChannelCommand::PreAll => DualPin::PreAll { rank: bank / of_rank },
        ChannelCommand::Rd => DualPin::Rd { bank, column },
        ChannelCommand::Wr => DualPin::Wr { bank, column },
        ChannelCommand::Ref => DualPin::Ref { rank: bank / of_rank },
        ChannelCommand::PimActivation => DualPin::PimActivation { group: bank / GROUP, row },
        ChannelCommand::PimPrecharge => DualPin::PimPrecharge { bank: (!pins.all).then_some(bank) },
        ChannelCommand::PimGwrite => DualPin::Gwrite { bank },
        ChannelCommand::PimDotProduct => DualPin::DotProduct { word: column },
        ChannelCommand::PimGemv => DualPin::Gemv { word: column, count: pins.count.into() },
        ChannelCommand::PimReadResult => DualPin::ReadResult,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command that comes too early is found, and counted beyond those that are kept.
    #[test]
    fn violations_are_counted() {
        let spec = NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
        let mut log = DualPinLog::new(&spec, &ChannelOptions::default(), 2);
        for n in 0..6 {
            let command = ChannelCommand::PimActivation;
            log.command(10 + n, ChannelPins { command, row: 7, ..ChannelPins::default() });
        }
        let found = log.findings(100);
        assert!(found.violations > 4, "{}", found.violations);
        assert_eq!((found.first.len(), found.seen.len()), (KEPT, 2));
        // REFs of both pseudo-ranks, and one that may be postponed, are missed.
        assert!(log.findings(20_000).violations > found.violations);
    }
}
