// SPDX-License-Identifier: MIT
//! Model and RTL of a unit, step by step together.

use crate::Rtl;
use crate::coverage::points::Point;
use crate::rtl::Window;
use pimlico_ports::wave::{Cycle, UnitScope, Wave};
use pimlico_ports::{Instances, Mismatch, Model};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// How many cycles of inputs a mismatch report goes back.
const HISTORY: usize = 8;

/// Instances of a unit, each as model and as RTL.
///
/// In every cycle every output port and every probed register of every instance is compared, but for
/// what [`Model::fill_open`] leaves open; the first difference is the error of
/// [`step`](Instances::step).
pub struct Lockstep<M: Model> {
    models: Vec<M>,
    rtl: Rtl<M>,
    rtl_outputs: Vec<M::Out>,
    /// Cycles since the reset.
    cycle: u64,
    /// The inputs of the last `HISTORY` cycles, a ring.
    history: Vec<M::In>,
    watch: Option<Watch>,
}

/// The waveform of an instance's model, beside that of its RTL.
struct Watch {
    wave: Wave<BufWriter<File>>,
    scope: UnitScope,
    instance: usize,
    window: Window,
    /// What went wrong while writing.
    error: Option<io::Error>,
}

impl Watch {
    fn record<M: Model>(&mut self, number: u64, cycle: &Cycle<M>) {
        let Self { wave, scope, window, .. } = self;
        if number < window.from {
            return;
        }
        let time = number * window.cycle_ps;
        let mut write = || {
            wave.time(time)?;
            scope.clock(wave, false, true)?;
            scope.change::<M>(wave, cycle)?;
            wave.time(time + window.cycle_ps / 2)?;
            scope.clock(wave, true, true)
        };
        if let Err(error) = write() {
            self.error.get_or_insert(error);
        }
    }
}

impl<M: Model> Lockstep<M> {
    /// `count` instances that have been reset; see [`Rtl::new`] for the seed.
    pub fn new(count: usize, seed: u64) -> Self {
        Self {
            models: (0..count).map(|_| M::new()).collect(),
            rtl: Rtl::new(count, seed),
            rtl_outputs: vec![M::Out::default(); count],
            cycle: 0,
            history: vec![M::In::default(); HISTORY * count],
            watch: None,
        }
    }

    /// Name of the unit.
    pub fn name(&self) -> String {
        M::name()
    }

    /// Writes the waveforms of instance `i` to `folder`, which is made if need be, and returns
    /// their names: the model's and the RTL's. Both show the same ports and probed registers under
    /// the same names; the RTL's also shows all that is inside. Cycle 0 is the next.
    pub fn watch(&mut self, i: usize, folder: &Path, window: Window) -> io::Result<[PathBuf; 2]> {
        std::fs::create_dir_all(folder)?;
        let name = M::name().replace(':', ".");
        let [model, rtl] = ["model", "rtl"].map(|side| folder.join(format!("{name}.{side}.vcd")));
        let mut wave = Wave::new(BufWriter::new(File::create(&model)?))?;
        let scope = UnitScope::declare::<M>(&mut wave, M::MODULE)?;
        wave.begin()?;
        self.watch = Some(Watch { wave, scope, instance: i, window, error: None });
        self.rtl.trace(i, &rtl, window)?;
        Ok([model, rtl])
    }

    /// Finishes the waveforms.
    pub fn finish(self) -> io::Result<()> {
        let Some(watch) = self.watch else { return Ok(()) };
        watch.error.map_or_else(|| watch.wave.finish(), Err)
    }

    /// What was reached in the RTL; see [`Rtl::coverage`].
    pub fn coverage(&self) -> io::Result<Vec<Point>> {
        self.rtl.coverage()
    }

    /// Describes the difference between two cycles of instance `i`.
    #[cold]
    fn mismatch(&self, i: usize, model: &Cycle<M>, rtl: &Cycle<M>) -> Box<Mismatch> {
        self.located(i, Mismatch::find(model, rtl).expect("called for a difference"))
    }

    /// Adds to a difference in this cycle of instance `i` where it is, and what led to it.
    fn located(&self, i: usize, found: Mismatch) -> Box<Mismatch> {
        let count = self.models.len();
        let first = self.cycle.saturating_sub(HISTORY as u64 - 1);
        let inputs = (first..=self.cycle).map(|cycle| {
            let input = &self.history[cycle as usize % HISTORY * count + i];
            pimlico_ports::values(input)
        });
        Box::new(Mismatch { instance: i, cycle: self.cycle, inputs: inputs.collect(), ..found })
    }
}

impl<M: Model> Instances<M> for Lockstep<M> {
    fn reset(&mut self) {
        self.models.iter_mut().for_each(M::reset);
        self.rtl.reset();
        self.cycle = 0;
    }

    fn settle(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        let count = self.models.len();
        let slot = self.cycle as usize % HISTORY * count;
        self.history[slot..slot + count].copy_from_slice(inputs);
        self.rtl.settle(inputs, &mut self.rtl_outputs)?;
        for (i, model) in self.models.iter().enumerate() {
            outputs[i] = model.settle(&inputs[i]);
            let mut rtl_outputs = self.rtl_outputs[i];
            model.fill_open(&mut rtl_outputs, &mut model.probe());
            if outputs[i] != rtl_outputs {
                let cycle = |outputs| Cycle { inputs: inputs[i], outputs, probes: model.probe() };
                let [model, rtl] = [outputs[i], rtl_outputs].map(cycle);
                return Err(self.mismatch(i, &model, &rtl));
            }
        }
        Ok(())
    }

    fn step(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        let count = self.models.len();
        let slot = self.cycle as usize % HISTORY * count;
        self.history[slot..slot + count].copy_from_slice(inputs);

        self.rtl
            .step(inputs, &mut self.rtl_outputs)
            .map_err(|failed| self.located(failed.instance, *failed))?;
        for i in 0..count {
            let probes = self.models[i].probe();
            let (mut rtl_outputs, mut rtl_probes) = (self.rtl_outputs[i], self.rtl.probe(i));
            self.models[i].fill_open(&mut rtl_outputs, &mut rtl_probes);
            outputs[i] = self.models[i].step(&inputs[i]);
            if let Some(watch) = self.watch.as_mut().filter(|watch| watch.instance == i) {
                let cycle = Cycle { inputs: inputs[i], outputs: outputs[i], probes };
                watch.record::<M>(self.cycle, &cycle);
            }
            if outputs[i] != rtl_outputs || probes != rtl_probes {
                let model = Cycle { inputs: inputs[i], outputs: outputs[i], probes };
                let rtl = Cycle { inputs: inputs[i], outputs: rtl_outputs, probes: rtl_probes };
                return Err(self.mismatch(i, &model, &rtl));
            }
        }
        self.cycle += 1;
        Ok(())
    }
}
