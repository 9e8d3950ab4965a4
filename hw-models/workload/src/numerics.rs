// SPDX-License-Identifier: MIT
//! What early or late normalisation and sums of 16 or 32 bits cost and gain: the same heads on a rank
//! of each kind.

use crate::judge::heads;
use crate::judge::pins::PinLog;
use crate::l3::attention::{self, AttentionError};
use crate::parallel;
use crate::report::Stages;
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, Device, Normalise, Options, SumFormat};
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::data::{Distribution, Head, HeadShape};
use serde::{Deserialize, Serialize};

/// The kinds, the paper's first.
pub const KINDS: [(Normalise, SumFormat); 4] = [
    (Normalise::Early, SumFormat::Binary16),
    (Normalise::Late, SumFormat::Binary16),
    (Normalise::Early, SumFormat::Binary32),
    (Normalise::Late, SumFormat::Binary32),
];

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

/// A head and a kind of rank: what a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NumericsCase {
    /// Tokens.
    pub context: usize,
    /// How the scores are distributed.
    pub distribution: Distribution,
    /// When softmax divides.
    pub normalise: Normalise,
    /// Format of sums.
    pub sums: SumFormat,
}

impl NumericsCase {
    /// Each context, distribution and kind, in the order of the rows.
    pub fn all(contexts: &[usize], kinds: &[(Normalise, SumFormat)]) -> Vec<Self> {
        let mut cases = Vec::new();
        for &context in contexts {
            for distribution in [Distribution::Random, Distribution::Peaked] {
                let of_kind = |&(normalise, sums)| Self { context, distribution, normalise, sums };
                cases.extend(kinds.iter().map(of_kind));
            }
        }
        cases
    }

    /// Whether the rank can hold a head of these contexts, which is known before any data are made.
    pub fn check(
        config: &Config,
        head_dim: usize,
        contexts: &[usize],
    ) -> Result<(), AttentionError> {
        let fits = |&context| HeadLayout::new(config, head_dim, context, 0).map(drop);
        Ok(contexts.iter().try_for_each(fits)?)
    }

    /// Runs the head.
    pub fn run(
        &self,
        (config, options): &(Config, Options),
        head_dim: usize,
        seed: u64,
    ) -> Result<NumericsFigures, AttentionError> {
        let Self { context, distribution, normalise, sums } = *self;
        let head =
            Head::synthetic(HeadShape { head_dim, context, group: 1, distribution }, seed, 0);
        let options = Options { normalise, sums, ..*options };
        let mut rank = Attached::engine(config, options).expect("an L3 rank");
        let pins = PinLog::of(&mut rank);
        let layout = HeadLayout::new(config, head_dim, context, 0)?;
        let mut host = HostPort::of(config).map_err(TransferError::from)?;
        host.write(&mut rank, kv_cache::strips(&layout, &head))?;
        let result = attention::run_head(&mut rank, &layout, &head.queries)?;
        let slot_tck = config.timing.ccd_l_tck;
        Ok(NumericsFigures {
            cycles: result.statistics.cycles,
            bubble: result.statistics.lost_slots(slot_tck).bubble,
            pin_violations: pins.violations(rank.tck()).0,
            stages: heads::judge(&head, &result).stages,
        })
    }

    /// Its row.
    pub fn row(&self, figures: NumericsFigures) -> NumericsRow {
        let NumericsFigures { cycles, bubble, pin_violations, stages } = figures;
        NumericsRow {
            context: self.context,
            distribution: self.distribution.name(),
            normalise: self.normalise.name(),
            sums: self.sums.name(),
            cycles,
            bubble,
            pin_violations,
            stages,
        }
    }
}

/// What a head on a rank of one kind gives.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NumericsFigures {
    /// Duration of the attention in tCK.
    pub cycles: u64,
    /// Slots lost to bubbles.
    pub bubble: u64,
    /// Rules of the DRAM that were broken.
    pub pin_violations: u64,
    /// Errors against float64.
    pub stages: Stages,
}

/// Runs a head of each context and distribution on a rank of each of the kinds, on so many threads: a row for each.
/// `progress` receives the tokens that are done, and all of them.
pub fn compare_kinds(
    rank: &(Config, Options),
    (head_dim, contexts): (usize, &[usize]),
    seed: u64,
    kinds: &[(Normalise, SumFormat)],
    threads: usize,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Vec<NumericsRow>, AttentionError> {
    NumericsCase::check(&rank.0, head_dim, contexts)?;
    let cases = NumericsCase::all(contexts, kinds);
    let run = |case: &NumericsCase| Ok(case.row(case.run(rank, head_dim, seed)?));
    parallel::map(&cases, threads, |case| case.context as u64, run, progress)
}
