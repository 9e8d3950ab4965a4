// SPDX-License-Identifier: MIT
//! Softmax unit of the rank PU: chunks of 16 scores, in two passes.

use super::softmax_heads::{CHUNK, HEADS, exp_below, exp_of_peak, lowest, one};
use super::softmax_sum::{self, Divider, HeadSum, Word};
use crate::arith::{Binary32, Format, Fp};
use crate::gear::{self, DefaultGear, Width, lanes};
use crate::prim::Delay;
use pimlico_ports::{
    Model, Open, Signal, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::array::from_fn;

ports! {
    /// A softmax unit.
    unit SoftmaxUnit<F: Format, G: Width = DefaultGear>: "softmax_unit" {
        inputs SoftmaxUnitIn {
            /// Pass 1: a group of GEAR scores arrives.
            score_valid_i: bool => all_but_one_in(4),
            /// Pass 1: the scores.
            score_i: G::Lanes<Fp<F>> => |entropy: &[u64]| lanes::<G, _>(|lane| moderate::<F, 4>(&entropy[lane..])),
            /// Pass 1: factor of the scores.
            scale_i: Fp<F> => moderate::<F, 1>,
            /// Pass 1: the scores that are masked, which makes them -infinity.
            mask_i: G::Lanes<bool> => |entropy: &[u64]| lanes::<G, _>(|lane| one_in(8)(&entropy[lane..])),
            /// Pass 1: head of the chunk that begins.
            head_i: U<3> => few_heads,
            /// Pass 1: the chunk that begins is the first of its head.
            first_i: bool => all_but_one_in(3),
            /// A finish is offered: the sum of a head is complete with the chunks that have begun.
            finish_i: bool => one_in(32),
            /// Head of the finish.
            finish_head_i: U<3> => few_heads,
            /// Pass 2: a group of GEAR scaled scores arrives.
            weigh_valid_i: bool,
            /// Pass 2: the scaled scores.
            weigh_i: G::Lanes<Fp<F>> => |entropy: &[u64]| lanes::<G, _>(|lane| moderate::<F, 4>(&entropy[lane..])),
            /// Pass 2: head of the scaled scores.
            weigh_head_i: U<3> => few_heads,
            /// `LATE` = 1: a sum of the context arrives.
            sum_valid_i: bool,
            /// `LATE` = 1: the sum of the context, in binary32.
            sum_i: Fp<Binary32>,
            /// `LATE` = 1: head of the sum.
            sum_head_i: U<3> => few_heads,
        }
        outputs SoftmaxUnitOut {
            /// `scaled_o` are scaled scores, for the score buffer.
            scaled_valid_o: bool,
            /// Pass 1: the scaled scores.
            scaled_o: G::Lanes<Fp<F>>,
            /// `max_o` is the maximum of a head after a chunk.
            max_valid_o: bool,
            /// Running maximum of a head.
            max_o: Fp<F>,
            /// `exp_o` are exponentials of pass 1.
            exp_valid_o: bool,
            /// Exponentials of pass 1; also those of pass 2, seven cycles after their scores.
            exp_o: G::Lanes<Fp<F>>,
            /// With the last exponentials of a chunk: factor of the head's sum.
            factor_o: Fp<F>,
            /// A finish offered in this cycle is accepted.
            finish_ready_o: bool,
            /// `recip_o` is the reciprocal of a finished head's sum, which it has replaced.
            finished_o: bool,
            /// Reciprocal of a finished head's sum, in binary32, until the next division.
            recip_o: Fp<Binary32>,
            /// Pass 2: scaled scores offered in this cycle are accepted.
            weigh_ready_o: bool,
            /// `weight_o` are weights.
            weight_valid_o: bool,
            /// Weights of scaled scores of pass 2.
            weight_o: G::Lanes<Fp<F>>,
            /// `LATE` = 1: a sum offered in this cycle is accepted.
            sum_ready_o: bool,
            /// `LATE` = 1: `context_o` is a normalised sum.
            context_valid_o: bool,
            /// `LATE` = 1: the normalised sum of the context.
            context_o: Fp<F>,
        }
        probes SoftmaxUnitProbe {
            /// The first digit of a chunk's sum is in the multiplier, or one behind it.
            rescale_q: bool,
        }
    }
}

/// Mostly numbers with exponents about that of 1 and less than 2^`ABOVE`, as scores and their
/// factors are, half of them with a significand that others have as well; sometimes any.
fn moderate<F: Format, const ABOVE: u32>(entropy: &[u64]) -> Fp<F> {
    let e = entropy[0];
    if e >> 56 == 0xFF {
        return Fp::draw(entropy);
    }
    let any = (e >> 16) as u32 & ((1 << F::MAN_BITS) - 1);
    let exponent = F::BIAS as u32 + ABOVE - 1 - (e >> 8) as u32 % 8;
    let mantissa = if e & 2 == 0 { any & 3 << (F::MAN_BITS - 2) } else { any };
    // A factor is positive.
    let sign = if ABOVE == 1 { 0 } else { e as u32 & 1 };
    Fp::from_bits((sign << F::EXP_BITS | exponent) << F::MAN_BITS | mantissa)
}

/// Mostly one of four heads, so that they meet.
fn few_heads(entropy: &[u64]) -> U<3> {
    let head = entropy[0] >> 8;
    U::new(if entropy[0] % 8 == 7 { head } else { head & 3 })
}

/// A group of scores in the multipliers of pass 1.
#[derive(Clone, Copy)]
struct Group<F: Format, G: Width> {
    scaled: G::Lanes<Fp<F>>,
    /// Its index in its chunk.
    place: usize,
    head: usize,
    /// The chunk is the head's first.
    first: bool,
}

/// The chunk whose exponentials are computed.
#[derive(Clone, Copy)]
struct Chunk<F> {
    head: usize,
    /// It is the head's first.
    first: bool,
    /// Group and lane that have raised the maximum first, if any has.
    peak: Option<(usize, usize)>,
    /// The maximum before, and now.
    old: Fp<F>,
    maximum: Fp<F>,
}

/// What a group belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    /// A chunk of pass 1.
    Chunk,
    /// Pass 2.
    Weigh,
}

/// A group on its way through subtractors and exponential units, with what it comes to.
#[derive(Clone, Copy)]
struct Stage<F: Format, G: Width> {
    pass: Pass,
    head: usize,
    /// Pass 1: the chunk is the head's first.
    first: bool,
    /// Pass 1: index of the group in its chunk.
    place: usize,
    exps: G::Lanes<Fp<F>>,
    /// Pass 1: the factor, where the chunk raises the maximum.
    factor: Option<Fp<F>>,
}

/// Registers from a score to its scaled score, and from a minuend to its exponential.
const SCALE: usize = 3;
const EXP: usize = 6;

/// The cycle model of a softmax unit for 8 heads.
///
#[doc = contract!("rank/softmax_unit")]
#[derive(Clone)]
pub struct SoftmaxUnit<F: Format, const LATE: bool, G: Width = DefaultGear> {
    /// Running maxima: NaN, of which nothing comes but NaN, where there is none since the reset.
    maximum: [Fp<F>; HEADS],
    /// Running sums, or their reciprocals.
    total: [Word; HEADS],

    /// Index of the next group in its chunk, and the chunk that the last one belongs to.
    position: usize,
    head: usize,
    first: bool,
    scale: Delay<Option<Group<F, G>>, SCALE>,

    /// The maximum so far, before the chunk, and where the chunk has raised it first.
    largest: Fp<F>,
    old: Fp<F>,
    peak: Option<(usize, usize)>,
    chunk: [G::Lanes<Fp<F>>; CHUNK],

    /// The group whose turn it is, of the chunk whose exponentials are computed.
    active: Option<usize>,
    active_chunk: Chunk<F>,
    /// Cycles in which the multiplier is not for pass 2, behind a chunk.
    ended: u8,
    stages: Delay<Option<Stage<F, G>>, { EXP + 1 }>,
    factor: Fp<F>,
    sum: HeadSum,
    /// Weights, or an element of the context, in and behind the multiplier.
    normalised: Delay<Option<G::Lanes<Fp<F>>>, 4>,

    divider: Divider,
    finish_head: usize,
    recip: Word,
    finished: bool,
    /// Cycles in which something may still move.
    busy: u8,
}

/// Cycles for which an input may have something move, the divider apart.
const BUSY: u8 = 64;

impl<F: Format, const LATE: bool, G: Width> Unit for SoftmaxUnit<F, LATE, G> {
    const MODULE: &'static str = "softmax_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &{
        let [exp_bits, man_bits, subnormals] = F::PARAMETERS;
        let gear = ("GEAR", G::TCK as i64);
        [exp_bits, man_bits, subnormals, ("LATE", LATE as i64), ("HEADS", HEADS as i64), gear]
    };
    type In = SoftmaxUnitIn<F, G>;
    type Out = SoftmaxUnitOut<F, G>;
    type Probe = SoftmaxUnitProbe<F, G>;

    fn variant() -> String {
        gear::variant::<G>(&match (F::LABEL, LATE) {
            (label, false) => label.to_owned(),
            ("", true) => "late".to_owned(),
            (label, true) => format!("{label}_late"),
        })
    }
}

impl<F: Format, const LATE: bool, G: Width> SoftmaxUnit<F, LATE, G> {
    /// Scores of a chunk.
    pub const CHUNK: usize = CHUNK;
    /// Groups of a chunk.
    pub const GROUPS: usize = CHUNK / G::TCK;
    /// Query heads whose state is kept.
    pub const HEADS: usize = HEADS;
    /// Cycles from a group of scores to their scaled scores.
    pub const SCALE_LATENCY: u64 = SCALE as u64;
    /// Cycles from the last group of a chunk to the head's maximum.
    pub const MAX_LATENCY: u64 = Self::SCALE_LATENCY + 1;
    /// Cycles from the last group of a chunk to its first exponentials; the others follow.
    pub const EXP_LATENCY: u64 = Self::MAX_LATENCY + 1 + EXP as u64;
    /// Cycles from the last group of a chunk to the first in which the head's sum is complete.
    pub const SCORE_LATENCY: u64 = Self::EXP_LATENCY + Self::GROUPS as u64 + Self::WRITE as u64;
    /// Cycles from the start of a division to `finished_o`; one more if a chunk's sum is due in the
    /// cycle before.
    pub const DIVISION_LATENCY: u64 = Self::DIVISION as u64 + 3;
    /// Cycles from a finish to `finished_o` if no chunk of the head is incomplete and the heads' words are
    /// free; as above.
    pub const FINISH_LATENCY: u64 = 1 + Self::DRAIN as u64 + Self::DIVISION_LATENCY;
    /// Cycles from a group of pass 2 to its weights.
    pub const WEIGH_LATENCY: u64 =
        if LATE { Self::WEIGH_EXP_LATENCY } else { Self::WEIGH_EXP_LATENCY + Self::MUL as u64 + 1 };
    /// Cycles from a group of pass 2 to its exponentials.
    pub const WEIGH_EXP_LATENCY: u64 = EXP as u64 + 1;
    /// Cycles from a sum of the context to its normalised value.
    pub const CONTEXT_LATENCY: u64 = Self::MUL as u64 + 2;

    /// Registers in the multiplier of sums.
    const MUL: usize = if G::TCK < 4 { 2 } else { 1 };
    /// Cycles from a chunk's last exponentials to the write of the head's sum.
    /// There is RTL of up to four lanes. With more, a chunk's sum is combined in the cycles until the next one comes.
    const WRITE: u8 = if G::TCK < 4 { 7 } else { Self::GROUPS as u8 };
    /// Cycles from a finish that waits for nothing to its division, and cycles of that.
    const DRAIN: u8 = Self::GROUPS as u8 + 17;
    const DIVISION: u8 = if G::TCK < 4 { 14 } else { 7 };
    /// Cycles before the division in which pass 2 does not begin.
    const WAITS: u8 = EXP as u8;

    /// The outputs of this cycle, which all come from registers.
    #[inline]
    pub(super) fn outputs(&self) -> SoftmaxUnitOut<F, G> {
        let of_pass = |pass: Pass| self.stages[EXP].as_ref().filter(|stage| stage.pass == pass);
        let normalised = self.normalised[Self::NORMALISED].as_ref();
        let exps = self.stages[EXP].as_ref().map(|stage| stage.exps).unwrap_or_default();
        let values = normalised.copied().unwrap_or_default();
        let context = if LATE { values.as_ref()[0] } else { Fp::ZERO };
        SoftmaxUnitOut {
            scaled_valid_o: self.scale[SCALE - 1].is_some(),
            scaled_o: self.scale[SCALE - 1].map(|group| group.scaled).unwrap_or_default(),
            max_valid_o: self.active == Some(0),
            max_o: self.active_chunk.maximum,
            exp_valid_o: of_pass(Pass::Chunk).is_some(),
            exp_o: exps,
            factor_o: self.factor,
            finish_ready_o: self.divider == Divider::Ready,
            finished_o: self.finished,
            recip_o: self.recip.binary32(),
            weigh_ready_o: self.weigh_is_ready(),
            weight_valid_o: if LATE {
                of_pass(Pass::Weigh).is_some()
            } else {
                normalised.is_some()
            },
            weight_o: if LATE { exps } else { values },
            sum_ready_o: self.sum_is_ready(),
            context_valid_o: LATE && normalised.is_some(),
            context_o: context,
            ..Default::default()
        }
    }

    /// Whether nothing moves in it until something comes.
    pub(super) fn rests(&self) -> bool {
        self.busy == 0 && self.divider == Divider::Ready && !self.finished
    }

    /// Whether the chunk's last exponentials are there.
    fn chunk_is_last(&self) -> bool {
        let last =
            |stage: &Stage<F, G>| stage.pass == Pass::Chunk && stage.place == Self::GROUPS - 1;
        self.stages[EXP].as_ref().is_some_and(last)
    }

    /// Whether a digit of a head's sum is taken.
    fn takes_digit(&self) -> bool {
        self.chunk_is_last() || self.sum.takes_digit()
    }

    /// Whether a division is about to start.
    fn waits(&self) -> bool {
        matches!(self.divider, Divider::Draining(cycles) if cycles <= Self::WAITS)
    }

    fn weigh_is_ready(&self) -> bool {
        let begins = self.scale[SCALE - 2].as_ref().is_some_and(|group| group.place == 0);
        self.active.is_none() && self.ended == 0 && !self.waits() && !begins
    }

    fn sum_is_ready(&self) -> bool {
        LATE && !self.takes_digit() && !self.waits()
    }

    /// What lies behind the exponentials: sums, multipliers, divider.
    #[inline]
    fn step_sums(&mut self, input: &SoftmaxUnitIn<F, G>, sum_is_ready: bool) {
        let is_last = self.chunk_is_last();
        let takes_digit = self.takes_digit();
        let write = self.sum.step();

        // From four lanes on a word is there in the cycle in which it is written.
        let early = write.filter(|_| G::TCK >= 4);
        if let Some((head, word)) = early {
            self.total[head] = word;
        }
        let taken = self.take_recip(input, sum_is_ready);
        self.step_divider(input, takes_digit, taken.is_some(), write.is_some());
        if let Some((head, word)) = write {
            self.total[head] = word;
        }
        self.normalised.clock(taken);

        let Some(stage) = self.stages[EXP].as_ref().filter(|stage| stage.pass == Pass::Chunk)
        else {
            return;
        };
        self.sum.add::<F>(stage.exps.as_ref(), stage.place == 0);
        if is_last {
            let (head, first) = (stage.head, stage.first);
            self.sum.combine((head, first), self.total[head], self.factor, Self::WRITE);
        }
    }

    /// What is multiplied by a reciprocal that is read in this cycle.
    #[inline]
    fn take_recip(
        &self,
        input: &SoftmaxUnitIn<F, G>,
        sum_is_ready: bool,
    ) -> Option<G::Lanes<Fp<F>>> {
        if LATE {
            let word = self.total[input.sum_head_i.get() as usize];
            return (input.sum_valid_i && sum_is_ready)
                .then(|| lanes::<G, _>(|_| softmax_sum::normalise(input.sum_i, word)));
        }
        let stage = self.stages[EXP - 1].as_ref().filter(|stage| stage.pass == Pass::Weigh)?;
        let word = self.total[stage.head];
        let exps = stage.exps.as_ref();
        Some(lanes::<G, _>(|lane| softmax_sum::normalise(exps[lane], word)))
    }

    #[inline]
    fn step_divider(
        &mut self,
        input: &SoftmaxUnitIn<F, G>,
        takes_digit: bool,
        takes_recip: bool,
        writes: bool,
    ) {
        self.finished = false;
        match self.divider {
            Divider::Ready => {
                if input.finish_i {
                    self.divider = Divider::Pending;
                    self.finish_head = input.finish_head_i.get() as usize;
                }
            }
            Divider::Pending => {
                if self.position == 0 || self.head != self.finish_head {
                    self.divider = Divider::Draining(Self::DRAIN - 1);
                }
            }
            Divider::Draining(0) => {
                if !takes_digit && !takes_recip {
                    self.recip = self.total[self.finish_head].reciprocal();
                    self.divider = Divider::Dividing(Self::DIVISION + 1);
                }
            }
            Divider::Draining(cycles) => self.divider = Divider::Draining(cycles - 1),
            Divider::Dividing(0) => {
                if !writes && !takes_digit {
                    self.total[self.finish_head] = self.recip;
                    self.divider = Divider::Ready;
                    self.finished = true;
                }
            }
            Divider::Dividing(cycles) => self.divider = Divider::Dividing(cycles - 1),
        }
    }

    /// The exponential units.
    #[inline]
    fn step_exp(&mut self) {
        self.stages.clock(None);
        let Some(stage) = self.stages[EXP].as_ref().filter(|stage| stage.pass == Pass::Chunk)
        else {
            return;
        };
        if let Some(factor) = stage.factor {
            self.factor = factor;
        } else if stage.place == 0 {
            self.factor = if stage.first { Fp::ZERO } else { one() };
        }
    }

    /// The subtractors.
    #[inline]
    fn step_difference(&mut self, input: &SoftmaxUnitIn<F, G>, weigh_is_ready: bool) {
        let weighs = input.weigh_valid_i && weigh_is_ready;
        self.ended = if self.active.is_some() { 3 } else { self.ended.saturating_sub(1) };
        if let Some(place) = self.active {
            let Chunk { head, first, peak, old, maximum } = self.active_chunk;
            let values = self.chunk[place].as_ref();
            let mut factor = None;
            let exps = lanes::<G, _>(|lane| {
                if peak != Some((place, lane)) {
                    return exp_below(values[lane], maximum);
                }
                factor = Some(exp_below(old, maximum));
                exp_of_peak(maximum)
            });
            let pass = Pass::Chunk;
            self.stages[0] = Some(Stage { pass, head, first, place, exps, factor });
            self.active = Some(place + 1).filter(|place| *place < Self::GROUPS);
        } else if weighs {
            let head = input.weigh_head_i.get() as usize;
            let maximum = self.maximum[head];
            let values = input.weigh_i.as_ref();
            let exps = lanes::<G, _>(|lane| exp_below(values[lane], maximum));
            let (pass, first, place, factor) = (Pass::Weigh, false, 0, None);
            self.stages[0] = Some(Stage { pass, head, first, place, exps, factor });
        }
    }

    /// The maximum, and the scores that wait for it.
    #[inline]
    fn step_maximum(&mut self) {
        let Some(Group { scaled, place, head, first }) = self.scale[SCALE - 1] else { return };
        if place == 0 {
            self.largest = if first { lowest() } else { self.maximum[head] };
            self.old = self.largest;
            self.peak = None;
        }
        let mut peak = None;
        for (lane, score) in scaled.as_ref().iter().enumerate() {
            let larger = self.largest.max(*score);
            if larger != self.largest {
                peak = Some((place, lane));
            }
            self.largest = larger;
        }
        self.peak = peak.or(self.peak);
        self.chunk[place] = scaled;
        if place == Self::GROUPS - 1 {
            self.maximum[head] = self.largest;
            self.active = Some(0);
            let (peak, old, maximum) = (self.peak, self.old, self.largest);
            self.active_chunk = Chunk { head, first, peak, old, maximum };
        }
    }

    /// The multipliers of the scores.
    #[inline]
    fn step_scale(&mut self, input: &SoftmaxUnitIn<F, G>) {
        self.scale.clock(None);
        if !input.score_valid_i {
            return;
        }
        if self.position == 0 {
            self.head = input.head_i.get() as usize;
            self.first = input.first_i;
        }
        let (scores, masks) = (input.score_i.as_ref(), input.mask_i.as_ref());
        let scaled =
            lanes::<G, _>(|lane| if masks[lane] { lowest() } else { scores[lane] * input.scale_i });
        let Self { position: place, head, first, .. } = *self;
        self.scale[0] = Some(Group { scaled, place, head, first });
        self.position = (self.position + 1) % Self::GROUPS;
    }

    /// Index of what leaves the multiplier in this cycle.
    const NORMALISED: usize = Self::MUL + 1;
}

impl<F: Format, const LATE: bool, G: Width> Model for SoftmaxUnit<F, LATE, G> {
    fn new() -> Self {
        let chunk = Chunk { head: 0, first: false, peak: None, old: Fp::ZERO, maximum: Fp::ZERO };
        Self {
            maximum: [Fp::NAN; HEADS],
            total: [Word::Empty; HEADS],
            position: 0,
            head: 0,
            first: false,
            scale: Delay::of([None; SCALE]),
            largest: Fp::ZERO,
            old: Fp::ZERO,
            peak: None,
            chunk: from_fn(|_| Default::default()),
            active: None,
            active_chunk: chunk,
            ended: 0,
            stages: Delay::of([None; EXP + 1]),
            factor: Fp::ZERO,
            sum: HeadSum::default(),
            normalised: Delay::of([None; 4]),
            divider: Divider::Ready,
            finish_head: 0,
            recip: Word::Empty,
            finished: false,
            busy: 0,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        let mut mark = |port: &str, is_there: bool| {
            if !is_there {
                open.port(port).mark();
            }
        };
        let exps = self.stages[EXP].is_some();
        let normalised = self.normalised[Self::NORMALISED].is_some();
        mark("scaled_o", self.scale[SCALE - 1].is_some());
        mark("max_o", self.active == Some(0));
        mark("exp_o", exps);
        mark("factor_o", self.chunk_is_last());
        mark("recip_o", self.finished);
        if LATE {
            mark("weight_o", exps);
            mark("context_o", normalised);
        } else {
            mark("weight_o", normalised);
        }
    }

    fn probe(&self) -> Self::Probe {
        SoftmaxUnitProbe { rescale_q: self.sum.multiplies_digit(), ..Default::default() }
    }

    fn settle(&self, _input: &Self::In) -> Self::Out {
        self.outputs()
    }

    #[inline]
    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.outputs();
        self.clock(input, &output);
        output
    }
}

impl<F: Format, const LATE: bool, G: Width> SoftmaxUnit<F, LATE, G> {
    /// The end of a cycle with these outputs.
    #[inline]
    pub(super) fn clock(&mut self, input: &SoftmaxUnitIn<F, G>, output: &SoftmaxUnitOut<F, G>) {
        // Each step reads what those behind it are about to write, so the last comes first.
        if input.score_valid_i | input.weigh_valid_i | input.sum_valid_i {
            self.busy = BUSY;
        }
        if self.busy > 0 || input.finish_i || self.divider != Divider::Ready || self.finished {
            self.busy = self.busy.saturating_sub(1);
            self.step_sums(input, output.sum_ready_o);
            self.step_exp();
            self.step_difference(input, output.weigh_ready_o);
            self.step_maximum();
            self.step_scale(input);
        }
    }
}

mod laps;

#[cfg(test)]
mod tests;
