// SPDX-License-Identifier: MIT
//! A rank and what is in it, one tCK at a time.

use super::bank_pus::Read;
use super::control::RankControl;
use super::front::Front;
use super::host::{Host, Shown};
use super::operands::Operands;
use super::patience::Patience;
use super::play::Play;
use super::sequencer::Sequencer;
use super::slot::Slots;
use super::softening::Behind;
use super::softmax::{SoftmaxWay, softmax_way};
use super::sums::{Added, SumWay, WATCHED, sum_way};
use super::watch::{UnitInput, UnitWatch};
use super::wave::RankWave;
use crate::accounts::Cause;
use crate::buffer_chip::Sides;
use crate::chips::Chips;
use crate::config::Config;
use crate::data_bus::Beats;
use crate::dispatch::Made;
use crate::dram::Dram;
use crate::error::DeviceError;
use crate::laps::{KnownLaps, Laps};
use crate::options::Options;
use crate::pins::BusDriver;
use crate::record::Record;
use pimlico_dpa::types::{PinCommand, Pins, RankEvents, RankResults};
use pimlico_units::rank::{PimKey, SequencerOut};
use std::collections::VecDeque;
use std::ops::Range;

/// A rank.
pub struct Rank {
    pub(super) config: Config,
    pub(super) options: Options,
    /// tCK since the reset, as the channel counts them.
    pub(super) now: u64,
    /// The same in the rank, whose cycles of the core are taken as a whole when they begin.
    pub(super) tck: u64,

    pub(super) host: Host,
    /// What the cycle of the core shows to the host's port.
    pub(super) shown: Shown,
    /// The run that goes on, for whoever waits for it.
    pub(super) patience: Patience,
    pub(super) front: Front,
    pub(super) sequencer: Sequencer,
    pub(super) control: RankControl,
    pub(super) chips: Chips,
    /// Whether they obey the commands of processing in memory.
    pub(super) key: PimKey,
    pub(super) operands: Operands,
    pub(super) sums: Box<dyn SumWay>,
    pub(super) softmax: Box<dyn SoftmaxWay>,

    pub(super) record: Record,
    pub(super) wave: Option<RankWave>,
    pub(super) watch: Option<Box<dyn UnitWatch>>,
    /// When the chips begin to drive the bursts of RD_RESULTs.
    pub(super) chips_drive: VecDeque<u64>,
    /// Slots of a run that are alike.
    pub(super) slots: Slots,
    /// Rows of it that are.
    pub(super) laps: Laps,
    /// What is played of them.
    pub(super) play: Option<Box<Play>>,
    /// Cycles in which it waited that were passed at once.
    pub(super) passed_waits: u64,
    /// Stretches of a host's writes that were passed at once.
    pub(super) passed_stretches: u64,
    /// A REF of the host has been on the pins in this cycle of the core.
    pub(super) refreshed: bool,
    /// The context and the outputs of the cycle of the core, if it has any.
    pub(super) results: Option<RankResults>,
}

impl Rank {
    /// A rank that has been reset, with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a rank: see [`Config::check_rank`].
    pub fn new(config: Config, options: Options) -> Self {
        let config = config.at_gear(options.gear);
        let chips = Chips::new(&config).unwrap_or_else(|error| panic!("no rank: {error}"));
        Self {
            now: 0,
            tck: 0,
            host: Host::new(&config, &options),
            shown: Shown::default(),
            patience: Patience::default(),
            front: Front::new(),
            sequencer: Sequencer::new(&config, &options),
            control: RankControl::new(&config.timing, &options),
            chips,
            key: PimKey::default(),
            operands: Operands::new(config.timing.cwl_tck),
            sums: sum_way(&config, &options),
            softmax: softmax_way(&options),
            record: Record::new(&config.timing),
            wave: None,
            watch: None,
            chips_drive: VecDeque::with_capacity(16),
            slots: Slots::new(config.timing.ccd_l_tck.div_ceil(options.gear.tck() as u64)),
            laps: Laps::default(),
            play: None,
            passed_waits: 0,
            passed_stretches: 0,
            refreshed: false,
            results: None,
            config,
            options,
        }
    }

    /// Whether the rank controller has a REF on the pins in this cycle of the core.
    pub(super) fn refreshes(&self) -> bool {
        self.control.pins().command == PinCommand::Ref
    }

    /// What the chips hold.
    pub fn dram(&self) -> &Dram {
        self.chips.dram()
    }

    /// Has the units watched from here on.
    pub fn watch_units(&mut self, watch: Box<dyn UnitWatch>) {
        self.sums.watch(WATCHED);
        self.softmax.watch();
        self.watch = Some(watch);
    }

    /// Arrays keep nothing, and of the PUs at the banks only those at the first are there.
    pub(super) fn leave_data_out(&mut self, known: &KnownLaps) {
        self.chips.leave_data_out();
        self.sums.leave_data_out();
        (self.laps.wanted, self.laps.known) = (true, known.clone());
    }

    /// What rows hold is of no further use.
    pub(super) fn forget(&mut self, rows: Range<usize>) {
        self.chips.forget(rows);
    }

    /// Whether nothing is under way, no row is open and no REF owed, so that the host may have the pins, where
    /// the sequencer has nothing left to request. The last REF may still be going on.
    pub(super) fn is_settled(&self) -> bool {
        self.control.is_settled()
            && self.chips.is_closed()
            && self.operands.is_idle()
            && self.sums.is_idle()
    }

    /// One cycle of the core, of processing in memory: what the sequencer requests, and the host's next burst. Returns
    /// what happens in it, and tells what is made.
    ///
    /// # Panics
    ///
    /// If a request is for a row, column or word that does not exist.
    pub(super) fn cycle(
        &mut self,
        asked: &SequencerOut,
        operand: Option<&Beats>,
        made: &mut dyn FnMut(Made),
    ) -> Result<RankEvents, DeviceError> {
        let mut events = RankEvents::default();
        self.record.begin_tck(self.tck);
        let word_taken = self.step_control(asked, operand, &mut events);
        let pins = self.control.pins();
        self.on_pins(pins);
        // An RD_RESULT reads what a slot that begins with it brings.
        self.step_bank_pus(pins, &mut events);
        self.issue(pins, &mut events);
        let drives = self.step_operands(&mut events);
        let added = self.step_adder_unit();
        let works = self.step_softmax(asked, &added, word_taken, &mut events, made);
        if let Some(wave) = &mut self.wave {
            wave.record(pins, &*self.sums)?;
        }
        self.account(pins, drives, works);
        self.tck += self.gear();
        Ok(events)
    }

    /// tCK in a cycle of the core.
    pub(super) fn gear(&self) -> u64 {
        self.options.gear.tck() as u64
    }

    /// The tCK of a cycle for those who count: what was on the pins, in which of them the buffer chip drives
    /// the data bus, and whether the softmax unit works.
    pub(super) fn account(&mut self, pins: Pins, drives: [bool; 4], works: bool) {
        let cause = self.control.cause();
        if self.chips_drive.is_empty() && drives == [false; 4] && !self.record.draws() {
            return self.account_as_one(pins, cause, works);
        }
        for (tck, drives) in (self.tck..self.tck + self.gear()).zip(drives) {
            if tck > self.tck {
                self.record.begin_tck(tck);
            }
            let chips_drive = self.chips_drive(tck);
            if chips_drive {
                self.record.data(BusDriver::Chips);
            } else if drives {
                self.record.data(BusDriver::BufferChip);
            }
            match pins.command {
                PinCommand::RdAll if tck == self.tck => self.record.read(self.control.mac().opens),
                _ => self.record.no_read(cause),
            }
            self.record.adder_unit(chips_drive);
            self.record.softmax_unit(works);
            self.record.end_tck();
        }
    }

    /// The same at once, where nobody drives the data bus.
    fn account_as_one(&mut self, pins: Pins, cause: Option<Cause>, works: bool) {
        let tck = self.tck..self.tck + self.gear();
        if pins.command == PinCommand::RdAll {
            self.record.read(self.control.mac().opens);
            self.record.no_reads(tck.start + 1..tck.end, cause);
        } else {
            self.record.no_reads(tck.clone(), cause);
        }
        self.record.begin_tck(tck.end - 1);
        if works {
            tck.for_each(|_| self.record.softmax_unit(true));
        }
    }

    /// Whether the chips drive results.
    pub(super) fn chips_drive(&mut self, tck: u64) -> bool {
        let burst_tck = self.config.timing.burst_tck;
        while self.chips_drive.front().is_some_and(|from| from + burst_tck <= tck) {
            self.chips_drive.pop_front();
        }
        self.chips_drive.front().is_some_and(|from| *from <= tck)
    }

    /// One tCK as memory: the command on the pins, and what the host drives. Returns what the chips give.
    pub(super) fn step_as_memory(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
    ) -> [Option<u64>; 2] {
        self.record.begin_tck(self.tck);
        self.on_pins(pins);
        let mut seen = [None; 2];
        for (beat, (host, seen)) in (2 * self.tck..).zip(driven.into_iter().zip(&mut seen)) {
            let from = Sides { host, chips: self.chips.drive(beat) };
            let to = self.operands.buffer_chip.step(from);
            self.watch(|rank| rank.operands.buffer_chip.input().map(UnitInput::RelayoutUnit));
            self.chips.take(beat, to.chips);
            *seen = to.host;
            if from.chips.is_some() {
                self.record.data(BusDriver::Chips);
            }
            if to.chips.is_some() {
                self.record.data(BusDriver::BufferChip);
            }
        }
        self.record.no_read(Some(Cause::Host));
        self.record.end_tck();
        self.tck += 1;
        self.refreshed |= pins.command == PinCommand::Ref;
        if self.tck.is_multiple_of(self.gear()) {
            self.control.stand_still(std::mem::take(&mut self.refreshed));
            self.watch(|rank| Some(UnitInput::RefreshManager(rank.control.refresh_input())));
        }
        seen
    }

    /// The dispatcher has had a cycle.
    pub(super) fn watch_dispatcher(&mut self) {
        self.watch(|rank| Some(UnitInput::Dispatcher(rank.front.input())));
    }

    /// What is requested goes to controller and data path. Returns whether a word of weights leaves.
    fn step_control(
        &mut self,
        asked: &SequencerOut,
        operand: Option<&Beats>,
        events: &mut RankEvents,
    ) -> bool {
        [events.array_taken, events.bus_taken] = self.control.step(asked);
        let mut word_taken = asked.weights_drop_o;
        if events.bus_taken && asked.bus_o.write {
            match operand.filter(|_| asked.bus_o.host) {
                Some(beats) => self.operands.push_host(*beats),
                None => {
                    self.operands.push_weights(self.softmax.word());
                    word_taken = true;
                }
            }
        }
        self.watch(|rank| Some(UnitInput::RankController(rank.control.input())));
        self.watch(|rank| Some(UnitInput::RefreshManager(rank.control.refresh_input())));
        word_taken
    }

    /// A command on the pins, and the transfer that it begins.
    fn issue(&mut self, pins: Pins, events: &mut RankEvents) {
        match pins.command {
            PinCommand::RdAll => events.read = true,
            PinCommand::WrShared => {
                let is_of_host = self.operands.write(self.tck, pins.column());
                if is_of_host {
                    self.spoil_laps();
                }
            }
            PinCommand::RdResult => {
                events.results_taken = true;
                let request = self.control.transfer();
                let from_tck = self.tck + self.config.timing.cl_tck;
                self.chips_drive.push_back(from_tck);
                self.sums.read_results(from_tck, request);
            }
            _ => {}
        }
    }

    /// Tells whoever watches, and the arrays.
    pub(super) fn on_pins(&mut self, pins: Pins) {
        if pins.is_some() {
            self.record.command(pins);
            self.chips.command(self.tck, pins);
            self.key.command(pins);
        }
    }

    pub(super) fn step_bank_pus(&mut self, pins: Pins, events: &mut RankEvents) {
        let Self { chips, control, sums, tck, .. } = self;
        let read = (pins.command == PinCommand::RdAll).then(|| Read {
            mac: control.mac(),
            row: chips.row_of_all_banks(),
            column: pins.column(),
        });
        let (has_cycle, results) = sums.step_bank_pus(*tck, read, chips.dram());
        events.results = results;
        if has_cycle {
            self.watch(|rank| rank.sums.bank_pu_input());
        }
    }

    /// Operands to the shared buffers, two beats in a tCK. Returns in which tCK of the cycle the buffer chip
    /// drives the data bus.
    fn step_operands(&mut self, events: &mut RankEvents) -> [bool; 4] {
        let mut drives = [false; 4];
        if self.operands.is_idle() {
            return drives;
        }
        for (tck, drives) in (self.tck..self.tck + self.gear()).zip(&mut drives) {
            for beat in [2 * tck, 2 * tck + 1] {
                let on_bus = self.operands.step(beat);
                self.watch(|rank| rank.operands.buffer_chip.input().map(UnitInput::RelayoutUnit));
                *drives |= on_bus.drives;
                if let Some((word, burst)) = on_bus.written {
                    self.sums.write_shared(word, burst);
                    events.written = true;
                }
            }
        }
        drives
    }

    /// Results through the adder unit.
    pub(super) fn step_adder_unit(&mut self) -> Added {
        let added = self.sums.step_adder_unit(self.tck);
        self.watch(|rank| Some(rank.sums.adder_unit_input()));
        added
    }

    /// What comes out of the adder unit through the softmax unit. Returns whether that works.
    fn step_softmax(
        &mut self,
        asked: &SequencerOut,
        added: &Added,
        word_taken: bool,
        events: &mut RankEvents,
        tell: &mut dyn FnMut(Made),
    ) -> bool {
        let lanes = self.options.gear.tck();
        let mut behind = Behind { sums: &mut *self.sums, softmax: &mut *self.softmax, lanes };
        if self.watch.is_none() && behind.rests(asked, added, word_taken) {
            self.results = None;
            return false;
        }
        let works;
        (works, self.results) = behind.step(asked, added, word_taken, events, tell);
        if asked.finish_valid_o {
            self.spoil_laps();
        }
        self.watch(|rank| Some(UnitInput::SoftmaxUnit(rank.softmax.unit_input())));
        works
    }

    /// Shows the inputs of a unit to whoever watches.
    fn watch(&mut self, input: impl FnOnce(&Self) -> Option<UnitInput<'_>>) {
        if self.watch.is_none() {
            return;
        }
        let mut watch = self.watch.take();
        if let (Some(watch), Some(input)) = (&mut watch, input(self)) {
            watch.cycle(input);
        }
        self.watch = watch;
    }
}
