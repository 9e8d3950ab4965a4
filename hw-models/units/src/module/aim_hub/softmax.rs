// SPDX-License-Identifier: MIT
//! Softmax of a head in the GPR, in place.

use super::{CHANNELS, ELEMENTS, Word, place_of};
use crate::arith::{Binary16, Fp};
use crate::gear::Gear2;
use crate::rank::{SoftmaxUnit, SoftmaxUnitIn, SoftmaxUnitOut};
use pimlico_ports::{Model, U};
use std::array::from_fn;

/// Elements of a group, and groups of a word.
const LANES: usize = 2;
const GROUPS: usize = ELEMENTS / LANES;

type Unit = SoftmaxUnit<Binary16, false, Gear2>;

/// A head's scores.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Job {
    /// The first word in the GPR.
    pub word: u32,
    pub tokens: u32,
    pub head: U<3>,
}

/// What is done with them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The counters are not loaded.
    Rest,
    Scale,
    /// A finish is offered.
    Finish,
    /// It was accepted.
    Await,
    Weigh,
}

/// A word whose groups are given.
#[derive(Clone, Copy)]
struct Given {
    word: Word,
    group: usize,
}

/// What softmax does to the GPR in an EPU cycle: memory and line of a word that is read; of one that is written, and it.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    pub reads: Option<(usize, u16)>,
    pub writes: Option<(usize, u16, Word)>,
}

/// The softmax unit, and what controls it.
#[derive(Clone)]
pub(super) struct Softmax {
    pub busy: bool,
    job: Job,
    step: Step,
    /// The first word of a step is read in this EPU cycle; it was read in the last one.
    starts: bool,
    loads: bool,
    given: Option<Given>,
    /// Words of the step that were given before this one, and written; groups of the next that came.
    words_given: u32,
    words_written: u32,
    groups: usize,
    collected: Word,
    unit: Unit,
}

impl Softmax {
    pub fn new() -> Self {
        Self {
            busy: false,
            job: Job::default(),
            step: Step::Rest,
            starts: false,
            loads: false,
            given: None,
            words_given: 0,
            words_written: 0,
            groups: 0,
            collected: Word::default(),
            unit: Unit::new(),
        }
    }

    fn words(&self) -> u32 {
        self.job.tokens.div_ceil(ELEMENTS as u32)
    }

    /// What the unit is given.
    fn unit_in(&self, scale: u16) -> SoftmaxUnitIn<Binary16, Gear2> {
        let mut input = SoftmaxUnitIn {
            scale_i: Fp::from_bits(scale.into()),
            finish_i: self.step == Step::Finish,
            finish_head_i: self.job.head,
            ..Default::default()
        };
        let Some(Given { word, group }) = self.given else { return input };
        let elements = from_fn(|lane| Fp::from_bits(word[LANES * group + lane].into()));
        if self.step == Step::Scale {
            let number = |lane: usize| self.words_given as usize * ELEMENTS + LANES * group + lane;
            input.score_valid_i = true;
            input.score_i = elements;
            input.mask_i = from_fn(|lane| number(lane) >= self.job.tokens as usize);
            input.head_i = self.job.head;
            input.first_i = self.words_given == 0;
        } else {
            input.weigh_valid_i = true;
            input.weigh_i = elements;
            input.weigh_head_i = self.job.head;
        }
        input
    }

    fn unit_out(&self) -> SoftmaxUnitOut<Binary16, Gear2> {
        self.unit.settle(&SoftmaxUnitIn::default())
    }

    /// The group that is given and accepted in this EPU cycle.
    fn accepted(&self, output: &SoftmaxUnitOut<Binary16, Gear2>) -> Option<usize> {
        let Given { group, .. } = self.given?;
        (self.step == Step::Scale || output.weigh_ready_o).then_some(group)
    }

    fn is_last_word(&self) -> bool {
        self.words_given + 1 == self.words()
    }

    /// The group that comes out.
    fn made(&self, output: &SoftmaxUnitOut<Binary16, Gear2>) -> Option<[u16; LANES]> {
        let made = match self.step {
            Step::Scale if output.scaled_valid_o => output.scaled_o,
            Step::Weigh if output.weight_valid_o => output.weight_o,
            _ => return None,
        };
        Some(made.map(|element| element.to_bits() as u16))
    }

    /// The word with the group that comes out.
    fn with(&self, made: [u16; LANES]) -> Word {
        let mut word = self.collected;
        word[LANES * self.groups..][..LANES].copy_from_slice(&made);
        word
    }

    /// What is done to the GPR in this EPU cycle.
    pub fn access(&self) -> Access {
        let output = self.unit_out();
        let reads_next = self.accepted(&output) == Some(GROUPS - 2) && !self.is_last_word();
        let next = self.job.word + self.words_given + u32::from(!self.starts);
        let made = self.made(&output).filter(|_| self.groups + 1 == GROUPS);
        let (memory, line) = place_of(self.job.word + self.words_written);
        Access {
            reads: (self.starts || reads_next).then(|| place_of(next)),
            writes: made.map(|made| (memory, line, self.with(made))),
        }
    }

    /// The end of an EPU cycle, with what the GPR gives.
    pub fn clock_epu(&mut self, scale: u16, gpr: &[Word; CHANNELS]) {
        let input = self.unit_in(scale);
        let output = self.unit.step(&input);
        let accepted = self.accepted(&output);
        let ends_word = accepted == Some(GROUPS - 1);
        let loads_next = ends_word && !self.is_last_word();
        self.words_given += u32::from(ends_word);
        if self.loads || loads_next {
            let (memory, _) = place_of(self.job.word + self.words_given);
            self.given = Some(Given { word: gpr[memory], group: 0 });
        } else if ends_word {
            self.given = None;
        } else if let (Some(_), Some(given)) = (accepted, &mut self.given) {
            given.group += 1;
        }
        self.loads = self.starts;
        self.starts = false;
        if let Some(made) = self.made(&output) {
            self.collected = self.with(made);
            self.groups = (self.groups + 1) % GROUPS;
            self.words_written += u32::from(self.groups == 0);
        }
        let all_written = self.words_written == self.words() && self.groups == 0;
        match self.step {
            Step::Rest if self.busy => self.begin(Step::Scale),
            Step::Scale if all_written => self.step = Step::Finish,
            Step::Finish if output.finish_ready_o => self.step = Step::Await,
            Step::Await if output.finished_o => self.begin(Step::Weigh),
            Step::Weigh if all_written => (self.step, self.busy) = (Step::Rest, false),
            _ => {}
        }
    }

    /// A step begins with the next EPU cycle.
    fn begin(&mut self, step: Step) {
        (self.step, self.starts) = (step, true);
        (self.words_given, self.words_written, self.groups) = (0, 0, 0);
    }

    /// The end of a cycle in which a job is taken.
    pub fn take(&mut self, job: Job) {
        (self.busy, self.job) = (true, job);
    }
}
