// SPDX-License-Identifier: MIT
//! The channel's model.

use super::data::Data;
use super::lines::Ahead;
use super::modes::Modes;
use super::numbers::{Happens, Numbers};
use super::{AimChannelIn, AimChannelOut, AimChannelProbe};
use crate::prim::Fifo;
use crate::rank::{
    RankController, RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn,
};
use pimlico_dpa::types::{
    AimCommand, AimEvents, AimKind, ArrayKind, ArrayRequest, BusRequest, Mac, PinCommand, Sum,
};
use pimlico_ports::{Model, Unit};

/// AimResults that wait, at the most.
const MOST_RESULTS: u32 = 31;

/// The cycle model of a channel with two sides in its buffers, or one.
///
#[doc = contract!("channel/aim_channel")]
#[derive(Clone)]
pub struct AimChannel<const PINGPONG: bool = true> {
    /// Commands for the arrays, and the columns of the oldest that were accepted.
    arrays: Fifo<AimCommand, 16>,
    columns: u8,
    /// Words of the fillings that wait, and those of the oldest that were requested.
    fillings: Fifo<u8, 4>,
    words: u8,
    /// A request for the arrays was not accepted in the last cycle.
    array_held: bool,
    /// The request for the data lines that was not.
    bus_held: Option<BusRequest>,
    numbers: Numbers,
    /// Requests that the rank controller has accepted and that were not on the pins.
    arrays_ahead: u32,
    ahead: Ahead,
    modes: Modes,
    rank_controller: RankController<2>,
    refresh_manager: RefreshManager,
    /// What the refresh manager has asked for in the last cycle: where it costs nothing, and now.
    refresh: [bool; 2],
    /// All banks are closed.
    closed: bool,
    data: Data<PINGPONG>,
}

impl<const PINGPONG: bool> Unit for AimChannel<PINGPONG> {
    const MODULE: &'static str = "aim_channel";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("PINGPONG", PINGPONG as i64)];
    type In = AimChannelIn;
    type Out = AimChannelOut;
    type Probe = AimChannelProbe;

    fn variant() -> String {
        if PINGPONG { String::new() } else { "single".to_owned() }
    }
}

impl<const PINGPONG: bool> Model for AimChannel<PINGPONG> {
    fn new() -> Self {
        Self {
            arrays: Fifo::new(),
            columns: 0,
            fillings: Fifo::new(),
            words: 0,
            array_held: false,
            bus_held: None,
            numbers: Numbers::default(),
            arrays_ahead: 0,
            ahead: Ahead::default(),
            modes: Modes::default(),
            rank_controller: RankController::new(),
            refresh_manager: RefreshManager::new(),
            refresh: [false; 2],
            closed: true,
            data: Data::new(),
        }
    }

    fn reset(&mut self) {
        let mut data = std::mem::replace(&mut self.data, Data::new());
        data.reset();
        *self = Self { data, ..Self::new() };
    }

    fn probe(&self) -> Self::Probe {
        AimChannelProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let controlled = self.rank_controller.settle(&self.controller_in(input));
        self.output(input, &controlled)
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let asked = self.controller_in(input);
        let controlled = self.rank_controller.step(&asked);
        let output = self.output(input, &controlled);
        let happens = self.happens(&asked, &controlled, &output, input);
        let closes = asked.array_i.kind == ArrayKind::CloseAll;
        let head_end_i = asked.array_valid_i && !self.array_held && closes;

        self.step_refresh_manager(head_end_i, &controlled, input);
        self.step_arrays(&asked, &controlled, input, output.command_ready_o);
        self.step_lines(&asked, &controlled, input, output.command_ready_o);
        self.numbers.clock(&happens);
        self.modes.clock(controlled.pins_o.command, controlled.bus_pins_o.command);
        self.step_banks(controlled.pins_o.command);
        self.data.step(&controlled, input);
        output
    }
}

impl<const PINGPONG: bool> AimChannel<PINGPONG> {
    /// Sides of the buffers.
    const SIDES: u32 = if PINGPONG { 2 } else { 1 };

    // ---------------------------------------------------------------------------------- requests

    fn controller_in(&self, input: &AimChannelIn) -> RankControllerIn {
        let array = self.array_request(input);
        let bus = self.bus_request(input);
        RankControllerIn {
            timing_i: input.timing_i,
            array_valid_i: array.is_some(),
            array_i: array.unwrap_or_default(),
            bus_valid_i: bus.is_some(),
            bus_i: bus.unwrap_or_default(),
            refresh_i: self.refresh[0],
            force_i: self.refresh[1],
        }
    }

    /// What the array port is asked for.
    fn array_request(&self, input: &AimChannelIn) -> Option<ArrayRequest> {
        let command = self.arrays.oldest()?;
        let AimCommand { kind, bank, row, column, word, frees, .. } = *command;
        let change = input.mode_change_i;
        let is_last = self.columns + 1 == command.count.get() as u8;
        let mac = Mac {
            word: word.get() as u8 + self.columns,
            accumulate: false,
            first: command.first && self.columns == 0,
            last: command.last && is_last,
            opens: frees && is_last,
        };
        let may = match kind {
            AimKind::Mac => self.may_read(&mac, change),
            AimKind::Write => PINGPONG || self.modes.allow_arrays(change),
            _ => self.numbers.sums == 0,
        };
        let request = match kind {
            AimKind::Mac => ArrayRequest {
                kind: ArrayKind::ReadAll,
                row,
                column: column.wrapping_add(self.columns),
                mac,
                ..Default::default()
            },
            AimKind::Write => {
                ArrayRequest { kind: ArrayKind::Wr, bank, row, column, ..Default::default() }
            }
            _ => ArrayRequest { kind: ArrayKind::CloseAll, ..Default::default() },
        };
        (self.array_held || may).then_some(request)
    }

    /// Whether a column may be requested.
    fn may_read(&self, mac: &Mac, change: u8) -> bool {
        let in_turn = match PINGPONG {
            true => !mac.last || self.has_room(),
            false => (!mac.first || self.numbers.sums == 0) && self.modes.allow_arrays(change),
        };
        self.numbers.filled > 0 && in_turn
    }

    /// Whether the results of a sum will find a side of their registers free.
    fn has_room(&self) -> bool {
        let Numbers { sums, aged, asked, .. } = self.numbers;
        let front = self.ahead.front();
        let Some(nth) = sums.checked_sub(Self::SIDES + front) else { return true };
        let no_words = self.fillings.is_empty() && !self.ahead.has_word();
        no_words && self.bus_held.is_none() && nth < aged && nth < asked
    }

    /// What the bus port is asked for.
    fn bus_request(&self, input: &AimChannelIn) -> Option<BusRequest> {
        if self.bus_held.is_some() {
            return self.bus_held;
        }
        let Numbers { used, sums, ready, asked, claimed, .. } = self.numbers;
        if !PINGPONG && !self.modes.allow_lines(input.mode_change_i) {
            return None;
        }
        if ready > 0 && asked > 0 {
            return Some(BusRequest::default());
        }
        let count = *self.fillings.oldest()?;
        let in_turn = match PINGPONG {
            true => sums <= Self::SIDES + self.ahead.front(),
            false => sums == 0,
        };
        let is_there = claimed < input.operands_i.get() as u32;
        let sum = Sum { last: self.words + 1 == count, ..Sum::default() };
        let word = BusRequest { write: true, address: self.words, sum, ..Default::default() };
        (used < Self::SIDES && is_there && in_turn).then_some(word)
    }

    // ------------------------------------------------------------------------------------ cycles

    fn happens(
        &self,
        asked: &RankControllerIn,
        controlled: &RankControllerOut,
        output: &AimChannelOut,
        input: &AimChannelIn,
    ) -> Happens {
        let mac = asked.array_i.mac;
        let array = asked.array_valid_i && !self.array_held;
        let bus = asked.bus_valid_i && self.bus_held.is_none();
        let word = bus && asked.bus_i.write;
        let on_pins = controlled.bus_pins_o.command;
        let of_results = input.command_i.kind == AimKind::Results;
        Happens {
            results_accepted: input.command_valid_i && output.command_ready_o && of_results,
            frees_requested: array && mac.opens,
            frees_on_pins: controlled.mac_o.opens,
            last_requested: array && mac.last,
            last_on_pins: controlled.mac_o.last,
            word_requested: word,
            last_word_requested: word && asked.bus_i.sum.last,
            last_word_on_pins: controlled.transfer_o.sum.last,
            operand_taken: output.operand_taken_o,
            results_requested: bus && !asked.bus_i.write,
            results_on_pins: on_pins == PinCommand::RdResult,
        }
    }

    fn step_refresh_manager(
        &mut self,
        head_end_i: bool,
        controlled: &RankControllerOut,
        input: &AimChannelIn,
    ) {
        let asked = self.refresh_manager.step(&RefreshManagerIn {
            enable_i: input.options_i.refresh,
            refi_i: input.timing_i.refi,
            head_end_i,
            idle_i: controlled.idle_o,
            done_i: controlled.refresh_issued_o,
        });
        self.refresh = [asked.refresh_o, asked.force_o];
    }

    fn step_arrays(
        &mut self,
        asked: &RankControllerIn,
        controlled: &RankControllerOut,
        input: &AimChannelIn,
        ready: bool,
    ) {
        let accepted = asked.array_valid_i && controlled.array_ready_o;
        self.array_held = asked.array_valid_i && !accepted;
        let of_mac = asked.array_i.kind == ArrayKind::ReadAll;
        let count = self.arrays.oldest().map_or(0, |command| command.count.get() as u8);
        let ends = accepted && (!of_mac || self.columns + 1 == count);
        self.columns = match (accepted, ends) {
            (_, true) => 0,
            (true, false) => self.columns + 1,
            _ => self.columns,
        };
        let kinds = [AimKind::Mac, AimKind::Write, AimKind::Close];
        let enters = input.command_valid_i && ready && kinds.contains(&input.command_i.kind);
        self.arrays.clock(ends, enters.then_some(input.command_i));
        self.arrays_ahead += u32::from(accepted);
        self.arrays_ahead -= u32::from(controlled.array_issued_o);
    }

    fn step_lines(
        &mut self,
        asked: &RankControllerIn,
        controlled: &RankControllerOut,
        input: &AimChannelIn,
        ready: bool,
    ) {
        let request = Some(asked.bus_i).filter(|_| asked.bus_valid_i);
        let first = request.filter(|request| request.write && self.bus_held.is_none());
        let accepted = request.filter(|_| controlled.bus_ready_o);
        self.bus_held = request.filter(|_| accepted.is_none());
        let ends = first.is_some_and(|word| word.sum.last);
        self.words = match first {
            Some(_) if ends => 0,
            Some(_) => self.words + 1,
            None => self.words,
        };
        let AimCommand { kind, count, .. } = input.command_i;
        let enters = input.command_valid_i && ready && kind == AimKind::Fill;
        self.fillings.clock(ends, enters.then_some(count.get() as u8));
        self.ahead.clock(controlled.bus_issued_o, accepted.map(|request| request.write));
    }

    fn step_banks(&mut self, command: PinCommand) {
        match command {
            PinCommand::Act | PinCommand::ActAll => self.closed = false,
            PinCommand::PreAll => self.closed = true,
            _ => {}
        }
    }

    // ----------------------------------------------------------------------------------- outputs

    /// Whether the queue of a command has room.
    pub(crate) fn has_room_for(&self, kind: AimKind) -> bool {
        match kind {
            AimKind::Fill => !self.fillings.is_full(),
            AimKind::Results => self.numbers.asked < MOST_RESULTS,
            _ => !self.arrays.is_full(),
        }
    }

    fn is_idle(&self) -> bool {
        let queued = !self.arrays.is_empty() || !self.fillings.is_empty() || self.numbers.asked > 0;
        let ahead = self.arrays_ahead > 0 || !self.ahead.is_empty() || self.bus_held.is_some();
        !queued && !ahead && self.numbers.sums == 0 && self.data.is_idle()
    }

    fn output(&self, input: &AimChannelIn, controlled: &RankControllerOut) -> AimChannelOut {
        let lines = self.data.lines(input);
        let idle_o = self.is_idle();
        let owed = self.refresh_manager.settle(&RefreshManagerIn::default()).owed_o.get();
        AimChannelOut {
            command_ready_o: self.has_room_for(input.command_i.kind),
            operand_taken_o: lines.operand_taken,
            write_taken_o: lines.write_taken,
            result_valid_o: lines.result_valid,
            dq_valid_o: lines.operand_taken || lines.write_taken || lines.result_valid,
            dq_o: lines.word,
            pins_o: controlled.pins_o,
            bus_pins_o: controlled.bus_pins_o,
            events_o: AimEvents {
                read: controlled.pins_o.command == PinCommand::RdAll,
                written: self.data.is_written(),
                results: self.data.has_results(),
                lost_row_switch: controlled.lost_row_switch_o,
                lost_refresh: controlled.lost_refresh_o,
            },
            idle_o,
            settled_o: idle_o && self.closed && owed == 0,
        }
    }
}
