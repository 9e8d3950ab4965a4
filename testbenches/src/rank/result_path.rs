// SPDX-License-Identifier: MIT
//! Bench of `result_path`: each element goes into the adder unit where its burst says, and each sum is known
//! by what its burst said.

use crate::arith::Golden;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_dpa::types::{LaneSums, Place, Sum, SumKind, TreeSum};
use pimlico_ports::{U, pack};
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::gear::Gear;
use pimlico_units::rank::{ResultPath, ResultPathIn, ResultPathOut};

/// Cycles from a group of the trees to its sums, to its partial sums, and to when these are asked for.
const TREE: usize = 8;
const PARTIAL: usize = 6;
const READ: usize = 4;
/// The longest CL in tCK.
const LONGEST: usize = 48;

const KINDS: [&str; 3] = ["scores", "outputs", "context"];
const DISTANCES: [&str; 3] = ["a burst", "one more", "more"];
const CLS: [&str; 4] = ["1", "to a half", "more", "the longest"];
const FLAGS: [&str; 2] = ["0", "1"];

/// What the gear says about rows of the context and the adders, in cycles.
struct Times {
    /// Of the elements of a row, from its first read on.
    reads: [usize; 4],
    /// A row's sums end.
    ends: usize,
    /// A row is on its way.
    row: usize,
    /// Least distances of RD_RESULTs, beyond a burst: of the context after scores or outputs, and the other way.
    after_tree: usize,
    after_context: usize,
}

/// The contract's table.
fn times<G: Gear>() -> Times {
    match G::TCK {
        1 => Times { reads: [0, 3, 6, 9], ends: 13, row: 16, after_tree: 4, after_context: 11 },
        2 => Times { reads: [0, 2, 5, 7], ends: 11, row: 12, after_tree: 4, after_context: 9 },
        _ => Times { reads: [0, 2, 4, 6], ends: 10, row: 11, after_tree: 4, after_context: 8 },
    }
}

/// The RD_RESULTs: cycle, and what belongs to them.
fn bursts<A: Format, G: Gear>(
    inputs: &[ResultPathIn<A, G>],
) -> impl Iterator<Item = (usize, &ResultPathIn<A, G>)> {
    let cycles = inputs.chunks(2 * G::TCK).map(|beats| &beats[0]).enumerate();
    cycles.filter(|(_, input)| input.read_result_i)
}

impl<A: Format, G: Gear> Bench for ResultPath<A, G> {
    /// One CL. RD_RESULTs at a distance; of a row of 32-bit sums there are two, one behind the other. A cycle is
    /// held only while nothing is on its way.
    fn arrange(inputs: &mut [ResultPathIn<A, G>]) {
        let Some(first) = inputs.first() else { return };
        let longest = LONGEST as u8 / G::TCK as u8;
        let cl = match first.cl_i % 8 {
            0 => 1,
            1 => longest,
            _ => 1 + first.cl_i / 8 % longest,
        };
        let hurries = first.read_result_i;
        let times = times::<G>();
        let (mut free, mut busy_until) = ([0; 2], 0);
        let mut half = None; // the first burst of a row
        for (cycle, beats) in inputs.chunks_mut(2 * G::TCK).enumerate() {
            let (cycle_input, rest) = beats.split_first_mut().expect("a beat");
            cycle_input.cl_i = cl;
            cycle_input.clk_core_i = false;
            let sum = &mut cycle_input.sum_i;
            sum.tokens = U::new(sum.tokens.get() % 5);
            if let Some(Sum { head, place, .. }) = half {
                *sum =
                    Sum { kind: SumKind::Context, head, place, first: false, last: true, ..*sum };
            } else if sum.kind == SumKind::Context {
                (sum.first, sum.last) = (true, A::WIDTH == 16);
            } else if sum.kind == SumKind::Outputs {
                sum.place = Place::new(sum.place.get() & !3);
            }
            let is_context = sum.kind == SumKind::Context;
            let sum = *sum;
            let held = cycle_input.dq_i % 16 == 15 && cycle >= busy_until;
            cycle_input.read_result_i |= hurries && cycle / 64 % 2 == 1;
            cycle_input.read_result_i &= !held && cycle >= free[usize::from(is_context)];
            if cycle_input.read_result_i {
                half = (is_context && !sum.last).then_some(sum);
                let next = cycle + G::BURST;
                free = match is_context {
                    true => [next + times.after_context, next],
                    false => [next, next + times.after_tree],
                };
                busy_until = next + usize::from(cl) + 2 * times.row;
            }
            let cycle_input = *cycle_input;
            let last = 2 * G::TCK - 2;
            for (n, beat) in rest.iter_mut().enumerate() {
                let dq_i = beat.dq_i;
                *beat = ResultPathIn { clk_core_i: n == last && !held, dq_i, ..cycle_input };
            }
        }
    }

    fn plan(bins: &mut Bins) {
        bins.cross("CL, a burst of", &CLS, &KINDS);
        bins.cross("distance of RD_RESULTs, of", &DISTANCES, &KINDS);
        bins.declare("tokens of scores", (0..=4).map(|tokens| tokens.to_string()));
        bins.cross("scores, first and kept", &FLAGS, &FLAGS);
        bins.cross("outputs, going on and complete", &FLAGS, &FLAGS);
        bins.cross("rows of the context, going on and complete", &FLAGS, &FLAGS);
        bins.cross("top bit of a place", &FLAGS, &KINDS);
        bins.declare("head", (0..8).map(|head| head.to_string()));
        bins.declare("a cycle is held", ["no", "yes"]);
    }

    fn cover(inputs: &[ResultPathIn<A, G>], _: &[ResultPathOut<A, G>], bins: &mut Bins) {
        for beats in inputs.chunks_exact(2 * G::TCK) {
            let held = beats.last().is_some_and(|beat| !beat.clk_core_i);
            bins.hit("a cycle is held", held.into());
        }
        let (mut before, mut begun) = (None, false);
        for (cycle, input) in bursts(inputs) {
            let Sum { kind, head, first, last, tokens, place, keep, goes_on, complete } =
                input.sum_i;
            let kind = match kind {
                SumKind::Scores => 0,
                SumKind::Outputs => 1,
                SumKind::Context => 2,
            };
            let cl = match usize::from(input.cl_i) {
                0 | 1 => 0,
                cl if cl == LONGEST / G::TCK => 3,
                cl if cl <= LONGEST / G::TCK / 2 => 1,
                _ => 2,
            };
            bins.hit_cross("CL, a burst of", cl, kind);
            if let Some(before) = before.replace(cycle) {
                let distance = (cycle - before - G::BURST).min(2);
                bins.hit_cross("distance of RD_RESULTs, of", distance, kind);
            }
            match kind {
                0 => {
                    bins.hit("tokens of scores", tokens.get() as usize);
                    bins.hit_cross("scores, first and kept", first.into(), keep.into());
                }
                1 => {
                    let point = "outputs, going on and complete";
                    bins.hit_cross(point, goes_on.into(), complete.into());
                }
                _ => {
                    begun = if first { goes_on } else { begun };
                    if last {
                        let point = "rows of the context, going on and complete";
                        bins.hit_cross(point, begun.into(), complete.into());
                    }
                }
            }
            // The partial sums of the context have 256 places.
            let top = place.get() >> (if kind == 2 { 7 } else { 16 }) & 1;
            bins.hit_cross("top bit of a place", top as usize, kind);
            bins.hit("head", head.get() as usize);
        }
    }

    fn oracle(
        inputs: &[ResultPathIn<A, G>],
        outputs: &[ResultPathOut<A, G>],
    ) -> Result<u64, OracleError> {
        let beats = 2 * G::TCK;
        let mut run = Run {
            inputs,
            expected: vec![Expected::default(); inputs.len() / beats + 3 * LONGEST],
            elements: Vec::new(),
            begun: false,
            row: None,
        };
        for (cycle, input) in bursts(inputs) {
            match input.sum_i.kind {
                SumKind::Context => run.context(cycle, &input.sum_i),
                _ => run.tree(cycle, &input.sum_i),
            }
        }
        for (beat, got) in outputs.iter().enumerate() {
            let expected = &run.expected[beat / beats];
            let what = || format!("cycle {}, beat {}", beat / beats, beat % beats);
            equal(beat, "partial_read_o", got.partial_read_o, expected.partial.is_some(), what)?;
            let place = expected.partial.unwrap_or(0);
            equal(beat, "partial_place_o", got.partial_place_o.get(), place, what)?;
            equal(beat, "sums_read_o", got.sums_read_o, expected.sums.is_some(), what)?;
            let place = expected.sums.unwrap_or(0);
            equal(beat, "sums_place_o", got.sums_place_o, place, what)?;
            equal(beat, "valid_o", got.valid_o, expected.valid, what)?;
            equal(beat, "begin_o", got.begin_o, expected.begins.is_some(), what)?;
            let goes_on = expected.begins.unwrap_or(false);
            equal(beat, "goes_on_o", got.goes_on_o, goes_on, what)?;
            let (accumulate, x, partial): (&[bool], &[[_; 8]], &[_]) =
                (got.accumulate_o.as_ref(), got.x_o.as_ref(), got.partial_o.as_ref());
            for lane in 0..G::TCK {
                let what = || format!("lane {lane}, {}", what());
                let accumulates = expected.accumulate[lane];
                equal(beat, "accumulate_o", accumulate[lane], accumulates, what)?;
                for (got, expected) in x[lane].iter().zip(expected.x[lane].iter().flatten()) {
                    equal(beat, "x_o", got.to_bits(), *expected, what)?;
                }
                if beat >= beats {
                    let got = partial[lane].to_bits();
                    equal(beat, "partial_o", got, expected.partials[lane], what)?;
                }
            }
            equal(beat, "tree_o", pack(&got.tree_o), pack(&expected.tree), what)?;
            equal(beat, "lanes_valid_o", got.lanes_valid_o, expected.lanes.is_some(), what)?;
            let lanes = expected.lanes.unwrap_or_default();
            equal(beat, "lanes_o", pack(&got.lanes_o), pack(&lanes), what)?;
            equal(beat, "idle_o", got.idle_o, !expected.busy, what)?;
        }
        Ok(outputs.len() as u64)
    }
}

/// What there is in a cycle. Elements are known where the adder unit looks at them.
#[derive(Clone, Debug, Default)]
struct Expected {
    partial: Option<u64>,
    sums: Option<u8>,
    valid: bool,
    accumulate: [bool; 4],
    x: [Option<[u32; 8]>; 4],
    partials: [u32; 4],
    begins: Option<bool>,
    tree: TreeSum,
    lanes: Option<LaneSums>,
    /// Something is on its way.
    busy: bool,
}

/// A run, as far as it has been written down.
struct Run<'a, A: Format, G: Gear> {
    inputs: &'a [ResultPathIn<A, G>],
    expected: Vec<Expected>,
    /// Elements of the row that is to end.
    elements: Vec<[u32; 8]>,
    /// That row goes on from partial sums.
    begun: bool,
    /// The first read of the row before.
    row: Option<usize>,
}

impl<A: Format, G: Gear> Run<'_, A, G> {
    fn busy(&mut self, from: usize, until: usize) {
        self.expected[from..until].iter_mut().for_each(|expected| expected.busy = true);
    }

    /// The first cycle of the burst of an RD_RESULT.
    fn begin(&mut self, cycle: usize) -> usize {
        let cl = self.inputs.first().map_or(0, |input| usize::from(input.cl_i));
        let begin = cycle + cl;
        self.busy(cycle + 1, begin + G::BURST);
        begin
    }

    /// Element `n` of so many bytes of a burst, of each chip, as far as the run goes.
    fn element(&self, begin: usize, n: usize, bytes: usize) -> [u32; 8] {
        let from = 2 * G::TCK * begin + n * bytes;
        std::array::from_fn(|chip| {
            (0..bytes).fold(0, |bits, byte| {
                let dq = self.inputs.get(from + byte).map_or(0, |input| input.dq_i);
                bits | (((dq >> (8 * chip)) as u32 & 0xFF) << (8 * byte))
            })
        })
    }

    /// A burst of the context.
    fn context(&mut self, cycle: usize, sum: &Sum) {
        let begin = self.begin(cycle);
        if sum.first {
            self.begun = sum.goes_on;
            self.elements.clear();
        }
        let bytes = A::WIDTH as usize / 8;
        for n in 0..8 / bytes {
            let element = self.element(begin, n, bytes);
            self.elements.push(element);
        }
        if !sum.last {
            return;
        }
        // The row is read from the cycle after its burst's first on, in time with the row before.
        let times = times::<G>();
        let mut read = begin + 1;
        if let Some(before) = self.row {
            while read <= before + times.row && !(read - before).is_multiple_of(G::BURST) {
                read += 1;
            }
        }
        self.row = Some(read);
        self.busy(read, read + times.row);
        let place = (sum.place.get() % 256) as u8;
        self.expected[read].sums = self.begun.then_some(place);
        self.expected[read + 1].begins = Some(self.begun);
        for (k, (element, after)) in self.elements.iter().zip(times.reads).enumerate() {
            let expected = &mut self.expected[read + after + 2];
            expected.accumulate[k % G::TCK] = true;
            expected.x[k % G::TCK] = Some(*element);
        }
        let Sum { head, complete, .. } = *sum;
        self.expected[read + times.ends].lanes = Some(LaneSums { head, complete, place });
    }

    /// A burst of scores or outputs.
    fn tree(&mut self, cycle: usize, sum: &Sum) {
        let begin = self.begin(cycle);
        let Sum { kind, head, first, tokens, place, keep, goes_on, complete, .. } = *sum;
        let is_output = kind == SumKind::Outputs;
        if is_output && goes_on {
            self.expected[begin + 1 + READ].partial = Some(place.get());
        }
        for index in 0..G::BURST {
            let at = begin + 1 + index;
            let group = index * G::TCK;
            for lane in 0..G::TCK {
                let element = self.element(begin, group + lane, 2);
                self.expected[at].x[lane] = Some(element.map(widened::<A>));
                // The word is there in the cycle before.
                let word = self.inputs.get(2 * G::TCK * (at + PARTIAL - 1));
                let word = word.filter(|_| is_output && goes_on);
                let partial = word.map_or(0, |word| word.partial_outputs_i[group + lane].to_bits());
                self.expected[at + PARTIAL].partials[lane] = widened::<A>(partial);
            }
            self.expected[at].valid = true;
            let masked = (0..G::TCK).filter(|lane| (group + lane) as u64 >= tokens.get());
            self.expected[at + TREE].tree = TreeSum {
                is_output,
                head,
                first,
                masked: U::new(masked.map(|lane| 1 << lane).sum()),
                keep,
                complete,
                place: U::new(place.get() + group as u64),
            };
            self.busy(at, at + TREE + 1);
        }
    }
}

/// A number of 16 bits in the format of the sums.
fn widened<A: Format>(bits: u32) -> u32 {
    if A::WIDTH == 16 { bits } else { Golden::of::<Binary16>().widen(bits) }
}
