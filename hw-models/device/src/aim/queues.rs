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

use super::channels::{Beat, WORD_TO_READ, read_to_result};
use super::device::AimDevice;
use super::epu::Sum;
use super::layout::word_of;
use super::mode::{Mode, Modes};
use super::module::Module;
use super::program::{Stretch, Work};
use super::requests::{AllBankRead, ArrayRequest, BusRequest, Events, Requests};
use super::units::{Elements, RankController, SLOTS};
use crate::accounts::Gap;
use crate::device::Device;
use crate::gemv::IoBuffers;
use std::collections::VecDeque;
use std::iter::Peekable;

/// A word of a filling on its way to the global buffers.
#[derive(Clone, Copy)]
struct Fill {
    filling: usize,
    number: usize,
    last: bool,
}

/// A column, and the filling that it needs.
#[derive(Clone, Copy)]
struct Read {
    filling: usize,
    read: AllBankRead,
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
    fills: Peekable<Box<dyn Iterator<Item = Fill> + 'a>>,
    /// Words that were not offered so far.
    words_left: usize,
    reads: Peekable<Box<dyn Iterator<Item = Read> + 'a>>,
    sums: std::slice::Iter<'a, Sum>,
    /// Of each filling whose words are all on the pins or past them: from when on it can be read.
    readable_tck: Vec<u64>,
    /// Fillings whose last column is on the pins or past them.
    released: usize,
    /// Sums whose last column was asked for, and whose results have left.
    asked_sums: usize,
    left_sums: usize,
    /// Sums of which the last column has been on the pins: from when on they can be read, the oldest
    /// first. Those that RD_RESULT was taken for are none of them.
    ready_tck: VecDeque<u64>,
    /// What the controller has of the reads and of the bus requests.
    taken_reads: VecDeque<Read>,
    taken_bus: VecDeque<(BusRequest, Option<Fill>)>,
    /// What is offered.
    offered_read: Option<Read>,
    offered_bus: Option<(BusRequest, Option<Fill>)>,
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
        let fills = work.fillings.iter().enumerate().flat_map(|(filling, of)| {
            (0..of.words).map(move |number| Fill { filling, number, last: number + 1 == of.words })
        });
        let reads = work.stretches.iter().enumerate().flat_map(move |(n, stretch)| {
            (0..stretch.count).map(move |column| read(stretch, column, opens && n == 0))
        });
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
            fills: (Box::new(fills) as Box<dyn Iterator<Item = Fill>>).peekable(),
            reads: (Box::new(reads) as Box<dyn Iterator<Item = Read>>).peekable(),
            words_left: work.fillings.iter().map(|filling| filling.words).sum(),
            sums: work.sums.iter(),
            readable_tck: Vec::with_capacity(work.fillings.len()),
            released: 0,
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
    pub fn are_empty(&mut self) -> bool {
        self.reads.peek().is_none()
            && self.words_left == 0
            && self.sums.len() == 0
            && self.offered_bus.is_none()
            && self.taken_bus.is_empty()
            && self.offered_read.is_none()
            && self.taken_reads.is_empty()
            && self.left_sums == self.asked_sums
    }

    /// Offers what may go, if nothing is offered.
    pub fn ask(&mut self, module: &Module, requests: &mut Requests) {
        let now = module.tck();
        if self.offered_read.is_none() {
            self.offer_read(now);
            requests.array = self.offered_read.map(|read| ArrayRequest::Read(read.read));
        }
        if self.offered_bus.is_none() {
            self.offer_bus(now, module);
            requests.bus = self.offered_bus.map(|(request, _)| request);
        }
    }

    /// tCK from `now` on in which nothing else is offered, if nothing happens in them: up to the first that something here
    /// waits for. Not more than there are, but it may be fewer.
    pub fn waits(&mut self, now: u64) -> u64 {
        let modes = [Mode::Banks, Mode::Registers].map(|mode| self.modes.earliest_tck(mode));
        let filling = self.reads.peek().map(|read| read.filling);
        let readable = filling.and_then(|filling| self.readable_tck.get(filling));
        let ready = self.ready_tck.iter().map(|ready| ready + LATE_TCK);
        let to_column = readable.copied().into_iter().chain(modes);
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
    pub fn leave_bus(&mut self) -> bool {
        let in_turn = !self.single || self.left_sums == self.asked_sums;
        let may_fill = self.released + self.sides;
        self.offered_bus.is_none()
            && self.taken_bus.is_empty()
            && self.ready_tck.is_empty()
            && self.fills.peek().is_none_or(|fill| !in_turn || fill.filling >= may_fill)
    }

    /// The column that goes next, if it is offered now, and neither it nor the one on the pins begins a row, ends a sum or
    /// releases a filling.
    pub fn next_of_run(&mut self, now: u64) -> Option<AllBankRead> {
        let next = self.reads.peek().copied()?;
        let shown = self.taken_reads.front()?.read;
        let ends = [next.read.beat, shown.beat].iter().any(|beat| beat.last || beat.release);
        let goes = self.offered_read.is_none()
            && !self.held
            && !ends
            && !next.read.beat.first
            && self.row == Some(next.read.row)
            && self.may_read(now, &next);
        goes.then_some(next.read)
    }

    /// It is taken in the cycle that begins now, and one is on the pins.
    pub fn run_on(&mut self, now: u64) {
        self.taken_reads.extend(self.reads.next());
        self.taken_reads.pop_front();
        self.modes.see(Mode::Banks, now);
    }

    fn offer_read(&mut self, now: u64) {
        let Some(mut next) = self.reads.peek().copied() else { return };
        if !self.may_read(now, &next) {
            self.held = true;
            return;
        }
        self.reads.next();
        if std::mem::take(&mut self.held) && next.read.gap == Gap::Bubble {
            next.read.gap = Gap::Io;
        }
        self.row = Some(next.read.row);
        self.asked_sums += usize::from(next.read.beat.last);
        self.offered_read = Some(next);
    }

    fn may_read(&self, now: u64, next: &Read) -> bool {
        if now + TO_COLUMN_TCK < self.modes.earliest_tck(Mode::Banks) {
            return false;
        }
        // Its tile is there, or will be when its row is open: that takes longer than a word.
        let Some(&readable_tck) = self.readable_tck.get(next.filling) else { return false };
        let opens_row = self.row != Some(next.read.row);
        if !opens_row && now + TO_COLUMN_TCK < readable_tck {
            return false;
        }
        let Beat { first, last, .. } = next.read.beat;
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
        let in_front = self.taken_bus.iter().take_while(|(_, fill)| fill.is_none()).count();
        if before <= self.left_sums + in_front {
            return true;
        }
        // Soon, as no word of a vector is in the way: the lines need long to turn round for one.
        let no_words = self.taken_bus.len() == in_front && self.words_left == 0;
        let nth = before - self.left_sums - in_front - 1;
        no_words
            && self.offered_bus.is_none()
            && self
                .ready_tck
                .get(nth)
                .is_some_and(|ready| ready + LATE_TCK <= now + self.to_result_tck)
    }

    fn offer_bus(&mut self, now: u64, module: &Module) {
        if now + TO_BUS_TCK < self.modes.earliest_tck(Mode::Registers) {
            return;
        }
        let ready = |&tck: &u64| now + TO_BUS_TCK >= tck;
        if self.ready_tck.front().is_some_and(ready)
            && let Some(&sum) = self.sums.next()
        {
            self.ready_tck.pop_front();
            self.offered_bus = Some((BusRequest::Results(sum), None));
            return;
        }
        let (released, sides) = (self.released, self.sides);
        // In order: all results before it have left.
        let in_turn = !self.single || self.left_sums == self.asked_sums;
        let fill = self.fills.next_if(|fill| in_turn && fill.filling < released + sides);
        self.words_left -= usize::from(fill.is_some());
        self.offered_bus = fill.map(|fill| (self.operand(fill, module), Some(fill)));
    }

    /// The request of a word.
    fn operand(&self, Fill { filling, number, last }: Fill, module: &Module) -> BusRequest {
        let kept = |place, count| module.gpr(place, count);
        let word = self.work.fillings[filling].word(number, self.operands, kept);
        BusRequest::Operand { number, word: word_of(&word, 0), last }
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
            && let Some(Read { read, .. }) = self.taken_reads.pop_front()
        {
            let clock = now / 2;
            self.released += usize::from(read.beat.release);
            if read.beat.last {
                self.ready_tck.push_back(2 * (clock + self.read_to_result) - 1);
            }
        }
        if (events.operand || events.results)
            && let Some((_, fill)) = self.taken_bus.pop_front()
        {
            match fill {
                Some(Fill { last: true, .. }) => {
                    let clock = (now + BUS_SLOT + self.operand_tck).div_ceil(2);
                    self.readable_tck.push(2 * (clock + WORD_TO_READ) - 1);
                }
                Some(_) => {}
                None => self.left_sums += 1,
            }
        }
    }
}

/// A column of a stretch; `opens`: of the first of a run.
fn read(stretch: &Stretch, n: usize, opens: bool) -> Read {
    let &Stretch { row, column, word, count, first, last, filling, release } = stretch;
    let (begins, ends) = (n == 0, n + 1 == count);
    let beat = Beat {
        word: word + n,
        first: first && begins,
        last: last && ends,
        release: release && ends,
    };
    let gap = if opens && begins { Gap::Fill } else { Gap::Bubble };
    Read { filling, read: AllBankRead { row, column: column + n, beat, gap } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aim::program::{Filling, Source};
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
        let words_left = std::mem::take(&mut queues.words_left);
        let to_result_tck = queues.to_result_tck;
        assert!(!queues.has_room_for_results(100 + LATE_TCK - to_result_tck - 1));
        assert!(queues.has_room_for_results(100 + LATE_TCK - to_result_tck));
        queues.words_left = words_left;
        assert!(!queues.has_room_for_results(200), "a word may go before its RD_RESULT");

        // Its RD_RESULT was taken, behind a word or before one.
        queues.ready_tck.pop_front();
        let results = (BusRequest::Results(Sum { place: 0, goes_on: false }), None);
        let fill = queues.fills.next().expect("there is a word");
        queues.taken_bus.extend([(queues.operand(fill, &module), Some(fill)), results]);
        assert!(!queues.has_room_for_results(200));
        queues.taken_bus.rotate_left(1);
        assert!(queues.has_room_for_results(0));
        queues.taken_bus.clear();
        queues.left_sums = 1;
        assert!(queues.has_room_for_results(0), "its results have left");
    }
}
