// SPDX-License-Identifier: MIT
//! Slots of a run that are alike are taken one at a time, not cycle by cycle.
//!
//! ```text
//!   on the pins   RD_ALL ──────────── RD_ALL ──────────── RD_ALL ──────────── RD_ALL
//!                    │ stepped, checked  │      passed       │      passed       │
//!                  keep                is it?
//! ```
//!
//! Where a program reads column after column, with the operands in the shared buffers and no results on their way, one slot is
//! as the one before. A sum that has ended may still be in the bank PUs, as long as it is not complete in the slot. The
//! dispatcher, the bank PUs, the accounts and those who watch the pins have every cycle of it, when it comes; in the sequencer,
//! the rank controller and the refresh manager a slot is one step ([`SequencerSlots`], [`RankController::next_slot`]), and all
//! other units rest.
//!
//! What such a step has to leave is not deduced, but seen: a slot is stepped cycle by cycle first, and what it has left is
//! compared, field by field, with what the step leaves of the state before it. Slots behind it are passed as long as they are
//! of the same kind, which the units tell before each of them: what stood still in the slot that was compared does so in them,
//! but for what they look at. Of the host no more comes in them than bursts to its queue, for which nothing waits. A slot is
//! passed as a whole where the host's port is passive until it is over, and cycle by cycle where it is not.
//!
//! [`SequencerSlots`]: pimlico_units::rank::SequencerSlots
//! [`RankController::next_slot`]: pimlico_units::rank::RankController::next_slot

use super::bank_pus::Read;
use super::engine::Rank;
use super::host::Shown;
use super::looking::Looking;
use super::slot::{Passed, SlotPhase, Slots, UNTOLD};
use pimlico_dpa::types::{ArrayRequest, Dispatch, Pins, RankEvents};
use pimlico_units::rank::SequencerOut;

impl Rank {
    /// Slots that were passed since the reset.
    pub fn passed_slots(&self) -> u64 {
        self.slots.passed
    }

    /// Slots at once, if some begin that are like others and the host's port is passive until they are over.
    pub(super) fn pass_slots(&mut self, until_tck: u64, looking: &mut Looking<'_>) -> bool {
        let begins = self.slots.begins();
        let (cycles, gear) = (self.slots.cycles, self.gear());
        let has_room =
            |rank: &Self| rank.now + cycles * gear <= until_tck && rank.front.offers_two();
        if !begins || !has_room(self) || !self.rests_in_slots() || self.chips_drive(self.tck) {
            return false;
        }
        let (row, mut passed) = (self.chips.row_of_all_banks(), false);
        while has_room(self) {
            if passed && self.laps.later_at() == Some(self.control.pins().column()) {
                break;
            }
            let Some(sent) = self.next_sent() else {
                self.slots.phase = SlotPhase::Stepped;
                break;
            };
            let dispatched = self.front.pass(cycles, self.slots.dispatch_at);
            self.now += (cycles - 1) * gear;
            if looking.host.reads_tck().is_some_and(|at_tck| at_tck <= self.now) {
                self.tell_reads();
            }
            self.tell_look(looking, self.now);
            let pins = self.end_slot(&Passed { cycles, sent, dispatched, done: false });
            self.whole_slot(cycles, pins, row);
            self.now += gear;
            passed = true;
        }
        self.tell_reads();
        passed
    }

    /// Those who watch the pins are told of the reads of slots that they were not told of.
    fn tell_reads(&mut self) {
        let Slots { untold, untold_tck, cycles, .. } = &mut self.slots;
        if !untold.is_empty() {
            self.record.reads(*untold_tck, *cycles * self.options.gear.tck() as u64, untold);
            untold.clear();
        }
    }

    /// A cycle of the core, if it is of a slot that is passed.
    pub(super) fn pass_cycle_of_slot(&mut self) -> Option<Shown> {
        let SlotPhase::Passed(mut slot) = self.slots.phase else { return None };
        if slot.cycles == 0 {
            let Some(sent) = self.next_slot() else {
                self.slots.phase = SlotPhase::Stepped;
                return None;
            };
            slot.sent = sent;
        }
        let (status, overflow) = self.front.status();
        let is_ready = self.slots.dispatch_at == slot.cycles;
        self.front.step(is_ready, false);
        let output = self.front.output();
        if is_ready {
            debug_assert!(output.dispatch_valid_o, "it has a command");
            slot.dispatched = output.dispatch_o;
        }
        // Behind its last command the run of the dispatcher may end.
        let end = output.end_valid_o.then_some(output.end_o);
        slot.done |= end.is_some();
        slot.cycles += 1;
        let mut pins = Pins::NONE;
        if slot.cycles == self.slots.cycles {
            pins = self.end_slot(&slot);
            slot = Passed { sent: slot.sent, ..Passed::default() };
        }
        self.slots.phase = SlotPhase::Passed(slot);
        self.cycle_of_slot(pins);
        Some(Shown { status, overflow, end, ..self.shown })
    }

    /// What the control does in a slot. Returns what is on the pins in its last cycle.
    fn end_slot(&mut self, slot: &Passed) -> Pins {
        self.sequencer.pass_slot(slot.dispatched, slot.done);
        self.control.pass_slot(slot.sent, self.slots.cycles);
        self.slots.passed += 1;
        self.patience.event(self.now);
        self.control.pins()
    }

    /// A slot of so many cycles, with this read of a row on the pins in the last of them, which those who watch may be told of
    /// with those behind it.
    fn whole_slot(&mut self, cycles: u64, pins: Pins, row: usize) {
        if self.counts_each_cycle() || !self.sums.rests() || self.slots.untold.len() == UNTOLD {
            self.tell_reads();
        }
        if self.counts_each_cycle() || !self.sums.rests() {
            self.idle_cycles_of_slot(cycles - 1);
            return self.cycle_of_slot(pins);
        }
        let gear = self.gear();
        let Self { sums, chips, control, record, slots, tck, .. } = self;
        let mac = control.mac();
        let is_new =
            sums.pass_slot(*tck, cycles, Read { mac, row, column: pins.column() }, chips.dram());
        debug_assert!(!is_new, "no sum is complete");
        *tck += (cycles - 1) * gear;
        record.begin_tck(*tck);
        // Neither the arrays nor the key have anything of it.
        if slots.untold.is_empty() {
            slots.untold_tck = *tck;
        }
        slots.untold.push(pins);
        record.read(mac.opens);
        *tck += gear;
        record.begin_tck(*tck - 1);
    }

    /// So many cycles of the core with nothing on the pins.
    fn idle_cycles_of_slot(&mut self, cycles: u64) {
        if self.counts_each_cycle() || !self.sums.rests() {
            return (0..cycles).for_each(|_| self.cycle_of_slot(Pins::NONE));
        }
        let Self { sums, chips, tck, .. } = self;
        let is_new = sums.pass(*tck, cycles, chips.dram());
        debug_assert!(!is_new, "no sum is complete");
        self.tck += cycles * self.gear();
    }

    /// Whether something is counted in each cycle of a slot that is used: not where it has whole cycles.
    fn counts_each_cycle(&self) -> bool {
        !self.config.timing.ccd_l_tck.is_multiple_of(self.gear())
    }

    /// A cycle of the core in which nothing is requested that was not foreseen: see [`Rank::cycle`].
    fn cycle_of_slot(&mut self, pins: Pins) {
        let mut events = RankEvents::default();
        let is_counted = pins.is_some() || self.counts_each_cycle();
        if is_counted {
            self.record.begin_tck(self.tck);
            self.on_pins(pins);
        }
        self.step_bank_pus(pins, &mut events);
        debug_assert!(!events.results, "no sum is complete");
        self.step_adder_unit();
        if is_counted {
            self.account(pins, [false; 4], false);
        }
        self.tck += self.gear();
    }

    /// A cycle was stepped, with these requests and events.
    pub(super) fn see_slot(&mut self, asked: &SequencerOut, events: RankEvents) {
        let ends = events.read && self.control.mac().last;
        self.slots.count_sums(ends, events.results);
        if let SlotPhase::Checked { cycles, sent, dispatched } = self.slots.phase
            && self.check_cycle(cycles + 1, sent, dispatched, asked)
        {
            return;
        }
        if events.read && matches!(self.slots.phase, SlotPhase::Stepped) {
            self.begin_check();
        }
    }

    /// A slot begins that may be the first of those that are alike.
    fn begin_check(&mut self) {
        if let Some(sent) = self.next_slot() {
            self.sequencer.keep();
            self.control.keep();
            self.slots.phase = SlotPhase::Checked { cycles: 0, sent, dispatched: None };
        }
    }

    /// A cycle of a slot that is checked, of which so many are over with it. Returns whether the slot has others, or was as it
    /// should be.
    fn check_cycle(
        &mut self,
        cycles: u64,
        sent: ArrayRequest,
        dispatched: Option<(u64, Dispatch)>,
        asked: &SequencerOut,
    ) -> bool {
        let output = self.front.output();
        let takes = asked.dispatch_ready_o && output.dispatch_valid_o;
        let dispatched = if takes { Some((cycles - 1, output.dispatch_o)) } else { dispatched };
        self.slots.phase = match dispatched {
            _ if cycles < self.slots.cycles => SlotPhase::Checked { cycles, sent, dispatched },
            Some((at, dispatched)) if self.has_passed(sent, dispatched) => {
                self.slots.dispatch_at = at;
                SlotPhase::Passed(Passed::default())
            }
            _ => SlotPhase::Stepped,
        };
        !matches!(self.slots.phase, SlotPhase::Stepped)
    }

    /// Whether the slot that was stepped has done what [`end_slot`](Self::end_slot) does.
    fn has_passed(&mut self, sent: ArrayRequest, dispatched: Dispatch) -> bool {
        self.sequencer.has_passed(dispatched) && self.control.has_passed(sent, self.slots.cycles)
    }

    /// What is sent in the slot that begins, if it is like others: nobody watches more than the pins, and no unit has anything
    /// to do but for the slot.
    fn next_slot(&self) -> Option<ArrayRequest> {
        if self.rests_in_slots() && self.front.offers() { self.next_sent() } else { None }
    }

    /// Whether no unit has anything to do that slots do not look at, now and behind them.
    pub(super) fn rests_in_slots(&self) -> bool {
        self.sums.is_idle()
            && self.softmax.rests()
            && self.wave.is_none()
            && self.watch.is_none()
            && !self.record.draws()
    }

    /// What is sent in a slot that is like others, if nothing is in its way in those units that slots move.
    fn next_sent(&self) -> Option<ArrayRequest> {
        let slot_tck = self.slots.cycles * self.gear();
        if self.slots.open_sums > 0 && !self.sums.is_quiet(self.tck, slot_tck) {
            return None;
        }
        let sent = self.sequencer.next_slot()?;
        self.control.next_slot(sent, self.slots.cycles).then_some(sent)
    }

    /// A run starts.
    pub(super) fn leave_slots(&mut self) {
        self.slots.phase = SlotPhase::Stepped;
        self.laps.start();
        self.play = None;
    }
}
