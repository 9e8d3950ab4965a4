// SPDX-License-Identifier: MIT
//! What LoL-PIM does not say of its I/O buffers, and what of its four gains comes out of each assumption.
//!
//! The paper's simulator is not published. That its single buffers pay for the mode change is inferred: the public AiM
//! simulator, from which the timings are, does. How many tokens of K share a DRAM row is not stated either; the paper's
//! gain of QK^T is that of one, which is what a bank of 256 has of a head of 256 tokens (T_cur / 256).

use super::assumptions::{Assumptions, AssumptionsReport};
use super::comparison::{BufferComparison, BufferRow, Study, compare};
use crate::error::WorkloadError;
use pimlico_device::aim::{AimMapping, GLOBAL_WORDS, Order};
use serde::Serialize;

/// The four gains under several assumptions.
#[derive(Clone, Debug, Serialize)]
pub struct Gains {
    /// Name of the preset.
    pub system: String,
    /// Name of the language model.
    pub model: String,
    /// Channels.
    pub channels: usize,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// Seed of the data.
    pub seed: u64,
    /// Tokens of the head.
    pub context: usize,
    /// Modules that share the fully-connected operators out among them.
    pub tp: usize,
    /// What is assumed, and what comes of it.
    pub rows: Vec<GainsRow>,
}

/// The four gains under one assumption.
#[derive(Clone, Debug, Serialize)]
pub struct GainsRow {
    /// What is assumed.
    pub name: &'static str,
    /// The same in full.
    pub assumptions: AssumptionsReport,
    /// Score, context, ffn1 and ffn2.
    pub operators: Vec<BufferRow>,
}

/// The name of the set whose gains are the paper's.
pub const PAPERS: &str = "mode change, a token of K in a row";

/// Clocks of a PU whose result is read as late as that of a tree of 8 clocks that ends before the mode changes: 49 tCK
/// behind its column, 16 and 33. (Ours takes 26, while the mode changes.)
const TREE_BEFORE_CHANGE: u64 = 23;

/// Every set, with its name: that of the paper's gains, and those that differ from it in one thing. The first has
/// neither of its two assumptions.
pub fn sets() -> [(&'static str, Assumptions); 9] {
    let mapping = AimMapping { k_row_tokens: Some(1), ..AimMapping::default() };
    let papers = Assumptions { mapping, ..Assumptions::default() };
    let mapped = |change: fn(&mut AimMapping)| {
        let mut mapping = papers.mapping;
        change(&mut mapping);
        Assumptions { mapping, ..papers }
    };
    [
        (
            "no mode change, full rows of K",
            Assumptions { mode_change: false, ..Assumptions::default() },
        ),
        (PAPERS, papers),
        ("but no mode change", Assumptions { mode_change: false, ..papers }),
        ("but full rows of K", mapped(|mapping| mapping.k_row_tokens = None)),
        ("but output-stationary", mapped(|mapping| mapping.order = Order::OutputStationary)),
        ("but tiles of 512", mapped(|mapping| mapping.tile_words = GLOBAL_WORDS / 2)),
        ("but DRAM rows of 1 KB", Assumptions { page_bytes: Some(1024), ..papers }),
        (
            "but a tree of 8 clocks before the change",
            Assumptions { pu_clocks: TREE_BEFORE_CHANGE, ..papers },
        ),
        ("but no pipeline in the PU", Assumptions { pu_clocks: 1, ..papers }),
    ]
}

/// How many pairs of runs [`gains`] makes.
pub fn runs(study: &Study) -> usize {
    sets().len() * study.len()
}

/// The four gains of a context and a number of modules, under every set of assumptions. `progress` receives the
/// pairs of runs that are done.
///
/// # Panics
///
/// If the study has more than one of either.
pub fn gains(
    study: &Study,
    threads: usize,
    progress: impl Fn(u64) + Sync,
) -> Result<Gains, WorkloadError> {
    let (&[context], &[tp]) = (study.contexts.as_slice(), study.tp.as_slice()) else {
        panic!("one context and one number of modules");
    };
    let mut rows = Vec::new();
    let mut system = String::new();
    for (name, assumptions) in sets() {
        let study = Study { assumptions, ..study.clone() };
        let before = (rows.len() * study.len()) as u64;
        let comparison = compare(&study, threads, |done| progress(before + done))?;
        let BufferComparison { system: of, assumptions, rows: operators, .. } = comparison;
        rows.push(GainsRow { name, assumptions, operators });
        system = of;
    }
    let Study { model, channels, refresh, seed, .. } = study.clone();
    Ok(Gains { system, model, channels, refresh, seed, context, tp, rows })
}
