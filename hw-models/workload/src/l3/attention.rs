// SPDX-License-Identifier: MIT
//! Attention on a rank: requests, their programs and their rows.

use super::gemv::Slot;
use crate::placement::NoRoom;
use crate::results::{Attention, Summed, scale};
use half::f16;
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::mapping::{self, HeadLayout, HeadLayoutError};
use pimlico_device::{Config, DeviceError, FunctionalRank, Options, RankDevice, Runs};
use pimlico_dpa::{ENTRIES, REQUESTS};
use pimlico_host::driver::{Driver, DriverError, KvRows, Results};
use pimlico_host::kv_cache::{self, TransferError};
use pimlico_host::program::attention::{
    self as program, BLOCK_REQUEST, MAX_CONTEXT, Passes, ScoreBufferUse,
};
use pimlico_model::data::Head;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum AttentionError {
    /// A head does not fit.
    #[error(transparent)]
    Layout(#[from] HeadLayoutError),
    /// There is no room for the K and V of all heads.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A context is longer than T_cur can say.
    #[error("context of {0} tokens: T_cur goes up to {MAX_CONTEXT}")]
    Tokens(usize),
    /// The program or the rows of a request.
    #[error(transparent)]
    Driver(DriverError),
    /// K and V could not be written.
    #[error(transparent)]
    Transfer(TransferError),
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] DeviceError),
}

from_host!(AttentionError);

/// Where the K and V of each request lie, one after the other.
pub fn layouts(
    config: &Config,
    head_dim: usize,
    contexts: &[usize],
) -> Result<Vec<HeadLayout>, HeadLayoutError> {
    let mut row = 0;
    let mut next = |&context: &usize| {
        let layout = HeadLayout::new(config, head_dim, context, row)?;
        row = layout.end_row();
        Ok(layout)
    };
    contexts.iter().map(&mut next).collect()
}

/// The report's note on banks and lanes that are read but hold no data of a head of this dimension.
pub fn padding_notes(config: &Config, head_dim: usize) -> Vec<String> {
    let Ok(layout) = HeadLayout::new(config, head_dim, 1, 0) else { return Vec::new() };
    let (bursts, elements) = (layout.bursts(), layout.bursts() * mapping::BURST);
    let places = layout.parts() * layout.banks() / layout.groups();
    let idle = (bursts < places).then(|| {
        format!(
            "d_h {head_dim}: V of a token takes {bursts} of the {places} places that it has in the banks of a group; the \
             others hold no V, and what is read of them is padding"
        )
    });
    let filled = (head_dim < elements).then(|| {
        format!("d_h {head_dim}: vectors are filled up to {elements} elements, which is padding")
    });
    idle.into_iter().chain(filled).collect()
}

/// Runs the query heads that share K and V, which are in the device already, in the rows of the layout.
pub fn run_head(
    rank: &mut dyn RankDevice,
    layout: &HeadLayout,
    queries: &[Vec<u16>],
) -> Result<Attention, AttentionError> {
    let mut requests = Requests::new(*layout)?;
    let rows = KvRows::adjacent(layout)?;
    requests.run(rank, 0, layout, &rows, queries)
}

/// The same on a rank without time: all but what it costs.
pub fn compute_head(
    rank: &mut dyn Runs,
    layout: &HeadLayout,
    queries: &[Vec<u16>],
) -> Result<Attention, AttentionError> {
    let mut requests = Requests::new(*layout)?;
    let rows = KvRows::adjacent(layout)?;
    let mut one = |queries: &[Vec<u16>], is_last| {
        requests.compute(rank, 0.into(), layout, &rows, (queries, is_last))
    };
    in_turn(layout, queries, &mut one)
}

/// The same of K, V and queries, on a rank without time that has just been reset.
pub(crate) fn computed(
    mut rank: FunctionalRank,
    layout: &HeadLayout,
    head: &Head,
) -> Result<Attention, AttentionError> {
    kv_cache::fill(&mut rank, kv_cache::strips(layout, head));
    compute_head(&mut rank, layout, &head.queries)
}

/// What of a request is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The request.
    pub request: usize,
    /// K and V: number of its layer. Each KV head that the rank holds is a layer of its own.
    pub layer: usize,
}

impl From<usize> for Part {
    /// A request of one layer.
    fn from(request: usize) -> Self {
        Self { request, layer: 0 }
    }
}

/// What a request is started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configured {
    slot: u8,
    address: u16,
    passes: usize,
    /// The request goes on to its next layer.
    ends_layer: bool,
}

/// Requests on a module, whose contexts have the same shape and grow. Those with several layers have each in the
/// table, and run them by turns, one program and one T_cur for all.
#[derive(Debug)]
pub struct Requests {
    driver: Driver,
    /// The longest context that may come.
    longest: HeadLayout,
    /// Entries of the Va2Pa table for each layer.
    entries: usize,
    /// Layers of each.
    layers: usize,
    /// The layer that the dispatcher is at, for each slot.
    current: [usize; REQUESTS],
    /// What is run in place of the program that would be built.
    program: Option<Vec<u64>>,
}

impl Requests {
    /// For contexts up to that of a layout, of one layer.
    pub fn new(longest: HeadLayout) -> Result<Self, AttentionError> {
        Self::with_layers(longest, 1)
    }

    /// For contexts up to that of a layout, of so many layers: those of the model, for each KV head that the rank holds.
    pub fn with_layers(longest: HeadLayout, layers: usize) -> Result<Self, AttentionError> {
        if longest.context > MAX_CONTEXT {
            return Err(AttentionError::Tokens(longest.context));
        }
        let (k, v) = KvRows::wanted(&longest);
        let (entries, rows) = (k + v, layers * (k + v));
        if rows > ENTRIES {
            return Err(DriverError::Entries { rows }.into());
        }
        let current = [0; REQUESTS];
        Ok(Self { driver: Driver::new(), longest, entries, layers, current, program: None })
    }

    /// Runs a program in place of the one that would be built.
    pub fn set_program(&mut self, words: Vec<u64>) {
        self.program = Some(words);
    }

    /// What the host has written to the dispatcher.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// The same, for other operators between its runs: in the slots and entries of [`free`](Self::free).
    pub fn driver_mut(&mut self) -> &mut Driver {
        &mut self.driver
    }

    /// Layers of each.
    pub fn layers(&self) -> usize {
        self.layers
    }

    /// What so many requests, fewer than 15, leave free: a number in the configuration, and entries from one on.
    pub fn free(&self, requests: usize) -> Slot {
        Slot { number: BLOCK_REQUEST - 1, entry: requests * self.layers * self.entries }
    }

    /// The configuration and the segment of the Va2Pa table that a request has. Where there are not
    /// enough, requests take turns.
    fn slot(&self, request: usize) -> (u8, usize) {
        let entries = self.layers * self.entries;
        let slots = (ENTRIES / entries).min(REQUESTS - 1); // one is that of the first block
        let slot = request % slots;
        (slot as u8, slot * entries)
    }

    /// Writes what changes for query heads of a request, which may be the last of its layer: rows, program, T_cur.
    ///
    /// # Panics
    ///
    /// As [`run_together`](Self::run_together).
    pub fn configure(
        &mut self,
        rank: &mut dyn Runs,
        part: impl Into<Part>,
        layout: &HeadLayout,
        rows: &KvRows,
        (heads, is_last): (usize, bool),
    ) -> Result<Configured, AttentionError> {
        assert!(layout.context <= self.longest.context, "a longer context than the longest");
        let Part { request, layer } = part.into();
        let (slot, base) = self.slot(request);
        let rows = rows.virtual_rows(&self.longest);
        self.driver.segment(rank, slot, base, rows.len())?;
        self.driver.entries(rank, base + layer * self.entries, &rows)?;
        if self.layers > 1 {
            self.driver.layers(rank, slot, self.layers as u16, self.entries as u16)?;
        }
        let ends_layer = self.layers > 1 && is_last;
        let ScoreBufferUse { kind, block, passes, .. } = program::score_buffer_use(layout, heads);
        let words = match &self.program {
            Some(words) => words.clone(),
            None => program::attention(&self.longest, heads, rank.options().sums, kind)
                .ending_layer(ends_layer)
                .words()
                .map_err(DriverError::from)?,
        };
        let address = self.driver.program(rank, &words)?;
        let mut tokens = layout.context;
        if kind == Passes::Several {
            self.driver.tokens(rank, BLOCK_REQUEST, block as u32)?;
            tokens -= block;
        }
        self.driver.tokens(rank, slot, tokens as u32)?;
        Ok(Configured { slot, address, passes, ends_layer })
    }

    /// Runs the query heads of a request that share K and V, which are in these rows already.
    ///
    /// # Panics
    ///
    /// If the context is longer than the longest, or there are not all of its rows; if the layers of a request do not
    /// come in their order, the first behind the last.
    pub fn run(
        &mut self,
        rank: &mut dyn RankDevice,
        part: impl Into<Part>,
        layout: &HeadLayout,
        rows: &KvRows,
        queries: &[Vec<u16>],
    ) -> Result<Attention, AttentionError> {
        let part = part.into();
        let mut one = |queries: &[Vec<u16>], is_last| {
            self.run_heads(rank, part, layout, rows, (queries, is_last))
        };
        in_turn(layout, queries, &mut one)
    }

    /// The same, all heads at once: in one pass, if the score buffer has room for their scores, else in
    /// several.
    ///
    /// # Panics
    ///
    /// The same, and if there are more heads than [`program::attention`] takes.
    pub fn run_together(
        &mut self,
        rank: &mut dyn RankDevice,
        part: impl Into<Part>,
        layout: &HeadLayout,
        rows: &KvRows,
        queries: &[Vec<u16>],
    ) -> Result<Attention, AttentionError> {
        self.run_heads(rank, part.into(), layout, rows, (queries, true))
    }

    fn run_heads(
        &mut self,
        rank: &mut dyn RankDevice,
        part: Part,
        layout: &HeadLayout,
        rows: &KvRows,
        queries: (&[Vec<u16>], bool),
    ) -> Result<Attention, AttentionError> {
        rank.begin();
        let made = self.compute(rank, part, layout, rows, queries)?;
        Ok(Attention { statistics: rank.end(), transfers: rank.take_transfers(), ..made })
    }

    /// All but what it costs.
    fn compute(
        &mut self,
        rank: &mut dyn Runs,
        part: Part,
        layout: &HeadLayout,
        rows: &KvRows,
        (queries, is_last): (&[Vec<u16>], bool),
    ) -> Result<Attention, AttentionError> {
        let (heads, context) = (queries.len(), layout.context);
        let Configured { slot, address, passes, ends_layer } =
            self.configure(rank, part, layout, rows, (heads, is_last))?;
        let current = &mut self.current[usize::from(slot)];
        assert_eq!(part.layer, *current, "the layers of a request come in their order");
        let operands: Vec<_> = queries
            .iter()
            .flat_map(|q| (0..layout.bursts()).map(|burst| mapping::beats_of(q, burst)))
            .collect();
        let operands = operands.repeat(passes);

        let elements = layout.bursts() * mapping::BURST;
        let [mut scores, mut weights, mut contexts] =
            [context, context, elements].map(|count| vec![Results::new(count); heads]);
        rank.set_scale(f16::from_f64(scale(layout.head_dim)).to_bits());
        let start =
            Start { request: slot, address, operands: &operands, context: elements, outputs: 0 };
        self.driver.run(rank, start, &mut |made| {
            let (of_heads, head, bits, count) = match made {
                Made::Score { head, bits } => (&mut scores, head, bits, 1),
                Made::Weight { head, bits } => (&mut weights, head, bits, 1),
                Made::Context { head, bits } => (&mut contexts, head, bits, 1),
                Made::Scores { head, count } => (&mut scores, head, 0, count),
                Made::Weights { head, count } => (&mut weights, head, 0, count),
                Made::Output(_) => return,
            };
            // Scores that are computed again are those of no head.
            if let Some(of_head) = of_heads.get_mut(head) {
                of_head.push_alike(bits, count);
            }
        })?;
        if ends_layer {
            *current = (*current + 1) % self.layers;
        }
        let complete = |what: &str, of_heads: Vec<Results>| -> Result<Vec<_>, DriverError> {
            let of_heads = of_heads.into_iter().enumerate();
            of_heads.map(|(n, of_head)| of_head.complete(|| format!("{what}, head {n}"))).collect()
        };
        let mut context = complete("context", contexts)?;
        context.iter_mut().for_each(|head| head.truncate(layout.head_dim));
        let (scores, weights) = (complete("score", scores)?, complete("softmax", weights)?);
        let summed = vec![self.summed(rank.options(), layout, heads); heads];
        Ok(Attention { scores, weights, context, summed, ..Attention::default() })
    }

    /// How the sums of so many heads at once are formed. Of several sums, heads or parts of V, each leaves the banks with
    /// a row; a sum that is alone, with a pass.
    fn summed(&self, options: Options, layout: &HeadLayout, heads: usize) -> Summed {
        let Options { normalise, sums, .. } = options;
        let row = layout.columns() * layout.groups();
        let used = program::score_buffer_use(layout, heads);
        let pass = if used.kind == Passes::One { usize::MAX } else { used.block };
        let tokens = match (heads * layout.parts(), &self.program) {
            (1, None) => vec![pass],
            (_, None) => vec![row],
            (1, Some(_)) => vec![pass, row],
            (_, Some(_)) => vec![row, pass],
        };
        Summed::Rank { normalise, sums, tokens }
    }
}

/// What is made of query heads, told whether they are the last.
type OfHeads<'a> = dyn FnMut(&[Vec<u16>], bool) -> Result<Attention, AttentionError> + 'a;

/// Runs query heads that share K and V, so many at once as there are numbers of heads.
fn in_turn(
    layout: &HeadLayout,
    queries: &[Vec<u16>],
    run: &mut OfHeads<'_>,
) -> Result<Attention, AttentionError> {
    let mut whole = Attention::default();
    let mut chunks = queries.chunks(program::heads_at_once(layout.context)).peekable();
    while let Some(queries) = chunks.next() {
        let part = run(queries, chunks.peek().is_none())?;
        whole.scores.extend(part.scores);
        whole.weights.extend(part.weights);
        whole.context.extend(part.context);
        whole.summed.extend(part.summed);
        let begin_tck = whole.statistics.cycles;
        whole.transfers.extend(part.transfers.into_iter().map(|part| part.after(begin_tck)));
        whole.statistics = whole.statistics.and(part.statistics);
    }
    Ok(whole)
}
