// SPDX-License-Identifier: MIT
//! Tables of costs beside the exact costs of contexts taken at random.

use super::{Figure, Study, StudyTable, number, whole};
use crate::costs::memo::Memo;
use crate::costs::module::{ModuleCosts, ModuleSetup};
use crate::costs::rank::RankCosts;
use crate::costs::{DENSE, STEP};
use crate::error::ServingError;
use crate::llm::Llm;
use crate::trace::synthetic::generator;
use pimlico_device::DeviceSpec;
use pimlico_device::gemv::IoBuffers;
use pimlico_workload::parallel;
use rand_xoshiro::rand_core::RngCore;

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

/// Compares.
pub fn run(memo: &Memo, settings: &Settings<'_>) -> Result<Study, ServingError> {
    let mut table = StudyTable {
        title: format!("{} contexts taken at random, above {DENSE} tokens", settings.contexts),
        columns: vec![
            "device",
            "what",
            "knots",
            "to tokens",
            "16 384 tokens, us",
            "most off, %",
            "mean, %",
        ],
        rows: Vec::new(),
    };
    let mut worst: f64 = 0.0;
    let rank = RankCosts::new(memo, settings.rank, settings.rank_llm)?;
    let knots = rank.head.knots();
    let most = knots.last().map_or(DENSE, |knot| knot.tokens);
    let contexts_of_rank = contexts(settings, most);
    let exact = |&context: &u64| RankCosts::exact(settings.rank, settings.rank_llm, context);
    let exact = parallel::map(&contexts_of_rank, memo.threads(), |&t| t, exact, |_, _| {})?;
    let differences: Vec<f64> = contexts_of_rank
        .iter()
        .zip(&exact)
        .map(|(&tokens, knot)| off(rank.head.ps(tokens), knot.ps))
        .collect();
    let mut row = |device: &str, what: &str, knots: usize, most: u64, at: u64, of: &[f64]| {
        let (largest, mean) = summary(of);
        worst = worst.max(largest);
        table.rows.push(vec![
            device.into(),
            what.into(),
            whole(knots as u64),
            whole(most),
            number(at as f64 / 1e6, 3),
            number(largest, 3),
            number(mean, 3),
        ]);
    };
    let name = &settings.rank.name;
    row(name, "a head of a rank", knots.len(), most, rank.head.ps(16_384), &differences);
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let setup = ModuleSetup { channels: 16, io_buffers, lanes: 16 };
        let costs = ModuleCosts::new(memo, settings.channel, settings.module_llm, setup)?;
        let knots = costs.products.knots();
        let most = knots.last().map_or(DENSE, |knot| knot.tokens);
        let of_module = contexts(settings, most);
        let exact = |&context: &u64| {
            ModuleCosts::exact(settings.channel, settings.module_llm, setup, context)
        };
        let exact = parallel::map(&of_module, memo.threads(), |&t| t, exact, |_, _| {})?;
        let differences: Vec<f64> = of_module
            .iter()
            .zip(&exact)
            .map(|(&tokens, &(products, _))| off(costs.products.ps(tokens), products))
            .collect();
        let what = format!("products of a module, {}", io_buffers.name());
        let at = costs.products.ps(16_384);
        row(&settings.channel.name, &what, knots.len(), most, at, &differences);
        if io_buffers == IoBuffers::PingPong {
            let differences: Vec<f64> = of_module
                .iter()
                .zip(&exact)
                .map(|(&tokens, &(_, softmax))| off(costs.softmax.ps(tokens), softmax))
                .collect();
            let (knots, at) = (costs.softmax.knots().len(), costs.softmax.ps(16_384));
            row(&settings.channel.name, "softmax of 16 lanes", knots, most, at, &differences);
        }
    }
    let cause = "a row or a refresh more in the middle of two knots";
    Ok(Study {
        study: "costs",
        title: "costs from tables beside costs of the cycle models".to_owned(),
        tables: vec![table],
        figures: vec![Figure::new(
            "largest difference between table and cycle model, %",
            "none",
            worst,
            [0.0, 0.5],
            cause,
        )],
        violations: 0,
        notes: vec![
            format!("knots are at whole chunks of {STEP} tokens, and between them the cost is a line"),
            "a rank's head has refresh and the host's messages in it; a module's products have refresh off, which a long run \
             adds as a share of its time"
                .to_owned(),
        ],
    })
}
