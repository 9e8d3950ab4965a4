// SPDX-License-Identifier: MIT
//! Attention of a layer on a module whose channels are in groups, a head in each: what it costs, and what of it are idle
//! PUs, V's memory, and softmax.

use crate::aim::in_part;
use crate::attention::AttentionJob;
use crate::error::WorkloadError;
use crate::operator;
use crate::parallel;
use crate::report::{OperatorReport, Report};
use pimlico_device::aim::{AimHead, AimLayout, AimOptions, LayoutError};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Organisation};
use pimlico_host::aim::AimHost;
use pimlico_model::Model;
use pimlico_model::data::Distribution;
use serde::Serialize;

/// What to compare.
#[derive(Clone, Debug)]
pub struct GroupStudy {
    /// A channel.
    pub config: Config,
    /// Name of the language model.
    pub model: String,
    /// Its shapes.
    pub shapes: Model,
    /// Tokens of each head.
    pub contexts: Vec<usize>,
    /// Channels of the module.
    pub channels: usize,
    /// Groups of them; each divides them.
    pub groups: Vec<usize>,
    /// Whether single buffers pay for the change between the modes of banks and registers.
    pub mode_change: bool,
    /// Seed of the data.
    pub seed: u64,
}

/// The comparison. Rows are not refreshed: a REF is longer than what ping-pong buffers gain of a short operator.
#[derive(Clone, Debug, Serialize)]
pub struct GroupComparison {
    /// Name of the preset.
    pub system: String,
    /// Name of the language model.
    pub model: String,
    /// Channels of the module.
    pub channels: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// K and V heads of a layer.
    pub kv_heads: usize,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Clock period in ns.
    pub tck_ns: f64,
    /// Seed of the data.
    pub seed: u64,
    /// A row for each context and number of groups.
    pub rows: Vec<GroupRow>,
}

/// A context on so many groups.
#[derive(Clone, Debug, Serialize)]
pub struct GroupRow {
    /// Tokens of each head.
    pub context: usize,
    /// Groups.
    pub groups: usize,
    /// Channels of each.
    pub group_channels: usize,
    /// What it costs; none, if a group's part of the GPR is too small.
    pub cost: Option<GroupCost>,
}

/// What attention costs.
#[derive(Clone, Debug, Serialize)]
pub struct GroupCost {
    /// tCK of a query of a head in each group, with ping-pong buffers: QK^T.
    pub score: u64,
    /// Softmax.
    pub softmax: u64,
    /// SV.
    pub context: u64,
    /// Queries of a layer that come one after the other in a group.
    pub turns: usize,
    /// tCK of all heads of a layer.
    pub layer: u64,
    /// The same with single buffers.
    pub layer_single: u64,
    /// By how much ping-pong buffers shorten it, in percent.
    pub reduction_percent: f64,
    /// Softmax's share of the layer with ping-pong buffers, in percent.
    pub softmax_percent: f64,
    /// PUs that have an element of a head in SV, of all of the module, in percent.
    pub sv_pus_percent: f64,
    /// DRAM rows of each bank of a group that V of a head takes.
    pub v_rows: usize,
    /// What V is of these rows, in percent.
    pub v_percent: f64,
    /// Rules of the DRAM that were broken.
    pub pin_violations: u64,
    /// Results that differ from `golden`'s, of those that were compared.
    pub differing: u64,
}

impl GroupStudy {
    /// Contexts, with numbers of groups.
    fn cases(&self) -> impl Iterator<Item = (usize, usize)> {
        let of_context = |&context| self.groups.iter().map(move |&groups| (context, groups));
        self.contexts.iter().flat_map(of_context)
    }

    /// How many cases [`compare`] has.
    pub fn len(&self) -> usize {
        self.cases().count()
    }

    /// Whether there is nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn options(&self, groups: usize, io_buffers: IoBuffers) -> AimOptions {
        let (channels, mode_change) = (self.channels / groups, self.mode_change);
        AimOptions { channels, io_buffers, mode_change, refresh: false, ..AimOptions::default() }
    }

    fn kv_heads(&self) -> usize {
        self.shapes.heads.div_ceil(self.shapes.group())
    }

    /// What a context costs on so many groups.
    fn cost(&self, context: usize, groups: usize) -> Result<GroupCost, WorkloadError> {
        let (head_dim, heads) = (self.shapes.head_dim, self.shapes.heads);
        let options = self.options(groups, IoBuffers::PingPong);
        let head = AimHead::new(&self.config, &options, head_dim, context, 0)?;
        let v = in_part(head, groups)?.v;
        let [single, ping_pong] =
            [IoBuffers::Single, IoBuffers::PingPong].map(|of| self.run(context, groups, of));
        let (single, ping_pong) = (single?, ping_pong?);
        let turns = self.kv_heads().div_ceil(groups) * self.shapes.group();
        let [layer_single, layer] =
            [&single, &ping_pong].map(|report| turns as u64 * report.total.cycles);
        let step = |number: usize| ping_pong.operators[number].cycles;
        let places = turns * groups * v.groups() * v.pus();
        let percent = |part: f64, of: f64| 100.0 * part / of;
        let v_rows = v.end_row() - v.first_row();
        let both = || [&single, &ping_pong].into_iter();
        let differing =
            |operator: &OperatorReport| operator.exact.map_or(0, |exact| exact.differing);
        Ok(GroupCost {
            score: step(0),
            softmax: step(1),
            context: step(2),
            turns,
            layer,
            layer_single,
            reduction_percent: percent(layer_single as f64 - layer as f64, layer_single as f64),
            softmax_percent: percent(step(1) as f64, ping_pong.total.cycles as f64),
            sv_pus_percent: percent((heads * head_dim) as f64, places as f64),
            v_rows,
            v_percent: percent(
                (2 * head_dim * context) as f64,
                (v_rows * self.row_bytes(&v)) as f64,
            ),
            pin_violations: both().map(|report| report.pin_violations).sum(),
            differing: both().flat_map(|report| &report.operators).map(differing).sum(),
        })
    }

    /// Bytes of a row of all banks that a matrix has.
    fn row_bytes(&self, layout: &AimLayout) -> usize {
        let Organisation { page_bytes, .. } = self.config.organisation;
        layout.pus() * page_bytes
    }

    /// Runs a query of a head on the channels of a group: the others do the same.
    fn run(
        &self,
        context: usize,
        groups: usize,
        io_buffers: IoBuffers,
    ) -> Result<Report, WorkloadError> {
        let options = self.options(groups, io_buffers);
        let mut module = AimHost::engine(&self.config, options);
        let job = AttentionJob {
            model: self.model.clone(),
            head_dim: self.shapes.head_dim,
            heads: 1,
            group: 1,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: self.seed,
        };
        operator::on_module(&mut module, &job)
    }
}

/// Compares, on so many threads; the comparison does not depend on them. `progress` receives the cases that are done.
///
/// # Panics
///
/// If a number of groups does not divide the channels.
pub fn compare(
    study: &GroupStudy,
    threads: usize,
    progress: impl Fn(u64) + Sync,
) -> Result<GroupComparison, WorkloadError> {
    let row = |&(context, groups): &(usize, usize)| {
        assert!(study.channels.is_multiple_of(groups), "{groups} groups");
        let cost = match study.cost(context, groups) {
            Err(WorkloadError::Layout(LayoutError::GprPart { .. })) => None,
            cost => Some(cost?),
        };
        let group_channels = study.channels / groups;
        Ok::<_, WorkloadError>(GroupRow { context, groups, group_channels, cost })
    };
    let cases: Vec<_> = study.cases().collect();
    // They are of about one weight, and in their order.
    let rows = parallel::map(&cases, threads, |_| 1, row, |done, _| progress(done))?;
    let GroupStudy { config, model, shapes, channels, seed, .. } = study;
    Ok(GroupComparison {
        system: config.name.clone(),
        model: model.clone(),
        channels: *channels,
        heads: shapes.heads,
        kv_heads: study.kv_heads(),
        head_dim: shapes.head_dim,
        tck_ns: config.tck_ps as f64 / 1000.0,
        seed: *seed,
        rows,
    })
}
