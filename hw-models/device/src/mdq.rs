// SPDX-License-Identifier: MIT
//! The data lines between buffer chip and chips (MDQ), where the ranks of a DIMM share one set of them.
//!
//! Ranks start an operator together, as on the host's channel (see `channel.rs`), for which they have waited
//! already, and each has command pins of its own. Bursts take turns in the order in which they are due; of two at the same time, that of the lower rank
//! comes first. Bursts without a pause between them stay together. A rank whose burst is late does everything after as much later, behind results as well as
//! operands: a burst comes a fixed time after its command.
//!
//! That is an upper bound of what the ranks lose to each other, and no model cycle by cycle: work that could have
//! gone on without the burst is held up as well, and ranks that do the same at the same time meet at every burst.
//! REFs that fall due in the time of waiting are not added, nor on the channel. The lower bound is that of any
//! order: the longest rank, or the bursts of all.
//!
//! Between bursts of two ranks the lines lie idle as long as where their driver changes (`RTW_GAP`). That is an
//! assumption: JESD79-4 leaves the change of rank to the module.

use crate::channel;
use crate::traffic::HostTransfer;
use std::ops::Range;

/// What a rank does on the lines.
#[derive(Clone, Debug)]
pub(crate) struct User {
    /// How long its operator takes, with the lines to itself.
    pub cycles: u64,
    /// When its bursts are on them, in order.
    pub bursts: Vec<Range<u64>>,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Of each rank, tCK for which it waited for the lines.
    pub waited_tck: Vec<u64>,
    /// tCK in which data are on the lines.
    pub busy_tck: u64,
    /// Lower bound for any order.
    pub least_tck: u64,
}

/// Shares the lines among ranks that start together.
pub(crate) fn share(users: &[User], gap_tck: u64) -> Shared {
    // What is due holds up its rank, whoever drives it: so do the host's operands on its channel.
    let transfer = |burst: &Range<u64>| HostTransfer {
        from_tck: burst.start,
        tck: burst.end - burst.start,
        read: false,
    };
    let transfers: Vec<Vec<_>> =
        users.iter().map(|user| user.bursts.iter().map(transfer).collect()).collect();
    let on_channel: Vec<_> = transfers.iter().map(Vec::as_slice).collect();
    let channel::Shared { waited_tck, busy_tck, .. } = channel::share(&on_channel, gap_tck);
    let changes = users.iter().filter(|user| !user.bursts.is_empty()).count().saturating_sub(1);
    let longest_tck = users.iter().map(|user| user.cycles).max().unwrap_or(0);
    let least_tck = longest_tck.max(busy_tck + gap_tck * changes as u64);
    Shared { waited_tck, busy_tck, least_tck }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(ranks: &[(u64, &[Range<u64>])], gap_tck: u64) -> Shared {
        let users: Vec<_> = ranks
            .iter()
            .map(|&(cycles, bursts)| User { cycles, bursts: bursts.to_vec() })
            .collect();
        share(&users, gap_tck)
    }

    #[test]
    fn a_rank_alone_does_not_wait() {
        let bursts = [5..9, 9..13, 20..24];
        let alone = shared(&[(30, &bursts)], 2);
        assert_eq!(alone, Shared { waited_tck: vec![0], busy_tck: 12, least_tck: 30 });
        // Nor one beside ranks that have nothing to do there, or at other times.
        let other = 13 + 2..16;
        let beside = shared(&[(30, &bursts), (40, &[]), (16, std::slice::from_ref(&other))], 2);
        assert_eq!((beside.waited_tck, beside.least_tck), (vec![0; 3], 40));
        assert_eq!(shared(&[], 2), Shared::default());
    }

    #[test]
    fn bursts_take_turns_with_a_gap_and_hold_up_what_follows() {
        let same = [10..14, 30..34];
        let two = shared(&[(40, &same), (40, &same)], 2);
        // The second rank begins at 14 + 2, and is due again at 36, when the first has been done for 2.
        assert_eq!((two.waited_tck, two.busy_tck, two.least_tck), (vec![0, 6], 16, 40));
        assert_eq!(shared(&[(40, &same), (40, &same)], 0).waited_tck, [0, 4]);
    }

    #[test]
    fn more_than_the_lines_can_carry_takes_as_long_as_they_need() {
        // Six tCK of ten, twice: 120 tCK of data in the time of 100.
        let bursts: Vec<_> = (0..10).map(|n| 10 * n..10 * n + 6).collect();
        for (gap_tck, least_tck) in [(0, 120), (2, 122)] {
            let both = shared(&[(100, &bursts), (100, &bursts)], gap_tck);
            assert_eq!((both.busy_tck, both.least_tck), (120, least_tck));
            let most_tck = 100 + both.waited_tck.iter().max().expect("two ranks");
            assert!(most_tck >= least_tck, "{most_tck}");
            // No later than if each burst of a rank waited for one of the other.
            assert!(most_tck <= 100 + 60 + 20 * gap_tck, "{most_tck}");
        }
    }
}
