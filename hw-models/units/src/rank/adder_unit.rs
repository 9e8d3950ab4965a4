// SPDX-License-Identifier: MIT
//! Adder unit of the rank PU: eight adders for each lane, over the eight chips of a rank.

use crate::arith::fast::add_eight;
use crate::arith::{Format, Fp, near, sum_variant};
use crate::gear::{self, DefaultGear, Gear};
use crate::lap::Walk;
use crate::prim::Delay;
use pimlico_ports::{
    Model, Open, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::{array::from_fn, marker::PhantomData};

ports! {
    /// An adder unit.
    unit AdderUnit<F: Format, A: Format = F, G: Gear = DefaultGear>: "adder_unit" {
        inputs AdderUnitIn {
            /// Tree mode: `x_i` is a group of eight elements in each lane.
            valid_i: bool => all_but_one_in(8),
            /// Accumulator mode, by lane: `x_i` has an element for each chip's sum.
            accumulate_i: G::Lanes<bool>,
            /// One element from each chip, by lane.
            x_i: G::Lanes<[Fp<A>; 8]> => |entropy: &[u64]| {
                gear::lanes::<G, [Fp<A>; 8]>(|lane| from_fn(|c| near::<F, A>(&entropy[8 * lane + c..])))
            },
            /// Tree mode, by lane: sum of earlier passes, for the group of six cycles ago; +0 if there is none.
            partial_i: G::Lanes<Fp<A>> => |entropy: &[u64]| {
                gear::lanes::<G, Fp<A>>(|lane| near::<F, A>(&entropy[lane..]))
            },
            /// Accumulator mode: the first lane accumulates in the next cycle, and begins a sum.
            begin_i: bool => one_in(4),
            /// Accumulator mode: the sum begins with `start_i`; else with +0.
            goes_on_i: bool,
            /// Accumulator mode: what each chip's sum begins with.
            start_i: [Fp<A>; 8] => |entropy: &[u64]| from_fn(|c| near::<F, A>(&entropy[c..])),
        }
        outputs AdderUnitOut {
            /// `tree_o` are new sums.
            tree_valid_o: bool,
            /// Tree mode, by lane: the sum over the chips, rounded to an element.
            tree_o: G::Lanes<Fp<F>>,
            /// Accumulator mode: each chip's sum after the last lane has accumulated.
            lanes_o: [Fp<A>; 8],
        }
        probes AdderUnitProbe {}
    }
}

/// Lanes, at the most.
const MOST: usize = 4;

/// A sum of each chip, where there is one.
type Sums<A> = Option<[Fp<A>; 8]>;

/// The cycle model of an adder unit for elements of format `F` and sums of format `A`.
///
#[doc = contract!("rank/adder_unit")]
#[derive(Clone)]
pub struct AdderUnit<F, A = F, G = DefaultGear> {
    /// Sums over the chips, by lane, by the cycles since their groups came, and one.
    tree: Delay<Option<[Fp<A>; MOST]>, 8>,
    /// By lane, what its adders have added in the last cycle and in the one before.
    adding: [Sums<A>; MOST],
    sums: [Sums<A>; MOST],
    /// What the first lane adds to.
    carried: Sums<A>,
    /// Cycles until nothing is on its way.
    busy: u8,
    element: PhantomData<(F, G)>,
}

impl<F: Format, A: Format, G: Gear> Unit for AdderUnit<F, A, G> {
    const MODULE: &'static str = "adder_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &{
        let [exp_bits, man_bits, subnormals, sum_exp_bits, sum_man_bits] =
            crate::arith::sum_parameters::<F, A>();
        [("GEAR", G::TCK as i64), exp_bits, man_bits, subnormals, sum_exp_bits, sum_man_bits]
    };
    type In = AdderUnitIn<F, A, G>;
    type Out = AdderUnitOut<F, A, G>;
    type Probe = AdderUnitProbe<F, A, G>;

    fn variant() -> String {
        gear::variant::<G>(&sum_variant::<F, A>())
    }
}

impl<F: Format, A: Format, G: Gear> AdderUnit<F, A, G> {
    /// Whether nothing is on its way: then a cycle without input changes nothing.
    pub fn rests(&self) -> bool {
        self.busy == 0
    }

    /// Goes over what of it is no sum, for [laps](crate::lap).
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self { tree, adding: _, sums: _, carried: _, busy, element: _ } = self;
        tree.in_order().for_each(|group| walk.still(group.is_some()));
        walk.still(*busy);
    }

    /// Cycles of an adder.
    pub const ADDER_LATENCY: u64 = 2;
    /// Cycles from a group to its sum.
    pub const TREE_LATENCY: u64 = 4 * Self::ADDER_LATENCY;
    /// Cycles from a group to its partial sum.
    pub const PARTIAL_LATENCY: u64 = 3 * Self::ADDER_LATENCY;
}

impl<F: Format, A: Format, G: Gear> Model for AdderUnit<F, A, G> {
    fn new() -> Self {
        Self {
            tree: Delay::of([None; 8]),
            adding: [None; MOST],
            sums: [None; MOST],
            carried: None,
            busy: 0,
            element: PhantomData,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        AdderUnitProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.tree[7].is_none() {
            open.port("tree_o").mark();
        }
        if self.sums[G::TCK - 1].is_none() {
            open.port("lanes_o").mark();
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let tree = self.tree[7].unwrap_or([Fp::ZERO; MOST]);
        AdderUnitOut {
            tree_valid_o: self.tree[7].is_some(),
            tree_o: gear::lanes::<G, Fp<F>>(|lane| tree[lane].narrow()),
            lanes_o: self.sums[G::TCK - 1].unwrap_or([Fp::ZERO; 8]),
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let accumulate = input.accumulate_i.as_ref();
        if input.valid_i || input.begin_i || accumulate.contains(&true) {
            self.busy = Self::TREE_LATENCY as u8 + 1;
        } else if self.busy == 0 {
            return AdderUnitOut::default();
        } else {
            self.busy -= 1;
        }
        let output = self.settle(input);
        let x = input.x_i.as_ref();

        // The tree. A group has been through all but the last adder six cycles after it came.
        if let Some(sums) = &mut self.tree[Self::PARTIAL_LATENCY as usize - 1] {
            for (sum, partial) in sums.iter_mut().zip(input.partial_i.as_ref()) {
                *sum = *sum + *partial;
            }
        }
        self.tree.clock(input.valid_i.then(|| trees(x)));

        // The chips' sums.
        let Self { sums, carried, .. } = &*self;
        let adding = from_fn(|lane| {
            let before = if lane == 0 { carried } else { &sums[lane - 1] };
            let accumulates = accumulate.get(lane).is_some_and(|accumulates| *accumulates);
            let before = before.as_ref().filter(|_| accumulates)?;
            let is_zero = are_zero(&[x[lane], *before]);
            Some(if is_zero { [Fp::ZERO; 8] } else { add_eight(&x[lane], before) })
        });
        self.carried = match (input.begin_i, input.goes_on_i) {
            (false, _) => self.sums[G::TCK - 1],
            (true, false) => Some([Fp::ZERO; 8]),
            (true, true) => Some(input.start_i),
        };
        self.sums = self.adding;
        self.adding = adding;
        output
    }
}

/// Sums over the chips, by lane, to which partial sums are added: the results of [`AdderUnit`], without its cycles.
pub fn sums_over_chips<A: Format>(
    x: &[[Fp<A>; 8]; MOST],
    partial: &[Fp<A>; MOST],
) -> [Fp<A>; MOST] {
    let sums = trees(x);
    from_fn(|lane| sums[lane] + partial[lane])
}

/// Sums of the chips, of the elements of each one behind the other, from partial sums on: the same.
pub fn sums_of_chips<A: Format>(x: &[[Fp<A>; 8]; MOST], start: [Fp<A>; 8]) -> [Fp<A>; 8] {
    x.iter().fold(start, |sums, elements| add_eight(elements, &sums))
}

/// Whether all of them are +0, as are then their sums: where data are left out, nothing else is added.
fn are_zero<A: Format>(x: &[[Fp<A>; 8]]) -> bool {
    x.iter().flatten().fold(0, |bits, element| bits | element.to_bits()) == 0
}

/// The sums over the chips by lane, two lanes at a time: `((a + b) + (c + d)) + ((e + f) + (g + h))`.
fn trees<A: Format>(x: &[[Fp<A>; 8]]) -> [Fp<A>; MOST] {
    let mut sums = [Fp::ZERO; MOST];
    if are_zero(x) {
        return sums;
    }
    for (lanes, sums) in x.chunks(2).zip(sums.chunks_mut(2)) {
        let mut level = [Fp::ZERO; 16];
        lanes.iter().zip(level.chunks_mut(8)).for_each(|(x, of_lane)| of_lane.copy_from_slice(x));
        for _ in 0..3 {
            let [left, right] = [0, 1].map(|side| from_fn(|n| level[2 * n + side]));
            level[..8].copy_from_slice(&add_eight(&left, &right));
        }
        sums.copy_from_slice(&level[..2]);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Binary16, Binary32};
    use crate::gear::{Gear1, Gear2, Gear4};
    use num_traits::AsPrimitive;

    fn element(value: f32) -> Fp<Binary16> {
        value.as_()
    }

    #[test]
    fn the_tree_accepts_groups_in_every_cycle() {
        let mut unit = AdderUnit::<Binary16, Binary16, Gear2>::new();
        let outputs: Vec<_> = (0..12u8)
            .map(|n| {
                unit.step(&AdderUnitIn {
                    valid_i: n < 3,
                    partial_i: [element(if n == 7 { 100.0 } else { 0.0 }), element(0.0)],
                    x_i: [[element(f32::from(n)); 8], [element(1.0); 8]],
                    ..Default::default()
                })
            })
            .collect();
        let sums: Vec<_> = outputs
            .iter()
            .map(|o| o.tree_valid_o.then(|| o.tree_o.map(AsPrimitive::<f32>::as_)))
            .collect();
        assert_eq!(sums[..8], [None; 8]);
        assert_eq!(sums[8..], [Some([0.0, 8.0]), Some([108.0, 8.0]), Some([16.0, 8.0]), None]);
    }

    #[test]
    fn the_chips_sums_pass_from_lane_to_lane() {
        let mut unit = AdderUnit::<Binary16, Binary16, Gear4>::new();
        let mut sums = Vec::new();
        for cycle in 0..10 {
            let output = unit.step(&AdderUnitIn {
                accumulate_i: from_fn(|lane| cycle == 1 + 2 * lane),
                x_i: from_fn(|lane| from_fn(|c| element((lane * 10 + c) as f32))),
                begin_i: cycle == 0,
                goes_on_i: true,
                start_i: [element(0.5); 8],
                ..Default::default()
            });
            sums.push(output.lanes_o.map(AsPrimitive::<f32>::as_));
        }
        assert_eq!(sums[9], from_fn(|c| 60.5 + 4.0 * c as f32));
    }

    #[test]
    fn the_tree_of_wide_sums_rounds_once_at_the_end() {
        let mut unit = AdderUnit::<Binary16, Binary32, Gear1>::new();
        unit.step(&AdderUnitIn {
            valid_i: true,
            x_i: [[2048.0, 1.0, 0.0, 1.0, 0.0, 0.25, 0.0, 0.0].map(|x: f32| x.into())],
            ..Default::default()
        });
        let with_partial = AdderUnitIn { partial_i: [1.0.into()], ..Default::default() };
        let output = (0..8).map(|_| unit.step(&with_partial)).last();
        let output = output.expect("some cycles");
        assert!(output.tree_valid_o);
        assert_eq!(output.tree_o[0], 2052.as_());
    }
}
