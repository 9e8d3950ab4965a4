// SPDX-License-Identifier: MIT
//! A waveform of the rank: its commands, the bank PUs of one logic bank, and the adder unit.

use crate::{CHIPS, Command};
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_ports::{Bundle, U, ports};
use pimlico_units::arith::Binary16;
use pimlico_units::bank::{BankPuIn, BankPuOut};
use pimlico_units::rank::{AdderUnitIn, AdderUnitOut};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

ports! {
    /// The rank's commands, as signals.
    unit RankCommands: "rank" {
        inputs RankCommand {
            /// Clock.
            clk: bool,
            /// An all-bank RD.
            read: bool,
            /// Its row.
            row: U<20>,
            /// Its column.
            column: U<13>,
            /// Its word of the shared buffers.
            shared: u8,
            /// Its mode: 0 score, 1 context.
            accumulate: bool,
            /// A burst to the shared buffers.
            fill: bool,
            /// Its word.
            fill_word: u8,
            /// Results go to the adder unit.
            drain: bool,
            /// Their logic bank.
            drain_bank: U<6>,
            /// Their element of the result register.
            drain_lane: U<2>,
        }
        outputs RankNothing {}
        probes RankNoProbe {}
    }
}

/// A waveform in the making.
pub struct RankWave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    bank_pus: [ScopeId; CHIPS],
    adder_unit: ScopeId,
    bank: usize,
    tck_ps: u64,
    tck: u64,
}

impl RankWave {
    /// Starts a file that shows the bank PUs of logic bank `bank`.
    pub fn create(file: &Path, bank: usize, tck_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("rank")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        let ports = [BankPuIn::<Binary16>::PORTS, BankPuOut::<Binary16>::PORTS].concat();
        let mut bank_pus = [commands; CHIPS];
        for (chip, scope) in bank_pus.iter_mut().enumerate() {
            *scope = wave.declare(&format!("chip{chip}_bank{bank}_bank_pu"), &ports)?;
        }
        let ports = [AdderUnitIn::<Binary16>::PORTS, AdderUnitOut::<Binary16>::PORTS].concat();
        let adder_unit = wave.declare("adder_unit", &ports)?;
        wave.close()?;
        wave.begin()?;
        Ok(Self { wave, commands, bank_pus, adder_unit, bank, tck_ps, tck: 0 })
    }

    /// Records a tCK.
    pub(crate) fn record(
        &mut self,
        command: &Command,
        inputs: &[BankPuIn<Binary16>],
        results: &[BankPuOut<Binary16>],
        adder_unit_in: &AdderUnitIn<Binary16>,
        adder_unit_out: &AdderUnitOut<Binary16>,
    ) -> io::Result<()> {
        let mut signals = command_signals(command);
        let wave = &mut self.wave;
        wave.time(self.tck * self.tck_ps)?;
        wave.change(self.commands, 0, &signals)?;
        for (chip, scope) in self.bank_pus.into_iter().enumerate() {
            let pu = CHIPS * self.bank + chip;
            wave.change(scope, 0, &inputs[pu])?;
            wave.change(scope, BankPuIn::<Binary16>::PORTS.len(), &results[pu])?;
        }
        wave.change(self.adder_unit, 0, adder_unit_in)?;
        wave.change(self.adder_unit, AdderUnitIn::<Binary16>::PORTS.len(), adder_unit_out)?;
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

fn command_signals(command: &Command) -> RankCommand {
    let mut signals = RankCommand::default();
    if let Some(read) = command.read {
        signals.read = true;
        signals.row = U::new(read.row as u64);
        signals.column = U::new(read.column as u64);
        signals.shared = read.shared as u8;
        signals.accumulate = read.accumulate;
    }
    if let Some(fill) = command.fill {
        signals.fill = true;
        signals.fill_word = fill.word as u8;
    }
    if let Some(drain) = command.drain {
        signals.drain = true;
        signals.drain_bank = U::new(drain.bank as u64);
        signals.drain_lane = U::new(drain.lane as u64);
    }
    signals
}
