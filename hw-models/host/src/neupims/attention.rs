// SPDX-License-Identifier: MIT
//! Attention of a request in its channel: the heads of a device, a token that is being generated.
//!
//! ```text
//! for each page of 512 elements of Q:                    heads of 128: four
//!     WR, GWRITE;  for each 32 tokens:  HEADER, a GEMV for each head          scores
//! for each head:  softmax on a vector unit, as soon as its scores have come
//!     for each 512 tokens:  WR, GWRITE of the weights;  for each 32 elements:  HEADER, GEMV
//! ```
//!
//! Softmax of a head is done while PIM computes the scores of the next page or the contexts of other heads. A vector unit of 128 lanes takes
//! five operations for each 128 tokens, two of them reductions; it computes as a processor does, in binary64, and rounds weights to
//! binary16. The contexts of several chunks are added on it.

use super::script::{Operands, ResultSink, Script};
use super::sums::PartSums;
use pimlico_device::neupims::request::operation;
use pimlico_device::neupims::{BANKS, KvLayout, PAGE, PimRequest, PuSums};

/// Lanes of a vector unit.
const LANES: u64 = 128;
/// Vector operations of softmax for each lane's width of scores.
const OPERATIONS: u64 = 5;

/// What was computed of a head.
#[derive(Clone, Debug)]
pub struct HeadResults {
    /// Scores, in binary16.
    pub scores: Vec<u16>,
    /// Weights, in binary16.
    pub weights: Vec<u16>,
    /// Context, in binary16.
    pub context: Vec<u16>,
}

/// Weights of scores, both in binary16.
pub type Softmax = dyn Fn(&[u16]) -> Vec<u16> + Sync;

/// The results of a request on their way.
pub struct AttentionHost<'a> {
    layout: &'a KvLayout,
    /// Softmax of scores: weights, in binary16. None: without data.
    softmax: Option<&'a Softmax>,
    heads: Vec<HeadResults>,
    contexts: Vec<PartSums>,
    come: u64,
    /// Until when the vector unit is busy.
    vector_until: u64,
    until_tck: u64,
}

impl<'a> AttentionHost<'a> {
    /// Attention of a query of all heads, one behind the other, in composite or fine commands.
    ///
    /// # Panics
    ///
    /// If the query is not as long as a token's K.
    pub fn script(
        layout: &'a KvLayout,
        query: &[u16],
        softmax: Option<&'a Softmax>,
        fine: bool,
        sums: PuSums,
    ) -> Script<'a, Self> {
        assert_eq!(query.len() as u64, layout.embedding(), "a query of all heads");
        let mut operands = Operands::default();
        query.chunks(PAGE).for_each(|page| operands.put(0, page.to_vec()));
        let shape = layout.shape();
        let head = |_| HeadResults { scores: Vec::new(), weights: Vec::new(), context: Vec::new() };
        let results = Self {
            layout,
            softmax,
            heads: (0..shape.heads).map(head).collect(),
            contexts: vec![PartSums::new(sums, shape.head_dim as usize); shape.heads as usize],
            come: 0,
            vector_until: 0,
            until_tck: 0,
        };
        Script::new(list(layout, fine), operands, results)
    }

    /// What was computed of each head.
    pub fn into_heads(self) -> Vec<HeadResults> {
        let (mut heads, contexts) = (self.heads, self.contexts);
        for (head, context) in heads.iter_mut().zip(contexts) {
            head.context = context.elements();
        }
        heads
    }

    /// When the last results had come.
    pub fn until_tck(&self) -> u64 {
        self.until_tck
    }

    /// Results of scores that a page has, and those of pages before it.
    fn score_results(&self) -> u64 {
        self.layout.key_groups() * self.layout.shape().heads
    }

    fn take_scores(&mut self, now: u64, results: &[u16; BANKS], operands: &mut Operands) {
        let layout = self.layout;
        let (groups, of_page, heads) =
            (layout.key_groups(), layout.page_heads(), layout.shape().heads);
        let page = self.come / (groups * of_page);
        let in_page = (heads - page * of_page).min(of_page);
        let number = self.come - page * groups * of_page;
        let (group, head) = (number / in_page, page * of_page + number % in_page);
        let scores = &mut self.heads[head as usize].scores;
        let tokens = layout.shape().tokens as usize;
        let left = tokens - scores.len();
        scores.extend_from_slice(&results[..left.min(BANKS)]);
        if group + 1 == groups {
            self.normalise(now, head, operands);
        }
    }

    /// The scores of a head have all come.
    fn normalise(&mut self, now: u64, head: u64, operands: &mut Operands) {
        let tokens = self.layout.shape().tokens;
        let operations = OPERATIONS * tokens.div_ceil(LANES);
        self.vector_until = self.vector_until.max(now) + operations;
        let head = &mut self.heads[head as usize];
        head.weights = match self.softmax {
            Some(softmax) => softmax(&head.scores),
            None => vec![0; head.scores.len()],
        };
        for chunk in head.weights.chunks(PAGE) {
            operands.put(self.vector_until, chunk.to_vec());
        }
    }

    fn take_contexts(&mut self, results: &[u16; BANKS]) {
        let layout = self.layout;
        let number = self.come - self.score_results();
        let (tiles, chunks) = (layout.value_tiles(), layout.chunks());
        let (of_head, tile) = (number / tiles, number % tiles);
        let (head, chunk) = (of_head / chunks, of_head % chunks);
        self.contexts[head as usize].add(BANKS * tile as usize, chunk == 0, results);
    }
}

/// All commands of a request.
fn list(layout: &KvLayout, fine: bool) -> impl Iterator<Item = PimRequest> + Send + '_ {
    let gwrite = || std::iter::once(PimRequest::Gwrite { bank: 0, row: 0 });
    let tile = move |tile: pimlico_device::neupims::layout::Tile| {
        let mut list = Vec::new();
        operation(tile.row, &tile.counts, fine, &mut list);
        list
    };
    let scores = (0..layout.query_pages()).flat_map(move |page| {
        let groups = 0..layout.key_groups();
        gwrite().chain(groups.flat_map(move |group| tile(layout.key_tile(group, page))))
    });
    let contexts = (0..layout.shape().heads).flat_map(move |head| {
        (0..layout.chunks()).flat_map(move |chunk| {
            let tiles = 0..layout.value_tiles();
            gwrite().chain(tiles.flat_map(move |n| tile(layout.value_tile(head, chunk, n))))
        })
    });
    scores.chain(contexts)
}

impl ResultSink for AttentionHost<'_> {
    fn take(&mut self, now: u64, results: &[u16; BANKS], operands: &mut Operands) {
        if self.come < self.score_results() {
            self.take_scores(now, results, operands);
        } else {
            self.take_contexts(results);
        }
        self.come += 1;
        self.until_tck = now;
    }

    fn is_done(&self) -> bool {
        let layout = self.layout;
        let tiles = layout.chunks() * layout.value_tiles() * layout.shape().heads;
        self.come == self.score_results() + tiles
    }
}
