// SPDX-License-Identifier: MIT
//! Devices in whose banks a model is, from token to token: all of it, or with layers that come and go.
//!
//! * [`OnRanks`]: one rank, or those of a device.
//! * [`InTurns`]: several ranks, of which each layer takes rows of one while it is wanted.
//! * [`OnModule`]: a module of AiM channels.
//! * [`OnLp5`]: LPDDR5X-PIM, for the matrices.

mod elements;
mod fetch;
mod host_caches;
mod kind;
mod lp5;
mod module;
mod ranks;
mod turns;
mod weights;

pub use elements::ElementFormat;
pub use kind::Kind;
pub use lp5::{Lp5Host, OnLp5};
pub use module::OnModule;
pub use ranks::OnRanks;
pub use turns::InTurns;
pub use weights::{Matrix, Weights, of_layer};

use crate::error::WorkloadError;
use crate::in_banks::BankMatrix;
use crate::judge::Findings;
use crate::report::link::Crossing;
use crate::report::{Load, OperatorReport, Spread, Together, Verdict, Written};
use crate::results::Attention;
use pimlico_device::Statistics;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::lp5::BlockElements;
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;
use std::ops::Range;

/// A model that is to stay in the banks.
#[derive(Clone, Copy)]
pub struct Resident<'a> {
    /// Its matrices.
    pub weights: &'a Weights,
    /// Its sizes.
    pub shape: &'a CheckpointShape,
    /// Tokens for whose K and V there must be room.
    pub tokens: usize,
    /// How vectors come to the shared buffers, on a system that leaves it to the operator.
    pub io_buffers: IoBuffers,
}

/// What an operator cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ran {
    /// On the device; of several ranks, on the last to finish; of groups of channels, on each.
    pub statistics: Statistics,
    /// On several ranks, on all of them.
    pub spread: Option<Spread>,
    /// On groups of channels, on all of them.
    pub together: Option<Together>,
    /// What crossed the link to a module's hub.
    pub link: Crossing,
}

impl Ran {
    /// Duration in tCK.
    pub fn cycles(&self) -> u64 {
        self.statistics.cycles
    }

    /// One operator behind the other.
    pub fn and(self, other: Self) -> Self {
        let spread = match (self.spread, other.spread) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        let together = match (self.together, other.together) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        let link = self.link.and(other.link);
        Self { statistics: self.statistics.and(other.statistics), spread, together, link }
    }
}

impl From<Statistics> for Ran {
    fn from(statistics: Statistics) -> Self {
        Self { statistics, ..Self::default() }
    }
}

impl From<Spread> for Ran {
    fn from(spread: Spread) -> Self {
        Self { statistics: spread.statistics(), spread: Some(spread), ..Self::default() }
    }
}

impl From<Together> for Ran {
    fn from(together: Together) -> Self {
        Self { statistics: together.of_group(), together: Some(together), ..Self::default() }
    }
}

/// Who computes attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionBy {
    /// The device, stage by stage.
    Device,
    /// The host in float32, of K, V and queries in these elements.
    Host(BlockElements),
}

/// A device that has room for a model's matrices, and for K and V of its tokens.
pub trait Machine {
    /// The format of the elements that it takes and gives.
    fn elements(&self) -> ElementFormat {
        ElementFormat::BINARY16
    }

    /// What the outputs of a matrix times a vector are, found out on so many threads.
    fn judge(&self, matrix: &Matrix, vector: &[u16], outputs: &[u16], threads: usize) -> Verdict;

    /// Who computes attention.
    fn attention_by(&self) -> AttentionBy {
        AttentionBy::Device
    }

    /// Writes the matrices into the banks.
    fn load(&mut self) -> Result<Written, WorkloadError>;

    /// The matrices of an operator of a layer, or of none, as the host has them when it has loaded them out of the banks: each
    /// of so many rows of the operator's one matrix. And what the loads cost, where they take a time that is known.
    fn fetch(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        rows: &[usize],
    ) -> Result<(Vec<BankMatrix<'static>>, Option<Written>), WorkloadError>;

    /// Multiplies a matrix of a layer, or of none, with a vector.
    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Ran), WorkloadError>;

    /// Writes K and V of a layer's last token, of each K and V head.
    ///
    /// # Panics
    ///
    /// If there is no room for another token.
    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<Written, WorkloadError>;

    /// Computes the attention of the queries of all K and V heads of a layer.
    fn attention(
        &mut self,
        layer: usize,
        heads: &[Head],
    ) -> Result<(Vec<Attention>, Ran), WorkloadError>;

    /// What adding K and V cost, as an operator of its own.
    fn append_operator(&self, written: &Written) -> OperatorReport;

    /// The report of an operator that ran here.
    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, judged: Verdict) -> OperatorReport;

    /// The report of what was written here.
    fn load_report(&self, written: &Written) -> Load;

    /// What was found at the pins.
    fn findings(&self) -> Findings;

    /// Notes on the figures.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A device of several ranks that has room for K and V, for the head, and for as many layers as are admitted. A row is one of
/// all banks of a rank.
pub trait LayerBanks {
    /// Rows that a layer's matrices take.
    fn layer_rows(&self) -> u64;

    /// Rank by rank, the rows that are kept for the whole run: for K, V and the head.
    fn kept(&self) -> Vec<Range<usize>>;

    /// Gives a layer its rows: of which rank, and which.
    fn admit(&mut self, layer: usize) -> Result<(usize, Vec<usize>), WorkloadError>;

    /// Writes the matrices of a layer that was admitted.
    fn write_layer(
        &mut self,
        layer: usize,
        matrices: &[Matrix; Kind::OF_A_LAYER.len()],
    ) -> Result<Written, WorkloadError>;

    /// Takes back the rows of a layer, and forgets what they hold.
    fn give_back(&mut self, layer: usize) -> Result<(), WorkloadError>;

    /// Rows that are given or kept.
    fn in_use(&self) -> u64;

    /// Rows of which the devices hold data, where they know; without that of a rank's windows.
    fn held(&self) -> Option<u64>;

    /// Rows that were opened at the chips' pins since this was asked last, each with its rank.
    fn take_opened(&mut self) -> Vec<(usize, usize)>;

    /// tCK since this was asked last in which operands, results, K and V were on the pins of channels.
    fn take_channel_tck(&mut self) -> u64;

    /// The channel of a rank.
    fn channel(&self, rank: usize) -> usize;

    /// What computes with the layers that are there; it loads the head.
    fn as_machine(&mut self) -> &mut dyn Machine;

    /// The same, to be asked.
    fn machine(&self) -> &dyn Machine;
}
