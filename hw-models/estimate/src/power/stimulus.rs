// SPDX-License-Identifier: MIT
//! What a unit does in a workload: its inputs clock by clock, and what its model puts out.

use pimlico_ports::{Bundle, Instances, Mismatch, Model, Open, PortInfo, Unit};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

/// What the device is doing.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Before the first all-bank RD: the host writes K, V and Q.
    Load,
    /// From the first all-bank RD of the score on.
    Score,
    /// From the first one of the context on, until all is still.
    Context,
    /// Nothing, the clock running.
    Idle,
}

impl Phase {
    /// All of them, in their order.
    pub const ALL: [Self; 4] = [Self::Load, Self::Score, Self::Context, Self::Idle];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["load", "score", "context", "idle"][self as usize]
    }
}

/// Clocks of the idle phase; before them as many in which what was under way leaves.
const IDLE_CLOCKS: usize = 64;

/// The inputs of a unit.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    /// Name of the unit.
    pub unit: String,
    /// The unit's clock in the device, in ps.
    pub clock_ps: u64,
    /// Clocks in each phase, recorded or not.
    pub clocks: [u64; Phase::ALL.len()],
    /// Of each recorded clock the phase.
    phases: Vec<Phase>,
    /// Of each the words of the inputs, as [`Bundle::write`] has them.
    words: Vec<u32>,
    /// Clocks that are recorded of a phase.
    most_clocks: usize,
}

impl Tape {
    /// An empty one for a unit; of each phase the first `most_clocks` clocks are recorded.
    pub fn new<U: Unit>(clock_ps: u64, most_clocks: usize) -> Self {
        Self { unit: U::name(), clock_ps, most_clocks, ..Self::default() }
    }

    /// Records a clock.
    pub fn record(&mut self, phase: Phase, inputs: &impl Bundle) {
        let clock = self.clocks[phase as usize];
        self.clocks[phase as usize] += 1;
        if clock < self.most_clocks as u64 {
            self.phases.push(phase);
            let from = self.words.len();
            self.words.resize(from + words_of(inputs), 0);
            inputs.write(&mut self.words[from..]);
        }
    }

    /// What a model makes of the inputs, with an idle phase behind them. Of each phase the last `window`
    /// of the recorded clocks are to be counted. The model's unit must have the inputs of the one that
    /// was recorded.
    pub fn replay<M: Model>(&self, window: usize) -> Stimulus {
        let mut model = M::new();
        let mut stimulus = Stimulus {
            unit: M::name(),
            inputs: Ports::of::<M::In>(),
            outputs: Ports::of::<M::Out>(),
            open: Ports::of::<M::Out>(),
            clock_ps: self.clock_ps,
            clocks: self.clocks,
            phases: Vec::new(),
        };
        let mut seen = [0; Phase::ALL.len()];
        let mut last = M::In::default();
        let mut open = vec![0; M::Out::WORDS + M::Probe::WORDS];
        let mut step = |phase: Option<Phase>, input: &M::In| {
            model.mark_open(&mut Open::none::<M>(&mut open));
            stimulus.open.push_words(&open[..M::Out::WORDS]);
            let output = model.step(input);
            stimulus.inputs.push(input);
            stimulus.outputs.push(&output);
            stimulus.phases.push(phase);
        };
        for (phase, words) in self.phases.iter().zip(self.words.chunks(M::In::WORDS.max(1))) {
            let recorded = self.clocks[*phase as usize].min(self.most_clocks as u64);
            seen[*phase as usize] += 1;
            let is_counted = recorded - seen[*phase as usize] < window as u64;
            last = M::In::read(words);
            step(is_counted.then_some(*phase), &last);
        }
        let idle = idle(&last);
        for clock in 0..2 * IDLE_CLOCKS {
            step((clock >= IDLE_CLOCKS).then_some(Phase::Idle), &idle);
        }
        stimulus
    }
}

fn words_of<B: Bundle>(_: &B) -> usize {
    B::WORDS
}

/// The same inputs, but that nothing is asked for: what is one bit wide is 0.
fn idle<B: Bundle>(inputs: &B) -> B {
    let mut words = vec![0; B::WORDS];
    inputs.write(&mut words);
    let mut word = 0;
    for port in B::PORTS {
        if port.width == 1 {
            words[word] = 0;
        }
        word += port.words();
    }
    B::read(&words)
}

/// Inputs and outputs of a unit, clock by clock.
#[derive(Clone, Debug)]
pub struct Stimulus {
    /// Name of the unit.
    pub unit: String,
    /// The inputs.
    pub inputs: Ports,
    /// What the model puts out.
    pub outputs: Ports,
    /// Of these the bits that the contract leaves open.
    pub open: Ports,
    /// The unit's clock in the device, in ps.
    pub clock_ps: u64,
    /// Clocks in each phase of the workload.
    pub clocks: [u64; Phase::ALL.len()],
    /// The phase for which each clock counts, if it does.
    pub phases: Vec<Option<Phase>>,
}

/// Values of ports, clock by clock.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The ports.
    pub ports: &'static [PortInfo],
    words_of_clock: usize,
    words: Vec<u32>,
}

impl Ports {
    fn of<B: Bundle>() -> Self {
        Self { ports: B::PORTS, words_of_clock: B::WORDS, words: Vec::new() }
    }

    fn push(&mut self, bundle: &impl Bundle) {
        let from = self.words.len();
        self.words.resize(from + self.words_of_clock, 0);
        bundle.write(&mut self.words[from..]);
    }

    fn push_words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    /// The words of a clock.
    pub fn clock(&self, clock: usize) -> &[u32] {
        &self.words[clock * self.words_of_clock..][..self.words_of_clock]
    }

    /// All words.
    pub fn words(&self) -> &[u32] {
        &self.words
    }
}

/// What is shared by all units that are recorded: the phase.
#[derive(Clone)]
pub struct Recorder {
    phase: Rc<Cell<Phase>>,
    tapes: Rc<RefCell<Vec<Rc<RefCell<Tape>>>>>,
    most_clocks: usize,
}

impl Recorder {
    /// Of each phase the first `most_clocks` clocks are recorded.
    pub fn new(most_clocks: usize) -> Self {
        let phase = Rc::new(Cell::new(Phase::Load));
        Self { phase, tapes: Rc::default(), most_clocks }
    }

    /// A track on which the cycles of a unit are recorded.
    pub fn track<U: Unit>(&self, clock_ps: u64) -> Track<U> {
        let tape = Rc::new(RefCell::new(Tape::new::<U>(clock_ps, self.most_clocks)));
        self.tapes.borrow_mut().push(tape.clone());
        let word = |name| {
            let port = U::In::PORTS.iter().position(|port| port.name == name)?;
            Some(U::In::PORTS[..port].iter().map(PortInfo::words).sum())
        };
        let leads = word("valid_i").zip(word("accumulate_i")).filter(|_| U::MODULE == "bank_pu");
        Track { tape, phase: self.phase.clone(), leads, unit: PhantomData }
    }

    /// Instances of which the first is recorded from here on.
    pub fn record<M: Model>(
        &self,
        instances: Box<dyn Instances<M>>,
        clock_ps: u64,
    ) -> Box<dyn Instances<M>> {
        Box::new(Recorded { instances, track: self.track(clock_ps) })
    }

    /// The recordings so far.
    pub fn tapes(&self) -> Vec<Tape> {
        self.tapes.borrow().iter().map(|tape| tape.borrow().clone()).collect()
    }
}

/// Where a unit is recorded.
pub struct Track<U> {
    tape: Rc<RefCell<Tape>>,
    phase: Rc<Cell<Phase>>,
    /// Bank PUs say what phase it is: the words of `valid_i` and `accumulate_i`.
    leads: Option<(usize, usize)>,
    unit: PhantomData<U>,
}

impl<U: Unit> Track<U> {
    /// Records a cycle.
    pub fn record(&mut self, input: &U::In) {
        if let Some((valid, accumulate)) = self.leads {
            let mut words = vec![0; U::In::WORDS];
            input.write(&mut words);
            if words[valid] != 0 {
                let is_context = words[accumulate] != 0;
                self.phase.set(if is_context { Phase::Context } else { Phase::Score });
            }
        }
        self.tape.borrow_mut().record(self.phase.get(), input);
    }
}

/// Instances of which the first is recorded.
struct Recorded<M: Model> {
    instances: Box<dyn Instances<M>>,
    track: Track<M>,
}

impl<M: Model> Instances<M> for Recorded<M> {
    fn reset(&mut self) {
        self.instances.reset();
    }

    fn settle(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        self.instances.settle(inputs, outputs)
    }

    fn step(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        if let Some(first) = inputs.first() {
            self.track.record(first);
        }
        self.instances.step(inputs, outputs)
    }
}
