// SPDX-License-Identifier: MIT
//! Results on their way to the GPR: written as they are, or added to what is there.

use super::decode::Place;
use super::{CHANNELS, Word};
use crate::arith::{Binary16, Fp};
use crate::gear::Gear1;
use crate::prim::Fifo;
use crate::rank::{AdderUnit, AdderUnitIn};
use pimlico_ports::Model;
use std::array::from_fn;

/// Results that are requested and not in the GPR, at the most.
const MOST: usize = 32;
/// Lanes of an adder unit.
const LANES: usize = 8;
/// EPU cycles from the read of a line to its write.
const TO_WRITE: usize = 5;

/// A result of each channel.
type Line = [Word; CHANNELS];

/// An addition.
#[derive(Clone, Copy, Default)]
struct Addition {
    line: u16,
    results: Line,
    /// What there was in the upper half; then the sums of the lower one.
    half: [[Fp<Binary16>; LANES]; CHANNELS],
}

/// What is done to the GPR in an EPU cycle: a line that is read, one that is written.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    pub reads: Option<u16>,
    pub writes: Option<(u16, Line)>,
}

/// FIFO of results, and adder units.
#[derive(Clone)]
pub(super) struct Adders {
    pending: usize,
    places: Fifo<Place, MOST>,
    results: Fifo<Line, MOST>,
    units: [AdderUnit<Binary16, Binary16, Gear1>; CHANNELS],
    /// Additions, by the EPU cycles since their read.
    under_way: [Option<Addition>; TO_WRITE + 1],
}

impl Adders {
    pub fn new() -> Self {
        Self {
            pending: 0,
            places: Fifo::new(),
            results: Fifo::new(),
            units: from_fn(|_| AdderUnit::new()),
            under_way: [None; TO_WRITE + 1],
        }
    }

    pub fn none_pending(&self) -> bool {
        self.pending == 0
    }

    pub fn all_pending(&self) -> bool {
        self.pending == MOST
    }

    /// What the oldest results are to do, if they may do it in this EPU cycle.
    fn takes(&self) -> Option<(Place, Line)> {
        let (place, results) = (*self.places.oldest()?, *self.results.oldest()?);
        let mut under_way = self.under_way.iter().flatten();
        let may = match place.goes_on {
            false => under_way.next().is_none(),
            true => self.under_way[1].is_none() && under_way.all(|it| it.line != place.line),
        };
        may.then_some((place, results))
    }

    /// What the EPU does to the GPR in this EPU cycle.
    pub fn access(&self) -> Access {
        let taken = self.takes();
        let begun = taken.filter(|(place, _)| !place.goes_on);
        let added = taken.filter(|(place, _)| place.goes_on);
        let sums = self.under_way[TO_WRITE].map(|it| (it.line, self.sums(&it)));
        Access {
            reads: added.map(|(place, _)| place.line),
            writes: begun.map(|(place, line)| (place.line, line)).or(sums),
        }
    }

    /// The line of an addition whose upper half comes out of the adder units.
    fn sums(&self, it: &Addition) -> Line {
        from_fn(|channel| {
            let upper = self.units[channel].settle(&AdderUnitIn::default()).lanes_o;
            from_fn(|n| match n.checked_sub(LANES) {
                None => it.half[channel][n],
                Some(n) => upper[n],
            })
            .map(|sum: Fp<Binary16>| sum.to_bits() as u16)
        })
    }

    /// The end of an EPU cycle, with what the GPR gives.
    pub fn clock_epu(&mut self, gpr: &Line) {
        let taken = self.takes();
        self.pending -= usize::from(self.access().writes.is_some());
        for channel in 0..CHANNELS {
            self.step_unit(channel, gpr);
        }
        self.under_way.copy_within(0..TO_WRITE, 1);
        self.under_way[0] = None;
        self.under_way[1] = taken
            .filter(|(place, _)| place.goes_on)
            .map(|(place, results)| Addition { line: place.line, results, ..Addition::default() });
        self.places.clock(taken.is_some(), None);
        self.results.clock(taken.is_some(), None);
    }

    fn step_unit(&mut self, channel: usize, gpr: &Line) {
        let [_, read, lower, upper, sums, _] = &mut self.under_way;
        let mut input = AdderUnitIn::default();
        let numbers = |word: &Word, from: usize| -> [Fp<Binary16>; LANES] {
            from_fn(|lane| Fp::from_bits(word[from + lane].into()))
        };
        if let Some(it) = read {
            (input.begin_i, input.goes_on_i) = (true, true);
            input.start_i = numbers(&gpr[channel], 0);
            it.half[channel] = numbers(&gpr[channel], LANES);
        }
        if let Some(it) = lower {
            (input.begin_i, input.goes_on_i) = (true, true);
            input.start_i = it.half[channel];
            (input.accumulate_i, input.x_i) = ([true], [numbers(&it.results[channel], 0)]);
        }
        if let Some(it) = upper {
            (input.accumulate_i, input.x_i) = ([true], [numbers(&it.results[channel], LANES)]);
        }
        let output = self.units[channel].step(&input);
        if let Some(it) = sums {
            it.half[channel] = output.lanes_o;
        }
    }

    /// The end of a cycle: results are requested; a word of each channel comes.
    pub fn clock(&mut self, requested: Option<Place>, came: Option<Line>) {
        self.pending += usize::from(requested.is_some());
        self.places.clock(false, requested);
        self.results.clock(false, came);
    }
}
