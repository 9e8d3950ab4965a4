// SPDX-License-Identifier: MIT
//! A host's DDR4 memory controller for one rank. It knows only what the SPD image of the module
//! tells; of re-layout it knows nothing.
//!
//! Transactions are served in order, each with one column command at the earliest tCK that the
//! programmed timing allows; rows stay open until another one is wanted in the bank. Banks that
//! transactions further back need are opened ahead. REFs come when they are due, every tREFI.
//!
//! The pins can be left to the rank PU, which needs all banks closed, and taken back from it. In between the
//! controller goes on with the windows of the module, without REFs: the rank PU sees to those.
//!
//! The controller looks ahead where the pin checker looks back: each command moves on the earliest
//! times of those that may follow, for its bank, its bank group and the rank.

use pimlico_device::HostLatency;
use pimlico_device::data_bus::{Beats, Incoming, Outgoing};
use pimlico_device::mapping::Place;
use pimlico_device::spd::{Advertised, Spd, SpdError, SpdModule, SpdTiming};
use pimlico_dpa::types::{PinCommand, Pins};
use serde::Serialize;
use std::collections::VecDeque;

/// What JESD79-4 lays down for every DDR4 module, so that no SPD image tells it; in tCK.
pub mod standard {
    /// A burst of eight beats on the data bus.
    pub const BURST_TCK: u64 = 4;
    /// From one column command to the next, other bank group.
    pub const CCD_S_TCK: u64 = 4;
    /// Clocks that the data bus lies idle when its driver changes, for a preamble of one tCK.
    pub const TURNAROUND_TCK: u64 = 2;
    /// From one REF to the next, in ps: 7.8 us.
    pub const REFI_PS: u64 = 7_800_000;
    /// Column addresses of a burst.
    pub const COLUMNS_OF_BURST: u64 = 8;
    /// ACTs that the window of tFAW may hold.
    pub const ACTS_OF_FAW: usize = 4;
}
use standard::{ACTS_OF_FAW, BURST_TCK, CCD_S_TCK, COLUMNS_OF_BURST, REFI_PS, TURNAROUND_TCK};

/// Rows and columns of a bank that the pins can name: see [`Pins`].
const ROWS: usize = 1 << 16;
const COLUMNS: u64 = 1 << 7;

/// Transactions for which rows are opened ahead.
pub const LOOK_AHEAD: usize = 32;

/// By how many tCK a host sends data later than CWL says, and expects them later than CL: what training finds of
/// a module that holds data for a constant time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delay {
    /// Written data; less than 0 if they are sent sooner.
    pub write_tck: i64,
    /// Read data.
    pub read_tck: i64,
}

/// What the host's cores ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// Writes a burst.
    Write(Place, Beats),
    /// Reads a burst.
    Read(Place),
}

impl Transaction {
    /// Where.
    pub fn place(&self) -> Place {
        match *self {
            Self::Write(place, _) | Self::Read(place) => place,
        }
    }
}

/// Why a transaction is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "bank {} row {} column {}, expected less than {} {} {}",
    wanted.bank, wanted.row, wanted.column, size.bank, size.row, size.column
)]
pub struct NoSuchPlace {
    /// The place.
    pub wanted: Place,
    /// The rank has so many banks, rows and columns.
    pub size: Place,
}

/// The earliest tCK of commands to a bank.
#[derive(Clone, Debug, Default)]
struct Bank {
    row: Option<usize>,
    act_from: u64,
    pre_from: u64,
    column_from: u64,
}

/// The earliest tCK of commands to a bank group, or to the rank.
#[derive(Clone, Debug, Default)]
struct Shared {
    act_from: u64,
    rd_from: u64,
    wr_from: u64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct MemoryController {
    timing: SpdTiming,
    size: Place,
    banks_per_group: usize,
    refi_tck: u64,

    queue: VecDeque<Transaction>,
    banks: Vec<Bank>,
    groups: Vec<Shared>,
    rank: Shared,
    /// The latest ACTs.
    acts: VecDeque<u64>,
    next_ref: u64,
    /// What training has found.
    delay: Delay,
    /// The end of the last REF.
    refreshed: u64,
    /// Whether the pins are to be left when all is done.
    leaving: bool,
    /// Until then no row can be opened or closed for the next transactions, if nothing is issued and none
    /// comes.
    quiet_until: u64,
    /// So many of the next transactions have their row open.
    hits: usize,
    /// The data of what was done are no longer on the data bus.
    data_until: u64,

    outgoing: Outgoing,
    incoming: Incoming<()>,
    read: Vec<Beats>,
}

impl MemoryController {
    /// A controller that programs itself from an image, at tCK 0 of a rank whose banks are closed.
    pub fn from_spd(image: &[u8]) -> Result<Self, SpdError> {
        // What else the image tells is Pimlico's own business, and no host's.
        let Advertised { module, timing, .. } = Spd::parse(image)?;
        Ok(Self::new(&module, timing))
    }

    /// A controller with these timings, at tCK 0 of a rank whose banks are closed.
    pub fn new(module: &SpdModule, timing: SpdTiming) -> Self {
        let &SpdModule { bank_groups, banks_per_group, row_bits, column_bits, .. } = module;
        let banks = (bank_groups * banks_per_group) as usize;
        let size = Place {
            bank: banks,
            row: (1 << row_bits).min(ROWS),
            column: ((1 << column_bits) / COLUMNS_OF_BURST).min(COLUMNS) as usize,
        };
        let refi_tck = REFI_PS / timing.tck_ps;
        Self {
            timing,
            size,
            banks_per_group: banks_per_group as usize,
            refi_tck,
            queue: VecDeque::new(),
            banks: vec![Bank::default(); banks],
            groups: vec![Shared::default(); bank_groups as usize],
            rank: Shared::default(),
            acts: VecDeque::new(),
            next_ref: refi_tck,
            delay: Delay::default(),
            refreshed: 0,
            leaving: false,
            quiet_until: 0,
            hits: 0,
            data_until: 0,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            read: Vec::new(),
        }
    }

    /// The same with what training has found.
    pub fn with_delay(self, delay: Delay) -> Self {
        Self { delay, ..self }
    }

    /// The same with REFs at least this often, as firmware sets it for chips that need more of them than the
    /// standard says.
    pub fn refreshing(self, refi_tck: u64) -> Self {
        let refi_tck = self.refi_tck.min(refi_tck);
        Self { refi_tck, next_ref: refi_tck, ..self }
    }

    /// The same for the rows of memory alone, without the windows of a module.
    pub fn without_windows(mut self) -> Self {
        self.size.row = self.size.row.min(ROWS - 1);
        self
    }

    /// When its data are on the data bus.
    pub fn latency(&self) -> HostLatency {
        HostLatency {
            write_tck: self.timing.wl_tck.saturating_add_signed(self.delay.write_tck),
            read_tck: self.timing.cl_tck.saturating_add_signed(self.delay.read_tck),
        }
    }

    /// Queues a transaction.
    pub fn push(&mut self, transaction: Transaction) -> Result<(), NoSuchPlace> {
        let (wanted, size) = (transaction.place(), self.size);
        if wanted.bank >= size.bank || wanted.row >= size.row || wanted.column >= size.column {
            return Err(NoSuchPlace { wanted, size });
        }
        if self.queue.len() < LOOK_AHEAD {
            self.quiet_until = 0;
        }
        self.queue.push_back(transaction);
        Ok(())
    }

    /// Transactions that wait.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Takes the pins of a rank whose banks are closed and that owes no REF; the last one ends at `refreshed_tck`.
    pub fn take_pins(&mut self, at_tck: u64, refreshed_tck: u64) {
        self.leaving = false;
        self.resume_refresh(at_tck);
        self.refreshed = self.refreshed.max(refreshed_tck);
    }

    /// Issues no REF from here on: the rank PU does.
    pub fn suspend_refresh(&mut self) {
        self.next_ref = u64::MAX;
    }

    /// Issues REFs again.
    pub fn resume_refresh(&mut self, at_tck: u64) {
        self.next_ref = (at_tck / self.refi_tck + 1) * self.refi_tck;
    }

    /// Goes on with rows of its own behind [`leave_pins`](Self::leave_pins), once all banks are closed.
    pub fn go_on(&mut self) {
        self.leaving = false;
    }

    /// Whether all that was asked for has been done and all banks are closed, which they have to be for tRP before
    /// they may be opened again.
    pub fn is_closed(&self) -> bool {
        self.leaving && self.is_idle() && self.banks.iter().all(|bank| bank.row.is_none())
    }

    /// Closes all banks when what is queued has been done.
    pub fn leave_pins(&mut self) {
        self.leaving = true;
    }

    /// Whether all that was asked for has been done, all banks are closed and may be opened again.
    pub fn has_left_pins(&self, at_tck: u64) -> bool {
        let may_open = |bank: &Bank| bank.act_from <= at_tck;
        self.is_closed()
            && self.refreshed.max(self.data_until) <= at_tck
            && self.banks.iter().all(may_open)
    }

    /// The command of this tCK. To be called for every tCK, before its two clocks of data.
    pub fn command(&mut self, at_tck: u64) -> Option<Pins> {
        let command = if at_tck >= self.next_ref {
            self.refresh(at_tck)
        } else if at_tck >= self.refreshed {
            let column_or_row = self.column(at_tck).or_else(|| self.row(at_tck));
            column_or_row.or_else(|| self.leave(at_tck))
        } else {
            None
        }?;
        self.issue(at_tck, command);
        Some(command)
    }

    /// A tCK in which it has no command, as nothing waits and no REF is due.
    pub fn stay_silent(&mut self, at_tck: u64) {
        let command = self.command(at_tck);
        debug_assert!(command.is_none(), "nothing was asked for");
    }

    /// A tCK before which there is no other command, behind one without: not later than that of the next, or when the
    /// pins have been left.
    pub fn next_tck(&self, at_tck: u64) -> u64 {
        let next_tck = if at_tck >= self.next_ref {
            self.closed_tck()
        } else if at_tck < self.refreshed {
            self.refreshed.min(self.next_ref)
        } else {
            let left_tck = self.is_leaving().then(|| self.closed_tck().max(self.data_until));
            let row_tck = self.quiet_until.min(left_tck.unwrap_or(u64::MAX));
            self.column_tck().min(row_tck).min(self.next_ref)
        };
        next_tck.max(at_tck + 1)
    }

    /// Whether a read that is pushed in a tCK, where nothing waits or is on its way, has its RD in that tCK, if no other comes
    /// before.
    pub fn would_read(&self, place: Place, at_tck: u64) -> bool {
        self.is_idle()
            && self.rd_from(place).is_some_and(|from_tck| from_tck <= at_tck)
            && at_tck < self.next_ref
    }

    /// The RD of a read that alone waits, while nothing is on its way: when it comes, from a tCK on, if no other comes before.
    pub fn lone_read(&self, from_tck: u64) -> Option<u64> {
        let Some(Transaction::Read(place)) = self.queue.front() else { return None };
        let is_alone =
            self.queue.len() == 1 && self.outgoing.is_empty() && self.incoming.is_empty();
        let at_tck = self.rd_from(*place)?.max(from_tck);
        (is_alone && at_tck < self.next_ref).then_some(at_tck)
    }

    /// From when on a place can be read, if its row is open and the pins are not to be left.
    fn rd_from(&self, place: Place) -> Option<u64> {
        let Place { bank, row, .. } = place;
        let of_bank = self.banks.get(bank).filter(|bank| bank.row == Some(row))?;
        let of_group = &self.groups[bank / self.banks_per_group];
        let from_tck = of_group.rd_from.max(self.rank.rd_from).max(of_bank.column_from);
        (!self.leaving).then_some(from_tck.max(self.refreshed))
    }

    /// The tCK behind the data of an RD in this tCK.
    pub fn read_until(&self, at_tck: u64) -> u64 {
        at_tck + self.latency().read_tck + BURST_TCK
    }

    /// When all banks may be closed, or, if they are, opened.
    fn closed_tck(&self) -> u64 {
        let open = self.banks.iter().filter(|bank| bank.row.is_some()).map(|bank| bank.pre_from);
        let closed = self.banks.iter().map(|bank| bank.act_from).max().unwrap_or_default();
        open.max().unwrap_or(closed.max(self.refreshed))
    }

    /// The earliest tCK for the column command of the first transaction, whose row is open.
    fn column_tck(&self) -> u64 {
        let Some(first) = self.queue.front() else { return u64::MAX };
        let Place { bank, row, .. } = first.place();
        let (of_bank, of_group) = (&self.banks[bank], &self.groups[bank / self.banks_per_group]);
        let from = match first {
            _ if of_bank.row != Some(row) => return u64::MAX,
            Transaction::Write(..) => of_group.wr_from.max(self.rank.wr_from),
            Transaction::Read(_) => of_group.rd_from.max(self.rank.rd_from),
        };
        from.max(of_bank.column_from)
    }

    /// The burst of the WR that was issued last, which then is not driven.
    pub fn take_written(&mut self) -> Option<Beats> {
        self.outgoing.pop_last()
    }

    /// The burst of the RD that was issued last, which then is not taken from the data bus.
    pub fn give_read(&mut self, beats: Beats) {
        self.incoming.pop_last();
        self.read.push(beats);
    }

    /// The tCK in which it drives data next, or one before, where these have begun, or takes the last of a burst.
    pub fn moves_tck(&self) -> Option<u64> {
        let drives = self.outgoing.first_clock().map(|clock| clock / 2);
        let ends = self.incoming.first_clock().map(|clock| clock / 2 + BURST_TCK - 1);
        drives.into_iter().chain(ends).min()
    }

    /// What the controller drives on the data bus in this clock, of which a tCK has two.
    pub fn drive(&mut self, clock: u64) -> Option<u64> {
        self.outgoing.beat(clock)
    }

    /// What is on the data bus in this clock.
    pub fn take(&mut self, clock: u64, on_bus: Option<u64>) {
        self.read.extend(self.incoming.beat(clock, on_bus).map(|((), beats)| beats));
    }

    /// Whether all that was asked for has been done.
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// The bursts read so far, in the order in which they were asked for.
    pub fn read(&self) -> &[Beats] {
        &self.read
    }

    /// The same, and forgets them.
    pub fn take_read(&mut self) -> Vec<Beats> {
        std::mem::take(&mut self.read)
    }

    /// Forgets them.
    pub fn forget_read(&mut self) {
        self.read.clear();
    }

    /// Closes all banks, if any is open and all that are may be closed.
    fn close(&self, at_tck: u64) -> Option<Pins> {
        let mut open = self.banks.iter().filter(|bank| bank.row.is_some()).peekable();
        open.peek()?;
        open.all(|bank| bank.pre_from <= at_tck).then_some(Pins::PRE_ALL)
    }

    /// Whether the pins are to be left now, but for data that are on their way.
    fn is_leaving(&self) -> bool {
        self.leaving && self.is_idle()
    }

    fn leave(&self, at_tck: u64) -> Option<Pins> {
        let is_over = self.is_leaving() && self.data_until <= at_tck;
        if is_over { self.close(at_tck) } else { None }
    }

    /// On the way to the REF that is due: all banks closed, then the REF.
    fn refresh(&self, at_tck: u64) -> Option<Pins> {
        if self.banks.iter().any(|bank| bank.row.is_some()) {
            self.close(at_tck)
        } else {
            let closed = self.banks.iter().all(|bank| bank.act_from <= at_tck);
            (closed && self.refreshed <= at_tck).then_some(Pins::REF)
        }
    }

    /// The column command of the first transaction.
    fn column(&self, at_tck: u64) -> Option<Pins> {
        if self.column_tck() > at_tck {
            return None;
        }
        let first = self.queue.front()?;
        let Place { bank, column, .. } = first.place();
        Some(match first {
            Transaction::Write(..) => Pins::wr(bank, column),
            Transaction::Read(_) => Pins::rd(bank, column),
        })
    }

    /// A PRE or an ACT for one of the next transactions. In each bank the first of them decides.
    fn row(&mut self, at_tck: u64) -> Option<Pins> {
        if at_tck < self.quiet_until {
            return None;
        }
        self.count_hits();
        let mut decided = 0u64; // a bit for each bank
        let mut next_tck = u64::MAX;
        let is_all = self.hits == self.queue.len().min(LOOK_AHEAD);
        for transaction in self.queue.iter().take(if is_all { 0 } else { LOOK_AHEAD }) {
            let Place { bank, row, .. } = transaction.place();
            if decided >> bank & 1 != 0 {
                continue;
            }
            decided |= 1 << bank;
            let (from_tck, command) = match self.banks[bank].row {
                Some(open) if open == row => continue,
                Some(_) => (self.banks[bank].pre_from, Pins::pre(bank)),
                None => (self.act_from(bank), Pins::act(bank, row)),
            };
            if from_tck <= at_tck {
                return Some(command);
            }
            next_tck = next_tck.min(from_tck);
        }
        self.quiet_until = next_tck;
        None
    }

    /// Counts the next transactions whose rows are open, until one whose is not.
    fn count_hits(&mut self) {
        let of_ahead = self.queue.iter().take(LOOK_AHEAD).skip(self.hits);
        let is_hit = |place: &Place| self.banks[place.bank].row == Some(place.row);
        self.hits += of_ahead.map(Transaction::place).take_while(is_hit).count();
    }

    fn act_from(&self, bank: usize) -> u64 {
        let window = match self.acts.front() {
            Some(act) if self.acts.len() == ACTS_OF_FAW => act + self.timing.faw_tck,
            _ => 0,
        };
        let of_group = self.groups[bank / self.banks_per_group].act_from;
        window.max(of_group).max(self.rank.act_from).max(self.banks[bank].act_from)
    }

    /// Moves on the earliest times of the commands that may follow.
    fn issue(&mut self, at: u64, pins: Pins) {
        self.quiet_until = 0;
        let t = &self.timing;
        let bank = pins.bank();
        match pins.command {
            PinCommand::Act => {
                self.hits = 0;
                let of_bank = &mut self.banks[bank];
                of_bank.row = Some(pins.row());
                of_bank.column_from = at + t.rcd_tck;
                of_bank.pre_from = at + t.ras_tck;
                of_bank.act_from = at + t.rc_tck;
                self.groups[bank / self.banks_per_group].act_from = at + t.rrd_l_tck;
                self.rank.act_from = at + t.rrd_s_tck;
                self.acts.push_back(at);
                if self.acts.len() > ACTS_OF_FAW {
                    self.acts.pop_front();
                }
            }
            PinCommand::Pre => {
                self.hits = 0;
                self.banks[bank].close(at + t.rp_tck);
            }
            PinCommand::PreAll => {
                self.hits = 0;
                self.banks.iter_mut().for_each(|bank| bank.close(at + t.rp_tck));
            }
            PinCommand::Rd => {
                let from = (at + t.cl_tck).saturating_add_signed(self.delay.read_tck);
                let bus_free = from + BURST_TCK + TURNAROUND_TCK;
                let write_latency = t.wl_tck.saturating_add_signed(self.delay.write_tck);
                let write_from = bus_free.saturating_sub(write_latency);
                let of_group = &mut self.groups[bank / self.banks_per_group];
                of_group.column(at + t.ccd_l_tck, write_from.max(at + t.ccd_l_tck));
                self.rank.column(at + CCD_S_TCK, write_from.max(at + CCD_S_TCK));
                self.banks[bank].keep(at + t.rtp_tck);
                self.incoming.expect(2 * from, ());
                self.data_until = from + BURST_TCK;
                self.queue.pop_front();
                self.hits = self.hits.saturating_sub(1);
            }
            PinCommand::Wr => {
                let from = self.wrote(at, bank);
                if let Some(Transaction::Write(_, beats)) = self.queue.pop_front() {
                    self.outgoing.push(2 * from, beats);
                    self.hits = self.hits.saturating_sub(1);
                }
            }
            PinCommand::Ref => {
                self.refreshed = at + t.rfc1_tck;
                self.next_ref += self.refi_tck;
            }
            // Those of the rank PU.
            PinCommand::None
            | PinCommand::ActAll
            | PinCommand::RdAll
            | PinCommand::RdResult
            | PinCommand::WrShared
            | PinCommand::SetWord => unreachable!("a host does not know them"),
            PinCommand::Mrs => unreachable!("the mode registers are set before"),
        }
    }

    /// What a WR binds. Returns when its data are driven.
    fn wrote(&mut self, at: u64, bank: usize) -> u64 {
        let t = &self.timing;
        let end = at + t.wl_tck + BURST_TCK;
        let from = (at + t.wl_tck).saturating_add_signed(self.delay.write_tck);
        let of_group = &mut self.groups[bank / self.banks_per_group];
        of_group.column(end + t.wtr_l_tck, at + t.ccd_l_tck);
        self.rank.column(end + t.wtr_s_tck, at + CCD_S_TCK);
        self.banks[bank].keep(end + t.wr_tck);
        self.data_until = from + BURST_TCK;
        from
    }
}

impl Bank {
    fn close(&mut self, act_from: u64) {
        self.row = None;
        self.act_from = self.act_from.max(act_from);
    }

    /// Keeps the row open.
    fn keep(&mut self, pre_from: u64) {
        self.pre_from = self.pre_from.max(pre_from);
    }
}

impl Shared {
    fn column(&mut self, rd_from: u64, wr_from: u64) {
        self.rd_from = self.rd_from.max(rd_from);
        self.wr_from = self.wr_from.max(wr_from);
    }
}

mod runs;
mod stretch;

#[cfg(test)]
mod tests;
