// SPDX-License-Identifier: MIT
//! What crosses the pins of the host's channel while a rank computes: programs, operands and starts that the host
//! writes to the module's windows, and status and results that it reads there.
//!
//! Nothing else does. Partial sums, weights of tokens and what the dispatcher sends stay on the module, on
//! the bus between rank PU and chips, which is the rank's own.

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
}

impl Traffic {
    pub fn new(burst_tck: u64) -> Self {
        Self { burst_tck, ..Self::default() }
    }

    /// Starts an operator.
    pub fn restart(&mut self, at_tck: u64) {
        self.begin_tck = at_tck;
        self.transfers.clear();
    }

    /// A burst is on the channel from this tCK on. Bursts that follow each other are one transfer.
    pub fn burst(&mut self, at_tck: u64, read: bool) {
        let from_tck = at_tck - self.begin_tck;
        let last = self.transfers.iter_mut().rev().find(|transfer| transfer.read == read);
        match last {
            Some(last) if last.from_tck + last.tck == from_tck => last.tck += self.burst_tck,
            _ => self.transfers.push(HostTransfer { from_tck, tck: self.burst_tck, read }),
        }
    }

    /// So many bursts one after the other, the first from this tCK on.
    pub fn bursts(&mut self, at_tck: u64, count: u64, read: bool) {
        self.burst(at_tck, read);
        let last = self.transfers.iter_mut().rev().find(|transfer| transfer.read == read);
        last.expect("the first of them").tck += (count - 1) * self.burst_tck;
    }

    /// The transfers of the operator, which has ended.
    pub fn finish(&mut self) -> Vec<HostTransfer> {
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
            traffic.burst(at_tck, false);
        }
        [1131, 1139, 1143].into_iter().for_each(|at_tck| traffic.burst(at_tck, true));
        let of = |from_tck, tck, read| HostTransfer { from_tck, tck, read };
        let expected = [of(10, 12, false), of(23, 4, false), of(131, 4, true), of(139, 8, true)];
        assert_eq!(traffic.finish(), expected);
        assert_eq!(traffic.finish(), []);
        // Many at once.
        traffic.burst(1010, false);
        traffic.bursts(1014, 3, false);
        traffic.bursts(1030, 2, false);
        assert_eq!(traffic.finish(), [of(10, 16, false), of(30, 8, false)]);
    }
}
