// SPDX-License-Identifier: MIT
//! A rank that computes what the cycle model does, bit for bit, and knows no time.
//!
//! ```text
//!   dispatcher ─▶ commands ─┬▶ bank PUs ─▶ adder unit ─▶ softmax unit
//!                 in order  └▶ shared buffers ◀── operands, words of weights
//! ```
//!
//! In a program that keeps the contracts of the units, what a command computes hangs on those before it and on no cycle: the
//! sequencer's interlocks see to that. So commands are taken one after the other, each as a whole, by [units](Untimed) that have
//! no cycles.
//!
//! Other programs may make something else here: with MACs of both modes without a gap between them (`rtl/bank/bank_pu.md`), with
//! scores in the places of partial outputs, or with a WEIGH of a head that is not finished. Of one that ends in a fault, the rank
//! may still do a few commands behind that: those that it had dispatched before it saw it. These are not done here.

use super::bank_pus::Read;
use super::front::Front;
use super::untimed::{Untimed, untimed};
use crate::config::Config;
use crate::data_bus::{Beats, relaid};
use crate::device::{Loads, Runs};
use crate::dispatch::{self, DispatchError, Made, PATIENCE_TCK, Start};
use crate::dram::Dram;
use crate::error::DeviceError;
use crate::mapping::Place;
use crate::options::{Options, SumFormat};
use crate::sizes::{CHIPS, SCORE_BUFFER};
use pimlico_dpa::types::Start as DispatcherStart;
use pimlico_dpa::types::{ArrayRequest, Dispatch, Fault, Load, LoadKind, ResultAddress, RunEnd};
use pimlico_ports::U;
use pimlico_units::rank::{Command, Results, SequencerIn, WORDS, decode};
use std::slice;

/// A rank without time.
pub struct FunctionalRank {
    options: Options,
    /// What the sequencer checks commands against.
    limits: SequencerIn,
    front: Front,
    dram: Dram,
    units: Box<dyn Untimed>,
}

impl FunctionalRank {
    /// A rank that has been reset, with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a rank: see [`Config::check_rank`].
    pub fn new(config: &Config, options: Options) -> Self {
        let config = config.at_gear(options.gear);
        config.check_rank().unwrap_or_else(|error| panic!("no rank: {error}"));
        Self {
            options,
            limits: SequencerIn {
                size_i: config.bank_size(),
                wide_i: options.sums == SumFormat::Binary32,
                ..SequencerIn::default()
            },
            front: Front::new(),
            dram: Dram::new(&config),
            units: untimed(&config, &options),
        }
    }

    /// Writes a burst of the host, through the re-layout unit.
    ///
    /// # Panics
    ///
    /// If there is no such bank or column.
    pub fn write(&mut self, Place { bank, row, column }: Place, beats: &Beats) {
        self.dram.write(bank, row, column, relaid(beats));
    }
}

impl Loads for FunctionalRank {
    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), DeviceError> {
        self.front.load(Load { kind, address, data });
        Ok(())
    }

    fn set_scale(&mut self, scale: u16) {
        self.units.set_scale(scale);
    }
}

impl Runs for FunctionalRank {
    fn options(&self) -> Options {
        self.options
    }

    fn run(&mut self, start: Start<'_>, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError> {
        let Start { request, address, operands, .. } = start;
        self.front.start(DispatcherStart {
            request: U::new(request.into()),
            address: U::new(address.into()),
        });
        let (fault, end) = Run::new(self, operands, made).finished()?;
        Ok(dispatch::outcome(request, fault, end)?)
    }
}

/// A run of a program.
struct Run<'a> {
    rank: &'a mut FunctionalRank,
    /// Bursts of the host that are not written yet.
    operands: slice::Iter<'a, Beats>,
    made: &'a mut dyn FnMut(Made),
    fault: Fault,
    end: Option<RunEnd>,
    /// WEIGHs that have come without their WR_WEIGHTS.
    unpaired: u8,
}

/// What a program is that goes on for ever.
const STUCK: DispatchError = DispatchError::Stuck { overwritten: false };

impl<'a> Run<'a> {
    fn new(
        rank: &'a mut FunctionalRank,
        operands: &'a [Beats],
        made: &'a mut dyn FnMut(Made),
    ) -> Self {
        Self { rank, operands: operands.iter(), made, fault: Fault::None, end: None, unpaired: 0 }
    }

    /// All of it: what was dispatched before a fault is done. Returns the fault, and how the program has ended.
    fn finished(mut self) -> Result<(Fault, RunEnd), DispatchError> {
        while self.end.is_none() {
            let Some(dispatched) = self.dispatched()? else { continue };
            if self.fault != Fault::None {
                continue;
            }
            let command = decode(&dispatched, &self.rank.limits, SCORE_BUFFER as u64);
            match command.and_then(|command| self.admit(command)) {
                Ok(command) => self.take(command)?,
                Err(fault) => self.fault = fault,
            }
        }
        if self.unpaired > 0 && self.fault == Fault::None {
            self.fault = Fault::Unpaired;
        }
        self.rank.units.drop_words();
        Ok((self.fault, self.end.unwrap_or_default()))
    }

    /// The next command, if the program has another.
    fn dispatched(&mut self) -> Result<Option<Dispatch>, DispatchError> {
        let front = &mut self.rank.front;
        let stops = self.fault != Fault::None;
        if !stops && front.offers_two() {
            return Ok(Some(front.pass(1, 0)));
        }
        for _ in 0..PATIENCE_TCK {
            front.step(true, stops);
            let output = front.output();
            self.end = output.end_valid_o.then_some(output.end_o);
            if output.dispatch_valid_o || self.end.is_some() {
                return Ok(output.dispatch_valid_o.then_some(output.dispatch_o));
            }
        }
        Err(STUCK)
    }

    /// A command is one, unless it lacks an operand, or the other one of WEIGH and WR_WEIGHTS.
    fn admit(&mut self, command: Command) -> Result<Command, Fault> {
        match command {
            Command::Shared { .. } if self.operands.len() == 0 => return Err(Fault::NoOperand),
            Command::Weigh(_) if self.unpaired == WORDS => return Err(Fault::Unpaired),
            Command::Weigh(_) => self.unpaired += 1,
            Command::Weights { .. } => {
                self.unpaired = self.unpaired.checked_sub(1).ok_or(Fault::Unpaired)?;
            }
            Command::CloseAll if self.unpaired > 0 => return Err(Fault::Unpaired),
            _ => {}
        }
        Ok(command)
    }

    fn take(&mut self, command: Command) -> Result<(), DispatchError> {
        let FunctionalRank { units, dram, .. } = &mut *self.rank;
        match command {
            Command::Read(ArrayRequest { row, column, mac, .. }) => {
                units.compute(Read { mac, row: row.into(), column: column.into() }, dram);
            }
            Command::CloseAll => {}
            Command::Results(Results { address, sum }) => {
                units.read_results(ResultAddress::of_bits(address), &sum, self.made);
            }
            Command::Shared { word, .. } => {
                let beats = self.operands.next().expect("it was admitted");
                units.write_shared(word.into(), relaid(beats));
            }
            Command::Weights { word } => {
                let weights = units.take_word().expect("it was admitted behind its WEIGH");
                units.write_shared(word.into(), [weights; CHIPS]);
            }
            Command::Finish(finish) => {
                if !units.finish(finish) {
                    return Err(STUCK);
                }
            }
            Command::Weigh(weigh) => units.weigh(weigh, self.made),
        }
        Ok(())
    }
}
