// SPDX-License-Identifier: MIT
//! Softmax unit of the rank PU: chunks of 16 scores, in two passes.

use crate::arith::{Binary32, Binary32Flush, Format, Fp};
use pimlico_ports::{
    Model, Signal, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A softmax unit.
    unit SoftmaxUnit<F: Format>: "softmax_unit" {
        inputs SoftmaxUnitIn {
            /// Pass 1: a score arrives.
            score_valid_i: bool => all_but_one_in(4),
            /// Pass 1: the score.
            score_i: Fp<F> => moderate::<F, 4>,
            /// Pass 1: factor of the score.
            scale_i: Fp<F> => moderate::<F, 1>,
            /// Pass 1: the score is masked, which makes it -infinity.
            mask_i: bool => one_in(8),
            /// Pass 1: head of the chunk that begins.
            head_i: U<3> => few_heads,
            /// Pass 1: the chunk that begins is the first of its head.
            first_i: bool => all_but_one_in(3),
            /// A finish is offered: the sum of a head is complete with the chunks that have begun.
            finish_i: bool => one_in(32),
            /// Head of the finish.
            finish_head_i: U<3> => few_heads,
            /// Pass 2: a scaled score arrives.
            weigh_valid_i: bool,
            /// Pass 2: the scaled score.
            weigh_i: Fp<F> => moderate::<F, 4>,
            /// Pass 2: head of the scaled score.
            weigh_head_i: U<3> => few_heads,
            /// `LATE` = 1: a sum of the context arrives.
            sum_valid_i: bool,
            /// `LATE` = 1: the sum of the context, in binary32.
            sum_i: Fp<Binary32>,
            /// `LATE` = 1: head of the sum.
            sum_head_i: U<3> => few_heads,
        }
        outputs SoftmaxUnitOut {
            /// `scaled_o` is a scaled score, for the score buffer.
            scaled_valid_o: bool,
            /// Pass 1: the scaled score.
            scaled_o: Fp<F>,
            /// `max_o` is the maximum of a head after a chunk.
            max_valid_o: bool,
            /// Running maximum of a head.
            max_o: Fp<F>,
            /// `exp_o` is an exponential of pass 1.
            exp_valid_o: bool,
            /// Exponential of pass 1; also that of pass 2, two cycles after its element.
            exp_o: Fp<F>,
            /// With the last exponential of a chunk: factor of the head's sum.
            factor_o: Fp<F>,
            /// A finish offered in this cycle is accepted.
            finish_ready_o: bool,
            /// `recip_o` is the reciprocal of a finished head's sum, which it has replaced.
            finished_o: bool,
            /// Reciprocal of a finished head's sum, in binary32.
            recip_o: Fp<Binary32>,
            /// Pass 2: a scaled score offered in this cycle is accepted.
            weigh_ready_o: bool,
            /// `weight_o` is a weight.
            weight_valid_o: bool,
            /// Weight of a scaled score of pass 2.
            weight_o: Fp<F>,
            /// `LATE` = 1: a sum offered in this cycle is accepted.
            sum_ready_o: bool,
            /// `LATE` = 1: `context_o` is a normalised sum.
            context_valid_o: bool,
            /// `LATE` = 1: the normalised sum of the context.
            context_o: Fp<F>,
        }
        probes SoftmaxUnitProbe {
            /// Running maxima.
            maximum_q: [Fp<F>; HEADS],
            /// Running sums or their reciprocals.
            total_q: [Fp<Binary32>; HEADS],
            /// The chunk's sum so far.
            sum_q: Fp<Binary32>,
            /// An element's distance from the maximum.
            difference_q: Fp<F>,
        }
    }
}

/// Query heads whose state is kept.
const HEADS: usize = 8;

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

/// The chunk whose exponentials are computed.
#[derive(Clone, Copy)]
struct Chunk<F> {
    head: usize,
    /// It is the head's first.
    first: bool,
    /// Where it has raised the maximum first, if it has.
    peak: Option<usize>,
    /// The maximum before.
    old: Fp<F>,
}

/// What an element belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    /// A chunk of pass 1.
    Chunk,
    /// Pass 2.
    Weigh,
}

/// What accompanies an element through subtractor and exponential unit.
#[derive(Clone, Copy)]
struct Stage {
    pass: Option<Pass>,
    /// Pass 1: the element's index in its chunk.
    place: usize,
    /// Pass 1: the chunk is the head's first.
    first: bool,
    head: usize,
    /// The element is where the chunk raises the maximum: compute its factor; and whether that
    /// maximum is finite.
    rescale: Option<bool>,
}

/// The divider.
#[derive(Clone, Copy, PartialEq)]
enum Divider {
    Ready,
    /// Waits until no chunk of the head is on its way.
    Pending,
    /// Cycles left until the reciprocal is complete.
    Dividing(u8),
}

/// The cycle model of a softmax unit for 8 heads.
///
#[doc = contract!("rank/softmax_unit")]
#[derive(Clone)]
pub struct SoftmaxUnit<F, const LATE: bool> {
    maximum: [Fp<F>; HEADS],
    /// Running sums, or their reciprocals.
    total: [Fp<Binary32Flush>; HEADS],

    /// Index of the next score in its chunk, and the chunk that `scaled` belongs to.
    position: usize,
    head: usize,
    first: bool,
    scaled: Option<usize>,
    scaled_value: Fp<F>,

    largest: Fp<F>,
    peak: Option<usize>,
    chunk: [Fp<F>; CHUNK],

    /// The element whose turn it is, of the chunk whose exponentials are computed.
    active: Option<usize>,
    active_chunk: Chunk<F>,
    difference: Fp<F>,
    difference_stage: Stage,
    exp: Fp<F>,
    exp_stage: Stage,
    factor: Fp<F>,

    sum: Fp<Binary32Flush>,
    /// The head whose new sum is `product` + `sum`.
    combine: Option<usize>,
    product: Fp<Binary32Flush>,
    product_valid: bool,
    narrow: Fp<F>,
    narrow_valid: bool,

    divider: Divider,
    finish_head: usize,
    finished: bool,
}

/// Scores of a chunk: one of each logic bank.
const CHUNK: usize = 16;
const LAST: usize = CHUNK - 1;

/// Cycles from the start of a division to its result.
const DIVISION: u8 = Binary32::MAN_BITS as u8 + 2;

impl<F: Format, const LATE: bool> Unit for SoftmaxUnit<F, LATE> {
    const MODULE: &'static str = "softmax_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &{
        let [exp_bits, man_bits, subnormals] = F::PARAMETERS;
        [exp_bits, man_bits, subnormals, ("LATE", LATE as i64), ("HEADS", HEADS as i64)]
    };
    type In = SoftmaxUnitIn<F>;
    type Out = SoftmaxUnitOut<F>;
    type Probe = SoftmaxUnitProbe<F>;

    fn variant() -> String {
        match (F::LABEL, LATE) {
            (label, false) => label.to_owned(),
            ("", true) => "late".to_owned(),
            (label, true) => format!("{label}_late"),
        }
    }
}

impl<F: Format, const LATE: bool> SoftmaxUnit<F, LATE> {
    /// Scores of a chunk.
    pub const CHUNK: usize = CHUNK;
    /// Query heads whose state is kept.
    pub const HEADS: usize = HEADS;
    /// Cycles from a score to its scaled score.
    pub const SCALE_LATENCY: u64 = 1;
    /// Cycles from the last score of a chunk to the head's maximum.
    pub const MAX_LATENCY: u64 = 2;
    /// Cycles from the last score of a chunk to its first exponential; the others follow.
    pub const EXP_LATENCY: u64 = 4;
    /// Cycles from the last score of a chunk to the first in which the head's sum is complete and a
    /// division may start.
    pub const SCORE_LATENCY: u64 = 21;
    /// Cycles from the start of a division to `finished_o`; one more if a chunk's sum is due in the
    /// cycle before.
    pub const DIVISION_LATENCY: u64 = DIVISION as u64 + 1;
    /// Cycles from a finish to `finished_o` if no chunk of the head is in flight; as above.
    pub const FINISH_LATENCY: u64 = 1 + Self::DIVISION_LATENCY;
    /// Cycles from an element of pass 2 to its weight.
    pub const WEIGH_LATENCY: u64 = if LATE { 2 } else { 4 };
    /// Cycles from a sum of the context to its normalised value.
    pub const CONTEXT_LATENCY: u64 = 2;

    const LOWEST: Fp<F> = Fp::infinity(true);
    const ONE: Fp<F> = Fp::from_bits((F::BIAS as u32) << F::MAN_BITS);

    /// No register but those that only take inputs will change without a valid input.
    fn is_idle(&self) -> bool {
        self.scaled.is_none()
            && self.active.is_none()
            && self.difference_stage.pass.is_none()
            && self.exp_stage.pass.is_none()
            && self.combine.is_none()
            && !self.product_valid
            && !self.narrow_valid
            && self.divider == Divider::Ready
            && !self.finished
    }

    /// The chunk whose last exponential stands in `exp`.
    fn chunk_is_last(&self) -> bool {
        self.exp_stage.pass == Some(Pass::Chunk) && self.exp_stage.place == LAST
    }

    /// A chunk of the head that is to be finished is on its way.
    fn on_its_way(&self) -> bool {
        let head = self.finish_head;
        let of_chunk = |stage: &Stage| stage.pass == Some(Pass::Chunk) && stage.head == head;
        self.head == head && (self.position != 0 || self.scaled.is_some())
            || self.active.is_some() && self.active_chunk.head == head
            || of_chunk(&self.difference_stage)
            || of_chunk(&self.exp_stage)
            || self.combine == Some(head)
    }

    /// Divider, binary32 adder and multiplier, rounding: what lies behind the exponentials.
    #[inline]
    fn step_sums(&mut self, input: &SoftmaxUnitIn<F>) {
        let Stage { pass, place, first, head, .. } = self.exp_stage;
        let of_chunk = pass == Some(Pass::Chunk);
        let chunk_is_last = self.chunk_is_last();

        if self.product_valid {
            self.narrow = self.product.narrow();
        }
        self.narrow_valid = self.product_valid;

        // The adder's two uses come before the multiplier writes `product`, the heads' sums are
        // written behind the multiplier.
        let combined = self.combine.map(|head| (head, self.product + self.sum));
        if of_chunk {
            let element = self.exp.widen();
            self.sum = if place == 0 { element } else { element + self.sum };
        }

        self.product_valid =
            if LATE { input.sum_valid_i && !chunk_is_last } else { pass == Some(Pass::Weigh) };
        if chunk_is_last {
            let total = if first { Fp::ZERO } else { self.total[head] };
            self.product = total * self.factor.widen();
        } else if self.product_valid {
            self.product = if LATE {
                let sum = Fp::from_bits(input.sum_i.to_bits());
                self.total[input.sum_head_i.get() as usize] * sum
            } else {
                self.total[head] * self.exp.widen()
            };
        }

        self.finished = false;
        match self.divider {
            Divider::Ready if input.finish_i => {
                self.divider = Divider::Pending;
                self.finish_head = input.finish_head_i.get() as usize;
            }
            Divider::Pending if !self.on_its_way() => {
                self.divider = Divider::Dividing(DIVISION - 1);
            }
            Divider::Dividing(0) if self.combine.is_none() => {
                let sum = &mut self.total[self.finish_head];
                *sum = sum.recip();
                self.divider = Divider::Ready;
                self.finished = true;
            }
            Divider::Dividing(cycles @ 1..) => self.divider = Divider::Dividing(cycles - 1),
            _ => {}
        }
        self.combine = chunk_is_last.then_some(head);
        if let Some((head, sum)) = combined {
            self.total[head] = sum;
        }
    }

    /// The exponential unit.
    #[inline]
    fn step_exp(&mut self) {
        let stage = self.difference_stage;
        self.exp_stage = stage;
        if stage.pass.is_none() {
            return;
        }
        let exp = self.difference.exp();
        match stage.rescale {
            Some(finite) => {
                self.factor = exp;
                self.exp = if finite { Self::ONE } else { Fp::NAN };
            }
            None => {
                self.exp = exp;
                if stage.pass == Some(Pass::Chunk) && stage.place == 0 {
                    self.factor = Self::ONE;
                }
            }
        }
    }

    /// The subtractor.
    #[inline]
    fn step_difference(&mut self, input: &SoftmaxUnitIn<F>) {
        let chunk = self.active_chunk;
        let (pass, place, head, minuend) = match self.active {
            Some(place) => (Pass::Chunk, place, chunk.head, self.chunk[place]),
            None if input.weigh_valid_i => {
                (Pass::Weigh, 0, input.weigh_head_i.get() as usize, input.weigh_i)
            }
            None => {
                self.difference_stage.pass = None;
                return;
            }
        };
        let maximum = self.maximum[head];
        let rescales = pass == Pass::Chunk && chunk.peak == Some(place);
        let rescale = rescales.then(|| maximum.to_bits() & F::INFINITY != F::INFINITY);
        let minuend = if rescales { chunk.old } else { minuend };

        // -infinity - -infinity would be NaN.
        let lowest = minuend == Self::LOWEST;
        self.difference = if lowest { Self::LOWEST } else { minuend + maximum.negated() };
        self.difference_stage =
            Stage { pass: Some(pass), place, first: chunk.first, head, rescale };
        self.active = self.active.filter(|place| *place < LAST).map(|place| place + 1);
    }

    /// The maximum, and the scores that wait for it.
    #[inline]
    fn step_maximum(&mut self) {
        let Some(place) = self.scaled else { return };
        let old = if self.first { Self::LOWEST } else { self.maximum[self.head] };
        let above = if place == 0 { old } else { self.largest };
        self.largest = above.max(self.scaled_value);
        if self.largest != above {
            self.peak = Some(place);
        } else if place == 0 {
            self.peak = None;
        }
        self.chunk[place] = self.scaled_value;
        if place == LAST {
            self.maximum[self.head] = self.largest;
            self.active = Some(0);
            self.active_chunk = Chunk { head: self.head, first: self.first, peak: self.peak, old };
        }
    }

    /// The multiplier of the scores.
    #[inline]
    fn step_scale(&mut self, input: &SoftmaxUnitIn<F>) {
        self.scaled = input.score_valid_i.then_some(self.position);
        if !input.score_valid_i {
            return;
        }
        if self.position == 0 {
            self.head = input.head_i.get() as usize;
            self.first = input.first_i;
        }
        self.position = (self.position + 1) % CHUNK;
        self.scaled_value = if input.mask_i { Self::LOWEST } else { input.score_i * input.scale_i };
    }
}

impl<F: Format, const LATE: bool> Model for SoftmaxUnit<F, LATE> {
    fn new() -> Self {
        let stage = Stage { pass: None, place: 0, first: false, head: 0, rescale: None };
        Self {
            maximum: [Fp::ZERO; HEADS],
            total: [Fp::ZERO; HEADS],
            position: 0,
            head: 0,
            first: false,
            scaled: None,
            scaled_value: Fp::ZERO,
            largest: Fp::ZERO,
            peak: None,
            chunk: [Fp::ZERO; CHUNK],
            active: None,
            active_chunk: Chunk { head: 0, first: false, peak: None, old: Fp::ZERO },
            difference: Fp::ZERO,
            difference_stage: stage,
            exp: Fp::ZERO,
            exp_stage: stage,
            factor: Fp::ZERO,
            sum: Fp::ZERO,
            combine: None,
            product: Fp::ZERO,
            product_valid: false,
            narrow: Fp::ZERO,
            narrow_valid: false,
            divider: Divider::Ready,
            finish_head: 0,
            finished: false,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        SoftmaxUnitProbe {
            maximum_q: self.maximum,
            total_q: self.total.map(|total| Fp::from_bits(total.to_bits())),
            sum_q: Fp::from_bits(self.sum.to_bits()),
            difference_q: self.difference,
            ..Default::default()
        }
    }

    #[inline]
    fn step(&mut self, input: &Self::In) -> Self::Out {
        let exp_pass = self.exp_stage.pass;
        let output = SoftmaxUnitOut {
            scaled_valid_o: self.scaled.is_some(),
            scaled_o: self.scaled_value,
            max_valid_o: self.active == Some(0),
            max_o: self.largest,
            exp_valid_o: exp_pass == Some(Pass::Chunk),
            exp_o: self.exp,
            factor_o: self.factor,
            finish_ready_o: self.divider == Divider::Ready,
            finished_o: self.finished,
            recip_o: Fp::from_bits(self.total[self.finish_head].to_bits()),
            weigh_ready_o: self.active.is_none(),
            weight_valid_o: if LATE { exp_pass == Some(Pass::Weigh) } else { self.narrow_valid },
            weight_o: if LATE { self.exp } else { self.narrow },
            sum_ready_o: LATE && !self.chunk_is_last(),
            context_valid_o: LATE && self.narrow_valid,
            context_o: if LATE { self.narrow } else { Fp::ZERO },
            ..Default::default()
        };

        // Each step reads what those behind it are about to write, so the last comes first.
        let inputs = input.score_valid_i | input.finish_i | input.weigh_valid_i | input.sum_valid_i;
        if inputs || !self.is_idle() {
            self.step_sums(input);
            self.step_exp();
            self.step_difference(input);
            self.step_maximum();
            self.step_scale(input);
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary16;
    use half::f16;

    type Early = SoftmaxUnit<Binary16, false>;
    type Late = SoftmaxUnit<Binary16, true>;

    fn number(x: f32) -> Fp<Binary16> {
        f16::from_f32(x).into()
    }

    fn score(x: f32) -> SoftmaxUnitIn<Binary16> {
        SoftmaxUnitIn {
            score_valid_i: true,
            score_i: number(x),
            scale_i: number(0.5),
            head_i: U::new(3),
            first_i: true,
            ..Default::default()
        }
    }

    fn idle() -> SoftmaxUnitIn<Binary16> {
        SoftmaxUnitIn::default()
    }

    /// Cycles until `done`, that of `input` being the first.
    fn cycles<M: Model<In = SoftmaxUnitIn<Binary16>, Out = SoftmaxUnitOut<Binary16>>>(
        unit: &mut M,
        input: SoftmaxUnitIn<Binary16>,
        done: impl Fn(&M::Out) -> bool,
    ) -> u64 {
        let inputs = std::iter::once(input).chain(std::iter::repeat_n(idle(), 100));
        inputs.map(|input| unit.step(&input)).take_while(|output| !done(output)).count() as u64
    }

    /// A unit that has taken a chunk but for its last score: 0, 1, 2, ...
    fn almost_a_chunk<const LATE: bool>() -> SoftmaxUnit<Binary16, LATE> {
        let mut unit = SoftmaxUnit::new();
        for i in 0..LAST {
            unit.step(&score(i as f32));
        }
        unit
    }

    #[test]
    fn latencies_of_pass_1_are_the_contracts() {
        let unit = almost_a_chunk::<false>();
        let last = score(LAST as f32);
        assert_eq!(cycles(&mut Early::new(), last, |o| o.scaled_valid_o), Early::SCALE_LATENCY);
        assert_eq!(cycles(&mut unit.clone(), last, |o| o.max_valid_o), Early::MAX_LATENCY);
        assert_eq!(cycles(&mut unit.clone(), last, |o| o.exp_valid_o), Early::EXP_LATENCY);
        // A finish with the last score waits for the chunk.
        let finish = SoftmaxUnitIn { finish_i: true, finish_head_i: U::new(3), ..last };
        let latency = Early::SCORE_LATENCY + Early::DIVISION_LATENCY;
        assert_eq!(cycles(&mut unit.clone(), finish, |o| o.finished_o), latency);
        // That of another head does not, but for the cycle in which the chunk's sum is written.
        let other = SoftmaxUnitIn { finish_head_i: U::new(4), ..finish };
        assert_eq!(cycles(&mut unit.clone(), other, |o| o.finished_o), Early::FINISH_LATENCY);
    }

    #[test]
    fn a_chunks_sum_delays_the_reciprocal_by_a_cycle() {
        for (begin, delay) in [(6, 0), (7, 1), (8, 0)] {
            let mut unit = almost_a_chunk::<false>();
            // The sum is written SCORE_LATENCY - 1 cycles after the last score, and the reciprocal
            // FINISH_LATENCY - 1 cycles after the finish.
            let finish = SoftmaxUnitIn { finish_i: true, ..idle() };
            assert!(unit.step(&finish).finish_ready_o);
            for _ in 1..begin - 1 {
                unit.step(&idle());
            }
            let cycles = begin - 1 + cycles(&mut unit, score(0.0), |o| o.finished_o);
            assert_eq!(cycles, Early::FINISH_LATENCY + delay, "{begin}");
        }
    }

    #[test]
    fn latencies_of_pass_2_are_the_contracts() {
        let weigh = SoftmaxUnitIn { weigh_valid_i: true, ..idle() };
        let latency = cycles(&mut Early::new(), weigh, |o| o.weight_valid_o);
        assert_eq!(latency, Early::WEIGH_LATENCY);
        let latency = cycles(&mut Late::new(), weigh, |o| o.weight_valid_o);
        assert_eq!(latency, Late::WEIGH_LATENCY);
        let sum = SoftmaxUnitIn { sum_valid_i: true, ..idle() };
        let latency = cycles(&mut Late::new(), sum, |o| o.context_valid_o);
        assert_eq!(latency, Late::CONTEXT_LATENCY);
    }

    #[test]
    fn weights_are_exponentials_over_their_sum() {
        let mut unit = almost_a_chunk::<false>();
        let last = SoftmaxUnitIn { finish_i: true, finish_head_i: U::new(3), ..score(15.0) };
        cycles(&mut unit, last, |o| o.finished_o);
        let weigh = SoftmaxUnitIn {
            weigh_valid_i: true,
            weigh_i: number(7.0),
            weigh_head_i: U::new(3),
            ..idle()
        };
        let mut output = unit.step(&weigh);
        for _ in 0..Early::WEIGH_LATENCY {
            output = unit.step(&idle());
        }
        assert!(output.weight_valid_o);
        let sum: f32 = (0..16).map(|i| (i as f32 / 2.0 - 7.5).exp()).sum();
        let weight = f16::from(output.weight_o).to_f32();
        assert!((weight - (-0.5f32).exp() / sum).abs() < 1e-3, "{weight}");
    }
}
