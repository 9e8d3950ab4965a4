// SPDX-License-Identifier: MIT
//! A waveform of a module: the commands on the pins, the global buffer, and of channel 0 the PU at bank
//! 0 and the result registers.

use super::channels::{Channels, PuIn, PuOut};
use super::units::Word;
use crate::wave::{RankCommand, command_signals};
use pimlico_dpa::types::Pins;
use pimlico_ports::Bundle;
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_units::bank::{PingpongBufferIn, PingpongBufferOut};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A waveform in the making.
pub struct AimWave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    global: ScopeId,
    pu: ScopeId,
    results: ScopeId,
    tck_ps: u64,
    tck: u64,
}

type BufferIn = PingpongBufferIn<Word>;

impl AimWave {
    /// Starts a file.
    pub fn create(file: &Path, tck_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("module")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        let buffer = [BufferIn::PORTS, PingpongBufferOut::<Word>::PORTS].concat();
        let global = wave.declare("global_buffer", &buffer)?;
        let pu = wave.declare("channel0_bank0_tree_pu", &[PuIn::PORTS, PuOut::PORTS].concat())?;
        let results = wave.declare("channel0_result_registers", &buffer)?;
        wave.close()?;
        wave.begin()?;
        Ok(Self { wave, commands, global, pu, results, tck_ps, tck: 0 })
    }

    /// Records a tCK.
    pub(super) fn record(&mut self, pins: Pins, channels: &Channels) -> io::Result<()> {
        let mut signals = command_signals(pins);
        let wave = &mut self.wave;
        wave.time(self.tck * self.tck_ps)?;
        wave.change(self.commands, 0, &signals)?;
        let (input, output) = channels.pu();
        wave.change(self.pu, 0, input)?;
        wave.change(self.pu, PuIn::PORTS.len(), output)?;
        for (scope, (input, output)) in
            [(self.global, channels.global()), (self.results, channels.result_registers())]
        {
            wave.change(scope, 0, input)?;
            wave.change(scope, BufferIn::PORTS.len(), output)?;
        }
        signals.clk = true;
        wave.time(self.tck * self.tck_ps + self.tck_ps / 2)?;
        wave.change(self.commands, 0, &signals)?;
        self.tck += 1;
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.wave.finish()
    }
}
