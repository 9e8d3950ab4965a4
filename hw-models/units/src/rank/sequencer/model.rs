// SPDX-License-Identifier: MIT
//! The sequencer's model.

use super::array::{Array, Next};
use super::command::{Command, Results, decode};
use super::queue::Queue;
use super::results::{Queued, Reader, Readers, SumNumber};
use super::scoreboard::Scoreboard;
use super::softmax::{Softmax, Traffic};
use super::{SequencerIn, SequencerOut, SequencerProbe};
use crate::rank::RankController;
use pimlico_dpa::types::{
    ArrayKind, ArrayRequest, BusRequest, Dispatch, Fault, Finish, Mac, RankEvents, Weigh,
};
use pimlico_ports::{Model, Unit};

const ARRAY: usize = 32;
const RESULTS: usize = 64;
const OPERANDS: usize = 64;
const SOFTMAX: usize = 16;
/// Places of the score buffer, unless it is made with others.
const PLACES: usize = 1 << 17;
#[derive(Clone, Copy, Default, PartialEq)]
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

#[derive(Clone, Copy, Default, PartialEq)]
struct ResultEntry {
    results: Results,
    /// The sum whose results it reads.
    number: SumNumber,
}

impl ResultEntry {
    fn reader(&self) -> Reader {
        let Self { results, number } = self;
        Reader { is_context: results.is_context(), is_kept: results.is_kept(), number: *number }
    }
}

#[derive(Clone, Copy, Default, PartialEq)]
struct OperandEntry {
    word: u8,
    from_host: bool,
    /// The MAC that its word waits for.
    need: u16,
}

#[derive(Clone, Copy, PartialEq)]
enum SoftmaxEntry {
    Finish(Finish),
    Weigh(Weigh),
}

impl Default for SoftmaxEntry {
    fn default() -> Self {
        Self::Finish(Finish::default())
    }
}

/// The registers of one bit. Where a cycle changes none of them, and none of the queues, the next one without
/// an event changes none either.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Flags {
    /// Only the array queue has something to do.
    quiet: bool,
    /// Between a start and the end of its CLOSE_ALL, if it needs one.
    over: bool,
    ended_run: bool,
    /// A CLOSE_ALL is in the array queue.
    closing: bool,
    /// The requests of the bus.
    bus_reads: bool,
    bus_writes: bool,
}

/// The cycle model of a sequencer whose score buffer has `SCORES` places. The other parameters are idle cycles
/// of the adder unit between bursts of the context and those of scores and outputs, the tree's.
///
#[doc = contract!("rank/sequencer")]
#[derive(Clone, PartialEq)]
pub struct Sequencer<
    const SCORES: usize = PLACES,
    const CONTEXT_AFTER_CONTEXT: u16 = 0,
    const CONTEXT_AFTER_TREE: u16 = 4,
    const TREE_AFTER_CONTEXT: u16 = 9,
> {
    /// What the registers put out.
    output: SequencerOut,
    /// Nothing will change before something happens or a time is over.
    still: bool,

    flags: Flags,
    fault: Fault,
    /// Commands as they have come, the older first.
    input: [Option<Dispatch>; 2],
    /// The command as it is decoded, and that which may enter.
    look: Option<Command>,
    command: Option<Command>,
    scoreboard: Scoreboard,
    array: Queue<ArrayEntry, ARRAY>,
    results: Queue<ResultEntry, RESULTS>,
    operands: Queue<OperandEntry, OPERANDS>,
    softmax: Queue<SoftmaxEntry, SOFTMAX>,
    /// Bursts of the host in the operands queue.
    operands_asked: u64,
    /// They were as many as the host had.
    lacks: bool,
    /// The host's next burst was there in the last cycle in which anything changed.
    operand_there: bool,

    /// Sums that have ended among the MACs that have entered.
    ended: SumNumber,
    array_requests: Array,
    readers: Readers<CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>,
    /// Elements of results that are requested and not there yet.
    elements: u16,
    softmax_requests: Softmax,
}

impl<
    const SCORES: usize,
    const CONTEXT_AFTER_CONTEXT: u16,
    const CONTEXT_AFTER_TREE: u16,
    const TREE_AFTER_CONTEXT: u16,
> Unit for Sequencer<SCORES, CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>
{
    const MODULE: &'static str = "sequencer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("SCORES", SCORES as i64),
        ("LATENCY", <RankController>::LATENCY as i64),
        ("CONTEXT_AFTER_CONTEXT", CONTEXT_AFTER_CONTEXT as i64),
        ("CONTEXT_AFTER_TREE", CONTEXT_AFTER_TREE as i64),
        ("TREE_AFTER_CONTEXT", TREE_AFTER_CONTEXT as i64),
    ];
    type In = SequencerIn;
    type Out = SequencerOut;
    type Probe = SequencerProbe;

    fn variant() -> String {
        let scores = if SCORES == PLACES { String::new() } else { format!("scores{SCORES}") };
        let gaps = match (CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT) {
            (0, 4, 9) => String::new(),
            (context, tree, back) => format!("gaps{context}_{tree}_{back}"),
        };
        let parts = [scores, gaps].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("_")
    }
}

impl<
    const SCORES: usize,
    const CONTEXT_AFTER_CONTEXT: u16,
    const CONTEXT_AFTER_TREE: u16,
    const TREE_AFTER_CONTEXT: u16,
> Sequencer<SCORES, CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>
{
    /// Whether nothing but the array queue has anything to do.
    fn is_quiet(&self) -> bool {
        self.results.is_empty()
            && self.operands.is_empty()
            && self.softmax.is_empty()
            && self.elements == 0
            && self.softmax_requests.is_quiet()
    }

    /// Whether there is no command outside the queues.
    fn is_decoded(&self) -> bool {
        self.input[0].is_none() && self.look.is_none() && self.command.is_none()
    }

    // -------------------------------------------------------------------------------- decode

    /// Whether what is decoded goes into its queue in this cycle.
    fn enters(&self) -> bool {
        let Some(command) = &self.command else { return false };
        let (write_far, mac_far) = (self.scoreboard.write_far(), self.scoreboard.mac_far());
        if self.flags.closing {
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

    /// Whether the oldest command that has come is decoded in this cycle.
    fn moves(&self, steps: bool) -> bool {
        let Some(Dispatch { kind, word, .. }) = self.input[0] else { return false };
        let may_look_up = self.scoreboard.is_cleared(word) || !kind.has_shared_word();
        (self.look.is_none() || steps) && may_look_up
    }

    /// What is wrong with a command that would enter now.
    fn refuses(&self, command: &Command) -> Fault {
        let unpaired = match command {
            Command::Shared { .. } if self.lacks => return Fault::NoOperand,
            Command::Weigh(_) => self.softmax_requests.is_full(),
            Command::Weights { .. } => self.softmax_requests.is_paired(),
            Command::CloseAll => !self.softmax_requests.is_paired(),
            _ => false,
        };
        if unpaired { Fault::Unpaired } else { Fault::None }
    }

    // ------------------------------------------------------------------------------- requests

    /// What the registers put out.
    fn requests(&self) -> SequencerOut {
        let Flags { bus_reads, bus_writes, .. } = self.flags;
        let (reads, closes) = (self.array_requests.reads(), self.array_requests.closes());
        let softmax = &self.softmax_requests;
        let (finishes, weighs) = (softmax.finishes(), softmax.weighs());
        let mut output = SequencerOut {
            dispatch_ready_o: self.input[1].is_none(),
            fault_o: self.fault,
            done_o: self.flags.ended_run && self.array_requests.closed(),
            array_valid_o: reads || closes,
            bus_valid_o: bus_reads || bus_writes,
            finish_valid_o: finishes,
            weigh_valid_o: weighs,
            weights_drop_o: softmax.drops(),
            head_end_o: self.array_requests.head_end(),
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

    /// The next of the array queue.
    fn next_array(&self, input: &SequencerIn, queued: &Queued) -> Next {
        match self.array.next() {
            None => Next::None { ended: self.flags.ended_run },
            Some(entry) if entry.closes() => Next::CloseAll { quiet: self.flags.quiet },
            Some(ArrayEntry { request, number, need }) => {
                let Mac { last, accumulate, .. } = request.mac;
                let word_there = self.scoreboard.mac_may(*need, input.events_i.written);
                let waits = self.readers.keeps(input, queued, accumulate, *number);
                Next::Mac { last, word_there, waits }
            }
        }
    }

    /// The queue of RD_RESULTs.
    fn queued(&self) -> Queued {
        Queued {
            next: self.results.next().map(ResultEntry::reader),
            is_empty: self.results.is_empty(),
            is_single: self.results.is_single(),
        }
    }

    /// Whether the next write to the shared buffers is requested in the next cycle.
    fn asks_operand(&self, input: &SequencerIn, sends: bool) -> bool {
        let events = &input.events_i;
        let Some(entry) = self.operands.next() else { return false };
        let is_there = match entry.from_host {
            true => input.operand_valid_i,
            false => self.softmax_requests.has_word(events),
        };
        !sends && self.scoreboard.write_may(entry.need, events.read) && is_there
    }

    // ---------------------------------------------------------------------------------- edges

    /// Everything has been dispatched, and a word of weights has no WR_WEIGHTS.
    fn ends_unpaired(&self) -> bool {
        self.flags.over && self.is_decoded() && !self.softmax_requests.is_paired()
    }

    /// After a fault nothing enters, so that no entry will write a word that none has claimed.
    fn may_drop(&self) -> bool {
        self.fault != Fault::None && self.is_decoded() && self.operands.is_empty()
    }

    /// A write is sent.
    fn send_write(&mut self) {
        let from_host = self.operands.next().is_some_and(|entry| entry.from_host);
        self.operands_asked = self.operands_asked.saturating_sub(from_host.into());
    }

    /// A command enters its queue, and the counters that belong to it count.
    fn enter(&mut self, command: Command, need: u16) {
        if let Some((access, word)) = command.access() {
            self.scoreboard.enter(access, word);
        }
        match command {
            Command::Read(request) => {
                self.ended = self.ended.wrapping_add(request.mac.last.into());
                self.array.push(ArrayEntry { request, number: self.ended, need });
            }
            Command::CloseAll => {
                self.flags.closing = true;
                let request = ArrayRequest { kind: ArrayKind::CloseAll, ..ArrayRequest::default() };
                self.array.push(ArrayEntry { request, number: self.ended, need });
            }
            Command::Results(results) => {
                self.elements = self.elements.wrapping_add(results.elements());
                self.results.push(ResultEntry { results, number: self.ended });
            }
            Command::Shared { word, .. } | Command::Weights { word } => {
                let from_host = matches!(command, Command::Shared { .. });
                self.operands_asked += u64::from(from_host);
                self.operands.push(OperandEntry { word, from_host, need });
            }
            Command::Finish(finish) => self.softmax.push(SoftmaxEntry::Finish(finish)),
            Command::Weigh(weigh) => self.softmax.push(SoftmaxEntry::Weigh(weigh)),
        }
    }

    /// Commands go on: into their queue, from the tables, and from where they have come. Returns what is wrong with
    /// the one that is decoded.
    fn advance(
        &mut self,
        input: &SequencerIn,
        [enters, steps, moves]: [bool; 3],
        entering: Option<Command>,
    ) -> Fault {
        let need = self.scoreboard.need();
        let access = entering.and_then(|command| command.access());
        let look = self.look.filter(|_| steps);
        if let Some((looked, _)) = look.and_then(|look| look.access()) {
            self.scoreboard.look(looked, access.map(|(access, _)| access));
        }
        let before = self.look.or(self.command).and_then(|command| command.access());
        let mut fault = Fault::None;
        if steps {
            self.look = None;
        }
        if moves && let Some(oldest) = self.input[0].take() {
            self.input[0] = self.input[1].take();
            match decode(&oldest, input, SCORES as u64) {
                Ok(command) => {
                    if let Some(looks_up) = command.access() {
                        self.scoreboard.read(looks_up, access, before);
                    }
                    self.look = Some(command);
                }
                Err(wrong) => fault = wrong,
            }
        }
        if let Some(command) = entering {
            self.enter(command, need);
        }
        if enters {
            self.command = None;
        }
        if steps {
            self.command = look;
        }
        fault
    }

    fn start(&mut self) {
        (self.flags.over, self.flags.ended_run) = (false, false);
        self.fault = Fault::None;
        self.array_requests.start();
        self.readers.start();
        self.scoreboard.start();
    }
}

impl<
    const SCORES: usize,
    const CONTEXT_AFTER_CONTEXT: u16,
    const CONTEXT_AFTER_TREE: u16,
    const TREE_AFTER_CONTEXT: u16,
> Model for Sequencer<SCORES, CONTEXT_AFTER_CONTEXT, CONTEXT_AFTER_TREE, TREE_AFTER_CONTEXT>
{
    fn new() -> Self {
        const { assert!(SCORES >= 4 && SCORES <= PLACES) };
        let mut new = Self {
            output: SequencerOut::default(),
            still: false,
            flags: Flags::default(),
            fault: Fault::None,
            input: [None; 2],
            look: None,
            command: None,
            scoreboard: Scoreboard::new(),
            array: Queue::new(),
            results: Queue::new(),
            operands: Queue::new(),
            softmax: Queue::new(),
            operands_asked: 0,
            lacks: false,
            operand_there: false,
            ended: 0,
            array_requests: Array::default(),
            readers: Readers::default(),
            elements: 0,
            softmax_requests: Softmax::default(),
        };
        new.output = new.requests();
        new
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> SequencerProbe {
        SequencerProbe {
            look_valid_q: self.look.is_some(),
            command_valid_q: self.command.is_some(),
            ended_q: self.ended,
            made: self.readers.made(),
            elements_q: self.elements,
        }
    }

    fn settle(&self, _: &SequencerIn) -> SequencerOut {
        self.output
    }

    fn step(&mut self, input: &SequencerIn) -> SequencerOut {
        let output = self.output;
        let events = &input.events_i;
        let taken = input.dispatch_valid_i && output.dispatch_ready_o && self.fault == Fault::None;
        let comes = input.operand_valid_i != self.operand_there;
        let happens =
            taken | comes | input.start_i | input.done_i | (*events != RankEvents::default());
        let ends_waiting = self.array_requests.ends_waiting() || self.readers.ends_waiting();
        if self.still && !happens && !ends_waiting {
            self.array_requests.wait();
            self.readers.wait();
            self.lacks = self.operands_asked >= input.operands_i.get();
            return output;
        }

        // What the registers of this cycle say.
        let before = self.flags;
        let fault_before = self.fault;
        let (enters, ends_unpaired) = (self.enters(), self.ends_unpaired());
        let refused = match &self.command {
            Some(command) if enters => self.refuses(command),
            _ => Fault::None,
        };
        let entering = self.command.filter(|_| enters && refused == Fault::None);
        let steps = self.look.is_some() && (self.command.is_none() || enters);
        let moves = self.moves(steps);
        let queued = self.queued();
        let overwrites = self.readers.overwrites(input, &queued);
        let next = self.array.next();
        let array_send = events.array_taken && next.is_some();
        let close_done = array_send && self.array_requests.closes();
        let bus_sends =
            [before.bus_reads, before.bus_writes].map(|requested| events.bus_taken && requested);
        let softmax_done = events.finish_taken || events.weigh_taken;
        let mac_need = next.filter(|entry| !entry.closes()).map(|mac| mac.need);
        let write = self.operands.next().copied();
        let finishes = self.softmax.next().map(|next| matches!(next, SoftmaxEntry::Finish(_)));
        let quiet = self.is_quiet();
        let next_array = self.next_array(input, &queued);
        let results_due = self.readers.is_due(input, &queued, bus_sends[0]);
        self.flags = Flags {
            quiet,
            over: before.over || input.done_i,
            ended_run: before.over && self.is_decoded() && self.array.is_empty() && quiet,
            closing: before.closing && !close_done,
            bus_reads: results_due,
            bus_writes: !results_due && self.asks_operand(input, bus_sends[1]),
        };
        let may_drop = self.may_drop();
        let far = self.scoreboard.find_far(mac_need, write.map(|write| write.need));

        // The edge.
        let from_host = matches!(entering, Some(Command::Shared { .. }));
        self.lacks = self.operands_asked + u64::from(from_host) >= input.operands_i.get();
        self.operand_there = input.operand_valid_i;
        let close_enters = matches!(entering, Some(Command::CloseAll));
        let array_changes = self.array_requests.step(input, next_array, close_enters);
        self.readers.step(input, &queued, bus_sends[0]);
        if bus_sends[1] {
            self.send_write();
        }
        let elements = (events.context_made.get() + events.output_made.get()) as u16;
        self.elements = self.elements.wrapping_sub(elements);
        let traffic = Traffic {
            scores: matches!(entering, Some(Command::Results(results)) if results.scores() > 0),
            weigh: matches!(entering, Some(Command::Weigh(_))),
            weights: matches!(entering, Some(Command::Weights { .. })),
            sends: bus_sends[1] && write.is_some_and(|write| !write.from_host),
        };
        let changes = self.array.step(array_send, events.read || close_done)
            | self.results.step(bus_sends[0], events.results_taken)
            | self.operands.step(bus_sends[1], events.written)
            | self.softmax.step(softmax_done, softmax_done)
            | self.softmax_requests.step(events, finishes, may_drop, traffic);
        let decode_fault = self.advance(input, [enters, steps, moves], entering);
        self.scoreboard.see(events.read, events.written);
        let clears = !enters && self.scoreboard.clear();
        if taken {
            let free = usize::from(self.input[0].is_some());
            self.input[free] = Some(input.dispatch_i);
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
        let changes =
            changes || array_changes || far || self.flags != before || self.fault != fault_before;
        self.still = !(changes | happens | enters | steps | moves | clears);
        self.output = self.requests();
        output
    }
}

mod laps;
mod slots;
pub use slots::SequencerSlots;
