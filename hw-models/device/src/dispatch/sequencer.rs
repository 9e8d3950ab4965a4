// SPDX-License-Identifier: MIT
//! The sequencer: queues between the dispatcher and the rank's ports, and the interlocks that hold back
//! the head of each until the data are there that it works on.
//!
//! ```text
//!               ┌─▶ array ────▶ array port: MAC, CLOSE_ALL
//! dispatcher ─▶ door ─▶ results ──┬─▶ bus port: RD_RESULT before WR_SHARED, WR_WEIGHTS
//!               ├─▶ operands ─────┘
//!               └─▶ softmax ──▶ softmax unit: FINISH, WEIGH
//! ```
//!
//! Commands enter in the order of the program, through a register (the *door*); each queue keeps its
//! order, and there is none between the queues but for the interlocks. They know the entries of the
//! queues and a few counters, not the program:
//!
//! | head of a queue | waits for |
//! | --- | --- |
//! | MAC | its word of the shared buffers, as it was to be when the MAC was dispatched |
//! | MAC that ends a sum | where this sum or the one before is of the context, for the results of that one to have left; a MAC that is a sum by itself, for the time in which a chunk's results leave |
//! | CLOSE_ALL | everything before it |
//! | RD_RESULT | the sum that ended last before it in the program; of the context, a tCK after the burst before it |
//! | WR_SHARED, WR_WEIGHTS | the MACs before it that use the word's present content; its data |
//! | FINISH | the scores before it |
//! | WEIGH | the reciprocals before it; room for a word of weights |
//!
//! At the door waits, beside what finds its queue full: a write to a word of which another write is not
//! done, so that one bit tells a word's present content from the next; a WR_SHARED with *first*, for the
//! array queue to be empty; an RD_RESULT of scores, while the softmax queue has something to do with
//! the scores before; and everything behind a CLOSE_ALL.
//!
//! What an entry waits for was dispatched before it, so the queues always drain.
//!
//! # Depths
//!
//! The banks take a MAC in 8 tCK, and need the next from the queue whatever else the dispatcher has to
//! do: 32 RD_RESULTs between two segments of the context (16 sums of 32 bits, two bursts each), then
//! WEIGH, softmax unit, WR_WEIGHTS and CWL for the first weights, some 50 tCK, with 80 in which results
//! have the bus: 160 tCK are 20 MACs. The results queue has room for two segments, the operands queue
//! for the query vectors of eight heads of 256 elements.

use super::command::{Command, ResultCommand, WeighCommand, decode};
use super::queue::Queue;
use super::weights::Weights;
use super::{DispatchError, Made};
use crate::bank_pus::SHARED_WORDS;
use crate::data_bus::Beats;
use crate::rank::{AllBankRead, ArrayRequest, BusRequest, Events, Requests, Shared, Sum, Weigh};
use crate::{Config, LANES, SumFormat};
use pimlico_units::module::DispatcherOut;
use pimlico_units::rank::RankController;

const ARRAY: usize = 32;
const RESULTS: usize = 64;
const OPERANDS: usize = 64;
const SOFTMAX: usize = 16;

/// Numbers a sum, modulo 256: so many are never in the queues.
type SumNumber = u8;

/// Whether a sum ended before another one in the program.
fn is_before(one: SumNumber, other: SumNumber) -> bool {
    other.wrapping_sub(one).wrapping_sub(1) < SumNumber::MAX / 2
}

enum ArrayEntry {
    Read {
        read: AllBankRead,
        /// Which content of its word it works on.
        content: bool,
        /// The sum that it is part of.
        sum: SumNumber,
    },
    CloseAll,
}

struct ResultEntry {
    command: ResultCommand,
    /// The sum that it takes away.
    sum: SumNumber,
}

impl ResultEntry {
    fn is_context(&self) -> bool {
        matches!(self.command.sum, Sum::Lanes(_))
    }
}

struct OperandEntry {
    word: u8,
    from_host: bool,
    /// Which content of the word it is.
    content: bool,
}

enum SoftmaxEntry {
    Finish { head: usize },
    Weigh(WeighCommand),
}

/// The queues, and what the interlocks know.
pub struct Sequencer<'a> {
    config: &'a Config,
    sums: SumFormat,
    /// What the host still has to give.
    operands_left: &'a [Beats],
    /// Bursts of the host that the program asks for, among what has passed the door.
    operands_asked: usize,

    door: Option<Command>,
    array: Queue<ArrayEntry, ARRAY>,
    results: Queue<ResultEntry, RESULTS>,
    operands: Queue<OperandEntry, OPERANDS>,
    softmax: Queue<SoftmaxEntry, SOFTMAX>,

    /// Of each word of the shared buffers, which content the last write at the door gives it, and which
    /// it has.
    next_content: [bool; SHARED_WORDS],
    content: [bool; SHARED_WORDS],
    /// Sums that have ended among the MACs that have passed the door, and those whose results have come.
    sums_ended: SumNumber,
    sums_made: SumNumber,
    pace: Pace,
    /// When the next RD_RESULT of the context may be issued.
    next_result_tck: u64,
    head_ended: bool,
    /// The last array command was a CLOSE_ALL.
    closed: bool,

    /// Scores that are asked for and not in the score buffer.
    scores: u32,
    /// Elements of results that are asked for and have not come.
    elements: u32,
    /// Reciprocals under way.
    finishing: u32,
    weights: Weights,
}

impl<'a> Sequencer<'a> {
    pub fn new(config: &'a Config, sums: SumFormat, operands: &'a [Beats]) -> Self {
        Self {
            config,
            sums,
            operands_left: operands,
            operands_asked: 0,
            door: None,
            array: Queue::new(),
            results: Queue::new(),
            operands: Queue::new(),
            softmax: Queue::new(),
            next_content: [false; SHARED_WORDS],
            content: [false; SHARED_WORDS],
            sums_ended: 0,
            sums_made: 0,
            pace: Pace::new(config),
            next_result_tck: 0,
            head_ended: false,
            closed: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            weights: Weights::default(),
        }
    }

    /// Whether all that was dispatched is done.
    pub fn is_drained(&self) -> bool {
        self.door.is_none() && self.array.is_empty() && self.is_quiet()
    }

    /// Whether all banks are closed, or are going to be.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether nothing but the array queue has anything to do.
    fn is_quiet(&self) -> bool {
        self.results.is_empty()
            && self.operands.is_empty()
            && self.softmax.is_empty()
            && (self.scores, self.elements, self.finishing) == (0, 0, 0)
            && self.weights.is_idle()
    }

    /// Whether what is at the door goes into its queue in this clock.
    pub fn enters(&self) -> bool {
        let Some(command) = self.door else { return false };
        if matches!(self.array.oldest(), Some(ArrayEntry::CloseAll)) {
            return false;
        }
        let word_is_written = |word: u8| {
            let word = usize::from(word);
            self.next_content[word] == self.content[word]
        };
        match command {
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

    /// Whether the dispatcher's command is taken in this clock.
    pub fn takes(&self) -> bool {
        self.door.is_none() || self.enters()
    }

    /// What the rank is asked for.
    pub fn requests(&mut self, at_tck: u64) -> Requests {
        let array = self.array_request(at_tck);
        let (finish, weigh) = self.softmax_request();
        let closes = array == Some(ArrayRequest::CloseAll);
        let head_end = closes && !self.head_ended;
        self.head_ended |= closes;
        let bus = self.result_request(at_tck).or_else(|| self.operand_request());
        Requests { array, bus, finish, weigh, head_end }
    }

    fn array_request(&self, at_tck: u64) -> Option<ArrayRequest> {
        match self.array.next()? {
            ArrayEntry::Read { read, content, sum } => {
                let has_word = self.content[read.shared] == *content;
                let may_end = !read.last || self.may_end(read, *sum, at_tck);
                (has_word && may_end).then_some(ArrayRequest::Read(*read))
            }
            ArrayEntry::CloseAll => {
                let alone = matches!(self.array.oldest(), Some(ArrayEntry::CloseAll));
                (alone && self.is_quiet()).then_some(ArrayRequest::CloseAll)
            }
        }
    }

    /// Whether a sum may end: its results take the place of those before.
    fn may_end(&self, read: &AllBankRead, sum: SumNumber, at_tck: u64) -> bool {
        let before = self.results.oldest().filter(|oldest| is_before(oldest.sum, sum));
        let waits = before.is_some_and(|before| read.accumulate || before.is_context());
        !waits && (!read.first || self.pace.allows(at_tck))
    }

    fn result_request(&self, at_tck: u64) -> Option<BusRequest> {
        let entry = self.results.next()?;
        let is_there = !is_before(self.sums_made, entry.sum);
        let may_ask =
            !entry.is_context() || at_tck + RankController::LATENCY >= self.next_result_tck;
        let ResultCommand { results, sum } = entry.command;
        (is_there && may_ask).then_some(BusRequest::Results { results, sum })
    }

    fn operand_request(&self) -> Option<BusRequest> {
        let OperandEntry { word, from_host, content } = *self.operands.next()?;
        let word = usize::from(word);
        let is_used = self.array.iter().any(|entry| match entry {
            ArrayEntry::Read { read, content: used, .. } => read.shared == word && *used != content,
            ArrayEntry::CloseAll => false,
        });
        let data = match from_host {
            true => self.operands_left.first().copied().map(Shared::Host),
            false => self.weights.ready().map(Shared::RankPu),
        };
        data.filter(|_| !is_used).map(|data| BusRequest::Write { word, data })
    }

    fn softmax_request(&self) -> (Option<usize>, Option<Weigh>) {
        match self.softmax.next() {
            Some(SoftmaxEntry::Finish { head }) if self.scores == 0 => (Some(*head), None),
            Some(SoftmaxEntry::Weigh(weigh)) if self.finishing == 0 && self.scores == 0 => {
                (None, self.weights.next(*weigh))
            }
            _ => (None, None),
        }
    }

    /// What was at the door enters, and the dispatcher's command takes its place.
    pub fn dispatch(
        &mut self,
        enters: bool,
        taken: Option<&DispatcherOut>,
    ) -> Result<(), DispatchError> {
        let entered = match self.door.take_if(|_| enters) {
            Some(command) => self.enter(command),
            None => Ok(()),
        };
        if let Some(output) = taken {
            self.door = Some(decode(output, self.config, self.sums)?);
        }
        entered
    }

    fn enter(&mut self, command: Command) -> Result<(), DispatchError> {
        match command {
            Command::Read(read) => {
                self.sums_ended = self.sums_ended.wrapping_add(read.last.into());
                let content = self.next_content[read.shared];
                self.array.push(ArrayEntry::Read { read, content, sum: self.sums_ended });
                self.closed = false;
            }
            Command::CloseAll => {
                self.head_ended = false;
                self.array.push(ArrayEntry::CloseAll);
            }
            Command::Result(command) => {
                self.scores += command.scores();
                self.elements += command.elements();
                self.results.push(ResultEntry { command, sum: self.sums_ended });
            }
            Command::Shared { word, .. } => {
                self.operands_asked += 1;
                if self.operands_asked > self.operands_left.len() {
                    return Err(DispatchError::Operands);
                }
                self.write(word, true);
            }
            Command::Weights { word } => self.write(word, false),
            Command::Finish { head } => self.softmax.push(SoftmaxEntry::Finish { head }),
            Command::Weigh(weigh) => self.softmax.push(SoftmaxEntry::Weigh(weigh)),
        }
        Ok(())
    }

    fn write(&mut self, word: u8, from_host: bool) {
        let content = &mut self.next_content[usize::from(word)];
        *content = !*content;
        self.operands.push(OperandEntry { word, from_host, content: *content });
    }

    /// What happened in a tCK in which the rank was asked for `requests`. Results go to `made`.
    pub fn see(
        &mut self,
        at_tck: u64,
        requests: &Requests,
        events: &Events,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DispatchError> {
        // A burst of results that leaves in the tCK in which new ones come still has the old ones.
        self.see_bus(at_tck, requests, events);
        self.see_array(at_tck, requests, events)?;
        self.see_softmax(events, made);
        self.scores -= u32::from(events.scaled);
        self.elements -= u32::from(events.context.is_some()) + u32::from(events.output.is_some());
        if let Some((bits, score)) = events.score
            && !score.masked
        {
            made(Made::Score { head: score.head, bits });
        }
        if let Some((bits, head)) = events.context {
            made(Made::Context { head, bits });
        }
        if let Some(bits) = events.output {
            made(Made::Output(bits));
        }
        Ok(())
    }

    fn see_array(
        &mut self,
        at_tck: u64,
        requests: &Requests,
        events: &Events,
    ) -> Result<(), DispatchError> {
        if events.array_taken {
            self.array.send();
            match requests.array {
                Some(ArrayRequest::Read(read)) => self.pace.taken(&read),
                // It was the oldest.
                _ => {
                    self.array.done();
                    self.closed = true;
                }
            }
        }
        if events.read
            && let Some(ArrayEntry::Read { read, .. }) = self.array.done()
        {
            self.pace.issued(at_tck, &read);
        }
        if events.results {
            let made = self.sums_made;
            if self.results.oldest().is_some_and(|oldest| !is_before(made, oldest.sum)) {
                return Err(DispatchError::Overwritten);
            }
            self.sums_made = made.wrapping_add(1);
        }
        Ok(())
    }

    fn see_bus(&mut self, at_tck: u64, requests: &Requests, events: &Events) {
        if events.bus_taken {
            match requests.bus {
                Some(BusRequest::Results { sum, .. }) => {
                    self.results.send();
                    if matches!(sum, Sum::Lanes(_)) {
                        self.next_result_tck = u64::MAX; // until it is issued
                    }
                }
                Some(BusRequest::Write { data: Shared::Host(_), .. }) => {
                    self.operands.send();
                    self.operands_left = &self.operands_left[1..];
                    self.operands_asked -= 1;
                }
                _ => {
                    self.operands.send();
                    self.weights.taken();
                }
            }
        }
        if events.results_taken && self.results.done().is_some_and(|entry| entry.is_context()) {
            // A partial sum comes to the adder unit a tCK before the burst: leave room for it.
            self.next_result_tck = at_tck + self.config.timing.burst_tck + 1;
        }
        if events.written
            && let Some(OperandEntry { word, content, .. }) = self.operands.done()
        {
            self.content[usize::from(word)] = content;
        }
    }

    fn see_softmax(&mut self, events: &Events, made: &mut dyn FnMut(Made)) {
        if events.finish_taken {
            self.softmax.send();
            self.softmax.done();
            self.finishing += 1;
        }
        self.finishing -= u32::from(events.finished);
        if events.weigh_taken
            && let Some(SoftmaxEntry::Weigh(weigh)) = self.softmax.next_mut()
            && self.weights.asked(*weigh)
        {
            self.softmax.send();
            self.softmax.done();
        }
        if let Some(bits) = events.weight {
            let head = self.weights.came(bits);
            made(Made::Weight { head, bits });
        }
    }
}

/// Holds sums of one MAC back: a chunk's results leave the bank PUs in four bursts, which take longer than
/// one MAC, and no longer than two.
struct Pace {
    chunk_tck: u64,
    next_tck: u64,
    under_way: bool,
}

impl Pace {
    fn new(config: &Config) -> Self {
        let bursts = config.banks() / LANES;
        let chunk_tck = bursts as u64 * config.timing.burst_tck;
        Self { chunk_tck, next_tck: 0, under_way: false }
    }

    /// Whether a MAC that is a sum by itself may be asked for.
    fn allows(&self, at_tck: u64) -> bool {
        !self.under_way && at_tck + RankController::LATENCY >= self.next_tck
    }

    fn taken(&mut self, read: &AllBankRead) {
        self.under_way |= read.last;
    }

    fn issued(&mut self, at_tck: u64, read: &AllBankRead) {
        if read.last {
            self.under_way = false;
            self.next_tck = at_tck + self.chunk_tck;
        }
    }
}
