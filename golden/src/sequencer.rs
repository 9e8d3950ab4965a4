// SPDX-License-Identifier: MIT
//! What a sequencer may ask a rank for, as a matter of history: which commands came, which of them have
//! been asked for, and what has happened since.
//!
//! Hardware has queues, and a bit or a counter for what it has to remember. Here every command is kept with
//! what became of it, and a request is due when the history says so, one cycle later.

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

/// Cycles from the one in which a command enters a queue to the first in which it can be the next of it.
const READ_AHEAD: u64 = 3;
/// A command enters so many cycles after it has been decoded, or later.
const LOOK_UP: u64 = 2;
/// Commands that have come and are not decoded, and those that are and have not entered, at the most.
const WAITING: usize = 2;
/// So many writes, or MACs, after what the next of the other queue needs, no more of them enter.
const FAR: u64 = 128;
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
    /// Cycles of a burst.
    pub burst: u64,
    /// Cycles from the acceptance of a request to its command on the pins.
    pub latency: u64,
    /// Idle cycles of the adder unit from a burst of the context to the next, from one of scores or outputs to one
    /// of the context, and from one of the context to one of those.
    pub idle: [u64; 3],
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
    pub scaled: u64,
    pub finished: bool,
    pub word_made: bool,
    pub context: u64,
    pub output: u64,
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

/// A command that has been decoded.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    command: Command,
    at: u64,
    /// See [`Entry::need`]; known from the cycle on in which it may enter.
    need: Option<u64>,
}

/// A command that has entered its queue.
#[derive(Clone, Debug)]
struct Entry {
    command: Command,
    /// Its place in the program.
    number: u64,
    /// When it has entered.
    at: u64,
    /// For a MAC, the writes to its word before it; for the others, the sums that ended before them.
    behind: u64,
    /// The sum that a MAC is part of.
    sum: u64,
    /// For a MAC, the number of the last write before it to its word, for a write that of the last MAC before
    /// it of its word; of the last one that was done as it was looked up, if that was later.
    need: u64,
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

/// What a sequencer asks for, as it has been found one cycle before.
#[derive(Debug, Default)]
struct Due {
    array: Option<Array>,
    results: Option<Bus>,
    operand: Option<Bus>,
    finish: Option<u32>,
    weigh: Option<[u32; 3]>,
    drops: bool,
    /// All that was dispatched is done.
    ended: bool,
    /// There is nothing beside the array.
    quiet: bool,
    /// The host has no more bursts than are waited for.
    lacks: bool,
    /// No more writes may enter, no more MACs.
    far: [bool; 2],
}

/// The history of a sequencer.
#[derive(Debug)]
pub struct History {
    sizes: Sizes,
    clock: u64,
    started: u64,
    over: bool,
    fault: u32,
    /// Commands that have not been decoded.
    arrived: VecDeque<Command>,
    /// Those that have not entered their queues.
    decoded: VecDeque<Decoded>,
    /// Words that have been cleared since the start.
    cleared: u32,
    /// What is not done, in the order of the program: array, results, operands, softmax.
    open: [VecDeque<Entry>; 4],
    due: Due,
    entered: u64,
    /// Writes to each word that have entered, and those that are done.
    writes: Vec<[u64; 2]>,
    /// Number of the last write to each word, and of its last MAC.
    last: Vec<[u64; 2]>,
    /// Writes and MACs that have entered, and those that are done.
    counts: [[u64; 2]; 2],
    sums_ended: u64,
    sums_made: u64,
    /// The last time a MAC that ends a sum was on the pins.
    sum_read: Option<u64>,
    /// The last time results were read: scores or outputs, and the context.
    results_read: [Option<u64>; 2],
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
/// Of `last` and `counts`.
const WRITES: usize = 0;
const MACS: usize = 1;

impl History {
    /// Nothing has happened.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            clock: 0,
            started: 0,
            over: false,
            fault: 0,
            arrived: VecDeque::new(),
            decoded: VecDeque::new(),
            cleared: 0,
            open: Default::default(),
            due: Due::default(),
            entered: 0,
            writes: vec![[0; 2]; 256],
            last: vec![[0; 2]; 256],
            counts: [[0; 2]; 2],
            sums_ended: 0,
            sums_made: 0,
            sum_read: None,
            results_read: [None; 2],
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

    /// The first that is not sent, if it is there by now.
    fn next(&self, queue: usize) -> Option<&Entry> {
        let next = self.open[queue].iter().find(|entry| !entry.sent);
        next.filter(|entry| entry.at + READ_AHEAD <= self.clock)
    }

    /// The oldest RD_RESULT that is not done; `None` inside where it is not there yet.
    fn oldest_results(&self) -> Option<Option<&Entry>> {
        let oldest = self.open[RESULTS].front()?;
        Some(Some(oldest).filter(|it| it.sent || it.at + READ_AHEAD <= self.clock))
    }

    fn nothing_beside_the_array(&self) -> bool {
        self.open[RESULTS..].iter().all(VecDeque::is_empty)
            && [self.scores, self.elements, self.finishing] == [0; 3]
            && self.words.iter().all(|word| !word.weighed)
    }

    fn nothing_before_the_queues(&self) -> bool {
        self.arrived.is_empty() && self.decoded.is_empty()
    }

    /// What is asked for in this cycle.
    pub fn asked(&self) -> Asked {
        let Due { array, results, operand, finish, weigh, drops, ended, .. } = self.due;
        Asked {
            ready: self.arrived.len() < WAITING,
            fault: self.fault,
            done: ended && self.closed,
            array,
            head_end: array == Some(Array::Close) && !self.signalled,
            bus: results.or(operand),
            finish,
            weigh,
            drops,
        }
    }

    /// Whether the decoded command enters in this cycle.
    fn may_enter(&self, decoded: &Decoded) -> bool {
        let Decoded { command, at, need } = decoded;
        let room = |queue: usize| self.open[queue].len() < DEPTHS[queue];
        let closing = self.open[ARRAY].iter().any(|it| it.command.opcode == CLOSE_ALL);
        let [too_many_writes, too_many_macs] = self.due.far;
        !closing
            && at + LOOK_UP <= self.clock
            && need.is_some()
            && match command.opcode {
                MAC_SCORE | MAC_CONTEXT => room(ARRAY) && !too_many_macs,
                CLOSE_ALL => room(ARRAY),
                RD_RESULT => {
                    room(RESULTS) && (command.word >= 0x40 || self.open[SOFTMAX].is_empty())
                }
                WR_SHARED => {
                    let clear = !command.first || self.open[ARRAY].is_empty();
                    room(OPERANDS) && !too_many_writes && clear
                }
                WR_WEIGHTS => room(OPERANDS) && !too_many_writes,
                _ => room(SOFTMAX),
            }
    }

    /// Whether the command that has arrived may be decoded, where the one before it leaves.
    fn may_decode(&self, command: &Command) -> bool {
        match command.opcode {
            MAC_SCORE | MAC_CONTEXT | WR_SHARED | WR_WEIGHTS => command.word < self.cleared,
            _ => true,
        }
    }

    /// Whether a MAC that ends a sum leaves the results to an RD_RESULT.
    fn yields(&self, entry: &Entry) -> bool {
        let accumulate = entry.command.opcode == MAC_CONTEXT;
        self.oldest_results().is_some_and(|oldest| {
            oldest.is_none_or(|oldest| {
                oldest.behind < entry.sum && (accumulate || oldest.is_context())
            })
        })
    }

    /// Whether a MAC that is a sum by itself leaves the results of the sum before it the time to leave.
    fn is_in_time(&self, entry: &Entry) -> bool {
        let chunk = 4 * self.sizes.burst;
        let ends = |mac: &Entry| mac.sent && mac.is_mac() && mac.command.last;
        let under_way = self.open[ARRAY].iter().any(ends);
        // It is asked for in the next cycle.
        let soon =
            self.since(self.sum_read).is_some_and(|since| since + 1 + self.sizes.latency < chunk);
        !(entry.command.first && (under_way || soon))
    }

    /// Whether results are read as far as those before them are concerned, with one that is read in this cycle.
    fn may_read(&self, entry: &Entry, reads: bool) -> bool {
        let [after_context, after_tree, back] = self.sizes.idle;
        let idle = if entry.is_context() { [after_tree, after_context] } else { [0, back] };
        let reading = self.open[RESULTS].iter().take_while(|entry| entry.sent);
        let now = reading.clone().next().filter(|_| reads);
        let mut under_way = reading.skip(now.is_some().into());
        let matters = |before: &Entry| entry.is_context() || back > 0 && before.is_context();
        if under_way.any(matters) {
            return false;
        }
        // The adder unit: partial sums come before their burst, and sums of a tree take longer than others.
        let times = match now {
            Some(now) if entry.is_context() || now.is_context() => {
                let mut times = [None; 2];
                times[usize::from(now.is_context())] = Some(self.clock);
                times
            }
            _ => self.results_read,
        };
        let last = times.iter().flatten().max().copied();
        (0..2).all(|kind| {
            // One of the context waits for the last, one of the others for the last of the context.
            let time = times[kind].filter(|time| !entry.is_context() || Some(*time) == last);
            let since = self.since(time);
            idle[kind] == 0 && !entry.is_context()
                || since.is_none_or(|since| {
                    since + 1 + self.sizes.latency >= self.sizes.burst + idle[kind]
                })
        })
    }

    /// Cycles since something that happened in this run.
    fn since(&self, clock: Option<u64>) -> Option<u64> {
        clock.filter(|&clock| clock >= self.started).map(|clock| self.clock - clock)
    }

    fn bus_of_results(&self, entry: &Entry) -> Bus {
        let Command { head, word, place, first, last, tokens, .. } = entry.command;
        if entry.is_context() {
            let upper = word & 0x40 != 0;
            let sum = Sum::Context {
                head,
                first: !upper,
                last: upper || !self.sizes.wide,
                place,
                goes_on: !first,
                complete: last,
            };
            return Bus::Results { address: word & 0xCF, sum };
        }
        let group = word % 4;
        let sum = if word & 0x40 != 0 {
            Sum::Outputs { place, goes_on: !first, complete: last }
        } else {
            let tokens = tokens.saturating_sub(4 * group).min(4);
            let place = Some(place).filter(|place| place + 4 <= self.sizes.scores);
            Sum::Scores { head, first, tokens, place }
        };
        Bus::Results { address: group, sum }
    }

    fn operand(&self, entry: &Entry) -> Option<Bus> {
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

    /// What the softmax unit is asked for, for an entry and with so many words under way.
    fn softmax(&self, entry: &Entry, under_way: usize) -> (Option<u32>, Option<[u32; 3]>) {
        if self.scores > 0 {
            return (None, None);
        }
        let Command { opcode, head, place, tokens, .. } = entry.command;
        if opcode == FINISH {
            return (Some(head), None);
        }
        let free = self.finishing == 0 && under_way < WORDS;
        (None, free.then_some([place, head, tokens.min(4)]))
    }

    /// Whether so many writes or MACs have entered since what the next of the other queue needs.
    fn far(&self) -> [bool; 2] {
        let is_far = |entry: Option<&Entry>, sort: usize| {
            entry.is_some_and(|entry| self.counts[sort][0] - entry.need >= FAR)
        };
        [
            is_far(self.next(ARRAY).filter(|mac| mac.is_mac()), WRITES),
            is_far(self.next(OPERANDS), MACS),
        ]
    }

    /// Whether the oldest word of weights is complete.
    fn has_word(&self) -> bool {
        self.words.front().is_some_and(|word| word.made)
    }

    /// The cycle ends, with what was seen in it. What is asked for in the next depends on what stands at the
    /// head of the queues in this one, and on what happens in this one to words, results and weights.
    pub fn take(&mut self, seen: &Seen) {
        let asked = self.asked();
        let enters = self.decoded.front().is_some_and(|decoded| self.may_enter(decoded));
        let done = [self.counts[WRITES][1], self.counts[MACS][1]];
        let ends_unpaired = self.over && self.nothing_before_the_queues() && self.unpaired() > 0;
        let sums_made = self.sums_made + u64::from(seen.results);
        // An RD_RESULT of this cycle comes too late: it reads the new results.
        let unread = self.oldest_results().flatten().filter(|entry| entry.behind < sums_made);
        let overwritten = unread.is_some();

        let next = [ARRAY, RESULTS, OPERANDS].map(|queue| self.next(queue).cloned());
        let [array, results, operand] = next;
        let in_time = array.as_ref().is_some_and(|entry| self.is_in_time(entry));
        let alone = !self.open[ARRAY].iter().any(|entry| entry.sent);
        let may_read =
            results.as_ref().is_some_and(|entry| self.may_read(entry, seen.results_taken));
        let quiet = self.nothing_beside_the_array();
        let empty = self.nothing_before_the_queues() && self.open[ARRAY].is_empty();
        let host = |it: &&Entry| it.command.opcode == WR_SHARED && !it.sent;
        let waiting = self.open[OPERANDS].iter().filter(host).count();
        let no_entry_writes =
            self.fault != 0 && self.nothing_before_the_queues() && self.open[OPERANDS].is_empty();
        let softmax = self.next(SOFTMAX).cloned();
        let under_way = self.words.iter().filter(|word| word.weighed).count();
        let mut due = Due {
            drops: no_entry_writes && self.has_word() && !asked.drops,
            ended: self.over && empty && quiet && !seen.starts,
            quiet,
            lacks: false,
            far: self.far(),
            ..Due::default()
        };
        let ends = self.due.ended && !self.closed;
        let stands = self.due.array.is_some();
        let was_quiet = self.due.quiet;
        let lacked = self.due.lacks;
        self.take_array(&asked, seen);
        self.take_bus(&asked, seen);
        self.take_softmax(seen);
        if let Some(entry) = softmax.filter(|_| !seen.finish_taken && !seen.weigh_taken) {
            (due.finish, due.weigh) = self.softmax(&entry, under_way);
        }
        if !seen.array_taken && !seen.starts {
            due.array = match &array {
                None => ends.then_some(Array::Close),
                Some(entry) if !entry.is_mac() => (alone && was_quiet).then_some(Array::Close),
                Some(entry) => {
                    let Command { opcode, row, column, word, first, last, opens, .. } =
                        entry.command;
                    let has_word = self.writes[word as usize][1] >= entry.behind;
                    let accumulate = opcode == MAC_CONTEXT;
                    let flags = [first, last, opens];
                    (stands || has_word && (!last || in_time && !self.yields(entry)))
                        .then_some(Array::Read { row, column, word, accumulate, flags })
                }
            };
        }
        let taken = |bus: bool| seen.bus_taken && bus;
        let reads = matches!(asked.bus, Some(Bus::Results { .. }));
        let writes = matches!(asked.bus, Some(Bus::Host { .. } | Bus::Weights { .. }));
        due.results = results
            .filter(|entry| !taken(reads) && may_read && entry.behind <= self.sums_made)
            .map(|entry| self.bus_of_results(&entry));
        due.operand = operand.filter(|_| !taken(writes)).and_then(|entry| self.operand(&entry));

        let mut fault = 0;
        if asked.drops {
            self.words.pop_front();
        }
        let mut enters_one_more = 0;
        if enters && let Some(decoded) = self.decoded.pop_front() {
            let command = decoded.command;
            if command.opcode == WR_SHARED && lacked {
                fault = 6;
            } else if self.breaks_pair(&command) {
                fault = 8;
            } else {
                enters_one_more = usize::from(command.opcode == WR_SHARED);
                self.enter(decoded);
            }
        }
        due.lacks = waiting + enters_one_more >= seen.operands;
        self.look_up(done);
        if fault == 0 && ends_unpaired {
            fault = 8;
        }
        let moves = self.decoded.len() < WAITING
            && self.arrived.front().is_some_and(|command| self.may_decode(command));
        if moves && let Some(command) = self.arrived.pop_front() {
            match self.sizes.fault(&command) {
                None => {
                    self.decoded.push_back(Decoded { command, at: self.clock, need: None });
                }
                Some(wrong) if fault == 0 => fault = wrong,
                Some(_) => {}
            }
        }
        if let Some(command) = seen.command.filter(|_| asked.ready && self.fault == 0) {
            self.arrived.push_back(command);
        }
        if overwritten {
            fault = 7;
        }
        if self.fault == 0 {
            self.fault = fault;
        }
        if !enters {
            self.cleared = 256.min(self.cleared + 1);
        }
        self.over |= seen.ends;
        self.due = due;
        self.clock += 1;
        if seen.starts {
            (self.over, self.fault, self.closed, self.signalled) = (false, 0, false, false);
            self.started = self.clock;
            self.cleared = 0;
        }
    }

    /// What the oldest decoded command needs, from the cycle on in which there is none before it, where so many
    /// writes and MACs were done before the cycle.
    fn look_up(&mut self, done: [u64; 2]) {
        let clock = self.clock;
        let oldest = self.decoded.front_mut().filter(|it| it.need.is_none() && it.at < clock);
        if let Some(Decoded { command, need, .. }) = oldest {
            let sort = usize::from(!matches!(command.opcode, MAC_SCORE | MAC_CONTEXT));
            *need = Some(self.last[command.word as usize][sort].max(done[sort]));
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

    fn enter(&mut self, decoded: Decoded) {
        let Decoded { command, need, .. } = decoded;
        let need = need.unwrap_or_default();
        let word = command.word as usize;
        let mut behind = self.sums_ended;
        let queue = match command.opcode {
            MAC_SCORE | MAC_CONTEXT => {
                self.sums_ended += u64::from(command.last);
                behind = self.writes[word][0];
                self.counts[MACS][0] += 1;
                self.last[word][MACS] = self.counts[MACS][0];
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
                self.counts[WRITES][0] += 1;
                self.last[word][WRITES] = self.counts[WRITES][0];
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
        let (number, sum, at) = (self.entered, self.sums_ended, self.clock);
        self.open[queue].push_back(Entry { command, number, at, behind, sum, need, sent: false });
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
            } else if self.send(ARRAY).is_some() {
                self.signalled = false;
            }
        }
        if seen.read
            && let Some(mac) = self.open[ARRAY].pop_front()
        {
            self.counts[MACS][1] += 1;
            self.sum_read = if mac.command.last { Some(self.clock) } else { self.sum_read };
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
            self.results_read[usize::from(read.is_context())] = Some(self.clock);
        }
        if seen.written
            && let Some(write) = self.open[OPERANDS].pop_front()
        {
            self.writes[write.command.word as usize][1] += 1;
            self.counts[WRITES][1] += 1;
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
        self.scores -= seen.scaled as i64;
        self.elements -= (seen.context + seen.output) as i64;
    }
}
