// SPDX-License-Identifier: MIT
//! Requests, the fault, the end of a run and liveness, judged.

use super::{
    ARRAY, CLEARING, Judge, Judgement, LATENCY, OPERANDS, PORTS, RESULTS, SOFTMAX, STILL, complain,
    miss,
};
use crate::sequencer::opcode::{FINISH, WR_WEIGHTS};
use crate::sequencer::{Array, Asked, Bus, Command, Seen};

impl Judge {
    pub(super) fn judge_fault(&self, asked: &Asked) -> Judgement {
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
    pub(super) fn judge_order(&self, asked: &Asked, port: &'static str, index: usize) -> Judgement {
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

    pub(super) fn judge_array(&self, asked: &Asked) -> Judgement {
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

    pub(super) fn judge_bus(&self, asked: &Asked) -> Judgement {
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

    pub(super) fn judge_softmax(&self, asked: &Asked) -> Judgement {
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

    pub(super) fn judge_end(&self, asked: &Asked) -> Judgement {
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
    pub(super) fn judge_liveness(&mut self, asked: &Asked, seen: &Seen) -> Judgement {
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
}
