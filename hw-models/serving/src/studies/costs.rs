// SPDX-License-Identifier: MIT
//! Tables of costs beside the exact costs of contexts taken at random.

use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::costs::memo::Memo;
use crate::costs::module::{ModuleCosts, ModuleSetup};
use crate::costs::rank::{PHASES, RankCosts};
use crate::costs::{Contexts, CostTable, DENSE, STEP};
use crate::error::ServingError;
use crate::llm::Llm;
use crate::trace::synthetic::generator;
use pimlico_device::DeviceSpec;
use pimlico_device::gemv::IoBuffers;
use pimlico_workload::parallel;
use rand_xoshiro::rand_core::RngCore;

/// One context in so many is compared with refresh on.
const WITH_REFRESH: usize = 20;

/// How the costs are compared.
pub struct Settings<'a> {
    /// The rank.
    pub rank: &'a DeviceSpec,
    /// The AiM channel.
    pub channel: &'a DeviceSpec,
    /// A model for the ranks.
    pub rank_llm: &'a Llm,
    /// A model for the module.
    pub module_llm: &'a Llm,
    /// Contexts that are compared.
    pub contexts: usize,
    /// Seed of the contexts.
    pub seed: u64,
}

/// Contexts above [`DENSE`], up to what a table has.
fn contexts(settings: &Settings<'_>, most: u64) -> Vec<u64> {
    let mut random = generator(settings.seed);
    let range = most - DENSE;
    (0..settings.contexts).map(|_| DENSE + 1 + random.next_u64() % range).collect()
}

/// Relative difference.
fn off(table: u64, exact: u64) -> f64 {
    100.0 * (table as f64 / exact as f64 - 1.0).abs()
}

/// Largest and mean difference in percent.
fn summary(off: &[f64]) -> (f64, f64) {
    let most = off.iter().copied().fold(0.0, f64::max);
    (most, off.iter().sum::<f64>() / off.len().max(1) as f64)
}

/// What a comparison is told as.
struct Compared<'a> {
    device: &'a str,
    what: String,
    table: &'a CostTable,
    /// In percent.
    differences: Vec<f64>,
}

/// Differences between a table and exact costs of contexts.
fn differences(table: &CostTable, exact: impl Iterator<Item = (u64, u64)>) -> Vec<f64> {
    exact.map(|(tokens, ps)| off(table.ps(tokens), ps)).collect()
}

impl Compared<'_> {
    /// The row of a table, and the largest difference.
    fn row(&self) -> (Vec<Cell>, f64) {
        let (largest, mean) = summary(&self.differences);
        let knots = self.table.knots();
        let row = vec![
            self.device.into(),
            self.what.clone().into(),
            whole(self.differences.len() as u64),
            whole(knots.len() as u64),
            whole(knots.last().map_or(0, |knot| knot.tokens)),
            number(self.table.ps(16_384) as f64 / 1e6, 3),
            number(largest, 3),
            number(mean, 3),
        ];
        (row, largest)
    }
}

/// Exact costs of contexts, on the threads of the memo.
fn exactly<T: Send>(
    memo: &Memo,
    contexts: &[u64],
    of: impl Fn(u64) -> Result<T, ServingError> + Sync,
) -> Result<Vec<(u64, T)>, ServingError> {
    let work = |&context: &u64| Ok::<_, ServingError>((context, of(context)?));
    parallel::map(contexts, memo.threads(), |&tokens| tokens, work, |_, _| {})
}

/// Compares.
pub fn run(memo: &Memo, settings: &Settings<'_>) -> Result<Study, ServingError> {
    let Settings { rank: spec, rank_llm: llm, channel, module_llm, .. } = *settings;
    let mut rows = Vec::new();
    let mut add = |compared: Compared<'_>| {
        let (row, largest) = compared.row();
        rows.push(row);
        largest
    };
    let rank = RankCosts::new(memo, spec, llm, &Contexts::Knots)?;
    let table = &rank.head;
    let most = table.knots().last().map_or(DENSE, |knot| knot.tokens);
    let of_rank = contexts(settings, most);
    let exact =
        exactly(memo, &of_rank, |context| Ok(RankCosts::exact(memo, spec, llm, context)?.ps))?;
    let what = "a head of a rank".to_owned();
    let differences = self::differences(table, exact.into_iter());
    let mut worst = add(Compared { device: &spec.name, what, table, differences });
    // Heads of many contexts take long: one context in so many.
    let few: Vec<u64> = of_rank.iter().copied().step_by(WITH_REFRESH).collect();
    let exact = exactly(memo, &few, |context| rank.with_refresh(spec, llm, context))?;
    let differences: Vec<f64> =
        exact.iter().map(|&(_, (device, table))| off(table, device)).collect();
    let what = format!("the mean of {PHASES} chunks, with refresh where it falls");
    let with_refresh = add(Compared { device: &spec.name, what, table, differences });
    // Those of `lol-pim`, with single buffers, and of `pim-hfa`, which has a head in one channel.
    let setups = [(16, IoBuffers::PingPong), (16, IoBuffers::Single), (1, IoBuffers::Single)];
    for (channels, io_buffers) in setups {
        let setup = ModuleSetup { channels, io_buffers, lanes: 16 };
        let costs = ModuleCosts::new(memo, channel, module_llm, setup, &Contexts::Knots)?;
        let most = costs.products.knots().last().map_or(DENSE, |knot| knot.tokens);
        let exact = exactly(memo, &contexts(settings, most), |context| {
            ModuleCosts::exact(channel, module_llm, setup, context)
        })?;
        let of = if channels == 1 { "channel" } else { "module" };
        let what = format!("products of a {of}, {}", io_buffers.name());
        let (device, table) = (&channel.name, &costs.products);
        let products = exact.iter().map(|&(tokens, (products, _))| (tokens, products));
        let differences = self::differences(table, products);
        worst = worst.max(add(Compared { device, what, table, differences }));
        if io_buffers == IoBuffers::PingPong {
            let (what, table) = ("softmax of 16 lanes".to_owned(), &costs.softmax);
            let softmax = exact.iter().map(|&(tokens, (_, softmax))| (tokens, softmax));
            let differences = self::differences(table, softmax);
            worst = worst.max(add(Compared { device, what, table, differences }));
        }
    }
    let table = StudyTable {
        title: format!("Contexts taken at random, above {DENSE} tokens"),
        columns: vec![
            "device",
            "what",
            "contexts",
            "knots",
            "to tokens",
            "16 384 tokens, us",
            "most off, %",
            "mean, %",
        ],
        rows,
    };
    let figure =
        |what: &str, ours: f64, cause: &str| Figure::new(what, "none", ours, [0.0, 0.5], cause);
    Ok(Study {
        study: "costs",
        title: "costs from tables beside costs of the cycle models".to_owned(),
        tables: vec![table],
        figures: vec![
            figure(
                "largest difference between table and cycle model, %",
                worst,
                "steps between two knots that rise and fall",
            ),
            figure(
                "largest difference between a rank's table and heads with refresh, %",
                with_refresh,
                "REFs fall into parts of a head in which ranks work, or not",
            ),
        ],
        violations: 0,
        notes: vec![
            format!("knots are at whole chunks of {STEP} tokens, and between them the cost is a line"),
            "a rank's head has the host's messages in it, and is measured without REFs; what they add is a mean, over heads that begin \
             at all times between two of them"
                .to_owned(),
            "a module's products are measured without REFs, and have the share of time that REFs take".to_owned(),
        ],
    })
}
