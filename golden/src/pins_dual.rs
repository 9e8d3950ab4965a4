// SPDX-License-Identifier: MIT
//! A checker on the pins of a channel of NeuPIMs, whose banks have two row buffers: MEM for RD and WR, PIM for dot products.
//!
//! It knows no controller, only what may not come. Each timing is a gate between an earlier and a later command, one entry of
//! the table `GATES`, and every command is held against every earlier one that is near enough to matter.
//!
//! Rules beyond HBM, and where they are from (*NeuPIMs*, ASPLOS 2024; S: the authors' public simulator):
//!
//! * Either buffer of a bank opens and closes alone (section 5.1). The same row is never open in both (section 4), and a row that was
//!   closed in one waits tRP before the other opens it.
//! * PIM_ACTIVATION opens the four banks of a group and takes a whole window of tFAW (section 5.2). ACT to PIM_ACTIVATION is tRRD, even in one
//!   bank (S).
//! * Dot products are of all banks. A GEMV has its first dot product in its own tCK; PIM_PRECHARGE waits tRTP behind the last.
//! * GWRITE reads through MEM (S). The global buffer is one: a GWRITE waits for the dot products before it, and they for it.
//! * Results take the data bus as reads of a third pseudo-rank would.
//! * REF wants both buffers of all banks of its pseudo-rank closed (S). REFs of the pseudo-ranks fall due in turn; no operation of PIM reaches beyond
//!   the tCK at which the next of either is due: no dot product, no GWRITE, and no PIM_ACTIVATION with its tRAS.
//!
//! Not known here: what the results are, whether there are any at RDRESULT, and that one sum's are read before the next ends.
//!
//! ```
//! use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
//!
//! let mut checker = DualChecker::new(DualRules::NEUPIMS);
//! assert!(checker.command(100, DualPin::PimActivation { group: 0, row: 7 }).is_empty());
//! let found = checker.command(129, DualPin::Act { bank: 5, row: 9 });
//! assert_eq!(
//!     found[0].to_string(),
//!     "tFAW: ACT bank 5 row 9 at 129, after PIM_ACTIVATION group 0 row 7 at 100, legal from 130"
//! );
//! ```

mod command;
mod gates;

pub use command::{DualPin, DualRules};

use gates::{GATES, reach_of};
use std::collections::VecDeque;
use std::fmt;

const COMMAND_BUS: &str = "command bus";
const DATA_BUS: &str = "data bus";
const FAW: &str = "tFAW";
const NO_SUCH: &str = "no such bank or word";
const OPEN: &str = "row open";
const CLOSED: &str = "row closed";
const SAME_ROW: &str = "same row in both buffers";
const SAME_ROW_RP: &str = "tRP of the row";
const STALE: &str = "write to the row in PIM";
const REF_OPEN: &str = "REF with a row open";
const REF_LATE: &str = "REF late";
const CROSSES: &str = "PIM across a REF";

/// Rules that are not timings between two commands.
const OTHERS: [&str; 12] = [
    COMMAND_BUS,
    DATA_BUS,
    FAW,
    NO_SUCH,
    OPEN,
    CLOSED,
    SAME_ROW,
    SAME_ROW_RP,
    STALE,
    REF_OPEN,
    REF_LATE,
    CROSSES,
];

/// Banks that may be activated in a window of tFAW.
const MOST_IN_WINDOW: u64 = 4;

/// The names of all rules.
pub fn rule_names() -> Vec<&'static str> {
    let mut names: Vec<_> = GATES.iter().map(|gate| gate.rule).chain(OTHERS).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A command and when it came.
pub type DualEvent = (u64, DualPin);

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualViolation {
    /// When, in tCK.
    pub at_tck: u64,
    /// Name of the rule, one of [`rule_names`].
    pub rule: &'static str,
    /// By what; none if by a REF that did not come.
    pub pin: Option<DualPin>,
    /// The earlier command that it collides with.
    pub earlier: Option<DualEvent>,
    /// From when on it would have been legal, all else being equal, if waiting helps.
    pub legal_from: Option<u64>,
}

impl fmt::Display for DualViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.rule)?;
        match self.pin {
            Some(pin) => write!(f, "{pin} at {}", self.at_tck)?,
            None => write!(f, "none by {}", self.at_tck)?,
        }
        if let Some((at, pin)) = self.earlier {
            write!(f, ", after {pin} at {at}")?;
        }
        self.legal_from.map_or(Ok(()), |tck| write!(f, ", legal from {tck}"))
    }
}

impl std::error::Error for DualViolation {}

/// Who drives the data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Driver {
    Read(usize),
    Write(usize),
    Results,
}

/// A row buffer of a bank.
#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    row: Option<u64>,
    /// The row that was closed last, and when it was precharged last.
    closed: Option<(u64, u64)>,
}

impl Buffer {
    /// A precharge. One of a closed buffer is obeyed: tRP runs from it.
    fn close(&mut self, at_tck: u64) {
        let row = self.row.take().or(self.closed.map(|(row, _)| row));
        self.closed = row.map(|row| (row, at_tck));
    }
}

/// A command that binds others.
#[derive(Clone, Copy, Debug)]
struct Binding {
    event: DualEvent,
    /// Until when, and by which gates, a bit for each.
    until: u64,
    gates: u32,
}

/// The checker. After a violation it goes on as if the command had been obeyed.
#[derive(Clone, Debug)]
pub struct DualChecker {
    rules: DualRules,
    mem: Vec<Buffer>,
    pim: Vec<Buffer>,
    /// Commands, latest last, as far back as a window of tFAW, and the latest of all.
    history: VecDeque<DualEvent>,
    /// Those that bind another one by a gate, latest last.
    binding: Vec<Binding>,
    /// Bursts on the data bus: from, until, by whom, and of which command.
    bursts: VecDeque<(u64, u64, Driver, DualEvent)>,
    /// REFs of each pseudo-rank.
    refs: Vec<u64>,
}

impl DualChecker {
    /// A checker of a channel whose banks are closed and that owes no REF, at tCK 0.
    ///
    /// # Panics
    ///
    /// If the rules have no bank or no word, or tREFI is less than the pseudo-ranks.
    pub fn new(rules: DualRules) -> Self {
        assert!(rules.banks() > 0 && rules.words > 0, "a channel has banks and words");
        let in_turn = rules.t_refi.is_none_or(|t_refi| t_refi >= rules.ranks as u64);
        assert!(in_turn, "tREFI has a tCK for each pseudo-rank");
        Self {
            mem: vec![Buffer::default(); rules.banks()],
            pim: vec![Buffer::default(); rules.banks()],
            history: VecDeque::new(),
            binding: Vec::new(),
            bursts: VecDeque::new(),
            refs: vec![0; rules.ranks],
            rules,
        }
    }

    /// A command. Call it in the order of time.
    pub fn command(&mut self, at_tck: u64, pin: DualPin) -> Vec<DualViolation> {
        let mut found = self.late_refs(at_tck);
        found.extend(self.check(at_tck, pin));
        if self.exists(pin) {
            self.obey(at_tck, pin);
        }
        found
    }

    /// What a command would break, but for REFs that are late.
    pub fn check(&self, at_tck: u64, pin: DualPin) -> Vec<DualViolation> {
        let mut found = Vec::new();
        let report = |rule, earlier, legal_from| DualViolation {
            at_tck,
            rule,
            pin: Some(pin),
            earlier,
            legal_from,
        };
        if let Some(&last) = self.history.back().filter(|(last, _)| at_tck <= *last) {
            found.push(report(COMMAND_BUS, Some(last), Some(last.0 + 1)));
        }
        if !self.exists(pin) {
            found.push(report(NO_SUCH, None, None));
            return found;
        }
        found.extend(
            self.broken_states(at_tck, pin)
                .into_iter()
                .map(|(rule, legal)| report(rule, None, legal)),
        );
        for &Binding { event: earlier, gates, .. } in
            self.binding.iter().filter(|binding| at_tck < binding.until)
        {
            let mut left = gates;
            while left != 0 {
                let gate = &GATES[left.trailing_zeros() as usize];
                left &= left - 1;
                let legal = earlier.0 + (gate.delay)(&self.rules, earlier.1);
                if at_tck < legal && (gate.binds)(&self.rules, earlier.1, pin) {
                    found.push(report(gate.rule, Some(earlier), Some(legal)));
                }
            }
        }
        if let Some((earlier, legal)) = self.full_window(at_tck, pin) {
            found.push(report(FAW, Some(earlier), Some(legal)));
        }
        if let Some(burst) = self.burst_of(at_tck, pin) {
            for &(from, until, driver, earlier) in &self.bursts {
                let after = until + self.gap(driver, burst.2);
                let before = burst.1 + self.gap(burst.2, driver);
                if burst.0 < after && from < before {
                    let legal = at_tck + after - burst.0;
                    found.push(report(DATA_BUS, Some(earlier), Some(legal)));
                }
            }
        }
        found
    }

    /// The row in the MEM row buffer of a bank, if one is open.
    ///
    /// # Panics
    ///
    /// If there is no such bank.
    pub fn mem_row(&self, bank: usize) -> Option<u64> {
        self.mem[bank].row
    }

    /// The row in the PIM row buffer of a bank, if one is open.
    ///
    /// # Panics
    ///
    /// If there is no such bank.
    pub fn pim_row(&self, bank: usize) -> Option<u64> {
        self.pim[bank].row
    }

    /// The end: whether the REFs have kept up until now.
    pub fn finish(&mut self, at_tck: u64) -> Vec<DualViolation> {
        self.late_refs(at_tck)
    }

    fn exists(&self, pin: DualPin) -> bool {
        let words = match pin {
            DualPin::DotProduct { word } => word.saturating_add(1),
            DualPin::Gemv { count: 0, .. } => return false,
            DualPin::Gemv { word, count } => word.saturating_add(count),
            DualPin::Rd { column, .. } | DualPin::Wr { column, .. } => {
                column.saturating_add(1).saturating_mul(2)
            }
            _ => 0,
        };
        pin.banks(&self.rules).end <= self.rules.banks() && words <= self.rules.words
    }

    /// What the row buffers and the refreshes forbid, and until when, if it passes.
    fn broken_states(&self, at_tck: u64, pin: DualPin) -> Vec<(&'static str, Option<u64>)> {
        let mut found = Vec::new();
        let buffers = pin.banks(&self.rules).map(|bank| (&self.mem[bank], &self.pim[bank]));
        for (mem, pim) in buffers {
            let mut opens = |own: &Buffer, other: &Buffer, row: u64| {
                if own.row.is_some() {
                    found.push((OPEN, None));
                }
                if other.row == Some(row) {
                    found.push((SAME_ROW, None));
                }
                let closed = other.closed.filter(|(closed, _)| *closed == row);
                let legal = closed.map(|(_, at)| at + self.rules.t_rp);
                if legal.is_some_and(|legal| at_tck < legal) {
                    found.push((SAME_ROW_RP, legal));
                }
            };
            match pin {
                DualPin::Act { row, .. } => opens(mem, pim, row),
                DualPin::PimActivation { row, .. } => opens(pim, mem, row),
                DualPin::Rd { .. } | DualPin::Wr { .. } | DualPin::Gwrite { .. } => {
                    if mem.row.is_none() {
                        found.push((CLOSED, None));
                    } else if mem.row == pim.row && matches!(pin, DualPin::Wr { .. }) {
                        found.push((STALE, None));
                    }
                }
                DualPin::DotProduct { .. } | DualPin::Gemv { .. } if pim.row.is_none() => {
                    found.push((CLOSED, None));
                }
                DualPin::Ref { .. } if mem.row.or(pim.row).is_some() => {
                    found.push((REF_OPEN, None));
                }
                _ => {}
            }
        }
        if pin.is_of_pim() {
            let takes = match pin {
                DualPin::Gwrite { .. } => self.rules.gwrite,
                // Its row cannot be closed before.
                DualPin::PimActivation { .. } => self.rules.t_ras,
                pin => pin.dots() * self.rules.dot,
            };
            let due = (0..self.rules.ranks).filter_map(|rank| self.due(rank, 0)).min();
            if due.is_some_and(|due| at_tck + takes > due) {
                found.push((CROSSES, None));
            }
        }
        found.dedup();
        found
    }

    /// When the next REF of a pseudo-rank is due, or the one so many behind it.
    fn due(&self, rank: usize, ahead: u64) -> Option<u64> {
        let ranks = self.rules.ranks as u64;
        let before = (ranks - 1 - rank as u64) * self.rules.t_refi? / ranks;
        Some((self.refs[rank] + 1 + ahead) * self.rules.t_refi? - before)
    }

    /// REFs that are later than they may be. Each is reported once, and counts as if it had come.
    fn late_refs(&mut self, at_tck: u64) -> Vec<DualViolation> {
        let mut found = Vec::new();
        for rank in 0..self.rules.ranks {
            while let Some(due) = self.due(rank, self.rules.max_postponed)
                && due < at_tck
            {
                self.refs[rank] += 1;
                found.push(DualViolation {
                    at_tck: due,
                    rule: REF_LATE,
                    pin: None,
                    earlier: None,
                    legal_from: None,
                });
            }
        }
        found
    }

    /// The activation that the window of tFAW still holds too many banks of, and from when on it does not.
    fn full_window(&self, at_tck: u64, pin: DualPin) -> Option<(DualEvent, u64)> {
        let rules = &self.rules;
        let counts = |pin: DualPin| match pin {
            DualPin::PimActivation { .. } if !rules.pim_in_window => 0,
            pin => pin.activates(rules),
        };
        let rank = pin.banks(rules).start / rules.banks_per_rank();
        let mut banks = counts(pin);
        if banks == 0 {
            return None;
        }
        let in_window = |(at, _): &&DualEvent| at_tck < at + rules.t_faw;
        for &(at, earlier) in self.history.iter().rev().take_while(in_window) {
            let is_of_rank = earlier.banks(rules).start / rules.banks_per_rank() == rank;
            if !is_of_rank || counts(earlier) == 0 {
                continue;
            }
            banks += counts(earlier);
            if banks > MOST_IN_WINDOW {
                return Some(((at, earlier), at + rules.t_faw));
            }
        }
        None
    }

    /// The burst that a command asks for.
    fn burst_of(&self, at_tck: u64, pin: DualPin) -> Option<(u64, u64, Driver, DualEvent)> {
        let rules = &self.rules;
        let rank = pin.banks(rules).start / rules.banks_per_rank();
        let (latency, driver) = match pin {
            DualPin::Rd { .. } => (rules.cl, Driver::Read(rank)),
            DualPin::Wr { .. } => (rules.cwl, Driver::Write(rank)),
            DualPin::ReadResult => (rules.cl, Driver::Results),
            DualPin::Gemv { count, .. } => {
                ((count - 1) * rules.dot + rules.results, Driver::Results)
            }
            _ => return None,
        };
        let from = at_tck + latency;
        Some((from, from + rules.burst, driver, (at_tck, pin)))
    }

    /// The tCK that the data bus rests between two bursts.
    fn gap(&self, first: Driver, second: Driver) -> u64 {
        match (first, second) {
            (first, second) if first == second => 0,
            (Driver::Write(a), Driver::Read(b)) if a == b => 0,
            (Driver::Read(_) | Driver::Results, Driver::Write(_)) => self.rules.rtw_gap,
            _ => self.rules.t_rtrs,
        }
    }

    fn obey(&mut self, at_tck: u64, pin: DualPin) {
        for bank in pin.banks(&self.rules) {
            match pin {
                DualPin::Act { row, .. } => self.mem[bank].row = Some(row),
                DualPin::PimActivation { row, .. } => self.pim[bank].row = Some(row),
                DualPin::Pre { .. } | DualPin::PreAll { .. } => self.mem[bank].close(at_tck),
                DualPin::PimPrecharge { .. } => self.pim[bank].close(at_tck),
                _ => {}
            }
        }
        if let DualPin::Ref { rank } = pin {
            self.refs[rank] += 1;
        }
        self.bursts.extend(self.burst_of(at_tck, pin));
        let faw = self.rules.t_faw;
        while self.history.front().is_some_and(|(old, _)| old + faw <= at_tck) {
            self.history.pop_front();
        }
        self.binding.retain(|binding| binding.until > at_tck);
        let (reach, gates) = reach_of(&self.rules, pin);
        if reach > 0 {
            self.binding.push(Binding { event: (at_tck, pin), until: at_tck + reach, gates });
        }
        self.bursts
            .retain(|(_, until, ..)| until + self.rules.rtw_gap + self.rules.t_rtrs > at_tck);
        self.history.push_back((at_tck, pin));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All gates, whatever they have in common, say the same as those that a command is known to bind by, at any distance.
    #[test]
    fn no_gate_is_left_out() {
        let rules = DualRules { t_refi: None, ..DualRules::NEUPIMS };
        let pins = [
            DualPin::Act { bank: 1, row: 5 },
            DualPin::Act { bank: 2, row: 6 },
            DualPin::Pre { bank: 1 },
            DualPin::PreAll { rank: 0 },
            DualPin::Rd { bank: 1, column: 3 },
            DualPin::Rd { bank: 6, column: 3 },
            DualPin::Wr { bank: 1, column: 3 },
            DualPin::Wr { bank: 20, column: 3 },
            DualPin::Ref { rank: 0 },
            DualPin::PimActivation { group: 0, row: 9 },
            DualPin::PimActivation { group: 5, row: 9 },
            DualPin::PimPrecharge { bank: None },
            DualPin::PimPrecharge { bank: Some(1) },
            DualPin::Gwrite { bank: 1 },
            DualPin::DotProduct { word: 4 },
            DualPin::Gemv { word: 0, count: 32 },
            DualPin::ReadResult,
        ];
        let mut bound = 0;
        for earlier in pins {
            let mut checker = DualChecker::new(rules);
            checker.command(100, earlier);
            // Commands between them that push nothing out.
            for gap in 1..300 {
                if gap % 40 == 0 {
                    checker.obey(100 + gap, DualPin::ReadResult);
                }
                for later in pins {
                    let found = checker.check(100 + gap, later);
                    let of_gates = found.iter().filter(|found| {
                        found.earlier == Some((100, earlier))
                            && !matches!(found.rule, COMMAND_BUS | DATA_BUS | FAW)
                    });
                    let ours: Vec<_> =
                        of_gates.map(|found| (found.rule, found.legal_from)).collect();
                    let gates = GATES.iter().filter(|gate| {
                        (gate.after)(earlier)
                            && (gate.binds)(&rules, earlier, later)
                            && gap < (gate.delay)(&rules, earlier)
                            && gate.rule != FAW
                    });
                    let legal = |gate: &gates::Gate| Some(100 + (gate.delay)(&rules, earlier));
                    let expected: Vec<_> = gates.map(|gate| (gate.rule, legal(gate))).collect();
                    assert_eq!(ours, expected, "{later} {gap} behind {earlier}");
                    bound += expected.len();
                }
            }
        }
        assert!(bound > 2500, "{bound}");
    }
}
