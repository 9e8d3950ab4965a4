// SPDX-License-Identifier: MIT
//! Reports of operators that groups of channels run side by side, with the same commands.

use super::{OperatorReport, Slots, Verdict, commands, ns};
use pimlico_device::energy::{Energy, Power};
use pimlico_device::{Config, Statistics};

/// What groups of channels did side by side, or several things one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Together {
    groups: usize,
    /// What each of them did.
    of_group: Statistics,
    /// What the groups with work of their own did.
    busy: Statistics,
}

impl Together {
    /// Of groups that did the same, `busy` of them for something of their own.
    pub fn new(groups: usize, busy: usize, of_group: Statistics) -> Self {
        let of_busy = (0..busy).fold(Statistics::default(), |sum, _| sum.and(of_group));
        Self { groups, of_group, busy: of_busy }
    }

    /// Of groups that all had work.
    pub fn of_all(groups: usize, of_group: Statistics) -> Self {
        Self::new(groups, groups, of_group)
    }

    /// One operator behind the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            groups: self.groups.max(other.groups),
            of_group: self.of_group.and(other.of_group),
            busy: self.busy.and(other.busy),
        }
    }

    /// What each group did: the module's duration, and the commands that all received.
    pub fn of_group(&self) -> Statistics {
        self.of_group
    }
}

impl OperatorReport {
    /// An operator on groups of so many channels. Duration, slots and commands are those of one group; its utilisation is
    /// that of all, of which those that had nothing of their own to do count as idle.
    pub fn on_groups(
        operator: &'static str,
        config: &Config,
        channels: usize,
        together: &Together,
        macs: u64,
        judgement: Verdict,
    ) -> Self {
        let Together { groups, of_group, busy } = *together;
        let cycles = of_group.cycles;
        let of_all = Statistics { cycles: cycles * groups as u64, ..busy };
        Self {
            cycles,
            ns: ns(config, cycles),
            set_up: of_group.set_up,
            slots: Slots::new(config, &of_group, macs.div_ceil((groups * channels).max(1) as u64)),
            commands: commands(&of_group),
            ..Self::new(operator, config, channels, &of_all, macs, judgement)
        }
        .with_energy(energy(config, groups * channels, &of_group))
    }
}

/// Energy of channels that are all told the same, where their currents are known.
fn energy(config: &Config, channels: usize, statistics: &Statistics) -> Option<Energy> {
    let of_channel = Power::of(config)?.energy(config, statistics);
    Some((1..channels).fold(of_channel, |sum, _| sum.and(of_channel)))
}
