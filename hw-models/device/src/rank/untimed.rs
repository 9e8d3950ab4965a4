// SPDX-License-Identifier: MIT
//! The units of a rank without their cycles: bank PUs, adder unit, softmax unit, score buffer.

use super::bank_pus::{BankPus, Read, SumElement};
use super::read_out::{ReadElements, ReadOut};
use crate::config::Config;
use crate::dispatch::Made;
use crate::dram::Dram;
use crate::options::{Normalise, Options, SumFormat};
use crate::sizes::{Burst, CHIPS, LANES, PARTIAL_SUMS, SCORE_BUFFER};
use pimlico_dpa::types::{Finish, Place, ResultAddress, Sum, SumKind, Weigh};
use pimlico_units::arith::{Binary16, Binary32, Fp};
use pimlico_units::rank::{SoftmaxHeads, sums_of_chips, sums_over_chips};
use std::collections::VecDeque;

/// Maxima and sums of its heads.
type Softmax = SoftmaxHeads<Binary16>;

/// The units, of any format of sums.
pub trait Untimed {
    /// Sets the factor of the scores, in binary16.
    fn set_scale(&mut self, scale: u16);

    /// Writes a word of the shared buffers.
    fn write_shared(&mut self, word: usize, burst: Burst);

    /// An RD_ALL: see [`BankPus::compute`].
    fn compute(&mut self, read: Read, cells: &Dram);

    /// An RD_RESULT, with all that becomes of its burst.
    fn read_results(&mut self, address: ResultAddress, sum: &Sum, tell: &mut dyn FnMut(Made));

    /// The scores of a head are complete. False if they are not: its last chunk lacks scores.
    #[must_use]
    fn finish(&mut self, finish: Finish) -> bool;

    /// Scores become a word of weights.
    fn weigh(&mut self, weigh: Weigh, tell: &mut dyn FnMut(Made));

    /// The oldest word of weights leaves, if there is one.
    fn take_word(&mut self) -> Option<u64>;

    /// Words of weights that have not left are not used.
    fn drop_words(&mut self);
}

/// The units of a rank with these options.
pub fn untimed(config: &Config, options: &Options) -> Box<dyn Untimed> {
    match (options.sums, options.normalise) {
        (SumFormat::Binary16, Normalise::Early) => Box::new(Units::<Binary16, false>::new(config)),
        (SumFormat::Binary16, Normalise::Late) => Box::new(Units::<Binary16, true>::new(config)),
        (SumFormat::Binary32, Normalise::Early) => Box::new(Units::<Binary32, false>::new(config)),
        (SumFormat::Binary32, Normalise::Late) => Box::new(Units::<Binary32, true>::new(config)),
    }
}

/// The units with sums of format `A`, where the context (`LATE`) or the weights are normalised.
struct Units<A: SumElement, const LATE: bool> {
    bank_pus: BankPus<A>,
    read_out: ReadOut<A>,
    scale: Fp<Binary16>,
    softmax: Softmax,
    /// Scaled scores of a chunk, how many have come, and whose they are: whether they are the first of their head too.
    chunk: [Fp<Binary16>; Softmax::CHUNK],
    came: usize,
    head: usize,
    first: bool,
    /// The score buffer, with the partial sums of outputs.
    scores: Box<[Fp<Binary16>]>,
    words: VecDeque<u64>,
    /// A row of the context: elements of each chip, and whether their sums go on from partial sums.
    row: ReadElements<A>,
    goes_on: bool,
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[Fp<A>; CHIPS]]>,
}

impl<A: SumElement, const LATE: bool> Units<A, LATE> {
    fn new(config: &Config) -> Self {
        Self {
            bank_pus: BankPus::new(config),
            read_out: ReadOut::new(config),
            scale: Fp::ZERO,
            softmax: Softmax::default(),
            chunk: [Fp::ZERO; Softmax::CHUNK],
            came: 0,
            head: 0,
            first: false,
            scores: vec![Fp::ZERO; SCORE_BUFFER].into(),
            words: VecDeque::with_capacity(16),
            row: [[Fp::ZERO; CHIPS]; LANES],
            goes_on: false,
            partial_sums: vec![[Fp::ZERO; CHIPS]; PARTIAL_SUMS].into(),
        }
    }

    /// Scores of four tokens, those behind the last of which are masked.
    fn take_scores(&mut self, sums: [Fp<Binary16>; LANES], sum: &Sum, tell: &mut dyn FnMut(Made)) {
        let tokens = sum.tokens.get() as usize;
        if self.came == 0 {
            (self.head, self.first) = (sum.head.get() as usize, sum.first);
        }
        let mut scaled = [Softmax::MASKED; LANES];
        for (scaled, score) in scaled.iter_mut().zip(sums).take(tokens) {
            let (head, bits) = (sum.head.get() as usize, score.to_bits() as u16);
            tell(Made::Score { head, bits });
            *scaled = score * self.scale;
        }
        if sum.keep {
            self.put(sum.place, scaled);
        }
        self.chunk[self.came..self.came + LANES].copy_from_slice(&scaled);
        self.came = (self.came + LANES) % Softmax::CHUNK;
        if self.came == 0 {
            self.softmax.chunk(self.head, self.first, &self.chunk);
        }
    }

    /// A burst of a row of the context: all of it, or a half if elements have 32 bits.
    fn take_elements(&mut self, elements: ReadElements<A>, sum: &Sum) {
        if sum.first {
            self.goes_on = sum.goes_on;
        }
        if A::WIDTH < 32 {
            self.row = elements;
            return;
        }
        let half = LANES / 2;
        let first = if sum.first { 0 } else { half };
        self.row[first..first + half].copy_from_slice(&elements[..half]);
    }

    /// A row of the context is complete.
    fn take_row(&mut self, sum: &Sum, tell: &mut dyn FnMut(Made)) {
        let place = usize::from(sum.place.get() as u8);
        let start = if self.goes_on { self.partial_sums[place] } else { [Fp::ZERO; CHIPS] };
        let sums = sums_of_chips(&self.row, start);
        if !sum.complete {
            self.partial_sums[place] = sums;
            return;
        }
        let head = sum.head.get() as usize;
        for sum in sums {
            let element: Fp<Binary16> = match LATE {
                true => self.softmax.context(head, sum.widen::<Binary32>()),
                false => sum.narrow(),
            };
            tell(Made::Context { head, bits: element.to_bits() as u16 });
        }
    }

    /// Writes a word of the score buffer, from a place on.
    fn put(&mut self, place: Place, elements: [Fp<Binary16>; LANES]) {
        for (lane, element) in elements.into_iter().enumerate() {
            self.scores[in_word(place, lane)] = element;
        }
    }
}

/// Sums over the chips, from partial sums on. On the data bus an element has 16 bits.
fn over_chips<A: SumElement>(
    elements: &ReadElements<A>,
    partial: [Fp<Binary16>; LANES],
) -> [Fp<Binary16>; LANES] {
    let on_bus = |element: Fp<A>| element.narrow::<Binary16>().widen::<A>();
    let elements = elements.map(|chips| chips.map(on_bus));
    sums_over_chips(&elements, &partial.map(Fp::widen)).map(Fp::narrow)
}

/// Where in the score buffer the element of a word is that is so far behind the one at a place.
fn in_word(place: Place, lane: usize) -> usize {
    let first = place.get() as usize % SCORE_BUFFER;
    LANES * (first / LANES) + (first + lane) % LANES
}

impl<A: SumElement, const LATE: bool> Untimed for Units<A, LATE> {
    fn set_scale(&mut self, scale: u16) {
        self.scale = Fp::from_bits(scale.into());
    }

    fn write_shared(&mut self, word: usize, burst: Burst) {
        self.bank_pus.write_shared(word, burst);
    }

    fn compute(&mut self, read: Read, cells: &Dram) {
        self.bank_pus.compute(read, cells);
    }

    fn read_results(&mut self, address: ResultAddress, sum: &Sum, tell: &mut dyn FnMut(Made)) {
        let elements = self.read_out.elements(&self.bank_pus, address);
        match sum.kind {
            SumKind::Scores => {
                let sums = over_chips(&elements, [Fp::ZERO; LANES]);
                self.take_scores(sums, sum, tell);
            }
            SumKind::Outputs => {
                let before = |lane| self.scores[in_word(sum.place, lane)];
                let goes_on = |lane| if sum.goes_on { before(lane) } else { Fp::ZERO };
                let sums = over_chips(&elements, std::array::from_fn(goes_on));
                if sum.complete {
                    sums.into_iter().for_each(|sum| tell(Made::Output(sum.to_bits() as u16)));
                } else {
                    self.put(sum.place, sums);
                }
            }
            SumKind::Context => {
                self.take_elements(elements, sum);
                if sum.last {
                    self.take_row(sum, tell);
                }
            }
        }
    }

    fn finish(&mut self, finish: Finish) -> bool {
        let head = finish.head.get() as usize;
        let is_complete = self.came == 0 || self.head != head;
        if is_complete {
            self.softmax.finish(head);
        }
        is_complete
    }

    fn weigh(&mut self, weigh: Weigh, tell: &mut dyn FnMut(Made)) {
        let Weigh { place, head, count } = weigh;
        let head = head.get() as usize;
        let mut word = 0;
        for lane in 0..LANES.min(count.get() as usize) {
            let exp = self.softmax.exp(head, self.scores[in_word(place, lane)]);
            let weight = if LATE { exp } else { self.softmax.weight(head, exp) };
            tell(Made::Weight { head, bits: weight.to_bits() as u16 });
            word |= u64::from(weight.to_bits()) << (16 * lane);
        }
        self.words.push_back(word);
    }

    fn take_word(&mut self) -> Option<u64> {
        self.words.pop_front()
    }

    fn drop_words(&mut self) {
        self.words.clear();
    }
}
