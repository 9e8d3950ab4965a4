// SPDX-License-Identifier: MIT
//! A head's K and V on their way between the host's memory and the banks: plain writes and reads of
//! the host's memory controller, which knows nothing of re-layout, through the module's buffer chip.
//!
//! Consecutive bursts go to different bank groups, so that the data bus can be kept full: tCCD_S, not
//! tCCD_L, is between them.

use crate::driver::KvRows;
use crate::memory_controller::{LOOK_AHEAD, MemoryController, NoSuchPlace, Transaction};
pub use crate::stretches::KnownStretches;
use crate::stretches::{Key, Recording};
use crate::strips::{HeadStrips, Regular, Strip, Strips, Writing};
use pimlico_device::data_bus::{BEATS, Beats};
use pimlico_device::mapping::{self, HeadLayout, Place};
use pimlico_device::spd::{Description, SpdError, Values};
use pimlico_device::{
    BURST_TCK, BurstHost, CHIPS, Config, DeviceError, FunctionalRank, HostLatency, HostStep,
    RankDevice, Statistics, Stretches, WriteRun, WriteStretch,
};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_model::data::Head;
use std::sync::Arc;

/// Why data cannot be moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// The module's SPD image.
    #[error(transparent)]
    Spd(#[from] SpdError),
    /// An address.
    #[error(transparent)]
    Place(#[from] NoSuchPlace),
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] DeviceError),
}

/// Transactions that wait for the memory controller, at most: more than it looks ahead.
const WAITING: usize = LOOK_AHEAD + 1;
/// Writes that are worth a run.
const WORTH_A_RUN: u64 = 16;

/// The host's side of a rank's pins.
pub struct HostPort {
    controller: MemoryController,
    /// What it does from one REF to the next.
    known: KnownStretches,
}

impl HostPort {
    /// Of a module with re-layout, whose SPD image is spoofed.
    pub fn new() -> Result<Self, SpdError> {
        Self::with(&Description::ddr4_3200())
    }

    /// Of a module of such chips.
    pub fn of(config: &Config) -> Result<Self, SpdError> {
        let Self { controller, known } = Self::with(&Description::of(config))?;
        Ok(Self { controller: controller.refreshing(config.timing.refi_tck), known })
    }

    /// The same, where it shares what it knows with hosts that are like it: of modules of the same configuration.
    pub fn knowing(self, known: KnownStretches) -> Self {
        Self { known, ..self }
    }

    fn with(module: &Description) -> Result<Self, SpdError> {
        let image = module.image(Values::Spoofed)?;
        let controller = MemoryController::from_spd(image.as_bytes())?;
        Ok(Self { controller: controller.without_windows(), known: KnownStretches::default() })
    }

    /// Does transactions on a rank whose banks are closed, and closes them again. Returns what was
    /// read, and what it cost.
    pub fn transfer(
        &mut self,
        rank: &mut dyn RankDevice,
        transactions: impl IntoIterator<Item = Transaction>,
    ) -> Result<(Vec<Beats>, Statistics), TransferError> {
        let cost = self.work(rank, Listed(transactions.into_iter()))?;
        Ok((self.controller.take_read(), cost))
    }

    /// Writes strips on a rank whose banks are closed, and closes them again: what [`transfer`](Self::transfer) of their
    /// writes does. Returns what it cost.
    pub fn write(
        &mut self,
        rank: &mut dyn RankDevice,
        strips: impl Strips,
    ) -> Result<Statistics, TransferError> {
        self.write_part(rank, &mut Writing::new(strips), usize::MAX)
    }

    /// The same of so many writes, at most; the others are left for later.
    pub fn write_part(
        &mut self,
        rank: &mut dyn RankDevice,
        writing: &mut Writing<impl Strips>,
        most: usize,
    ) -> Result<Statistics, TransferError> {
        writing.allow(most);
        self.work(rank, writing)
    }

    fn work(
        &mut self,
        rank: &mut dyn RankDevice,
        work: impl Work,
    ) -> Result<Statistics, TransferError> {
        let Self { controller: host, known } = self;
        rank.leave_out();
        rank.begin();
        host.take_pins(rank.tck(), rank.refreshed_tck());
        let mut transfer = Transfer::new(host, known, work);
        if !rank.move_bursts(&mut transfer) {
            transfer.move_beats(rank)?;
        }
        transfer.end()?;
        Ok(rank.end())
    }
}

/// Transactions, in their order.
trait Work {
    /// The next one comes.
    fn come(&mut self) -> Option<Transaction>;

    /// The first of those that have come is done.
    fn done(&mut self) {}

    /// Writes that are alike, from the first one on that is not done: behind each of them the next [`LOOK_AHEAD`] go to the same
    /// row of the same banks.
    fn alike(&mut self) -> Option<WriteRun> {
        None
    }

    /// So many writes that are alike are done, of which the first `came` have come; the others are written.
    fn pass(&mut self, _count: usize, _came: usize, _written: Option<&mut dyn FnMut(&Beats)>) {}

    /// What the next writes are, so many of them from the first on that is not done, if it is told in so few words and all
    /// rows are below this one.
    fn regular(&mut self, _count: usize, _below_row: usize) -> Option<Regular> {
        None
    }

    /// So many writes, of which all that have come are some, are done, and it does not matter with which data.
    fn skip(&mut self, _count: usize) {}
}

/// Of a list.
struct Listed<I>(I);

impl<I: Iterator<Item = Transaction>> Work for Listed<I> {
    fn come(&mut self) -> Option<Transaction> {
        self.0.next()
    }
}

impl<S: Strips> Work for &mut Writing<S> {
    fn come(&mut self) -> Option<Transaction> {
        Writing::come(self)
    }

    fn done(&mut self) {
        self.leave(1);
    }

    fn alike(&mut self) -> Option<WriteRun> {
        let (strip, first, count) = self.first(LOOK_AHEAD)?;
        let (banks, Place { column, row, .. }) = (strip.banks, strip.place(first));
        let place = first % banks.len();
        let every_tck = BURST_TCK;
        Some(WriteRun { from_tck: 0, every_tck, count: count as u64, row, column, place, banks })
    }

    fn pass(&mut self, count: usize, came: usize, written: Option<&mut dyn FnMut(&Beats)>) {
        self.leave(came);
        Writing::pass(self, count - came, written);
    }

    fn regular(&mut self, count: usize, below_row: usize) -> Option<Regular> {
        Writing::regular(self, count, WAITING, below_row)
    }

    fn skip(&mut self, count: usize) {
        Writing::skip(self, count);
    }
}

/// Transactions under way.
struct Transfer<'a, W> {
    host: &'a mut MemoryController,
    known: &'a KnownStretches,
    /// What is done since the last REF, where it can be known, and all of it, where it is.
    recording: Option<Recording>,
    begun: Option<Arc<WriteStretch>>,
    /// The last REF.
    ref_tck: u64,
    work: W,
    is_all: bool,
    /// Why one was refused.
    refused: Option<NoSuchPlace>,
}

impl<'a, W: Work> Transfer<'a, W> {
    fn new(host: &'a mut MemoryController, known: &'a KnownStretches, work: W) -> Self {
        let (is_all, refused, recording, begun) = (false, None, None, None);
        Self { host, known, recording, begun, ref_tck: 0, work, is_all, refused }
    }

    /// No more of them wait than the controller looks at.
    fn queue(&mut self) -> Result<(), NoSuchPlace> {
        while !self.is_all && self.host.waiting() < WAITING {
            match self.work.come() {
                Some(transaction) => self.host.push(transaction)?,
                None => {
                    self.is_all = true;
                    self.host.leave_pins();
                }
            }
        }
        Ok(())
    }

    /// Whether it is over.
    fn has_ended(&self, at_tck: u64) -> bool {
        self.is_all && self.host.has_left_pins(at_tck)
    }

    /// All of it, beat by beat.
    fn move_beats(&mut self, rank: &mut dyn RankDevice) -> Result<(), TransferError> {
        while !self.has_ended(rank.tck()) {
            self.queue()?;
            let (host, tck) = (&mut *self.host, rank.tck());
            let pins = host.command(tck).unwrap_or_default();
            let driven = [host.drive(2 * tck), host.drive(2 * tck + 1)];
            self.did(pins);
            let seen = rank.step_memory(pins, driven)?;
            for (clock, on_bus) in (2 * tck..).zip(seen) {
                self.host.take(clock, on_bus);
            }
        }
        Ok(())
    }

    /// A command is on the pins.
    fn did(&mut self, pins: Pins) {
        if matches!(pins.command, PinCommand::Wr | PinCommand::Rd) {
            self.work.done();
        }
    }

    fn end(self) -> Result<(), NoSuchPlace> {
        self.refused.map_or(Ok(()), Err)
    }

    /// What it does behind the last REF follows from this, if it is so.
    fn key(&mut self) -> Option<Key> {
        let due_tck = self.host.until_refresh(self.ref_tck)?;
        if !self.host.is_fresh(self.ref_tck) || self.host.waiting() != WAITING {
            return None;
        }
        let most = MemoryController::most_bursts(due_tck) as usize + 2 * WAITING;
        Some(Key { writes: self.work.regular(most, self.host.rows())?, due_tck })
    }
}

impl<W: Work> BurstHost for Transfer<'_, W> {
    fn latency(&self) -> HostLatency {
        self.host.latency()
    }

    fn next(&mut self, from_tck: u64) -> HostStep {
        let mut at_tck = from_tck;
        loop {
            if self.has_ended(at_tck) {
                return HostStep::End { at_tck };
            }
            if let Err(refused) = self.queue() {
                self.refused = Some(refused);
                return HostStep::End { at_tck };
            }
            if let Some(pins) = self.host.command(at_tck) {
                self.did(pins);
                match &mut self.recording {
                    _ if pins.command == PinCommand::Ref => self.ref_tck = at_tck,
                    Some(recording) => recording.command(at_tck, pins),
                    None => {}
                }
                let is_write = pins.command == PinCommand::Wr;
                let written = if is_write { self.host.take_written() } else { None };
                return HostStep::Command { at_tck, pins, written };
            }
            at_tck = self.host.next_tck(at_tck);
        }
    }

    fn read(&mut self, beats: Beats) {
        self.host.give_read(beats);
    }

    fn run(&mut self, from_tck: u64) -> Option<WriteRun> {
        let alike = self.work.alike().filter(|run| run.count >= WORTH_A_RUN)?;
        self.host.run(from_tck, alike).filter(|run| run.count >= WORTH_A_RUN)
    }

    fn take_run(&mut self, run: &WriteRun, mut written: Option<&mut dyn FnMut(&Beats)>) {
        // As no compiler takes a closure that is lent for shorter than it lives.
        let came = match &mut written {
            Some(written) => self.host.take_run(run, Some(&mut **written)),
            None => self.host.take_run(run, None),
        };
        self.work.pass(run.count as usize, came, written);
        if let Some(recording) = &mut self.recording {
            recording.run(run);
        }
    }

    fn stretches(&mut self) -> Stretches {
        let ref_tck = self.ref_tck;
        let ended = self.recording.take().filter(|_| self.host.is_fresh(ref_tck));
        let ended = ended.map(|recording| self.known.keep(recording, ref_tck));
        let Some(key) = self.key() else { return Stretches { ended, ..Stretches::default() } };
        let known = self.known.of(&key);
        self.begun.clone_from(&known);
        let long = self.host.long_run();
        let recording = Recording::new(key, long, known.as_deref(), ref_tck);
        let begins = Some(recording.number());
        self.recording = Some(recording);
        Stretches { ended, begins, known }
    }

    fn take_stretch(&mut self) {
        if let Some(stretch) = self.begun.take() {
            self.recording = None;
            self.host.take_stretch();
            self.work.skip(stretch.count() as usize);
        }
    }
}

/// Writes strips to a rank without time.
pub fn fill(rank: &mut FunctionalRank, mut strips: impl Strips) {
    let mut number = 0;
    while let Some(Strip { row, column, columns, banks }) = strips.strip(number) {
        for column in column..column + columns {
            let mut places = banks.iter().map(|bank| Place { bank, row, column });
            strips.column_beats(number, (row, column), banks.iter(), |beats| {
                rank.write(places.next().expect("a burst for each bank"), beats);
            });
        }
        number += 1;
    }
}

/// Writes of a head's K and V as strips: those of [`writes`].
pub fn strips<'a>(layout: &'a HeadLayout, head: &'a Head) -> impl Strips + 'a {
    HeadStrips::new(layout, head)
}

/// Writes of a head's K and V. The tokens that fill up the last column of V are cleared: their weights
/// are zero, but zero times what was left there could be NaN.
pub fn writes<'a>(
    layout: &'a HeadLayout,
    head: &'a Head,
) -> impl Iterator<Item = Transaction> + 'a {
    let k = k_places(layout).map(|(token, burst, place)| {
        Transaction::Write(place, mapping::beats_of(&head.k[token], burst))
    });
    let v = v_places(layout).map(|(token, burst, place)| {
        let beats = head.v.get(token).map_or([0; BEATS], |v| mapping::beats_of(v, burst));
        Transaction::Write(place, beats)
    });
    k.chain(v)
}

/// The same into the rows that a request has.
///
/// # Panics
///
/// If it has fewer rows than the layout.
pub fn writes_to<'a>(
    layout: &'a HeadLayout,
    rows: &'a KvRows,
    head: &'a Head,
) -> impl Iterator<Item = Transaction> + 'a {
    let moved = move |place: Place| {
        let row = rows.of_layout(layout, place.row).expect("a row for each of the layout");
        Place { row, ..place }
    };
    writes(layout, head).map(move |transaction| match transaction {
        Transaction::Write(place, beats) => Transaction::Write(moved(place), beats),
        Transaction::Read(place) => Transaction::Read(moved(place)),
    })
}

/// Writes of the last token of a head whose other tokens are in the banks. Where it begins a column of
/// V, the tokens that fill that up are cleared, as by [`writes`].
///
/// # Panics
///
/// If the head has fewer tokens than the layout.
pub fn appends<'a>(
    layout: &'a HeadLayout,
    head: &'a Head,
) -> impl Iterator<Item = Transaction> + 'a {
    let last = layout.context - 1;
    let k = (0..layout.bursts()).map(move |burst| {
        Transaction::Write(layout.k(last, burst), mapping::beats_of(&head.k[last], burst))
    });
    let end = if last.is_multiple_of(layout.groups()) { last + layout.groups() } else { last + 1 };
    let tokens_of_v = (0..layout.bursts()).flat_map(move |b| (last..end).map(move |t| (t, b)));
    let v = tokens_of_v.map(move |(token, burst)| {
        let vector = if token == last { &head.v[last] } else { &[] };
        Transaction::Write(layout.v(token, burst), mapping::beats_of(vector, burst))
    });
    k.chain(v)
}

/// Reads of all that [`writes`] writes, in the same order.
pub fn reads(layout: &HeadLayout) -> impl Iterator<Item = Transaction> + '_ {
    k_places(layout).chain(v_places(layout)).map(|(.., place)| Transaction::Read(place))
}

/// Token, burst and place of K, chunk by chunk, in a chunk burst by burst over its banks, of which
/// each is in another group than the one before.
fn k_places(layout: &HeadLayout) -> impl Iterator<Item = (usize, usize, Place)> + '_ {
    let (banks, groups) = (layout.banks(), layout.groups());
    let token =
        move |chunk: usize, n: usize| chunk * banks + n % groups * (banks / groups) + n / groups;
    (0..layout.chunks())
        .flat_map(move |chunk| (0..layout.bursts()).map(move |burst| (chunk, burst)))
        .flat_map(move |(chunk, burst)| (0..banks).map(move |n| (token(chunk, n), burst)))
        .filter(|&(token, _)| token < layout.context)
        .map(|(token, burst)| (token, burst, layout.k(token, burst)))
}

/// Token, burst and place of V, column by column: its tokens are in different bank groups. The last
/// column is whole.
fn v_places(layout: &HeadLayout) -> impl Iterator<Item = (usize, usize, Place)> + '_ {
    let groups = layout.groups();
    (0..layout.quads())
        .flat_map(move |quad| (0..layout.bursts()).map(move |burst| (quad, burst)))
        .flat_map(move |(quad, burst)| (0..groups).map(move |n| (quad * groups + n, burst)))
        .map(|(token, burst)| (token, burst, layout.v(token, burst)))
}

/// Bytes that writing a head moves.
pub fn bytes(layout: &HeadLayout) -> u64 {
    let vectors = layout.context + layout.quads() * layout.groups();
    (vectors * layout.bursts() * BEATS * CHIPS) as u64
}
