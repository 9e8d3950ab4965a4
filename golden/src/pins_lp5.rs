// SPDX-License-Identifier: MIT
//! A checker on the pins of a channel of LPDDR5X-PIM: plain commands of one bank, which are commands of all banks in one of
//! two modes.
//!
//! The last four rows of each bank are no memory. A WR to the first of them puts the channel into the mode of all banks, a WR
//! to the second back into that of single banks, each from the next command on. In the mode of all banks an ACT, PRE, RD
//! or WR is one of every bank, whichever it names; an RD puts no data on the bus, as it is read by the PIM blocks.
//!
//! Rules are the kinds that JESD79-4 has ([`pins`](crate::pins)), with the numbers of LPDDR5X: no text of JESD209-5C was at hand. Each
//! command is held against them as what it is of each bank.
//!
//! ```
//! use pimlico_golden::pins::{Pin, Rules};
//! use pimlico_golden::pins_lp5::Lp5Checker;
//!
//! let rules = Rules {
//!     bank_groups: 4, banks_per_group: 4, burst: 2,
//!     t_ccd_s: 2, t_ccd_l: 4, t_ccd_result: None, t_rrd_s: 6, t_rrd_l: 6, t_faw: 22, faw_banks: 16,
//!     t_rcd: 20, t_rcd_wr: 20, t_rcd_mac: 20, t_ras: 45, t_rp: 23, t_rc: 68,
//!     cl: 23, cwl: 12, cl_reg: None, cwl_gb: None, t_modch: None, rtw_gap: 2, t_wtr_s: 7, t_wtr_l: 13, t_wtr_shared: None, t_wr: 37, t_rtp: 8,
//!     t_rfc: 299, t_refi: None, max_postponed: 8, locked: false,
//! };
//! let mut checker = Lp5Checker::new(rules, 65536);
//! assert_eq!(checker.command(100, Pin::Act { bank: 0, row: 65532 }), []);
//! assert_eq!(checker.command(120, Pin::Wr { bank: 0, column: 0 }), []);
//! assert!(checker.is_multi_bank());
//! ```

use crate::pins::{Driver, Pin, PinChecker, Rules, Violation};

/// Rows at the end of each bank that are no memory.
const RESERVED_ROWS: usize = 4;

/// The checker of a channel with one rank. After a violation it goes on as if the command had been obeyed.
#[derive(Clone, Debug)]
pub struct Lp5Checker {
    checker: PinChecker,
    /// The row of each bank, if it is open.
    open: Vec<Option<usize>>,
    /// The first of the reserved rows.
    reserved: usize,
    /// Whether commands are of all banks.
    multi: bool,
}

impl Lp5Checker {
    /// A checker of a channel with banks of so many rows, which are closed; it is in the mode of single banks.
    ///
    /// # Panics
    ///
    /// If the rules are of no rank ([`PinChecker::new`]), or there are fewer than four rows.
    pub fn new(rules: Rules, rows: usize) -> Self {
        assert!(rows >= RESERVED_ROWS, "{rows} rows");
        Self {
            open: vec![None; rules.bank_groups * rules.banks_per_group],
            checker: PinChecker::new(rules),
            reserved: rows - RESERVED_ROWS,
            multi: false,
        }
    }

    /// Whether commands are of all banks now.
    pub fn is_multi_bank(&self) -> bool {
        self.multi
    }

    /// A command as it is on the pins: ACT, PRE, PREA, RD, WR or REF, in the order of time.
    pub fn command(&mut self, at_tck: u64, pin: Pin) -> Vec<Violation> {
        let found = self.checker.command(at_tck, self.spelled(pin));
        self.obey(pin);
        found
    }

    /// Data on the bus: as [`PinChecker::data`].
    pub fn data(&mut self, from_tck: u64, until_tck: u64, driver: Driver) -> Vec<Violation> {
        self.checker.data(from_tck, until_tck, driver)
    }

    /// The end: what is missing until then.
    pub fn finish(&mut self, at_tck: u64) -> Vec<Violation> {
        self.checker.finish(at_tck)
    }

    /// What a command is of the banks.
    fn spelled(&self, pin: Pin) -> Pin {
        match pin {
            _ if !self.multi => pin,
            Pin::Act { row, .. } => Pin::ActAll { bank: 0, row },
            Pin::Pre { .. } => Pin::PreAll,
            Pin::Rd { column, .. } => Pin::RdAll { column },
            Pin::Wr { column, .. } => Pin::WrAll { column },
            pin => pin,
        }
    }

    /// Rows that are open, and the mode.
    fn obey(&mut self, pin: Pin) {
        let named = |bank: usize| if self.multi { 0..self.open.len() } else { bank..bank + 1 };
        match pin {
            Pin::Act { bank, row } => {
                let banks = named(bank);
                self.open.get_mut(banks).into_iter().flatten().for_each(|open| *open = Some(row));
            }
            Pin::Pre { bank } => {
                let banks = named(bank);
                self.open.get_mut(banks).into_iter().flatten().for_each(|open| *open = None);
            }
            Pin::PreAll => self.open.fill(None),
            Pin::Wr { bank, .. } => {
                let row = self.open.get(bank).copied().flatten();
                self.multi = match row.and_then(|row| row.checked_sub(self.reserved)) {
                    Some(0) => true,
                    Some(1) => false,
                    _ => self.multi,
                };
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules {
            bank_groups: 4,
            banks_per_group: 4,
            burst: 2,
            t_ccd_s: 2,
            t_ccd_l: 4,
            t_ccd_result: None,
            t_rrd_s: 6,
            t_rrd_l: 6,
            t_faw: 22,
            faw_banks: 16,
            t_rcd: 20,
            t_rcd_wr: 20,
            t_rcd_mac: 20,
            t_ras: 45,
            t_rp: 23,
            t_rc: 68,
            cl: 23,
            cwl: 12,
            cl_reg: None,
            cwl_gb: None,
            t_modch: None,
            rtw_gap: 2,
            t_wtr_s: 7,
            t_wtr_l: 13,
            t_wtr_shared: None,
            t_wr: 37,
            t_rtp: 8,
            t_rfc: 299,
            t_refi: None,
            max_postponed: 8,
            locked: false,
        }
    }

    /// Commands with their data, of which the last may break a rule.
    fn after(commands: &[(u64, Pin)]) -> (Lp5Checker, Vec<&'static str>) {
        let rules = rules();
        let mut checker = Lp5Checker::new(rules.clone(), 64);
        let mut found = Vec::new();
        for &(at_tck, pin) in commands {
            assert!(found.is_empty(), "{found:?} before {pin} at {at_tck}");
            let (multi, burst) = (checker.is_multi_bank(), rules.burst);
            found.extend(checker.command(at_tck, pin).iter().map(|violation| violation.rule));
            let data = match pin {
                Pin::Rd { .. } if !multi => Some((at_tck + rules.cl, Driver::Dram)),
                Pin::Wr { .. } => Some((at_tck + rules.cwl, Driver::Controller)),
                _ => None,
            };
            if let Some((from, driver)) = data {
                found.extend(checker.data(from, from + burst, driver).iter().map(|v| v.rule));
            }
        }
        (checker, found)
    }

    const fn act(bank: usize, row: usize) -> Pin {
        Pin::Act { bank, row }
    }
    const RD: Pin = Pin::Rd { bank: 0, column: 3 };
    const WR: Pin = Pin::Wr { bank: 0, column: 3 };

    /// Into the mode of all banks, and a row open in all of them at 200.
    fn multi(more: &[(u64, Pin)]) -> Vec<(u64, Pin)> {
        let entry = [(100, act(0, 60)), (120, WR), (171, Pin::PreAll), (200, act(0, 7))];
        [&entry, more].concat()
    }

    #[test]
    fn a_command_is_of_all_banks_between_two_writes() {
        let (checker, found) =
            after(&multi(&[(220, RD), (224, RD), (224 + 8, Pin::Pre { bank: 0 })]));
        assert_eq!(found, ["tRAS"]);
        assert!(checker.is_multi_bank() && checker.open.iter().all(Option::is_none));
        let left = [(245, Pin::Pre { bank: 0 }), (268, act(0, 61)), (288, WR)];
        let (checker, found) = after(&multi(&left));
        assert!(found.is_empty() && !checker.is_multi_bank());
        assert_eq!(checker.open, [Some(61); 16], "all banks have the row that was written");
        let closes_one = [&left[..], &[(339, Pin::Pre { bank: 0 }), (362, act(1, 5))]].concat();
        assert_eq!(after(&multi(&closes_one)).1, ["bank open"]);
        let closes_all = [&left[..], &[(339, Pin::PreAll), (362, act(1, 5))]].concat();
        assert!(after(&multi(&closes_all)).1.is_empty());
    }

    #[test]
    fn the_other_rows_change_no_mode() {
        for row in [0, 59, 61, 62, 63] {
            let (checker, found) =
                after(&[(100, act(3, row)), (120, Pin::Wr { bank: 3, column: 0 })]);
            assert!(found.is_empty() && !checker.is_multi_bank(), "{row}");
        }
        // A bank that is closed has no row.
        assert!(
            !after(&[(100, act(0, 60)), (120, Pin::Wr { bank: 1, column: 0 })]).0.is_multi_bank()
        );
    }

    /// Rules of commands of all banks: at the tCK all is legal, a tCK earlier it is not.
    #[test]
    fn all_banks_wait_as_each_of_them_does() {
        let left = [(245, Pin::PreAll), (268, act(0, 61)), (288, WR), (339, Pin::PreAll)];
        let gates = [
            ("tRCD_MAC", multi(&[]), RD, 220),
            ("tRCD_WR", multi(&[]), WR, 220),
            ("tCCD_L", multi(&[(220, RD)]), RD, 224),
            ("tWTR_L", multi(&[(220, WR)]), RD, 247),
            ("tWR", multi(&[(220, WR)]), Pin::Pre { bank: 0 }, 271),
            ("tRTP", multi(&[(240, RD)]), Pin::Pre { bank: 0 }, 248),
            // The ACT of all banks at 268 is one of bank 9.
            ("tRP", multi(&left), act(9, 5), 362),
            ("tRP", multi(&left), Pin::Ref, 362),
        ];
        for (rule, before, last, legal) in gates {
            let at = |tck| after(&[&before[..], &[(tck, last)]].concat()).1;
            assert_eq!(at(legal), [""; 0], "{rule}");
            assert_eq!(at(legal - 1), [rule], "{rule}");
        }
        // A window of tFAW holds the ACT of all banks and nothing else.
        let rules = Rules { t_faw: 200, ..rules() };
        let mut checker = Lp5Checker::new(rules, 64);
        let commands = multi(&left).into_iter().chain([(399, act(9, 5))]);
        let found = commands.flat_map(|(tck, pin)| {
            let rules: Vec<_> = checker.command(tck, pin).iter().map(|v| v.rule).collect();
            rules.into_iter().filter(|rule| *rule == "tFAW")
        });
        assert_eq!(found.count(), 3, "at 200 behind 100, at 268 behind 200, at 399 behind 268");
    }
}
