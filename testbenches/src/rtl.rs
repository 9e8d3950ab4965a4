// SPDX-License-Identifier: MIT
//! Verilated instances of a unit.

use crate::build::{self, Loaded, Waves};
use crate::ffi::PimlicoUnit;
use crate::spool::Spool;
use pimlico_ports::{Bundle, Instances, Mismatch, Unit, UnitInfo, words_of};
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::NonNull;
use verilated::vcd::Vcd;

/// Verilated instances of unit `U` that step together.
pub struct Rtl<U: Unit> {
    verilated: Verilated,
    /// Words of the inputs of the instance that is settled next.
    inputs: Vec<u32>,
    ports: PhantomData<U>,
}

/// The same for any unit, by the words of its ports: compiled once, and not for each unit.
pub(crate) struct Verilated {
    unit: UnitInfo,
    has_probes: bool,
    instances: Vec<Instance>,
    /// Ports and probes that the instances put out last, one instance after the other.
    outputs: Vec<u32>,
    /// How many words those of an instance are, and those of its inputs.
    observed: usize,
    inputs: usize,
    tracing: Option<Tracing>,
    /// Cycles since the reset.
    cycle: u64,
}

/// An instance of a loaded unit.
struct Instance {
    unit: &'static PimlicoUnit,
    verilated: NonNull<c_void>,
    seed: u64,
}

/// A waveform that Verilator writes.
struct Tracing {
    vcd: Vcd,
    /// What the waveform is written to.
    file: Spool,
    instance: usize,
    window: Window,
    /// Cycles since the tracing was asked for.
    cycle: u64,
}

/// Which cycles of a waveform are written, and how long one takes in it.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first cycle.
    pub from: u64,
    /// Duration of a cycle in ps.
    pub cycle_ps: u64,
}

impl<U: Unit> Rtl<U> {
    /// `count` instances that have been reset. Before the reset their registers hold random bits
    /// of `seed`, so that one that the reset misses shows.
    ///
    /// # Panics
    ///
    /// If the RTL cannot be made; see [`build::prepare`].
    pub fn new(count: usize, seed: u64) -> Self {
        let verilated = Verilated::new(&U::info(), count, seed);
        Self { verilated, inputs: vec![0; U::In::WORDS], ports: PhantomData }
    }

    /// Writes the waveform of everything inside instance `i` to `file`, until [`finish_trace`](Self::finish_trace). The
    /// instance has just been reset: its next cycle is the first.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the RTL not be made with waveforms.
    pub fn trace(&mut self, i: usize, file: &Path, window: Window) -> io::Result<()> {
        self.verilated.trace(i, file, window)
    }

    /// Finishes the waveform, if one is written; tells whether all of it is in the file.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.verilated.finish_trace()
    }

    /// What was reached in instance 0 since it was made, by places in the source.
    ///
    /// # Panics
    ///
    /// If the RTL was not built for it; see [`coverage::AVAILABLE`](crate::coverage::AVAILABLE).
    #[cfg(feature = "benches")]
    pub fn coverage(&self) -> io::Result<Vec<crate::coverage::points::Point>> {
        self.verilated.coverage()
    }

    /// The probed registers of instance `i`, as they stood before the last edge.
    pub fn probe(&self, i: usize) -> U::Probe {
        U::Probe::read(&self.verilated.observed(i)[U::Out::WORDS..])
    }

    fn read(&self, outputs: &mut [U::Out]) {
        for (i, output) in outputs.iter_mut().enumerate() {
            *output = U::Out::read(self.verilated.observed(i));
        }
    }
}

impl<U: Unit> Instances<U> for Rtl<U> {
    fn reset(&mut self) {
        self.verilated.reset();
    }

    fn settle(&mut self, inputs: &[U::In], outputs: &mut [U::Out]) -> Result<(), Box<Mismatch>> {
        for (i, input) in inputs.iter().enumerate() {
            input.write(&mut self.inputs);
            self.verilated.settle(i, &self.inputs);
        }
        self.read(outputs);
        Ok(())
    }

    fn step(&mut self, inputs: &[U::In], outputs: &mut [U::Out]) -> Result<(), Box<Mismatch>> {
        for (i, input) in inputs.iter().enumerate() {
            input.write(&mut self.inputs);
            self.verilated.step(i, &self.inputs)?;
        }
        self.verilated.count();
        self.read(outputs);
        Ok(())
    }
}

impl Verilated {
    /// `count` instances that have been reset; see [`Rtl::new`].
    pub(crate) fn new(unit: &UnitInfo, count: usize, seed: u64) -> Self {
        let loaded = build::load(unit, Waves::Without);
        let Loaded { unit: library, has_probes } = loaded.unwrap_or_else(|error| panic!("{error}"));
        let instance = |i| Instance::new(library, seed.wrapping_add(i));
        let instances = (0..count as u64).map(instance).collect();
        let observed = words_of(unit.outputs) + words_of(unit.probes);
        let outputs = vec![0; count * observed];
        let inputs = words_of(unit.inputs);
        let (unit, tracing) = (unit.clone(), None);
        Self { unit, has_probes, instances, outputs, observed, inputs, tracing, cycle: 0 }
    }

    /// The unit.
    pub(crate) fn unit(&self) -> &UnitInfo {
        &self.unit
    }

    /// Whether it has the probed registers. RTL of a user's own need not; they are 0 then.
    pub(crate) fn has_probes(&self) -> bool {
        self.has_probes
    }

    pub(crate) fn reset(&mut self) {
        self.instances.iter_mut().for_each(Instance::reset);
        self.cycle = 0;
    }

    /// See [`Rtl::trace`].
    pub(crate) fn trace(&mut self, i: usize, file: &Path, window: Window) -> io::Result<()> {
        let spool = Spool::create(file)?;
        let Loaded { unit, .. } = build::load(&self.unit, Waves::With).map_err(io::Error::other)?;
        let instance = &mut self.instances[i];
        *instance = Instance::new(unit, instance.seed);
        let trace = unit.trace.expect("a library with waveforms");
        let mut vcd = Vcd::default();
        // SAFETY: instance and waveform are live; the waveform is dropped before the instance.
        unsafe { trace(instance.verilated.as_ptr(), vcd.0) };
        vcd.open(spool.path())?;
        self.tracing = Some(Tracing { vcd, file: spool, instance: i, window, cycle: 0 });
        Ok(())
    }

    /// See [`Rtl::finish_trace`].
    pub(crate) fn finish_trace(&mut self) -> io::Result<()> {
        let Some(Tracing { vcd, file, .. }) = self.tracing.take() else { return Ok(()) };
        drop(vcd); // writes what is left; it refers to an instance, which is still live
        file.finish()
    }

    /// See [`Rtl::coverage`].
    #[cfg(feature = "benches")]
    pub(crate) fn coverage(&self) -> io::Result<Vec<crate::coverage::points::Point>> {
        use std::ffi::CString;
        use std::os::unix::ffi::OsStrExt;
        let instance = &self.instances[0];
        let write = instance.unit.coverage.expect("a build with the feature `coverage`");
        let file = tempfile::NamedTempFile::new()?;
        let name = CString::new(file.path().as_os_str().as_bytes())?;
        // SAFETY: the instance is live, the name ends with a zero byte.
        unsafe { write(instance.verilated.as_ptr(), name.as_ptr()) };
        let data = std::fs::read_to_string(file.path())?;
        crate::coverage::points::parse(&self.unit.name, &data).map_err(io::Error::other)
    }

    /// Words of what instance `i` put out last and, behind them, of its probed registers as they stood then.
    pub(crate) fn observed(&self, i: usize) -> &[u32] {
        &self.outputs[i * self.observed..][..self.observed]
    }

    /// The first half of a cycle of one instance: applies the inputs and settles.
    pub(crate) fn settle(&mut self, i: usize, inputs: &[u32]) {
        assert_eq!(inputs.len(), self.inputs, "words of the unit's inputs");
        let outputs = &mut self.outputs[i * self.observed..][..self.observed];
        // SAFETY: the instance is live; the arrays have the sizes that the binding, generated from
        // the same declaration, reads and writes.
        unsafe {
            let Instance { unit, verilated, .. } = &self.instances[i];
            (unit.settle)(verilated.as_ptr(), inputs.as_ptr(), outputs.as_mut_ptr());
        }
    }

    /// Writes the waveform of instance `i`, if it is the traced one, at a half of the cycle.
    pub(crate) fn dump(&mut self, i: usize, half: u64) {
        if let Some(Tracing { vcd, instance, window, cycle, .. }) = &mut self.tracing
            && *instance == i
            && *cycle >= window.from
        {
            vcd.dump(*cycle * window.cycle_ps + half * (window.cycle_ps / 2));
        }
    }

    /// A cycle of one instance: it settles, and the clock rises. An assertion in the RTL that fails is an error.
    pub(crate) fn step(&mut self, i: usize, inputs: &[u32]) -> Result<(), Box<Mismatch>> {
        self.settle(i, inputs);
        self.dump(i, 0);
        let Instance { unit, verilated, .. } = &self.instances[i];
        // SAFETY: the instance is live.
        let holds = unsafe { (unit.edge)(verilated.as_ptr()) == 0 };
        self.dump(i, 1);
        if holds { Ok(()) } else { Err(self.assertion(i)) }
    }

    /// All instances have done a cycle.
    pub(crate) fn count(&mut self) {
        self.cycle += 1;
        if let Some(tracing) = &mut self.tracing {
            tracing.cycle += 1;
        }
    }

    /// What an assertion in instance `i` that fails is reported as. Verilator has written its name to
    /// standard error.
    #[cold]
    fn assertion(&self, i: usize) -> Box<Mismatch> {
        Box::new(Mismatch {
            unit: self.unit.name.clone(),
            instance: i,
            cycle: self.cycle,
            port: Mismatch::ASSERTION.to_owned(),
            model: "holds".to_owned(),
            rtl: "failed; see standard error for its file and name".to_owned(),
            ..Default::default()
        })
    }
}

impl Drop for Verilated {
    fn drop(&mut self) {
        let _ = self.finish_trace(); // the waveform refers to an instance
    }
}

impl Instance {
    /// One that has been reset.
    fn new(unit: &'static PimlicoUnit, seed: u64) -> Self {
        // SAFETY: `create` returns a new instance.
        let verilated = NonNull::new(unsafe { (unit.create)(seed) });
        let verilated = verilated.expect("`new` does not return null");
        let mut instance = Self { unit, verilated, seed };
        // The ports of the libraries in a design hold random bits as well, that of the reset among them: what begins in its reset
        // sees no edge of the first one.
        instance.reset();
        instance.reset();
        instance
    }

    fn reset(&mut self) {
        // SAFETY: the instance is live.
        unsafe {
            (self.unit.reset)(self.verilated.as_ptr(), 1);
            (self.unit.reset)(self.verilated.as_ptr(), 0);
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the instance is live, and not used again.
        unsafe { (self.unit.destroy)(self.verilated.as_ptr()) };
    }
}
