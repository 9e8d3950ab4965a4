// SPDX-License-Identifier: MIT
//! The commands of score and context for one head, tCK by tCK.
//!
//! With *b* bursts in a vector, a slot of *S* = tCCD_L = 8 tCK and a burst of 4 tCK, the schedule of
//! *n* chunks of score is
//!
//! ```text
//! slot     0 .. f-1   f .. f+nb-1                          f = 4b/8 rounded up
//!          fill Q     RD chunk 0, RD chunk 1, ...          b slots a chunk
//! from            f+b-1+4   drain chunk 0: 16 tCK, one sum in each, 4 tCK through the adder unit
//! ```
//!
//! so it takes `8 (f + b - 1 + 4) + 8 b (n - 1) + 16 + 4` tCK. Where b = 1 a chunk drains more slowly
//! (16 tCK) than it is read (8 tCK): then a chunk takes two slots, one of them a bubble.
//!
//! Context reads *q* columns, four tokens each; the weights of a column arrive in the slot before:
//!
//! ```text
//! slot     0        1 .. q                                  q+2 ..
//!          weights  RD and the next column's weights        drain: 4 b sums of 4 tCK each
//! ```
//!
//! which takes `8 (q + 2) + 16 b + 1` tCK.

use crate::mapping::{self, BURST, HeadLayout};
use crate::rank::{RankError, SHARED_WORDS};
use crate::{AllBankRead, CHIPS, Command, Drain, Fill, LANES, Rank, Statistics};
use pimlico_units::arith::Binary16;
use pimlico_units::bank::BankPu;

/// Computes the scores of a head: for each token the product of its K vector with `q`.
pub fn score(
    rank: &mut Rank,
    layout: &HeadLayout,
    q: &[u16],
) -> Result<(Vec<u16>, Statistics), RankError> {
    let slot_tck = rank.config().timing.ccd_l_tck;
    let burst_tck = rank.config().timing.burst_tck;
    let banks = rank.config().banks() as u64;
    let (bursts, chunks) = (layout.bursts() as u64, layout.chunks() as u64);
    let fill_slots = (bursts * burst_tck).div_ceil(slot_tck);
    let chunk_slots = bursts.max(banks.div_ceil(slot_tck));
    let drain_from = (fill_slots + bursts - 1 + BankPu::<Binary16>::TREE_LATENCY) * slot_tck;

    let fill_at = |tck: u64| {
        let word = tck / burst_tck;
        (tck.is_multiple_of(burst_tck) && word < bursts).then(|| {
            let word = word as usize;
            Fill { word, data: mapping::burst_of(q, word) }
        })
    };
    let read_at = |tck: u64| {
        let slot =
            (tck / slot_tck).checked_sub(fill_slots).filter(|_| tck.is_multiple_of(slot_tck))?;
        let (chunk, burst) = (slot / chunk_slots, slot % chunk_slots);
        (chunk < chunks && burst < bursts).then(|| {
            let (row, column) = layout.k_column(chunk as usize, burst as usize);
            AllBankRead {
                row,
                column,
                shared: burst as usize,
                accumulate: false,
                first: burst == 0,
                last: burst == bursts - 1,
            }
        })
    };
    let drain_at = |tck: u64| {
        let tck = tck.checked_sub(drain_from)?;
        let (chunk, bank) = (tck / (chunk_slots * slot_tck), tck % (chunk_slots * slot_tck));
        (chunk < chunks && bank < banks).then_some(Drain {
            bank: bank as usize,
            lane: 0,
            accumulate: false,
            first: true,
            last: true,
        })
    };

    let mut scores = Vec::with_capacity((chunks * banks) as usize);
    rank.begin();
    while scores.len() < (chunks * banks) as usize {
        let tck = rank.tck();
        let command = Command { read: read_at(tck), fill: fill_at(tck), drain: drain_at(tck) };
        scores.extend(rank.step(&command)?.tree);
    }
    scores.truncate(layout.context);
    Ok((scores, rank.end()))
}

/// Computes the context of a head: the sum of the V vectors, each times its token's weight.
pub fn context(
    rank: &mut Rank,
    layout: &HeadLayout,
    weights: &[u16],
) -> Result<(Vec<u16>, Statistics), RankError> {
    let slot_tck = rank.config().timing.ccd_l_tck;
    let groups = rank.config().organisation.bank_groups as u64;
    let banks_per_group = rank.config().organisation.banks_per_group;
    let (bursts, quads) = (layout.bursts() as u64, layout.quads() as u64);
    let drain_from = (quads + BankPu::<Binary16>::ACCUMULATE_LATENCY) * slot_tck;
    let sums = bursts * LANES as u64;

    let fill_at = |tck: u64| {
        let quad = tck / slot_tck;
        (tck.is_multiple_of(slot_tck) && quad < quads).then(|| {
            let quad = quad as usize;
            Fill { word: quad % SHARED_WORDS, data: mapping::weights_of(weights, quad) }
        })
    };
    let read_at = |tck: u64| {
        let quad = (tck / slot_tck).checked_sub(1).filter(|_| tck.is_multiple_of(slot_tck))?;
        (quad < quads).then(|| {
            let (row, column) = layout.v_column(quad as usize);
            AllBankRead {
                row,
                column,
                shared: quad as usize % SHARED_WORDS,
                accumulate: true,
                first: quad == 0,
                last: quad == quads - 1,
            }
        })
    };
    let drain_at = |tck: u64| {
        let tck = tck.checked_sub(drain_from)?;
        let (sum, group) = (tck / groups, (tck % groups) as usize);
        (sum < sums).then(|| Drain {
            bank: group * banks_per_group + sum as usize / LANES,
            lane: sum as usize % LANES,
            accumulate: true,
            first: group == 0,
            last: group as u64 == groups - 1,
        })
    };

    let mut context = Vec::with_capacity(bursts as usize * BURST);
    rank.begin();
    while context.len() < sums as usize * CHIPS {
        let tck = rank.tck();
        let command = Command { read: read_at(tck), fill: fill_at(tck), drain: drain_at(tck) };
        context.extend(rank.step(&command)?.lanes.into_iter().flatten());
    }
    context.truncate(layout.head_dim);
    Ok((context, rank.end()))
}
