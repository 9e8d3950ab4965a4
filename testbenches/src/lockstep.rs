// SPDX-License-Identifier: MIT
//! Model and RTL of a unit, step by step together.

use crate::rtl::{Rtl, Window};
use crate::watch::{Watch, Waveforms};
use pimlico_ports::wave::Cycle;
use pimlico_ports::{Bundle, InputHistory, Instances, Mismatch, Model, Open};
use std::io;

/// How many cycles of inputs are kept for a report.
const HISTORY: usize = InputHistory::CYCLES;

/// Instances of a unit, each as model and as RTL.
///
/// In every cycle every bit of every output port and every probed register of every instance is compared,
/// but for what [`Model::mark_open`] leaves open, and registers that RTL of a user's own does not have; the first difference is the error of
/// [`step`](Instances::step).
pub struct Lockstep<M: Model> {
    models: Vec<M>,
    rtl: Rtl<M>,
    /// Words of what a model puts out, and of what the contract leaves open of it.
    observed: Vec<u32>,
    open: Vec<u32>,
    /// Cycles since the reset.
    cycle: u64,
    /// The inputs of the last `HISTORY` cycles, a ring.
    history: Vec<M::In>,
    watch: Option<Watch>,
}

impl<M: Model> Lockstep<M> {
    /// `count` instances that have been reset; see [`Rtl::new`] for the seed.
    pub fn new(count: usize, seed: u64) -> Self {
        Self {
            models: (0..count).map(|_| M::new()).collect(),
            rtl: Rtl::new(count, seed),
            observed: vec![0; M::OBSERVED_WORDS],
            open: vec![0; M::OBSERVED_WORDS],
            cycle: 0,
            history: vec![M::In::default(); HISTORY * count],
            watch: None,
        }
    }

    /// Name of the unit.
    pub fn name(&self) -> String {
        M::name()
    }

    /// Writes the waveforms of instance `i`. Cycle 0 is the next. `about` stands in their headers: seed,
    /// and how to write them again.
    pub fn watch(
        &mut self,
        i: usize,
        files: &Waveforms,
        window: Window,
        about: &str,
    ) -> io::Result<()> {
        self.watch = Some(Watch::create(&M::info(), files, i, window, about)?);
        self.rtl.trace(i, &files.inside, window)
    }

    /// Finishes the waveforms.
    pub fn finish(mut self) -> io::Result<()> {
        let inside = self.rtl.finish_trace();
        self.watch.map_or(Ok(()), Watch::finish).and(inside)
    }

    /// What was reached in the RTL; see [`Rtl::coverage`].
    #[cfg(feature = "benches")]
    pub fn coverage(&self) -> io::Result<Vec<crate::coverage::points::Point>> {
        self.rtl.coverage()
    }

    /// Whether what instance `i` of the RTL shows is what the contract says.
    fn agrees(&self, i: usize) -> bool {
        let pairs = self.observed.iter().zip(self.rtl.observed(i)).zip(&self.open);
        pairs.into_iter().all(|((model, rtl), open)| (model ^ rtl) & !open == 0)
    }

    /// Describes the difference between model and RTL of instance `i`.
    #[cold]
    fn mismatch(&self, i: usize) -> Box<Mismatch> {
        let found = Mismatch::find::<M>(&self.observed, self.rtl.observed(i), &self.open);
        self.located(i, found.expect("called for a difference"))
    }

    /// Adds to a difference in this cycle of instance `i` where it is, and what led to it.
    fn located(&self, i: usize, found: Mismatch) -> Box<Mismatch> {
        let count = self.models.len();
        let first = self.cycle.saturating_sub(HISTORY as u64 - 1);
        let slots = (first..self.cycle + 1).map(|cycle| cycle as usize % HISTORY * count + i);
        let inputs: Vec<M::In> = slots.map(|slot| self.history[slot]).collect();
        let inputs = InputHistory::of(first, inputs.iter());
        Box::new(Mismatch { instance: i, cycle: self.cycle, inputs, ..found })
    }

    fn keep(&mut self, inputs: &[M::In]) {
        let count = self.models.len();
        let slot = self.cycle as usize % HISTORY * count;
        self.history[slot..slot + count].copy_from_slice(inputs);
    }

    /// Takes what model `i` shows: its probes, and what is open before its edge.
    fn observe(&mut self, i: usize) {
        self.models[i].mark_open(&mut Open::none::<M>(&mut self.open));
        if !self.rtl.has_probes() {
            self.open[M::Out::WORDS..].fill(u32::MAX);
        }
        self.models[i].probe().write(&mut self.observed[M::Out::WORDS..]);
    }

    /// Steps model `i` and writes its waveform, if it has one, with that of the RTL, which has been stepped.
    fn step_model(&mut self, i: usize, input: &M::In) -> M::Out {
        self.observe(i);
        let output = self.models[i].step(input);
        output.write(&mut self.observed[..M::Out::WORDS]);
        self.record(i, input);
        output
    }

    /// Writes the waveform of what instance `i` shows under `input`, if it has one.
    fn record(&mut self, i: usize, input: &M::In) {
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.instance == i) {
            let (inputs, open) = (&input.words(), &self.open);
            let [model, rtl] = [&self.observed, self.rtl.observed(i)].map(|observed| Cycle {
                inputs,
                observed,
                open,
            });
            watch.record(self.cycle, [model, rtl]);
        }
    }
}

impl<M: Model> Instances<M> for Lockstep<M> {
    fn reset(&mut self) {
        self.models.iter_mut().for_each(M::reset);
        self.rtl.reset();
        self.cycle = 0;
    }

    fn settle(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        self.keep(inputs);
        self.rtl.settle_all(inputs);
        for (i, input) in inputs.iter().enumerate() {
            self.observe(i);
            outputs[i] = self.models[i].settle(input);
            outputs[i].write(&mut self.observed[..M::Out::WORDS]);
            if !self.agrees(i) {
                self.record(i, input); // no step follows
                self.rtl.dump(i, 0);
                return Err(self.mismatch(i));
            }
        }
        Ok(())
    }

    fn step(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        self.keep(inputs);
        if let Err(failed) = self.rtl.step_all(inputs) {
            let i = failed.instance;
            self.step_model(i, &inputs[i]); // for the waveform
            return Err(self.located(i, *failed));
        }
        for (i, input) in inputs.iter().enumerate() {
            outputs[i] = self.step_model(i, input);
            if !self.agrees(i) {
                return Err(self.mismatch(i));
            }
        }
        self.cycle += 1;
        Ok(())
    }
}
