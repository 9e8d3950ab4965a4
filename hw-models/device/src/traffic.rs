// SPDX-License-Identifier: MIT
//! What crosses the pins of the host's channel while a rank computes: operands that the host writes to the
//! shared buffers, and results that it reads from the rank PU.
//!
//! Nothing else does. Partial sums, weights of tokens and what the dispatcher sends stay on the module, on
//! the bus between rank PU and chips, which is the rank's own.

use crate::mapping::BURST;

/// Data on the host's channel, in the time of the rank: from the start of the operator, with the channel
/// to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostTransfer {
    /// When they begin.
    pub from_tck: u64,
    /// How long they take.
    pub tck: u64,
    /// Whether the host reads them; otherwise it writes them.
    pub read: bool,
}

impl HostTransfer {
    /// The same, of an operator that begins so much later.
    pub fn after(self, tck: u64) -> Self {
        Self { from_tck: self.from_tck + tck, ..self }
    }
}

/// The transfers of an operator.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    begin_tck: u64,
    burst_tck: u64,
    transfers: Vec<HostTransfer>,
    /// Results that fill no burst yet, and when the last came.
    results: (usize, u64),
}

impl Traffic {
    pub fn new(burst_tck: u64) -> Self {
        Self { burst_tck, ..Self::default() }
    }

    /// Starts an operator.
    pub fn restart(&mut self, at_tck: u64) {
        *self = Self { begin_tck: at_tck, ..Self::new(self.burst_tck) };
    }

    /// The host drives a burst from this tCK on. Bursts that follow each other are one transfer.
    pub fn write(&mut self, at_tck: u64) {
        let from_tck = at_tck - self.begin_tck;
        let last = self.transfers.iter_mut().rev().find(|transfer| !transfer.read);
        match last {
            Some(last) if last.from_tck + last.tck == from_tck => last.tck += self.burst_tck,
            _ => self.transfers.push(HostTransfer { from_tck, tck: self.burst_tck, read: false }),
        }
    }

    /// A result is there; with as many as fill a burst the host reads them.
    pub fn result(&mut self, at_tck: u64) {
        self.results = (self.results.0 + 1, at_tck);
        if self.results.0 == BURST {
            self.read();
        }
    }

    fn read(&mut self) {
        let (_, at_tck) = std::mem::take(&mut self.results);
        let from_tck = at_tck - self.begin_tck;
        self.transfers.push(HostTransfer { from_tck, tck: self.burst_tck, read: true });
    }

    /// The transfers of the operator, which has ended.
    pub fn finish(&mut self) -> Vec<HostTransfer> {
        if self.results.0 > 0 {
            self.read();
        }
        std::mem::take(&mut self.transfers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_that_follow_each_other_are_one_transfer() {
        let mut traffic = Traffic::new(4);
        traffic.restart(1000);
        for at_tck in [1010, 1014, 1018, 1023] {
            traffic.write(at_tck);
        }
        (0..40).for_each(|n| traffic.result(1100 + n));
        let of = |from_tck, tck, read| HostTransfer { from_tck, tck, read };
        let expected = [of(10, 12, false), of(23, 4, false), of(131, 4, true), of(139, 4, true)];
        assert_eq!(traffic.finish(), expected);
        assert_eq!(traffic.finish(), []);
    }
}
