// SPDX-License-Identifier: MIT
//! A waveform of the rank: the commands on the chips' pins, the bank PUs of one logic bank, and the
//! adder unit.

use crate::bank_pus::BankPuPorts;
use crate::command::DramCommand;
use crate::options::SumFormat;
use crate::sizes::CHIPS;
use pimlico_ports::wave::{ScopeId, Wave};
use pimlico_ports::{Bundle, U, ports};
use pimlico_units::arith::{Binary16, Binary32, Format};
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
            /// The command on the chips' pins: 0 none, else 1 + its place in ACT, ACT_ALL_BANK, PRE,
            /// PREA, RD, WR, RD_ALL_BANK, RD_RESULT, WR_SHARED, REF.
            command: U<4>,
            /// Its bank.
            bank: U<6>,
            /// Its row.
            row: U<20>,
            /// Its column, its word of the shared buffers, or the address of its results.
            column: U<13>,
        }
        outputs RankNothing {}
        probes RankNoProbe {}
    }
}

/// A waveform in the making.
pub struct RankWave {
    wave: Wave<BufWriter<File>>,
    commands: ScopeId,
    signals: RankCommand,
    bank_pus: [ScopeId; CHIPS],
    adder_unit: ScopeId,
    bank: usize,
    tck_ps: u64,
    tck: u64,
}

impl RankWave {
    /// Starts a file that shows the bank PUs of logic bank `bank`.
    pub fn create(file: &Path, bank: usize, tck_ps: u64, sums: SumFormat) -> io::Result<Self> {
        match sums {
            SumFormat::Binary16 => Self::create_for::<Binary16>(file, bank, tck_ps),
            SumFormat::Binary32 => Self::create_for::<Binary32>(file, bank, tck_ps),
        }
    }

    fn create_for<A: Format>(file: &Path, bank: usize, tck_ps: u64) -> io::Result<Self> {
        let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
        wave.open("rank")?;
        let commands = wave.declare("commands", RankCommand::PORTS)?;
        let ports = [BankPuIn::<Binary16, A>::PORTS, BankPuOut::<Binary16, A>::PORTS].concat();
        let mut bank_pus = [commands; CHIPS];
        for (chip, scope) in bank_pus.iter_mut().enumerate() {
            *scope = wave.declare(&format!("chip{chip}_bank{bank}_bank_pu"), &ports)?;
        }
        let ports =
            [AdderUnitIn::<Binary16, A>::PORTS, AdderUnitOut::<Binary16, A>::PORTS].concat();
        let adder_unit = wave.declare("adder_unit", &ports)?;
        wave.close()?;
        wave.begin()?;
        let signals = RankCommand::default();
        Ok(Self { wave, commands, signals, bank_pus, adder_unit, bank, tck_ps, tck: 0 })
    }

    /// Begins a tCK, with the command on the pins.
    pub(crate) fn begin(&mut self, command: Option<DramCommand>) -> io::Result<()> {
        self.signals = command.map(command_signals).unwrap_or_default();
        self.wave.time(self.tck * self.tck_ps)?;
        self.wave.change(self.commands, 0, &self.signals)
    }

    /// Records bank PUs and adder unit. The format of the sums must be that for which the waveform was
    /// created.
    pub(crate) fn record_sums<A: Format>(
        &mut self,
        bank_pus: BankPuPorts<'_, A>,
        adder_unit: (&AdderUnitIn<Binary16, A>, &AdderUnitOut<Binary16, A>),
    ) -> io::Result<()> {
        let wave = &mut self.wave;
        for (chip, scope) in self.bank_pus.into_iter().enumerate() {
            let pu = CHIPS * self.bank + chip;
            wave.change(scope, 0, &bank_pus.0[pu])?;
            wave.change(scope, BankPuIn::<Binary16, A>::PORTS.len(), &bank_pus.1[pu])?;
        }
        wave.change(self.adder_unit, 0, adder_unit.0)?;
        wave.change(self.adder_unit, AdderUnitIn::<Binary16, A>::PORTS.len(), adder_unit.1)
    }

    /// Ends the tCK.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.signals.clk = true;
        self.wave.time(self.tck * self.tck_ps + self.tck_ps / 2)?;
        self.wave.change(self.commands, 0, &self.signals)?;
        self.tck += 1;
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(self) -> io::Result<()> {
        self.wave.finish()
    }
}

/// A command as signals.
pub(crate) fn command_signals(command: DramCommand) -> RankCommand {
    let (bank, row, column) = match command {
        DramCommand::Act { bank, row } => (bank, row, 0),
        DramCommand::ActAll { row } => (0, row, 0),
        DramCommand::Pre { bank } => (bank, 0, 0),
        DramCommand::Rd { bank, column } | DramCommand::Wr { bank, column } => (bank, 0, column),
        DramCommand::RdAll { column } => (0, 0, column),
        DramCommand::RdResult { results } => (0, 0, results.address()),
        DramCommand::WrShared { word } => (0, 0, word),
        DramCommand::PreAll | DramCommand::Ref => (0, 0, 0),
    };
    RankCommand {
        command: U::new(command.on_pins() as u64),
        bank: U::new(bank as u64),
        row: U::new(row as u64),
        column: U::new(column as u64),
        ..Default::default()
    }
}
