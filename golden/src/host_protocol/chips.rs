// SPDX-License-Identifier: MIT
//! The chips' command pins beside the host's.

use super::ownership::{Owner, States};
use super::{Breach, WINDOW_ROW};
use crate::pins::Pin;

/// What was last on either, as far as the other has to agree.
#[derive(Clone, Debug, Default)]
pub(super) struct Chips {
    host: Option<(u64, Pin)>,
    /// The host's last command has to reach the chips.
    owed: bool,
    /// The chips have seen an ACT since the last PREA.
    rows_open: bool,
    /// When the host last gave the pins away.
    given_tck: Option<u64>,
    /// The module's last REF.
    ref_tck: Option<u64>,
}

impl Chips {
    /// A command of the host, and the states of the module.
    pub(super) fn host(&mut self, at_tck: u64, pin: Pin, states: States) {
        self.host = Some((at_tck, pin));
        self.owed = states.owner() == Owner::Host;
        if pin == Pin::PreAll && states.about_to_give() {
            self.given_tck = Some(at_tck);
        }
    }

    /// The host's command of an earlier tCK that should have reached the chips.
    pub(super) fn missed(&mut self, now_tck: u64) -> Option<(u64, Pin)> {
        let missed = self.host.filter(|(at_tck, _)| self.owed && *at_tck < now_tck);
        self.owed &= missed.is_none();
        missed
    }

    /// Whether the host's last command still has to reach the chips.
    pub(super) fn owes(&self) -> bool {
        self.owed
    }

    /// A WR on the host's and on the chips' pins, of a host that owns them.
    pub(super) fn both(&mut self, at_tck: u64, pin: Pin) {
        (self.host, self.owed) = (Some((at_tck, pin)), false);
    }

    /// A command on the chips' pins, and what is wrong with it.
    pub(super) fn see(
        &mut self,
        at_tck: u64,
        pin: Pin,
        states: States,
        t_rp: u64,
    ) -> Option<Breach> {
        let host_s = self.host == Some((at_tck, pin));
        self.owed &= !host_s;
        // The host's windows are open on its side alone.
        let never_module_s = match pin {
            Pin::Act { row, .. } => row == WINDOW_ROW,
            Pin::Rd { .. } | Pin::Wr { .. } => !self.rows_open,
            _ => false,
        };
        // tRP after the PREA counts from the tCK after it.
        let waits = |given: u64| at_tck <= given.saturating_add(t_rp).saturating_add(1);
        let no_run = states.ended() || self.given_tck.is_some_and(waits);
        self.obey(at_tck, pin, states);
        match states.owner() {
            Owner::Host if !host_s => Some(Breach::ModuleDrives { pin }),
            Owner::Module if host_s && (no_run || never_module_s) => {
                Some(Breach::ChipsSeeHost { pin })
            }
            Owner::Module if no_run => Some(Breach::ModuleDrives { pin }),
            _ => None,
        }
    }

    fn obey(&mut self, at_tck: u64, pin: Pin, states: States) {
        match pin {
            Pin::Act { .. } | Pin::ActAll { .. } => self.rows_open = true,
            Pin::PreAll => self.rows_open = false,
            Pin::Ref if states.owner() != Owner::Host => self.ref_tck = Some(at_tck),
            _ => {}
        }
    }

    /// The module's last REF, if tRFC after it is not over in a tCK.
    pub(super) fn refreshing(&self, at_tck: u64, t_rfc: u64) -> Option<u64> {
        self.ref_tck.filter(|&tck| tck <= at_tck && at_tck <= tck.saturating_add(t_rfc))
    }
}
