// SPDX-License-Identifier: MIT
//! A waveform of a unit's ports.

use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_ports::{Bundle, Unit};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A waveform of a unit's ports in the making.
pub struct PortWave {
    wave: Wave<BufWriter<File>>,
    ports: ScopeId,
    step_ps: u64,
    step: u64,
}

impl PortWave {
    /// Starts a file, of a unit whose ports are recorded every so many ps.
    pub fn create<M: Unit>(file: &Path, step_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        let ports = wave.declare(M::MODULE, &[M::In::PORTS, M::Out::PORTS].concat())?;
        wave.begin()?;
        Ok(Self { wave, ports, step_ps, step: 0 })
    }

    /// Records a step.
    pub fn record<I: Bundle, O: Bundle>(&mut self, input: &I, output: &O) -> io::Result<()> {
        self.wave.time(self.step * self.step_ps)?;
        self.wave.change(self.ports, 0, input)?;
        self.wave.change(self.ports, I::PORTS.len(), output)?;
        self.step += 1;
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.wave.finish()
    }
}
