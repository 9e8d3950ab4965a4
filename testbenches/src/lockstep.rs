// SPDX-License-Identifier: MIT
//! Model and RTL of a unit, step by step together.

use crate::rtl::{Verilated, Window};
use crate::watch::{Watch, Waveforms};
use pimlico_ports::wave::Cycle;
use pimlico_ports::{Bundle, InputHistory, Instances, Mismatch, Model, Open, UnitInfo, words_of};
use std::io;
use std::ops::Range;

/// How many cycles of inputs are kept for a report.
const HISTORY: usize = InputHistory::CYCLES;

/// Instances of a unit, each as model and as RTL.
///
/// In every cycle every bit of every output port and every probed register of every instance is compared,
/// but for what [`Model::mark_open`] leaves open, and registers that RTL of a user's own does not have; the first difference is the error of
/// [`step`](Instances::step).
pub struct Lockstep<M: Model> {
    models: Vec<M>,
    compared: Compared,
}

impl<M: Model> Lockstep<M> {
    /// `count` instances that have been reset; see [`Rtl::new`](crate::Rtl::new) for the seed.
    pub fn new(count: usize, seed: u64) -> Self {
        let models = (0..count).map(|_| M::new()).collect();
        Self { models, compared: Compared::new(&M::info(), count, seed) }
    }

    /// Name of the unit.
    pub fn name(&self) -> String {
        self.compared.rtl.unit().name.clone()
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
        self.compared.watch(i, files, window, about)
    }

    /// Finishes the waveforms.
    pub fn finish(self) -> io::Result<()> {
        self.compared.finish()
    }

    /// What was reached in the RTL; see [`Rtl::coverage`](crate::Rtl::coverage).
    #[cfg(feature = "benches")]
    pub fn coverage(&self) -> io::Result<Vec<crate::coverage::points::Point>> {
        self.compared.rtl.coverage()
    }

    /// Takes what model `i` shows before its edge: its probes, and what is open.
    fn observe(&mut self, i: usize) {
        let (model, compared) = (&self.models[i], &mut self.compared);
        model.mark_open(&mut Open::none::<M>(&mut compared.open));
        compared.leave_open_what_is_missing();
        model.probe().write(&mut compared.observed[M::Out::WORDS..]);
    }

    /// Steps model `i` and writes its waveform, if it has one, with that of the RTL, which has been stepped.
    fn step_model(&mut self, i: usize, input: &M::In) -> M::Out {
        self.observe(i);
        let output = self.models[i].step(input);
        output.write(&mut self.compared.observed[..M::Out::WORDS]);
        self.compared.record(i);
        output
    }
}

impl<M: Model> Instances<M> for Lockstep<M> {
    fn reset(&mut self) {
        self.models.iter_mut().for_each(M::reset);
        self.compared.reset();
    }

    fn settle(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        for (i, input) in inputs.iter().enumerate() {
            input.write(self.compared.inputs(i));
            self.compared.settle(i);
        }
        for (i, input) in inputs.iter().enumerate() {
            self.observe(i);
            outputs[i] = self.models[i].settle(input);
            outputs[i].write(&mut self.compared.observed[..M::Out::WORDS]);
            self.compared.check_settled(i)?;
        }
        Ok(())
    }

    fn step(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        for (i, input) in inputs.iter().enumerate() {
            input.write(self.compared.inputs(i));
            if let Err(failed) = self.compared.step(i) {
                self.step_model(i, input); // for the waveform
                return Err(failed);
            }
        }
        for (i, input) in inputs.iter().enumerate() {
            outputs[i] = self.step_model(i, input);
            self.compared.check(i)?;
        }
        self.compared.count();
        Ok(())
    }
}

/// The RTL of instances, and the comparison of what a model shows with it, by the words of ports: compiled once, and not for
/// each unit.
struct Compared {
    rtl: Verilated,
    instances: usize,
    /// Words of what a model puts out and of its probes behind them, and of what the contract leaves open of both.
    observed: Vec<u32>,
    open: Vec<u32>,
    /// Cycles since the reset.
    cycle: u64,
    /// Words of the inputs of the last `HISTORY` cycles, a ring: in each those of all instances.
    history: Vec<u32>,
    watch: Option<Watch>,
}

impl Compared {
    fn new(unit: &UnitInfo, instances: usize, seed: u64) -> Self {
        let observed = words_of(unit.outputs) + words_of(unit.probes);
        Self {
            rtl: Verilated::new(unit, instances, seed),
            instances,
            observed: vec![0; observed],
            open: vec![0; observed],
            cycle: 0,
            history: vec![0; HISTORY * instances * words_of(unit.inputs)],
            watch: None,
        }
    }

    fn watch(
        &mut self,
        i: usize,
        files: &Waveforms,
        window: Window,
        about: &str,
    ) -> io::Result<()> {
        self.watch = Some(Watch::create(self.rtl.unit(), files, i, window, about)?);
        self.rtl.trace(i, &files.inside, window)
    }

    fn finish(mut self) -> io::Result<()> {
        let inside = self.rtl.finish_trace();
        self.watch.map_or(Ok(()), Watch::finish).and(inside)
    }

    fn reset(&mut self) {
        self.rtl.reset();
        self.cycle = 0;
    }

    /// Where the inputs of instance `i` in a cycle that is kept are in the ring.
    fn kept(&self, cycle: u64, i: usize) -> Range<usize> {
        let words = words_of(self.rtl.unit().inputs);
        let from = (cycle as usize % HISTORY * self.instances + i) * words;
        from..from + words
    }

    /// The inputs of instance `i` in this cycle.
    fn inputs(&mut self, i: usize) -> &mut [u32] {
        let kept = self.kept(self.cycle, i);
        &mut self.history[kept]
    }

    /// Settles the RTL of instance `i` under its inputs.
    fn settle(&mut self, i: usize) {
        let kept = self.kept(self.cycle, i);
        self.rtl.settle(i, &self.history[kept]);
    }

    /// Steps the RTL of instance `i` under its inputs. An assertion that fails is an error.
    fn step(&mut self, i: usize) -> Result<(), Box<Mismatch>> {
        let kept = self.kept(self.cycle, i);
        let stepped = self.rtl.step(i, &self.history[kept]);
        stepped.map_err(|failed| self.located(i, *failed))
    }

    /// All instances have done a cycle, and none differs.
    fn count(&mut self) {
        self.rtl.count();
        self.cycle += 1;
    }

    /// Registers that RTL of a user's own does not have.
    fn leave_open_what_is_missing(&mut self) {
        if !self.rtl.has_probes() {
            let outputs = words_of(self.rtl.unit().outputs);
            self.open[outputs..].fill(u32::MAX);
        }
    }

    /// Writes the waveform of what instance `i` shows, if it has one.
    fn record(&mut self, i: usize) {
        let kept = self.kept(self.cycle, i);
        if let Some(watch) = self.watch.as_mut().filter(|watch| watch.instance == i) {
            let (inputs, open) = (&self.history[kept], &self.open);
            let [model, rtl] = [&self.observed, self.rtl.observed(i)].map(|observed| Cycle {
                inputs,
                observed,
                open,
            });
            watch.record(self.cycle, [model, rtl]);
        }
    }

    /// Whether what instance `i` of the RTL shows is what the contract says.
    fn agrees(&self, i: usize) -> bool {
        let pairs = self.observed.iter().zip(self.rtl.observed(i)).zip(&self.open);
        pairs.into_iter().all(|((model, rtl), open)| (model ^ rtl) & !open == 0)
    }

    /// Compares instance `i`, which has been stepped and recorded.
    fn check(&self, i: usize) -> Result<(), Box<Mismatch>> {
        if self.agrees(i) { Ok(()) } else { Err(self.mismatch(i)) }
    }

    /// Compares instance `i`, which has settled. Where it differs no step follows, and this is recorded.
    fn check_settled(&mut self, i: usize) -> Result<(), Box<Mismatch>> {
        if self.agrees(i) {
            return Ok(());
        }
        self.record(i);
        self.rtl.dump(i, 0);
        Err(self.mismatch(i))
    }

    /// Describes the difference between model and RTL of instance `i`.
    #[cold]
    fn mismatch(&self, i: usize) -> Box<Mismatch> {
        let words = [&self.observed, self.rtl.observed(i), &self.open];
        let found = Mismatch::find(self.rtl.unit(), words);
        self.located(i, found.expect("called for a difference"))
    }

    /// Adds to a difference in this cycle of instance `i` where it is, and what led to it.
    #[cold]
    fn located(&self, i: usize, found: Mismatch) -> Box<Mismatch> {
        let first = self.cycle.saturating_sub(HISTORY as u64 - 1);
        let inputs = (first..self.cycle + 1).map(|cycle| &self.history[self.kept(cycle, i)]);
        let inputs = InputHistory::of_words(first, self.rtl.unit().inputs, inputs);
        Box::new(Mismatch { instance: i, cycle: self.cycle, inputs, ..found })
    }
}
