// SPDX-License-Identifier: MIT
//! The judge of a sequencer: every command that it has accepted, and what has become of it.

use super::opcode::{
    CLOSE_ALL, FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use super::{Array, Asked, Bus, Command, Complaint, Seen, Sizes};
use std::collections::{BTreeSet, VecDeque};

/// Words of weights under way, at the most.
const WORDS: u32 = 16;
/// Cycles from the acceptance of a command to its request, where nothing holds it back, at the most.
const LATENCY: u64 = 8;
/// Cycles from the acceptance of a command to its entry into a queue, at the least.
const ENTRY: u64 = 3;
/// Cycles after a start in which words of the scoreboard are cleared, at the most, besides those in which
/// commands enter.
const CLEARING: u64 = 300;
/// Cycles in which nothing happens though something is left, at the most, besides those of a chunk's results.
const STILL: u64 = 300;

const ARRAY: usize = 0;
const RESULTS: usize = 1;
const OPERANDS: usize = 2;
const SOFTMAX: usize = 3;
const PORTS: [&str; 4] = ["array_o", "bus_o", "bus_o", "weigh_o"];

/// What has become of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has a fault of its own, and enters no queue.
    Dropped,
    Waiting,
    /// Its request is accepted.
    Sent,
    /// It is on the pins, or written.
    Done,
}

/// An accepted command.
#[derive(Clone, Debug)]
struct Item {
    command: Command,
    /// Its place among all that were accepted.
    index: usize,
    /// When it was accepted.
    at: u64,
    state: State,
    /// A MAC: its sum; others: sums that ended before it.
    sum: u64,
    /// A MAC: the last write to its word before it; a write: the last MAC of its word.
    after: Option<usize>,
    /// A write: the write to its word before it.
    before: Option<usize>,
    /// A WR_SHARED for which the host had no burst: it may have been dropped.
    is_uncertain: bool,
}

impl Item {
    fn is_mac(&self) -> bool {
        matches!(self.command.opcode, MAC_SCORE | MAC_CONTEXT)
    }

    fn is_context(&self) -> bool {
        self.command.opcode == RD_RESULT && self.command.word & 0x80 != 0
    }

    fn is_scores(&self) -> bool {
        self.command.opcode == RD_RESULT && self.command.word < 0x40
    }

    /// An RD_RESULT: the sums whose results may have come with it on the pins. Those of bank groups 1 to 3 are
    /// kept for one more.
    fn readable(&self) -> u64 {
        let is_kept = !self.is_context() && self.command.word & 3 != 0;
        self.sum + u64::from(is_kept)
    }
}

/// Watches a sequencer.
#[derive(Debug)]
pub struct Judge {
    sizes: Sizes,
    clock: u64,
    started: u64,
    /// Commands that were accepted before.
    accepted_before: usize,
    items: Vec<Item>,
    /// Those that wait, and those that are sent, in the order of the program.
    waiting: [VecDeque<usize>; 4],
    sent: [VecDeque<usize>; 4],
    /// The last write to each word, and the last MAC of each.
    last_write: Vec<Option<usize>>,
    last_mac: Vec<Option<usize>>,
    over: bool,
    /// Requests of the cycle before that were not accepted, and the fault then.
    stood: Asked,
    /// Faults that the run may show, and the first command that has one.
    causes: BTreeSet<u32>,
    first_wrong: Option<usize>,
    /// Bursts of the host that were still to be taken in the cycle before, and whether the next was there.
    operands: usize,
    operand_there: bool,
    sums_ended: u64,
    sums_read: u64,
    sums_made: u64,
    /// The last time a MAC that ends a sum was on the pins, and results: the tree's, and the context's.
    sum_read: Option<u64>,
    results_read: [Option<u64>; 2],
    /// An RD_RESULT that is sent reads the results of a later sum.
    is_overwritten: bool,
    closed: bool,
    scores: u64,
    elements: u64,
    finishing: u64,
    words: u32,
    complete: u32,
    unpaired: u32,
    /// Cycles in which the next entry of each queue could have been requested, and in which nothing happened.
    idle: [u64; 4],
    still: u64,
}

type Judgement = Result<(), Complaint>;

fn complain(port: &'static str, what: impl Into<String>) -> Judgement {
    Err(Complaint { port, is_missing: false, what: what.into() })
}

fn miss(port: &'static str, what: impl Into<String>) -> Judgement {
    Err(Complaint { port, is_missing: true, what: what.into() })
}

impl Judge {
    /// Nothing has happened.
    pub fn new(sizes: Sizes) -> Self {
        Self {
            sizes,
            clock: 0,
            started: 0,
            accepted_before: 0,
            items: Vec::new(),
            waiting: Default::default(),
            sent: Default::default(),
            last_write: vec![None; 256],
            last_mac: vec![None; 256],
            over: false,
            stood: Asked { ready: true, ..Asked::default() },
            causes: BTreeSet::new(),
            first_wrong: None,
            operands: 0,
            operand_there: false,
            sums_ended: 0,
            sums_read: 0,
            sums_made: 0,
            sum_read: None,
            results_read: [None; 2],
            is_overwritten: false,
            closed: false,
            scores: 0,
            elements: 0,
            finishing: 0,
            words: 0,
            complete: 0,
            unpaired: 0,
            idle: [0; 4],
            still: 0,
        }
    }

    /// Judges what is asked for in a cycle, and takes what happens in it.
    pub fn cycle(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
        self.judge_fault(asked)?;
        self.judge_array(asked)?;
        self.judge_bus(asked)?;
        self.judge_softmax(asked)?;
        self.judge_end(asked)?;
        self.judge_liveness(asked, seen)?;
        self.take(asked, seen)
    }

    // ------------------------------------------------------------------------- what may be asked for

    /// The next of a queue.
    fn next(&self, queue: usize) -> Option<(usize, &Item)> {
        let index = *self.waiting[queue].front()?;
        Some((index, &self.items[index]))
    }

    /// The next write, without those that may have been dropped if it is not one of them.
    fn next_write(&self, asked: Option<Bus>) -> Option<(usize, &Item)> {
        let mut writes = self.waiting[OPERANDS].iter().map(|&index| (index, &self.items[index]));
        writes.find(|(_, item)| !item.is_uncertain || asked == Some(self.write_of(item)))
    }

    /// Whether all commands before one are done, and all that comes of them.
    fn all_before_done(&self, index: usize) -> bool {
        let mut open = self.waiting.iter().chain(&self.sent).flatten();
        open.all(|&other| other >= index || self.items[other].is_uncertain) && self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        [self.scores, self.elements, self.finishing, self.words.into()] == [0; 4]
    }

    /// The last write that a MAC needs is done.
    fn is_written(&self, mac: &Item) -> bool {
        let mut write = mac.after;
        while let Some(index) = write {
            let item = &self.items[index];
            match item.state {
                State::Dropped => write = item.before,
                State::Waiting if item.is_uncertain => write = item.before,
                state => return state == State::Done,
            }
        }
        true
    }

    /// The oldest RD_RESULT that is not on the pins.
    fn oldest_results(&self) -> Option<&Item> {
        let oldest = self.sent[RESULTS].front().or(self.waiting[RESULTS].front());
        oldest.map(|&index| &self.items[index])
    }

    /// Whether a command that is accepted in this cycle or later is so many cycles behind something.
    fn is_behind(&self, time: Option<u64>, cycles: u64) -> bool {
        let time = time.filter(|&time| time >= self.started);
        time.is_none_or(|time| self.clock + self.sizes.latency >= time + cycles)
    }

    /// What keeps a MAC from being requested.
    fn keeps_mac(&self, mac: &Item) -> Option<&'static str> {
        let Command { last, opcode, .. } = mac.command;
        let ends = |&index: &usize| self.items[index].is_mac() && self.items[index].command.last;
        let yields =
            |oldest: &Item| oldest.sum < mac.sum && (opcode == MAC_CONTEXT || oldest.is_context());
        if !self.is_written(mac) {
            return Some("its word is not written");
        }
        if last && self.oldest_results().is_some_and(yields) {
            return Some("results before it have not left");
        }
        // Four RD_RESULTs leave in so many cycles; a port has one every two cycles.
        let soon = self.sent[ARRAY].iter().any(ends)
            || !self.is_behind(self.sum_read, 4 * self.sizes.burst.max(2));
        (last && soon).then_some("the results of a chunk have not had their time")
    }

    /// Whether an entry of a queue waits that is before an item.
    fn waits_before(&self, queue: usize, item: &Item) -> bool {
        self.waiting[queue].front().is_some_and(|&other| other < item.index)
    }

    /// What keeps an RD_RESULT from being requested.
    fn keeps_results(&self, results: &Item) -> Option<&'static str> {
        let [after_context, after_tree, back] = self.sizes.idle;
        let is_context = results.is_context();
        let mut on_their_way =
            self.sent[RESULTS].iter().map(|&index| self.items[index].is_context());
        if results.sum > self.sums_made {
            return Some("its results are not there");
        }
        if results.is_scores() && self.waits_before(SOFTMAX, results) {
            return Some("the softmax unit has not taken what works on the scores before");
        }
        // The data bus has room for a burst behind a burst in any case.
        let idle = match is_context {
            true => [Some(after_tree), Some(after_context).filter(|&idle| idle > 0)],
            false => [None, Some(back).filter(|&idle| idle > 0)],
        };
        if on_their_way.any(|of_context| idle[usize::from(of_context)].is_some()) {
            return Some("one before it is not on the pins");
        }
        let in_time = self.results_read.iter().zip(idle).all(|(&time, idle)| {
            idle.is_none_or(|idle| self.is_behind(time, self.sizes.burst + idle))
        });
        (!in_time).then_some("the adder unit is not ready")
    }

    /// What keeps a write from being requested.
    fn keeps_write(&self, write: &Item) -> Option<&'static str> {
        let read = write.after.is_none_or(|mac| self.items[mac].state == State::Done);
        let reads_before = || {
            let on_their_way = self.sent[ARRAY].front();
            self.waits_before(ARRAY, write)
                || on_their_way.is_some_and(|&mac| self.items[mac].index < write.index)
        };
        match write.command.opcode {
            _ if !read => Some("a MAC of its word is not on the pins"),
            WR_SHARED if write.command.first && reads_before() => {
                Some("a MAC before it is not on the pins")
            }
            WR_WEIGHTS if self.complete == 0 => Some("no word of weights is complete"),
            WR_SHARED if self.operands == 0 => Some("the host has no burst"),
            WR_SHARED if !self.operand_there => Some("the burst of the host is not there"),
            _ => None,
        }
    }

    /// Whether the next write is one for which the burst of the host is to come.
    fn waits_for_host(&self) -> bool {
        let of_host = |(_, write): (usize, &Item)| write.command.opcode == WR_SHARED;
        self.operands > 0 && !self.operand_there && self.next_write(None).is_some_and(of_host)
    }

    /// What keeps a FINISH or a WEIGH from being requested.
    fn keeps_softmax(&self, (index, item): (usize, &Item)) -> Option<&'static str> {
        let before = self.waiting[RESULTS].iter().chain(&self.sent[RESULTS]);
        let mut before = before.filter(|&&other| other < index);
        if self.scores > 0 || before.any(|&other| self.items[other].is_scores()) {
            return Some("scores before it are not there");
        }
        if item.command.opcode == FINISH {
            return None;
        }
        match (self.finishing, self.words) {
            (1.., _) => Some("a reciprocal before it is not there"),
            (_, WORDS..) => Some("there is no room for a word of weights"),
            _ => None,
        }
    }

    // --------------------------------------------------------------------------- what is asked for

    fn judge_fault(&self, asked: &Asked) -> Judgement {
        let (now, before) = (asked.fault, self.stood.fault);
        if now != before && before != 0 {
            return complain("fault_o", format!("{before} becomes {now} within a run"));
        }
        let ends_unpaired = self.over && self.unpaired > 0;
        let has_cause = self.causes.contains(&now)
            || now == 8 && ends_unpaired
            || now == 6 && self.items.iter().any(|item| item.is_uncertain);
        if now != before && !has_cause {
            return complain("fault_o", format!("{now} without a cause: {:?}", self.causes));
        }
        if self.is_overwritten && now == 0 {
            return complain(
                "fault_o",
                "an RD_RESULT reads results of a later sum without a fault",
            );
        }
        Ok(())
    }

    /// A request is of a command before which no CLOSE_ALL waits, and no faulty one is without its fault.
    fn judge_order(&self, asked: &Asked, port: &'static str, index: usize) -> Judgement {
        let mut array = self.waiting[ARRAY].iter().take_while(|&&other| other < index);
        if array.any(|&other| !self.items[other].is_mac()) {
            return complain(port, "a command is requested behind a CLOSE_ALL that is not done");
        }
        match self.first_wrong {
            Some(wrong) if wrong < index && asked.fault == 0 => {
                complain(port, "a command is requested behind a faulty one, without a fault")
            }
            _ => Ok(()),
        }
    }

    fn judge_array(&self, asked: &Asked) -> Judgement {
        const PORT: &str = "array_o";
        if asked.head_end != (asked.array == Some(Array::Close) && self.stood.array.is_none()) {
            return complain("head_end_o", "not in the first cycle of a CLOSE_ALL");
        }
        if self.stood.array.is_some() {
            return match self.stood.array == asked.array {
                true => Ok(()),
                false => complain(PORT, format!("{:?} does not stand", self.stood.array)),
            };
        }
        let Some(array) = asked.array else { return Ok(()) };
        let Some((index, item)) = self.next(ARRAY) else {
            let last = array == Array::Close && self.over && !self.closed;
            return match last && self.all_before_done(usize::MAX) {
                true => Ok(()),
                false => complain(PORT, "nothing is to be requested"),
            };
        };
        let expected = self.array_of(item);
        if array != expected {
            return complain(PORT, format!("the next is {expected:?}"));
        }
        self.judge_order(asked, PORT, index)?;
        if array == Array::Close {
            return match self.all_before_done(index) {
                true => Ok(()),
                false => complain(PORT, "CLOSE_ALL: not everything before it is done"),
            };
        }
        self.keeps_mac(item).map_or(Ok(()), |why| complain(PORT, format!("{expected:?}: {why}")))
    }

    fn judge_bus(&self, asked: &Asked) -> Judgement {
        const PORT: &str = "bus_o";
        if let Some(stood) = self.stood.bus
            && asked.bus != Some(stood)
        {
            let makes_room = !matches!(stood, Bus::Results { .. })
                && matches!(asked.bus, Some(Bus::Results { .. }));
            if !makes_room {
                return complain(PORT, format!("{stood:?} does not stand"));
            }
        } else if self.stood.bus.is_some() {
            return Ok(());
        }
        let Some(bus) = asked.bus else { return Ok(()) };
        let of_results = matches!(bus, Bus::Results { .. });
        let next = if of_results { self.next(RESULTS) } else { self.next_write(asked.bus) };
        let Some((index, item)) = next else {
            return complain(PORT, "nothing is to be requested");
        };
        let expected = if of_results { self.results_of(item) } else { self.write_of(item) };
        if bus != expected {
            return complain(PORT, format!("the next is {expected:?}"));
        }
        self.judge_order(asked, PORT, index)?;
        let keeps = if of_results { self.keeps_results(item) } else { self.keeps_write(item) };
        keeps.map_or(Ok(()), |why| complain(PORT, format!("{expected:?}: {why}")))
    }

    fn judge_softmax(&self, asked: &Asked) -> Judgement {
        for (port, stood, now) in [
            (
                "finish_o",
                self.stood.finish.map(|head| [head, 0, 0]),
                asked.finish.map(|head| [head, 0, 0]),
            ),
            ("weigh_o", self.stood.weigh, asked.weigh),
        ] {
            if stood.is_some() && stood != now {
                return complain(port, format!("{stood:?} does not stand"));
            }
            let Some(request) = now.filter(|_| stood.is_none()) else { continue };
            let Some((index, item)) = self.next(SOFTMAX) else {
                return complain(port, "nothing is to be requested");
            };
            let Command { opcode, head, place, tokens, .. } = item.command;
            let expected =
                if opcode == FINISH { [head, 0, 0] } else { [place, head, tokens.min(4)] };
            if request != expected || (opcode == FINISH) != (port == "finish_o") {
                return complain(port, format!("the next is {:?}", item.command));
            }
            self.judge_order(asked, port, index)?;
            if let Some(why) = self.keeps_softmax((index, item)) {
                return complain(port, format!("{request:?}: {why}"));
            }
        }
        Ok(())
    }

    fn judge_end(&self, asked: &Asked) -> Judgement {
        if asked.done && !(self.over && self.closed && self.all_before_done(usize::MAX)) {
            return complain("done_o", "not everything is done");
        }
        if asked.done && asked.fault == 0 && (!self.causes.is_empty() || self.unpaired > 0) {
            return complain(
                "done_o",
                format!("the run ends without its fault: {:?}", self.causes),
            );
        }
        let writes = self.waiting[OPERANDS].iter().any(|&index| {
            let item = &self.items[index];
            item.command.opcode == WR_WEIGHTS && !item.is_uncertain
        });
        if asked.drops && (asked.fault == 0 || self.complete == 0 || writes) {
            return complain("weights_drop_o", "a word of weights is used, or there is none");
        }
        Ok(())
    }

    /// Whether something is left to do, and the time in which it has to begin.
    fn judge_liveness(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
        let accepts = seen.command.is_some() && asked.ready;
        let quiet = seen.is_quiet() && asked.is_quiet() && !accepts;
        let mut waiting = self.waiting.iter().flatten();
        let left =
            self.over && !asked.done || waiting.any(|&index| !self.items[index].is_uncertain);
        let under_way = self.sent.iter().any(|queue| !queue.is_empty())
            || self.sums_read != self.sums_made
            || [self.scores, self.elements, self.finishing] != [0; 3]
            || self.words != self.complete
            || self.waits_for_host();
        self.still = if quiet && left && !under_way { self.still + 1 } else { 0 };
        if self.still > STILL + 4 * self.sizes.burst {
            return miss("done_o", "something is left, and nothing happens");
        }
        let accepted = (self.items.len() - self.accepted_before) as u64;
        let is_clearing = self.clock < self.started + CLEARING + accepted;
        for (queue, port) in PORTS.into_iter().enumerate() {
            let may = asked.fault == 0 && self.could_be_requested(queue) && !asked.has(queue);
            self.idle[queue] = if may && !is_clearing { self.idle[queue] + 1 } else { 0 };
            if self.idle[queue] > LATENCY {
                let what = format!("{:?} is not requested", self.next(queue));
                return miss(port, what);
            }
        }
        Ok(())
    }

    /// Whether nothing holds the next of a queue back: neither what it works on nor a command before it.
    fn could_be_requested(&self, queue: usize) -> bool {
        let Some((index, item)) = self.next(queue) else { return false };
        if self.waiting.iter().flatten().any(|&other| other < index) || item.is_uncertain {
            return false;
        }
        match queue {
            ARRAY if item.is_mac() => self.keeps_mac(item).is_none(),
            ARRAY => self.all_before_done(index),
            RESULTS => self.keeps_results(item).is_none(),
            OPERANDS => self.keeps_write(item).is_none(),
            _ => self.keeps_softmax((index, item)).is_none(),
        }
    }

    // -------------------------------------------------------------------------------- what happens

    fn take(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
        self.find_uncertain(seen.operands);
        (self.operands, self.operand_there) = (seen.operands, seen.operand_there);
        self.take_array(asked, seen);
        self.take_bus(asked, seen)?;
        self.take_softmax(asked, seen);
        if let Some(command) = seen.command.filter(|_| asked.ready && asked.fault == 0) {
            self.accept(command);
        }
        self.over |= seen.ends;
        self.stood = Asked {
            array: asked.array.filter(|_| !seen.array_taken),
            bus: asked.bus.filter(|_| !seen.bus_taken),
            finish: asked.finish.filter(|_| !seen.finish_taken),
            weigh: asked.weigh.filter(|_| !seen.weigh_taken),
            ..*asked
        };
        self.clock += 1;
        if seen.starts {
            (self.over, self.closed, self.stood.fault) = (false, false, 0);
            (self.is_overwritten, self.first_wrong, self.unpaired) = (false, None, 0);
            self.causes.clear();
            for index in std::mem::take(&mut self.waiting).into_iter().flatten() {
                self.items[index].state = State::Dropped;
            }
            self.items.iter_mut().for_each(|item| item.is_uncertain = false);
            self.started = self.clock;
            self.accepted_before = self.items.len();
        }
        Ok(())
    }

    /// A command is accepted.
    fn accept(&mut self, command: Command) {
        let index = self.items.len();
        let word = command.word as usize & 0xFF;
        let breaks_pair = match command.opcode {
            WEIGH => self.unpaired == WORDS,
            WR_WEIGHTS => self.unpaired == 0,
            CLOSE_ALL => self.unpaired > 0,
            _ => false,
        };
        let fault = self.sizes.fault(&command).or(breaks_pair.then_some(8));
        let queue = match command.opcode {
            RD_RESULT => RESULTS,
            WR_SHARED | WR_WEIGHTS => OPERANDS,
            FINISH | WEIGH => SOFTMAX,
            _ => ARRAY,
        };
        let mut item = Item {
            command,
            index,
            at: self.clock,
            state: State::Waiting,
            sum: self.sums_ended,
            after: None,
            before: None,
            is_uncertain: false,
        };
        if let Some(fault) = fault {
            self.causes.insert(fault);
            self.first_wrong = self.first_wrong.or(Some(index));
            item.state = State::Dropped;
            self.items.push(item);
            return;
        }
        match command.opcode {
            MAC_SCORE | MAC_CONTEXT => {
                self.sums_ended += u64::from(command.last);
                item.sum = self.sums_ended;
                item.after = self.last_write[word];
                self.last_mac[word] = Some(index);
            }
            WR_SHARED | WR_WEIGHTS => {
                (item.after, item.before) = (self.last_mac[word], self.last_write[word]);
                self.last_write[word] = Some(index);
                self.unpaired -= u32::from(command.opcode == WR_WEIGHTS);
            }
            WEIGH => self.unpaired += 1,
            _ => {}
        }
        self.waiting[queue].push_back(index);
        self.items.push(item);
    }

    /// Finds the writes that may enter, and for which the host has no burst where it has so many.
    fn find_uncertain(&mut self, operands: usize) {
        let Self { waiting, items, clock, .. } = self;
        let of_host = |index: &&usize| items[**index].command.opcode == WR_SHARED;
        let beyond = waiting[OPERANDS].iter().filter(of_host).skip(operands).copied();
        for index in beyond.collect::<Vec<_>>() {
            items[index].is_uncertain |= items[index].at + ENTRY <= *clock + 1;
        }
    }

    /// The next of a queue is sent, and what was before it in the queue is dropped.
    fn send(&mut self, queue: usize, index: usize) {
        while let Some(before) = self.waiting[queue].pop_front() {
            let is_sent = before == index;
            self.items[before].state = if is_sent { State::Sent } else { State::Dropped };
            if is_sent {
                self.sent[queue].push_back(index);
                return;
            }
        }
    }

    fn finish(&mut self, queue: usize) -> Option<Item> {
        let index = self.sent[queue].pop_front()?;
        self.items[index].state = State::Done;
        Some(self.items[index].clone())
    }

    fn take_array(&mut self, asked: &Asked, seen: &Seen) {
        if seen.array_taken {
            let next = self.next(ARRAY).map(|(index, _)| index);
            if let Some(index) = next {
                self.send(ARRAY, index);
            }
            self.closed = asked.array == Some(Array::Close);
            if self.closed && next.is_some() {
                self.finish(ARRAY);
            }
        }
        if seen.read
            && let Some(mac) = self.finish(ARRAY)
        {
            self.sums_read += u64::from(mac.command.last);
            self.sum_read = if mac.command.last { Some(self.clock) } else { self.sum_read };
        }
    }

    fn take_bus(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
        if seen.bus_taken
            && let Some(bus) = asked.bus
        {
            let (queue, next) = match bus {
                Bus::Results { .. } => (RESULTS, self.next(RESULTS)),
                _ => (OPERANDS, self.next_write(asked.bus)),
            };
            let Some(index) = next.map(|(index, _)| index) else { return Ok(()) };
            if self.waiting[queue].front() != Some(&index) && asked.fault == 0 {
                return complain("bus_o", "a write is left out without a fault");
            }
            self.send(queue, index);
            if matches!(bus, Bus::Weights { .. }) {
                self.take_word();
            }
        }
        self.sums_made += u64::from(seen.results);
        // What is on the pins in the cycle of the next results reads those.
        let overtaken =
            self.oldest_results().is_some_and(|oldest| oldest.readable() < self.sums_made);
        if overtaken {
            self.causes.insert(7);
        }
        self.is_overwritten = overtaken && !self.sent[RESULTS].is_empty();
        if seen.results_taken
            && let Some(read) = self.finish(RESULTS)
        {
            let Command { word, last, .. } = read.command;
            let upper = word & 0x40 != 0;
            match (read.is_context(), upper) {
                (false, false) => self.scores += 4,
                (false, true) => self.elements += if last { 4 } else { 0 },
                (true, _) if last && (upper || !self.sizes.wide) => self.elements += 8,
                _ => {}
            }
            self.results_read[usize::from(read.is_context())] = Some(self.clock);
        }
        if seen.written {
            self.finish(OPERANDS);
        }
        Ok(())
    }

    fn take_softmax(&mut self, asked: &Asked, seen: &Seen) {
        let next = self.next(SOFTMAX).map(|(index, _)| index);
        if (seen.finish_taken || seen.weigh_taken)
            && let Some(index) = next
        {
            self.send(SOFTMAX, index);
            self.finish(SOFTMAX);
        }
        self.finishing += u64::from(seen.finish_taken);
        self.words += u32::from(seen.weigh_taken);
        self.finishing = self.finishing.saturating_sub(seen.finished.into());
        self.complete += u32::from(seen.word_made);
        if asked.drops {
            self.take_word();
            self.unpaired = self.unpaired.saturating_sub(1);
        }
        self.scores = self.scores.saturating_sub(seen.scaled);
        self.elements = self.elements.saturating_sub(seen.context + seen.output);
    }

    /// The oldest complete word of weights leaves.
    fn take_word(&mut self) {
        self.words = self.words.saturating_sub(1);
        self.complete = self.complete.saturating_sub(1);
    }

    // ---------------------------------------------------------------------- requests of commands

    fn array_of(&self, item: &Item) -> Array {
        let Command { opcode, row, column, word, first, last, opens, .. } = item.command;
        if !item.is_mac() {
            return Array::Close;
        }
        let flags = [first, last, opens];
        Array::Read { row, column, word, accumulate: opcode == MAC_CONTEXT, flags }
    }

    fn write_of(&self, item: &Item) -> Bus {
        let Command { opcode, word, .. } = item.command;
        if opcode == WR_SHARED { Bus::Host { word } } else { Bus::Weights { word } }
    }

    fn results_of(&self, item: &Item) -> Bus {
        self.sizes.results(&item.command)
    }
}
