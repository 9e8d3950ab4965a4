// SPDX-License-Identifier: MIT
//! A waveform of a channel: the commands on its pins.

use crate::wave::{RankCommand, command_signals};
use pimlico_dpa::types::Pins;
use pimlico_ports::Bundle;
use pimlico_ports::wave::{ScopeId, Wave};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A waveform in the making.
pub struct Lp5Wave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    tck_ps: u64,
    from_tck: u64,
    tck: u64,
}

impl Lp5Wave {
    /// Starts a file.
    pub fn create(file: &Path, tck_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("channel0")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        wave.close()?;
        wave.begin()?;
        Ok(Self { wave, commands, tck_ps, from_tck: 0, tck: 0 })
    }

    /// The tCK with which it begins.
    pub fn begin_at(&mut self, tck: u64) {
        (self.from_tck, self.tck) = (tck, tck);
    }

    /// Records a command, and the tCK before it that had none.
    pub fn command(&mut self, at_tck: u64, pins: Pins) -> io::Result<()> {
        self.pass(at_tck)?;
        self.record(pins)
    }

    /// Finishes the file.
    pub fn finish(mut self, at_tck: u64) -> io::Result<()> {
        self.pass(at_tck)?;
        self.wave.finish()
    }

    fn pass(&mut self, until: u64) -> io::Result<()> {
        (self.tck..until).try_for_each(|_| self.record(Pins::NONE))
    }

    fn record(&mut self, pins: Pins) -> io::Result<()> {
        let mut signals = command_signals(pins);
        let begin_ps = (self.tck - self.from_tck) * self.tck_ps;
        for (clk, time) in [(false, begin_ps), (true, begin_ps + self.tck_ps / 2)] {
            signals.clk = clk;
            self.wave.time(time)?;
            self.wave.change(self.commands, 0, &signals)?;
        }
        self.tck += 1;
        Ok(())
    }
}
