// SPDX-License-Identifier: MIT
//! The rank: chips with bank PUs, and the rank PU on the module's buffer chip, one tCK at a time.
//!
//! ```text
//!            array and bus requests ──▶ rank controller ◀── refresh manager
//!                                            │ commands
//!    host ◀─▶ re-layout unit ──┬─────────────▼────────────────┐
//!                     weights ─┤ data    chips: row buffers, shared buffers, bank PUs
//!                        ▲     │             │
//!             softmax unit ◀───┼─ adder unit ◀── results
//!                ▲    │        │
//!             score buffer   context ──▶ host
//! ```
//!
//! It works in one of two ways, and a host changes between them only when all banks are closed:
//!
//! * as **memory** ([`Rank::step_memory`]): the host's own commands go to the chips, data pass the
//!   re-layout unit;
//! * as **processing in memory** ([`Rank::step`]): requests go to the rank controller, which owns the
//!   command pins.
//!
//! The refresh manager counts in both, so that no REF is lost in between; the rank controller stands
//! still while the host has the pins. It hears from the refresh manager a tCK late: a register is
//! between them.

mod run;

use crate::accounts::{Accounts, Cause, Gap};
use crate::buffer_chip::{BufferChip, DataPath, Sides};
use crate::chips::Chips;
use crate::command::DramCommand;
use crate::config::Config;
use crate::control::{ArrayPort, Asked, BusPort, Control};
use crate::data_bus::{Beats, Incoming, Outgoing, beats_of, burst_of};
use crate::dispatcher::Module;
use crate::dram::Dram;
use crate::error::RankError;
use crate::observe::{BusTraffic, Observed, Observer};
use crate::options::Options;
use crate::pins::{BusDriver, PinWatch};
use crate::requests::{
    AllBankRead, ArrayRequest, BusRequest, Events, Lanes, Outputs, Requests, Score, Shared, Sum,
    TreeSum, Weigh,
};
use crate::sequencer::{self, Sequencer};
use crate::sizes::{CHIPS, PARTIAL_SUMS, SCORE_BUFFER};
use crate::softmax::{Given, Softmax};
use crate::statistics::Statistics;
use crate::sum_path::{Partial, SumPath, Sums};
use crate::timeline::Timeline;
use crate::traffic::{HostTransfer, Traffic};
use crate::units::RankUnits;
use crate::wave::RankWave;
use crate::weights::Weights;
use pimlico_dpa::types::ArrayKind;
use pimlico_ports::Mismatch;
use std::collections::VecDeque;

/// A rank.
pub struct Rank {
    config: Config,
    options: Options,
    /// tCK since the reset.
    tck: u64,

    module: Module,
    sequencer: Sequencer,
    control: Control,
    /// What the controller has taken and not issued.
    reads: VecDeque<AllBankRead>,
    transfers: VecDeque<BusRequest>,

    chips: Chips,
    sum_path: Box<dyn SumPath>,
    buffer_chip: BufferChip,
    /// Operands that the host and the rank PU are going to drive.
    from_host: Outgoing,
    from_rank_pu: Outgoing,
    /// The words of the shared buffers that the chips are going to take.
    operands: Incoming<usize>,
    softmax: Softmax,
    weights: Weights,
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[u32; CHIPS]]>,
    /// Complete ones that wait for the softmax unit or for the host, with their head.
    sums: VecDeque<(u32, usize)>,

    accounts: Accounts,
    traffic: Traffic,
    /// The end of the last REF.
    refreshed_tck: u64,
    /// What is on the chips' data bus.
    transfer: Option<Transfer>,
    /// What else is on it in this tCK.
    bus: BusTraffic,
    watch: Option<Box<dyn PinWatch>>,
    observer: Option<Box<dyn Observer>>,
    wave: Option<RankWave>,
    timeline: Option<Timeline>,
}

/// A burst on the chips' data bus.
struct Transfer {
    from_tck: u64,
    until_tck: u64,
    driver: BusDriver,
}

impl Rank {
    /// A rank that has been reset, with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a rank: see [`Config::check_rank`].
    pub fn new(config: Config, units: RankUnits, options: Options) -> Self {
        let chips = Chips::new(&config).unwrap_or_else(|error| panic!("no rank: {error}"));
        Self {
            tck: 0,
            module: Module::new(units.dispatcher),
            sequencer: Sequencer::new(units.sequencer, &config, options.sums),
            control: Control::new(
                &config.timing,
                options.activation,
                options.refresh,
                units.rank_controller,
                units.refresh_manager,
            ),
            reads: VecDeque::with_capacity(8),
            transfers: VecDeque::with_capacity(8),
            chips,
            sum_path: units.sums.into_path(&config),
            buffer_chip: BufferChip::with_unit(DataPath::Relayout, units.relayout_unit),
            from_host: Outgoing::default(),
            from_rank_pu: Outgoing::default(),
            operands: Incoming::default(),
            softmax: Softmax::new(units.softmax_unit, SCORE_BUFFER),
            weights: Weights::default(),
            partial_sums: vec![[0; CHIPS]; PARTIAL_SUMS].into(),
            sums: VecDeque::with_capacity(64),
            accounts: Accounts::new(config.timing.ccd_l_tck),
            traffic: Traffic::new(config.timing.burst_tck),
            refreshed_tck: 0,
            transfer: None,
            bus: BusTraffic::default(),
            watch: None,
            observer: None,
            wave: None,
            timeline: None,
            config,
            options,
        }
    }

    /// Organisation and timing.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How it works.
    pub fn options(&self) -> Options {
        self.options
    }

    /// The dispatcher.
    pub(crate) fn module(&mut self) -> &mut Module {
        &mut self.module
    }

    /// The queues between the dispatcher and the rank's ports.
    pub(crate) fn sequencer(&mut self) -> &mut Sequencer {
        &mut self.sequencer
    }

    /// What the rank is asked for in this tCK; `operand` is the host's next burst.
    pub(crate) fn requests(&self, operand: Option<&Beats>) -> Requests {
        sequencer::requests(self.sequencer.ports().asked, operand, self.weights.oldest())
    }

    /// Both.
    pub(crate) fn front(&mut self) -> (&Module, &mut Sequencer) {
        (&self.module, &mut self.sequencer)
    }

    /// What the chips hold.
    pub fn dram(&self) -> &Dram {
        self.chips.dram()
    }

    /// Records what follows.
    pub fn trace(&mut self, wave: RankWave) {
        self.sum_path.show_ports();
        self.wave = Some(wave);
    }

    /// Ends the recording.
    pub fn finish_trace(&mut self) -> Result<(), RankError> {
        Ok(self.wave.take().map_or(Ok(()), RankWave::finish)?)
    }

    /// Has a timeline made of what follows.
    pub fn record_timeline(&mut self) {
        self.timeline = Some(Timeline::new(self.config.timing.ccd_l_tck));
    }

    /// The timeline so far, if one is made: of processing in memory, not of the host's accesses.
    pub fn timeline(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// Has the chips' pins watched from here on.
    pub fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch = Some(watch);
    }

    /// Has all of the rank observed. From its reset on, if the observer has a state of its own.
    pub fn observe(&mut self, observer: Box<dyn Observer>) {
        self.sum_path.show_ports();
        self.observer = Some(observer);
    }

    /// Sets the factor of the scores, a binary16 number.
    pub fn set_scale(&mut self, scale: u16) {
        self.softmax.set_scale(scale);
    }

    /// Starts an operator: statistics count from here.
    pub fn begin(&mut self) {
        self.accounts.restart(self.tck);
        self.traffic.restart(self.tck);
    }

    /// Ends an operator.
    pub fn end(&mut self) -> Statistics {
        self.accounts.finish(self.tck)
    }

    /// What crossed the host's channel for the operator that has ended, as if the rank had the channel to
    /// itself: of processing in memory, not of the host's accesses. What was told is forgotten.
    pub fn take_transfers(&mut self) -> Vec<HostTransfer> {
        self.traffic.finish()
    }

    /// tCK since the reset.
    pub fn tck(&self) -> u64 {
        self.tck
    }

    /// Whether nothing is under way, no row is open and no REF owed, so that the host may have the
    /// pins. The last REF may still be going on.
    pub(crate) fn is_settled(&self) -> bool {
        self.control.is_settled()
            && self.chips.is_closed()
            && self.reads.is_empty()
            && self.transfers.is_empty()
            && self.operands.is_empty()
            && self.sum_path.is_idle()
            && self.sums.is_empty()
    }

    /// One tCK of processing in memory.
    ///
    /// # Panics
    ///
    /// If a request is for a row, column or word that does not exist.
    pub fn step(&mut self, requests: &Requests) -> Result<Events, RankError> {
        let mut events = Events::default();
        let weigh = requests.weigh.map(|of| self.weights.score(&of));
        self.step_control(requests, &mut events)?;
        let command = self.control.command();
        let read = self.issue(command, &mut events);
        self.account(command, read);
        self.step_bank_pus(read, &mut events)?;
        self.step_operands(&mut events)?;
        let score = self.step_adder_unit(&mut events)?;
        self.step_softmax(requests, score, &mut events)?;
        if events.output.is_some() || events.context.is_some() {
            self.traffic.result(self.tck);
        }
        if let Some(wave) = &mut self.wave {
            wave.begin(command)?;
            self.sum_path.record(wave)?;
            wave.end()?;
        }
        self.tell_observer(requests, weigh, &events, read)?;
        if let Some(timeline) = &mut self.timeline {
            timeline.tick(&self.accounts.statistics);
        }
        self.tck += 1;
        Ok(events)
    }

    /// Tells it of a clock of the module's that is none of the rank's.
    pub(crate) fn tell_of_host(&mut self) -> Result<(), Box<Mismatch>> {
        let Some(observer) = &mut self.observer else { return Ok(()) };
        observer.host(self.module.ports())
    }

    fn tell_observer(
        &mut self,
        requests: &Requests,
        weigh: Option<Weigh>,
        events: &Events,
        read: Option<AllBankRead>,
    ) -> Result<(), RankError> {
        let Some(observer) = &mut self.observer else { return Ok(()) };
        observer.pim(&Observed {
            dispatcher: self.module.ports(),
            sequencer: self.sequencer.ports(),
            requests,
            weigh,
            events,
            controller: self.control.controller(),
            refresh: self.control.refresh(),
            rows: read.map(|read| self.chips.read_all_banks(read.column)),
            sums: self.sum_path.ports(),
            softmax: self.softmax.ports(),
            bus: &self.bus,
        })?;
        Ok(())
    }

    /// One tCK as memory: the host's command, and what it drives on its data bus in the two clocks of
    /// the tCK. Returns what is on that bus for it.
    ///
    /// # Panics
    ///
    /// If there is no such bank, row or column.
    pub fn step_memory(
        &mut self,
        command: Option<DramCommand>,
        driven: [Option<u64>; 2],
    ) -> Result<[Option<u64>; 2], RankError> {
        self.see_transfer();
        if let Some(command) = command {
            self.on_pins(command);
        }
        let mut seen = [None; 2];
        for (clock, (host, seen)) in (2 * self.tck..).zip(driven.into_iter().zip(&mut seen)) {
            let from = Sides { host, chips: self.chips.drive(clock) };
            let to = self.buffer_chip.step(from)?;
            self.chips.take(clock, to.chips);
            *seen = to.host;
            self.on_bus(BusDriver::Chips, from.chips.is_some());
            self.on_bus(BusDriver::BufferChip, to.chips.is_some());
        }
        let refreshed = command == Some(DramCommand::Ref);
        self.control.stand_still(refreshed)?;
        if let Some(observer) = &mut self.observer {
            observer.memory(refreshed, self.control.refresh())?;
        }
        self.tck += 1;
        Ok(seen)
    }

    fn step_control(&mut self, requests: &Requests, events: &mut Events) -> Result<(), RankError> {
        let asked = Asked {
            array: requests.array.map(|request| match request {
                ArrayRequest::Read(AllBankRead { row, column, .. }) => {
                    ArrayPort::all_banks(ArrayKind::ReadAll, row, column)
                }
                ArrayRequest::CloseAll => ArrayPort::all_banks(ArrayKind::CloseAll, 0, 0),
            }),
            bus: requests.bus.map(|request| match request {
                BusRequest::Write { word, .. } => BusPort::WrShared { word },
                BusRequest::Results { results, .. } => {
                    BusPort::RdResult { address: results.address() }
                }
            }),
            head_end: requests.head_end,
        };
        let taken = self.control.step(&asked)?;
        events.array_taken = taken.array;
        events.bus_taken = taken.bus;
        if let (true, Some(ArrayRequest::Read(read))) = (taken.array, requests.array) {
            self.reads.push_back(read);
        }
        if let (true, Some(request)) = (taken.bus, requests.bus) {
            self.transfers.push_back(request);
        }
        let of_rank_pu =
            matches!(requests.bus, Some(BusRequest::Write { data: Shared::RankPu(_), .. }));
        if taken.bus && of_rank_pu || requests.drops_word {
            self.weights.take_word();
        }
        Ok(())
    }

    /// A command on the pins, and the transfer that it begins. Returns the all-bank RD that it is.
    fn issue(&mut self, command: Option<DramCommand>, events: &mut Events) -> Option<AllBankRead> {
        self.see_transfer();
        let command = command?;
        self.on_pins(command);
        match command {
            DramCommand::RdAll { .. } => {
                events.read = true;
                return self.reads.pop_front();
            }
            DramCommand::WrShared { word } => {
                let first_clock = 2 * (self.tck + self.config.timing.cwl_tck);
                self.operands.expect(first_clock, word);
                if let Some(BusRequest::Write { data, .. }) = self.transfers.pop_front() {
                    match data {
                        // A tCK sooner, for the re-layout unit.
                        Shared::Host(beats) => {
                            self.from_host.push(first_clock - 2, beats);
                            self.traffic.write(first_clock / 2 - 1);
                        }
                        Shared::RankPu(burst) => {
                            self.from_rank_pu.push(first_clock, beats_of(&burst));
                        }
                    }
                }
            }
            DramCommand::RdResult { results } => {
                events.results_taken = true;
                if let Some(BusRequest::Results { sum, .. }) = self.transfers.pop_front() {
                    let from_tck = self.tck + self.config.timing.cl_tck;
                    let partial = match sum {
                        Sum::Lanes(Lanes { place, goes_on: true, first: true, .. }) => {
                            Partial::Lanes(self.partial_sums[place])
                        }
                        Sum::Outputs(Outputs { place, goes_on: true, .. }) => {
                            Partial::Outputs(self.softmax.partial_outputs(place))
                        }
                        _ => Partial::None,
                    };
                    self.sum_path.read_results(from_tck, results, sum, partial);
                }
            }
            _ => {}
        }
        None
    }

    /// Tells whoever watches, and the arrays.
    fn on_pins(&mut self, command: DramCommand) {
        if let Some(watch) = &mut self.watch {
            watch.command(self.tck, command);
        }
        self.chips.command(self.tck, command);
        if command == DramCommand::Ref {
            self.refreshed_tck = self.tck + self.config.timing.rfc_tck;
        }
        self.accounts.statistics.commands[command.number()] += 1;
    }

    fn account(&mut self, command: Option<DramCommand>, read: Option<AllBankRead>) {
        debug_assert!(matches!(command, Some(DramCommand::RdAll { .. })) == read.is_some());
        match read {
            Some(read) => {
                let gap = if read.opens { Gap::Fill } else { Gap::Bubble };
                self.accounts.used(self.tck, gap);
            }
            None if self.tck < self.refreshed_tck => {
                self.accounts.idle(self.tck, Some(Cause::Refresh));
            }
            None => self.accounts.idle(self.tck, self.control.cause()),
        }
    }

    fn step_bank_pus(
        &mut self,
        read: Option<AllBankRead>,
        events: &mut Events,
    ) -> Result<(), RankError> {
        let Self { chips, sum_path, tck, .. } = self;
        let read = read.as_ref().map(|read| (read, chips.read_all_banks(read.column)));
        events.results = sum_path.step_bank_pus(*tck, read)?;
        Ok(())
    }

    /// Operands to the shared buffers, two beats in a tCK.
    fn step_operands(&mut self, events: &mut Events) -> Result<(), RankError> {
        self.bus = BusTraffic::default();
        if self.operands.is_empty() {
            return Ok(());
        }
        for (n, clock) in [2 * self.tck, 2 * self.tck + 1].into_iter().enumerate() {
            let host = self.from_host.beat(clock);
            let relaid = self.buffer_chip.step(Sides { host, chips: None })?.chips;
            let beat = relaid.or(self.from_rank_pu.beat(clock));
            self.on_bus(BusDriver::BufferChip, beat.is_some());
            self.bus.operands[n] = beat;
            if let Some((word, beats)) = self.operands.beat(clock, beat) {
                let burst = burst_of(&beats);
                self.sum_path.write_shared(word, burst);
                self.bus.written = Some((word, burst));
                events.written = true;
            }
        }
        Ok(())
    }

    /// Results through the adder unit. Returns a score that comes out of it.
    fn step_adder_unit(&mut self, events: &mut Events) -> Result<Option<(u16, Score)>, RankError> {
        let Sums { from_bus, tree, lanes } = self.sum_path.step_adder_unit(self.tck)?;
        self.bus.results = from_bus;
        self.accounts.statistics.adder_unit_cycles += u64::from(from_bus);
        self.on_bus(BusDriver::Chips, from_bus);
        match lanes {
            Some((sums, Lanes { head, complete: true, .. })) => {
                self.sums.extend(sums.map(|sum| (sum, head)));
            }
            Some((sums, Lanes { place, .. })) => self.partial_sums[place] = sums,
            None => {}
        }
        match tree {
            Some((bits, TreeSum::Score(score))) => {
                events.score = Some((bits, score));
                return Ok(Some((bits, score)));
            }
            Some((bits, TreeSum::Output { complete: true, .. })) => events.output = Some(bits),
            Some((bits, TreeSum::Output { place, .. })) => {
                self.softmax.keep(place, bits);
            }
            None => {}
        }
        Ok(None)
    }

    /// Scores, weights and, where they are normalised late, sums through the softmax unit.
    fn step_softmax(
        &mut self,
        requests: &Requests,
        score: Option<(u16, Score)>,
        events: &mut Events,
    ) -> Result<(), RankError> {
        let sum = self.sums.front().copied();
        let late = self.softmax.is_late();
        let widened = sum.filter(|_| late).map(|(sum, head)| (self.sum_path.binary32(sum), head));
        let weigh = requests.weigh.map(|of| self.weights.score(&of));
        let given = Given { score, finish: requests.finish, weigh, sum: widened };
        let made = self.softmax.step(&given)?;
        let narrow = sum.filter(|_| !late).map(|(sum, head)| (self.sum_path.binary16(sum), head));
        if made.sum_taken || narrow.is_some() {
            self.sums.pop_front();
        }
        let busy = score.is_some() || made.weigh_taken || made.sum_taken;
        self.accounts.statistics.softmax_unit_cycles += u64::from(busy);
        events.scaled = made.scaled;
        events.finish_taken = made.finish_taken;
        events.finished = made.finished;
        if let Some(of) = requests.weigh.filter(|_| made.weigh_taken) {
            events.weigh_taken = self.weights.take_score(&of);
        }
        if let Some(bits) = made.weight {
            let (head, complete) = self.weights.take_weight(bits);
            events.weight = Some((bits, head));
            events.word_made = complete;
        }
        events.context = made.context.or(narrow);
        Ok(())
    }

    /// Whether `driver` drives the chips' data bus in a clock of this tCK.
    fn on_bus(&mut self, driver: BusDriver, drives: bool) {
        if !drives {
            return;
        }
        match &mut self.transfer {
            Some(transfer) if transfer.driver == driver => transfer.until_tck = self.tck + 1,
            other => {
                if let Some(transfer) = other.take() {
                    tell(&mut self.watch, &transfer);
                }
                *other = Some(Transfer { from_tck: self.tck, until_tck: self.tck + 1, driver });
            }
        }
    }

    /// Tells whoever watches of a burst that is over.
    fn see_transfer(&mut self) {
        let burst_tck = self.config.timing.burst_tck;
        let over = |transfer: &mut Transfer| {
            transfer.until_tck < self.tck || transfer.until_tck == transfer.from_tck + burst_tck
        };
        if let Some(transfer) = self.transfer.take_if(over) {
            self.accounts.statistics.bus_cycles += transfer.until_tck - transfer.from_tck;
            tell(&mut self.watch, &transfer);
        }
    }
}

fn tell(watch: &mut Option<Box<dyn PinWatch>>, transfer: &Transfer) {
    if let Some(watch) = watch {
        watch.data(transfer.from_tck, transfer.until_tck, transfer.driver);
    }
}
