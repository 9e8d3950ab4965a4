// SPDX-License-Identifier: MIT
//! Places in the work of a phase, and what is from one to another.

use super::program::{Stretch, Work};
use pimlico_units::lap::Walk;

/// A column of a stretch.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColumnPlace {
    pub stretch: usize,
    pub number: usize,
}

/// A word of a filling.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordPlace {
    pub filling: usize,
    pub number: usize,
}

/// A place in the work of a phase: what is next of its columns, its words and its sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkPlace {
    pub read: ColumnPlace,
    pub fill: WordPlace,
    pub sum: usize,
}

/// What is taken of some work from one place to another, and what is next there, wherever in the work and in the banks that is: of
/// stretches, with rows and fillings as they are from there on; of fillings, their words; of sums, whether they go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkShape {
    stretches: Vec<Stretch>,
    fillings: Vec<usize>,
    sums: Vec<bool>,
    /// Of each nothing is behind these.
    ends: [bool; 3],
}

impl Work {
    /// From one place to another.
    pub fn between(&self, from: WorkPlace, to: WorkPlace) -> WorkShape {
        let of = |WorkPlace { read, fill, sum }| [read.stretch, fill.filling, sum];
        let (from_all, to_all) = (of(from), of(to));
        let [stretches, words, sums] = [0, 1, 2].map(|n| to_all[n] + 1 - from_all[n]);
        let all = [self.stretches.len(), self.fillings.len(), self.sums.len()];
        WorkShape {
            stretches: self.stretches_from(from).take(stretches).collect(),
            fillings: self.words_from(from).take(words).collect(),
            sums: self.go_on_from(from).take(sums).collect(),
            ends: [0, 1, 2].map(|n| to_all[n] == all[n]),
        }
    }

    /// Whether that is ahead of a place.
    pub fn has_ahead(&self, place: WorkPlace, ahead: &WorkShape) -> bool {
        let WorkShape { stretches, fillings, sums, ends } = ahead;
        begins_with(self.stretches_from(place), stretches, ends[0])
            && begins_with(self.words_from(place), fillings, ends[1])
            && begins_with(self.go_on_from(place), sums, ends[2])
    }

    fn stretches_from(
        &self,
        WorkPlace { read, fill, .. }: WorkPlace,
    ) -> impl Iterator<Item = Stretch> {
        let there = self.stretches.get(read.stretch..).unwrap_or_default();
        let first = there.first().map_or(0, |first| first.row);
        there.iter().map(move |of| Stretch {
            row: of.row.wrapping_sub(first),
            filling: of.filling.wrapping_sub(fill.filling),
            ..*of
        })
    }

    fn words_from(&self, WorkPlace { fill, .. }: WorkPlace) -> impl Iterator<Item = usize> {
        self.fillings.get(fill.filling..).unwrap_or_default().iter().map(|of| of.words)
    }

    fn go_on_from(&self, WorkPlace { sum, .. }: WorkPlace) -> impl Iterator<Item = bool> {
        self.sums.get(sum..).unwrap_or_default().iter().map(|of| of.goes_on)
    }
}

/// Whether these are the first of all, and others are behind them unless they are the last.
fn begins_with<T: PartialEq>(
    mut all: impl Iterator<Item = T>,
    first: &[T],
    are_last: bool,
) -> bool {
    first.iter().all(|of| all.next().as_ref() == Some(of)) && (!are_last || all.next().is_none())
}

impl ColumnPlace {
    /// Goes over all of it, for [laps](pimlico_units::lap), where this stretch is next.
    pub fn walk(&mut self, walk: &mut Walk<'_>, next: usize) {
        let Self { stretch, number } = self;
        walk.size(next.wrapping_sub(*stretch));
        walk.moves(stretch);
        walk.size(*number);
    }
}

impl WordPlace {
    /// Goes over all of it, for [laps](pimlico_units::lap), where this filling is next.
    pub fn walk(&mut self, walk: &mut Walk<'_>, next: usize) {
        let Self { filling, number } = self;
        walk.size(next.wrapping_sub(*filling));
        walk.moves(filling);
        walk.size(*number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aim::epu::Sum;
    use crate::aim::program::{Filling, Source};

    /// Rows of two stretches, two rows for each filling of four words, and a sum of each stretch.
    fn work(rows: usize) -> Work {
        let stretch = |n: usize| Stretch {
            row: 7 + n / 2,
            column: n % 2 * 32,
            word: 0,
            count: 32,
            first: true,
            last: true,
            filling: n / 4,
            release: n % 4 == 3,
        };
        Work {
            fillings: vec![Filling { words: 4, source: Source::Host(0) }; rows / 2],
            stretches: (0..2 * rows).map(stretch).collect(),
            sums: (0..2 * rows).map(|n| Sum { place: 256 * n, goes_on: n >= 4 }).collect(),
        }
    }

    fn place(stretch: usize, filling: usize, sum: usize) -> WorkPlace {
        WorkPlace {
            read: ColumnPlace { stretch, number: 0 },
            fill: WordPlace { filling, number: 2 },
            sum,
        }
    }

    #[test]
    fn what_is_ahead_is_the_same_wherever_it_is() {
        let work = work(16);
        let ahead = work.between(place(8, 3, 7), place(12, 4, 11));
        assert!(work.has_ahead(place(8, 3, 7), &ahead));
        assert!(work.has_ahead(place(16, 5, 15), &ahead), "two fillings later");
        assert!(!work.has_ahead(place(10, 3, 9), &ahead), "of the other half of a filling");
        assert!(!work.has_ahead(place(8, 2, 7), &ahead), "with another filling on its way");
        assert!(!work.has_ahead(place(0, 1, 0), &ahead), "these sums do not go on");
        let mut apart = work;
        apart.stretches[10].row += 1;
        assert!(!apart.has_ahead(place(8, 3, 7), &ahead), "a row further on");
    }

    #[test]
    fn what_is_the_last_is_ahead_of_the_last_alone() {
        let ahead = work(16).between(place(24, 7, 23), place(28, 8, 27));
        assert!(work(16).has_ahead(place(24, 7, 23), &ahead));
        assert!(!work(18).has_ahead(place(24, 7, 23), &ahead), "another filling is behind");
        let ahead = work(16).between(place(20, 6, 19), place(24, 7, 23));
        assert!(!work(16).has_ahead(place(24, 7, 23), &ahead), "no filling is behind");
    }
}
