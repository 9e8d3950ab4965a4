// SPDX-License-Identifier: MIT
//! L3 and its baselines on four data sets and three models (L3's figure 8), and what admission changes.

use super::lab::{Case, CaseOutcome, Lab, llm};
use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::error::ServingError;
use crate::gpu::Gpu;
use crate::hardware::Hardware;
use crate::llm::Llm;
use crate::policy::{Admission, Placement, Policy, SubBatches};
use crate::trace::Trace;

/// L3's models (Table 3).
pub const MODELS: [&str; 3] = ["opt-66b", "gpt-89b", "gpt-175b"];
/// L3's data sets (Table 4).
pub const TRACES: [&str; 4] = ["openr1", "dolphin", "openthoughts", "longbench"];

/// Requests whose K and V do not fit the GPUs of a replica, by number.
fn too_long(llm: &Llm, trace: &Trace) -> Vec<u32> {
    let hardware = Hardware::l3(llm);
    let room = (hardware.tp * Gpu::A100.memory_bytes).saturating_sub(llm.weight_bytes());
    let most = room / llm.kv_bytes();
    let numbered = trace.requests.iter().enumerate();
    let long = numbered.filter(|(_, request)| request.tokens() > most);
    long.map(|(number, _)| number as u32).collect()
}

/// The policies of the study, L3 last.
const POLICIES: [Policy; 5] =
    [Policy::GpuOnly, Policy::HbmPim, Policy::RankPim, Policy::CpuOffload, Policy::L3];
/// L3 among them.
const L3: usize = POLICIES.len() - 1;
/// Other readings behind them: R-PIM with layers in turn and with equal work of all ranks, L3 with sub-batches that are even by
/// rankset.
const RANKS_IN_TURN: usize = L3 + 1;
const RANKS_EQUAL: usize = L3 + 2;
const EVEN_L3: usize = L3 + 3;

/// A model with a data set.
struct Point {
    model: &'static str,
    trace: &'static str,
    left_out: usize,
    of: Vec<CaseOutcome>,
}

impl Point {
    /// Tokens a second of one over those of the other.
    fn ratio(&self, over: usize, under: usize) -> f64 {
        self.of[over].tokens_per_s / self.of[under].tokens_per_s
    }

    /// The batch of L3 over that of GPUs alone.
    fn batch(&self) -> f64 {
        self.of[L3].batch / self.of[0].batch
    }

    /// Whether the paper may have it as out of memory: it names none of the two that it has.
    fn may_be_oom(&self) -> bool {
        self.model == "opt-66b" && ["openr1", "openthoughts"].contains(&self.trace)
    }

    fn head(&self) -> Vec<Cell> {
        vec![self.model.into(), self.trace.into()]
    }

    /// A row of figure 8.
    fn row(&self) -> Vec<Cell> {
        let tokens = self.of[..=L3].iter().map(|of| number(of.tokens_per_s, 0));
        let ratios = [0, 1, 2].map(|policy| number(self.ratio(L3, policy), 2));
        let batches = [0, L3].map(|policy| number(self.of[policy].batch, 1));
        let head = self.head().into_iter().chain([whole(self.left_out as u64)]);
        head.chain(tokens).chain(ratios).chain(batches).collect()
    }

    /// A row of the other readings.
    fn other_readings(&self) -> Vec<Cell> {
        let tokens = [2, RANKS_IN_TURN, RANKS_EQUAL, EVEN_L3];
        let tokens = tokens.map(|of| number(self.of[of].tokens_per_s, 0));
        let of_l3 = [2, RANKS_IN_TURN, RANKS_EQUAL].map(|of| number(self.ratio(L3, of), 2));
        let of_even = [0, 1, 2].map(|of| number(self.ratio(EVEN_L3, of), 2));
        self.head().into_iter().chain(tokens).chain(of_l3).chain(of_even).collect()
    }
}

/// The cases of a point.
fn cases(llm: &Llm, trace: &Trace, without: &[u32]) -> Vec<Case> {
    let case = |policy| Case { without: without.to_vec(), ..Case::new(llm, trace, policy) };
    let ranks = |placement| Case { placement, ..case(Policy::RankPim) };
    let even = Case { sub_batches: SubBatches::Ranksets, ..case(Policy::L3) };
    let others = [ranks(Placement::Layers), ranks(Placement::Spread), even];
    POLICIES.map(case).into_iter().chain(others).collect()
}

/// GPUs alone and L3 on a point with memory that is given as requests grow.
fn lazy(lab: &Lab<'_>, point: &Point) -> Result<[CaseOutcome; 2], ServingError> {
    let (llm, trace) = (llm(point.model)?, lab.trace(point.trace)?);
    let without = too_long(&llm, &trace);
    let case = |policy| Case {
        admission: Admission::Lazy,
        without: without.clone(),
        ..Case::new(&llm, &trace, policy)
    };
    let of = lab.outcomes(&[Policy::GpuOnly, Policy::L3].map(case))?;
    Ok([of[0], of[1]])
}

/// Figure 8.
pub fn run(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let (mut points, mut all) = (Vec::new(), Vec::new());
    for model in MODELS {
        let llm = llm(model)?;
        for name in TRACES {
            let trace = lab.trace(name)?;
            let without = too_long(&llm, &trace);
            points.push(Point { model, trace: name, left_out: without.len(), of: Vec::new() });
            all.extend(cases(&llm, &trace, &without));
        }
    }
    let outcomes = lab.outcomes(&all)?;
    for (point, of) in points.iter_mut().zip(outcomes.chunks(EVEN_L3 + 1)) {
        point.of = of.to_vec();
    }
    let best = |point: &&Point| (0..L3).all(|policy| point.ratio(L3, policy) >= 1.0);
    let best = points.iter().filter(best).count();
    let most = |over: usize, under: usize| {
        let of = points.iter().filter(|point| !point.may_be_oom());
        of.map(|point| point.ratio(over, under)).fold(0.0, f64::max)
    };
    let largest = points.iter().max_by(|a, b| a.batch().total_cmp(&b.batch()));
    let largest = largest.ok_or_else(|| ServingError::setup("no points"))?;
    let lazy = lazy(lab, largest)?;
    let as_it_grows = lazy[1].batch / lazy[0].batch;
    let of_ranks = format!(
        "by where the paper's R-PIM has K and V, which it does not say: {:.2} with layers in turn, {:.2} with equal work of all \
         ranks (--placement layers, spread); {:.2} with sub-batches of L3 that are even by rankset",
        most(L3, RANKS_IN_TURN),
        most(L3, RANKS_EQUAL),
        most(EVEN_L3, 2)
    );
    let of_batch = format!(
        "{} on {}: the memories are 13.3 to 1, and a GPU's room is for so few requests that reserved memory leaves some of it \
         unused: {:.1} are live. With memory given as requests grow (--admission lazy) {:.1} and {:.1} are, {as_it_grows:.2} to 1",
        largest.model, largest.trace, largest.of[0].batch, lazy[0].batch, lazy[1].batch
    );
    let few = "room for few requests: which lengths are drawn decides";
    let figures = vec![
        Figure::new(
            "L3 is best, of 12 points",
            "12",
            best as f64,
            [12.0, 12.0],
            "the table shows where",
        ),
        Figure::new("L3 / HBM-PIM, largest", "6.1", most(L3, 1), [5.0, 7.5], few),
        Figure::new("L3 / GPU-only, largest", "5.0", most(L3, 0), [3.5, 6.0], few),
        Figure::new("L3 / R-PIM, largest", "9.2", most(L3, 2), [7.4, 10.0], &of_ranks),
        Figure::new(
            "batch of L3 / GPU-only, largest",
            "14.3",
            largest.batch(),
            [12.0, 15.0],
            &of_batch,
        ),
        Figure::new(
            "the same, memory given as requests grow",
            "14.3",
            as_it_grows,
            [12.0, 15.0],
            "rows that are not full",
        ),
    ];
    let violations = outcomes.iter().chain(&lazy).map(|of| of.violations).sum();
    Ok(Study {
        study: "l3-throughput",
        title: format!("tokens a second, {} requests that are there from the beginning, seed {}", lab.requests, lab.seed),
        tables: vec![
            StudyTable {
                title: "L3 and its baselines (figure 8)".to_owned(),
                columns: vec![
                    "model", "trace", "left out", "gpu-only", "hbm-pim", "r-pim", "cpu-offload", "l3",
                    "/ gpu", "/ hbm-pim", "/ r-pim", "batch, gpu", "batch, l3",
                ],
                rows: points.iter().map(Point::row).collect(),
            },
            StudyTable {
                title: "Other readings: R-PIM on random ranksets, with layers in turn and with equal work of all ranks; L3 with \
                        sub-batches even by rankset"
                    .to_owned(),
                columns: vec![
                    "model", "trace", "r-pim, random", "in turn", "equal", "l3, even by rankset", "l3 / random", "/ in turn",
                    "/ equal", "even / gpu", "even / hbm-pim", "even / r-pim",
                ],
                rows: points.iter().map(Point::other_readings).collect(),
            },
        ],
        figures,
        violations,
        notes: vec![
            "left out: requests whose K and V do not fit the GPUs of a replica, for all policies alike; the largest ratios are \
             without opt-66b on openr1 and openthoughts, since the paper has two points out of memory and does not name them"
                .to_owned(),
            "r-pim has its requests on random ranksets: even ranksets are a technique of L3 (section 5.1)".to_owned(),
            "hbm-pim, r-pim and cpu-offload are analytic: bandwidths, without a policy's details".to_owned(),
        ],
    })
}

/// Lazy admission beside reserved memory, for L3 and GPUs alone.
pub fn admission(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let mut cases = Vec::new();
    let mut names = Vec::new();
    for model in MODELS {
        let llm = llm(model)?;
        for name in TRACES {
            let trace = lab.trace(name)?;
            let without = too_long(&llm, &trace);
            names.push((model, name));
            for policy in [Policy::GpuOnly, Policy::L3] {
                for admission in [Admission::Reserve, Admission::Lazy] {
                    let without = without.clone();
                    cases.push(Case { admission, without, ..Case::new(&llm, &trace, policy) });
                }
            }
        }
    }
    let outcomes = lab.outcomes(&cases)?;
    let row = |(&(model, trace), of): (&(&str, &str), &[CaseOutcome])| {
        let tokens = of.iter().map(|of| number(of.tokens_per_s, 0));
        let ratio = |l3: usize, gpu: usize| number(of[l3].tokens_per_s / of[gpu].tokens_per_s, 2);
        let head: Vec<Cell> = vec![model.into(), trace.into()];
        head.into_iter()
            .chain(tokens)
            .chain([ratio(2, 0), ratio(3, 1)])
            .chain([(2, 0), (3, 1)].map(|(l3, gpu)| number(of[l3].batch / of[gpu].batch, 1)))
            .chain([whole(of[1].preempted), whole(of[3].preempted)])
            .collect()
    };
    Ok(Study {
        study: "l3-admission",
        title: format!(
            "memory reserved for all tokens, or given as requests grow: {} requests, seed {}",
            lab.requests, lab.seed
        ),
        tables: vec![StudyTable {
            title: "Tokens a second".to_owned(),
            columns: vec![
                "model",
                "trace",
                "gpu, reserve",
                "gpu, lazy",
                "l3, reserve",
                "l3, lazy",
                "l3 / gpu, reserve",
                "l3 / gpu, lazy",
                "batch, reserve",
                "batch, lazy",
                "gpu: sent back",
                "l3: sent back",
            ],
            rows: names.iter().zip(outcomes.chunks(4)).map(row).collect(),
        }],
        figures: Vec::new(),
        violations: outcomes.iter().map(|of| of.violations).sum(),
        notes: vec![
            "L3's paper does not say what is reserved; its figure 9 fits reserved memory"
                .to_owned(),
        ],
    })
}
