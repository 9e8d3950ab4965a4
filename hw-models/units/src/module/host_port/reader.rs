// SPDX-License-Identifier: MIT
//! Bursts of the windows on their way to the host's data bus.

use super::windows::Window;
use pimlico_dpa::types::{Beat, Burst};

/// A burst that is read, or none if its contents are unspecified.
pub(super) type Read = Option<Burst>;

/// The way from an RD of a window to the host's data bus.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Windows that are to be read, a ring of tCK; the bit of a tCK says whether one is.
    asked: [Window; Self::LONGEST],
    waiting: u64,
    now: usize,
    /// The burst that was read in the tCK before.
    read: Option<Read>,
    /// The burst on the bus, and how many of its tCK are over.
    driven: Option<Read>,
    over: usize,
}

impl Reader {
    /// tCK from the RD to its data, at most.
    const LONGEST: usize = u64::BITS as usize;

    /// A reader with nothing to read.
    pub(super) fn new() -> Self {
        let asked = [Window::Mailbox; Self::LONGEST];
        Self { asked, waiting: 0, now: 0, read: None, driven: None, over: 0 }
    }

    /// Nothing is to be read, and nothing on the bus.
    pub(super) fn is_idle(&self) -> bool {
        self.read.is_none() && self.driven.is_none() && self.waiting == 0
    }

    /// tCK in which no window is read and nothing is on the bus, if no RD comes.
    pub(super) fn idle_tck(&self) -> u64 {
        if self.read.is_some() || self.driven.is_some() {
            return 0;
        }
        match self.waiting.rotate_right(self.now as u32) {
            0 => u64::MAX,
            waiting => u64::from(waiting.trailing_zeros()),
        }
    }

    /// So many [idle](Self::idle_tck) tCK.
    pub(super) fn rest(&mut self, tck: u64) {
        self.over = self.over.saturating_add(tck as usize);
        self.now = (self.now + tck as usize) % Self::LONGEST;
    }

    /// The window that is read in this tCK.
    pub(super) fn window(&self) -> Option<Window> {
        (self.waiting >> self.now & 1 != 0).then(|| self.asked[self.now])
    }

    /// The beat on the bus, if one is: the first or the second of its tCK.
    pub(super) fn beat(&self, second: bool) -> Option<Beat> {
        let index = 2 * self.over + usize::from(second);
        self.driven.map(|burst| burst.unwrap_or_default()[index])
    }

    /// The beat on the bus is unspecified.
    pub(super) fn is_open(&self) -> bool {
        self.driven == Some(None)
    }

    /// The end of a tCK: an RD of a window comes, and the burst of another is read.
    pub(super) fn clock(&mut self, comes: Option<Window>, cl: u8, read: Option<Read>) {
        self.over += 1;
        if self.over == 4 {
            self.driven = None;
        }
        if self.read.is_some() {
            (self.driven, self.over) = (self.read, 0);
        }
        self.read = read;
        self.waiting &= !(1 << self.now);
        // The window has its RD a tCK after the pins, and is read a tCK before the end of CL.
        if let Some(window) = comes {
            let at = (self.now + usize::from(cl).saturating_sub(2)) % Self::LONGEST;
            self.asked[at] = window;
            self.waiting |= 1 << at;
        }
        self.now = (self.now + 1) % Self::LONGEST;
    }
}
