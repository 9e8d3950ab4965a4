// SPDX-License-Identifier: MIT
//! The sequencer's model.

use super::command::{Command, Results, decode};
use super::queue::Queue;
use super::{SequencerIn, SequencerOut, SequencerProbe};
use crate::rank::RankController;
use pimlico_dpa::types::{
    ArrayKind, ArrayRequest, BusRequest, Dispatch, Fault, Finish, Opcode, RankEvents, Weigh,
};
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

/// Requests of a port that are accepted and not on the pins, at the most.
const ON_THEIR_WAY: usize = 4;
/// Numbers of writes and of MACs, as an entry has them: so many less one.
const NEED_MASK: u16 = 0x1FF;
/// Those of them of which a counter that has come to a number is not farther than the half.
const HALF: u16 = 0x100;
/// From so many numbers on since the one that the next of a queue needs, nothing enters that counts on.
const FAR: u16 = 0x80;

/// Numbers a sum, modulo 256: so many are never in the queues.
type SumNumber = u8;

/// Whether a counter, late by `late`, has come to a number; with an event it counts one more.
fn has_come(late: u16, counts: bool) -> bool {
    late & HALF == 0 || counts && late & NEED_MASK == NEED_MASK
}

#[derive(Clone, Copy, Default)]
struct ArrayEntry {
    /// A MAC or a CLOSE_ALL.
    request: ArrayRequest,
    /// The sum that it is part of.
    number: SumNumber,
    /// The write that its word waits for.
    need: u16,
}

impl ArrayEntry {
    fn closes(&self) -> bool {
        self.request.kind == ArrayKind::CloseAll
    }
}

#[derive(Clone, Copy, Default)]
struct ResultEntry {
    results: Results,
    /// The sum whose results it reads.
    number: SumNumber,
}

/// An RD_RESULT as those behind it see it.
#[derive(Clone, Copy, Default)]
struct Reader {
    is_context: bool,
    number: SumNumber,
}

impl ResultEntry {
    fn reader(&self) -> Reader {
        Reader { is_context: self.results.is_context(), number: self.number }
    }
}

#[derive(Clone, Copy, Default)]
struct OperandEntry {
    word: u8,
    from_host: bool,
    /// The MAC that its word waits for.
    need: u16,
}

#[derive(Clone, Copy)]
enum SoftmaxEntry {
    Finish(Finish),
    Weigh(Weigh),
}

impl Default for SoftmaxEntry {
    fn default() -> Self {
        Self::Finish(Finish::default())
    }
}

/// Numbers things in the order in which they enter, and counts those that are done.
#[derive(Clone, Copy, Default)]
struct Order {
    entered: u16,
    done: u16,
}

impl Order {
    /// What an entry needs that needs the one of this number: that, or one that is done.
    fn need(&self, number: u16) -> u16 {
        let under_way = self.entered.wrapping_sub(self.done) & 0x7F;
        let is_under_way = self.entered.wrapping_sub(number) < under_way;
        (if is_under_way { number } else { self.done }) & NEED_MASK
    }

    /// Whether it will be done, with the event of this cycle.
    fn has_come(&self, need: u16, event: bool) -> bool {
        has_come(self.done.wrapping_sub(need), event)
    }

    fn is_far(&self, need: u16) -> bool {
        self.entered.wrapping_sub(need) & NEED_MASK >= FAR
    }
}

/// The registers of one bit. Where a cycle changes none of them, and none of the queues, the next one without
/// an event changes none either.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    /// There is a command as it has come.
    input_valid: bool,
    /// The tables' words are there, and not yet looked at.
    fresh: bool,
    write_far: bool,
    mac_far: bool,
    /// Only the array queue has something to do.
    quiet: bool,
    /// Between a start and the end of its CLOSE_ALL, if it needs one.
    over: bool,
    ended_run: bool,
    /// The last array command was a CLOSE_ALL.
    closed: bool,
    /// One is in the array queue.
    closing: bool,
    head_ended: bool,
    /// The requests.
    reads: bool,
    closes: bool,
    bus_reads: bool,
    bus_writes: bool,
    finishes: bool,
    weighs: bool,
    drops: bool,
}

/// The cycle model of a sequencer whose score buffer has `SCORES` places.
///
#[doc = contract!("rank/sequencer")]
#[derive(Clone)]
pub struct Sequencer<const SCORES: usize = PLACES> {
    /// What the registers put out.
    output: SequencerOut,
    /// Nothing will change before something happens or a time is over.
    still: bool,

    flags: Flags,
    fault: Fault,
    /// The command as it has come.
    input: Dispatch,
    /// The command as it is decoded; what the tables have of its word, and what it needs.
    command: Option<Command>,
    last_use: u16,
    need: u16,
    array: Queue<ArrayEntry, ARRAY>,
    results: Queue<ResultEntry, RESULTS>,
    operands: Queue<OperandEntry, OPERANDS>,
    softmax: Queue<SoftmaxEntry, SOFTMAX>,
    /// Bursts of the host in the operands queue.
    operands_asked: u64,
    /// They were as many as the host had.
    lacks: bool,
    /// WEIGHs that have entered without their WR_WEIGHTS.
    unpaired: u8,

    /// The last write to each word of the shared buffers, and its last MAC; so many words are cleared in this
    /// run.
    last_writes: [u16; SHARED_WORDS],
    last_macs: [u16; SHARED_WORDS],
    cleared: usize,
    writes: Order,
    macs: Order,
    /// Sums that have ended among the MACs that have entered, and those whose results have come.
    ended: SumNumber,
    made: SumNumber,
    /// MACs that are accepted and not on the pins, and whether each ends a sum, the oldest at the bottom.
    sent: usize,
    lasts: u8,
    /// The same of RD_RESULTs.
    readers: usize,
    reading: [Reader; ON_THEIR_WAY],
    /// Cycles until a MAC that is a sum by itself may be requested.
    pace: u16,
    /// Cycles until an RD_RESULT of the context may be requested.
    gap: u16,

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

    /// Whether there is no command outside the queues.
    fn is_decoded(&self) -> bool {
        !self.flags.input_valid && self.command.is_none()
    }

    // -------------------------------------------------------------------------------- decode

    /// Whether what is decoded goes into its queue in this cycle.
    fn enters(&self) -> bool {
        let Some(command) = &self.command else { return false };
        let Flags { fresh, closing, write_far, mac_far, .. } = self.flags;
        if fresh || closing {
            return false;
        }
        match *command {
            Command::Read(_) => self.array.has_room() && !mac_far,
            Command::CloseAll => self.array.has_room(),
            Command::Results(results) => {
                self.results.has_room() && (results.scores() == 0 || self.softmax.is_empty())
            }
            Command::Shared { behind_reads, .. } => {
                let clear = !behind_reads || self.array.is_empty();
                self.operands.has_room() && !write_far && clear
            }
            Command::Weights { .. } => self.operands.has_room() && !write_far,
            Command::Finish(_) | Command::Weigh(_) => self.softmax.has_room(),
        }
    }

    /// Whether the command as it has come is decoded in this cycle.
    fn moves(&self, enters: bool) -> bool {
        if !self.flags.input_valid || self.command.is_some() && !enters {
            return false;
        }
        let Dispatch { kind, word, .. } = self.input;
        let is_cleared = usize::from(word) < self.cleared;
        let looks_up = matches!(
            kind,
            Opcode::MacScore | Opcode::MacContext | Opcode::WrShared | Opcode::WrWeights
        );
        is_cleared || !looks_up
    }

    /// Decodes it, and reads the tables, with what enters in this cycle.
    fn decode(&mut self, input: &SequencerIn) -> Fault {
        match decode(&self.input, input, SCORES as u64) {
            Ok(command) => {
                let last_write = command.uses().map(|word| self.last_writes[usize::from(word)]);
                let last_mac = command.writes().map(|word| self.last_macs[usize::from(word)]);
                self.last_use = last_write.or(last_mac).unwrap_or_default();
                self.command = Some(command);
                Fault::None
            }
            Err(fault) => fault,
        }
    }

    /// What is wrong with a command that would enter now.
    fn refuses(&self, command: &Command) -> Fault {
        let unpaired = match command {
            Command::Shared { .. } if self.lacks => return Fault::NoOperand,
            Command::Weigh(_) => self.unpaired == WORDS,
            Command::Weights { .. } => self.unpaired == 0,
            Command::CloseAll => self.unpaired > 0,
            _ => false,
        };
        if unpaired { Fault::Unpaired } else { Fault::None }
    }

    // ------------------------------------------------------------------------------- requests

    /// What the registers put out.
    fn requests(&self) -> SequencerOut {
        let Flags { reads, closes, bus_reads, bus_writes, finishes, weighs, .. } = self.flags;
        let mut output = SequencerOut {
            dispatch_ready_o: !self.flags.input_valid,
            fault_o: self.fault,
            done_o: self.flags.ended_run && self.flags.closed,
            array_valid_o: reads || closes,
            bus_valid_o: bus_reads || bus_writes,
            finish_valid_o: finishes,
            weigh_valid_o: weighs,
            weights_drop_o: self.flags.drops,
            head_end_o: closes && !self.flags.head_ended,
            ..Default::default()
        };
        match self.array.next() {
            Some(entry) if reads => output.array_o = entry.request,
            _ if closes => output.array_o.kind = ArrayKind::CloseAll,
            _ => {}
        }
        match (self.results.next(), self.operands.next()) {
            (Some(entry), _) if bus_reads => {
                let Results { address, sum } = entry.results;
                output.bus_o = BusRequest { write: false, address, host: false, sum };
            }
            (_, Some(&OperandEntry { word, from_host, .. })) if bus_writes => {
                let request = BusRequest { write: true, address: word, ..Default::default() };
                output.bus_o = BusRequest { host: from_host, ..request };
            }
            _ => {}
        }
        match self.softmax.next() {
            Some(SoftmaxEntry::Finish(finish)) if finishes => output.finish_o = *finish,
            Some(SoftmaxEntry::Weigh(weigh)) if weighs => output.weigh_o = *weigh,
            _ => {}
        }
        output
    }

    /// The oldest RD_RESULT that is not done, unless it is still in the memory.
    fn oldest(&self) -> Option<Reader> {
        self.reader(0)
    }

    /// That which is the oldest once so many are done.
    fn reader(&self, done: usize) -> Option<Reader> {
        match self.readers > done {
            true => self.reading.get(done).copied(),
            false => self.results.next().map(ResultEntry::reader),
        }
    }

    /// Whether the next array entry is requested in the next cycle, as a MAC or as a CLOSE_ALL.
    fn ask_array(&self, events: &RankEvents) -> [bool; 2] {
        if events.array_taken {
            return [false; 2];
        }
        match self.array.next() {
            None => [false, self.flags.ended_run && !self.flags.closed],
            Some(entry) if entry.closes() => [false, self.sent == 0 && self.flags.quiet],
            Some(entry) => {
                let has_word = self.writes.has_come(entry.need, events.written);
                let may = has_word && (!entry.request.mac.last || self.may_end(entry, events));
                [self.flags.reads || may, false]
            }
        }
    }

    /// Whether a sum may end: its results take the place of those before.
    fn may_end(&self, entry: &ArrayEntry, events: &RankEvents) -> bool {
        let mac = &entry.request.mac;
        let (none, oldest) = match events.results_taken {
            true => (self.results.is_single(), self.reader(1)),
            false => (self.results.is_empty(), self.reader(0)),
        };
        let waits = !none
            && oldest.is_none_or(|oldest| {
                let between = entry.number.wrapping_sub(oldest.number).wrapping_sub(1);
                between < SumNumber::MAX / 2 && (mac.accumulate || oldest.is_context)
            });
        !waits && (!mac.first || self.lasts == 0 && self.pace <= 1)
    }

    /// Whether the next RD_RESULT is requested in the next cycle.
    fn asks_results(&self, events: &RankEvents, sends: bool) -> bool {
        let Some(entry) = self.results.next() else { return false };
        let since = self.made.wrapping_sub(entry.number) as i8;
        let is_there = since >= 0 || events.results && since == -1;
        let may_ask = !entry.results.is_context() || self.readers == 0 && self.gap <= 1;
        !sends && is_there && may_ask
    }

    /// The same of the next write to the shared buffers.
    fn asks_operand(&self, events: &RankEvents, sends: bool) -> bool {
        let Some(entry) = self.operands.next() else { return false };
        let is_there = entry.from_host || self.complete > 0 || events.word_made;
        !sends && self.macs.has_come(entry.need, events.read) && is_there
    }

    /// The same of the softmax unit's ports.
    fn ask_softmax(&self, events: &RankEvents, done: bool) -> [bool; 2] {
        let is_last = |left: u16, event: bool| left == 0 || left == 1 && event;
        if done || u64::from(self.scores) != events.scaled.get() {
            return [false; 2];
        }
        match self.softmax.next() {
            Some(SoftmaxEntry::Finish(_)) => [true, false],
            Some(SoftmaxEntry::Weigh(_)) => {
                let finished = is_last(self.finishing.into(), events.finished);
                [false, finished && self.words != WORDS]
            }
            None => [false; 2],
        }
    }

    // ---------------------------------------------------------------------------------- edges

    /// The oldest entry that is not done reads results in whose place there are later ones, or will be.
    fn overwrites(&self, events: &RankEvents) -> bool {
        !self.results.is_empty()
            && self.oldest().is_some_and(|oldest| {
                let since = self.made.wrapping_sub(oldest.number) as i8;
                since > 0 || events.results && since == 0
            })
    }

    /// Everything has been dispatched, and a word of weights has no WR_WEIGHTS.
    fn ends_unpaired(&self) -> bool {
        self.flags.over && self.is_decoded() && self.unpaired > 0
    }

    /// After a fault nothing enters, so that no entry will write a word that none has claimed.
    fn drops_word(&self) -> bool {
        self.fault != Fault::None
            && self.is_decoded()
            && self.operands.is_empty()
            && self.complete > 0
            && !self.flags.drops
    }

    fn see_array(&mut self, input: &SequencerIn, sends: bool) {
        let events = &input.events_i;
        let ends = self.lasts & 1 != 0;
        self.pace = self.pace.saturating_sub(1);
        if events.read {
            self.macs.done = self.macs.done.wrapping_add(1);
            self.sent = self.sent.saturating_sub(1);
            self.lasts >>= 1;
            if ends {
                // A chunk's results leave in four bursts, which take longer than one MAC, and no longer than two.
                let chunk_tck = CHUNK_BURSTS * u16::from(input.burst_i);
                self.pace = chunk_tck.saturating_sub(RankController::LATENCY as u16 + 1);
            }
        }
        if sends && let Some(entry) = self.array.next() {
            self.lasts |= u8::from(entry.request.mac.last) << self.sent.min(ON_THEIR_WAY - 1);
            self.sent += 1;
        }
        self.made = self.made.wrapping_add(events.results.into());
    }

    fn see_bus(&mut self, input: &SequencerIn, sends: [bool; 2]) {
        let events = &input.events_i;
        self.gap = self.gap.saturating_sub(1);
        if events.results_taken {
            let is_context = self.oldest().is_some_and(|oldest| oldest.is_context);
            let gap = if is_context { CONTEXT_GAP } else { TREE_GAP };
            let latency = RankController::LATENCY as u16 + 1;
            self.gap = (u16::from(input.burst_i) + gap).saturating_sub(latency);
            self.readers = self.readers.saturating_sub(1);
            self.reading.copy_within(1.., 0);
        }
        if sends[0]
            && let Some(entry) = self.results.next()
        {
            self.reading[self.readers.min(ON_THEIR_WAY - 1)] = entry.reader();
            self.readers += 1;
        }
        if sends[1]
            && let Some(entry) = self.operands.next()
        {
            match entry.from_host {
                true => self.operands_asked = self.operands_asked.saturating_sub(1),
                false => self.take_word(),
            }
        }
        self.writes.done = self.writes.done.wrapping_add(events.written.into());
    }

    fn see_softmax(&mut self, events: &RankEvents) {
        self.finishing = self.finishing.wrapping_add(events.finish_taken.into());
        self.finishing = self.finishing.wrapping_sub(events.finished.into()) & 15;
        self.words = self.words.wrapping_add(events.weigh_taken.into()) & 31;
        self.complete = self.complete.wrapping_add(events.word_made.into()) & 31;
        self.scores = self.scores.wrapping_sub(events.scaled.get() as u16) & 0x3FF;
        let elements = (events.context_made.get() + events.output_made.get()) as u16;
        self.elements = self.elements.wrapping_sub(elements);
    }

    /// The oldest complete word of weights goes to the data bus, or is dropped.
    fn take_word(&mut self) {
        self.words = self.words.wrapping_sub(1) & 31;
        self.complete = self.complete.wrapping_sub(1) & 31;
    }

    /// A command enters its queue, and the counters that belong to it count.
    fn enter(&mut self, command: Command) {
        let need = self.need;
        match command {
            Command::Read(request) => {
                self.ended = self.ended.wrapping_add(request.mac.last.into());
                self.macs.entered = self.macs.entered.wrapping_add(1);
                self.last_macs[usize::from(request.mac.word)] = self.macs.entered;
                self.array.push(ArrayEntry { request, number: self.ended, need });
            }
            Command::CloseAll => {
                self.flags.head_ended = false;
                self.flags.closing = true;
                let request = ArrayRequest { kind: ArrayKind::CloseAll, ..ArrayRequest::default() };
                self.array.push(ArrayEntry { request, number: self.ended, need });
            }
            Command::Results(results) => {
                self.scores = (self.scores + results.scores()) & 0x3FF;
                self.elements = self.elements.wrapping_add(results.elements());
                self.results.push(ResultEntry { results, number: self.ended });
            }
            Command::Shared { word, .. } | Command::Weights { word } => {
                let from_host = matches!(command, Command::Shared { .. });
                match from_host {
                    true => self.operands_asked += 1,
                    false => self.unpaired = self.unpaired.wrapping_sub(1) & 31,
                }
                self.writes.entered = self.writes.entered.wrapping_add(1);
                self.last_writes[usize::from(word)] = self.writes.entered;
                self.operands.push(OperandEntry { word, from_host, need });
            }
            Command::Finish(finish) => self.softmax.push(SoftmaxEntry::Finish(finish)),
            Command::Weigh(weigh) => {
                self.unpaired += 1;
                self.softmax.push(SoftmaxEntry::Weigh(weigh));
            }
        }
    }

    /// A word of the tables is cleared, where nothing enters.
    fn clear(&mut self) {
        if self.cleared < SHARED_WORDS {
            self.last_writes[self.cleared] = 0;
            self.last_macs[self.cleared] = 0;
            self.cleared += 1;
        }
    }

    fn start(&mut self) {
        let flags = &mut self.flags;
        (flags.over, flags.ended_run, flags.closed, flags.head_ended) =
            (false, false, false, false);
        flags.closes = false;
        self.fault = Fault::None;
        (self.pace, self.gap) = (0, 0);
        self.cleared = 0;
    }
}

impl<const SCORES: usize> Model for Sequencer<SCORES> {
    fn new() -> Self {
        const { assert!(SCORES >= 4 && SCORES <= PLACES) };
        let mut new = Self {
            output: SequencerOut::default(),
            still: false,
            flags: Flags::default(),
            fault: Fault::None,
            input: Dispatch::default(),
            command: None,
            last_use: 0,
            need: 0,
            array: Queue::new(),
            results: Queue::new(),
            operands: Queue::new(),
            softmax: Queue::new(),
            operands_asked: 0,
            lacks: false,
            unpaired: 0,
            last_writes: [0; SHARED_WORDS],
            last_macs: [0; SHARED_WORDS],
            cleared: 0,
            writes: Order::default(),
            macs: Order::default(),
            ended: 0,
            made: 0,
            sent: 0,
            lasts: 0,
            readers: 0,
            reading: Default::default(),
            pace: 0,
            gap: 0,
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
            writes_q: self.writes.entered,
            written_q: self.writes.done,
            macs_q: self.macs.entered,
            read_q: self.macs.done,
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
        let events = &input.events_i;
        let taken = input.dispatch_valid_i && !self.flags.input_valid && self.fault == Fault::None;
        let happens = taken | input.start_i | input.done_i | (*events != RankEvents::default());
        let lacks = self.operands_asked >= input.operands_i.get();
        if self.still && !happens && self.pace != 1 && self.gap != 1 {
            self.pace = self.pace.saturating_sub(1);
            self.gap = self.gap.saturating_sub(1);
            self.lacks = lacks;
            return output;
        }

        // What the registers of this cycle say.
        let before = self.flags;
        let fault_before = self.fault;
        let (enters, ends_unpaired) = (self.enters(), self.ends_unpaired());
        let moves = self.moves(enters);
        let refused = match &self.command {
            Some(command) if enters => self.refuses(command),
            _ => Fault::None,
        };
        let overwrites = self.overwrites(events);
        let next = self.array.next();
        let array_send = events.array_taken && next.is_some();
        let close_done = array_send && before.closes;
        let bus_sends =
            [before.bus_reads, before.bus_writes].map(|requested| events.bus_taken && requested);
        let softmax_done = events.finish_taken || events.weigh_taken;
        let mac = next.filter(|entry| !entry.closes());
        let write = self.operands.next();
        let quiet = self.is_quiet();
        let [reads, closes] = self.ask_array(events);
        let results_due = self.asks_results(events, bus_sends[0]);
        let [finishes, weighs] = self.ask_softmax(events, softmax_done);
        self.flags = Flags {
            input_valid: if before.input_valid { !moves } else { taken },
            fresh: moves,
            write_far: mac.is_some_and(|mac| self.writes.is_far(mac.need)),
            mac_far: write.is_some_and(|write| self.macs.is_far(write.need)),
            quiet,
            over: before.over || input.done_i,
            ended_run: before.over && self.is_decoded() && self.array.is_empty() && quiet,
            closed: if events.array_taken { before.closes } else { before.closed },
            closing: before.closing && !close_done,
            head_ended: (before.head_ended || before.closes)
                && !(events.array_taken && before.reads),
            reads,
            closes,
            bus_reads: results_due,
            bus_writes: !results_due && self.asks_operand(events, bus_sends[1]),
            finishes,
            weighs,
            drops: self.drops_word(),
        };
        if before.fresh
            && let Some(command) = &self.command
        {
            let order = if command.uses().is_some() { &self.writes } else { &self.macs };
            self.need = order.need(self.last_use);
        }

        self.lacks = lacks;
        self.see_bus(input, bus_sends);
        self.see_array(input, array_send && before.reads);
        self.see_softmax(events);
        let changes = self.array.step(array_send, events.read || close_done)
            | self.results.step(bus_sends[0], events.results_taken)
            | self.operands.step(bus_sends[1], events.written)
            | self.softmax.step(softmax_done, softmax_done);
        if output.weights_drop_o {
            self.take_word();
            self.unpaired = self.unpaired.wrapping_sub(1) & 31;
        }
        let mut decode_fault = Fault::None;
        let clears = !enters && self.cleared < SHARED_WORDS;
        if let Some(command) = self.command.take_if(|_| enters)
            && refused == Fault::None
        {
            self.enter(command);
        }
        if moves {
            decode_fault = self.decode(input);
        }
        if clears {
            self.clear();
        }
        if taken {
            self.input = input.dispatch_i;
        }
        if self.fault == Fault::None {
            self.fault = match (refused, decode_fault) {
                _ if overwrites => Fault::Overwritten,
                (Fault::None, _) if ends_unpaired => Fault::Unpaired,
                (Fault::None, fault) | (fault, _) => fault,
            };
        }
        if input.start_i {
            self.start();
        }
        let changes = changes || self.flags != before || self.fault != fault_before;
        self.still = !(changes | happens | enters | moves | clears);
        self.output = self.requests();
        output
    }
}
