// SPDX-License-Identifier: MIT
//! Results on their way out of the bank PUs, and what holds reads back for their sake.

use crate::Config;
use crate::rank::{BusRequest, Events};
use pimlico_units::rank::RankController;
use std::collections::VecDeque;

/// Asks for the results of the bank PUs: whenever there are new ones, for what the next of its lists
/// says.
pub struct Drain<L> {
    lists: L,
    /// What is still to be asked for.
    to_ask: VecDeque<BusRequest>,
    /// How much is still in the bank PUs.
    to_leave: usize,
    /// Lists of which nothing is.
    done: usize,
    /// tCK from one RD_RESULT to the next, where the adder unit needs more than the data bus.
    gap_tck: u64,
    next_tck: u64,
}

impl<L: Iterator<Item: IntoIterator<Item = BusRequest>>> Drain<L> {
    pub fn new(lists: L, gap_tck: u64) -> Self {
        let to_ask = VecDeque::with_capacity(64);
        Self { lists, to_ask, to_leave: 0, done: 0, gap_tck, next_tck: 0 }
    }

    /// What is to be asked for in this tCK.
    pub fn request(&self, at_tck: u64) -> Option<BusRequest> {
        let may_ask = at_tck + RankController::LATENCY >= self.next_tck;
        self.to_ask.front().copied().filter(|_| may_ask)
    }

    /// The request was taken.
    pub fn taken(&mut self) {
        self.to_ask.pop_front();
        if self.gap_tck > 0 {
            self.next_tck = u64::MAX; // until it is issued
        }
    }

    /// # Panics
    ///
    /// If results were overwritten: whoever asked for the reads did not hold them back.
    pub fn see(&mut self, at_tck: u64, events: &Events) {
        if events.results_taken {
            self.to_leave -= 1;
            self.done += usize::from(self.to_leave == 0);
            self.next_tck = at_tck + self.gap_tck;
        }
        if events.results {
            assert!(self.to_leave == 0, "results overwritten before they were read");
            self.to_ask.extend(self.lists.next().into_iter().flatten());
            self.to_leave = self.to_ask.len();
        }
    }

    /// Lists of which nothing is left in the bank PUs.
    pub fn done(&self) -> usize {
        self.done
    }
}

/// Holds chunks of one burst back: they leave the bank PUs more slowly than they are read.
pub struct Pace {
    /// tCK from one chunk to the next; 0 where nothing has to be held back.
    chunk_tck: u64,
    next_tck: u64,
    under_way: bool,
}

impl Pace {
    pub fn new(config: &Config, bursts: usize) -> Self {
        let read_tck = bursts as u64 * config.timing.ccd_l_tck;
        let drain_tck = config.banks() as u64;
        let chunk_tck = if read_tck < drain_tck { drain_tck } else { 0 };
        Self { chunk_tck, next_tck: 0, under_way: false }
    }

    /// Whether a read may be asked for.
    pub fn allows(&self, at_tck: u64) -> bool {
        self.chunk_tck == 0 || !self.under_way && at_tck + RankController::LATENCY >= self.next_tck
    }

    /// The read was taken.
    pub fn taken(&mut self) {
        self.under_way = true;
    }

    /// It was issued.
    pub fn issued(&mut self, at_tck: u64) {
        self.under_way = false;
        self.next_tck = at_tck + self.chunk_tck;
    }
}
