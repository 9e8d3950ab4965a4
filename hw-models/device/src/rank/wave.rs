// SPDX-License-Identifier: MIT
//! A waveform of the rank: the commands on the chips' pins, the bank PUs of one logic bank, and the
//! adder unit.

use super::sums::{SumScopes, SumWay, WATCHED};
use crate::wave::{RankCommand, command_signals};
use pimlico_dpa::types::Pins;
use pimlico_ports::Bundle;
use pimlico_ports::wave::{ScopeId, Wave};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A waveform in the making.
pub struct RankWave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    sums: SumScopes,
    cycle_ps: u64,
    cycle: u64,
}

impl RankWave {
    /// Starts a file.
    pub fn create(file: &Path, sums: &mut dyn SumWay, cycle_ps: u64) -> io::Result<Self> {
        sums.watch(WATCHED);
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("rank")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        let sums = sums.declare(&mut wave)?;
        wave.close()?;
        wave.begin()?;
        Ok(Self { wave, commands, sums, cycle_ps, cycle: 0 })
    }

    /// Records a cycle of the core.
    pub fn record(&mut self, pins: Pins, sums: &dyn SumWay) -> io::Result<()> {
        let mut signals = command_signals(pins);
        self.wave.time(self.cycle * self.cycle_ps)?;
        self.wave.change(self.commands, 0, &signals)?;
        sums.record(&mut self.wave, &self.sums)?;
        signals.clk = true;
        self.wave.time(self.cycle * self.cycle_ps + self.cycle_ps / 2)?;
        self.wave.change(self.commands, 0, &signals)?;
        self.cycle += 1;
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.wave.finish()
    }
}
