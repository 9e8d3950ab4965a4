// SPDX-License-Identifier: MIT
//! What happens in a cycle, and what becomes of the commands.

use super::item::{Item, State};
use super::{ARRAY, ENTRY, Judge, Judgement, OPERANDS, RESULTS, SOFTMAX, WORDS, complain};
use crate::sequencer::opcode::{
    CLOSE_ALL, FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use crate::sequencer::{Array, Asked, Bus, Command, Seen};

impl Judge {
    pub(super) fn take(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
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
    pub(super) fn accept(&mut self, command: Command) {
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
    pub(super) fn find_uncertain(&mut self, operands: usize) {
        let Self { waiting, items, clock, .. } = self;
        let of_host = |index: &&usize| items[**index].command.opcode == WR_SHARED;
        let beyond = waiting[OPERANDS].iter().filter(of_host).skip(operands).copied();
        for index in beyond.collect::<Vec<_>>() {
            items[index].is_uncertain |= items[index].at + ENTRY <= *clock + 1;
        }
    }

    /// The next of a queue is sent, and what was before it in the queue is dropped.
    pub(super) fn send(&mut self, queue: usize, index: usize) {
        while let Some(before) = self.waiting[queue].pop_front() {
            let is_sent = before == index;
            self.items[before].state = if is_sent { State::Sent } else { State::Dropped };
            if is_sent {
                self.sent[queue].push_back(index);
                return;
            }
        }
    }

    pub(super) fn finish(&mut self, queue: usize) -> Option<Item> {
        let index = self.sent[queue].pop_front()?;
        self.items[index].state = State::Done;
        Some(self.items[index].clone())
    }

    pub(super) fn take_array(&mut self, asked: &Asked, seen: &Seen) {
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

    pub(super) fn take_bus(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
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

    pub(super) fn take_softmax(&mut self, asked: &Asked, seen: &Seen) {
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
    pub(super) fn take_word(&mut self) {
        self.words = self.words.saturating_sub(1);
        self.complete = self.complete.saturating_sub(1);
    }
}
