// SPDX-License-Identifier: MIT
//! The softmax unit and the buffer of its scores.
//!
//! ```text
//!   scores ──▶ softmax unit ──▶ buffer
//!                 ▲    │           │
//!                 │    └──▶ weights│
//!                 └────────────────┘
//! ```

use super::back_end::BackEnd;
use pimlico_ports::{Instances, Mismatch, Models, U};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::gear::{Gear2, Gear4, Lanes8, Lanes16, Width};
use pimlico_units::lap::Walk;
use pimlico_units::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use std::any::Any;
use std::collections::VecDeque;

/// Scores that the unit takes as one chunk, and so the most lanes that it may have.
pub const CHUNK: usize = 16;

/// A unit: weights are normalised before they are used.
type Unit<G> = SoftmaxUnit<Binary16, false, G>;

/// Lanes of the hub's RTL.
pub const RTL_LANES: usize = 2;

/// Whether a softmax unit can have so many lanes: at most a word of the GPR, which is the chunk that has one maximum.
pub fn may_have_lanes(lanes: usize) -> bool {
    lanes.is_power_of_two() && (RTL_LANES..=CHUNK).contains(&lanes)
}

/// A unit with the lanes that an option asks for: of two and of four there is RTL. Whatever they are, the unit takes
/// scores in chunks of 16, so that they change no result.
pub enum SoftmaxUnits {
    /// Two.
    Two(Box<dyn Instances<Unit<Gear2>>>),
    /// Four.
    Four(Box<dyn Instances<Unit<Gear4>>>),
    /// Eight.
    Eight(Box<dyn Instances<Unit<Lanes8>>>),
    /// Sixteen.
    Sixteen(Box<dyn Instances<Unit<Lanes16>>>),
}

impl SoftmaxUnits {
    /// A unit of a back end.
    ///
    /// # Panics
    ///
    /// If there is none with so many lanes: see [`may_have_lanes`].
    pub fn new<B: BackEnd>(
        lanes: usize,
        cycle_ps: u64,
        back_end: &mut B,
    ) -> Result<Self, B::Error> {
        Ok(match lanes {
            2 => Self::Two(back_end.instances(1, cycle_ps)?),
            4 => Self::Four(back_end.instances(1, cycle_ps)?),
            8 => Self::Eight(back_end.instances(1, cycle_ps)?),
            16 => Self::Sixteen(back_end.instances(1, cycle_ps)?),
            _ => panic!("{lanes} lanes of a softmax unit"),
        })
    }

    /// Scores and weights of a cycle: places that follow each other.
    fn lanes(&self) -> usize {
        match self {
            Self::Two(_) => 2,
            Self::Four(_) => 4,
            Self::Eight(_) => 8,
            Self::Sixteen(_) => 16,
        }
    }

    /// Whether it is a model, which does not change where nothing moves.
    fn is_model(&self) -> bool {
        fn is_model<G: Width>(unit: &dyn Instances<Unit<G>>) -> bool {
            let unit: &dyn Any = unit;
            unit.is::<Models<Unit<G>>>()
        }
        match self {
            Self::Two(unit) => is_model(&**unit),
            Self::Four(unit) => is_model(&**unit),
            Self::Eight(unit) => is_model(&**unit),
            Self::Sixteen(unit) => is_model(&**unit),
        }
    }

    /// Goes over what of it is no number of the softmax, if it is a model.
    fn walk(&self, walk: &mut Walk<'_>) {
        fn of<G: Width>(unit: &dyn Instances<Unit<G>>, walk: &mut Walk<'_>) {
            let unit: &dyn Any = unit;
            match unit.downcast_ref::<Models<Unit<G>>>().and_then(Models::first) {
                Some(unit) => unit.walk(walk),
                None => walk.refuse_if(true),
            }
        }
        match self {
            Self::Two(unit) => of(&**unit, walk),
            Self::Four(unit) => of(&**unit, walk),
            Self::Eight(unit) => of(&**unit, walk),
            Self::Sixteen(unit) => of(&**unit, walk),
        }
    }

    fn step(&mut self, input: &Input) -> Result<Made, Box<Mismatch>> {
        match self {
            Self::Two(unit) => step(&mut **unit, input),
            Self::Four(unit) => step(&mut **unit, input),
            Self::Eight(unit) => step(&mut **unit, input),
            Self::Sixteen(unit) => step(&mut **unit, input),
        }
    }
}

/// Elements of all lanes that there can be, of which those of the unit count.
type Lanes = [u16; CHUNK];

/// What a unit of any width is given in a cycle.
#[derive(Default)]
struct Input {
    scale: Fp<Binary16>,
    /// Scores: of so many lanes, of a head, in its first chunk.
    scores: Option<(Lanes, usize, usize, bool)>,
    finish: Option<usize>,
    /// Scaled scores of a head.
    weigh: Option<(Lanes, usize)>,
}

/// What it makes in a cycle.
struct Made {
    scaled: Option<Lanes>,
    finish_ready: bool,
    finished: bool,
    weigh_ready: bool,
    weights: Option<Lanes>,
}

fn step<G: Width>(unit: &mut dyn Instances<Unit<G>>, given: &Input) -> Result<Made, Box<Mismatch>> {
    let numbers = |of: &Lanes| {
        pimlico_units::gear::lanes::<G, _>(|lane| Fp::<Binary16>::from_bits(of[lane].into()))
    };
    let mut input = SoftmaxUnitIn::<Binary16, G> { scale_i: given.scale, ..Default::default() };
    if let Some((scores, count, head, first)) = &given.scores {
        input.score_valid_i = true;
        input.score_i = numbers(scores);
        input.mask_i = pimlico_units::gear::lanes::<G, _>(|lane| lane >= *count);
        input.head_i = U::new(*head as u64);
        input.first_i = *first;
    }
    if let Some(head) = given.finish {
        input.finish_i = true;
        input.finish_head_i = U::new(head as u64);
    }
    if let Some((scaled, head)) = &given.weigh {
        input.weigh_valid_i = true;
        input.weigh_i = numbers(scaled);
        input.weigh_head_i = U::new(*head as u64);
    }
    let mut output = SoftmaxUnitOut::default();
    unit.step(std::slice::from_ref(&input), std::slice::from_mut(&mut output))?;
    let bits = |of: &G::Lanes<Fp<Binary16>>| {
        let of = of.as_ref();
        std::array::from_fn(|lane| of.get(lane).map_or(0, |element| element.to_bits() as u16))
    };
    Ok(Made {
        scaled: output.scaled_valid_o.then(|| bits(&output.scaled_o)),
        finish_ready: output.finish_ready_o,
        finished: output.finished_o,
        weigh_ready: output.weigh_ready_o,
        weights: output.weight_valid_o.then(|| bits(&output.weight_o)),
    })
}

/// Scores in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Query head.
    pub head: usize,
    /// They are in the first chunk of their head.
    pub first: bool,
    /// Place of the first.
    pub place: usize,
    /// How many there are, up to the lanes: the others have no token.
    pub count: usize,
}

/// Scores in the buffer that become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weigh {
    /// Place of the first.
    pub place: usize,
    /// Query head.
    pub head: usize,
}

/// What the unit is given in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// Scores are scaled.
    pub scores: Option<Scores>,
    /// A head's scores are complete.
    pub finish: Option<usize>,
    /// Scores become weights.
    pub weigh: Option<Weigh>,
}

/// What the softmax unit does in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighed {
    /// Scaled scores come out.
    pub scaled: bool,
    /// The finish is taken.
    pub finish_taken: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// The weigh is taken.
    pub weigh_taken: bool,
    /// Weights come out: of as many lanes as the unit has.
    pub weights: Option<[u16; CHUNK]>,
}

/// The softmax unit with its buffer.
pub struct Softmax {
    unit: SoftmaxUnits,
    is_model: bool,
    scale: Fp<Binary16>,
    buffer: Box<[u16]>,
    /// The scores that are being scaled: the first's place, and how many there are.
    scaling: VecDeque<(usize, usize)>,
    /// Clocks since it was given something.
    idle_clocks: u64,
}

/// Clocks without an input after which nothing moves in the unit: a finish takes longest, with its division.
const RESTS: u64 = 256;

impl Softmax {
    /// A unit that has been reset, with room for so many scores.
    pub fn new(unit: SoftmaxUnits, scores: usize) -> Self {
        Self {
            is_model: unit.is_model(),
            unit,
            scale: Fp::ZERO,
            buffer: vec![0; scores].into(),
            scaling: VecDeque::with_capacity(16),
            idle_clocks: 0,
        }
    }

    /// Steps the unit in every clock from here on.
    pub fn step_always(&mut self) {
        self.is_model = false;
    }

    /// Whether nothing moves in the unit.
    pub fn rests(&self) -> bool {
        self.is_model && self.idle_clocks >= RESTS
    }

    /// Goes over all of it but its data, for [laps](pimlico_units::lap).
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { unit, is_model, scale: _, buffer: _, scaling, idle_clocks } = self;
        walk.refuse_if(!*is_model);
        walk.still((*idle_clocks).min(RESTS));
        if *idle_clocks < RESTS {
            unit.walk(walk);
            walk.size(scaling.len());
            for (place, count) in scaling {
                walk.moves(place);
                walk.size(*count);
            }
        }
    }

    /// What is at some places.
    pub fn kept(&self, place: usize, count: usize) -> &[u16] {
        &self.buffer[place..][..count]
    }

    /// Puts something else than a score into the buffer: a partial sum.
    pub fn keep(&mut self, place: usize, bits: u16) {
        self.buffer[place] = bits;
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = Fp::from_bits(scale.into());
    }

    /// One cycle.
    ///
    /// # Panics
    ///
    /// If a place in the buffer does not exist.
    pub fn step(&mut self, given: &Given) -> Result<Weighed, Box<Mismatch>> {
        let is_idle = given.scores.is_none() && given.finish.is_none() && given.weigh.is_none();
        if is_idle && self.rests() {
            return Ok(Weighed::default());
        }
        self.idle_clocks = if is_idle { self.idle_clocks + 1 } else { 0 };
        let mut input = Input { scale: self.scale, finish: given.finish, ..Input::default() };
        let lanes = self.unit.lanes();
        let of = |kept: &[u16]| std::array::from_fn(|lane| kept.get(lane).copied().unwrap_or(0));
        if let Some(Scores { head, first, place, count }) = given.scores {
            input.scores = Some((of(self.kept(place, lanes)), count, head, first));
            self.scaling.push_back((place, count));
        }
        if let Some(weigh) = given.weigh {
            input.weigh = Some((of(self.kept(weigh.place, lanes)), weigh.head));
        }
        let made = self.unit.step(&input)?;
        if let Some(scaled) = made.scaled
            && let Some((place, count)) = self.scaling.pop_front()
        {
            self.buffer[place..][..count].copy_from_slice(&scaled[..count]);
        }
        Ok(Weighed {
            scaled: made.scaled.is_some(),
            finish_taken: given.finish.is_some() && made.finish_ready,
            finished: made.finished,
            weigh_taken: given.weigh.is_some() && made.weigh_ready,
            weights: made.weights,
        })
    }
}
