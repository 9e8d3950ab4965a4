// SPDX-License-Identifier: MIT
//! A waveform of the rank: the commands on the chips' pins, the bank PUs of one logic bank, and the
//! adder unit.

use super::bank_pus::SumElement;
use super::sums::{SumPath, Sums};
use crate::sizes::CHIPS;
use crate::wave::{RankCommand, command_signals};
use pimlico_dpa::types::Pins;
use pimlico_ports::Bundle;
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_units::arith::Binary16;
use pimlico_units::bank::{BankPuIn, BankPuOut};
use pimlico_units::rank::{AdderUnitIn, AdderUnitOut};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// The logic bank whose PUs are shown.
const BANK: usize = 0;

/// A waveform in the making.
pub struct RankWave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    bank_pus: [ScopeId; CHIPS],
    adder_unit: ScopeId,
    tck_ps: u64,
    tck: u64,
}

impl RankWave {
    /// Starts a file.
    pub fn create(file: &Path, sums: &mut Sums, tck_ps: u64) -> io::Result<Self> {
        sums.watch(BANK);
        match sums {
            Sums::Binary16(path) => Self::create_for(file, path, tck_ps),
            Sums::Binary32(path) => Self::create_for(file, path, tck_ps),
        }
    }

    fn create_for<A: SumElement>(file: &Path, _: &SumPath<A>, tck_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("rank")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        let ports = [BankPuIn::<Binary16, A>::PORTS, BankPuOut::<Binary16, A>::PORTS].concat();
        let mut bank_pus = [commands; CHIPS];
        for (chip, scope) in bank_pus.iter_mut().enumerate() {
            *scope = wave.declare(&format!("chip{chip}_bank{BANK}_bank_pu"), &ports)?;
        }
        let ports =
            [AdderUnitIn::<Binary16, A>::PORTS, AdderUnitOut::<Binary16, A>::PORTS].concat();
        let adder_unit = wave.declare("adder_unit", &ports)?;
        wave.close()?;
        wave.begin()?;
        Ok(Self { wave, commands, bank_pus, adder_unit, tck_ps, tck: 0 })
    }

    /// Records a tCK.
    pub fn record(&mut self, pins: Pins, sums: &Sums) -> io::Result<()> {
        let mut signals = command_signals(pins);
        self.wave.time(self.tck * self.tck_ps)?;
        self.wave.change(self.commands, 0, &signals)?;
        match sums {
            Sums::Binary16(path) => self.record_sums(path)?,
            Sums::Binary32(path) => self.record_sums(path)?,
        }
        signals.clk = true;
        self.wave.time(self.tck * self.tck_ps + self.tck_ps / 2)?;
        self.wave.change(self.commands, 0, &signals)?;
        self.tck += 1;
        Ok(())
    }

    fn record_sums<A: SumElement>(&mut self, path: &SumPath<A>) -> io::Result<()> {
        let wave = &mut self.wave;
        if let Some((inputs, outputs)) = path.bank_pus() {
            for (scope, (input, output)) in
                self.bank_pus.into_iter().zip(inputs.iter().zip(outputs))
            {
                wave.change(scope, 0, input)?;
                wave.change(scope, BankPuIn::<Binary16, A>::PORTS.len(), output)?;
            }
        }
        let (input, output) = path.adder_unit();
        wave.change(self.adder_unit, 0, input)?;
        wave.change(self.adder_unit, AdderUnitIn::<Binary16, A>::PORTS.len(), output)
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.wave.finish()
    }
}
