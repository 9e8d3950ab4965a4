// SPDX-License-Identifier: MIT
//! The rooflines beside kernels that were measured on an A100, in a file of the user's:
//! `model,hidden,ffn,heads,kv_heads,gated,tp,tokens,qkv_ms,projection_ms,ffn1_ms,ffn2_ms`.

use super::{Figure, Study, StudyTable, number, whole};
use crate::error::ServingError;
use crate::gpu::{Gpu, GpuGroup, GpuModel};
use crate::llm::Llm;
use crate::time::SECOND;
use pimlico_model::Model;
use std::collections::BTreeMap;

/// The columns of the file.
const COLUMNS: [&str; 12] = [
    "model",
    "hidden",
    "ffn",
    "heads",
    "kv_heads",
    "gated",
    "tp",
    "tokens",
    "qkv_ms",
    "projection_ms",
    "ffn1_ms",
    "ffn2_ms",
];

/// The first column of a matrix's time.
const MATRICES: usize = 8;

/// Rows of the file, at the most.
const MOST_ROWS: usize = 1_000_000;

/// Differences of a model's kernels: their number, and for each set of constants the sum.
#[derive(Default)]
struct Differences {
    kernels: u64,
    measured: f64,
    attacc: f64,
    by_tokens: BTreeMap<u64, (u64, f64)>,
}

/// Compares; `file` is the name of the file in errors.
pub fn run(file: &str, text: &str) -> Result<Study, ServingError> {
    let wrong =
        |line: usize, what: String| ServingError::Trace { file: file.to_owned(), line, what };
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    if head != COLUMNS {
        return Err(wrong(1, format!("expected the columns {}", COLUMNS.join(","))));
    }
    let mut models: BTreeMap<String, Differences> = BTreeMap::new();
    for (number, line) in lines.enumerate().take(MOST_ROWS) {
        let line_number = number + 2;
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |column: usize| cells.get(column).copied().unwrap_or_default();
        let size = |column: usize| {
            let size = cell(column).parse::<u64>().ok().filter(|n| (1..=1 << 24).contains(n));
            size.ok_or_else(|| {
                wrong(
                    line_number,
                    format!("{}: {}: expected 1 to 16777216", COLUMNS[column], cell(column)),
                )
            })
        };
        let [hidden, ffn, heads, kv_heads] = [size(1)?, size(2)?, size(3)?, size(4)?];
        let (tp, tokens) = (size(6)?, size(7)?);
        let llm = Llm::new(
            cell(0),
            Model {
                layers: 1,
                heads: heads as usize,
                kv_heads: Some(kv_heads as usize),
                head_dim: (hidden / heads).max(1) as usize,
                hidden: hidden as usize,
                ffn: ffn as usize,
                gated: cell(5).eq_ignore_ascii_case("true"),
                vocab: 1,
            },
        );
        let of_model = models.entry(cell(0).to_owned()).or_default();
        for (column, name) in COLUMNS.iter().enumerate().skip(MATRICES) {
            let ms = cell(column).parse::<f64>().ok().filter(|ms| ms.is_finite() && *ms > 0.0);
            let ms = ms.ok_or_else(|| {
                wrong(line_number, format!("{name}: {}: expected milliseconds", cell(column)))
            })?;
            let off = |model: GpuModel| {
                let ps = one_of(&llm, tp, column - MATRICES, tokens, model);
                (ps as f64 * 1e3 / SECOND as f64 / ms - 1.0).abs()
            };
            let (measured, attacc) = (off(GpuModel::Measured), off(GpuModel::Attacc));
            of_model.kernels += 1;
            of_model.measured += measured;
            of_model.attacc += attacc;
            let class = if tokens <= 128 {
                128
            } else if tokens <= 1024 {
                1024
            } else {
                u64::MAX
            };
            let of_class = of_model.by_tokens.entry(class).or_default();
            *of_class = (of_class.0 + 1, of_class.1 + measured);
        }
    }
    if models.is_empty() {
        return Err(wrong(1, "no kernel".to_owned()));
    }
    Ok(study(&models))
}

/// One of the four matrices of a layer on one GPU of `tp`.
fn one_of(llm: &Llm, tp: u64, matrix: usize, tokens: u64, model: GpuModel) -> u64 {
    let shared = GpuGroup { gpu: Gpu::A100, model, tp };
    let (rows, columns) =
        [shared.qkv(llm), shared.projection(llm), shared.ffn1(llm), shared.ffn2(llm)][matrix];
    GpuGroup { tp: 1, ..shared }.matrix_ps(rows, columns, tokens)
}

fn study(models: &BTreeMap<String, Differences>) -> Study {
    let percent = |sum: f64, count: u64| 100.0 * sum / count.max(1) as f64;
    let (mut rows, mut figures) = (Vec::new(), Vec::new());
    for (name, of) in models {
        let class = |class: u64| {
            let (count, sum) = of.by_tokens.get(&class).copied().unwrap_or_default();
            number(percent(sum, count), 1)
        };
        let (measured, attacc) = (percent(of.measured, of.kernels), percent(of.attacc, of.kernels));
        rows.push(vec![
            name.as_str().into(),
            whole(of.kernels),
            number(measured, 1),
            class(128),
            class(1024),
            class(u64::MAX),
            number(attacc, 1),
        ]);
        figures.push(Figure::new(
            &format!("{name}: mean error of `measured`, %"),
            "no figure",
            measured,
            [0.0, 10.0],
            "constants of one model for all",
        ));
    }
    Study {
        study: "gpu-validation",
        title: "rooflines beside kernels measured on an A100: mean relative error".to_owned(),
        tables: vec![StudyTable {
            title: "Matrices of a layer".to_owned(),
            columns: vec![
                "model",
                "kernels",
                "measured, %",
                "to 128 tokens, %",
                "to 1 024, %",
                "above, %",
                "attacc, %",
            ],
            rows,
        }],
        figures,
        violations: 0,
        notes: vec!["no attention kernels were measured".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_compared_and_what_is_wrong_is_named() {
        let head = COLUMNS.join(",");
        let row = "Qwen-72B,8192,24576,64,64,True,1,4096,7.306,2.468,14.091,7.224";
        let study = run("a.csv", &format!("{head}\n{row}\n")).expect("a study");
        assert!(study.figures[0].ours < 15.0, "{:?}", study.figures);
        let refused = |text: &str| run("a.csv", text).expect_err("it is wrong").to_string();
        assert!(refused("x").starts_with("a.csv:1: expected the columns model,hidden"));
        assert_eq!(refused(&head), "a.csv:1: no kernel");
        let zero = row.replace(",64,64,", ",0,64,");
        assert_eq!(
            refused(&format!("{head}\n{zero}")),
            "a.csv:2: heads: 0: expected 1 to 16777216"
        );
        let nan = row.replace("7.224", "nan");
        assert_eq!(
            refused(&format!("{head}\n{nan}")),
            "a.csv:2: ffn2_ms: nan: expected milliseconds"
        );
    }
}
