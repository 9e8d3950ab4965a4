// SPDX-License-Identifier: MIT
//! What early or late normalisation and sums of 16 or 32 bits cost and gain: the same heads on a rank
//! of each kind.

use crate::judge::heads;
use crate::judge::pins::PinLog;
use crate::l3::attention::{self, AttentionError};
use crate::report::Stages;
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, Device, Normalise, Options, SumFormat};
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::data::{Distribution, Head, HeadShape};
use serde::Serialize;

/// The kinds, the paper's first.
pub const KINDS: [(Normalise, SumFormat); 4] = [
    (Normalise::Early, SumFormat::Binary16),
    (Normalise::Late, SumFormat::Binary16),
    (Normalise::Early, SumFormat::Binary32),
    (Normalise::Late, SumFormat::Binary32),
];

/// The comparison.
#[derive(Clone, Debug, Serialize)]
pub struct NumericsComparison {
    /// Name of the preset.
    pub system: String,
    /// Elements of the head's vectors.
    pub head_dim: usize,
    /// Seed of the data.
    pub seed: u64,
    /// A row for each context, distribution and kind.
    pub rows: Vec<NumericsRow>,
}

/// A head on a rank of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct NumericsRow {
    /// Tokens.
    pub context: usize,
    /// How the scores are distributed.
    pub distribution: &'static str,
    /// When softmax divides.
    pub normalise: &'static str,
    /// Format of sums.
    pub sums: &'static str,
    /// Duration of the attention in tCK.
    pub cycles: u64,
    /// Slots lost to bubbles.
    pub bubble: u64,
    /// Rules of the DRAM that were broken.
    pub pin_violations: u64,
    /// Errors against float64.
    pub stages: Stages,
}

/// Runs a head of each context and distribution on a rank of each kind, these side by side. `progress`
/// is told after each head.
pub fn compare(
    rank: &(Config, Options),
    head_dim: usize,
    contexts: &[usize],
    seed: u64,
    progress: impl FnMut(),
) -> Result<NumericsComparison, AttentionError> {
    compare_kinds(rank, head_dim, contexts, seed, &KINDS, progress)
}

/// The same with ranks of some of the kinds.
pub fn compare_kinds(
    rank: &(Config, Options),
    head_dim: usize,
    contexts: &[usize],
    seed: u64,
    kinds: &[(Normalise, SumFormat)],
    mut progress: impl FnMut(),
) -> Result<NumericsComparison, AttentionError> {
    let (config, _) = rank;
    for &context in contexts {
        HeadLayout::new(config, head_dim, context, 0)?; // before any data are made
    }
    let mut rows = Vec::new();
    for &context in contexts {
        for distribution in [Distribution::Random, Distribution::Peaked] {
            let shape = HeadShape { head_dim, context, group: 1, distribution };
            let head = Head::synthetic(shape, seed, 0);
            let of_kinds = std::thread::scope(|scope| {
                let run = |&kind| {
                    let head = &head;
                    scope.spawn(move || row(rank, shape, head, kind))
                };
                let threads: Vec<_> = kinds.iter().map(run).collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
                };
                threads.into_iter().map(join).collect::<Vec<_>>()
            });
            for row in of_kinds {
                rows.push(row?);
            }
            progress();
        }
    }
    Ok(NumericsComparison { system: config.name.clone(), head_dim, seed, rows })
}

fn row(
    (config, options): &(Config, Options),
    shape: HeadShape,
    head: &Head,
    (normalise, sums): (Normalise, SumFormat),
) -> Result<NumericsRow, AttentionError> {
    let options = Options { normalise, sums, ..*options };
    let mut rank = Attached::engine(config, options).expect("an L3 rank");
    let pins = PinLog::of(&mut rank);
    let layout = HeadLayout::new(config, shape.head_dim, shape.context, 0)?;
    let mut host = HostPort::of(config).map_err(TransferError::from)?;
    host.write(&mut rank, kv_cache::strips(&layout, head))?;
    let result = attention::run_head(&mut rank, &layout, &head.queries)?;
    let slot_tck = config.timing.ccd_l_tck;
    Ok(NumericsRow {
        context: shape.context,
        distribution: shape.distribution.name(),
        normalise: normalise.name(),
        sums: sums.name(),
        cycles: result.statistics.cycles,
        bubble: result.statistics.lost_slots(slot_tck).bubble,
        pin_violations: pins.violations(rank.tck()).0,
        stages: heads::judge(head, &result).stages,
    })
}
