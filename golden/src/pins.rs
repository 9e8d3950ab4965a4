// SPDX-License-Identifier: MIT
//! A checker on the pins of one rank's DRAM chips: which commands came, when, and who drove the data
//! bus when. It knows no controller and no array, only what JESD79-4 forbids, and says what was
//! broken.
//!
//! It is written as the standard is: each timing is a gate between an earlier and a later command,
//! one entry of the table `GATES`, and every new command is held against every earlier one that is still
//! near enough to matter. Nothing is worked out ahead, as a controller has to.
//!
//! Times are in tCK since the DRAM was last fully refreshed. A command takes one tCK; a burst on the
//! data bus takes `burst` (BL/2, two beats to a tCK).
//!
//! **Beyond JESD79-4** are the commands of processing in memory. What is decided about them:
//!
//! * `ACT_ALL_BANK` opens the same row number in `faw_banks` banks, all or half of them. Within itself it
//!   is exempt from tRRD and tFAW; towards others it counts as four activations at one time, so that a
//!   window of tFAW holds it and nothing else. tRC holds for it as for each of its banks. A chip that
//!   opens four banks in a window, as JESD79-4 has it, has no such command.
//! * `RD_ALL_BANK` reads every bank's open row into the bank's PU. It is a column command of every
//!   bank group (tCCD_L, tWTR_L, tRTP, its own `t_rcd_mac`) but brings no data to the bus, so that no
//!   turnaround holds between it and a WR.
//! * `WR_ALL_BANK` writes the same column of every bank's open row, or registers at all of them, as in LPDDR5X-PIM. It is a WR
//!   of each bank (tRCD_WR, tCCD_L, tWTR_L, tWR), with one burst on the bus.
//! * `WR_SHARED` and `RD_RESULT` move a burst between the data bus and the PUs' buffers, CWL and CL
//!   after the command as a WR and an RD do. They want no open row and touch no array, so that tWTR,
//!   which waits for data to reach one, is not for them; tCCD_S and the turnaround of the data bus
//!   are. Two of them are `t_ccd_result` apart, if the bank groups share a trunk; an all-bank RD and an
//!   RD_RESULT wait for `t_wtr_shared` after the data of a WR_SHARED, if the shared buffers turn from write to
//!   read. Without these two they share nothing with the all-bank RD but the command bus.
//! * A channel of AiM has a mode for the commands of all banks (`ACT_ALL_BANK`, `RD_ALL_BANK`) and one for those two,
//!   and `t_modch` and the tCK of the command that changes it are between them, behind the data of the one before. PRE,
//!   PREA and REF are in either. The command itself is not on these pins. Where both come in any order, as with two sides in every buffer, there is no
//!   such rule. Data of these two may have latencies of their own, `cl_reg` and `cwl_gb`.
//! * `SET_WORD` sets a counter in the chips. It takes the command bus and waits for tRFC and tMOD, and for nothing
//!   else.
//! * All six are breaches where the chips are `locked`: before the key, and after the lock
//!   (`rtl/rank/pin_codes.md`).
//!
//! Of the mode registers the checker knows the MRS: closed banks, tMRD and tMOD. What they hold is none of its rules.
//!
//! Not modelled, as nothing here issues them: auto-precharge, power-down, self refresh, burst chop, CRC.
//!
//! ```
//! use pimlico_golden::pins::{Pin, PinChecker, Rules};
//!
//! let mut checker = PinChecker::new(Rules {
//!     bank_groups: 4, banks_per_group: 4, burst: 4,
//!     t_ccd_s: 4, t_ccd_l: 8, t_ccd_result: None, t_rrd_s: 4, t_rrd_l: 8, t_faw: 34, faw_banks: 16,
//!     t_rcd: 22, t_rcd_wr: 22, t_rcd_mac: 22, t_ras: 52, t_rp: 22, t_rc: 74,
//!     cl: 22, cwl: 16, cl_reg: None, cwl_gb: None, t_modch: None, rtw_gap: 2, t_wtr_s: 4, t_wtr_l: 12, t_wtr_shared: None, t_wr: 24, t_rtp: 12,
//!     t_rfc: 560, t_refi: Some(12480), max_postponed: 8, locked: false,
//! });
//! assert!(checker.command(100, Pin::Act { bank: 3, row: 9 }).is_empty());
//! let found = checker.command(121, Pin::Rd { bank: 3, column: 5 });
//! assert_eq!(
//!     found[0].to_string(),
//!     "tRCD: RD bank 3 column 5 at 121, after ACT bank 3 row 9 at 100, legal from 122"
//! );
//! ```

mod command;
mod gates;
mod key;
mod laps;
mod reads;
mod run;
mod steady;
mod stretch;
mod violation;

pub use command::{Driver, Pin, Rules};
pub use gates::rule_names;
pub use key::Lock;
pub use laps::Stand;
pub use run::WriteRun;
pub use violation::{Event, Legal, Subject, Violation};

use gates::*;
use std::collections::VecDeque;
use steady::{KINDS, Steady, kind};

/// Data that a command asks for.
#[derive(Clone, Copy, Debug)]
struct Due {
    command: Event,
    driver: Driver,
    from_tck: u64,
}

/// Data on the bus.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    until_tck: u64,
    driver: Driver,
}

/// The refreshes so far.
#[derive(Clone, Debug, Default)]
struct Refreshes {
    /// REFs that count: those that came, but no more ahead than may be pulled in, and those that
    /// were reported lost.
    credited: u64,
    /// The last one, or the start.
    since_tck: u64,
    /// The latest [`REFS_IN_TWO_REFI`].
    recent: VecDeque<u64>,
}

/// The checker. After a violation it goes on as if the command had been obeyed.
#[derive(Clone, Debug)]
pub struct PinChecker {
    rules: Rules,
    reach: u64,
    /// Gates of each kind of later command, with their delays.
    gates: [Vec<(&'static Gate, u64)>; KINDS.len()],
    /// What opened each bank, if it is open.
    open: Vec<Option<Event>>,
    /// Commands, latest last, as far back as they can bind another one. No REF among them.
    history: VecDeque<Event>,
    last: Option<Event>,
    last_ref: Option<Event>,
    refreshes: Refreshes,
    due: VecDeque<Due>,
    bus: Option<Transfer>,
    lock: Lock,
    /// For WRs among their like. None: each is held against all gates.
    steady: Option<Steady>,
}

impl PinChecker {
    /// A checker of a rank whose banks are closed and that owes no REF, at tCK 0.
    ///
    /// # Panics
    ///
    /// If the rules have no bank, an ACT_ALL opens more than there are, or tREFI is 0.
    pub fn new(rules: Rules) -> Self {
        assert!(rules.banks() > 0, "a rank has banks");
        let faw_banks = rules.faw_banks;
        let opens = faw_banks <= 4 || rules.banks().is_multiple_of(faw_banks);
        assert!(opens, "{faw_banks} banks in tFAW are not a part of the banks");
        assert!(rules.t_refi != Some(0), "tREFI is positive; None switches refresh off");
        Self {
            reach: rules.reach(),
            gates: KINDS.map(|pin| {
                let of_kind = GATES.iter().filter(|gate| (gate.later)(pin));
                of_kind.map(|gate| (gate, (gate.delay)(&rules))).collect()
            }),
            open: vec![None; rules.banks()],
            history: VecDeque::new(),
            last: None,
            last_ref: None,
            refreshes: Refreshes::default(),
            due: VecDeque::new(),
            bus: None,
            lock: Lock::new(rules.locked),
            steady: Some(Steady::new(&rules)),
            rules,
        }
    }

    /// A command. Call it in the order of time, and before it [`data`](Self::data) for what began
    /// before `at_tck`.
    pub fn command(&mut self, at_tck: u64, pin: Pin) -> Vec<Violation> {
        let event = Event { at_tck, pin };
        if self.is_steady(event) {
            self.last = Some(event);
            self.forget(at_tck);
            self.obey(event);
            return Vec::new();
        }
        let mut found = Vec::new();
        self.check_missing_data(at_tck.saturating_sub(self.rules.burst), &mut found);
        self.check_refresh(at_tck, &mut found);
        let report = |rule, bank, earlier, legal| Violation {
            at_tck,
            rule,
            subject: Subject::Command(pin),
            bank,
            earlier,
            legal,
        };
        if let Some(last) = self.last.filter(|last| at_tck <= last.at_tck) {
            let next = last.at_tck.saturating_add(1);
            found.push(report(COMMAND_BUS, pin.named_bank(), Some(last), Legal::From(next)));
        }
        self.last = Some(event);
        if let Some(rule) = self.has_no(pin) {
            // There is nothing to hold it against.
            found.push(report(rule, pin.named_bank(), None, Legal::Never));
            return found;
        }

        self.forget(at_tck);
        self.check_state(pin, &report, &mut found);
        self.check_gates(event, &report, &mut found);
        self.check_faw(event, &report, &mut found);
        if let Some(last_ref) = self.last_ref {
            let legal = later(last_ref.at_tck, self.rules.t_rfc);
            if at_tck < legal {
                let bank = pin.named_bank();
                found.push(report(RFC, bank, Some(last_ref), Legal::From(legal)));
            }
        }
        if pin == Pin::Ref {
            self.check_ref_rate(event, &report, &mut found);
        }
        self.obey(event);
        found
    }

    /// The longest that a command other than REF binds a later one, in tCK.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// Forgets what binds no command from now on.
    fn forget(&mut self, at_tck: u64) {
        while self.history.front().is_some_and(|old| later(old.at_tck, self.reach) <= at_tck) {
            self.history.pop_front();
        }
    }

    /// What the chips do not have of a command, if it is so.
    fn has_no(&self, pin: Pin) -> Option<&'static str> {
        let faw_banks = self.rules.faw_banks;
        match pin {
            Pin::ActAll { .. } if faw_banks <= 4 => Some(NO_SUCH_COMMAND),
            Pin::ActAll { bank, .. } if !bank.is_multiple_of(faw_banks) => Some(NO_SUCH_BANK),
            _ if pin.wants_key() && self.lock.is_locked() => Some(LOCKED),
            _ => pin.named_bank().filter(|&bank| bank >= self.open.len()).map(|_| NO_SUCH_BANK),
        }
    }

    /// Data on the bus, from one tCK until before another. Call it in the order of time, after the
    /// command that they belong to; it may be told of them ahead.
    pub fn data(&mut self, from_tck: u64, until_tck: u64, driver: Driver) -> Vec<Violation> {
        let mut found = Vec::new();
        let report = |rule, earlier: Option<Event>, legal| Violation {
            at_tck: from_tck,
            rule,
            subject: Subject::Data(driver, until_tck),
            bank: earlier.and_then(|event| event.pin.named_bank()),
            earlier,
            legal,
        };

        // The command that they belong to: the one that asks for them now, else the first that waits
        // for any of the kind.
        let exact = |due: &Due| due.driver == driver && due.from_tck == from_tck;
        let position = self.due.iter().position(exact);
        let position = position.or(self.due.iter().position(|due| due.driver == driver));
        match position.and_then(|position| self.due.remove(position)) {
            None => found.push(report(NO_COMMAND, None, Legal::Never)),
            Some(due) => {
                let latency = if driver == Driver::Dram { CL } else { CWL };
                if due.from_tck != from_tck {
                    found.push(report(latency, Some(due.command), Legal::At(due.from_tck)));
                }
                if until_tck != later(from_tck, self.rules.burst) {
                    found.push(report(BURST, Some(due.command), Legal::Never));
                }
            }
        }

        if let Some(bus) = self.bus {
            let turned = later(bus.until_tck, self.rules.rtw_gap);
            if from_tck < bus.until_tck {
                found.push(report(DATA_BUS, None, Legal::From(bus.until_tck)));
            } else if driver != bus.driver && from_tck < turned {
                found.push(report(TURNAROUND, None, Legal::From(turned)));
            }
        }
        if self.bus.is_none_or(|bus| bus.until_tck < until_tck) {
            self.bus = Some(Transfer { until_tck, driver });
        }
        found
    }

    /// The end: whether refresh has kept up until now, and all data that were due have come.
    pub fn finish(&mut self, at_tck: u64) -> Vec<Violation> {
        let mut found = Vec::new();
        self.check_missing_data(at_tck, &mut found);
        self.check_refresh(at_tck, &mut found);
        found
    }

    /// Data that were due before `by_tck` come no more. A command allows them a burst's length, in
    /// which they are late: then [`data`](Self::data) has more to say about them.
    fn check_missing_data(&mut self, by_tck: u64, found: &mut Vec<Violation>) {
        self.due.retain(|due| {
            let in_time = by_tck <= due.from_tck;
            if !in_time {
                found.push(Violation {
                    at_tck: by_tck,
                    rule: NO_DATA,
                    subject: Subject::NoData(due.driver),
                    bank: due.command.pin.named_bank(),
                    earlier: Some(due.command),
                    legal: Legal::At(due.from_tck),
                });
            }
            in_time
        });
    }

    /// A REF is due at each multiple of tREFI. At no time may more than `max_postponed` of them be
    /// late, and no two REFs may be more than `max_postponed` + 1 tREFI apart, even if some were
    /// pulled in (JESD79-4, Refresh command). REFs beyond that are lost: they are reported once, and
    /// then count as if they had just come.
    fn check_refresh(&mut self, at_tck: u64, found: &mut Vec<Violation>) {
        let (Some(t_refi), Some(deadline)) = (self.rules.t_refi, self.refresh_deadline()) else {
            return;
        };
        if at_tck <= deadline {
            return;
        }
        let lost = (at_tck - deadline).div_ceil(t_refi);
        self.refreshes.since_tck = at_tck;
        self.credit(lost, at_tck, t_refi);
        found.push(Violation {
            at_tck,
            rule: REFI,
            subject: Subject::LostRefs(lost),
            bank: None,
            earlier: self.last_ref,
            legal: Legal::Until(deadline),
        });
    }

    /// Until when the next REF has to come.
    fn refresh_deadline(&self) -> Option<u64> {
        let t_refi = self.rules.t_refi?;
        let Refreshes { credited, since_tck, .. } = self.refreshes;
        let longest = self.rules.max_postponed.saturating_add(1).saturating_mul(t_refi);
        Some(later(credited.saturating_mul(t_refi).min(since_tck), longest))
    }

    /// Counts REFs, but no more than `max_postponed` ahead of those that are due.
    fn credit(&mut self, count: u64, at_tck: u64, t_refi: u64) {
        let most = (at_tck / t_refi).saturating_add(self.rules.max_postponed);
        self.refreshes.credited = self.refreshes.credited.saturating_add(count).min(most);
    }

    fn check_ref_rate(&self, event: Event, report: &Report, found: &mut Vec<Violation>) {
        if let Some((first, legal)) = self.next_ref().filter(|(_, legal)| event.at_tck < *legal) {
            let earlier = Event { at_tck: first, pin: Pin::Ref };
            found.push(report(REF_RATE, None, Some(earlier), Legal::From(legal)));
        }
    }

    /// The earlier REF for which the next one has to wait, and until when.
    fn next_ref(&self) -> Option<(u64, u64)> {
        let recent = &self.refreshes.recent;
        let first = *recent.front().filter(|_| recent.len() == REFS_IN_TWO_REFI)?;
        Some((first, later(first, self.rules.t_refi?.saturating_mul(2))))
    }

    /// A REF that is obeyed.
    fn refresh(&mut self, event: Event) {
        let at_tck = event.at_tck;
        self.last_ref = Some(event);
        self.refreshes.since_tck = at_tck;
        if let Some(t_refi) = self.rules.t_refi {
            self.credit(1, at_tck, t_refi);
        }
        self.refreshes.recent.push_back(at_tck);
        if self.refreshes.recent.len() > REFS_IN_TWO_REFI {
            self.refreshes.recent.pop_front();
        }
    }

    /// ACT, REF and MRS want closed banks, RD and WR open ones. Tells the first bank that is not so.
    fn check_state(&self, pin: Pin, report: &Report, found: &mut Vec<Violation>) {
        let wants_closed = pin.activates() || pin.sets_mode() || pin == Pin::Ref;
        let wants_open = pin.touches_columns();
        let wrong = |&bank: &usize| match self.open[bank] {
            Some(_) => wants_closed,
            None => wants_open,
        };
        if let Some(bank) = pin.banks(&self.rules).find(wrong) {
            let opened = self.open[bank];
            let rule = if opened.is_some() { BANK_OPEN } else { BANK_CLOSED };
            found.push(report(rule, Some(bank), opened, Legal::Never));
        }
    }

    /// Of every gate that is broken, the latest command that closed it.
    fn check_gates(&self, event: Event, report: &Report, found: &mut Vec<Violation>) {
        for &(gate, delay) in &self.gates[kind(event.pin)] {
            let mut near =
                self.history.iter().rev().take_while(|e| event.at_tck < later(e.at_tck, delay));
            if let Some(&earlier) = near.find(|e| (gate.binds)(&self.rules, e.pin, event.pin)) {
                let bank = event.pin.named_bank().or(earlier.pin.named_bank());
                let legal = Legal::From(later(earlier.at_tck, delay));
                found.push(report(gate.rule, bank, Some(earlier), legal));
            }
        }
    }

    /// The fourth activation before this one must be a window ago. An all-bank one takes the place
    /// of four, whichever of the two it is.
    fn check_faw(&self, event: Event, report: &Report, found: &mut Vec<Violation>) {
        let places = |pin: Pin| match pin {
            Pin::ActAll { .. } => 4,
            Pin::Act { .. } => 1,
            _ => 0,
        };
        let mut taken = places(event.pin);
        if taken == 0 {
            return;
        }
        let t_faw = self.rules.t_faw;
        for &earlier in self.history.iter().rev() {
            let legal = later(earlier.at_tck, t_faw);
            if legal <= event.at_tck {
                break;
            }
            taken += places(earlier.pin);
            if taken > 4 && earlier.pin.activates() {
                let bank = event.pin.named_bank();
                found.push(report(FAW, bank, Some(earlier), Legal::From(legal)));
                break;
            }
        }
    }

    /// What the command does.
    fn obey(&mut self, event: Event) {
        let Event { at_tck, pin } = event;
        if let Some(steady) = &mut self.steady {
            steady.see(&self.rules, event);
        }
        match pin {
            Pin::Act { bank, .. } => self.open[bank] = Some(event),
            Pin::ActAll { .. } => self.open[pin.banks(&self.rules)].fill(Some(event)),
            Pin::Pre { bank } => self.open[bank] = None,
            Pin::PreAll => self.open.fill(None),
            Pin::Mrs { register, opcode } => self.lock.mrs(register, opcode),
            Pin::Ref => self.refresh(event),
            _ => {}
        }
        if let Some(driver) = pin.driver() {
            let latency = self.rules.latency(pin);
            self.due.push_back(Due { command: event, driver, from_tck: later(at_tck, latency) });
        }
        if pin != Pin::Ref {
            self.history.push_back(event);
        }
    }
}

/// Makes a violation by a command: rule, bank, earlier command, when it would be legal.
type Report<'a> = dyn Fn(&'static str, Option<usize>, Option<Event>, Legal) -> Violation + 'a;

fn later(tck: u64, delay: u64) -> u64 {
    tck.saturating_add(delay)
}
