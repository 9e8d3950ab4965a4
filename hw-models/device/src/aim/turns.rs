// SPDX-License-Identifier: MIT
//! WRs that follow each other from cycle to cycle, as the runs that they are: column by column, the banks of a column taking
//! turns.

use super::units::SLOTS;
use crate::bursts::{BankOrder, WriteRun};

/// A run that may go on.
pub(super) struct Turns {
    run: WriteRun,
    /// The banks of a column are known: another column has begun.
    known: bool,
    /// Place and column of the next WR, where they are.
    next: (usize, usize),
}

impl Turns {
    /// A run whose first WR is at this tCK, of a row, a column and a bank.
    pub(super) fn begin(from_tck: u64, (row, column, bank): (usize, usize, usize)) -> Self {
        let banks = BankOrder::new([bank]);
        let every_tck = SLOTS as u64;
        let run = WriteRun { from_tck, every_tck, count: 1, row, column, place: 0, banks };
        Self { run, known: false, next: (0, column + 1) }
    }

    /// Whether this WR, a cycle behind the last, is one more of the run. Then it is.
    pub(super) fn goes_on(&mut self, (row, column, bank): (usize, usize, usize)) -> bool {
        let Self { run, known, next } = self;
        let learns = !*known && row == run.row && column == run.column && run.banks.push(bank);
        if !learns {
            let (place, of_column) = *next;
            if (row, column, bank) != (run.row, of_column, run.banks.bank(place)) {
                return false;
            }
            *known = true;
            let is_last = place + 1 == run.banks.len();
            *next = if is_last { (0, column + 1) } else { (place + 1, column) };
        }
        run.count += 1;
        true
    }

    /// What there is of it.
    pub(super) fn run(&self) -> &WriteRun {
        &self.run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these WRs, of a row, a column and a bank each, are in the run that the first begins.
    fn count(places: &[(usize, usize, usize)]) -> u64 {
        let mut turns = Turns::begin(100, places[0]);
        let on = places[1..].iter().take_while(|place| turns.goes_on(**place)).count();
        let run = turns.run();
        assert_eq!(run.count, 1 + on as u64);
        let told: Vec<_> = run.places().map(|(bank, column)| (run.row, column, bank)).collect();
        assert_eq!(told, places[..=on]);
        run.count
    }

    #[test]
    fn a_run_is_as_long_as_its_pattern() {
        let all: Vec<_> =
            (3..9).flat_map(|column| [0, 4, 1].map(|bank| (7, column, bank))).collect();
        assert_eq!(count(&all), 18);
        assert_eq!(count(&all[..4]), 4);
        let one: Vec<_> = (0..5).map(|column| (7, column, 2)).collect();
        assert_eq!(count(&one), 5);
        for (wrong, place, n) in [
            ("another row", (8, 4, 4), 4),
            ("another bank", (7, 4, 1), 4),
            ("a bank again", (7, 3, 4), 2),
            ("a column that is left out", (7, 5, 0), 3),
            ("a column again", (7, 3, 0), 3),
        ] {
            let mut places = all.clone();
            places[n] = place;
            assert_eq!(count(&places), n as u64, "{wrong}");
        }
        let from_the_middle = &all[1..];
        assert_eq!(count(from_the_middle), 2, "the order is another one");
        assert_eq!(count(&all[3..]), 15);
    }
}
