// SPDX-License-Identifier: MIT
//! The sequencer's model.

use super::command::{Command, Results, decode};
use super::queue::Queue;
use super::{SequencerIn, SequencerOut, SequencerProbe};
use crate::rank::RankController;
use pimlico_dpa::types::{ArrayKind, ArrayRequest, BusRequest, Fault, Finish, RankEvents, Weigh};
use pimlico_ports::{Model, U, Unit};

const ARRAY: usize = 32;
const RESULTS: usize = 64;
const OPERANDS: usize = 64;
const SOFTMAX: usize = 16;
/// Words of the shared buffers.
const SHARED_WORDS: usize = 256;
/// Words of weights under way, at the most.
const WORDS: u8 = 16;
/// Places of the score buffer, unless it is made with others.
const PLACES: usize = 1 << 17;
/// Bursts of a chunk's results.
const CHUNK_BURSTS: u16 = 4;
/// Idle cycles of the adder unit between a burst of the context and the next: its partial sums come one cycle
/// before it.
const CONTEXT_GAP: u16 = 1;
/// The same behind a burst of scores or outputs, whose sums take the tree three cycles more.
const TREE_GAP: u16 = CONTEXT_GAP + 3;

/// Numbers a sum, modulo 256: so many are never in the queues.
type SumNumber = u8;

/// Whether a sum ended before another one in the program.
fn is_before(one: SumNumber, other: SumNumber) -> bool {
    other.wrapping_sub(one).wrapping_sub(1) < SumNumber::MAX / 2
}

#[derive(Clone, Copy)]
enum ArrayEntry {
    Read {
        request: ArrayRequest,
        /// Which content of its word it uses.
        content: bool,
        /// The sum that it is part of.
        number: SumNumber,
    },
    CloseAll,
}

#[derive(Clone, Copy)]
struct ResultEntry {
    results: Results,
    /// The sum whose results it reads.
    number: SumNumber,
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
    Finish(Finish),
    Weigh(Weigh),
}

/// The cycle model of a sequencer whose score buffer has `SCORES` places.
///
#[doc = contract!("rank/sequencer")]
#[derive(Clone)]
pub struct Sequencer<const SCORES: usize = PLACES> {
    /// What the registers put out.
    output: SequencerOut,

    /// Between a start and the end of its CLOSE_ALL, if it needs one.
    over: bool,
    fault: Fault,
    /// The decode register.
    command: Option<Command>,
    array: Queue<ArrayEntry, ARRAY>,
    results: Queue<ResultEntry, RESULTS>,
    operands: Queue<OperandEntry, OPERANDS>,
    softmax: Queue<SoftmaxEntry, SOFTMAX>,
    /// Bursts of the host in the operands queue.
    operands_asked: u64,
    /// WEIGHs that have entered without their WR_WEIGHTS.
    unpaired: u8,

    /// Of each word of the shared buffers, which content the last write that has entered gives it, and
    /// which it has.
    next_content: [bool; SHARED_WORDS],
    content: [bool; SHARED_WORDS],
    /// Sums that have ended among the MACs that have entered, and those whose results have come.
    ended: SumNumber,
    made: SumNumber,
    /// A MAC that ends a sum is taken and not on the pins.
    ending: bool,
    /// Cycles until a MAC that is a sum by itself may be requested.
    pace: u16,
    /// Cycles until an RD_RESULT of the context may be requested.
    gap: u16,
    head_ended: bool,
    /// The last array command was a CLOSE_ALL.
    closed: bool,
    /// One is in the array queue.
    closing: bool,

    /// Scores that are requested and not in the score buffer.
    scores: u16,
    /// Elements of results that are requested and not there yet.
    elements: u16,
    /// Reciprocals under way.
    finishing: u8,
    /// Words of weights from their weigh to their bus request, and those of them that are complete.
    words: u8,
    complete: u8,
}

impl<const SCORES: usize> Unit for Sequencer<SCORES> {
    const MODULE: &'static str = "sequencer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("SCORES", SCORES as i64)];
    type In = SequencerIn;
    type Out = SequencerOut;
    type Probe = SequencerProbe;

    fn variant() -> String {
        if SCORES == PLACES { String::new() } else { format!("scores{SCORES}") }
    }
}

impl<const SCORES: usize> Sequencer<SCORES> {
    /// Whether nothing but the array queue has anything to do.
    fn is_quiet(&self) -> bool {
        self.results.is_empty()
            && self.operands.is_empty()
            && self.softmax.is_empty()
            && (self.scores, self.elements, self.finishing) == (0, 0, 0)
            && self.words == 0
    }

    /// Whether all that was dispatched is done.
    fn is_drained(&self) -> bool {
        self.command.is_none() && self.array.is_empty() && self.is_quiet()
    }

    /// Whether nothing happens in this cycle, and nothing is dispatched or enters: no register changes
    /// but those that count down.
    fn stands_still(&self, input: &SequencerIn) -> bool {
        let happens = input.start_i | input.done_i | (input.events_i != RankEvents::default());
        // The decode register is free, or what is in it enters.
        let moves =
            self.output.dispatch_ready_o && (input.dispatch_valid_i || self.command.is_some());
        let ends = self.output.head_end_o;
        !happens && !moves && !ends && !self.ends_unpaired() && !self.output.weights_drop_o
    }

    /// Counts the cycles that are left. What may be requested changes only where none are left.
    fn count_down(&mut self) {
        let over = self.pace == 1 || self.gap == 1;
        self.pace = self.pace.saturating_sub(1);
        self.gap = self.gap.saturating_sub(1);
        if over {
            self.output = self.requests();
        }
    }

    /// Whether what is in the decode register goes into its queue in this cycle.
    fn enters(&self) -> bool {
        let Some(command) = &self.command else { return false };
        if self.closing {
            return false;
        }
        let word_is_written = |word: u8| {
            let word = usize::from(word);
            self.next_content[word] == self.content[word]
        };
        match *command {
            Command::Read(_) | Command::CloseAll => self.array.has_room(),
            Command::Results(results) => {
                self.results.has_room() && (results.scores() == 0 || self.softmax.is_empty())
            }
            Command::Shared { word, behind_reads } => {
                let clear = !behind_reads || self.array.is_empty();
                self.operands.has_room() && word_is_written(word) && clear
            }
            Command::Weights { word } => self.operands.has_room() && word_is_written(word),
            Command::Finish(_) | Command::Weigh(_) => self.softmax.has_room(),
        }
    }

    // ------------------------------------------------------------------------------- requests

    /// What the registers put out.
    fn requests(&self) -> SequencerOut {
        let mut output = SequencerOut {
            dispatch_ready_o: self.command.is_none() || self.enters(),
            fault_o: self.fault,
            ..Default::default()
        };
        let over = self.over && self.is_drained();
        output.done_o = over && self.closed;
        output.weights_drop_o = self.drops_word();
        self.ask_array(over, &mut output);
        if let Some(request) = self.results_request().or_else(|| self.operand_request()) {
            (output.bus_valid_o, output.bus_o) = (true, request);
        }
        self.ask_softmax(&mut output);
        output
    }

    fn ask_array(&self, over: bool, output: &mut SequencerOut) {
        let closes = match self.array.next() {
            Some(ArrayEntry::Read { request, content, number }) => {
                let has_word = self.content[usize::from(request.mac.word)] == *content;
                if has_word && (!request.mac.last || self.may_end(request, *number)) {
                    (output.array_valid_o, output.array_o) = (true, *request);
                }
                false
            }
            Some(ArrayEntry::CloseAll) => {
                let alone = matches!(self.array.oldest(), Some(ArrayEntry::CloseAll));
                alone && self.is_quiet()
            }
            None => over && !self.closed,
        };
        if closes {
            output.array_valid_o = true;
            output.array_o.kind = ArrayKind::CloseAll;
        }
        output.head_end_o = closes && !self.head_ended;
    }

    /// Whether a sum may end: its results take the place of those before.
    fn may_end(&self, request: &ArrayRequest, number: SumNumber) -> bool {
        let before = self.results.oldest().filter(|oldest| is_before(oldest.number, number));
        let waits =
            before.is_some_and(|before| request.mac.accumulate || before.results.is_context());
        !waits && (!request.mac.first || !self.ending && self.pace == 0)
    }

    fn results_request(&self) -> Option<BusRequest> {
        let ResultEntry { results, number } = *self.results.next()?;
        let is_there = !is_before(self.made, number);
        let may_ask = !results.is_context() || !self.results.has_sent() && self.gap == 0;
        let Results { address, sum } = results;
        (is_there && may_ask).then_some(BusRequest { write: false, address, host: false, sum })
    }

    fn operand_request(&self) -> Option<BusRequest> {
        let &OperandEntry { word, from_host, content } = self.operands.next()?;
        let uses = |entry: &ArrayEntry| match entry {
            ArrayEntry::Read { request, content: used, .. } => {
                request.mac.word == word && *used != content
            }
            ArrayEntry::CloseAll => false,
        };
        let is_there = from_host || self.complete > 0;
        if !is_there || self.array.iter().any(uses) {
            return None;
        }
        Some(BusRequest { write: true, address: word, host: from_host, ..Default::default() })
    }

    fn ask_softmax(&self, output: &mut SequencerOut) {
        match self.softmax.next() {
            Some(SoftmaxEntry::Finish(finish)) if self.scores == 0 => {
                (output.finish_valid_o, output.finish_o) = (true, *finish);
            }
            Some(SoftmaxEntry::Weigh(weigh))
                if self.finishing == 0 && self.scores == 0 && self.words != WORDS =>
            {
                (output.weigh_valid_o, output.weigh_o) = (true, *weigh);
            }
            _ => {}
        }
    }

    // ---------------------------------------------------------------------------------- edges

    fn see_bus(&mut self, input: &SequencerIn) {
        let (events, request) = (input.events_i, self.output.bus_o);
        self.gap = self.gap.saturating_sub(1);
        if events.bus_taken && self.output.bus_valid_o {
            if !request.write {
                self.results.send();
            } else {
                self.operands.send();
                match request.host {
                    true => self.operands_asked = self.operands_asked.saturating_sub(1),
                    false => self.take_word(),
                }
            }
        }
        if events.results_taken
            && let Some(entry) = self.results.done()
        {
            let gap = if entry.results.is_context() { CONTEXT_GAP } else { TREE_GAP };
            let latency = RankController::LATENCY as u16 + 1;
            self.gap = (u16::from(input.burst_i) + gap).saturating_sub(latency);
        }
        if events.written
            && let Some(OperandEntry { word, content, .. }) = self.operands.done()
        {
            self.content[usize::from(word)] = content;
        }
    }

    fn see_array(&mut self, input: &SequencerIn) {
        let (events, request) = (input.events_i, self.output.array_o);
        self.pace = self.pace.saturating_sub(1);
        self.head_ended |= self.output.head_end_o;
        if events.array_taken && self.output.array_valid_o {
            self.closed = request.kind == ArrayKind::CloseAll;
            if !self.closed {
                self.array.send();
                self.head_ended = false;
                self.ending |= request.mac.last;
            } else if !self.array.is_empty() {
                self.array.send();
                self.array.done(); // it was the oldest
                self.closing = false;
            }
        }
        if events.read
            && let Some(ArrayEntry::Read { request, .. }) = self.array.done()
            && request.mac.last
        {
            // A chunk's results leave in four bursts, which take longer than one MAC, and no longer than two.
            let chunk_tck = CHUNK_BURSTS * u16::from(input.burst_i);
            self.ending = false;
            self.pace = chunk_tck.saturating_sub(RankController::LATENCY as u16 + 1);
        }
        if events.results {
            self.made = self.made.wrapping_add(1);
        }
    }

    fn see_softmax(&mut self, events: &RankEvents) {
        if events.finish_taken && self.output.finish_valid_o {
            self.softmax.send();
            self.softmax.done();
            self.finishing += 1;
        }
        self.finishing = self.finishing.wrapping_sub(events.finished.into()) & 15;
        if events.weigh_taken && self.output.weigh_valid_o {
            self.softmax.send();
            self.softmax.done();
            self.words += 1;
        }
        self.complete = self.complete.wrapping_add(events.word_made.into()) & 31;
        self.scores = self.scores.wrapping_sub(events.scaled.into()) & 0x3FF;
        let elements = u16::from(events.context_made) + u16::from(events.output_made);
        self.elements = self.elements.wrapping_sub(elements);
    }

    /// The oldest complete word of weights goes to the data bus, or is dropped.
    fn take_word(&mut self) {
        self.words = self.words.wrapping_sub(1) & 31;
        self.complete = self.complete.wrapping_sub(1) & 31;
    }

    /// What is wrong with a command that would enter now.
    fn refuses(&self, command: &Command, operands: u64) -> Fault {
        let unpaired = match command {
            Command::Shared { .. } if self.operands_asked >= operands => {
                return Fault::NoOperand;
            }
            Command::Weigh(_) => self.unpaired == WORDS,
            Command::Weights { .. } => self.unpaired == 0,
            Command::CloseAll => self.unpaired > 0,
            _ => false,
        };
        if unpaired { Fault::Unpaired } else { Fault::None }
    }

    /// Everything has been dispatched, and a word of weights has no WR_WEIGHTS.
    fn ends_unpaired(&self) -> bool {
        self.over && self.command.is_none() && self.unpaired > 0
    }

    /// After a fault nothing enters, so that no entry will write a word that none has claimed.
    fn drops_word(&self) -> bool {
        self.fault != Fault::None
            && self.command.is_none()
            && self.operands.is_empty()
            && self.complete > 0
    }

    fn enter(&mut self, command: Command) {
        match command {
            Command::Read(request) => {
                self.ended = self.ended.wrapping_add(request.mac.last.into());
                let content = self.next_content[usize::from(request.mac.word)];
                self.array.push(ArrayEntry::Read { request, content, number: self.ended });
            }
            Command::CloseAll => {
                self.head_ended = false;
                self.closing = true;
                self.array.push(ArrayEntry::CloseAll);
            }
            Command::Results(results) => {
                self.scores = (self.scores + results.scores()) & 0x3FF;
                self.elements = self.elements.wrapping_add(results.elements());
                self.results.push(ResultEntry { results, number: self.ended });
            }
            Command::Shared { word, .. } => {
                self.operands_asked += 1;
                self.write(word, true);
            }
            Command::Weights { word } => {
                self.unpaired -= 1;
                self.write(word, false);
            }
            Command::Finish(finish) => self.softmax.push(SoftmaxEntry::Finish(finish)),
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

    /// The oldest entry that is not done reads results that are there, and the next come. An RD_RESULT in the
    /// same tCK reads the next ones.
    fn overwrites(&self, input: &SequencerIn) -> bool {
        let oldest = self.results.oldest();
        input.events_i.results && oldest.is_some_and(|oldest| !is_before(self.made, oldest.number))
    }
}

impl<const SCORES: usize> Model for Sequencer<SCORES> {
    fn new() -> Self {
        const { assert!(SCORES >= 4 && SCORES <= PLACES) };
        let mut new = Self {
            output: SequencerOut::default(),
            over: false,
            fault: Fault::None,
            command: None,
            array: Queue::new(),
            results: Queue::new(),
            operands: Queue::new(),
            softmax: Queue::new(),
            operands_asked: 0,
            unpaired: 0,
            next_content: [false; SHARED_WORDS],
            content: [false; SHARED_WORDS],
            ended: 0,
            made: 0,
            ending: false,
            pace: 0,
            gap: 0,
            head_ended: false,
            closed: false,
            closing: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            words: 0,
            complete: 0,
        };
        new.output = new.requests();
        new
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> SequencerProbe {
        SequencerProbe {
            command_valid_q: self.command.is_some(),
            ended_q: self.ended,
            made_q: self.made,
            scores_q: U::new(self.scores.into()),
            elements_q: self.elements,
            finishing_q: U::new(self.finishing.into()),
            words_q: U::new(self.words.into()),
            complete_q: U::new(self.complete.into()),
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
        let refused = match &self.command {
            Some(command) if enters => self.refuses(command, input.operands_i.get()),
            _ => Fault::None,
        };
        let overwrites = self.overwrites(input);
        let ends_unpaired = self.ends_unpaired();

        self.see_bus(input);
        self.see_array(input);
        self.see_softmax(&input.events_i);
        if output.weights_drop_o {
            self.take_word();
            self.unpaired -= 1;
        }
        if let Some(command) = self.command.take_if(|_| enters)
            && refused == Fault::None
        {
            self.enter(command);
        }
        let taken = input.dispatch_valid_i && output.dispatch_ready_o && self.fault == Fault::None;
        let mut decode_fault = Fault::None;
        if taken {
            match decode(input, SCORES as u64) {
                Ok(command) => self.command = Some(command),
                Err(fault) => decode_fault = fault,
            }
        }
        if self.fault == Fault::None {
            self.fault = match (decode_fault, refused) {
                _ if overwrites => Fault::Overwritten,
                (Fault::None, Fault::None) if ends_unpaired => Fault::Unpaired,
                (Fault::None, refused) => refused,
                (fault, _) => fault,
            };
        }

        self.over |= input.done_i;
        if input.start_i {
            self.over = false;
            self.fault = Fault::None;
            (self.closed, self.head_ended) = (false, false);
            (self.pace, self.gap) = (0, 0);
        }
        self.output = self.requests();
        output
    }
}
