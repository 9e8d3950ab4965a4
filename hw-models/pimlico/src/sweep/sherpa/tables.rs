// SPDX-License-Identifier: MIT
//! The tables, each with what the paper prints and where the paper contradicts itself.

use super::Lab;
use crate::failure::Failure;
use pimlico_device::lp5::Lp5LayoutError;
use pimlico_host::attribute::NoContiguous;
use pimlico_serving::studies::{Cell, Figure, Study, StudyTable, number, whole};
use pimlico_workload::sherpa::prefill::{Policy, Prefill, TableRow};
use pimlico_workload::sherpa::token;
use pimlico_workload::sherpa::weights::ModelWeights;

const SMALL: &str = "llama-3.2-1b";
const LARGE: &str = "llama-3.2-3b";
/// Tokens of prompts and of outputs in Figures 10, 12 and 13.
const LENGTHS: [u64; 5] = [64, 96, 128, 160, 192];

fn weights(model: &str) -> ModelWeights {
    ModelWeights::new(&pimlico_model::presets()[model])
}

fn failure(error: Lp5LayoutError) -> Failure {
    Failure::Input(error.to_string())
}

/// Percents or seconds printed, with as much beside them as their last digit leaves open.
fn printed(what: &str, paper: f64, digits: i32, ours: f64, cause: &str) -> Figure {
    let half = 0.5 * 10f64.powi(-digits);
    // To the digit behind the last.
    let scale = 10f64.powi(digits + 1);
    let band = [paper - half, paper + half].map(|end| (scale * end).round() / scale);
    Figure::new(what, &format!("{paper}"), ours, band, cause)
}

impl Lab {
    fn prefill<'a>(&'a self, model: &str, weights: &'a ModelWeights, tokens: u64) -> Prefill<'a> {
        let rates = &self.phone.fitted.models[model];
        Prefill { phone: &self.phone, rates, weights, tokens, contention: self.contention }
    }

    /// Table 2.
    pub fn two(&self, flop_per_byte: f64) -> Study {
        const PRINTED: [(u64, f64, f64); 8] = [
            (1, 400.0, 300.0),
            (4, 400.0, 300.0),
            (8, 250.0, 150.0),
            (16, 175.0, 100.0),
            (32, 138.0, 100.0),
            (64, 119.0, 100.0),
            (128, 109.0, 100.0),
            (192, 106.0, 100.0),
        ];
        let is_papers = flop_per_byte == self.phone.flop_per_byte;
        let (mut rows, mut figures) = (Vec::new(), Vec::new());
        for (tokens, sum, max) in PRINTED {
            let row = TableRow::new(tokens, flop_per_byte);
            let [of_sum, of_max] = [row.sum, row.max].map(|time| 100.0 * time / row.gemm);
            rows.push(vec![
                whole(tokens),
                number(row.gemm, 2),
                number(row.sum, 2),
                number(of_sum, 1),
                number(row.max, 2),
                number(of_max, 1),
            ]);
            if is_papers {
                for (way, paper, ours) in [("SUM", sum, of_sum), ("MAX", max, of_max)] {
                    let what = format!("{way} at {tokens} tokens, % of GEMM");
                    figures.push(printed(&what, paper, 0, ours, "no cause"));
                }
            } else if tokens == 128 && [207.0, 241.0].contains(&flop_per_byte) {
                let what = "MAX at 128 tokens, % of GEMM";
                let paper = "300, a third of the maximum (section 7)";
                figures.push(Figure::new(what, paper, of_max, [299.5, 300.5], "no cause"));
            }
        }
        let columns = vec!["tokens", "GEMM t", "SUM t", "SUM %", "MAX t", "MAX %"];
        let title = "Times in t, a DRAM pass over the weights; a swizzled copy is 3 t".to_owned();
        let notes = vec![
            format!("a host of {flop_per_byte} operations for each byte; by Table 3 the phone has 4.7"),
            "by Table 2 a copy is hidden from 16 tokens on; measured (section 6) it is from 128: the paper says that \
             copies reach a quarter of the bandwidth, but 2.2 GB/s in 3 passes are 6.6 GB/s, 10 % of 68.3"
                .to_owned(),
        ];
        Study {
            study: "table-2",
            title: "PIM-SHERPA, Table 2: online rearrangement of weights".to_owned(),
            tables: vec![StudyTable { title, columns, rows }],
            figures,
            notes,
            ..Study::default()
        }
    }

    /// Figure 9.
    pub fn capacity(&self, cma: Option<u64>) -> Result<Study, Failure> {
        let (mut rows, mut figures) = (Vec::new(), Vec::new());
        let printed_savings = [
            (SMALL, 2.47, 2, [Some(49.2), Some(48.5), Some(47.8)]),
            (LARGE, 6.4, 1, [None, Some(49.7), Some(49.4)]),
        ];
        for (model, gb, digits, savings) in printed_savings {
            let weights = weights(model);
            let padding = weights.padding(&self.map).map_err(failure)?;
            let capacity = weights.capacity(&self.map).map_err(failure)?;
            NoContiguous::check(model, capacity.facil, cma)
                .map_err(|error| Failure::Input(format!("--cma: {error}")))?;
            let what = format!("{model}: weights, GB");
            figures.push(printed(&what, gb, digits, weights.bytes() as f64 / 1e9, "no cause"));
            let policies = [
                ("WD", capacity.duplicated),
                ("FACIL-O", capacity.facil),
                ("OWR", capacity.in_turns),
                ("DDB", capacity.double_buffered),
            ];
            for (policy, bytes) in policies {
                let saved = number(capacity.saving(bytes), 2);
                rows.push(vec![model.into(), policy.into(), whole(bytes), saved]);
            }
            let (mib, buffer) = (padding as f64 / f64::from(1 << 20), weights.buffer() >> 20);
            let cause = match model {
                SMALL => format!(
                    "{mib} MiB of padding and buffers of {buffer} MiB; the paper's 80 MB, as MiB, make it 47.83"
                ),
                _ => format!(
                    "its feed-forward matrix takes a buffer of {buffer} MiB; the printed saving is that of 32 MiB, which \
                     do not hold it"
                ),
            };
            for ((policy, bytes), paper) in policies[1..].iter().zip(savings) {
                let what = format!("{model}: {policy} saves, %");
                let ours = (10.0 * capacity.saving(*bytes)).round() / 10.0;
                figures.extend(paper.map(|paper| printed(&what, paper, 1, ours, &cause)));
            }
        }
        let columns = vec!["model", "policy", "bytes", "saving %"];
        let title = "Memory for weights and buffers, and what it saves of WD".to_owned();
        let notes = vec![
            "the abstract says 47.8 to 49.7 %, the conclusion 47.8 to 48.5 %".to_owned(),
            "the paper sizes buffers as H x 4H; the 3B model's feed-forward matrix is 3072 x 8192, 2.67 H wide"
                .to_owned(),
        ];
        Ok(Study {
            study: "capacity",
            title: "PIM-SHERPA, Figure 9: DRAM for weights".to_owned(),
            tables: vec![StudyTable { title, columns, rows }],
            figures,
            notes,
            ..Study::default()
        })
    }

    /// Figure 10.
    pub fn ttft(&self) -> Study {
        let mut rows = Vec::new();
        for model in [SMALL, LARGE] {
            let weights = weights(model);
            for tokens in [32].into_iter().chain(LENGTHS) {
                let prefill = self.prefill(model, &weights, tokens);
                let [present, double, turns] =
                    [Policy::Present, Policy::DoubleBuffered, Policy::InTurns]
                        .map(|policy| prefill.seconds(policy));
                rows.push(vec![
                    model.into(),
                    whole(tokens),
                    number(present, 3),
                    number(double, 3),
                    number(turns, 3),
                    number(100.0 * (double / present - 1.0), 1),
                    number(tokens as f64 / double, 1),
                    number(tokens as f64 / turns, 1),
                ]);
            }
        }
        let small = weights(SMALL);
        let large = weights(LARGE);
        let at = |model: &str, weights: &ModelWeights, tokens, policy| {
            self.prefill(model, weights, tokens).seconds(policy)
        };
        let copy = |weights: &ModelWeights| {
            let all: f64 = weights
                .groups
                .iter()
                .map(|group| self.prefill(SMALL, weights, 1).copy(group))
                .sum();
            weights.layers as f64 * all
        };
        let over = |tokens| {
            let of = |policy| at(SMALL, &small, tokens, policy);
            100.0 * (of(Policy::DoubleBuffered) / of(Policy::Present) - 1.0)
        };
        let near = "near equal from 128 tokens on";
        let contention = "GEMM is taken to be slowed down by the copies beside it: --contention";
        let turns = 192.0 / at(LARGE, &large, 192, Policy::InTurns);
        let figures = vec![
            Figure::new(
                "1B: copy by two threads, s",
                "0.89, fitted",
                copy(&small),
                [0.87, 0.9],
                "no cause",
            ),
            Figure::new("3B: the same, s", "2.54, fitted", copy(&large), [2.5, 2.6], "no cause"),
            Figure::new(
                "1B: DDB over FACIL-O at 128 tokens, %",
                near,
                over(128),
                [0.0, 2.0],
                contention,
            ),
            Figure::new("1B: the same at 192 tokens, %", near, over(192), [0.0, 2.0], contention),
            Figure::new(
                "3B: OWR at 192 tokens, tokens per second",
                "16.7, fitted",
                turns,
                [16.6, 16.8],
                "no cause",
            ),
        ];
        let columns = vec![
            "model",
            "tokens",
            "WD, FACIL-O s",
            "DDB s",
            "OWR s",
            "DDB over FACIL-O %",
            "DDB tokens/s",
            "OWR tokens/s",
        ];
        let notes = vec![
            FITTED.to_owned(),
            "the paper hides copies \"when GEMM exceeds this latency (SL > 128)\", but by its own times, 0.74 s at 32 \
             tokens, GEMM takes longer than 0.89 s from 39 tokens on"
                .to_owned(),
            "at 32 tokens the paper has DDB and OWR of the 1B model about equal; this takes --contention 1.7".to_owned(),
        ];
        Study {
            study: "ttft",
            title: "PIM-SHERPA, Figure 10: time to the first token".to_owned(),
            tables: vec![StudyTable { title: self.of_contention(), columns, rows }],
            figures,
            notes,
            ..Study::default()
        }
    }

    /// Figure 12.
    pub fn speedup(&self) -> Result<Study, Failure> {
        let weights = weights(SMALL);
        let on_host = token::on_host(&self.phone, &weights);
        let in_banks = token::in_banks(&self.spec, &self.map, &weights).map_err(failure)?;
        let policies = [Policy::Present, Policy::DoubleBuffered, Policy::InTurns];
        let (mut rows, mut best, mut apart) = (Vec::new(), 0.0f64, 0.0f64);
        for tokens in LENGTHS {
            let prefill = self.prefill(SMALL, &weights, tokens);
            for out in LENGTHS {
                let of_host = prefill.seconds(Policy::Present) + out as f64 * on_host;
                let whole_request =
                    |policy: Policy| prefill.seconds(policy) + out as f64 * in_banks;
                let [facil, double, turns] = policies.map(|policy| of_host / whole_request(policy));
                best = best.max(turns);
                if tokens >= 128 {
                    apart = apart.max(100.0 * (facil / double - 1.0));
                }
                let mut row: Vec<Cell> = vec![whole(tokens), whole(out)];
                row.extend([facil, double, turns].map(|gain| number(gain, 2)));
                rows.push(row);
            }
        }
        let figures = vec![
            Figure::new(
                "OWR, best",
                "3.3, up to",
                best,
                [3.25, 3.35],
                "the host's share of the bandwidth is fitted to it",
            ),
            Figure::new(
                "FACIL-O over DDB from 128 tokens on, at most, %",
                "nearly identical",
                apart,
                [0.0, 1.5],
                "GEMM is taken to be slowed down by the copies beside it: --contention",
            ),
        ];
        let columns = vec!["prompt", "output", "FACIL-O", "DDB", "OWR"];
        let notes = vec![
            FITTED.to_owned(),
            format!(
                "a token takes {:.2} ms in the banks, by the closed form with refresh, and {:.1} ms on the host, at {} of \
                 its bandwidth",
                1e3 * in_banks,
                1e3 * on_host,
                self.phone.fitted.decode_efficiency
            ),
            "attention is not counted on either side".to_owned(),
        ];
        Ok(Study {
            study: "speedup",
            title: "PIM-SHERPA, Figure 12: Llama 3.2 1B against decoding on the host".to_owned(),
            tables: vec![StudyTable { title: self.of_contention(), columns, rows }],
            figures,
            notes,
            ..Study::default()
        })
    }

    /// Figure 13.
    pub fn limited(&self) -> Study {
        let weights = weights(LARGE);
        let policies =
            [Policy::Present, Policy::DoubleBuffered, Policy::InTurns, Policy::NonCacheable];
        let row = |&tokens: &u64| {
            let prefill = self.prefill(LARGE, &weights, tokens);
            let seconds = policies.map(|policy| number(prefill.seconds(policy), 2));
            [whole(tokens)].into_iter().chain(seconds).collect()
        };
        let figure = |(tokens, paper): (u64, f64)| {
            let ours = self.prefill(LARGE, &weights, tokens).seconds(Policy::NonCacheable);
            let band = [0.94 * paper, 1.06 * paper];
            let what = format!("NC-GEMM at {tokens} tokens, s");
            Figure::new(&what, &format!("{paper}"), ours, band, "no cause")
        };
        let printed = [(64, 148.0), (128, 332.0), (192, 458.0)];
        let columns = vec!["tokens", "C-GEMM s", "DDB s", "OWR s", "NC-GEMM s"];
        Study {
            study: "limited",
            title: "PIM-SHERPA, Figure 13: Llama 3.2 3B, weights in memory once".to_owned(),
            tables: vec![StudyTable {
                title: self.of_contention(),
                columns,
                rows: LENGTHS.iter().map(row).collect(),
            }],
            figures: printed.into_iter().map(figure).collect(),
            notes: vec![
                FITTED.to_owned(),
                "C-GEMM has its weights in cacheable memory, and no PIM for the tokens behind the first".to_owned(),
            ],
            ..Study::default()
        }
    }

    fn of_contention(&self) -> String {
        match self.contention {
            1.0 => "GEMM is as fast while weights are copied beside it".to_owned(),
            factor => {
                format!("GEMM takes {factor} times as long while weights are copied beside it")
            }
        }
    }
}

/// What the phone's rates are.
const FITTED: &str =
    "rates of copies and of GEMM are fitted to the paper's printed times (presets/galaxy-s24.toml)";
