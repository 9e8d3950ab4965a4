// SPDX-License-Identifier: MIT
//! A checker on the host's pins of one module: whether host and module keep the protocol of
//! `rtl/module/host_port.md`. It knows neither of them, only what the contract says, and tells which rule
//! was broken, when, and by whom.
//!
//! It sees the host's commands, the bursts of its data bus, and, if the caller has them, the commands
//! on the chips' pins. Of a run it knows what a status has told the host, and no more: where several
//! states are possible, it keeps them all, and reports what none of them allows.
//!
//! Times are in tCK since the reset. Calls are in the order of time, within a tCK first
//! [`command`](HostChecker::command), then [`chips`](HostChecker::chips); but of a run of which a status has told that it goes on,
//! commands on the chips' pins may be told later, as they hang on nothing that the host does then. A burst is told when it is known,
//! at its end or ahead, under its first tCK; what the host has read by then, it knows. A host is expected to
//! keep tWR, so that the bursts of its windows are told before the PREA behind them.
//!
//! What it does not check, as the pins do not tell:
//!
//! * the timings of DRAM, windows included: see [`pins`](crate::pins);
//! * what is in a burst of results, and how many bursts a run brings;
//! * whether a PRE, PREA or REF that is on the host's and on the chips' pins in one tCK of a run is the
//!   module's own; likewise an RD or WR while a row of the chips is open;
//! * the chips' pins while it is open whether the host owns them (after a PREA in a run);
//! * that a burst which finds no room is told as `lost`, and a message as `refused`;
//! * overflow, fault, program status and the status of requests, but for reserved bits.
//!
//! A fault in the status excuses the host from the operands that the run did not get, and from its results.
//! After a message without data, or too many bursts, it is not known which STARTs the module has: from
//! then on states and runs are not judged.
//!
//! ```
//! use pimlico_golden::host_protocol::{HostChecker, HostRules};
//! use pimlico_golden::pins::Pin;
//!
//! let mut checker = HostChecker::new(HostRules {
//!     banks_per_group: 4, burst: 4, cl: 22, cwl: 16, t_rp: 22, t_rfc: 560,
//!     chips: false, poll: None,
//! });
//! // A START without operands to the mailbox, and a PREA: the pins are the module's.
//! assert!(checker.command(100, Pin::Act { bank: 0, row: 65535 }).is_empty());
//! assert!(checker.command(122, Pin::Wr { bank: 0, column: 0 }).is_empty());
//! assert!(checker.write_data(137, [2, 0, 0, 0, 0, 0, 0, 0]).is_empty());
//! assert!(checker.command(166, Pin::PreAll).is_empty());
//! let found = checker.command(200, Pin::Act { bank: 5, row: 9 });
//! assert_eq!(
//!     found[0].to_string(),
//!     "RowInRun at 200: ACT bank 5 row 9 while the host does not own the pins"
//! );
//! ```

mod chips;
mod data;
mod looks;
mod message;
mod ownership;
mod queue;
mod reads;
mod results;
mod rules;
mod run;
mod status;
mod told;
mod violation;

pub use results::Stream;
pub use rules::{HostRules, WINDOW_ROW, Window};
pub use status::{Counter, PinState};
pub use violation::{Breach, HostViolation, Party, host_rule_names};

use crate::pins::Pin;
use chips::Chips;
use data::{Dues, Use, arrival, asked};
use ownership::{Owner, Ownership, States};
use queue::Queue;
use results::Results;
use std::collections::BTreeSet;

/// The checker. After a violation it goes on with what the pins and the status say.
#[derive(Clone, Debug)]
pub struct HostChecker {
    rules: HostRules,
    /// Banks with an open window.
    open: BTreeSet<usize>,
    ownership: Ownership,
    queue: Queue,
    /// Context and outputs.
    results: [Results; 2],
    writes: Dues,
    reads: Dues,
    chips: Chips,
    /// The counts of the last status in full, in the order of [`Counter::ALL`].
    counts: [u64; 4],
    /// `lost` and `refused` of the last status.
    flags: [bool; 2],
    /// When the status was last asked for, or no run could be on.
    polled_tck: u64,
}

impl HostChecker {
    /// A checker of a module at tCK 0, its reset: the host owns the pins, and no window is open.
    ///
    /// # Panics
    ///
    /// If a group has fewer banks than there are windows.
    pub fn new(rules: HostRules) -> Self {
        assert!(rules.banks_per_group >= 4, "a bank of a group for each window");
        let memory = rules.cl.saturating_add(rules.burst.saturating_mul(4));
        Self {
            open: BTreeSet::new(),
            ownership: Ownership::new(memory),
            queue: Queue::default(),
            results: [Results::new(), Results::new()],
            writes: Dues::default(),
            reads: Dues::default(),
            chips: Chips::default(),
            counts: [0; 4],
            flags: [false; 2],
            polled_tck: 0,
            rules,
        }
    }

    /// A command on the host's pins.
    pub fn command(&mut self, at_tck: u64, pin: Pin) -> Vec<HostViolation> {
        let mut violations = self.overdue(at_tck, at_tck.saturating_sub(self.rules.burst));
        let mut found = Vec::new();
        let states = self.ownership.at(at_tck);
        self.chips.host(at_tck, pin, states);
        match pin {
            Pin::Act { row, .. } if row != WINDOW_ROW => foreign(pin, states, &mut found),
            Pin::Ref => foreign(pin, states, &mut found),
            Pin::Rd { bank, column } => self.read(at_tck, bank, column, states, &mut found),
            Pin::Wr { bank, column } => self.write(at_tck, bank, column, states, &mut found),
            Pin::PreAll => self.pre_all(at_tck, states, &mut found),
            Pin::Act { .. } | Pin::Pre { .. } => {}
            _ => found.push(Breach::NotDdr4 { pin }),
        }
        self.open_or_close(pin);
        violations.extend(Self::report(at_tck, found));
        violations
    }

    /// The burst that the host drove for a WR, from a tCK on.
    pub fn write_data(&mut self, at_tck: u64, words: [u64; 8]) -> Vec<HostViolation> {
        let mut found = Vec::new();
        let due = self.writes.answer(at_tck);
        if let Some(due) = asked(at_tck, true, due, &mut found) {
            let from_tck = arrival(due.command_tck, &self.rules);
            match due.window() {
                Some(Window::Mailbox) => self.message(from_tck, &words, &mut found),
                Some(Window::Operands) if !self.queue.operand() => {
                    found.push(Breach::OperandUnannounced);
                }
                _ => {}
            }
        }
        Self::report(at_tck, found)
    }

    /// The burst that was on the host's data bus for an RD, from a tCK on.
    pub fn read_data(&mut self, at_tck: u64, words: [u64; 8]) -> Vec<HostViolation> {
        let mut found = Vec::new();
        let due = self.reads.answer(at_tck);
        if let Some(due) = asked(at_tck, false, due, &mut found) {
            match due.of {
                Use::Window(Window::Status, _) => self.told(due.command_tck, &words, &mut found),
                Use::Window(Window::Results, Some((stream, burst)))
                    if !self.results[stream as usize].data(burst, words) =>
                {
                    found.push(Breach::ResultChanged { stream, burst });
                }
                Use::Window(window @ (Window::Mailbox | Window::Operands), _)
                    if words != [0; 8] =>
                {
                    found.push(Breach::NotZero { window });
                }
                _ => {}
            }
        }
        Self::report(at_tck, found)
    }

    /// A command on the chips' pins. If [`HostRules::chips`] is set, all of them have to be told.
    pub fn chips(&mut self, at_tck: u64, pin: Pin) -> Vec<HostViolation> {
        let mut violations = self.unseen(at_tck);
        let states = self.ownership.at(at_tck);
        let found = self.chips.see(at_tck, pin, states, self.rules.t_rp);
        violations.extend(Self::report(at_tck, Vec::from_iter(found)));
        violations
    }

    /// The end: whether all data have come, and the pins are the host's.
    pub fn finish(&mut self, at_tck: u64) -> Vec<HostViolation> {
        let mut violations = self.overdue(at_tck, at_tck);
        if self.ownership.at(at_tck).owner() != Owner::Host {
            violations.extend(Self::report(at_tck, vec![Breach::NeverTaken]));
        }
        violations
    }

    /// What should have come by now: data that were due before `data_tck`, commands on the chips' pins,
    /// and reads of the status.
    fn overdue(&mut self, at_tck: u64, data_tck: u64) -> Vec<HostViolation> {
        let mut violations = self.unseen(at_tck);
        let mut found = Vec::new();
        for (write, dues) in [(true, &mut self.writes), (false, &mut self.reads)] {
            while let Some(due) = dues.given_up(data_tck) {
                let Some(window) = due.window() else { continue };
                found.push(Breach::DataMissing { window, due_tck: due.due_tck, write });
                if write && window == Window::Mailbox {
                    self.queue.garble();
                }
            }
        }
        self.check_polled(at_tck, &mut found);
        violations.extend(Self::report(at_tck, found));
        violations
    }

    /// The host's command of an earlier tCK that did not reach the chips.
    fn unseen(&mut self, at_tck: u64) -> Vec<HostViolation> {
        let missed = self.chips.missed(at_tck).filter(|_| self.rules.chips);
        let violation =
            |(at_tck, pin)| HostViolation { at_tck, breach: Breach::ChipsMissHost { pin } };
        missed.map(violation).into_iter().collect()
    }

    fn check_polled(&mut self, at_tck: u64, found: &mut Vec<Breach>) {
        let since_tck = self.polled_tck;
        let until = self.rules.poll.map_or(u64::MAX, |poll| since_tck.saturating_add(poll));
        let busy = self.ownership.at(at_tck).busy();
        if busy && at_tck > until {
            found.push(Breach::NotPolled { since_tck });
        }
        if !busy || at_tck > until {
            self.polled_tck = self.polled_tck.max(at_tck);
        }
    }

    fn read(
        &mut self,
        at_tck: u64,
        bank: usize,
        column: usize,
        states: States,
        found: &mut Vec<Breach>,
    ) {
        let mut of = Use::Memory;
        if self.open.contains(&bank) {
            let window = Window::of(bank, &self.rules);
            let burst = match window {
                Window::Results => self.result(at_tck, bank, column, found),
                _ => None,
            };
            if window == Window::Status {
                self.polled_tck = self.polled_tck.max(at_tck);
            }
            of = Use::Window(window, burst);
        } else {
            foreign(Pin::Rd { bank, column }, states, found);
        }
        self.reads.ask(at_tck, self.rules.cl.saturating_add(1), of);
    }

    /// The burst of results that an RD means, if it means one.
    fn result(
        &mut self,
        at_tck: u64,
        bank: usize,
        column: usize,
        found: &mut Vec<Breach>,
    ) -> Option<(Stream, u64)> {
        let (stream, place) = Results::place(bank, column, &self.rules);
        match self.results[stream as usize].read(at_tck, place) {
            Ok(burst) => Some((stream, burst)),
            Err(burst) => {
                found.push(Breach::ResultTooEarly { stream, burst });
                None
            }
        }
    }

    fn write(
        &mut self,
        at_tck: u64,
        bank: usize,
        column: usize,
        states: States,
        found: &mut Vec<Breach>,
    ) {
        let mut of = Use::Memory;
        if self.open.contains(&bank) {
            let window = Window::of(bank, &self.rules);
            of = Use::Window(window, None);
            if matches!(window, Window::Mailbox | Window::Operands)
                && let Some(ahead) = self.queue.send(arrival(at_tck, &self.rules))
            {
                found.push(Breach::QueueOverrun { ahead });
            }
        } else {
            foreign(Pin::Wr { bank, column }, states, found);
        }
        self.writes.ask(at_tck, self.rules.cwl.saturating_sub(1), of);
    }

    fn pre_all(&mut self, at_tck: u64, states: States, found: &mut Vec<Breach>) {
        if states.ended()
            && let Some(operands) = self.queue.missing()
        {
            found.push(Breach::OperandsMissing { operands });
        }
        self.ownership.pre_all(at_tck);
    }

    fn open_or_close(&mut self, pin: Pin) {
        match pin {
            Pin::Act { bank, row: WINDOW_ROW } => drop(self.open.insert(bank)),
            Pin::Act { bank, .. } | Pin::Pre { bank } => drop(self.open.remove(&bank)),
            Pin::PreAll => self.open.clear(),
            _ => {}
        }
    }

    /// A message that is in the queue from a tCK on.
    fn message(&mut self, from_tck: u64, words: &[u64; 8], found: &mut Vec<Breach>) {
        if let Some(flaw) = message::flaw(words) {
            found.push(Breach::UnknownMessage { word: words[0], flaw });
        }
        if let Some(operands) = self.queue.message(from_tck, words) {
            found.push(Breach::OperandsMissing { operands });
        }
        if let message::Kind::Start(_) = message::kind(words) {
            if !self.ownership.at(from_tck).busy() {
                self.polled_tck = self.polled_tck.max(from_tck);
            }
            self.ownership.start(from_tck);
        }
    }
}

/// A command that belongs to no window, where the host may not own the pins.
fn foreign(pin: Pin, states: States, found: &mut Vec<Breach>) {
    match states.owner() {
        Owner::Host => {}
        Owner::Unsure => found.push(Breach::TakenTooEarly { pin }),
        Owner::Module if pin == Pin::Ref => found.push(Breach::HostRefInRun),
        Owner::Module => found.push(Breach::RowInRun { pin }),
    }
}
