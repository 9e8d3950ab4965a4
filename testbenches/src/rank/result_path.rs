// SPDX-License-Identifier: MIT
//! Bench of `result_path`: each element goes into the adder unit where its burst says, and each sum is known
//! by what its burst said.

use super::burst_timer::BURST;
use super::judge::equal;
use crate::arith::Golden;
use crate::coverage::Bins;
use crate::{Bench, OracleError};
use pimlico_dpa::types::{LaneSums, Sum, SumKind, TreeSum};
use pimlico_ports::{U, pack};
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::rank::{ResultPath, ResultPathIn, ResultPathOut};

/// tCK from a tree input of the adder unit to its sum.
const TREE_LATENCY: usize = 4;
/// The longest CL.
const LONGEST: usize = 48;

const KINDS: [&str; 3] = ["scores", "outputs", "context"];
const DISTANCES: [&str; 3] = ["4", "5", "more"];
const CLS: [&str; 4] = ["2", "3 to 31", "32 to 47", "48"];
const FLAGS: [&str; 2] = ["0", "1"];

/// The RD_RESULTs: tCK, and what belongs to them.
fn bursts<A: Format>(
    inputs: &[ResultPathIn<A>],
) -> impl Iterator<Item = (usize, &ResultPathIn<A>)> {
    let tcks = inputs.chunks(2).map(|pair| &pair[0]).enumerate();
    tcks.filter(|(_, input)| input.read_result_i)
}

/// A burst begins its sum with the partial sums of the chips.
fn begins_with_partial_sums(sum: &Sum) -> bool {
    sum.kind == SumKind::Context && sum.first && sum.goes_on
}

impl<A: Format> Bench for ResultPath<A> {
    /// One CL. RD_RESULTs at a distance. A tCK is held only while nothing is on its way.
    fn arrange(inputs: &mut [ResultPathIn<A>]) {
        let Some(first) = inputs.first() else { return };
        let cl = match first.cl_i % 8 {
            0 => 2,
            1 => LONGEST as u8,
            _ => 2 + first.cl_i / 8 % 47,
        };
        let (mut free, mut tree_free, mut busy_until) = (0, 0, 0);
        for (tck, pair) in inputs.chunks_mut(2).enumerate() {
            let first = &mut pair[0];
            first.cl_i = cl;
            first.clk_tck_i = false;
            first.sum_i.tokens = U::new(first.sum_i.tokens.get() % 5);
            let apart = usize::from(begins_with_partial_sums(&first.sum_i));
            let is_context = first.sum_i.kind == SumKind::Context;
            let held = first.dq_i % 16 == 15 && tck >= busy_until;
            first.read_result_i &=
                !held && tck >= free + apart && (!is_context || tck >= tree_free);
            if first.read_result_i {
                free = tck + BURST;
                if !is_context {
                    tree_free = free + TREE_LATENCY;
                }
                busy_until = tck + usize::from(cl) + BURST + TREE_LATENCY + 1;
            }
            let tck_inputs = *first;
            if let [_, second] = pair {
                let dq_i = second.dq_i;
                *second = ResultPathIn { clk_tck_i: !held, dq_i, ..tck_inputs };
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("CL, a burst of", &CLS, &KINDS);
        bins.cross("distance of RD_RESULTs, of", &DISTANCES, &KINDS);
        bins.declare("tokens of scores", (0..=4).map(|tokens| tokens.to_string()));
        bins.cross("scores, first and kept", &FLAGS, &FLAGS);
        bins.cross("outputs, going on and complete", &FLAGS, &FLAGS);
        bins.declare(
            "context, going on, first, last, complete",
            (0..16).map(|n| format!("{n:04b}")),
        );
        bins.cross("top bit of a place", &FLAGS, &KINDS);
        bins.declare("head", (0..8).map(|head| head.to_string()));
        bins.declare("a tCK is held", ["no", "yes"]);
    }

    fn cover(inputs: &[ResultPathIn<A>], _: &[ResultPathOut<A>], bins: &mut Bins) {
        for pair in inputs.chunks_exact(2) {
            bins.hit("a tCK is held", usize::from(!pair[1].clk_tck_i));
        }
        let mut before = None;
        for (tck, input) in bursts(inputs) {
            let Sum { kind, head, first, last, tokens, place, keep, goes_on, complete } =
                input.sum_i;
            let kind = match kind {
                SumKind::Scores => 0,
                SumKind::Outputs => 1,
                SumKind::Context => 2,
            };
            let cl = match input.cl_i {
                2 => 0,
                3..32 => 1,
                32..48 => 2,
                _ => 3,
            };
            bins.hit_cross("CL, a burst of", cl, kind);
            if let Some(before) = before.replace(tck) {
                bins.hit_cross("distance of RD_RESULTs, of", (tck - before - BURST).min(2), kind);
            }
            let flag = |flag: bool| usize::from(flag);
            match kind {
                0 => {
                    bins.hit("tokens of scores", tokens.get() as usize);
                    bins.hit_cross("scores, first and kept", flag(first), flag(keep));
                }
                1 => {
                    let point = "outputs, going on and complete";
                    bins.hit_cross(point, flag(goes_on), flag(complete));
                }
                _ => {
                    let flags = [goes_on, first, last, complete];
                    let bin = flags.into_iter().fold(0, |bin, set| 2 * bin + flag(set));
                    bins.hit("context, going on, first, last, complete", bin);
                }
            }
            // The partial sums of the context have 256 places.
            let top = place.get() >> (if kind == 2 { 7 } else { 16 }) & 1;
            bins.hit_cross("top bit of a place", top as usize, kind);
            bins.hit("head", head.get() as usize);
        }
    }

    fn oracle(
        inputs: &[ResultPathIn<A>],
        outputs: &[ResultPathOut<A>],
    ) -> Result<u64, OracleError> {
        let mut expected = vec![Expected::<A>::default(); inputs.len() / 2 + 2 * LONGEST];
        for (tck, input) in bursts(inputs) {
            expect(tck, input, inputs, &mut expected);
        }
        for (beat, got) in outputs.iter().enumerate() {
            let second = beat % 2 == 1;
            let Expected { input, tree, lanes, busy } = &expected[beat / 2];
            let what = || format!("tCK {}, beat {}", beat / 2, beat % 2);
            let AdderInput { accumulate, first, last, partial, x } = input.unwrap_or_default();
            equal(beat, "valid_o", got.valid_o, input.is_some(), what)?;
            equal(beat, "accumulate_o", got.accumulate_o, accumulate, what)?;
            equal(beat, "first_o", got.first_o, first, what)?;
            equal(beat, "last_o", got.last_o, last, what)?;
            equal(beat, "partial_o", got.partial_o.to_bits(), partial.to_bits(), what)?;
            // An element is whole in the second beat.
            for (chip, (got, expected)) in got.x_o.iter().zip(x).enumerate().filter(|_| second) {
                let what = || format!("chip {chip}, {}", what());
                equal(beat, "x_o", got.to_bits(), expected.to_bits(), what)?;
            }
            equal(beat, "tree_o", pack(&got.tree_o), pack(tree), what)?;
            equal(beat, "lanes_valid_o", got.lanes_valid_o, lanes.is_some(), what)?;
            equal(beat, "lanes_o", pack(&got.lanes_o), pack(&lanes.unwrap_or_default()), what)?;
            equal(beat, "idle_o", got.idle_o, !busy, what)?;
        }
        Ok(outputs.len() as u64)
    }
}

/// What goes into the adder unit.
#[derive(Clone, Copy, Debug, Default)]
struct AdderInput<A: Format> {
    accumulate: bool,
    first: bool,
    last: bool,
    partial: Fp<A>,
    x: [Fp<A>; 8],
}

/// What there is in a tCK.
#[derive(Clone, Copy, Debug, Default)]
struct Expected<A: Format> {
    input: Option<AdderInput<A>>,
    tree: TreeSum,
    lanes: Option<LaneSums>,
    /// Something is on its way.
    busy: bool,
}

/// Writes down what the burst of an RD_RESULT in a tCK leads to.
fn expect<A: Format>(
    tck: usize,
    input: &ResultPathIn<A>,
    inputs: &[ResultPathIn<A>],
    expected: &mut [Expected<A>],
) {
    let Sum { kind, head, first, last, tokens, place, keep, goes_on, complete } = input.sum_i;
    let begin = tck + usize::from(input.cl_i);
    expected[tck + 1..begin + BURST].iter_mut().for_each(|expected| expected.busy = true);
    // The byte that a chip has sent in a beat, if the run goes so far.
    let byte = |beat: usize, chip: usize| {
        inputs.get(beat).map_or(0, |input| (input.dq_i >> (8 * chip)) as u32 & 0xFF)
    };
    let bytes = |from: usize, count: usize, chip: usize| {
        (0..count).map(|n| byte(from + n, chip) << (8 * n)).sum::<u32>()
    };
    if kind == SumKind::Context {
        let size = A::WIDTH as usize / 8; // bytes of an element, and beats
        for n in 0..2 * BURST / size {
            let ends = size * (n + 1) == 2 * BURST;
            expected[begin + (n + 1) * size / 2 - 1].input = Some(AdderInput {
                accumulate: true,
                first: n == 0 && first && !goes_on,
                last: ends && last,
                partial: Fp::ZERO,
                x: std::array::from_fn(|chip| {
                    Fp::from_bits(bytes(2 * begin + n * size, size, chip))
                }),
            });
        }
        if begins_with_partial_sums(&input.sum_i) {
            let x = input.partial_sums_i;
            let (accumulate, first) = (true, true);
            let partial_sums = AdderInput { accumulate, first, x, ..Default::default() };
            expected[begin - 1].input = Some(partial_sums);
        }
        if last {
            let place = (place.get() % 256) as u8;
            expected[begin + BURST].lanes = Some(LaneSums { head, complete, place });
            expected[begin + BURST].busy = true;
        }
        return;
    }
    let is_output = kind == SumKind::Outputs;
    for n in 0..BURST {
        let first_of_sum = !(is_output && goes_on);
        let partial = input.partial_outputs_i[n].to_bits();
        expected[begin + n].input = Some(AdderInput {
            accumulate: false,
            first: first_of_sum,
            last: true,
            partial: if first_of_sum { Fp::ZERO } else { widened(partial) },
            x: std::array::from_fn(|chip| widened(bytes(2 * (begin + n), 2, chip))),
        });
        expected[begin + n + TREE_LATENCY].tree = TreeSum {
            is_output,
            head,
            first,
            masked: U::new((n as u64 >= tokens.get()).into()),
            keep,
            complete,
            place: U::new(place.get() + n as u64),
        };
        let way = &mut expected[begin + n + 1..=begin + n + TREE_LATENCY];
        way.iter_mut().for_each(|expected| expected.busy = true);
    }
}

/// A number of 16 bits in the format of the sums.
fn widened<A: Format>(bits: u32) -> Fp<A> {
    Fp::from_bits(if A::WIDTH == 16 { bits } else { Golden::of::<Binary16>().widen(bits) })
}
