// SPDX-License-Identifier: MIT
//! A rank that computes what the cycle model does, bit for bit, and knows no time.
//!
//! ```text
//!   dispatcher ─▶ commands ─┬▶ bank PUs ─▶ adder unit ─▶ softmax unit
//!                 in order  └▶ shared buffers ◀── operands, words of weights
//! ```
//!
//! In a program that keeps the contracts of the units, what a command computes hangs on those before it and on no cycle: the
//! sequencer's interlocks see to that. So commands are taken one after the other, each as a whole. Adder unit and softmax unit are
//! the cycle model's; they have the cycles that they need, and none in which the rest of the rank keeps them waiting. WEIGHs that
//! are ahead go to the softmax unit while it has room for their weights, as they do in the rank.
//!
//! Other programs may make something else here: with MACs of both modes without a gap between them (`rtl/bank/bank_pu.md`), with
//! scores in the places of partial outputs, or with a WEIGH of a head that is not finished. Of one that ends in a fault, the rank
//! may still do a few commands behind that: those that it had dispatched before it saw it. These are not done here.

use super::bank_pus::Read;
use super::front::Front;
use super::softening::Behind;
use super::softmax::{SoftmaxWay, softmax_way};
use super::sums::{SumWay, sum_way};
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
use pimlico_dpa::types::{
    ArrayRequest, BusRequest, Dispatch, Fault, Finish, Load, LoadKind, RankEvents, RunEnd, SumKind,
    Weigh,
};
use pimlico_ports::U;
use pimlico_units::rank::{Command, Results, SequencerIn, SequencerOut, WORDS, decode};
use std::collections::VecDeque;
use std::slice;

/// Commands that are looked at ahead, at most.
const AHEAD: usize = 64;

/// A rank without time.
pub struct FunctionalRank {
    options: Options,
    /// What the sequencer checks commands against.
    limits: SequencerIn,
    /// CL in tCK, and cycles of the core from one RD_RESULT to the next.
    cl_tck: u64,
    burst_cycles: u64,
    front: Front,
    dram: Dram,
    sums: Box<dyn SumWay>,
    softmax: Box<dyn SoftmaxWay>,
    /// tCK of the cycles that adder unit and softmax unit have had.
    tck: u64,
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
        let burst_tck = config.timing.burst_tck.max(config.timing.ccd_result_tck);
        Self {
            options,
            limits: SequencerIn {
                size_i: config.bank_size(),
                wide_i: options.sums == SumFormat::Binary32,
                ..SequencerIn::default()
            },
            cl_tck: config.timing.cl_tck,
            burst_cycles: burst_tck.div_ceil(options.gear.tck() as u64),
            front: Front::new(),
            dram: Dram::new(&config),
            sums: sum_way(&config, &options),
            softmax: softmax_way(&options),
            tck: 0,
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
        self.softmax.set_scale(scale);
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
    /// Bursts of the host that no command is ahead for, and those that are not written yet.
    operands: usize,
    written: slice::Iter<'a, Beats>,
    made: &'a mut dyn FnMut(Made),
    /// Commands that were dispatched and not taken, the oldest first.
    ahead: VecDeque<Command>,
    fault: Fault,
    end: Option<RunEnd>,
    /// The head whose scores are complete, until the softmax unit takes that, and how many it has taken and not finished.
    finish: Option<Finish>,
    finishing: u8,
    /// WEIGHs among those that the softmax unit has not taken, and how many others it has.
    weighs: VecDeque<Weigh>,
    weighed: usize,
    /// Words of weights from their WEIGH to their WR_WEIGHTS, and those of them that are complete.
    words: u8,
    complete: u8,
    /// WEIGHs that have come without their WR_WEIGHTS.
    unpaired: u8,
    /// Scores, and elements of results, that were asked for and are not there yet.
    scores: u16,
    elements: u16,
    /// What was read of the bank PUs last, and whether they have had a MAC since.
    read: Option<SumKind>,
    behind_macs: bool,
}

impl<'a> Run<'a> {
    fn new(
        rank: &'a mut FunctionalRank,
        operands: &'a [Beats],
        made: &'a mut dyn FnMut(Made),
    ) -> Self {
        Self {
            rank,
            operands: operands.len(),
            written: operands.iter(),
            made,
            ahead: VecDeque::with_capacity(AHEAD),
            fault: Fault::None,
            end: None,
            finish: None,
            finishing: 0,
            weighs: VecDeque::with_capacity(AHEAD),
            weighed: 0,
            words: 0,
            complete: 0,
            unpaired: 0,
            scores: 0,
            elements: 0,
            read: None,
            behind_macs: false,
        }
    }

    /// All of it: what was dispatched before a fault is done. Returns the fault, and how the program has ended.
    fn finished(mut self) -> Result<(Fault, RunEnd), DispatchError> {
        loop {
            self.look_ahead()?;
            let Some(command) = self.ahead.pop_front() else { break };
            self.take(command)?;
        }
        self.cycles_until(|run| run.rank.sums.is_idle() && (run.scores, run.elements) == (0, 0))?;
        if self.unpaired > 0 && self.fault == Fault::None {
            self.fault = Fault::Unpaired;
        }
        while self.words > 0 {
            self.cycles_until(|run| run.complete > 0)?;
            self.cycle(true);
        }
        Ok((self.fault, self.end.unwrap_or_default()))
    }

    // ----------------------------------------------------------------------------- dispatcher

    /// Commands are dispatched as far as one may look ahead: not past one that changes which scores can be weighed.
    fn look_ahead(&mut self) -> Result<(), DispatchError> {
        let is_last = |command: &Command| match command {
            Command::Results(results) => results.scores() > 0,
            Command::Finish(_) => true,
            _ => false,
        };
        while self.end.is_none()
            && (self.fault != Fault::None
                || self.ahead.len() < AHEAD && !self.ahead.back().is_some_and(is_last))
        {
            let Some(dispatched) = self.dispatched()? else { continue };
            if self.fault != Fault::None {
                continue;
            }
            let command = decode(&dispatched, &self.rank.limits, SCORE_BUFFER as u64);
            match command.and_then(|command| self.admit(command)) {
                Ok(command) => self.ahead.push_back(command),
                Err(fault) => self.fault = fault,
            }
        }
        Ok(())
    }

    /// A command joins those that are ahead, unless it lacks an operand, or the other one of WEIGH and WR_WEIGHTS.
    fn admit(&mut self, command: Command) -> Result<Command, Fault> {
        match command {
            Command::Shared { .. } => {
                self.operands = self.operands.checked_sub(1).ok_or(Fault::NoOperand)?
            }
            Command::Weigh(_) if self.unpaired == WORDS => return Err(Fault::Unpaired),
            Command::Weigh(weigh) => {
                self.weighs.push_back(weigh);
                self.unpaired += 1;
            }
            Command::Weights { .. } => {
                self.unpaired = self.unpaired.checked_sub(1).ok_or(Fault::Unpaired)?;
            }
            Command::CloseAll if self.unpaired > 0 => return Err(Fault::Unpaired),
            _ => {}
        }
        Ok(command)
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
        Err(DispatchError::Stuck { overwritten: false })
    }

    // ------------------------------------------------------------------------------- commands

    fn take(&mut self, command: Command) -> Result<(), DispatchError> {
        match command {
            Command::Read(ArrayRequest { row, column, mac, .. }) => {
                let read = Read { mac, row: row.into(), column: column.into() };
                self.rank.sums.compute(read, &self.rank.dram);
                self.behind_macs = true;
            }
            Command::CloseAll => {}
            Command::Results(results) => self.read_results(results)?,
            Command::Shared { word, .. } => {
                let beats = self.written.next().expect("it was admitted");
                self.rank.sums.write_shared(word.into(), relaid(beats));
            }
            Command::Weights { word } => {
                self.cycles_until(|run| run.complete > 0)?;
                let weights = self.rank.softmax.word();
                self.rank.sums.write_shared(word.into(), [weights; CHIPS]);
                self.cycle(true);
            }
            Command::Finish(finish) => {
                self.cycles_until(|run| run.scores == 0)?;
                self.finish = Some(finish);
                self.cycles_until(|run| run.finish.is_none() && run.finishing == 0)?;
            }
            Command::Weigh(_) => {
                self.cycles_until(|run| run.weighed > 0)?;
                self.weighed -= 1;
            }
        }
        Ok(())
    }

    /// An RD_RESULT. Those that read the same go through the adder unit one behind the other; but a sum that goes on wants its
    /// part from before the last MACs.
    fn read_results(&mut self, results: Results) -> Result<(), DispatchError> {
        let Results { address, sum } = results;
        let goes_on = self.behind_macs && sum.goes_on;
        if goes_on || self.read.is_some_and(|kind| kind != sum.kind) {
            self.cycles_until(|run| run.rank.sums.is_idle())?;
        }
        (self.read, self.behind_macs) = (Some(sum.kind), false);
        self.scores += results.scores();
        self.elements += results.elements();
        let request = BusRequest { address, sum, ..BusRequest::default() };
        self.rank.sums.read_results(self.rank.tck + self.rank.cl_tck, request);
        for _ in 0..self.rank.burst_cycles {
            self.cycle(false);
        }
        Ok(())
    }

    // --------------------------------------------------------------------------------- cycles

    /// As many cycles as it takes.
    fn cycles_until(&mut self, is_there: impl Fn(&Self) -> bool) -> Result<(), DispatchError> {
        for _ in 0..PATIENCE_TCK {
            if is_there(self) {
                return Ok(());
            }
            self.cycle(false);
        }
        Err(DispatchError::Stuck { overwritten: false })
    }

    /// A cycle of adder unit and softmax unit, in which the oldest word of weights may leave.
    fn cycle(&mut self, word_taken: bool) {
        let mut events = RankEvents::default();
        let finish = self.finish;
        let may_weigh = finish.is_none() && self.scores == 0 && self.words < WORDS;
        let weigh = self.weighs.front().filter(|_| may_weigh);
        let asked = SequencerOut {
            finish_valid_o: finish.is_some(),
            finish_o: finish.unwrap_or_default(),
            weigh_valid_o: weigh.is_some(),
            weigh_o: weigh.copied().unwrap_or_default(),
            ..SequencerOut::default()
        };
        let FunctionalRank { options, sums, softmax, tck, .. } = &mut *self.rank;
        let lanes = options.gear.tck();
        let added = sums.step_adder_unit(*tck);
        *tck += lanes as u64;
        let mut behind = Behind { sums: &mut **sums, softmax: &mut **softmax, lanes };
        if behind.rests(&asked, &added, word_taken) {
            return;
        }
        behind.step(&asked, &added, word_taken, &mut events, &mut *self.made);
        self.scores -= events.scaled.get() as u16;
        self.elements -= (events.context_made.get() + events.output_made.get()) as u16;
        if events.finish_taken {
            self.finish = None;
            self.finishing += 1;
        }
        self.finishing -= u8::from(events.finished);
        if events.weigh_taken {
            self.weighs.pop_front();
            self.weighed += 1;
        }
        self.words = self.words + u8::from(events.weigh_taken) - u8::from(word_taken);
        self.complete = self.complete + u8::from(events.word_made) - u8::from(word_taken);
    }
}
