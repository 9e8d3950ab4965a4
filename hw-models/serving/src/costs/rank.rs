// SPDX-License-Identifier: MIT
//! What a rank of L3's DIMM-PIM takes for a head, and for a token that is added to it.
//!
//! A head is measured as `pimlico run l3 attention` runs it, by itself on a rank that has just been reset, with the host's
//! messages; no data are made, which changes no cost. Heads of a rank run one after the other.
//!
//! How many REFs fall into one head depends on when it begins. So a head is measured with refresh off, and has what REFs add on
//! average (`Refresh`): the mean over heads of neighbouring contexts with refresh on beside off. K and V are written
//! before each head, which takes longer for each chunk, and a tREFI longer for some [`PHASES`] of them: so the heads begin at
//! all times between two REFs.

use super::memo::Memo;
use super::{Contexts, CostTable, Knot, MOST, STEP};
use crate::error::ServingError;
use crate::llm::Llm;
use crate::time::MILLISECOND;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, DeviceSpec, Options, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_model::data::Distribution;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::operator::{self, Tasks};
use pimlico_workload::outcome::Outcome;
use pimlico_workload::parallel;
use pimlico_workload::report::{APPEND, JobReport, Report};
use pimlico_workload::system::{How, System};
use pimlico_workload::task::{AttentionTask, Task, TaskPlan};
use serde::Serialize;

/// What a rank takes.
#[derive(Clone, Debug)]
pub struct RankCosts {
    /// Attention of the query heads that share a K and V head.
    pub head: CostTable,
    /// Writing K and V of a new token of a head, the mean over the tokens of a column of V.
    pub append_ps: u64,
}

/// Attention of the query heads of one K and V head, and adding its last token.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneHead {
    pub(super) head_dim: usize,
    pub(super) group: usize,
    pub(super) context: usize,
}

/// Contexts, a chunk apart, whose heads begin at all times between two REFs.
pub const PHASES: u64 = 22;
/// Up to so many tokens of a context four heads of each chunk count: few REFs fall into one.
const FINE: u64 = 4096;
/// The first context around which REFs are measured; the next ones are twice as long each.
const LEAST_REFRESHED: u64 = 512;

/// Nothing of its own in the report.
#[derive(Debug, Serialize)]
struct Measured {}

impl Tasks for OneHead {
    fn seed(&self) -> u64 {
        1
    }

    fn tasks(&self) -> TaskPlan {
        let Self { head_dim, group, context } = *self;
        let task = AttentionTask {
            head_dim,
            heads: group,
            group,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: 1,
            appends: true,
        };
        let tasks = vec![Task::Attention(task)];
        TaskPlan { tasks, layers: 1, io_buffers: IoBuffers::default() }
    }

    fn about(&self, _: &dyn System, _: &Outcome) -> JobReport {
        JobReport::new(Measured {})
    }
}

/// The tCK of an operator of a report.
pub(super) fn tck(report: &Report, name: &str) -> u64 {
    let of_name = report.operators.iter().filter(|operator| operator.operator == name);
    of_name.map(|operator| operator.cycles).sum()
}

/// Runs the query heads of a K and V head.
fn run(config: &Config, options: Options, head: OneHead) -> Result<Report, WorkloadError> {
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(config, options).expect("the configuration was checked"))
    };
    let topology = Topology::new(1, 1, 1).expect("one rank");
    let ranks = Ranks::new(config, topology, &new_rank);
    let how = How { timing_only: true, with_data: false, ..How::from(1) };
    operator::on_ranks(&ranks, options, how, &head)
}

/// What a run costs without what is added to K and V, and the REFs in it.
fn attention(config: &Config, report: &Report) -> (u64, f64, u64) {
    let of_heads = report.operators.iter().filter(|operator| operator.operator != APPEND);
    of_heads.fold((0, 0.0, 0), |(ps, pj, refs), of| {
        let more = of.commands.get("REF").copied().unwrap_or(0);
        (ps + of.cycles * config.tck_ps, pj + of.energy_pj.unwrap_or(0.0), refs + more)
    })
}

/// What REFs add to a head, by its context.
#[derive(Clone, Debug, PartialEq)]
struct Refresh {
    /// From a REF to the next.
    every_ps: u64,
    /// For some contexts what they add to a ms, in ps, and the energy of each; none where rows are not refreshed.
    added: Option<CostTable>,
}

impl Refresh {
    /// A cost that was measured without REFs, with those that it has on average.
    fn added_to(&self, knot: Knot) -> Knot {
        let Some(added) = &self.added else { return knot };
        let Knot { ps: of_ms, energy_pj: of_ref, .. } = added.nearest(knot.tokens);
        let more = u128::from(knot.ps) * u128::from(of_ms) / u128::from(MILLISECOND);
        let ps = knot.ps + more as u64;
        let energy = u128::from(of_ref) * u128::from(ps) / u128::from(self.every_ps);
        Knot { ps, energy_pj: knot.energy_pj + energy as u64, ..knot }
    }
}

/// A rank whose heads are measured.
struct Bench<'a> {
    config: Config,
    options: Options,
    head_dim: usize,
    group: usize,
    spec: &'a DeviceSpec,
}

impl<'a> Bench<'a> {
    fn new(spec: &'a DeviceSpec, llm: &Llm) -> Self {
        let (head_dim, group) = (llm.shape.head_dim, llm.shape.group());
        Self { config: spec.config(), options: spec.options(), head_dim, group, spec }
    }

    fn head(&self, context: u64) -> OneHead {
        let Self { head_dim, group, .. } = *self;
        OneHead { head_dim, group, context: context as usize }
    }

    fn what(&self) -> String {
        format!("head_dim={} group={}", self.head_dim, self.group)
    }

    /// What REFs add.
    fn refresh(&self, memo: &Memo) -> Result<Refresh, ServingError> {
        let every_ps = self.config.timing.refi_tck * self.config.tck_ps;
        if !self.options.refresh {
            return Ok(Refresh { every_ps, added: None });
        }
        let most = most_context(&self.config, self.head_dim);
        let powers = (0..).map(|n| LEAST_REFRESHED << n).take_while(|&tokens| tokens <= most);
        let contexts: Vec<u64> = powers.collect();
        let what = format!("rank refresh most={most} {}", self.what());
        let added = memo.table(self.spec, &what, || {
            let work = |&context: &u64| self.added(context, most);
            let weight = |&context: &u64| context;
            parallel::map(&contexts, memo.threads(), weight, work, |_, _| {}).map(CostTable::new)
        })?;
        Ok(Refresh { every_ps, added: Some(added) })
    }

    /// What REFs add around a context, to a ms, and the energy of each.
    fn added(&self, context: u64, most: u64) -> Result<Knot, WorkloadError> {
        let (mut without, mut with, mut refs) = ((0, 0.0), (0, 0.0), 0);
        for context in neighbours(context, most) {
            let (ps, pj, _) = self.run(context, false)?;
            without = (without.0 + ps, without.1 + pj);
            let (ps, pj, more) = self.run(context, true)?;
            with = (with.0 + ps, with.1 + pj);
            refs += more;
        }
        let added = u128::from(with.0.saturating_sub(without.0)) * u128::from(MILLISECOND);
        let ps = (added / u128::from(without.0.max(1))) as u64;
        let energy_pj = ((with.1 - without.1) / refs.max(1) as f64).max(0.0).round() as u64;
        Ok(Knot { tokens: context, ps, energy_pj })
    }

    /// A head: time, energy, REFs.
    fn run(&self, context: u64, refresh: bool) -> Result<(u64, f64, u64), WorkloadError> {
        let options = Options { refresh: refresh && self.options.refresh, ..self.options };
        Ok(attention(&self.config, &run(&self.config, options, self.head(context))?))
    }

    /// The cost of a context without REFs.
    fn measured(&self, context: u64) -> Result<Knot, WorkloadError> {
        let (ps, pj, _) = self.run(context, false)?;
        Ok(Knot { tokens: context, ps, energy_pj: pj.round() as u64 })
    }
}

/// Contexts around one, up to a largest, whose heads begin at all times between two REFs.
fn neighbours(context: u64, most: u64) -> impl Iterator<Item = u64> + Clone {
    let step = if context <= FINE { STEP / 4 } else { STEP };
    let all = PHASES * STEP;
    let first = context.min(most).saturating_sub(all / 2).min(most - all.min(most)) / STEP * STEP;
    (1..=all / step).map(move |number| first + number * step).filter(move |&at| at <= most)
}

impl RankCosts {
    /// Those of a device for the heads of a model, measured where no table of them is there.
    pub fn new(
        memo: &Memo,
        spec: &DeviceSpec,
        llm: &Llm,
        contexts: &Contexts,
    ) -> Result<Self, ServingError> {
        let bench = Bench::new(spec, llm);
        let most = most_context(&bench.config, bench.head_dim);
        let measure = |contexts: &[u64]| {
            let work = |&context: &u64| bench.measured(context);
            parallel::map(contexts, memo.threads(), |&context| context, work, |_, _| {})
        };
        let what = format!("rank without refresh {}", bench.what());
        let head = memo.costs(spec, &what, most, contexts, measure)?;
        let refresh = bench.refresh(memo)?;
        let head = head.map(|knot| refresh.added_to(knot));
        let append =
            memo.table(spec, &format!("rank append head_dim={}", bench.head_dim), || {
                let knots = (513..=516).map(|context| {
                    let report = run(&bench.config, bench.options, bench.head(context))?;
                    let ps = tck(&report, APPEND) * bench.config.tck_ps;
                    Ok::<_, WorkloadError>(Knot { tokens: context, ps, energy_pj: 0 })
                });
                Ok(CostTable::new(knots.collect::<Result<_, _>>()?))
            })?;
        let appends = append.knots();
        let append_ps = appends.iter().map(|knot| knot.ps).sum::<u64>() / appends.len() as u64;
        Ok(Self { head, append_ps })
    }

    /// The exact cost of a context, as the device's model has it with the REFs of a long run.
    pub fn exact(
        memo: &Memo,
        spec: &DeviceSpec,
        llm: &Llm,
        context: u64,
    ) -> Result<Knot, ServingError> {
        let bench = Bench::new(spec, llm);
        let refresh = bench.refresh(memo)?;
        Ok(refresh.added_to(bench.measured(context)?))
    }

    /// The mean duration of the heads of contexts around one, with refresh where it falls, and what the table says.
    pub fn with_refresh(
        &self,
        spec: &DeviceSpec,
        llm: &Llm,
        context: u64,
    ) -> Result<(u64, u64), ServingError> {
        let bench = Bench::new(spec, llm);
        let contexts = neighbours(context, most_context(&bench.config, bench.head_dim));
        let (mut device, mut table) = (0, 0);
        for context in contexts.clone() {
            device += bench.run(context, true)?.0;
            table += self.head.ps(context);
        }
        let count = contexts.count().max(1) as u64;
        Ok((device / count, table / count))
    }
}

/// The largest context of a table: a head of it has to fit the rows of a rank.
fn most_context(config: &Config, head_dim: usize) -> u64 {
    let layout = |context| pimlico_device::mapping::HeadLayout::new(config, head_dim, context, 0);
    let mut most = MOST;
    while most > 2 * super::STEP && layout(most as usize).is_err() {
        most /= 2;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes_add_time_and_energy() {
        let knot = Knot { tokens: 500, ps: 7_000, energy_pj: 50 };
        let of = |tokens: u64, ps: u64| Knot { tokens, ps: ps * MILLISECOND / 100, energy_pj: 20 };
        let table = CostTable::new(vec![of(400, 40), of(600, 60)]);
        let refresh = Refresh { every_ps: 1000, added: Some(table) };
        // Half as much again is 10 500, in which there are 10.5 REFs.
        assert_eq!(refresh.added_to(knot), Knot { ps: 10_500, energy_pj: 260, ..knot });
        let short = Knot { tokens: 16, ..knot };
        assert_eq!(refresh.added_to(short).ps, 9_800);
        assert_eq!(Refresh { added: None, ..refresh }.added_to(knot), knot);
    }

    #[test]
    fn neighbours_are_around_a_context_and_not_beyond_the_last() {
        let of = |context| neighbours(context, MOST).collect::<Vec<_>>();
        let [short, long, last] = [1024, 16_384, MOST].map(of);
        assert_eq!((short.len(), short[0], short[87]), (88, 852, 1200));
        assert_eq!((long.len(), long[0], long[21]), (22, 16_224, 16_560));
        assert_eq!((last.len(), last[21]), (22, MOST));
        assert_eq!(neighbours(512, 128).max(), Some(128));
    }
}
