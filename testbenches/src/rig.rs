// SPDX-License-Identifier: MIT
//! A unit on its bench, whatever unit it is: what runs benches is compiled once, and not for each of them.

use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, points::Point};
use crate::lockstep::Lockstep;
use crate::rtl::Window;
use crate::watch::Waveforms;
use pimlico_ports::{Bundle, InputHistory, Instances, Mismatch};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use std::any::Any;
use std::fmt::Debug;
use std::io;

/// Random inputs of an episode, which shrink.
pub(crate) type Draw = Box<dyn ValueTree<Value = Inputs>>;

/// A unit on its bench.
pub(crate) trait Rig {
    /// Name of the unit.
    fn name(&self) -> String;

    /// Declares what a run is to reach.
    fn plan(&self, bins: &mut Bins);

    /// Draws an episode.
    fn draw(&self, runner: &mut TestRunner) -> Draw;

    /// Resets model and RTL. This and the other calls that want the RTL panic if it cannot be made.
    fn reset(&mut self);

    /// Runs an episode from the reset, model against RTL.
    fn compare(&mut self, inputs: &Inputs) -> Result<(), Box<Mismatch>>;

    /// Runs an episode of the model alone, which it resets.
    fn model(&mut self, inputs: &Inputs);

    /// What the oracle says of the episode that has run: how many values it has checked.
    fn judge(&self, inputs: &Inputs) -> Result<u64, OracleError>;

    /// Marks what the episode that has run has reached.
    fn cover(&self, inputs: &Inputs, bins: &mut Bins);

    /// Has the waveforms of the episode that is compared next written. Nothing has been compared before.
    fn watch(&mut self, files: &Waveforms, window: Window, about: &str) -> io::Result<()>;

    /// Finishes the waveforms.
    fn finish(&mut self) -> io::Result<()>;

    /// What was reached in the RTL; see [`Lockstep::coverage`].
    fn coverage(&mut self) -> io::Result<Vec<Point>>;
}

/// Inputs of an episode, a cycle each.
#[derive(Debug)]
pub(crate) struct Inputs(Box<dyn Cycles>);

impl Inputs {
    /// Those of a unit with ports `B`.
    fn of<B: Bundle>(cycles: Vec<B>) -> Self {
        Self(Box::new(cycles))
    }

    fn ports<B: Bundle>(&self) -> &[B] {
        let cycles: &dyn Any = &*self.0;
        cycles.downcast_ref::<Vec<B>>().expect("inputs that this rig has drawn")
    }

    /// How many cycles there are.
    pub fn len(&self) -> usize {
        self.0.count()
    }

    /// Leaves away what is behind so many cycles.
    pub fn truncate(&mut self, cycles: usize) {
        self.0.cut(cycles);
    }

    /// The last of the first so many cycles, as a report shows them.
    pub fn history(&self, cycles: usize) -> InputHistory {
        self.0.history(cycles)
    }
}

trait Cycles: Any + Debug {
    fn count(&self) -> usize;
    fn cut(&mut self, cycles: usize);
    fn history(&self, cycles: usize) -> InputHistory;
}

impl<B: Bundle> Cycles for Vec<B> {
    fn count(&self) -> usize {
        self.len()
    }

    fn cut(&mut self, cycles: usize) {
        self.truncate(cycles);
    }

    fn history(&self, cycles: usize) -> InputHistory {
        InputHistory::of(0, self.iter().take(cycles))
    }
}

/// Unit `M` on its bench.
pub(crate) struct On<M: Bench> {
    seed: u64,
    /// Made when they are first wanted.
    lockstep: Option<Lockstep<M>>,
    model: Option<M>,
    /// Of the episode that has run.
    outputs: Vec<M::Out>,
}

impl<M: Bench> On<M> {
    /// With the registers of the RTL as this seed has them.
    pub fn new(seed: u64) -> Self {
        Self { seed, lockstep: None, model: None, outputs: Vec::new() }
    }

    fn lockstep(&mut self) -> &mut Lockstep<M> {
        self.lockstep.get_or_insert_with(|| Lockstep::new(1, self.seed))
    }
}

impl<M: Bench> Rig for On<M> {
    fn name(&self) -> String {
        M::name()
    }

    fn plan(&self, bins: &mut Bins) {
        M::plan(bins);
    }

    fn draw(&self, runner: &mut TestRunner) -> Draw {
        let tree = M::episodes().prop_map(Inputs::of).new_tree(runner);
        Box::new(tree.expect("the strategy rejects nothing"))
    }

    fn reset(&mut self) {
        self.lockstep().reset();
    }

    fn compare(&mut self, inputs: &Inputs) -> Result<(), Box<Mismatch>> {
        let mut outputs = std::mem::take(&mut self.outputs);
        outputs.clear();
        let lockstep = self.lockstep();
        let differs = inputs.ports().iter().find_map(|input| {
            let mut output = [M::Out::default()];
            let step = lockstep.step(&[*input], &mut output);
            outputs.extend(output);
            step.err()
        });
        self.outputs = outputs;
        differs.map_or(Ok(()), Err)
    }

    fn model(&mut self, inputs: &Inputs) {
        let model = self.model.get_or_insert_with(M::new);
        model.reset();
        self.outputs.clear();
        self.outputs.extend(inputs.ports().iter().map(|input| model.step(input)));
    }

    fn judge(&self, inputs: &Inputs) -> Result<u64, OracleError> {
        M::oracle(inputs.ports(), &self.outputs)
    }

    fn cover(&self, inputs: &Inputs, bins: &mut Bins) {
        M::cover(inputs.ports(), &self.outputs, bins);
    }

    fn watch(&mut self, files: &Waveforms, window: Window, about: &str) -> io::Result<()> {
        self.lockstep().watch(0, files, window, about)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.lockstep.take().map_or(Ok(()), Lockstep::finish)
    }

    fn coverage(&mut self) -> io::Result<Vec<Point>> {
        self.lockstep().coverage()
    }
}
