// SPDX-License-Identifier: MIT
//! What waits for what while a module works through the commands of a program.
//!
//! ```text
//! WR_SHARED  tile 0 │ tile 1                    │ tile 2
//! RD_ALL            └▶ group 0  group 1  ...    └▶ group 0  ...
//! RD_RESULT                  └▶ 0     └▶ 1 ...
//! ```
//!
//! A matrix times a vector in tiles: of each tile the columns of every group are read, group after group; with the last
//! of a group's part its sums leave for the GPR, and from the second tile on the EPU adds them to what is there. In which
//! order that is done is the program's matter. Here, each queue takes what is its own in the order of the program, and
//! knows all that is to come.
//!
//! **Ping-pong** ([`IoBuffers::PingPong`]): two command queues, of the arrays and of the data lines, and
//! two sides on both ends. A tile is filled into one side of the global buffer while the PUs read the
//! other. Results leave while the next sum is under way; they go before words of the vector, so that
//! PUs do not wait for them.
//!
//! **Single** ([`IoBuffers::Single`]): one queue, in order, and one side at each end. What stands behind
//! waits until what stands before is on the pins: the columns of a tile for its last word, RD_RESULT
//! for the PUs' last sum, the next columns for RD_RESULT, and the next tile's words for all of these.
//! The row of a column is opened when the queue has come to the column, not before. From words or results to columns
//! and back, the channels change their mode (`mode.rs`).
//!
//! In both the hub knows the latencies of what it has sent, and holds a request back so that a word has
//! been written before it is read, and a result as well. What it would do wrong, the ports of the buffers
//! show ([`Hazard`](crate::Hazard)).

mod laps;

use super::channels::{Beat, WORD_TO_READ, read_to_result};
use super::device::AimDevice;
use super::layout::word_of;
use super::mode::{Mode, Modes};
use super::module::Module;
use super::place::{ColumnPlace, WordPlace, WorkPlace};
use super::program::{Filling, Stretch, Work};
use super::requests::{AllBankRead, ArrayRequest, BusRequest, Events, Requests};
use super::units::{Elements, RankController, SLOTS};
use crate::accounts::Gap;
use crate::device::Device;
use crate::gemv::IoBuffers;
use std::collections::VecDeque;

/// A column of the banks, what is done with it, and the filling that it needs.
struct Column {
    row: usize,
    column: usize,
    beat: Beat,
    filling: usize,
}

impl Column {
    fn request(&self, gap: Gap) -> AllBankRead {
        let Self { row, column, beat, filling: _ } = *self;
        AllBankRead { row, column, beat, gap }
    }
}

/// What the data lines are asked for.
#[derive(Clone, Copy, Debug)]
enum ForBus {
    Word(WordPlace),
    Results,
}

/// tCK from the cycle of a request to its command, if nothing is before it: in the first slot for a column, in
/// the second for a word or results.
const TO_COLUMN_TCK: u64 = SLOTS as u64 * RankController::LATENCY;
const TO_BUS_TCK: u64 = TO_COLUMN_TCK + BUS_SLOT;
const BUS_SLOT: u64 = 1;

/// tCK that RD_RESULT may be late where only columns are before it: behind another RD_RESULT.
const LATE_TCK: u64 = 8;

/// What is still to be asked for, and what it waits for.
pub struct Queues<'a> {
    work: &'a Work,
    /// The words of the host.
    operands: &'a [Elements],
    single: bool,
    /// Sides of each buffer.
    sides: usize,
    /// From the request of a column to the first tCK in which its result can be written.
    to_result_tck: u64,
    /// Clocks from a column to the first in which its result can be read.
    read_to_result: u64,
    modes: Modes,
    /// From WR_SHARED until its word is there.
    operand_tck: u64,
    /// From RD_RESULT until its results have left.
    results_tck: u64,
    /// The first column has nothing before it in its run.
    opens: bool,
    /// What was not offered so far.
    next: WorkPlace,
    /// Fillings whose last column is on the pins or past them.
    released: usize,
    /// Of each filling behind these whose words are all on the pins or past them: from when on it can be read.
    readable_tck: VecDeque<u64>,
    /// Sums whose last column was asked for, and whose results have left.
    asked_sums: usize,
    left_sums: usize,
    /// Sums of which the last column has been on the pins: from when on they can be read, the oldest
    /// first. Those that RD_RESULT was taken for are none of them.
    ready_tck: VecDeque<u64>,
    /// What the controller has of the reads and of the bus requests.
    taken_reads: VecDeque<(ColumnPlace, Gap)>,
    taken_bus: VecDeque<ForBus>,
    /// What is offered, and why a column comes no sooner.
    offered_read: Option<(ColumnPlace, Gap)>,
    offered_bus: Option<ForBus>,
    /// The row of the last column that was asked for.
    row: Option<usize>,
    /// The next column was held back for the sake of the buffers.
    held: bool,
}

impl<'a> Queues<'a> {
    /// Those of a phase that begins now. `opens`: its first column is the first of a run.
    pub fn new(module: &Module, work: &'a Work, operands: &'a [Elements], opens: bool) -> Self {
        let options = module.options();
        let single = options.io_buffers == IoBuffers::Single;
        let timing = &module.config().timing;
        Self {
            work,
            operands,
            single,
            sides: if single { 1 } else { 2 },
            to_result_tck: TO_COLUMN_TCK + 2 * (read_to_result(options.pu_clocks) - 1),
            read_to_result: read_to_result(options.pu_clocks),
            modes: Modes::new(module.config(), &options, module.tck()),
            operand_tck: timing.cwl_gb_tck + timing.burst_tck,
            results_tck: timing.cl_reg_tck + timing.burst_tck,
            opens,
            next: WorkPlace::default(),
            released: 0,
            readable_tck: VecDeque::with_capacity(4),
            asked_sums: 0,
            left_sums: 0,
            ready_tck: VecDeque::with_capacity(4),
            taken_reads: VecDeque::with_capacity(4),
            taken_bus: VecDeque::with_capacity(4),
            offered_read: None,
            offered_bus: None,
            row: None,
            held: false,
        }
    }

    /// Whether everything has been on the pins.
    pub fn are_empty(&self) -> bool {
        self.next_read().is_none()
            && self.next_fill().is_none()
            && self.next.sum == self.work.sums.len()
            && self.offered_bus.is_none()
            && self.taken_bus.is_empty()
            && self.offered_read.is_none()
            && self.taken_reads.is_empty()
            && self.left_sums == self.asked_sums
    }

    /// The stretch of the next column that was not offered, if there is one.
    fn next_read(&self) -> Option<&'a Stretch> {
        self.work.stretches.get(self.next.read.stretch)
    }

    /// The filling of the next word that was not offered, if there is one.
    fn next_fill(&self) -> Option<&'a Filling> {
        self.work.fillings.get(self.next.fill.filling)
    }

    /// From when on a filling can be read, if its words are all on the pins or past them.
    fn readable_tck(&self, filling: usize) -> Option<u64> {
        self.readable_tck.get(filling.checked_sub(self.released)?).copied()
    }

    /// Offers what may go, if nothing is offered.
    pub fn ask(&mut self, module: &Module, requests: &mut Requests) {
        let now = module.tck();
        if self.offered_read.is_none() {
            self.offer_read(now);
            requests.array = self.array_request();
        }
        if self.offered_bus.is_none() {
            requests.bus = self.offer_bus(now, module);
        }
    }

    /// The request of the column that is offered, if one is.
    fn array_request(&self) -> Option<ArrayRequest> {
        let (read, gap) = self.offered_read?;
        Some(ArrayRequest::Read(self.column(read)?.request(gap)))
    }

    /// tCK from `now` on in which nothing else is offered, if nothing happens in them: up to the first that something here
    /// waits for. Not more than there are, but it may be fewer.
    pub fn waits(&self, now: u64) -> u64 {
        let modes = [Mode::Banks, Mode::Registers].map(|mode| self.modes.earliest_tck(mode));
        let filling = self.next_read().map(|stretch| stretch.filling);
        let readable = filling.and_then(|filling| self.readable_tck(filling));
        let ready = self.ready_tck.iter().map(|ready| ready + LATE_TCK);
        let to_column = readable.into_iter().chain(modes);
        let to_bus = self.ready_tck.iter().copied().chain(modes);
        // What was reached behind the last cycle shows in the next one.
        let left =
            |tck: u64, from: u64| (tck + SLOTS as u64 > from).then(|| tck.saturating_sub(from));
        let all = to_column
            .map(|tck| left(tck, now + TO_COLUMN_TCK))
            .chain(to_bus.map(|tck| left(tck, now + TO_BUS_TCK)))
            .chain(ready.map(|tck| left(tck, now + self.to_result_tck)));
        all.flatten().min().unwrap_or(u64::MAX)
    }

    /// Whether nothing is offered to the data lines or under way to them, nor will be before a column that ends a sum or
    /// releases a filling is on the pins.
    pub fn leave_bus(&self) -> bool {
        let in_turn = !self.single || self.left_sums == self.asked_sums;
        let may_fill = self.released + self.sides;
        self.offered_bus.is_none()
            && self.taken_bus.is_empty()
            && self.ready_tck.is_empty()
            && (self.next_fill().is_none() || !in_turn || self.next.fill.filling >= may_fill)
    }

    /// The column that goes next, if it is offered now, and neither it nor the one on the pins begins a row, ends a sum or
    /// releases a filling.
    pub fn next_of_run(&self, now: u64) -> Option<AllBankRead> {
        let next = self.column(self.next.read)?;
        let (shown, _) = *self.taken_reads.front()?;
        let ends =
            [next.beat, self.column(shown)?.beat].iter().any(|beat| beat.last || beat.release);
        let goes = self.offered_read.is_none()
            && !self.held
            && !ends
            && !next.beat.first
            && self.row == Some(next.row)
            && self.may_read(now, &next);
        goes.then(|| next.request(self.gap(self.next.read)))
    }

    /// It is taken in the cycle that begins now, and one is on the pins.
    pub fn run_on(&mut self, now: u64) {
        self.taken_reads.push_back((self.next.read, self.gap(self.next.read)));
        self.pass_read();
        self.taken_reads.pop_front();
        self.modes.see(Mode::Banks, now);
    }

    /// A column of a stretch, if there is one.
    fn column(&self, ColumnPlace { stretch, number }: ColumnPlace) -> Option<Column> {
        let &Stretch { row, column, word, count, first, last, filling, release } =
            self.work.stretches.get(stretch)?;
        let (begins, ends) = (number == 0, number + 1 == count);
        let beat = Beat {
            word: word + number,
            first: first && begins,
            last: last && ends,
            release: release && ends,
        };
        Some(Column { row, column: column + number, beat, filling })
    }

    /// The next column was offered.
    fn pass_read(&mut self) {
        let ColumnPlace { stretch, number } = self.next.read;
        let ends = self.next_read().is_none_or(|of| number + 1 == of.count);
        self.next.read = match ends {
            true => ColumnPlace { stretch: stretch + 1, number: 0 },
            false => ColumnPlace { number: number + 1, stretch },
        };
    }

    /// Why a column comes no sooner, if it was not held back.
    fn gap(&self, ColumnPlace { stretch, number }: ColumnPlace) -> Gap {
        if self.opens && stretch == 0 && number == 0 { Gap::Fill } else { Gap::Bubble }
    }

    fn offer_read(&mut self, now: u64) {
        let Some(next) = self.column(self.next.read) else { return };
        if !self.may_read(now, &next) {
            self.held = true;
            return;
        }
        let is_held = std::mem::take(&mut self.held);
        let gap = match self.gap(self.next.read) {
            Gap::Bubble if is_held => Gap::Io,
            gap => gap,
        };
        self.offered_read = Some((self.next.read, gap));
        self.pass_read();
        self.row = Some(next.row);
        self.asked_sums += usize::from(next.beat.last);
    }

    fn may_read(&self, now: u64, next: &Column) -> bool {
        if now + TO_COLUMN_TCK < self.modes.earliest_tck(Mode::Banks) {
            return false;
        }
        // Its tile is there, or will be when its row is open: that takes longer than a word.
        let Some(readable_tck) = self.readable_tck(next.filling) else { return false };
        let opens_row = self.row != Some(next.row);
        if !opens_row && now + TO_COLUMN_TCK < readable_tck {
            return false;
        }
        let Beat { first, last, .. } = next.beat;
        if self.single {
            // In order: the results before it have left.
            !first || self.left_sums == self.asked_sums
        } else {
            !last || self.has_room_for_results(now)
        }
    }

    /// Whether results that are asked for now will find a side of the result registers free: those of
    /// the sum before the last have left, or will have.
    fn has_room_for_results(&self, now: u64) -> bool {
        let before = (self.asked_sums + 1).saturating_sub(self.sides);
        if before <= self.left_sums {
            return true;
        }
        // RD_RESULTs that nothing else is before.
        let in_front = self.taken_bus.iter().take_while(|of| matches!(of, ForBus::Results)).count();
        if before <= self.left_sums + in_front {
            return true;
        }
        // Soon, as no word of a vector is in the way: the lines need long to turn round for one.
        let no_words = self.taken_bus.len() == in_front && self.next_fill().is_none();
        let nth = before - self.left_sums - in_front - 1;
        no_words
            && self.offered_bus.is_none()
            && self
                .ready_tck
                .get(nth)
                .is_some_and(|ready| ready + LATE_TCK <= now + self.to_result_tck)
    }

    fn offer_bus(&mut self, now: u64, module: &Module) -> Option<BusRequest> {
        if now + TO_BUS_TCK < self.modes.earliest_tck(Mode::Registers) {
            return None;
        }
        let ready = |&tck: &u64| now + TO_BUS_TCK >= tck;
        if self.ready_tck.front().is_some_and(ready)
            && let Some(&sum) = self.work.sums.get(self.next.sum)
        {
            self.ready_tck.pop_front();
            self.next.sum += 1;
            self.offered_bus = Some(ForBus::Results);
            return Some(BusRequest::Results(sum));
        }
        // In order: all results before it have left.
        let in_turn = !self.single || self.left_sums == self.asked_sums;
        let is_free = self.next.fill.filling < self.released + self.sides;
        let filling = self.next_fill().filter(|_| in_turn && is_free)?;
        let fill @ WordPlace { filling: of, number } = self.next.fill;
        self.next.fill = match number + 1 == filling.words {
            true => WordPlace { filling: of + 1, number: 0 },
            false => WordPlace { number: number + 1, filling: of },
        };
        self.offered_bus = Some(ForBus::Word(fill));
        Some(self.operand(fill, module))
    }

    /// The request of a word.
    fn operand(&self, fill: WordPlace, module: &Module) -> BusRequest {
        let kept = |place, count| module.gpr(place, count);
        let word = self.work.fillings[fill.filling].word(fill.number, self.operands, kept);
        let last = self.is_last(fill);
        BusRequest::Operand { number: fill.number, word: word_of(&word, 0), last }
    }

    /// Whether a word is the last of its filling.
    fn is_last(&self, WordPlace { filling, number }: WordPlace) -> bool {
        self.work.fillings.get(filling).is_some_and(|filling| number + 1 == filling.words)
    }

    /// What happened in a cycle that began at `now`.
    pub fn see(&mut self, now: u64, events: &Events) {
        if events.array_taken {
            self.taken_reads.extend(self.offered_read.take());
        }
        if events.bus_taken {
            self.taken_bus.extend(self.offered_bus.take());
        }
        if events.read {
            self.modes.see(Mode::Banks, now);
        }
        for (is_on_pins, moved_tck) in
            [(events.operand, self.operand_tck), (events.results, self.results_tck)]
        {
            if is_on_pins {
                self.modes.see(Mode::Registers, now + BUS_SLOT + moved_tck);
            }
        }
        if events.read
            && let Some((read, _)) = self.taken_reads.pop_front()
            && let Some(Column { beat, .. }) = self.column(read)
        {
            let clock = now / 2;
            if beat.release {
                self.released += 1;
                self.readable_tck.pop_front();
            }
            if beat.last {
                self.ready_tck.push_back(2 * (clock + self.read_to_result) - 1);
            }
        }
        if (events.operand || events.results)
            && let Some(of) = self.taken_bus.pop_front()
        {
            match of {
                ForBus::Word(fill) if self.is_last(fill) => {
                    let clock = (now + BUS_SLOT + self.operand_tck).div_ceil(2);
                    self.readable_tck.push_back(2 * (clock + WORD_TO_READ) - 1);
                }
                ForBus::Word(_) => {}
                ForBus::Results => self.left_sums += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aim::epu::Sum;
    use crate::aim::program::Source;
    use crate::aim::{AimOptions, AimUnits};
    use crate::config::Config;

    #[test]
    fn a_sum_waits_for_a_side_where_words_may_hold_results_up() {
        let (config, options) = (Config::gddr6_aim(), AimOptions::default());
        let units = AimUnits::models(&config, options);
        let module = Module::new(config.clone(), units, options);
        // 2000 x 16: eight groups of a column.
        let stretch = |column| Stretch {
            row: 0,
            column,
            word: 0,
            count: 1,
            first: true,
            last: true,
            filling: 0,
            release: column == 7,
        };
        let work = Work {
            fillings: vec![Filling { words: 1, source: Source::Host(0) }],
            stretches: (0..8).map(stretch).collect(),
            sums: (0..8).map(|group| Sum { place: 256 * group, goes_on: false }).collect(),
        };
        let mut queues = Queues::new(&module, &work, &[[0; 16]], true);
        assert!(queues.has_room_for_results(0), "both sides are free");

        // Two sums are on their way: the older can be read from tCK 100 on.
        queues.asked_sums = 2;
        queues.ready_tck.extend([100, 116]);
        let fill = std::mem::replace(&mut queues.next.fill, WordPlace { filling: 1, number: 0 });
        let to_result_tck = queues.to_result_tck;
        assert!(!queues.has_room_for_results(100 + LATE_TCK - to_result_tck - 1));
        assert!(queues.has_room_for_results(100 + LATE_TCK - to_result_tck));
        queues.next.fill = fill;
        assert!(!queues.has_room_for_results(200), "a word may go before its RD_RESULT");

        // Its RD_RESULT was taken, behind a word or before one.
        queues.ready_tck.pop_front();
        queues.taken_bus.extend([ForBus::Word(fill), ForBus::Results]);
        assert!(!queues.has_room_for_results(200));
        queues.taken_bus.rotate_left(1);
        assert!(queues.has_room_for_results(0));
        queues.taken_bus.clear();
        queues.left_sums = 1;
        assert!(queues.has_room_for_results(0), "its results have left");
    }
}
