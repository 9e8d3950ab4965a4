// SPDX-License-Identifier: MIT
//! Query heads that run together on a module of AiM channels, and their room in global buffers and GPR.

use pimlico_device::aim::{AimHead, GLOBAL_WORDS, GPR, MULTIPLIERS};
use std::array::from_fn;

/// Words of a global buffer between those of queries that are there together: what a MAC's query head counts.
pub(super) const QUERY_WORDS: usize = 8;

/// Query heads that share K and V and run side by side, and where their scores and weights are in the GPR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queries {
    /// How many there are.
    pub count: usize,
    /// The place of the first one's.
    pub place: usize,
    /// Elements from one to the next.
    pub room: usize,
}

impl Queries {
    /// One, from place 0 on.
    pub const ONE: Self = Self { count: 1, place: 0, room: 0 };

    /// So many queries of a head, from a place on.
    pub fn of(head: &AimHead, count: usize, place: usize) -> Self {
        Self { count, place, room: room(head) }
    }

    /// The place of a query's scores and weights.
    pub fn place_of(&self, query: usize) -> usize {
        self.place + query * self.room
    }

    /// The place of a query's context: they are at the end of the GPR.
    pub fn context_place(&self, head: &AimHead, query: usize) -> usize {
        GPR - (self.count - query) * outputs(head)
    }
}

/// Elements of the GPR for the scores of a query: of whole groups.
pub fn room(head: &AimHead) -> usize {
    head.k.whole().rows.next_multiple_of(head.k.pus()).next_multiple_of(MULTIPLIERS)
}

/// Elements of the GPR for the context of a query: of whole groups.
pub fn outputs(head: &AimHead) -> usize {
    head.v.rows.next_multiple_of(head.v.pus())
}

/// Query heads of so many elements that the global buffers hold together.
pub fn most_queries(head_dim: usize) -> usize {
    GLOBAL_WORDS / query_words(head_dim)
}

/// Words of a global buffer for a query that is there with others.
pub(super) fn query_words(head_dim: usize) -> usize {
    head_dim.div_ceil(MULTIPLIERS).next_multiple_of(QUERY_WORDS)
}

/// The words of queries as the global buffers have them together.
pub fn query_operands(queries: &[&[u16]]) -> Vec<[u16; MULTIPLIERS]> {
    let of_query = |query: &&[u16]| {
        let words = query.len().div_ceil(MULTIPLIERS);
        let words = if queries.len() > 1 { query_words(query.len()) } else { words };
        let element = |n: usize| query.get(n).copied().unwrap_or(0);
        (0..words).map(|word| from_fn(|n| element(MULTIPLIERS * word + n))).collect::<Vec<_>>()
    };
    queries.iter().flat_map(of_query).collect()
}
