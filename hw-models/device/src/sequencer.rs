// SPDX-License-Identifier: MIT
//! The sequencer between the dispatcher and the rank's ports: what it asks the rank for, and what it is
//! told of it. What it does stands in [`pimlico_units::rank::Sequencer`].

use crate::command::Results;
use crate::config::Config;
use crate::data_bus::Beats;
use crate::dispatch::DispatchError;
use crate::options::SumFormat;
use crate::requests::{
    AllBankRead, ArrayRequest, BusRequest, Events, Lanes, Outputs, Requests, Scores, Shared, Sum,
    Weigh,
};
use crate::sizes::{CHIPS, LANES, PARTIAL_SUMS, SCORE_BUFFER};
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{Fault, ResultAddress, SumKind};
use pimlico_ports::{Enumerated, Instances, Mismatch, U};
use pimlico_units::module::DispatcherOut;
use pimlico_units::rank::{Sequencer as Unit, SequencerIn, SequencerOut};

/// The most bursts of the host that the sequencer is told of.
const MOST_OPERANDS: usize = 127;

/// The sequencer.
pub struct Sequencer {
    unit: Box<dyn Instances<Unit>>,
    /// Its inputs without an event.
    controls: SequencerIn,
    /// What it asks for.
    asked: SequencerOut,
    /// What it put out in the last clock.
    output: SequencerOut,
    /// The host's next burst.
    operand: Beats,
}

/// The sequencer's ports in a tCK.
#[derive(Clone, Copy, Debug)]
pub struct SequencerPorts<'a> {
    /// What it asks for.
    pub asked: &'a SequencerOut,
    /// Bursts that the host has for it; 127 for more.
    pub operands: u64,
    /// The first of them; 0 if there is none.
    pub operand: &'a Beats,
}

impl Sequencer {
    /// One that has been reset.
    pub fn new(unit: Box<dyn Instances<Unit>>, config: &Config, sums: SumFormat) -> Self {
        let controls = SequencerIn {
            rows_i: U::new(config.organisation.rows as u64),
            columns_i: U::new(config.columns() as u64),
            burst_i: config.timing.burst_tck as u8,
            wide_i: sums == SumFormat::Binary32,
            ..Default::default()
        };
        let [asked, output] = [SequencerOut::default(); 2];
        Self { unit, controls, asked, output, operand: Beats::default() }
    }

    /// A run starts.
    pub fn start(&mut self) -> Result<(), Box<Mismatch>> {
        self.clock(SequencerIn { start_i: true, ..self.controls })
    }

    /// What it asks for in this tCK, where the host still has these bursts.
    pub fn asks(&mut self, operands: &[Beats]) -> Result<&SequencerOut, Box<Mismatch>> {
        self.controls.operands_i = U::new(operands.len().min(MOST_OPERANDS) as u64);
        self.operand = operands.first().copied().unwrap_or_default();
        let Self { unit, controls, asked, .. } = self;
        unit.settle(std::slice::from_ref(controls), std::slice::from_mut(asked))?;
        Ok(&self.asked)
    }

    /// What it asks for, and what the host has for it.
    pub fn ports(&self) -> SequencerPorts<'_> {
        SequencerPorts {
            asked: &self.asked,
            operands: self.controls.operands_i.get(),
            operand: &self.operand,
        }
    }

    /// The tCK ends, with the dispatcher's ports in it and what the rank did.
    pub fn step(&mut self, from: &DispatcherOut, events: &Events) -> Result<(), Box<Mismatch>> {
        let input = SequencerIn {
            done_i: from.done_o,
            dispatch_valid_i: from.dispatch_valid_o,
            dispatch_kind_i: from.dispatch_kind_o,
            dispatch_head_i: from.dispatch_head_o,
            dispatch_row_i: from.dispatch_row_o,
            dispatch_place_i: from.dispatch_place_o,
            dispatch_column_i: from.dispatch_column_o,
            dispatch_word_i: from.dispatch_word_o,
            dispatch_first_i: from.dispatch_first_o,
            dispatch_last_i: from.dispatch_last_o,
            dispatch_opens_i: from.dispatch_opens_o,
            dispatch_tokens_i: from.dispatch_tokens_o,
            array_taken_i: events.array_taken,
            bus_taken_i: events.bus_taken,
            finish_taken_i: events.finish_taken,
            weigh_taken_i: events.weigh_taken,
            read_i: events.read,
            results_taken_i: events.results_taken,
            written_i: events.written,
            results_i: events.results,
            scaled_i: events.scaled,
            finished_i: events.finished,
            weight_valid_i: events.weight.is_some(),
            weight_i: events.weight.unwrap_or_default(),
            context_valid_i: events.context.is_some(),
            output_valid_i: events.output.is_some(),
            ..self.controls
        };
        self.clock(input)
    }

    fn clock(&mut self, input: SequencerIn) -> Result<(), Box<Mismatch>> {
        self.unit.step(&[input], std::slice::from_mut(&mut self.output))
    }
}

/// What the rank is asked for. `operand` is the host's next burst.
pub fn requests(asked: &SequencerOut, operand: Option<&Beats>) -> Requests {
    let number = |value: u64| value as usize;
    let array = asked.array_valid_o.then(|| match asked.array_close_o {
        true => ArrayRequest::CloseAll,
        false => ArrayRequest::Read(AllBankRead {
            row: asked.array_row_o.into(),
            column: asked.array_column_o.into(),
            shared: asked.array_shared_o.into(),
            accumulate: asked.array_accumulate_o,
            first: asked.array_first_o,
            last: asked.array_last_o,
            opens: asked.array_opens_o,
        }),
    });
    let bus = asked.bus_valid_o.then(|| match asked.bus_write_o {
        true => BusRequest::Write {
            word: asked.bus_address_o.into(),
            data: match operand.filter(|_| asked.bus_host_o) {
                Some(beats) => Shared::Host(*beats),
                None => Shared::RankPu([asked.bus_weights_o; CHIPS]),
            },
        },
        false => BusRequest::Results {
            results: Results::from_address(asked.bus_address_o.into()),
            sum: sum(asked),
        },
    });
    Requests {
        array,
        bus,
        finish: asked.finish_valid_o.then(|| number(asked.finish_head_o.get())),
        weigh: asked.weigh_valid_o.then(|| Weigh {
            place: number(asked.weigh_place_o.get()),
            head: number(asked.weigh_head_o.get()),
        }),
        head_end: asked.head_end_o,
    }
}

/// What the adder unit does with the results that are asked for.
fn sum(asked: &SequencerOut) -> Sum {
    let (head, place) = (asked.sum_head_o.get() as usize, asked.sum_place_o.get() as usize);
    let (first, last) = (asked.sum_first_o, asked.sum_last_o);
    let (goes_on, complete) = (asked.sum_goes_on_o, asked.sum_complete_o);
    match SumKind::from_code(asked.sum_kind_o.get()).unwrap_or_default() {
        SumKind::Scores => Sum::Tree(Scores {
            head,
            first,
            tokens: asked.sum_tokens_o.get() as usize,
            place: asked.sum_keep_o.then_some(place),
        }),
        SumKind::Outputs => Sum::Outputs(Outputs { place, goes_on, complete }),
        SumKind::Context => Sum::Lanes(Lanes { head, first, last, place, goes_on, complete }),
    }
}

/// The error of a fault that came of a command, if it is one.
pub fn error(fault: Fault, command: &DispatcherOut, config: &Config) -> Option<DispatchError> {
    let kind = Opcode::from_code(command.dispatch_kind_o.get()).unwrap_or_default();
    let place = command.dispatch_place_o.get() as usize;
    let count = LANES.min(command.dispatch_tokens_o.get() as usize);
    let field =
        |field, value, limit| DispatchError::Field { command: kind.name(), field, value, limit };
    Some(match fault {
        Fault::None => return None,
        Fault::UnknownCommand => DispatchError::UnknownCommand,
        Fault::NoRow => field("row", command.dispatch_row_o.into(), config.organisation.rows),
        Fault::NoColumn => field("column", command.dispatch_column_o.into(), config.columns()),
        Fault::NoPlace => match kind {
            Opcode::RdResult if ResultAddress::of_bits(command.dispatch_word_o).context_sums => {
                field("place", place, PARTIAL_SUMS)
            }
            Opcode::RdResult => field("place", place + LANES - 1, SCORE_BUFFER),
            _ => field("place", place + count.saturating_sub(1), SCORE_BUFFER),
        },
        Fault::NoTokens => DispatchError::NoTokens,
        Fault::NoOperand => DispatchError::Operands,
        Fault::Overwritten => DispatchError::Overwritten,
        Fault::Unpaired => DispatchError::Unpaired,
    })
}
