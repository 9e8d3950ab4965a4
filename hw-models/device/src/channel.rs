// SPDX-License-Identifier: MIT
//! The host's channel, whose pins several ranks share (L3 section 5.1: "channel bandwidth does not scale
//! with the number of ranks").
//!
//! Ranks of a channel start an operator together and compute at the same time, each on its own bus between
//! rank PU and chips. What comes from the host and goes to it takes turns:
//!
//! * **Operands** are served in the order in which they are wanted, one transfer after the other; of two at
//!   the same time, that of the lower rank. A rank that has to wait does everything after as much later.
//!   That is an upper bound: work under way that could have gone on without them is held up as well.
//! * **Results** wait in the rank PU and hold nothing up; they are read where the channel is idle.
//! * Between transfers of two ranks, or a read and a write, the bus lies idle as long as where its driver
//!   changes (`RTW_GAP`).
//!
//! A vector that several ranks of a channel need crosses it once for each of them: no write to several
//! ranks at once is assumed.

use crate::traffic::HostTransfer;
use std::ops::Range;

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Of each rank, tCK for which it waited for the channel.
    pub waited_tck: Vec<u64>,
    /// The same until any time.
    pub late: Vec<Late>,
    /// When the host begins to read the last results. That it has them a burst later is left out, as for a
    /// rank alone.
    pub results_tck: u64,
    /// tCK in which data are on the channel's pins.
    pub busy_tck: u64,
}

/// How much later a rank is, from which time of its own on: the steps, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late(Vec<(u64, u64)>);

impl Late {
    /// How much later it is at a time of its own.
    pub fn at(&self, tck: u64) -> u64 {
        let steps = self.0.partition_point(|(from_tck, _)| *from_tck <= tck);
        self.0[..steps].last().map_or(0, |(_, waited_tck)| *waited_tck)
    }
}

/// A transfer in the time of the channel.
struct Granted {
    user: usize,
    at: Range<u64>,
}

/// Shares a channel among ranks that start together, each with its transfers in the order of `from_tck` among
/// writes and among reads.
pub(crate) fn share(users: &[&[HostTransfer]], gap_tck: u64) -> Shared {
    let busy_tck = users.iter().copied().flatten().map(|transfer| transfer.tck).sum();
    let Operands { granted, late } = Operands::of(users, gap_tck);
    Shared {
        waited_tck: late.iter().map(|late| late.at(u64::MAX)).collect(),
        results_tck: in_gaps(&granted, results(users, &late), gap_tck),
        late,
        busy_tck,
    }
}

/// Results, each with when it is there, its rank and its length, in the order in which they are there.
fn results(users: &[&[HostTransfer]], late: &[Late]) -> impl Iterator<Item = (u64, usize, u64)> {
    let of_users = users.iter().copied().zip(late).enumerate();
    let of_users = of_users.map(|(user, (transfers, late))| {
        let there = move |transfer: &HostTransfer| {
            (transfer.from_tck + late.at(transfer.from_tck), user, transfer.tck)
        };
        transfers.iter().filter(|transfer| transfer.read).map(there).peekable()
    });
    let mut left: Vec<_> = of_users.collect();
    std::iter::from_fn(move || {
        let (_, user, _) = left.iter_mut().filter_map(|left| left.peek().copied()).min()?;
        left[user].next()
    })
}

/// Operands, in the order in which the channel takes them.
struct Operands {
    granted: Vec<Granted>,
    /// How much later each rank is.
    late: Vec<Late>,
}

impl Operands {
    fn of(users: &[&[HostTransfer]], gap_tck: u64) -> Self {
        let mut late = vec![Late::default(); users.len()];
        let mut left: Vec<_> = users
            .iter()
            .map(|user| user.iter().filter(|transfer| !transfer.read).peekable())
            .collect();
        let mut granted: Vec<Granted> = Vec::new();
        loop {
            let wanted = left.iter_mut().enumerate().filter_map(|(user, left)| {
                let waited_tck = late[user].at(u64::MAX);
                left.peek().map(|transfer| (transfer.from_tck + waited_tck, user))
            });
            let Some((wanted_tck, user)) = wanted.min() else { break };
            let Some(transfer) = left[user].next() else { break };
            let free_tck = granted
                .last()
                .map_or(0, |last| last.at.end + if last.user == user { 0 } else { gap_tck });
            let from_tck = wanted_tck.max(free_tck);
            if from_tck > transfer.from_tck {
                late[user].0.push((transfer.from_tck, from_tck - transfer.from_tck));
            }
            granted.push(Granted { user, at: from_tck..from_tck + transfer.tck });
        }
        Self { granted, late }
    }
}

/// Reads [results], where the channel is idle. Returns when the last of them begins.
fn in_gaps(
    granted: &[Granted],
    results: impl Iterator<Item = (u64, usize, u64)>,
    gap_tck: u64,
) -> u64 {
    let mut granted = granted.iter().peekable();
    let (mut begin_tck, mut free_tck, mut last) = (0, 0, None);
    for (there_tck, user, tck) in results {
        let after =
            if last == Some(user) || last.is_none() { free_tck } else { free_tck + gap_tck };
        let mut from_tck = there_tck.max(after);
        // Operands before which there is no room.
        while let Some(operands) =
            granted.next_if(|operands| operands.at.start < from_tck + tck + gap_tck)
        {
            from_tck = from_tck.max(operands.at.end + gap_tck);
        }
        (begin_tck, free_tck, last) = (from_tck, from_tck + tck, Some(user));
    }
    begin_tck
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(from_tck: u64, tck: u64) -> HostTransfer {
        HostTransfer { from_tck, tck, read: false }
    }

    fn read(from_tck: u64, tck: u64) -> HostTransfer {
        HostTransfer { from_tck, tck, read: true }
    }

    #[test]
    fn a_rank_alone_does_not_wait() {
        let transfers = [write(5, 8), write(13, 4), read(14, 4), write(40, 4), read(90, 4)];
        let alone = share(&[&transfers], 2);
        assert_eq!(alone.waited_tck, [0]);
        assert_eq!(alone.results_tck, 90);
        assert_eq!(alone.busy_tck, 24);
        assert_eq!(share(&[], 2), Shared::default());
    }

    #[test]
    fn operands_take_turns_and_hold_up_what_follows() {
        let (one, other) = ([write(10, 8), write(100, 8)], [write(10, 8), write(60, 4)]);
        let users = [&one[..], &other[..]];
        // The other's first transfer comes at 20 and its second at 70; at 100 the channel is free.
        assert_eq!(share(&users, 2).waited_tck, [0, 10]);
        // Without the gap.
        assert_eq!(share(&users, 0).waited_tck, [0, 8]);
        // Waits add up: at 100 the first rank is still at it.
        let long = [write(10, 8), write(65, 40)];
        let users = [&one[..], &long[..]];
        assert_eq!(share(&users, 2).waited_tck, [75 + 40 + 2 - 100, 10]);
    }

    #[test]
    fn results_are_read_in_between_and_hold_nothing_up() {
        let (one, other) = ([read(20, 4), write(30, 4)], [read(20, 4), write(26, 4)]);
        let users = [&one[..], &other[..]];
        let shared = share(&users, 2);
        // Operands from 26 and, with the gap, from 32; the first result at 20. The second finds no room
        // before, nor between them.
        assert_eq!(shared.waited_tck, [2, 0]);
        assert_eq!(shared.results_tck, 36 + 2);
    }

    #[test]
    fn a_rank_is_as_late_as_it_has_waited_until_then() {
        let (one, other) = ([write(10, 8)], [write(10, 8), write(19, 4)]);
        let users = [&one[..], &other[..]];
        let late = &share(&users, 2).late;
        assert_eq!(late[0], Late::default());
        assert_eq!([9, 10, 18, 19, 500].map(|tck| late[1].at(tck)), [0, 10, 10, 10, 10]);
    }

    #[test]
    fn nobody_waits_longer_than_the_others_have_the_channel() {
        let of =
            |step: u64, count: u64| -> Vec<_> { (0..count).map(|n| write(n * step, 4)).collect() };
        let all = [of(8, 50), of(12, 30), of(100, 4), of(4, 20)];
        let users: Vec<_> = all.iter().map(Vec::as_slice).collect();
        let waited = share(&users, 0).waited_tck;
        let total: u64 = all.iter().flatten().map(|transfer| transfer.tck).sum();
        for (waited, own) in waited.iter().zip(&all) {
            let own: u64 = own.iter().map(|transfer| transfer.tck).sum();
            assert!(*waited <= total - own, "{waited}");
        }
        assert!(waited.iter().any(|waited| *waited > 0));
    }
}
