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
};
use crate::sizes::{CHIPS, LANES, PARTIAL_SUMS, SCORE_BUFFER};
use pimlico_dpa::types::{self, ArrayKind, BankSize, Fault, RankEvents, ResultAddress, SumKind};
use pimlico_dpa::{Dispatch, Opcode};
use pimlico_ports::{Instances, Mismatch, U};
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
            size_i: BankSize {
                rows: U::new(config.organisation.rows as u64),
                columns: U::new(config.columns() as u64),
            },
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
            done_i: from.end_valid_o,
            dispatch_valid_i: from.dispatch_valid_o,
            dispatch_i: from.dispatch_o,
            events_i: RankEvents {
                array_taken: events.array_taken,
                bus_taken: events.bus_taken,
                finish_taken: events.finish_taken,
                weigh_taken: events.weigh_taken,
                read: events.read,
                results_taken: events.results_taken,
                written: events.written,
                results: events.results,
                scaled: events.scaled,
                finished: events.finished,
                word_made: events.word_made,
                context_made: events.context.is_some(),
                output_made: events.output.is_some(),
            },
            ..self.controls
        };
        self.clock(input)
    }

    fn clock(&mut self, input: SequencerIn) -> Result<(), Box<Mismatch>> {
        self.unit.step(&[input], std::slice::from_mut(&mut self.output))
    }
}

/// What the rank is asked for. `operand` is the host's next burst, `word` the next word of weights.
pub fn requests(asked: &SequencerOut, operand: Option<&Beats>, word: u64) -> Requests {
    let types::ArrayRequest { kind, row, column, mac, .. } = asked.array_o;
    let array = asked.array_valid_o.then(|| match kind {
        ArrayKind::CloseAll => ArrayRequest::CloseAll,
        _ => ArrayRequest::Read(AllBankRead {
            row: row.into(),
            column: column.into(),
            shared: mac.word.into(),
            accumulate: mac.accumulate,
            first: mac.first,
            last: mac.last,
            opens: mac.opens,
        }),
    });
    let types::BusRequest { write, address, host, sum } = asked.bus_o;
    let bus = asked.bus_valid_o.then(|| match write {
        true => BusRequest::Write {
            word: address.into(),
            data: match operand.filter(|_| host) {
                Some(beats) => Shared::Host(*beats),
                None => Shared::RankPu([word; CHIPS]),
            },
        },
        false => BusRequest::Results {
            results: Results::from_address(address.into()),
            sum: sum_of(&sum),
        },
    });
    Requests {
        array,
        bus,
        finish: asked.finish_valid_o.then(|| asked.finish_o.head.get() as usize),
        weigh: asked.weigh_valid_o.then_some(asked.weigh_o),
        drops_word: asked.weights_drop_o,
        head_end: asked.head_end_o,
    }
}

/// What the adder unit does with the results that are asked for.
fn sum_of(sum: &types::Sum) -> Sum {
    let types::Sum { kind, first, last, goes_on, complete, .. } = *sum;
    let (head, place) = (sum.head.get() as usize, sum.place.get() as usize);
    match kind {
        SumKind::Scores => Sum::Tree(Scores {
            head,
            first,
            tokens: sum.tokens.get() as usize,
            place: sum.keep.then_some(place),
        }),
        SumKind::Outputs => Sum::Outputs(Outputs { place, goes_on, complete }),
        SumKind::Context => Sum::Lanes(Lanes { head, first, last, place, goes_on, complete }),
    }
}

/// The error of a fault that came of a command, if it is one.
pub fn error(fault: Fault, command: &Dispatch, config: &Config) -> Option<DispatchError> {
    let Dispatch { kind, row, column, word, .. } = *command;
    let place = command.place.get() as usize;
    let count = LANES.min(command.tokens.get() as usize);
    let field =
        |field, value, limit| DispatchError::Field { command: kind.name(), field, value, limit };
    Some(match fault {
        Fault::None => return None,
        Fault::UnknownCommand => DispatchError::UnknownCommand,
        Fault::NoRow => field("row", row.into(), config.organisation.rows),
        Fault::NoColumn => field("column", column.into(), config.columns()),
        Fault::NoPlace => match kind {
            Opcode::RdResult if ResultAddress::of_bits(word).context_sums => {
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
