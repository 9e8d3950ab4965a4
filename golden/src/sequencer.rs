// SPDX-License-Identifier: MIT
//! What a sequencer may ask a rank for, as a matter of history: which commands came, which of them have
//! been asked for, and what has happened since.
//!
//! Hardware has queues, and a bit or a counter for what it has to remember. Here every command is kept with
//! what became of it, and a request is due when the history says so.

use std::collections::VecDeque;

/// Opcodes of commands.
pub mod opcode {
    #![allow(missing_docs)]
    pub const MAC_SCORE: u32 = 1;
    pub const MAC_CONTEXT: u32 = 2;
    pub const RD_RESULT: u32 = 3;
    pub const WR_SHARED: u32 = 4;
    pub const WR_WEIGHTS: u32 = 5;
    pub const FINISH: u32 = 6;
    pub const WEIGH: u32 = 7;
    pub const CLOSE_ALL: u32 = 8;
}

use opcode::{CLOSE_ALL, FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS};

/// tCK from the acceptance of a request to its command on the pins.
const LATENCY: u64 = 2;
const PARTIAL_SUMS: u32 = 256;
/// Words of weights under way, at the most.
const WORDS: usize = 16;

/// What the rank has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of a bank.
    pub rows: u32,
    /// Columns of a row.
    pub columns: u32,
    /// tCK of a burst.
    pub burst_tck: u64,
    /// Sums are of 32 bits.
    pub wide: bool,
    /// Places of the score buffer.
    pub scores: u32,
}

impl Sizes {
    /// The fault of a command that asks for what there is not.
    pub fn fault(&self, command: &Command) -> Option<u32> {
        let Command { opcode, place, word, tokens, .. } = *command;
        let count = tokens.min(4);
        match opcode {
            MAC_SCORE | MAC_CONTEXT if command.row >= self.rows => Some(2),
            MAC_SCORE | MAC_CONTEXT if command.column >= self.columns => Some(3),
            RD_RESULT if word & 0x80 != 0 => (place >= PARTIAL_SUMS).then_some(4),
            RD_RESULT if word & 0x40 != 0 => (place + 4 > self.scores).then_some(4),
            WEIGH if count == 0 => Some(5),
            WEIGH => (place + count > self.scores).then_some(4),
            1..=8 => None,
            _ => Some(1),
        }
    }
}

/// A dispatched command.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Command {
    pub opcode: u32,
    pub head: u32,
    pub row: u32,
    pub place: u32,
    pub column: u32,
    pub word: u32,
    pub first: bool,
    pub last: bool,
    pub opens: bool,
    pub tokens: u32,
}

/// What happens in a cycle.
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct Seen {
    pub starts: bool,
    pub ends: bool,
    pub operands: usize,
    pub command: Option<Command>,
    pub array_taken: bool,
    pub bus_taken: bool,
    pub finish_taken: bool,
    pub weigh_taken: bool,
    pub read: bool,
    pub results_taken: bool,
    pub written: bool,
    pub results: bool,
    pub scaled: bool,
    pub finished: bool,
    pub word_made: bool,
    pub context: bool,
    pub output: bool,
}

/// What is asked for in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The dispatcher's command is taken.
    pub ready: bool,
    /// The run's fault.
    pub fault: u32,
    /// The run is over.
    pub done: bool,
    /// Of the array port.
    pub array: Option<Array>,
    /// A head ends.
    pub head_end: bool,
    /// Of the bus port.
    pub bus: Option<Bus>,
    /// A head's scores are complete.
    pub finish: Option<u32>,
    /// Place of the first score of a word of weights, their head and number.
    pub weigh: Option<[u32; 3]>,
    /// A word of weights is dropped.
    pub drops: bool,
}

/// An array request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Array {
    Close,
    Read { row: u32, column: u32, word: u32, accumulate: bool, flags: [bool; 3] },
}

/// A bus request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bus {
    Host { word: u32 },
    Weights { word: u32 },
    Results { address: u32, sum: Sum },
}

/// What becomes of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Sum {
    Scores { head: u32, first: bool, tokens: u32, place: Option<u32> },
    Outputs { place: u32, goes_on: bool, complete: bool },
    Context { head: u32, first: bool, last: bool, place: u32, goes_on: bool, complete: bool },
}

/// A command that has entered its queue.
#[derive(Clone, Debug)]
struct Entry {
    command: Command,
    /// Its place in the program.
    number: u64,
    /// For a MAC, the writes to its word before it; for the others, the sums that ended before them.
    behind: u64,
    /// The sum that a MAC is part of.
    sum: u64,
    sent: bool,
}

impl Entry {
    fn is_mac(&self) -> bool {
        matches!(self.command.opcode, MAC_SCORE | MAC_CONTEXT)
    }

    fn is_context(&self) -> bool {
        self.command.opcode == RD_RESULT && self.command.word & 0x80 != 0
    }
}

/// The history of a sequencer.
#[derive(Debug)]
pub struct History {
    sizes: Sizes,
    clock: u64,
    started: u64,
    over: bool,
    fault: u32,
    /// A command that has not entered its queue.
    decoded: Option<Command>,
    /// What is not done, in the order of the program: array, results, operands, softmax.
    open: [VecDeque<Entry>; 4],
    entered: u64,
    /// Writes to each word that have entered, and those that are done.
    writes: Vec<[u64; 2]>,
    sums_ended: u64,
    sums_made: u64,
    /// The last time a MAC that ends a sum was asked for with success, and was on the pins.
    sum_sent: Option<u64>,
    sum_read: Option<u64>,
    /// The last time results were read, and whether they were of the context.
    results_read: Option<(u64, bool)>,
    /// The last array command was a CLOSE_ALL; its head end was signalled.
    closed: bool,
    signalled: bool,
    scores: i64,
    elements: i64,
    finishing: i64,
    /// A word of weights for each WEIGH, until it goes to the data bus.
    words: VecDeque<Word>,
}

#[derive(Debug, Default)]
struct Word {
    /// The softmax unit has taken its scores.
    weighed: bool,
    /// All its weights are there.
    made: bool,
}

const DEPTHS: [usize; 4] = [32, 64, 64, 16];
const ARRAY: usize = 0;
const RESULTS: usize = 1;
const OPERANDS: usize = 2;
const SOFTMAX: usize = 3;

impl History {
    /// Nothing has happened.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            clock: 0,
            started: 0,
            over: false,
            fault: 0,
            decoded: None,
            open: Default::default(),
            entered: 0,
            writes: vec![[0; 2]; 256],
            sums_ended: 0,
            sums_made: 0,
            sum_sent: None,
            sum_read: None,
            results_read: None,
            closed: false,
            signalled: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            words: VecDeque::new(),
        }
    }

    /// Sums of the MACs that have entered.
    pub fn sums(&self) -> u64 {
        self.sums_ended
    }

    fn first_unsent(&self, queue: usize) -> Option<&Entry> {
        self.open[queue].iter().find(|entry| !entry.sent)
    }

    fn nothing_beside_the_array(&self) -> bool {
        self.open[RESULTS..].iter().all(VecDeque::is_empty)
            && [self.scores, self.elements, self.finishing] == [0; 3]
            && self.words.iter().all(|word| !word.weighed)
    }

    /// What is asked for in this cycle.
    pub fn asked(&self) -> Asked {
        let mut asked = Asked { fault: self.fault, ..Asked::default() };
        asked.ready = self.decoded.is_none_or(|command| self.may_enter(&command));
        let empty = self.decoded.is_none() && self.open[ARRAY].is_empty();
        let over = self.over && empty && self.nothing_beside_the_array();
        asked.done = over && self.closed;
        asked.array = match self.first_unsent(ARRAY) {
            Some(entry) if entry.is_mac() => self.mac(entry),
            Some(entry) => {
                let alone = self.open[ARRAY].front().is_some_and(|it| it.number == entry.number);
                (alone && self.nothing_beside_the_array()).then_some(Array::Close)
            }
            None => (over && !self.closed).then_some(Array::Close),
        };
        asked.head_end = asked.array == Some(Array::Close) && !self.signalled;
        asked.bus = self.results().or_else(|| self.operand());
        if self.scores == 0
            && let Some(entry) = self.open[SOFTMAX].front()
        {
            let Command { opcode, head, place, tokens, .. } = entry.command;
            if opcode == FINISH {
                asked.finish = Some(head);
            } else if self.finishing == 0 {
                let under_way = self.words.iter().filter(|word| word.weighed).count();
                asked.weigh = (under_way < WORDS).then_some([place, head, tokens.min(4)]);
            }
        }
        let no_entry_writes =
            self.fault != 0 && self.decoded.is_none() && self.open[OPERANDS].is_empty();
        asked.drops = no_entry_writes && self.has_word();
        asked
    }

    /// Whether the decoded command enters in this cycle.
    fn may_enter(&self, command: &Command) -> bool {
        let room = |queue: usize| self.open[queue].len() < DEPTHS[queue];
        let closing = self.open[ARRAY].iter().any(|it| it.command.opcode == CLOSE_ALL);
        let [entered, done] = self.writes[command.word as usize];
        !closing
            && match command.opcode {
                MAC_SCORE | MAC_CONTEXT | CLOSE_ALL => room(ARRAY),
                RD_RESULT => {
                    room(RESULTS) && (command.word >= 0x40 || self.open[SOFTMAX].is_empty())
                }
                WR_SHARED => {
                    let clear = !command.first || self.open[ARRAY].is_empty();
                    room(OPERANDS) && entered == done && clear
                }
                WR_WEIGHTS => room(OPERANDS) && entered == done,
                _ => room(SOFTMAX),
            }
    }

    fn mac(&self, entry: &Entry) -> Option<Array> {
        let Command { opcode, row, column, word, first, last, opens, .. } = entry.command;
        let accumulate = opcode == MAC_CONTEXT;
        if self.writes[word as usize][1] != entry.behind {
            return None;
        }
        if last {
            let oldest = self.open[RESULTS].front().filter(|oldest| oldest.behind < entry.sum);
            if oldest.is_some_and(|oldest| accumulate || oldest.is_context()) {
                return None;
            }
            let chunk_tck = 4 * self.sizes.burst_tck;
            let under_way = self.sum_sent > self.sum_read;
            let soon = self.since(self.sum_read).is_some_and(|since| since + LATENCY < chunk_tck);
            if first && (under_way || soon) {
                return None;
            }
        }
        Some(Array::Read { row, column, word, accumulate, flags: [first, last, opens] })
    }

    /// Cycles since something that happened in this run.
    fn since(&self, clock: Option<u64>) -> Option<u64> {
        clock.filter(|&clock| clock >= self.started).map(|clock| self.clock - clock)
    }

    fn results(&self) -> Option<Bus> {
        let entry = self.first_unsent(RESULTS)?;
        let Command { head, word, place, first, last, tokens, .. } = entry.command;
        if self.sums_made < entry.behind {
            return None;
        }
        if entry.is_context() {
            let under_way = self.open[RESULTS].iter().any(|entry| entry.sent);
            let soon = self.results_read.is_some_and(|(clock, of_context)| {
                // The adder unit: partial sums come a tCK before their burst, and sums of a tree take three.
                let idle = if of_context { 1 } else { 4 };
                let since = self.since(Some(clock));
                since.is_some_and(|since| since + LATENCY < self.sizes.burst_tck + idle)
            });
            if under_way || soon {
                return None;
            }
            let upper = word & 0x40 != 0;
            let sum = Sum::Context {
                head,
                first: !upper,
                last: upper || !self.sizes.wide,
                place,
                goes_on: !first,
                complete: last,
            };
            return Some(Bus::Results { address: word & 0xCF, sum });
        }
        let group = word % 4;
        let sum = if word & 0x40 != 0 {
            Sum::Outputs { place, goes_on: !first, complete: last }
        } else {
            let tokens = tokens.saturating_sub(4 * group).min(4);
            let place = Some(place).filter(|place| place + 4 <= self.sizes.scores);
            Sum::Scores { head, first, tokens, place }
        };
        Some(Bus::Results { address: group, sum })
    }

    fn operand(&self) -> Option<Bus> {
        let entry = self.first_unsent(OPERANDS)?;
        let word = entry.command.word;
        let uses =
            |mac: &&Entry| mac.is_mac() && mac.command.word == word && mac.number < entry.number;
        if self.open[ARRAY].iter().find(uses).is_some() {
            return None;
        }
        if entry.command.opcode == WR_SHARED {
            return Some(Bus::Host { word });
        }
        self.has_word().then_some(Bus::Weights { word })
    }

    /// Whether the oldest word of weights is complete.
    fn has_word(&self) -> bool {
        self.words.front().is_some_and(|word| word.made)
    }

    /// The cycle ends, with what was seen in it.
    pub fn take(&mut self, seen: &Seen) {
        let asked = self.asked();
        let ends_unpaired = self.over && self.decoded.is_none() && self.unpaired() > 0;
        // An RD_RESULT of this cycle comes too late: it reads the new results.
        let unread = self.open[RESULTS].front().filter(|entry| entry.behind <= self.sums_made);
        let overwritten = seen.results && unread.is_some();
        self.take_array(&asked, seen);
        self.take_bus(&asked, seen);
        self.take_softmax(seen);
        let host = |it: &&Entry| it.command.opcode == WR_SHARED && !it.sent;
        let waiting = self.open[OPERANDS].iter().filter(host).count();
        // The burst that goes in this cycle is still counted, on both sides.
        let goes = usize::from(seen.bus_taken && matches!(asked.bus, Some(Bus::Host { .. })));
        let mut fault = ends_unpaired.then_some(8);
        if asked.drops {
            self.words.pop_front();
        }
        if let Some(command) = self.decoded.take_if(|_| asked.ready) {
            if command.opcode == WR_SHARED && waiting + goes >= seen.operands {
                fault = Some(6);
            } else if self.breaks_pair(&command) {
                fault = Some(8);
            } else {
                self.enter(command);
            }
        }
        if let Some(command) = seen.command.filter(|_| asked.ready && self.fault == 0) {
            match self.sizes.fault(&command) {
                None => self.decoded = Some(command),
                wrong => fault = wrong,
            }
        }
        if overwritten {
            fault = Some(7);
        }
        if self.fault == 0 {
            self.fault = fault.unwrap_or(0);
        }
        self.over |= seen.ends;
        self.clock += 1;
        if seen.starts {
            (self.over, self.fault, self.closed, self.signalled) = (false, 0, false, false);
            self.started = self.clock;
        }
    }

    /// Words of weights for which no WR_WEIGHTS has come.
    fn unpaired(&self) -> usize {
        let writes = self.open[OPERANDS].iter();
        let claims = writes.filter(|write| write.command.opcode == WR_WEIGHTS && !write.sent);
        self.words.len() - claims.count()
    }

    /// Whether words of weights would wait for the command, or it for them, without end.
    fn breaks_pair(&self, command: &Command) -> bool {
        match command.opcode {
            WEIGH => self.unpaired() == WORDS,
            WR_WEIGHTS => self.unpaired() == 0,
            CLOSE_ALL => self.unpaired() > 0,
            _ => false,
        }
    }

    fn enter(&mut self, command: Command) {
        let word = command.word as usize;
        let mut behind = self.sums_ended;
        let queue = match command.opcode {
            MAC_SCORE | MAC_CONTEXT => {
                self.sums_ended += u64::from(command.last);
                behind = self.writes[word][0];
                ARRAY
            }
            CLOSE_ALL => {
                self.signalled = false;
                ARRAY
            }
            RD_RESULT => {
                let upper = command.word & 0x40 != 0;
                match (command.word & 0x80 != 0, upper) {
                    (false, false) => self.scores += 4,
                    (false, true) => self.elements += if command.last { 4 } else { 0 },
                    (true, _) if command.last && (upper || !self.sizes.wide) => self.elements += 8,
                    _ => {}
                }
                RESULTS
            }
            WR_SHARED | WR_WEIGHTS => {
                self.writes[word][0] += 1;
                OPERANDS
            }
            _ => {
                if command.opcode == WEIGH {
                    self.words.push_back(Word::default());
                }
                SOFTMAX
            }
        };
        self.entered += 1;
        let (number, sum) = (self.entered, self.sums_ended);
        self.open[queue].push_back(Entry { command, number, behind, sum, sent: false });
    }

    fn send(&mut self, queue: usize) -> Option<Command> {
        let entry = self.open[queue].iter_mut().find(|entry| !entry.sent)?;
        entry.sent = true;
        Some(entry.command)
    }

    fn take_array(&mut self, asked: &Asked, seen: &Seen) {
        let closes = asked.array == Some(Array::Close);
        self.signalled |= closes;
        if seen.array_taken {
            self.closed = closes;
            if closes {
                self.open[ARRAY].pop_front();
            } else if let Some(mac) = self.send(ARRAY) {
                self.signalled = false;
                self.sum_sent = if mac.last { Some(self.clock) } else { self.sum_sent };
            }
        }
        if seen.read
            && let Some(mac) = self.open[ARRAY].pop_front()
            && mac.command.last
        {
            self.sum_read = Some(self.clock);
        }
        self.sums_made += u64::from(seen.results);
    }

    fn take_bus(&mut self, asked: &Asked, seen: &Seen) {
        if seen.bus_taken {
            match asked.bus {
                Some(Bus::Results { .. }) => {
                    self.send(RESULTS);
                }
                Some(Bus::Weights { .. }) => {
                    self.send(OPERANDS);
                    self.words.pop_front();
                }
                Some(Bus::Host { .. }) | None => {
                    self.send(OPERANDS);
                }
            }
        }
        if seen.results_taken
            && let Some(read) = self.open[RESULTS].pop_front()
        {
            self.results_read = Some((self.clock, read.is_context()));
        }
        if seen.written
            && let Some(write) = self.open[OPERANDS].pop_front()
        {
            self.writes[write.command.word as usize][1] += 1;
        }
    }

    fn take_softmax(&mut self, seen: &Seen) {
        if seen.finish_taken {
            self.open[SOFTMAX].pop_front();
            self.finishing += 1;
        }
        if seen.weigh_taken
            && let Some(word) = self.words.iter_mut().find(|word| !word.weighed)
        {
            word.weighed = true;
            self.open[SOFTMAX].pop_front();
        }
        if seen.word_made
            && let Some(word) = self.words.iter_mut().find(|word| !word.made)
        {
            word.made = true;
        }
        self.finishing -= i64::from(seen.finished);
        self.scores -= i64::from(seen.scaled);
        self.elements -= i64::from(seen.context) + i64::from(seen.output);
    }
}
