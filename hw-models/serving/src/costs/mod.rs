// SPDX-License-Identifier: MIT
//! What a device's work costs, by tokens of the context.
//!
//! The cycle models of [`pimlico_workload`] run a head once for each context that becomes a *knot* of a [`CostTable`].
//! Knots are at whole chunks of [`STEP`] tokens, between them the cost of whole chunks is a line, and a context takes as long as
//! its whole chunks. Knots are every chunk up to [`DENSE`] tokens and then a quarter further each.
//!
//! A cost rises by a steady part for each chunk, the least that a chunk of the first [`DENSE`] tokens adds, and by steps, where
//! another row is opened or another pass begins. Where the steps between two knots are more than [`TOLERANCE_PPM`] of the cost,
//! the chunk in their middle becomes a knot, and so on in both halves: a line between two knots is off by no more than
//! the steps between them. That holds for costs that do not fall by more than that, so that refresh is not in them: a REF
//! falls into a head or not by when the head begins. It is counted as the share of a long run that it takes.
//!
//! Costs of all chunks that requests come to are measured with [`Contexts::Exactly`].
//!
//! * [`rank`]: a head of L3's rank, and adding a token to it.
//! * [`module`]: heads and matrices on a module of AiM channels.
//! * [`latency`]: a table as a line.
//! * [`memo`]: tables that were measured before, built in or in a folder of caches.

pub mod latency;
pub mod memo;
pub mod module;
pub mod rank;

use crate::trace::Trace;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Tokens of a chunk, of which a knot has a whole number.
pub const STEP: u64 = 16;
/// Up to so many tokens each chunk is a knot.
pub const DENSE: u64 = 1024;
/// The largest context of a table; beyond it the last line goes on.
pub const MOST: u64 = 131_072;
/// How much of the cost the steps between two knots may be, in millionths.
pub const TOLERANCE_PPM: u64 = 4000;

/// The contexts that are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contexts {
    /// As many as a table needs.
    Knots,
    /// These, which are whole chunks: each costs what the cycle model says.
    Exactly(BTreeSet<u64>),
}

impl Contexts {
    /// All whole chunks that requests come to while they have new tokens.
    pub fn of(trace: &Trace) -> Self {
        let chunks = trace.requests.iter().flat_map(|request| {
            let (first, last) = (request.input + 1, request.tokens() + 1);
            (first.div_ceil(STEP)..=last.div_ceil(STEP)).map(|chunk| chunk * STEP)
        });
        Self::Exactly(chunks.collect())
    }
}

/// A measured cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Knot {
    /// Tokens of the context.
    pub tokens: u64,
    /// Duration.
    pub ps: u64,
    /// Energy in pJ at the most; 0 where it is not known.
    pub energy_pj: u64,
}

/// Costs by tokens of the context.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTable {
    knots: Vec<Knot>,
    /// For each number of whole chunks, from none on, the duration.
    by_chunk: Vec<u64>,
}

impl CostTable {
    /// A table of knots, which are in the order of their tokens.
    ///
    /// # Panics
    ///
    /// If there are fewer than two, or they are out of order.
    pub fn new(knots: Vec<Knot>) -> Self {
        assert!(knots.len() > 1, "{} knots", knots.len());
        assert!(knots.windows(2).all(|pair| pair[0].tokens < pair[1].tokens), "out of order");
        let most = knots.last().expect("several").tokens;
        let mut table = Self { knots, by_chunk: Vec::new() };
        let by_chunk = (0..=most / STEP).map(|chunk| table.between(chunk * STEP, |knot| knot.ps));
        table.by_chunk = by_chunk.collect();
        table
    }

    /// The table of other knots.
    pub fn map(&self, of: impl Fn(Knot) -> Knot) -> Self {
        Self::new(self.knots.iter().map(|&knot| of(knot)).collect())
    }

    /// Its knots.
    pub fn knots(&self) -> &[Knot] {
        &self.knots
    }

    /// Duration for a context of so many tokens, which takes as long as its whole chunks; 0 for none.
    pub fn ps(&self, tokens: u64) -> u64 {
        match self.by_chunk.get(tokens.div_ceil(STEP) as usize) {
            _ if tokens == 0 => 0,
            Some(&ps) => ps,
            None => self.between(tokens.next_multiple_of(STEP), |knot| knot.ps),
        }
    }

    /// The mean of the durations of so many contexts, each a token longer than the one before.
    pub fn mean_ps(&self, first: u64, count: u64) -> u64 {
        let (mut sum, mut at, end) = (0, first, first + count);
        while at < end {
            let next = (at.next_multiple_of(STEP) + 1).min(end);
            sum += self.ps(at) * (next - at);
            at = next;
        }
        sum / count.max(1)
    }

    /// Energy for a context of so many tokens in pJ.
    pub fn energy_pj(&self, tokens: u64) -> u64 {
        if tokens == 0 { 0 } else { self.between(tokens, |knot| knot.energy_pj) }
    }

    /// Time and energy of a context on the line of the knots around it; before the first knot and behind the last those of that.
    pub fn nearest(&self, tokens: u64) -> Knot {
        let [first, last] = [0, self.knots.len() - 1].map(|knot| self.knots[knot].tokens);
        let tokens = tokens.clamp(first, last);
        let of = |of: fn(&Knot) -> u64| self.between(tokens, of);
        Knot { tokens, ps: of(|knot| knot.ps), energy_pj: of(|knot| knot.energy_pj) }
    }

    /// The line between the knots around a context, or that of the first or last two.
    fn between(&self, tokens: u64, of: impl Fn(&Knot) -> u64) -> u64 {
        let behind = self.knots.partition_point(|knot| knot.tokens < tokens);
        let behind = behind.clamp(1, self.knots.len() - 1);
        line(&self.knots[behind - 1], &self.knots[behind], tokens, of)
    }
}

/// Where the line of two knots is at a context.
fn line(a: &Knot, b: &Knot, tokens: u64, of: impl Fn(&Knot) -> u64) -> u64 {
    let [from, to, at] = [a.tokens, b.tokens, tokens].map(i128::from);
    let (first, last) = (i128::from(of(a)), i128::from(of(b)));
    let value = first + (last - first) * (at - from) / (to - from);
    u64::try_from(value.max(0)).unwrap_or(u64::MAX)
}

/// The knots to begin with, up to a context.
pub fn first_contexts(most: u64) -> Vec<u64> {
    let mut contexts: Vec<u64> = (1..=DENSE.min(most) / STEP).map(|chunk| chunk * STEP).collect();
    let mut next = DENSE;
    while next < most {
        next = (next * 5 / 4).next_multiple_of(STEP).min(most);
        contexts.push(next);
    }
    // Contexts that people ask for are exact.
    let powers = (0..).map(|n| DENSE << n).take_while(|&tokens| tokens <= most);
    contexts.extend(powers);
    contexts.sort_unstable();
    contexts.dedup();
    contexts
}

/// Measures what a table needs, in rounds: `measure` returns a knot for each context that it is given.
pub fn refine<E>(
    most: u64,
    mut measure: impl FnMut(&[u64]) -> Result<Vec<Knot>, E>,
) -> Result<CostTable, E> {
    let mut knots: BTreeMap<u64, Knot> = BTreeMap::new();
    let mut contexts = first_contexts(most);
    let mut open: Vec<(u64, u64)> = contexts.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let mut steady_ps = None;
    loop {
        knots.extend(measure(&contexts)?.into_iter().map(|knot| (knot.tokens, knot)));
        let steady_ps = *steady_ps.get_or_insert_with(|| steady(&knots));
        let is_off = |&(from, to): &(u64, u64)| {
            let (first, last) = (knots[&from].ps, knots[&to].ps);
            let expected = first + steady_ps * ((to - from) / STEP);
            last.abs_diff(expected) * 1_000_000 > TOLERANCE_PPM * first
        };
        let halves = open.into_iter().filter(is_off).filter_map(|(from, to)| {
            let at = middle(from, to)?;
            Some([(from, at), (at, to)])
        });
        open = halves.flatten().collect();
        contexts = open.chunks(2).map(|halves| halves[0].1).collect();
        if open.is_empty() {
            return Ok(CostTable::new(knots.into_values().collect()));
        }
    }
}

/// The least that a chunk adds, of those that are side by side.
fn steady(knots: &BTreeMap<u64, Knot>) -> u64 {
    let pairs = knots.values().zip(knots.values().skip(1));
    let rises =
        pairs.filter(|(a, b)| b.tokens - a.tokens == STEP).map(|(a, b)| b.ps.saturating_sub(a.ps));
    rises.min().unwrap_or(0)
}

/// The whole chunk in the middle of two.
fn middle(from: u64, to: u64) -> Option<u64> {
    let middle = (from + to) / 2 / STEP * STEP;
    (middle > from).then_some(middle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Request;
    use std::convert::Infallible;

    /// A cost of whole chunks with steps: small ones every 512 tokens, as rows make them, and a large one every 2 048, which no
    /// middle of two knots shows by itself.
    fn stepped(tokens: u64) -> u64 {
        let chunks = tokens.div_ceil(STEP);
        10_000 + 640 * chunks + 250 * (chunks / 32) + 6000 * ((chunks + 40) / 128)
    }

    fn measured(contexts: &[u64]) -> Result<Vec<Knot>, Infallible> {
        let knot = |&tokens: &u64| Knot { tokens, ps: stepped(tokens), energy_pj: 2 * tokens };
        Ok(contexts.iter().map(knot).collect())
    }

    #[test]
    fn a_table_follows_the_steps_of_a_cost() {
        let mut runs = 0;
        let Ok(table) = refine(MOST, |contexts| {
            runs += contexts.len();
            measured(contexts)
        });
        assert_eq!(runs, table.knots().len(), "each is measured once");
        assert!(runs < 500, "{runs}");
        for tokens in (16..=MOST).step_by(16) {
            let exact = stepped(tokens);
            let off = table.ps(tokens).abs_diff(exact) * 1_000_000;
            assert!(off <= TOLERANCE_PPM * exact, "{tokens}: {} {exact}", table.ps(tokens));
        }
        assert_eq!(table.ps(16_384), stepped(16_384));
        assert_eq!(table.ps(0), 0);
        assert_eq!(table.energy_pj(100), 200);
        // The mean of a part of a chunk and a part of the next.
        let mean = (5 * stepped(528) + 3 * stepped(529)) / 8;
        assert_eq!((table.mean_ps(524, 8), table.mean_ps(524, 0)), (mean, 0));
        // Beyond the last knot its line goes on.
        assert!(table.ps(2 * MOST) > table.ps(MOST));
    }

    #[test]
    fn contexts_of_a_trace_are_the_chunks_of_its_new_tokens() {
        let request = |input, output| Request { arrival_ps: 0, input, output };
        let requests = vec![request(15, 2), request(100, 20)];
        let trace = Trace { name: "t".to_owned(), requests };
        let expected = [16, 32, 112, 128].into_iter().collect();
        assert_eq!(Contexts::of(&trace), Contexts::Exactly(expected));
    }

    #[test]
    fn first_contexts_are_chunks_then_quarters() {
        let contexts = first_contexts(MOST);
        assert_eq!(&contexts[..3], &[16, 32, 48]);
        assert!(contexts.contains(&1280) && contexts.contains(&16_384));
        assert_eq!(contexts.last(), Some(&MOST));
        assert!(contexts.iter().all(|context| context.is_multiple_of(STEP)));
    }
}
