// SPDX-License-Identifier: MIT
//! The sequencer's model.

use super::command::{Command, Read, ResultCommand, Weigh, decode};
use super::queue::Queue;
use super::weights::{self, Weights};
use super::{SequencerIn, SequencerOut, SequencerProbe};
use crate::rank::RankController;
use pimlico_dpa::types::{Fault, SumKind};
use pimlico_ports::{Enumerated, Model, U, Unit};

const ARRAY: usize = 32;
const RESULTS: usize = 64;
const OPERANDS: usize = 64;
const SOFTMAX: usize = 16;
/// Words of the shared buffers.
const WORDS: usize = 256;
/// Bursts of a chunk's results.
const CHUNK_BURSTS: u16 = 4;

/// Numbers a sum, modulo 256: so many are never in the queues.
type SumNumber = u8;

/// Whether a sum ended before another one in the program.
fn is_before(one: SumNumber, other: SumNumber) -> bool {
    other.wrapping_sub(one).wrapping_sub(1) < SumNumber::MAX / 2
}

#[derive(Clone, Copy)]
enum ArrayEntry {
    Read {
        read: Read,
        /// Which content of its word it works on.
        content: bool,
        /// The sum that it is part of.
        sum: SumNumber,
    },
    CloseAll,
}

#[derive(Clone, Copy)]
struct ResultEntry {
    command: ResultCommand,
    /// The sum that it takes away.
    sum: SumNumber,
}

impl ResultEntry {
    fn is_context(&self) -> bool {
        self.command.kind == SumKind::Context
    }
}

#[derive(Clone, Copy)]
struct OperandEntry {
    word: u8,
    from_host: bool,
    /// Which content of the word it is.
    content: bool,
}

#[derive(Clone, Copy)]
enum SoftmaxEntry {
    Finish { head: u8 },
    Weigh(Weigh),
}

/// The model of a sequencer.
#[derive(Clone)]
pub struct Sequencer {
    /// What the registers put out.
    output: SequencerOut,

    /// Between a start and the end of its CLOSE_ALL, if it needs one.
    over: bool,
    fault: Option<Fault>,
    door: Option<Command>,
    array: Queue<ArrayEntry, ARRAY>,
    results: Queue<ResultEntry, RESULTS>,
    operands: Queue<OperandEntry, OPERANDS>,
    softmax: Queue<SoftmaxEntry, SOFTMAX>,
    /// Bursts of the host in the operands queue.
    operands_asked: u64,
    /// WEIGHs that have entered without their WR_WEIGHTS.
    unpaired: usize,

    /// Of each word of the shared buffers, which content the last write that has entered gives it, and
    /// which it has.
    next_content: [bool; WORDS],
    content: [bool; WORDS],
    /// Sums that have ended among the MACs that have entered, and those whose results have come.
    ended: SumNumber,
    made: SumNumber,
    /// A MAC that ends a sum is taken and not on the pins.
    ending: bool,
    /// Clocks until a MAC that is a sum by itself may be asked for.
    pace: u16,
    /// An RD_RESULT of the context is taken and not on the pins.
    leaving: bool,
    /// Clocks until the next may be asked for.
    gap: u16,
    head_ended: bool,
    /// The last array command was a CLOSE_ALL.
    closed: bool,
    /// One is in the array queue.
    closing: bool,

    /// Scores that are asked for and not in the score buffer.
    scores: u16,
    /// Elements of results that are asked for and have not come.
    elements: u16,
    /// Reciprocals under way.
    finishing: u8,
    weights: Weights,
}

impl Unit for Sequencer {
    const MODULE: &'static str = "sequencer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = SequencerIn;
    type Out = SequencerOut;
    type Probe = SequencerProbe;
}

impl Sequencer {
    /// Whether nothing but the array queue has anything to do.
    fn is_quiet(&self) -> bool {
        self.results.is_empty()
            && self.operands.is_empty()
            && self.softmax.is_empty()
            && (self.scores, self.elements, self.finishing) == (0, 0, 0)
            && self.weights.is_idle()
    }

    /// Whether all that was dispatched is done.
    fn is_drained(&self) -> bool {
        self.door.is_none() && self.array.is_empty() && self.is_quiet()
    }

    /// Whether nothing has happened in this clock, and nothing is dispatched or enters: no register changes
    /// but those that count down.
    fn stands_still(&self, input: &SequencerIn) -> bool {
        let happens = input.start_i
            | input.done_i
            | input.array_taken_i
            | input.bus_taken_i
            | input.finish_taken_i
            | input.weigh_taken_i
            | input.read_i
            | input.results_taken_i
            | input.written_i
            | input.results_i
            | input.scaled_i
            | input.finished_i
            | input.weight_valid_i
            | input.context_valid_i
            | input.output_valid_i;
        // The door is open where it is empty or what is there enters.
        let moves = self.output.dispatch_ready_o && (input.dispatch_valid_i || self.door.is_some());
        let ends = self.output.array_close_o && !self.head_ended;
        !happens && !moves && !ends && !self.ends_unpaired() && !self.drops_word()
    }

    /// The clocks that are left. What may be asked for changes only where none are any more.
    fn count_down(&mut self) {
        let over = self.pace == 1 || self.gap == 1;
        self.pace = self.pace.saturating_sub(1);
        self.gap = self.gap.saturating_sub(1);
        if over {
            self.output = self.requests();
        }
    }

    /// Whether what is at the door goes into its queue in this clock.
    fn enters(&self) -> bool {
        let Some(command) = &self.door else { return false };
        if self.closing {
            return false;
        }
        let word_is_written = |word: u8| {
            let word = usize::from(word);
            self.next_content[word] == self.content[word]
        };
        match *command {
            Command::Read(_) | Command::CloseAll => self.array.has_room(),
            Command::Result(result) => {
                self.results.has_room() && (result.scores() == 0 || self.softmax.is_empty())
            }
            Command::Shared { word, behind_reads } => {
                let clear = !behind_reads || self.array.is_empty();
                self.operands.has_room() && word_is_written(word) && clear
            }
            Command::Weights { word } => self.operands.has_room() && word_is_written(word),
            Command::Finish { .. } | Command::Weigh(_) => self.softmax.has_room(),
        }
    }

    // ------------------------------------------------------------------------------- requests

    /// What the registers put out.
    fn requests(&self) -> SequencerOut {
        let mut output = SequencerOut {
            dispatch_ready_o: self.door.is_none() || self.enters(),
            fault_o: U::new(self.fault.unwrap_or_default().code()),
            ..Default::default()
        };
        let over = self.over && self.is_drained();
        output.done_o = over && self.closed;
        self.ask_array(over, &mut output);
        if !self.ask_for_results(&mut output) {
            self.ask_for_operand(&mut output);
        }
        self.ask_softmax(&mut output);
        output
    }

    fn ask_array(&self, over: bool, output: &mut SequencerOut) {
        let closes = match self.array.next() {
            Some(ArrayEntry::Read { read, content, sum }) => {
                let has_word = self.content[usize::from(read.shared)] == *content;
                if has_word && (!read.last || self.may_end(read, *sum)) {
                    output.array_valid_o = true;
                    output.array_row_o = read.row;
                    output.array_column_o = read.column;
                    output.array_shared_o = read.shared;
                    output.array_accumulate_o = read.accumulate;
                    output.array_first_o = read.first;
                    output.array_last_o = read.last;
                    output.array_opens_o = read.opens;
                }
                false
            }
            Some(ArrayEntry::CloseAll) => {
                let alone = matches!(self.array.oldest(), Some(ArrayEntry::CloseAll));
                alone && self.is_quiet()
            }
            None => over && !self.closed,
        };
        output.array_valid_o |= closes;
        output.array_close_o = closes;
        output.head_end_o = closes && !self.head_ended;
    }

    /// Whether a sum may end: its results take the place of those before.
    fn may_end(&self, read: &Read, sum: SumNumber) -> bool {
        let before = self.results.oldest().filter(|oldest| is_before(oldest.sum, sum));
        let waits = before.is_some_and(|before| read.accumulate || before.is_context());
        !waits && (!read.first || !self.ending && self.pace == 0)
    }

    fn ask_for_results(&self, output: &mut SequencerOut) -> bool {
        let Some(entry) = self.results.next() else { return false };
        let is_there = !is_before(self.made, entry.sum);
        let may_ask = !entry.is_context() || !self.leaving && self.gap == 0;
        if !is_there || !may_ask {
            return false;
        }
        let command = &entry.command;
        output.bus_valid_o = true;
        output.bus_address_o = command.address;
        output.sum_kind_o = U::new(command.kind.code());
        output.sum_head_o = U::new(command.head.into());
        output.sum_first_o = command.first;
        output.sum_last_o = command.last;
        output.sum_tokens_o = U::new(command.tokens.into());
        output.sum_place_o = U::new(command.place.into());
        output.sum_keep_o = command.keep;
        output.sum_goes_on_o = command.goes_on;
        output.sum_complete_o = command.complete;
        true
    }

    fn ask_for_operand(&self, output: &mut SequencerOut) {
        let Some(&OperandEntry { word, from_host, content }) = self.operands.next() else { return };
        let data = if from_host { Some(0) } else { self.weights.ready() };
        let Some(weights) = data else { return };
        let uses = |entry: &ArrayEntry| match entry {
            ArrayEntry::Read { read, content: used, .. } => read.shared == word && *used != content,
            ArrayEntry::CloseAll => false,
        };
        if self.array.iter().any(uses) {
            return;
        }
        output.bus_valid_o = true;
        output.bus_write_o = true;
        output.bus_address_o = word;
        output.bus_host_o = from_host;
        output.bus_weights_o = weights;
    }

    fn ask_softmax(&self, output: &mut SequencerOut) {
        match self.softmax.next() {
            Some(SoftmaxEntry::Finish { head }) if self.scores == 0 => {
                output.finish_valid_o = true;
                output.finish_head_o = U::new((*head).into());
            }
            Some(SoftmaxEntry::Weigh(weigh)) if self.finishing == 0 && self.scores == 0 => {
                if let Some(place) = self.weights.next(weigh) {
                    output.weigh_valid_o = true;
                    output.weigh_place_o = U::new(place.into());
                    output.weigh_head_o = U::new(weigh.head.into());
                }
            }
            _ => {}
        }
    }

    // ---------------------------------------------------------------------------------- edges

    fn see_bus(&mut self, input: &SequencerIn) {
        let asked = self.output;
        self.gap = self.gap.saturating_sub(1);
        if input.bus_taken_i && asked.bus_valid_o {
            if !asked.bus_write_o {
                self.results.send();
                self.leaving |= asked.sum_kind_o.get() == SumKind::Context.code();
            } else {
                self.operands.send();
                match asked.bus_host_o {
                    true => self.operands_asked = self.operands_asked.saturating_sub(1),
                    false => self.weights.taken(),
                }
            }
        }
        if input.results_taken_i && self.results.done().is_some_and(|entry| entry.is_context()) {
            // A partial sum comes to the adder unit a tCK before the burst: leave room for it.
            self.leaving = false;
            self.gap = u16::from(input.burst_i).saturating_sub(RankController::LATENCY as u16);
        }
        if input.written_i
            && let Some(OperandEntry { word, content, .. }) = self.operands.done()
        {
            self.content[usize::from(word)] = content;
        }
    }

    fn see_array(&mut self, input: &SequencerIn) {
        self.pace = self.pace.saturating_sub(1);
        self.head_ended |= self.output.array_close_o;
        if input.array_taken_i && self.output.array_valid_o {
            self.closed = self.output.array_close_o;
            if !self.closed {
                self.array.send();
                self.head_ended = false;
                self.ending |= self.output.array_last_o;
            } else if !self.array.is_empty() {
                self.array.send();
                self.array.done(); // it was the oldest
                self.closing = false;
            }
        }
        if input.read_i
            && let Some(ArrayEntry::Read { read, .. }) = self.array.done()
            && read.last
        {
            // A chunk's results leave in four bursts, which take longer than one MAC, and no longer than two.
            let chunk_tck = CHUNK_BURSTS * u16::from(input.burst_i);
            self.ending = false;
            self.pace = chunk_tck.saturating_sub(RankController::LATENCY as u16 + 1);
        }
        if input.results_i {
            self.made = self.made.wrapping_add(1);
        }
    }

    fn see_softmax(&mut self, input: &SequencerIn) {
        if input.finish_taken_i && self.output.finish_valid_o {
            self.softmax.send();
            self.softmax.done();
            self.finishing += 1;
        }
        self.finishing = self.finishing.wrapping_sub(input.finished_i.into()) & 15;
        if input.weigh_taken_i
            && self.output.weigh_valid_o
            && let Some(SoftmaxEntry::Weigh(weigh)) = self.softmax.next()
            && self.weights.asked(*weigh)
        {
            self.softmax.send();
            self.softmax.done();
        }
        if input.weight_valid_i {
            self.weights.came(input.weight_i);
        }
        self.scores = self.scores.wrapping_sub(input.scaled_i.into()) & 0x3FF;
        let elements = u16::from(input.context_valid_i) + u16::from(input.output_valid_i);
        self.elements = self.elements.wrapping_sub(elements);
    }

    /// What is wrong with a command that would enter now.
    fn refuses(&self, command: &Command, operands: u64) -> Option<Fault> {
        let unpaired = match command {
            Command::Shared { .. } if self.operands_asked >= operands => {
                return Some(Fault::NoOperand);
            }
            Command::Weigh(_) => self.unpaired == weights::WORDS,
            Command::Weights { .. } => self.unpaired == 0,
            Command::CloseAll => self.unpaired > 0,
            _ => false,
        };
        unpaired.then_some(Fault::Unpaired)
    }

    /// Everything has been dispatched, and a word of weights has nobody who writes it.
    fn ends_unpaired(&self) -> bool {
        self.over && self.door.is_none() && self.unpaired > 0
    }

    /// After a fault nothing enters, so that a word which no entry is to write has nobody who will.
    fn drops_word(&self) -> bool {
        self.fault.is_some()
            && self.door.is_none()
            && self.operands.is_empty()
            && self.weights.ready().is_some()
    }

    fn enter(&mut self, command: Command) {
        match command {
            Command::Read(read) => {
                self.ended = self.ended.wrapping_add(read.last.into());
                let content = self.next_content[usize::from(read.shared)];
                self.array.push(ArrayEntry::Read { read, content, sum: self.ended });
            }
            Command::CloseAll => {
                self.head_ended = false;
                self.closing = true;
                self.array.push(ArrayEntry::CloseAll);
            }
            Command::Result(command) => {
                self.scores = (self.scores + command.scores()) & 0x3FF;
                self.elements = self.elements.wrapping_add(command.elements());
                self.results.push(ResultEntry { command, sum: self.ended });
            }
            Command::Shared { word, .. } => {
                self.operands_asked += 1;
                self.write(word, true);
            }
            Command::Weights { word } => {
                self.unpaired -= 1;
                self.write(word, false);
            }
            Command::Finish { head } => self.softmax.push(SoftmaxEntry::Finish { head }),
            Command::Weigh(weigh) => {
                self.unpaired += 1;
                self.softmax.push(SoftmaxEntry::Weigh(weigh));
            }
        }
    }

    fn write(&mut self, word: u8, from_host: bool) {
        let content = &mut self.next_content[usize::from(word)];
        *content = !*content;
        self.operands.push(OperandEntry { word, from_host, content: *content });
    }

    /// The results of the oldest entry that is not done after this clock have come, and others come.
    fn overwrites(&self, input: &SequencerIn) -> bool {
        let oldest = self.results.get(input.results_taken_i.into());
        input.results_i && oldest.is_some_and(|oldest| !is_before(self.made, oldest.sum))
    }
}

impl Model for Sequencer {
    fn new() -> Self {
        let mut new = Self {
            output: SequencerOut::default(),
            over: false,
            fault: None,
            door: None,
            array: Queue::new(),
            results: Queue::new(),
            operands: Queue::new(),
            softmax: Queue::new(),
            operands_asked: 0,
            unpaired: 0,
            next_content: [false; WORDS],
            content: [false; WORDS],
            ended: 0,
            made: 0,
            ending: false,
            pace: 0,
            leaving: false,
            gap: 0,
            head_ended: false,
            closed: false,
            closing: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            weights: Weights::new(),
        };
        new.output = new.requests();
        new
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> SequencerProbe {
        SequencerProbe {
            door_valid_q: self.door.is_some(),
            ended_q: self.ended,
            made_q: self.made,
            scores_q: U::new(self.scores.into()),
            elements_q: self.elements,
            finishing_q: U::new(self.finishing.into()),
        }
    }

    fn settle(&self, _: &SequencerIn) -> SequencerOut {
        self.output
    }

    fn step(&mut self, input: &SequencerIn) -> SequencerOut {
        let output = self.output;
        if self.stands_still(input) {
            self.count_down();
            return output;
        }
        let enters = self.enters();
        let refused = self.door.as_ref().filter(|_| enters);
        let refused = refused.and_then(|command| self.refuses(command, input.operands_i.get()));
        let overwrites = self.overwrites(input);
        let ends_unpaired = self.ends_unpaired();
        let drops_word = self.drops_word();

        self.see_bus(input);
        self.see_array(input);
        self.see_softmax(input);
        if drops_word {
            self.weights.taken();
            self.unpaired -= 1;
        }
        if let Some(command) = self.door.take_if(|_| enters)
            && refused.is_none()
        {
            self.enter(command);
        }
        let taken = input.dispatch_valid_i && output.dispatch_ready_o && self.fault.is_none();
        let decoded = if taken { decode(input).map(Some) } else { Ok(None) };
        if let Ok(Some(command)) = decoded {
            self.door = Some(command);
        }
        let overwritten = overwrites.then_some(Fault::Overwritten);
        let unpaired = ends_unpaired.then_some(Fault::Unpaired);
        self.fault = self.fault.or(overwritten).or(decoded.err()).or(refused).or(unpaired);

        self.over |= input.done_i;
        if input.start_i {
            self.over = false;
            self.fault = None;
            (self.closed, self.head_ended) = (false, false);
            (self.pace, self.gap) = (0, 0);
        }
        self.output = self.requests();
        output
    }
}
