// SPDX-License-Identifier: MIT
//! Tables 4 and 5: what is used of a device, and a channel's power; GPT3-30B, 256 requests of ShareGPT.

use super::{NeupimsLab, Point, Warm, around, mean};
use crate::error::ServingError;
use crate::neupims::iteration::BatchIteration;
use crate::neupims::npu::Npu;
use crate::neupims::power::Power;
use crate::neupims::system::{NpuAttention, System};
use crate::studies::{Cell, Figure, Study, StudyTable, number};
use pimlico_device::neupims::ReadQueue;

/// The point of both tables.
fn warm(lab: &NeupimsLab) -> Result<Vec<Warm>, ServingError> {
    lab.warm(vec![Point::of_table_3(2, 0, 256)?])
}

/// Mean percent of NPU, PIM, dot products and bandwidth.
fn shares(all: &[BatchIteration], npu: &Npu) -> [f64; 4] {
    let percent = |of: &dyn Fn(&BatchIteration) -> f64| 100.0 * mean(all.iter().map(of));
    [
        percent(&|of| of.npu_share(npu)),
        percent(&BatchIteration::pim_share),
        percent(&BatchIteration::beat_share),
        percent(&|of| of.bus_share(npu)),
    ]
}

/// Why PIM's share, and that of the buses, may be another one than the paper's.
fn causes(lab: &NeupimsLab) -> (&'static str, &'static str) {
    let of_matrices = match lab.rates {
        None => {
            "weights stream at the buses' peak here, without refresh and turns of the data bus: compare --matrices reads-128"
        }
        Some(rates) if rates.reads == ReadQueue::Short.reads() => {
            "the controller's queue of 32 reads decides what matrices have of the buses: compare --matrices reads-128"
        }
        Some(_) => "matrices have what reads without end have of the buses",
    };
    let of_pim = match lab.engines {
        None => of_matrices,
        Some(_) => {
            "REFs, and what operations wait for them, are in the time that PIM works: compare --mha algorithm"
        }
    };
    (of_pim, of_matrices)
}

/// Table 4.
pub fn table_4(lab: &NeupimsLab) -> Result<Study, ServingError> {
    let warm = warm(lab)?;
    let npu = Npu::TABLE_2;
    let of = |system: System| shares(&warm[0].run(&system), &npu);
    let only = of(lab.changed(System::NPU_ONLY));
    let arrays =
        of(System { npu_attention: NpuAttention::Arrays, ..lab.changed(System::NPU_ONLY) });
    let pims: Vec<(String, [f64; 4])> = lab
        .feeds
        .iter()
        .map(|&feed| (NeupimsLab::feed_name(feed), of(lab.npu_pim(feed))))
        .collect();
    let neupims = of(lab.changed(System::NEUPIMS));
    let row = |name: String, shares: [f64; 4], paper: &str| {
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(shares.map(|share| number(share, 1)));
        row.push(paper.into());
        row
    };
    let mut rows = vec![
        row("NPU-only".into(), only, "12.3 / - / 67.6"),
        row("NPU-only, attention on the arrays".into(), arrays, "12.3 / - / 67.6"),
    ];
    rows.extend(
        pims.iter()
            .map(|(feed, of)| row(format!("NPU+PIM, pim-issue {feed}"), *of, "28.0 / 17.0 / 27.4")),
    );
    rows.push(row("NeuPIMs".into(), neupims, "64.9 / 26.4 / 85.4"));
    let within = |paper: f64| around(paper, 3.0);
    let (of_pim, of_matrices) = causes(lab);
    let mut figures = Vec::new();
    for (feed, of) in &pims {
        for (what, paper, ours, cause) in
            [("PIM", 17.0, of[1], of_pim), ("bandwidth", 27.4, of[3], of_matrices)]
        {
            let cause = match feed.as_str() {
                "1/tCK" => cause,
                _ => "the baseline's feed, which the paper does not state: compare --pim-issue 1",
            };
            let name = format!("NPU+PIM's {what}, %, pim-issue {feed}");
            figures.push(Figure::new(&name, &paper.to_string(), ours, within(paper), cause));
        }
    }
    let is_bound = "two sub-batches of 128 read the weights twice: 602 112 tCK a block for 301 056 of multiply-accumulates, 50.0 % at most; 64.9 is no share of the peak";
    figures.push(Figure::new("NeuPIMs' PIM, %", "26.4", neupims[1], within(26.4), of_pim));
    figures.push(Figure::new("NeuPIMs' NPU, %", "64.9", neupims[0], within(64.9), is_bound));
    figures.push(Figure::new(
        "NeuPIMs' NPU below the bound, %",
        "none",
        neupims[0],
        [0.0, 50.0],
        "above what can be",
    ));
    figures.push(Figure::new(
        "NeuPIMs' bandwidth, %",
        "85.4",
        neupims[3],
        within(85.4),
        of_matrices,
    ));
    Ok(Study {
        study: "table-4",
        title: "What is used of a device (Table 4; GPT3-30B, 256 requests of ShareGPT)".into(),
        tables: vec![StudyTable {
            title: "Percent: multiply-accumulates of the peak; PIM at work; dot products of the peak; bytes of the buses".into(),
            columns: vec!["system", "NPU", "PIM", "dot products", "bandwidth", "paper: NPU / PIM / bandwidth"],
            rows,
        }],
        figures,
        violations: 0,
        notes: lab.notes(&warm),
    })
}

/// Means of iterations: power by part, all power, and nanojoules of a token in a channel.
struct MeanPower {
    parts: Vec<(&'static str, f64)>,
    all: f64,
    token: f64,
}

impl MeanPower {
    fn of(all: &[BatchIteration], system: &System) -> Self {
        let powers: Vec<Power> = all.iter().map(|of| Power::of(of, system.memory)).collect();
        let part = |at: usize| mean(powers.iter().map(|power| power.parts()[at].1));
        let names = Power::default().parts().map(|(name, _)| name);
        let energy =
            |(power, of): (&Power, &BatchIteration)| power.total() * 1e6 / of.tokens_per_s();
        Self {
            parts: names.into_iter().enumerate().map(|(at, name)| (name, part(at))).collect(),
            all: mean(powers.iter().map(Power::total)),
            token: mean(powers.iter().zip(all).map(energy)),
        }
    }
}

/// What of their buses NPU-only and NeuPIMs use in the paper's Table 4.
const PAPER_BANDWIDTH: [f64; 2] = [0.676, 0.854];

/// Mean power of a channel if so much of the buses were used.
fn power_at(all: &[BatchIteration], system: &System, share: f64) -> f64 {
    let peak = Npu::TABLE_2.bandwidth as f64;
    let as_busy = |of: &BatchIteration| BatchIteration {
        bytes: (share * peak * of.tck as f64) as u64,
        ..of.clone()
    };
    mean(all.iter().map(|of| Power::of(&as_busy(of), system.memory).total()))
}

/// Table 5.
pub fn table_5(lab: &NeupimsLab) -> Result<Study, ServingError> {
    let warm = warm(lab)?;
    let of = |system: System| MeanPower::of(&warm[0].run(&system), &system);
    let only = lab.changed(System::NPU_ONLY);
    let neupims = lab.changed(System::NEUPIMS);
    let systems =
        [of(only), of(System { npu_attention: NpuAttention::Arrays, ..only }), of(neupims)];
    let as_busy = [(only, PAPER_BANDWIDTH[0]), (neupims, PAPER_BANDWIDTH[1])]
        .map(|(system, share)| power_at(&warm[0].run(&system), &system, share));
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (at, (name, _)) in systems[0].parts.iter().enumerate() {
        let mut row: Vec<Cell> = vec![(*name).into()];
        row.extend(systems.iter().map(|system| number(system.parts[at].1, 1)));
        rows.push(row);
    }
    let last = |name: &str, of: fn(&MeanPower) -> f64| {
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(systems.iter().map(|system| number(of(system), 1)));
        row
    };
    rows.push(last("all", |of| of.all));
    rows.push(last("energy of a token in a channel, nJ", |of| of.token));
    let [only, arrays, neupims] = systems;
    let [only_as_busy, neupims_as_busy] = as_busy;
    let figures = vec![
        Figure::new(
            "NPU-only, mW",
            "364.1",
            only.all,
            around(364.1, 0.15 * 364.1),
            "the buses are busier here: 67.6 % in the paper's Table 4",
        ),
        Figure::new(
            "NeuPIMs, mW",
            "634.8",
            neupims.all,
            around(634.8, 0.15 * 634.8),
            "the buses are busier here: 85.4 % in the paper's Table 4",
        ),
        Figure::new(
            "NeuPIMs over NPU-only",
            "1.74",
            neupims.all / only.all,
            [1.5, 2.0],
            "NPU-only's buses are busier here; with attention on the arrays they idle, as in the table, and the next figure has the paper's own",
        ),
        Figure::new(
            "the same, each with its buses as busy as in Table 4, 67.6 and 85.4 %",
            "1.74",
            neupims_as_busy / only_as_busy,
            [1.5, 2.0],
            "the energies of commands differ",
        ),
        Figure::new(
            "energy of a token, NeuPIMs over NPU-only",
            "0.75",
            neupims.token / only.token,
            [0.6, 0.9],
            "the paper divides by its speedup of 2.4; attention of NPU-only streams at full bandwidth here",
        ),
        Figure::new(
            "the same, NPU-only's attention on the arrays",
            "0.75",
            neupims.token / arrays.token,
            [0.6, 0.9],
            "the arrays' attention is slower than the paper's",
        ),
    ];
    Ok(Study {
        study: "table-5",
        title: "Power of a channel (Table 5; GPT3-30B, 256 requests of ShareGPT)".into(),
        tables: vec![StudyTable {
            title: "Milliwatts of a channel".into(),
            columns: vec!["takes", "NPU-only", "NPU-only, attention on the arrays", "NeuPIMs"],
            rows,
        }],
        figures,
        violations: 0,
        notes: lab.notes(&warm),
    })
}
