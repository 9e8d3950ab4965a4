// SPDX-License-Identifier: MIT
//! LoL-PIM's Table 8, with the time of all modules by cause.

use super::assumptions;
use super::{LolLab, LolOutcome, MEAN_CONTEXT, Step, notes, utilisation};
use crate::costs::module::{self, ByCause, ModuleSetup};
use crate::error::ServingError;
use crate::lol::system::{CHANNELS, Partition};
use crate::studies::lab::llm;
use crate::studies::{Cell, Figure, Study, StudyTable, number, whole};
use pimlico_workload::fc;

/// Model, nodes, and tokens a second of three systems with their utilisation in percent.
const TABLE_8: [(&str, u64, [f64; 3], [f64; 3]); 3] = [
    ("qwen1.5-7b", 4, [1833.0, 2455.0, 3668.0], [15.1, 20.2, 30.1]),
    ("qwen1.5-14b", 5, [1309.0, 1737.0, 2553.0], [15.4, 20.5, 30.1]),
    ("qwen1.5-72b", 16, [737.0, 1211.0, 1740.0], [12.8, 21.1, 30.3]),
];

/// The systems of the table.
const STEPS: [Step; 3] = [Step::Baseline, Step::Two, Step::Three];

/// What time goes to, in the order of the table's columns.
const CAUSES: [&str; 9] = [
    "of use",
    "idle PUs",
    "row switch",
    "refresh",
    "I/O",
    "softmax",
    "links",
    "host's writes",
    "bubbles",
];

/// Time of all modules by cause, in percent.
fn causes(lab: &LolLab<'_>, of: &LolOutcome) -> Result<[f64; CAUSES.len()], ServingError> {
    let LolOutcome { system, run, .. } = of;
    let setup = ModuleSetup {
        channels: CHANNELS as usize,
        io_buffers: system.io_buffers,
        lanes: system.lanes,
    };
    let mut matrices = ByCause::default();
    for shape in fc::shapes(&system.llm.shape, system.tp as usize, false) {
        let size = (shape.rows as u64, shape.columns as u64);
        matrices = matrices.and(module::matrix_slots(lab.channel, setup, size)?);
    }
    let is_head_first = system.partition == Partition::HeadFirst;
    let of_head = if is_head_first { ModuleSetup { channels: 1, ..setup } } else { setup };
    let products = module::head_slots(lab.channel, &system.llm, of_head, MEAN_CONTEXT)?;
    let timing = lab.channel.config().timing;
    let refresh = timing.rfc_tck as f64 / timing.refi_tck as f64;
    // Channels of a round of pairs that have none.
    let dealt = if is_head_first { dealt_out(of) } else { 1.0 };
    let mut by_cause = [0.0; CAUSES.len()];
    for (ps, slots, share) in
        [(run.time.matrices_ps, matrices, 1.0), (run.time.products_ps, products, dealt)]
    {
        let part = |slots_of: u64| {
            share * ps as f64 * (1.0 - refresh) * slots_of as f64 / slots.all().max(1) as f64
        };
        by_cause[0] += part(slots.of_use);
        by_cause[1] += part(slots.idle_pus) + (1.0 - share) * ps as f64;
        by_cause[2] += part(slots.row_switch);
        by_cause[3] += share * ps as f64 * refresh;
        by_cause[4] += part(slots.io);
    }
    let rest = [run.time.softmax_ps, run.time.links_ps, run.time.tables_ps, run.bubble_ps];
    by_cause[5..].iter_mut().zip(rest).for_each(|(cause, ps)| *cause = ps as f64);
    let all: f64 = by_cause.iter().sum();
    Ok(by_cause.map(|ps| 100.0 * ps / all))
}

/// The share of a module's channels that have a pair, of rounds of pairs with the mean batch in as many micro-batches as there
/// are stages.
fn dealt_out(of: &LolOutcome) -> f64 {
    let LolOutcome { system, run, .. } = of;
    let pairs = run.steady.batch / system.pp as f64 * system.llm.heads().div_ceil(system.tp) as f64;
    let rounds = (pairs / CHANNELS as f64).ceil().max(1.0);
    (pairs / (rounds * CHANNELS as f64)).min(1.0)
}

/// Serves the table.
pub fn run(lab: &LolLab<'_>) -> Result<Study, ServingError> {
    let mut cases = Vec::new();
    for (name, nodes, ..) in TABLE_8 {
        let llm = llm(name)?;
        cases.extend(STEPS.map(|step| (step.system(&llm, nodes, false), "musique")));
    }
    let best = lab.best(&cases)?;
    let by_assumption = assumptions::run(lab)?;
    let (mut rows, mut lost, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    let (mut violations, mut full) = (by_assumption.violations, Vec::new());
    for ((name, nodes, paper, paper_percent), of_model) in
        TABLE_8.into_iter().zip(best.chunks(STEPS.len()))
    {
        let mut tokens = [0.0; 3];
        for (at, (step, best)) in STEPS.into_iter().zip(of_model).enumerate() {
            let best = best.as_ref().map_err(ServingError::setup)?;
            violations += best.violations;
            let ours = best.run.steady.tokens_per_s;
            let percent = 100.0 * utilisation(&best.system.llm, nodes, ours);
            tokens[at] = ours;
            rows.push(vec![
                name.into(),
                whole(nodes),
                step.name().into(),
                format!("{}, {}", best.system.tp, best.system.pp).into(),
                number(best.run.steady.batch, 1),
                number(ours, 0),
                number(paper[at], 0),
                number(percent, 1),
                number(paper_percent[at], 1),
            ]);
            let head: Vec<Cell> = vec![name.into(), step.name().into()];
            let by_cause = causes(lab, best)?.map(|of| number(of, 1));
            lost.push(head.into_iter().chain(by_cause).collect());
            let formula = 100.0 * utilisation(&best.system.llm, nodes, paper[at]);
            figures.push(Figure::new(
                &format!(
                    "{name}, {}: utilisation of the paper's tokens by formula, %",
                    step.name()
                ),
                &format!("{:.1}", paper_percent[at]),
                formula,
                [-1.0, 1.0].map(|tenth| (10.0 * paper_percent[at] + tenth).round() / 10.0),
                "the formula of another table",
            ));
            if step != Step::Baseline {
                figures.push(Figure::new(
                    &format!("{name}, {}: tokens/s beside the paper's", step.name()),
                    "1",
                    ours / paper[at],
                    [0.9, 1.5],
                    "row switches, SV on half of the PUs, and all-reduces of 1 us a hop: see the time by cause",
                ));
            }
            if step == Step::Three {
                full.push(percent);
            }
        }
        figures.push(Figure::new(
            &format!("{name}: LoL (1)(2)(3) / PIM"),
            &format!("{:.2}", paper[2] / paper[0]),
            tokens[2] / tokens[0],
            [1.7, 2.8],
            &by_assumption.cause,
        ));
    }
    let bound = |of: fn(f64, f64) -> f64| full.iter().copied().reduce(of).unwrap_or(0.0);
    figures.push(Figure::new(
        "utilisation of LoL (1)(2)(3) over the three models, points apart",
        "0.2",
        bound(f64::max) - bound(f64::min),
        [0.0, 5.0],
        "the smaller the model, the more of its time is links and the softmax of a layer's last head",
    ));
    let utilisation_note = "utilisation as in the paper's table: 2 operations for each parameter and 4 f d for each layer, f \
                            the mean of Musique, of 65.536 T operations a second and node, without a language-model head";
    Ok(Study {
        study: "lol-utilisation",
        title: format!("LoL-PIM's Table 8: Musique, {} requests, seed {}", lab.requests, lab.seed),
        tables: vec![
            StudyTable {
                title: "Tokens a second and utilisation".to_owned(),
                columns: vec![
                    "model",
                    "nodes",
                    "system",
                    "TP, PP",
                    "batch",
                    "tokens/s",
                    "paper",
                    "utilisation, %",
                    "paper, %",
                ],
                rows,
            },
            StudyTable {
                title: "Time of all modules by cause in %".to_owned(),
                columns: ["model", "system"].into_iter().chain(CAUSES).collect(),
                rows: lost,
            },
            by_assumption.table,
        ],
        figures,
        violations,
        notes: [utilisation_note.to_owned()].into_iter().chain(notes()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utilisations_of_table_8_follow_from_its_tokens() {
        for (name, nodes, tokens, percent) in TABLE_8 {
            let llm = llm(name).expect("a model");
            for (tokens, percent) in tokens.into_iter().zip(percent) {
                let ours = 100.0 * utilisation(&llm, nodes, tokens);
                assert!((ours - percent).abs() < 0.1, "{name}: {ours} {percent}");
            }
        }
    }
}
