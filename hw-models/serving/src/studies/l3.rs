// SPDX-License-Identifier: MIT
//! L3's other figures: memory and bandwidth (9), what each part gains (10a), time between tokens (11), overlap (5.1).

use super::lab::{Case, CaseOutcome, Lab, llm};
use super::{Cell, Figure, Study, StudyTable, number, whole};
use crate::costs::Contexts;
use crate::costs::rank::RankCosts;
use crate::error::ServingError;
use crate::gpu::{Gpu, GpuGroup};
use crate::hardware::Hardware;
use crate::iteration::{Detail, FIRST_SET, Iteration, Placed, Shape, SubBatch, Work};
use crate::llm::Llm;
use crate::policy::{Placement, Policy, SubBatches};
use crate::replica::{Chunk, Decoding, PCIE_LATENCY_PS, Replica};
use crate::schedule;
use pimlico_golden::timeline::TimelineChecker;

/// Figure 9: memory and bandwidth of the host, from 512 GiB in two ranksets on.
pub fn scaling(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-175b")?;
    let trace = lab.trace("openr1")?;
    let points =
        [("base", 2, 16), ("bandwidth x 8", 16, 2), ("capacity x 8", 2, 128), ("both x 8", 16, 16)];
    let case = |&(_, sets, rank_gib): &(&str, u64, u64)| {
        let case = Case::new(&llm, &trace, Policy::L3);
        let hardware =
            Hardware { dimms: sets / 2, ranks: 2, rank_bytes: rank_gib << 30, ..case.hardware };
        Case { hardware, ..case }
    };
    let cases: Vec<Case> = points.iter().map(case).collect();
    let of = lab.outcomes(&cases)?;
    let gain = |point: usize| of[point].tokens_per_s / of[0].tokens_per_s;
    let row = |(number_of, &(name, sets, rank_gib)): (usize, &(&str, u64, u64))| {
        vec![
            name.into(),
            whole(sets),
            whole(16 * sets * rank_gib),
            number(of[number_of].tokens_per_s, 0),
            number(of[number_of].batch, 1),
            number(gain(number_of), 2),
        ]
    };
    Ok(Study {
        study: "l3-scaling",
        title: format!("gpt-175b on openr1, {} requests, seed {}", lab.requests, lab.seed),
        tables: vec![StudyTable {
            title: "Ranksets and memory of the host (figure 9)".to_owned(),
            columns: vec!["host", "ranksets", "GiB", "tokens/s", "batch", "gain"],
            rows: points.iter().enumerate().map(row).collect(),
        }],
        figures: vec![
            Figure::new(
                "bandwidth x 8",
                "1.1",
                gain(1),
                [1.0, 1.3],
                "few requests: the GPU is the bound",
            ),
            Figure::new("capacity x 8", "1.6", gain(2), [1.4, 1.8], "two ranksets are the bound"),
            Figure::new(
                "both x 8",
                "5.1",
                gain(3),
                [4.5, 8.0],
                "both bounds move out: what is left is the GPU, whose model here has no loss beyond its constants",
            ),
        ],
        violations: of.iter().map(|of| of.violations).sum(),
        notes: vec![
            "capacity alone: the rows of a rank; bandwidth alone: ranks of an eighth of the rows"
                .to_owned(),
        ],
    })
}

/// Figure 10a: what sub-batches, overlap and even ranksets gain, and what they would gain by other readings.
pub fn ablation(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-175b")?;
    let trace = lab.trace("openr1")?;
    let [naive, interleave, l3] = [Policy::L3Naive, Policy::L3Interleave, Policy::L3]
        .map(|policy| Case::new(&llm, &trace, policy));
    let on = |placement, case: &Case| Case { placement, ..case.clone() };
    let even = |case: &Case| Case { sub_batches: SubBatches::Ranksets, ..case.clone() };
    let cases = [
        ("naive", naive.clone()),
        ("naive, layers in turn", on(Placement::Layers, &naive)),
        ("interleave", interleave.clone()),
        ("interleave, layers in turn", on(Placement::Layers, &interleave)),
        ("interleave, overlap", Case { overlap: true, ..interleave.clone() }),
        ("l3", l3.clone()),
        // Other readings.
        ("interleave, sub-batches even by rankset", even(&interleave)),
        ("l3, sub-batches even by rankset", even(&l3)),
        ("naive, equal work", on(Placement::Spread, &naive)),
        ("interleave, equal work", on(Placement::Spread, &interleave)),
        ("l3, equal work", on(Placement::Spread, &l3)),
        ("naive, waits for its rankset", on(Placement::Drawn, &naive)),
        ("interleave, waits for its rankset", on(Placement::Drawn, &interleave)),
    ];
    let of = lab.outcomes(&cases.clone().map(|(_, case)| case))?;
    let over = |a: usize, b: usize| of[a].tokens_per_s / of[b].tokens_per_s;
    let gain = |point: usize| over(point, 0);
    let uneven = format!(
        "sub-batches have even tokens, as the paper says, and each layer waits for the busiest rankset of its sub-batch: with \
         sub-batches that are even by rankset (--sub-batches ranksets) {:.2}, with equal work of all ranksets (--placement spread) \
         {:.2}",
        gain(6),
        over(9, 8)
    );
    let even = format!(
        "the same: {:.2} with --sub-batches ranksets and {:.2} with --placement spread; and {:.2} beside a naive system whose \
         requests wait for room in a rankset that was drawn before (--placement drawn), so that {:.1} are live and not {:.1}",
        gain(7),
        gain(10),
        over(5, 11),
        of[11].batch,
        of[0].batch
    );
    let row = |(point, (name, case)): (usize, &(&str, Case))| -> Vec<Cell> {
        vec![
            (*name).into(),
            case.placement.name().into(),
            if case.overlap { "on".into() } else { "off".into() },
            case.sub_batches.name().into(),
            number(of[point].tokens_per_s, 0),
            number(of[point].batch, 1),
            number(gain(point), 2),
        ]
    };
    Ok(Study {
        study: "l3-ablation",
        title: format!("gpt-175b on openr1, {} requests, seed {}", lab.requests, lab.seed),
        tables: vec![StudyTable {
            title: "Parts of L3 (figure 10a), and other readings of them".to_owned(),
            columns: vec!["step", "placement", "overlap", "even", "tokens/s", "batch", "gain"],
            rows: cases.iter().enumerate().map(row).collect(),
        }],
        figures: vec![
            Figure::new("interleave / naive", "1.3", gain(2), [1.2, 1.45], &uneven),
            Figure::new("l3 / naive", "1.7, read as cumulative", gain(5), [1.5, 1.9], &even),
        ],
        violations: of.iter().map(|of: &CaseOutcome| of.violations).sum(),
        notes: vec![
            "random: a rankset for each request, among those that have room for it; the paper says no more of what L3's layers in \
             turn are compared with"
                .to_owned(),
            "equal work: a bound, which no layout of whole layers reaches; the paper's predictor, linear in the sum of tokens, is \
             exact for it and not for layers in turn (l3-predictor)"
                .to_owned(),
        ],
    })
}

/// A replica of a policy, with so many ranksets.
fn replica(lab: &Lab<'_>, llm: &Llm, policy: Policy, sets: u64) -> Result<Replica, ServingError> {
    let hardware = Hardware::l3(llm);
    let channels = hardware.channels / hardware.dp;
    let ranks = match policy.has_ranks() {
        true => Some(RankCosts::new(lab.memo, lab.rank, llm, &Contexts::Knots)?),
        false => None,
    };
    Ok(Replica {
        llm: llm.clone(),
        policy,
        gpus: GpuGroup { gpu: Gpu::A100, model: lab.gpu_model, tp: hardware.tp },
        channels,
        sets,
        heads: llm.kv_heads().div_ceil(channels),
        placement: Placement::Layers,
        ranks,
    })
}

/// An iteration of a replica.
fn iteration(replica: &Replica, halves: [SubBatch; 2], overlap: bool) -> Iteration {
    let has_ranks = replica.policy.has_ranks();
    let shape = Shape {
        layers: replica.llm.layers() as u32,
        sets: if has_ranks { replica.sets as u32 } else { 1 },
        rotates: true,
        overlap,
        latency_ps: if has_ranks { PCIE_LATENCY_PS } else { 0 },
        detail: Detail::Periodic,
    };
    Iteration { shape, halves }
}

/// So many requests of one length, evenly over the ranksets, in two sub-batches where the policy has them.
fn requests(replica: &Replica, count: u64, context: u64) -> [SubBatch; 2] {
    let request = |number: u64| {
        // Neighbours are in the same sub-batch in turn: so both have all ranksets.
        let class = (number / 2 % replica.sets) as u32;
        (number as usize, Decoding::new(context, class))
    };
    let all: Vec<_> = (0..count).map(request).collect();
    match replica.policy.has_sub_batches() {
        true => schedule::even(all).map(|half| half.on(replica)),
        false => {
            let decoding: Vec<Decoding> = all.into_iter().map(|(_, of)| of).collect();
            [replica.sub_batch(&decoding, &[]), SubBatch::default()]
        }
    }
}

/// Figure 11: time between tokens, with GPU memory without a limit.
pub fn latency(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-89b")?;
    let mut checker = TimelineChecker::default();
    let mut time = |policy: Policy, sets: u64, batch: u64| {
        let replica = replica(lab, &llm, policy, sets)?;
        let iteration = iteration(&replica, requests(&replica, batch, 6000), true);
        Ok::<_, ServingError>(iteration.run(&mut checker).ps)
    };
    let sets = [2, 4, 8, 16];
    let mut rows = Vec::new();
    let (mut least16, mut of4) = (f64::MAX, Vec::new());
    for batch in [16, 32, 64, 128, 256] {
        let gpu = time(Policy::GpuOnly, 4, batch)?;
        let mut row = vec![whole(batch), number(gpu as f64 / 1e9, 2)];
        for sets in sets {
            let ps = time(Policy::L3, sets, batch)?;
            let ratio = ps as f64 / gpu as f64;
            row.extend([number(ps as f64 / 1e9, 2), number(ratio, 2)]);
            match sets {
                4 => of4.push(ratio),
                16 => least16 = least16.min(ratio),
                _ => {}
            }
        }
        rows.push(row);
    }
    let bounds = [f64::min, f64::max].map(|of| of4.iter().copied().reduce(of).unwrap_or(0.0));
    let why = "each sub-batch reads all weights, which counts where there are few requests";
    Ok(Study {
        study: "l3-latency",
        title: "gpt-89b, requests of 6 000 tokens, a replica with GPU memory without a limit"
            .to_owned(),
        tables: vec![StudyTable {
            title: "Time between tokens in ms, and beside the GPUs' (figure 11)".to_owned(),
            columns: vec![
                "batch",
                "GPU, ms",
                "2 sets, ms",
                "/ GPU",
                "4 sets, ms",
                "/ GPU",
                "8 sets, ms",
                "/ GPU",
                "16 sets, ms",
                "/ GPU",
            ],
            rows,
        }],
        figures: vec![
            Figure::new("16 ranksets / GPU, least", "0.29", least16, [0.25, 0.35], why),
            Figure::new("4 ranksets / GPU, least", "comparable", bounds[0], [0.8, 1.15], why),
            Figure::new("4 ranksets / GPU, most", "comparable", bounds[1], [0.8, 1.15], why),
        ],
        violations: checker.faults(),
        notes: vec!["batch: of a replica of four GPUs and eight channels".to_owned()],
    })
}

/// Section 5.1: what ranksets do during transfers, on the timeline.
pub fn overlap(lab: &Lab<'_>) -> Result<Study, ServingError> {
    let llm = llm("gpt-175b")?;
    let mut checker = TimelineChecker::default();
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    for (sets, overlap) in [(4, true), (2, true), (16, true), (4, false)] {
        let replica = replica(lab, &llm, Policy::L3, sets)?;
        let mut halves = requests(&replica, 32 * sets, 16_384);
        let chunk = Chunk { tokens: 1024, finished: 0, class: 0 };
        halves[0].prompts = replica.sub_batch(&[], &[chunk]).prompts;
        let placed = iteration(&replica, halves, overlap).place(4 * sets as u32);
        placed.graph.watch(&placed.schedule, &mut checker);
        let (free, at_work) = during_transfers(&placed, sets as u32);
        let switch = if overlap { "on" } else { "off" };
        rows.push(vec![
            whole(sets),
            switch.into(),
            number(100.0 * free, 1),
            number(100.0 * at_work, 1),
        ]);
        let expected = if overlap { 1.0 - 1.0 / sets as f64 } else { 0.0 };
        let band = [(expected - 0.01).max(0.0), expected + 0.01];
        let paper = if sets == 4 && overlap { "0.75" } else { "no figure" };
        let what =
            format!("share of {sets} ranksets free to compute in a transfer, overlap {switch}");
        figures.push(Figure::new(&what, paper, free, band, "a transfer has more than its rankset"));
    }
    let replica = replica(lab, &llm, Policy::L3, 4)?;
    let tokens = 4096;
    let chunk = Chunk { tokens, finished: 0, class: 0 };
    let kv: u64 = replica.sub_batch(&[], &[chunk]).prompts.iter().map(|(_, ps)| ps).sum();
    let matrices = [replica.gpus.ffn1(&llm), replica.gpus.ffn2(&llm)];
    let ffn: u64 =
        matrices.iter().map(|&(rows, columns)| replica.gpus.matrix_ps(rows, columns, tokens)).sum();
    let cause = "constants of the GPU";
    let share = 100.0 * kv as f64 / ffn as f64;
    figures.push(Figure::new(
        "K and V of prompts / feed-forward, %",
        "< 16",
        share,
        [15.4, 16.4],
        cause,
    ));
    Ok(Study {
        study: "l3-overlap",
        title: "gpt-175b, 32 requests of 16 384 tokens for each rankset, a prompt of 1 024"
            .to_owned(),
        tables: vec![StudyTable {
            title: "Ranksets while something is on the channels (section 5.1)".to_owned(),
            columns: vec!["ranksets", "overlap", "free to compute, %", "at work, %"],
            rows,
        }],
        figures,
        violations: checker.faults(),
        notes: vec!["at work: with heads in that time; the others wait for Q, K and V".to_owned()],
    })
}

/// Of the ranksets in the time of transfers: the share that no transfer has, and the share at work.
fn during_transfers(placed: &Placed, sets: u32) -> (f64, f64) {
    let tasks = || placed.labels.iter().zip(placed.graph.tasks()).enumerate();
    let span = |task: usize| (placed.schedule.start[task], placed.schedule.end[task]);
    let is_transfer = |work: Work| matches!(work, Work::Down | Work::Up | Work::Prompts);
    let heads: Vec<(u64, u64)> = tasks()
        .filter(|(_, (label, _))| label.work == Work::Heads)
        .map(|(task, _)| span(task))
        .collect();
    let (mut all, mut free, mut work) = (0u128, 0u128, 0u128);
    for (task, (_, of)) in tasks().filter(|(_, (label, _))| is_transfer(label.work)) {
        let (start, end) = span(task);
        let has = (of.uses >> FIRST_SET).count_ones();
        all += u128::from(end - start) * u128::from(sets);
        free += u128::from(end - start) * u128::from(sets - has);
        let together = heads.iter().map(|&(from, to)| to.min(end).saturating_sub(from.max(start)));
        work += together.map(u128::from).sum::<u128>();
    }
    let share = |part: u128| part as f64 / all.max(1) as f64;
    (share(free), share(work))
}
