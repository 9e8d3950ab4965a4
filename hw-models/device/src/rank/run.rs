// SPDX-License-Identifier: MIT
//! A rank in its channel, tCK by tCK. The host's port decides whose the pins are: the host's, or those of a program, of
//! which the dispatcher makes commands that go through queues to the rank's ports.

use super::engine::Rank;
use super::host::Shown;
use super::looking::Looking;
use crate::dispatch::Made;
use crate::error::DeviceError;
use crate::laps::Inner;
use pimlico_dpa::types::{Fault, PinCommand, Pins, RankEvents};
use pimlico_units::module::HostPortOut;
use std::ops::Range;

impl Rank {
    /// One tCK: see [`Dimm::step`](crate::Dimm::step).
    pub(super) fn step_tck(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        let is_first = self.now.is_multiple_of(self.gear());
        self.record.channel(&self.config.timing, self.now, pins);
        let asked = self.host.begin_tck(pins);
        let (mut of_module, mut refreshes) = ([None; 2], false);
        if asked.memory_o {
            let to_chips = driven.map(|beat| beat.filter(|_| asked.owns_o));
            of_module = self.step_as_memory(asked.pins_o, to_chips);
            refreshes = asked.pins_o.command == PinCommand::Ref;
            if is_first {
                (self.shown, self.results) = (self.shown_as_memory(), None);
                self.patience.event(self.now);
            }
        } else if is_first {
            self.shown = self.step_run(&asked, made)?;
            refreshes = self.shown.refreshes;
        }
        self.host.show(&self.shown, self.results.as_ref());
        let seen = self.host.step_tck(driven, of_module, refreshes);
        self.record.channel_data(self.now, driven, seen);
        if (self.now + 1).is_multiple_of(self.gear()) {
            self.patience.check(self.now, self.shown.fault)?;
            self.take(&asked, made)?;
        }
        self.now += 1;
        Ok(seen)
    }

    /// See [`Dimm::pass`](crate::Dimm::pass).
    pub(super) fn pass(
        &mut self,
        looking: &mut Looking<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        while self.now < looking.host.until_tck() {
            let asked = self.host.begin_tck(Pins::NONE);
            if asked.memory_o || !self.host.packs_at_most() {
                break;
            }
            let begins = self.now.is_multiple_of(self.gear());
            let is_passive = self.host.is_passive();
            if begins && is_passive {
                self.pass_looks(&asked, looking);
            }
            let until_tck = looking.host.until_tck();
            if begins && is_passive && self.now + self.gear() <= until_tck {
                self.pass_cycles(&asked, until_tck, looking, made)?;
                continue;
            }
            if begins {
                self.tell_look(looking, self.now);
                self.shown = self.step_run(&asked, made)?;
            }
            self.show_cycle(until_tck, looking)?;
        }
        Ok(())
    }

    /// Cycles of the core in which the host's port is passive, until one shows it more than the status it has.
    fn pass_cycles(
        &mut self,
        asked: &HostPortOut,
        until_tck: u64,
        looking: &mut Looking<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        let (mut from_tck, gear) = (self.now, self.gear());
        let mut until_tck = until_tck;
        loop {
            if self.now + gear > until_tck {
                if !self.look_in_play(&mut from_tck, until_tck, looking) {
                    break;
                }
                self.pass_looks(asked, looking);
                until_tck = looking.host.until_tck();
                continue;
            }
            self.tell_look(looking, self.now);
            let played = match self.play {
                Some(_) => self.play_until(asked, until_tck, looking, made)?,
                None => None,
            };
            let passes = match played {
                Some(passes) => passes,
                None => {
                    self.begin_play(asked)
                        || self.pass_slots(until_tck, looking)
                        || self.pass_wait(asked, until_tck)
                }
            };
            if passes {
                continue;
            }
            let shown = self.step_run(asked, made)?;
            if !shown.is_plain(self.results.as_ref(), &self.shown) {
                self.rest(from_tck..self.now, looking);
                self.shown = shown;
                return self.show_cycle(until_tck, looking);
            }
            self.shown = shown;
            self.now += gear;
            self.patience.check(self.now - 1, self.shown.fault)?;
        }
        self.rest(from_tck..self.now, looking);
        Ok(())
    }

    /// These tCK are over for the host's port.
    pub(super) fn rest(&mut self, tck: Range<u64>, looking: &mut Looking<'_>) {
        let Range { start: from_tck, end: until_tck } = tck;
        if until_tck > from_tck {
            self.tell_look(looking, until_tck - 1);
            let command = looking.take(until_tck).map(|(at_tck, pins)| (at_tck - from_tck, pins));
            self.host.show(&self.shown, self.results.as_ref());
            let record = &mut self.record;
            self.host.rest(until_tck - from_tck, command, &mut |tck, beats| {
                record.channel_data(from_tck + tck, [None; 2], beats.map(Some));
                looking.host.see(from_tck + tck, beats);
            });
        }
    }

    /// The host's port sees the cycle of the core, or what is left of it, until a tCK at the most and without data of the host.
    fn show_cycle(&mut self, until_tck: u64, looking: &mut Looking<'_>) -> Result<(), DeviceError> {
        self.host.show(&self.shown, self.results.as_ref());
        let begins = self.now.is_multiple_of(self.gear());
        let end_tck = (self.now + 1).next_multiple_of(self.gear());
        for tck in self.now..end_tck.min(until_tck) {
            self.tell_look(looking, tck);
            let pins = looking.take(tck + 1).map_or(Pins::NONE, |(_, pins)| pins);
            self.host.set_pins(pins);
            let refreshes = begins && tck == self.now && self.shown.refreshes;
            let beats = self.host.step_tck([None; 2], [None; 2], refreshes);
            if let [Some(first), Some(second)] = beats {
                self.record.channel_data(tck, [None; 2], beats);
                looking.host.see(tck, [first, second]);
            }
        }
        self.now = end_tck.min(until_tck);
        if self.now == end_tck {
            self.patience.check(self.now - 1, self.shown.fault)?;
        }
        Ok(())
    }

    /// The end of a cycle of the core in which the host's port loads or starts.
    fn take(&mut self, asked: &HostPortOut, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError> {
        if asked.load_valid_o || asked.start_valid_o {
            self.leave_play(self.now + 1, made)?;
            self.spoil_laps();
        }
        if asked.load_valid_o {
            self.front.load(asked.load_o);
            self.watch_dispatcher();
        }
        if asked.start_valid_o {
            if !self.key.is_unlocked() {
                return Err(DeviceError::Locked);
            }
            self.front.start(asked.start_o);
            self.watch_dispatcher();
            self.sequencer.start();
            self.leave_slots();
        }
        Ok(())
    }

    /// What the host's port sees of a cycle of the core in which no program has the pins.
    pub(super) fn shown_as_memory(&self) -> Shown {
        let (status, overflow) = self.front.status();
        // The fault stands until the next run starts.
        Shown { status, overflow, fault: self.shown.fault, ..Shown::default() }
    }

    /// One cycle of the core in a run.
    pub(super) fn step_run(
        &mut self,
        host: &HostPortOut,
        made: &mut dyn FnMut(Made),
    ) -> Result<Shown, DeviceError> {
        if self.play.is_some()
            && let Some(shown) = self.play_cycle(host, made)?
        {
            return Ok(shown);
        }
        let shown = match self.pass_cycle_of_slot() {
            Some(shown) => shown,
            None => self.step_cycle(host, made)?,
        };
        if self.laps.keeps() {
            self.see_cycle(host, &shown);
        }
        Ok(shown)
    }

    /// The same, where nothing is known of it.
    #[inline(never)]
    fn step_cycle(
        &mut self,
        host: &HostPortOut,
        made: &mut dyn FnMut(Made),
    ) -> Result<Shown, DeviceError> {
        let asked = self.sequencer.requests(host.operands_o.get() as usize, host.operand_valid_o);
        self.softmax.set_scale(host.scale_o);
        let (status, overflow) = self.front.status();
        let (over, settled) = (asked.done_o, self.is_settled());
        let fault = asked.fault_o;
        if self.front.step(asked.dispatch_ready_o, fault != Fault::None) {
            self.watch_dispatcher();
        }
        let operand = host.operand_valid_o.then_some(&host.operand_o);
        let events = if self.laps.keeps() {
            let mut inner = std::mem::take(&mut self.laps.inner);
            let mut see = |of| {
                Inner::of(of).into_iter().for_each(|of| of.come(&mut inner));
                made(of);
            };
            let events = self.cycle(&asked, operand, &mut see);
            self.laps.inner = inner;
            events?
        } else {
            self.cycle(&asked, operand, made)?
        };
        let output = self.front.output();
        self.sequencer.step(output, events);
        let is_event = output.fetch_read_o || events != RankEvents::default() || over;
        let end = output.end_valid_o.then_some(output.end_o);
        if is_event {
            self.patience.event(self.now);
        }
        self.see_slot(&asked, events);
        Ok(Shown {
            refreshes: self.refreshes(),
            overflow,
            status,
            fault,
            end,
            over,
            settled,
            operand_taken: events.bus_taken && asked.bus_o.write && asked.bus_o.host,
        })
    }
}
