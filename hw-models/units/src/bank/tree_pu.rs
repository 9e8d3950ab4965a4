// SPDX-License-Identifier: MIT
//! PU at a bank of an AiM.

use super::{Lanes, Sixteen, TreePus};
use crate::arith::{Binary16, Format, Fp};
use pimlico_ports::{
    Instances, Model, Models, Open, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::any::Any;

ports! {
    /// A PU with an adder tree.
    unit TreePu<F: Format>: "tree_pu" {
        inputs TreePuIn {
            /// A beat arrives.
            valid_i: bool => all_but_one_in(8),
            /// The beat begins a sum.
            first_i: bool => one_in(6),
            /// The beat ends a sum.
            last_i: bool => one_in(4),
            /// Elements from the row buffer.
            row_i: [Fp<F>; 16],
            /// Factors of the lanes, from the global buffer.
            shared_i: [Fp<F>; 16],
        }
        outputs TreePuOut {
            /// `result_o` is new in this cycle.
            result_valid_o: bool,
            /// The sum that ended last.
            result_o: Fp<F>,
        }
        probes TreePuProbe {}
    }
}

/// Multipliers.
const LANES: usize = Sixteen::COUNT;
/// Pipeline registers in a multiplier and in an adder, and one behind it.
const MUL_STAGES: usize = 2;
const ADD_STAGES: usize = 2;
/// Levels of the tree that adds up the partial sums.
const DEPTH: usize = 2;
/// Partial sums of a sum: beat `n` is added to number `n` modulo so many.
pub(crate) const PARTIALS: usize = 1 << DEPTH;
/// Cycles from a beat with `last_i` to its result.
pub(super) const LATENCY: usize =
    MUL_STAGES + 1 + (Sixteen::LEVELS + 1 + DEPTH) * (ADD_STAGES + 1) + 2;

/// The cycle model of a PU with an adder tree over sixteen lanes.
///
/// A beat is added when it comes; what the pipeline does is a delay of the result.
///
#[doc = contract!("bank/tree_pu")]
#[derive(Clone)]
pub struct TreePu<F: Format> {
    pub(super) partial: [Fp<F>; PARTIALS],
    pub(super) beats: Beats,
    /// Results on their way: that which is due in cycle `n` is at `n` modulo their number.
    pub(super) due: [Option<Fp<F>>; LATENCY],
    pub(super) cycle: usize,
    /// The result that came last.
    pub(super) result: Option<Fp<F>>,
}

/// Which partial sum the next beat is for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Beats {
    index: usize,
    /// All partial sums have a beat.
    wraps: bool,
}

impl Beats {
    /// A beat comes, the first of its sum or not. Returns the partial sum that it is for, and whether it
    /// begins it.
    pub(crate) fn next(&mut self, first: bool) -> (usize, bool) {
        if first {
            *self = Self::default();
        }
        let (index, begins) = (self.index, !self.wraps);
        self.index = (index + 1) % PARTIALS;
        self.wraps |= self.index == 0;
        (index, begins)
    }

    /// How many partial sums have a beat.
    pub(crate) fn partials(&self) -> usize {
        if self.wraps { PARTIALS } else { self.index }
    }
}

impl<F: Format> TreePu<F> {
    /// Cycles from a beat with `last_i` to its result.
    pub const LATENCY: u64 = LATENCY as u64;
}

impl<F: Format> Unit for TreePu<F> {
    const MODULE: &'static str = "tree_pu";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("LANES", LANES as i64),
        ("EXP_BITS", F::EXP_BITS as i64),
        ("MAN_BITS", F::MAN_BITS as i64),
        ("SUBNORMALS", F::SUBNORMALS as i64),
        ("MUL_STAGES", MUL_STAGES as i64),
        ("ADD_STAGES", ADD_STAGES as i64),
    ];
    type In = TreePuIn<F>;
    type Out = TreePuOut<F>;
    type Probe = TreePuProbe<F>;
}

impl<F: Format> Model for TreePu<F> {
    fn new() -> Self {
        Self {
            partial: [Fp::ZERO; PARTIALS],
            beats: Beats::default(),
            due: [None; LATENCY],
            cycle: 0,
            result: None,
        }
    }

    fn instances(count: usize) -> Box<dyn Instances<Self>> {
        let vectors: Box<dyn Instances<TreePu<Binary16>>> =
            Box::new(TreePus::<Binary16>::new(count));
        let vectors: Box<dyn Any> = Box::new(vectors);
        match vectors.downcast::<Box<dyn Instances<Self>>>() {
            Ok(vectors) => *vectors,
            Err(_) => Box::new(Models::<Self>::new(count)),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        TreePuProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.due[self.cycle].or(self.result).is_none() {
            open.port("result_o").mark();
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let due = self.due[self.cycle];
        TreePuOut {
            result_valid_o: due.is_some(),
            result_o: due.or(self.result).unwrap_or_default(),
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.result = self.due[self.cycle].take().or(self.result);
        if input.valid_i {
            let (index, begins) = self.beats.next(input.first_i);
            let mut sums: [Fp<F>; LANES] =
                std::array::from_fn(|k| input.row_i[k] * input.shared_i[k]);
            let partial = if begins { Fp::ZERO } else { self.partial[index] };
            self.partial[index] = tree(&mut sums) + partial;
            if input.last_i {
                let mut partials = [Fp::ZERO; PARTIALS];
                let there = self.beats.partials();
                partials[..there].copy_from_slice(&self.partial[..there]);
                self.due[self.cycle] = Some(tree(&mut partials));
            }
        }
        self.cycle = (self.cycle + 1) % LATENCY;
        output
    }
}

/// The sum of numbers, neighbour by neighbour.
pub(crate) fn tree<F: Format>(numbers: &mut [Fp<F>]) -> Fp<F> {
    let mut count = numbers.len();
    while count > 1 {
        count /= 2;
        for m in 0..count {
            numbers[m] = numbers[2 * m] + numbers[2 * m + 1];
        }
    }
    numbers[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::{AsPrimitive, One};

    /// The results of sums, each of so many beats whose first number is given, and the cycles in which they
    /// come.
    fn run(beats: &[(f32, bool, bool)]) -> Vec<(usize, f32)> {
        let mut pu = TreePu::<Binary16>::new();
        let mut results = Vec::new();
        for cycle in 0..beats.len() + LATENCY {
            let mut input = TreePuIn::default();
            if let Some(&(number, first_i, last_i)) = beats.get(cycle) {
                input = TreePuIn { valid_i: true, first_i, last_i, ..input };
                input.row_i[0] = number.as_();
                input.shared_i[0] = Fp::one();
            }
            let output = pu.step(&input);
            if output.result_valid_o {
                results.push((cycle, output.result_o.as_()));
            }
        }
        results
    }

    // From 2048 on, binary16 counts in twos: a one is lost that meets 2048 alone.

    #[test]
    fn beats_meet_those_that_are_four_before() {
        let of = |place: usize, numbers: [f32; 6]| {
            let beat = |(n, number): (usize, f32)| (number, n == 0, n == place);
            run(&numbers.into_iter().enumerate().map(beat).collect::<Vec<_>>())
        };
        assert_eq!(of(5, [2048.0, 0.0, 0.0, 0.0, 1.0, 0.0]), [(5 + LATENCY, 2048.0)]);
        assert_eq!(of(5, [2048.0, 0.0, 1.0, 1.0, 0.0, 0.0]), [(5 + LATENCY, 2050.0)]);
        assert_eq!(of(5, [0.0, 1.0, 2048.0, 0.0, 0.0, 1.0]), [(5 + LATENCY, 2050.0)]);
    }

    #[test]
    fn short_sums_leave_nothing_to_the_next() {
        let beats =
            [(5.0, true, false), (6.0, false, false), (7.0, false, true), (1.0, true, true)];
        assert_eq!(run(&beats), [(2 + LATENCY, 18.0), (3 + LATENCY, 1.0)]);
    }
}
