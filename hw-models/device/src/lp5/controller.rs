// SPDX-License-Identifier: MIT
//! The host's memory controller at a channel: when it may give which command.
//!
//! It is a controller of plain LPDDR5X and knows nothing of modes: columns are read and written in the order of the requests, rows are
//! opened ahead for requests that wait, and a row stays open until another one of its bank is asked for. REFs are for all
//! banks. One that is due is postponed until the next request finds no open row, at most [`Timing::max_postponed_refs`] of them.
//!
//! In the mode of all banks the host has one bank's worth of commands, which are of all: the times of the others are those of that
//! bank, so that a PREA, which ends the mode, leaves the latest of all banks to each.

use super::request::{BurstPlace, Request};
use crate::config::{Config, Organisation, Timing};
use std::collections::VecDeque;

/// Requests that the controller looks at ahead.
const WINDOW: usize = 24;

/// A command on the channel's pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens a row.
    Activate(BurstPlace),
    /// Closes a bank.
    Precharge(u8),
    /// Closes all banks.
    PrechargeAll,
    /// The read or write of the request at the head.
    Column,
    /// A refresh of all banks.
    Refresh,
}

/// What comes next, and its tCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// When.
    pub at_tck: u64,
    /// What.
    pub command: Command,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bank {
    open: Option<u32>,
    activate: u64,
    precharge: u64,
    read: u64,
    write: u64,
}

/// When columns of a group, or of any, may come next.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    read: u64,
    write: u64,
}

/// The controller of a channel.
#[derive(Clone, Debug)]
pub struct Controller {
    timing: Timing,
    in_group: usize,
    refreshes: bool,
    queue: VecDeque<Request>,
    banks: Vec<Bank>,
    groups: Vec<Columns>,
    any: Columns,
    /// ACTs of any bank, and of each group.
    activate: u64,
    activate_group: Vec<u64>,
    /// The last four ACTs, round and round.
    window: [Option<u64>; 4],
    oldest: usize,
    /// The first tCK without a command.
    now: u64,
    /// All data are over.
    data_until: u64,
    refs: u64,
    /// Rows are closed for a REF.
    refreshing: bool,
}

impl Controller {
    /// The controller of a channel whose banks are closed; `plain`, they have no blocks.
    pub fn new(config: &Config, refreshes: bool, plain: bool) -> Self {
        let Organisation { bank_groups, banks_per_group, .. } = config.organisation;
        let mut timing = config.timing.clone();
        if plain {
            // Nothing but reads waits behind an ACT.
            timing.rcd_mac_tck = timing.rcd_tck;
        }
        Self {
            timing,
            in_group: banks_per_group,
            refreshes,
            queue: VecDeque::with_capacity(WINDOW),
            banks: vec![Bank::default(); bank_groups * banks_per_group],
            groups: vec![Columns::default(); bank_groups],
            any: Columns::default(),
            activate: 0,
            activate_group: vec![0; bank_groups],
            window: [None; 4],
            oldest: 0,
            now: 0,
            data_until: 0,
            refs: 0,
            refreshing: false,
        }
    }

    /// The first tCK without a command.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Lets time pass.
    pub fn wait_until(&mut self, tck: u64) {
        self.now = self.now.max(tck);
    }

    /// When the next REF is due, if rows are refreshed.
    pub fn due(&self) -> Option<u64> {
        self.refreshes.then(|| (self.refs + 1) * self.timing.refi_tck)
    }

    /// Data of all commands are over.
    pub fn data_until(&self) -> u64 {
        self.data_until
    }

    /// Whether it takes another request.
    pub fn has_room(&self) -> bool {
        self.queue.len() < WINDOW
    }

    /// Puts a request behind the others.
    pub fn push(&mut self, request: Request) {
        self.queue.push_back(request);
    }

    /// The request at the head.
    pub fn head(&self) -> Option<&Request> {
        self.queue.front()
    }

    /// Takes the request at the head.
    pub fn take(&mut self) -> Option<Request> {
        self.queue.pop_front()
    }

    /// Whether no row is open.
    pub fn is_closed(&self) -> bool {
        self.banks.iter().all(|bank| bank.open.is_none())
    }

    /// The row that is open in a bank.
    pub fn open_row(&self, bank: u8) -> Option<u32> {
        self.banks[usize::from(bank)].open
    }

    /// REFs that are due and have not come.
    fn owed(&self, at_tck: u64) -> u64 {
        if self.refreshes { (at_tck / self.timing.refi_tck).saturating_sub(self.refs) } else { 0 }
    }

    /// Whether a REF has to come before what is asked for.
    fn must_refresh(&self) -> bool {
        let is_hit = self.head().and_then(Request::place).is_some_and(|place| self.is_open(place));
        match self.owed(self.now) {
            0 => false,
            // The latest may come at its deadline, so that it is begun a row's time before.
            owed => !is_hit || owed + 1 >= self.timing.max_postponed_refs,
        }
    }

    /// The next command for the requests there are. None at a fence or without a request, if no REF is due.
    pub fn next(&mut self) -> Option<Next> {
        self.refreshing = self.refreshing || self.must_refresh();
        let next = match self.refreshing {
            true => Some(self.next_of_refresh()),
            false => self.next_of_requests(),
        };
        next.map(|Next { at_tck, command }| Next { at_tck: at_tck.max(self.now), command })
    }

    /// Closes all rows, and does what refreshing is due.
    pub fn next_to_close(&mut self) -> Option<Next> {
        if self.refreshing || self.owed(self.now) > 0 {
            self.refreshing = true;
        } else if self.is_closed() {
            return None;
        }
        let Next { at_tck, command } = self.next_of_refresh();
        Some(Next { at_tck: at_tck.max(self.now), command })
    }

    fn next_of_refresh(&self) -> Next {
        let latest = |of: fn(&Bank) -> u64| self.banks.iter().map(of).max().unwrap_or(0);
        match self.is_closed() {
            false => Next { at_tck: latest(|bank| bank.precharge), command: Command::PrechargeAll },
            true => Next { at_tck: latest(|bank| bank.activate), command: Command::Refresh },
        }
    }

    fn next_of_requests(&self) -> Option<Next> {
        let head = self.head()?.place()?;
        let mut next = self
            .is_open(head)
            .then(|| Next { at_tck: self.column_tck(self.queue[0]), command: Command::Column });
        // Rows for the requests that wait, of each bank for the first of them.
        let mut seen = 0u64;
        for request in &self.queue {
            let Some(place) = request.place() else { break };
            let bit = 1 << place.bank;
            if seen & bit == 0 {
                seen |= bit;
                if !self.is_open(place) {
                    let row = self.next_of_row(place);
                    if next.is_none_or(|next| row.at_tck < next.at_tck) {
                        next = Some(row);
                    }
                }
            }
        }
        next
    }

    fn is_open(&self, place: BurstPlace) -> bool {
        self.open_row(place.bank) == Some(place.row)
    }

    fn group(&self, bank: u8) -> usize {
        usize::from(bank) / self.in_group
    }

    fn next_of_row(&self, place: BurstPlace) -> Next {
        let bank = self.banks[usize::from(place.bank)];
        if bank.open.is_some() {
            return Next { at_tck: bank.precharge, command: Command::Precharge(place.bank) };
        }
        let window = self.window[self.oldest].map_or(0, |tck| tck + self.timing.faw_tck);
        let group = self.activate_group[self.group(place.bank)];
        let at_tck = bank.activate.max(self.activate).max(group).max(window);
        Next { at_tck, command: Command::Activate(place) }
    }

    fn column_tck(&self, request: Request) -> u64 {
        let Some(place) = request.place() else { return self.now };
        let (bank, group) =
            (self.banks[usize::from(place.bank)], self.groups[self.group(place.bank)]);
        match request {
            Request::Read(_) => bank.read.max(group.read).max(self.any.read),
            _ => bank.write.max(group.write).max(self.any.write),
        }
    }

    /// A command is given. Returns the request whose column it is.
    pub fn give(&mut self, Next { at_tck, command }: Next) -> Option<Request> {
        self.now = at_tck + 1;
        match command {
            Command::Activate(place) => self.activated(at_tck, place),
            Command::Precharge(bank) => self.closed(at_tck, usize::from(bank)),
            Command::PrechargeAll => {
                let latest = self.banks.iter().map(|bank| bank.activate).max().unwrap_or(0);
                for bank in 0..self.banks.len() {
                    self.closed(at_tck, bank);
                    raise(&mut self.banks[bank].activate, latest);
                }
            }
            Command::Refresh => {
                self.refs += 1;
                let end = at_tck + self.timing.rfc_tck;
                self.banks.iter_mut().for_each(|bank| raise(&mut bank.activate, end));
                self.now = end;
                self.refreshing = self.owed(end) > 0;
            }
            Command::Column => {
                let request = self.take()?;
                self.moved(at_tck, request);
                return Some(request);
            }
        }
        None
    }

    fn activated(&mut self, at_tck: u64, place: BurstPlace) {
        let group = self.group(place.bank);
        let Timing {
            rc_tck, ras_tck, rcd_tck, rcd_mac_tck, rcd_wr_tck, rrd_s_tck, rrd_l_tck, ..
        } = self.timing;
        let bank = &mut self.banks[usize::from(place.bank)];
        bank.open = Some(place.row);
        raise(&mut bank.activate, at_tck + rc_tck);
        raise(&mut bank.precharge, at_tck + ras_tck);
        raise(&mut bank.read, at_tck + rcd_tck.max(rcd_mac_tck));
        raise(&mut bank.write, at_tck + rcd_wr_tck);
        raise(&mut self.activate, at_tck + rrd_s_tck);
        raise(&mut self.activate_group[group], at_tck + rrd_l_tck);
        self.window[self.oldest] = Some(at_tck);
        self.oldest = (self.oldest + 1) % self.window.len();
    }

    fn closed(&mut self, at_tck: u64, bank: usize) {
        let bank = &mut self.banks[bank];
        bank.open = None;
        raise(&mut bank.activate, at_tck + self.timing.rp_tck);
    }

    fn moved(&mut self, at_tck: u64, request: Request) {
        let Some(place) = request.place() else { return };
        let group = self.group(place.bank);
        let timing = &self.timing;
        let (bank, group) = (&mut self.banks[usize::from(place.bank)], &mut self.groups[group]);
        let latency = match request {
            Request::Read(_) => {
                raise(&mut self.any.write, at_tck + timing.rd_to_wr_tck());
                raise(&mut bank.precharge, at_tck + timing.rtp_tck);
                timing.cl_tck
            }
            _ => {
                raise(&mut self.any.read, at_tck + timing.wr_to_rd_s_tck());
                raise(&mut group.read, at_tck + timing.wr_to_rd_l_tck());
                raise(&mut bank.precharge, at_tck + timing.wr_to_pre_tck());
                timing.cwl_tck
            }
        };
        for (columns, tck) in [(&mut self.any, timing.ccd_s_tck), (group, timing.ccd_l_tck)] {
            raise(&mut columns.read, at_tck + tck);
            raise(&mut columns.write, at_tck + tck);
        }
        self.data_until = at_tck + latency + timing.burst_tck;
    }
}

fn raise(tck: &mut u64, to: u64) {
    *tck = (*tck).max(to);
}
