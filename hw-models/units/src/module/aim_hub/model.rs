// SPDX-License-Identifier: MIT
//! The hub's model.

use super::adders::Adders;
use super::decode::{Around, Decode, Decoded};
use super::feeder::{Feeder, Reads};
use super::softmax::Softmax;
use super::{AimHubIn, AimHubOut, AimHubProbe, CHANNELS, Word};
use crate::channel::{AimChannel, AimChannelIn, AimChannelOut};
use crate::module::{Dispatcher, DispatcherIn, DispatcherOut};
use pimlico_dpa::types::{AimCommand, AimKind, Fault, RunEnd};
use pimlico_ports::{Model, U, Unit};
use std::array::from_fn;

/// The cycle model of a hub of two channels, with two sides in their buffers or one.
///
#[doc = contract!("module/aim_hub")]
#[derive(Clone)]
pub struct AimHub<const PINGPONG: bool = true> {
    /// It has the EPU's clock.
    dispatcher: Dispatcher,
    /// It is told to stop.
    stops: bool,
    decode: Decode,
    /// A program has ended since the last start.
    ended: bool,
    channels: [AimChannel<PINGPONG>; CHANNELS],
    feeder: Feeder,
    adders: Adders,
    softmax: Softmax,
    /// The second cycle of an EPU cycle.
    second: bool,
}

impl<const PINGPONG: bool> Unit for AimHub<PINGPONG> {
    const MODULE: &'static str = "aim_hub";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("CHANNELS", CHANNELS as i64), ("PINGPONG", PINGPONG as i64)];
    type In = AimHubIn;
    type Out = AimHubOut;
    type Probe = AimHubProbe;

    fn variant() -> String {
        if PINGPONG { String::new() } else { "single".to_owned() }
    }
}

/// What the EPU does to the GPR in a cycle: memories that are read and their line, memories that are written, their line
/// and the data.
#[derive(Clone, Copy, Default)]
struct Access {
    reads: Option<(u64, u16)>,
    /// What is read is what results are added to.
    adds: bool,
    writes: Option<(u64, u16, [Word; CHANNELS])>,
}

const ALL: u64 = (1 << CHANNELS) - 1;

impl<const PINGPONG: bool> Model for AimHub<PINGPONG> {
    fn new() -> Self {
        Self {
            dispatcher: Dispatcher::new(),
            stops: false,
            decode: Decode::new(),
            ended: false,
            channels: from_fn(|_| AimChannel::new()),
            feeder: Feeder::new(),
            adders: Adders::new(),
            softmax: Softmax::new(),
            second: false,
        }
    }

    fn reset(&mut self) {
        self.dispatcher.reset();
        self.channels.iter_mut().for_each(AimChannel::reset);
        (self.stops, self.decode, self.ended) = (false, Decode::new(), false);
        (self.feeder, self.adders, self.softmax) = (Feeder::new(), Adders::new(), Softmax::new());
        self.second = false;
    }

    fn probe(&self) -> Self::Probe {
        AimHubProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let to_dispatcher = self.dispatcher_in(input);
        // Its inputs are the cycle's, and registers: it can have its edge at once.
        let asked = match self.second {
            true => self.dispatcher.step(&to_dispatcher),
            false => self.dispatcher.settle(&to_dispatcher),
        };
        let decoded = self.decode(&asked);
        let access = if self.second { self.access() } else { Access::default() };
        let fed = self.feeder.reads().filter(|_| self.second && access.reads.is_none());
        let output = self.output(&asked, &decoded, &access, fed);

        let command = decoded.command.or_else(|| self.write(input));
        let channels = self.step_channels(input, command);
        self.step_epu(input, &decoded, &channels);
        self.feeder.clock(
            input.operand_valid_i.then_some(input.operand_i),
            &input.gpr_data_i,
            self.second.then_some(fed),
            channels[0].operand_taken_o,
            decoded.filling,
        );
        let starts = input.start_valid_i && output.start_ready_o;
        let faulty = self.decode.fault != Fault::None;
        self.decode.clock(&decoded, starts);
        if self.second {
            let dispatch = asked.dispatch_valid_o.then_some(asked.dispatch_o);
            self.decode.clock_epu(dispatch, &input.size_i);
            self.stops = faulty && !starts;
        }
        self.ended = output.end_valid_o || self.ended && !starts;
        self.second = !self.second;
        with_channels(output, &channels)
    }
}

/// The outputs that are those of the channels.
fn with_channels(output: AimHubOut, channels: &[AimChannelOut; CHANNELS]) -> AimHubOut {
    let [first, ..] = channels;
    let idle_o = output.idle_o && first.idle_o;
    AimHubOut {
        write_taken_o: first.write_taken_o,
        pins_o: first.pins_o,
        bus_pins_o: first.bus_pins_o,
        dq_valid_o: first.dq_valid_o,
        dq_o: channels.map(|channel| channel.dq_o),
        events_o: first.events_o,
        idle_o,
        over_o: idle_o && output.over_o,
        settled_o: idle_o && first.settled_o,
        ..output
    }
}

impl<const PINGPONG: bool> AimHub<PINGPONG> {
    fn dispatcher_in(&self, input: &AimHubIn) -> DispatcherIn {
        DispatcherIn {
            load_valid_i: input.load_valid_i,
            load_i: input.load_i,
            start_valid_i: input.start_valid_i,
            start_i: input.start_i,
            stop_i: self.stops,
            fetch_data_i: input.fetch_data_i,
            table_data_i: input.table_data_i,
            dispatch_ready_i: self.decode.is_ready,
        }
    }

    fn decode(&self, asked: &DispatcherOut) -> Decoded {
        let around = Around {
            filling_room: self.feeder.has_room(),
            feeds_gpr: self.feeder.feeds_gpr(),
            none_pending: self.adders.none_pending(),
            all_pending: self.adders.all_pending(),
            softmax_busy: self.softmax.busy,
            over: asked.start_ready_o,
        };
        self.decode.decode(&self.channels[0], &around)
    }

    /// The command of a WR of the host.
    fn write(&self, input: &AimHubIn) -> Option<AimCommand> {
        let AimHubIn { write_valid_i, write_i, .. } = *input;
        write_valid_i.then_some(AimCommand {
            kind: AimKind::Write,
            bank: write_i.bank,
            row: write_i.row,
            column: write_i.column,
            ..Default::default()
        })
    }

    /// What the EPU does to the GPR in this EPU cycle.
    fn access(&self) -> Access {
        let (adders, softmax) = (self.adders.access(), self.softmax.access());
        Access {
            adds: adders.reads.is_some(),
            reads: adders
                .reads
                .map(|line| (ALL, line))
                .or(softmax.reads.map(|(memory, line)| (1 << memory, line))),
            writes: adders.writes.map(|(line, words)| (ALL, line, words)).or(softmax
                .writes
                .map(|(memory, line, word)| (1 << memory, line, [word; CHANNELS]))),
        }
    }

    fn step_channels(
        &mut self,
        input: &AimHubIn,
        command: Option<AimCommand>,
    ) -> [AimChannelOut; CHANNELS] {
        let (words, operand_i) = self.feeder.words();
        from_fn(|channel| {
            self.channels[channel].step(&AimChannelIn {
                timing_i: input.timing_i,
                mode_change_i: input.mode_change_i,
                options_i: input.options_i,
                command_valid_i: command.is_some(),
                command_i: command.unwrap_or_default(),
                operands_i: U::new(words as u64),
                operand_i,
                write_i: input.write_data_i[channel],
                cells_i: input.cells_i[channel],
            })
        })
    }

    fn step_epu(
        &mut self,
        input: &AimHubIn,
        decoded: &Decoded,
        channels: &[AimChannelOut; CHANNELS],
    ) {
        if self.second {
            self.adders.clock_epu(&input.gpr_data_i);
            self.softmax.clock_epu(input.scale_i, &input.gpr_data_i);
        }
        let came = channels[0].result_valid_o.then(|| channels.map(|channel| channel.dq_o));
        self.adders.clock(decoded.place, came);
        if let Some(job) = decoded.job {
            self.softmax.take(job);
        }
    }

    /// The outputs, but for those of the channels.
    fn output(
        &self,
        asked: &DispatcherOut,
        decoded: &Decoded,
        access: &Access,
        fed: Option<Reads>,
    ) -> AimHubOut {
        let second = self.second;
        let fed =
            fed.map(|Reads { memory, line, pair }| ((1 | u64::from(pair) << 1) << memory, line));
        let (reads, read_line) = access.reads.or(fed).unwrap_or_default();
        let (writes, write_line, data) = access.writes.unwrap_or_default();
        let idle_o = asked.start_ready_o
            && !self.decode.is_busy()
            && self.feeder.is_idle()
            && self.adders.none_pending()
            && !self.softmax.busy;
        AimHubOut {
            load_ready_o: second,
            command_write_o: second && asked.command_write_o,
            table_write_o: second && asked.table_write_o,
            overflow_o: asked.overflow_o,
            start_ready_o: second && asked.start_ready_o,
            fetch_read_o: second && asked.fetch_read_o,
            fetch_address_o: asked.fetch_address_o,
            table_read_o: second && asked.table_read_o,
            table_address_o: asked.table_address_o,
            end_valid_o: second && asked.end_valid_o,
            end_o: if second { asked.end_o } else { RunEnd::default() },
            status_o: asked.status_o,
            fault_o: self.decode.fault,
            operand_ready_o: self.feeder.is_ready(),
            write_ready_o: !decoded.offers && self.channels[0].has_room_for(AimKind::Write),
            gpr_read_o: U::new(reads),
            gpr_adds_o: access.adds,
            gpr_read_address_o: U::new(read_line.into()),
            gpr_write_o: U::new(writes),
            gpr_write_address_o: U::new(write_line.into()),
            gpr_write_data_o: data,
            idle_o,
            over_o: self.ended,
            ..Default::default()
        }
    }
}
