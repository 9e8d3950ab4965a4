// SPDX-License-Identifier: MIT
//! Matrices times vectors of LPDDR5X-PIM beside `golden`'s: column after column, in one sum for each output.

use super::results::{Beside, judgement};
use crate::parallel;
use crate::report::Verdict;
use pimlico_device::lp5::{BlockElements, BlockFormats};
use pimlico_golden::column_gemv::column_gemv;
use pimlico_golden::exact;
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;

/// Elements of rows for which a thread is worth its start.
const FOR_A_THREAD: usize = 1 << 14;

/// The same format as `golden` has it.
pub(super) fn format(elements: BlockElements) -> Format {
    match elements {
        BlockElements::Bfloat16 => Format::BFLOAT16,
        BlockElements::Binary16 => Format::BINARY16,
    }
}

/// By how much an output may miss the real one, as a factor of the sum of its products' magnitudes: each product is rounded once,
/// and the sum once for each column (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 4.2).
fn growth(formats: BlockFormats, columns: usize) -> f64 {
    let unit = |format: Format| (-f64::from(format.man_bits + 1)).exp2();
    let of_elements = unit(format(formats.elements)).ln_1p();
    let exponent = match formats.wide {
        true => 2.0 * of_elements + columns as f64 * unit(Format::BINARY32).ln_1p(),
        false => (1 + columns) as f64 * of_elements,
    };
    // Beyond, it says nothing; but it stays a number.
    exponent.min(300.0).exp_m1() + columns as f64 * f64::EPSILON
}

/// What is right of some rows: bits, real numbers and their bounds.
type Expected = (Vec<u16>, Vec<f64>, Vec<f64>);

/// What the outputs of a matrix, whose rows stand one behind the other, times a vector are; found out on so many threads.
pub fn column_product(
    formats: BlockFormats,
    matrix: &[u16],
    vector: &[u16],
    outputs: &[u16],
    threads: usize,
) -> Verdict {
    let elements = format(formats.elements);
    let sums = if formats.wide { Format::BINARY32 } else { elements };
    let precision = Precision { elements, subnormals: Subnormals::Gradual, sums };
    let all: Vec<f64> = (0..1 << 16).map(|bits| exact::to_f64(elements, bits)).collect();
    let number = |bits: &u16| all[usize::from(*bits)];
    let (columns, numbers) = (vector.len(), vector.iter().map(number).collect::<Vec<_>>());
    let growth = growth(formats, columns);
    let smallest =
        (2.0 - f64::from(1u32 << (elements.exp_bits - 1)) - f64::from(elements.man_bits)).exp2();
    let expected = |rows: &&[u16]| -> Expected {
        let bits = column_gemv(&precision, rows, vector);
        let (real, bounds) = rows
            .chunks(columns)
            .map(|row| {
                let products = row.iter().map(number).zip(&numbers).map(|(w, x)| w * x);
                let sums = products.fold((0.0, 0.0), |(sum, all), p| (sum + p, all + f64::abs(p)));
                let (real, magnitudes): (f64, f64) = sums;
                (real, growth * magnitudes + columns as f64 * smallest * (1.0 + growth))
            })
            .unzip();
        (bits, real, bounds)
    };
    let rows = outputs.len();
    let threads = threads.min(rows * columns / FOR_A_THREAD).max(1);
    // Small parts, so that threads end together.
    let parts: Vec<_> = matrix.chunks(rows.div_ceil(8 * threads) * columns).collect();
    let (mut bits, mut real, mut bounds) = Expected::default();
    for part in parallel::each(&parts, threads, expected) {
        bits.extend(part.0);
        real.extend(part.1);
        bounds.extend(part.2);
    }
    let beside = Beside {
        result: "output",
        head: None,
        format: elements,
        bits: &bits,
        real: &real,
        bounds: &bounds,
    };
    judgement(outputs, &beside)
}
