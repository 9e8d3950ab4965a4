// SPDX-License-Identifier: MIT
//! Attention of the host, in float32, beside float64 of the same K, V and Q: how far each output may be from it.
//!
//! ```text
//! score   d products and sums, and the factor, rounded each     (d + 4) u of the sum of magnitudes: D
//! weight  exp(score - most) / sum of n of them                  exponents off by 2 D and u of their range
//! output  n products and sums, then rounded to an element       n u more, and half an ulp
//! ```
//!
//! with u = 2^-24 (Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, section 3.1). `expf` of the platform is taken to
//! be within four ulps.

use super::columns::format;
use super::heads::HeadJudgement;
use super::results::{Beside, judgement};
use crate::results::{Attention, scale};
use pimlico_device::lp5::BlockElements;
use pimlico_golden::attention::attention;
use pimlico_golden::exact;
use pimlico_golden::format::Format;
use pimlico_model::data::Head;

/// Unit roundoff of float32.
const UNIT: f64 = 1.0 / (1 << 24) as f64;
/// Ulps by which `expf` may be off.
const EXP_ULPS: f64 = 4.0;

/// Judges the contexts of a head's queries, in elements of this format.
pub fn judge(elements: BlockElements, head: &Head, result: &Attention) -> HeadJudgement {
    let format = format(elements);
    let queries = head.queries.iter().zip(&result.context).enumerate();
    let of_query = |(number, (query, context)): (usize, (&Vec<u16>, &Vec<u16>))| {
        let (real, bounds) = expected(format, head, query);
        let beside = Beside {
            result: "context",
            head: Some(number),
            format,
            bits: &[],
            real: &real,
            bounds: &bounds,
        };
        HeadJudgement::of_output(judgement(context, &beside))
    };
    queries.map(of_query).fold(HeadJudgement::default(), HeadJudgement::and)
}

/// The context in float64, and by how much each element may miss it.
fn expected(format: Format, head: &Head, query: &[u16]) -> (Vec<f64>, Vec<f64>) {
    let (k, v) = (head.k.slices(), head.v.slices());
    let (elements, factor) = (query.len(), scale(query.len()));
    let real = attention(format, query, &k, &v, factor);
    let number = |bits: u16| exact::to_f64(format, bits.into());
    let magnitude = |token: &&[u16]| -> f64 {
        query.iter().zip(*token).map(|(q, k)| (number(*q) * number(*k)).abs()).sum()
    };
    let magnitudes = k.iter().map(magnitude).fold(0.0, f64::max);
    let score = (elements as f64 + 4.0) * UNIT * factor * magnitudes;
    let tokens = k.len() as f64;
    let spread = 2.0 * factor * magnitudes * UNIT;
    let exponent = 2.0 * (2.0 * score + spread) + 2.0 * (EXP_ULPS + tokens + 2.0) * UNIT;
    let growth = exponent.min(300.0).exp_m1();
    let half_ulp = (-f64::from(format.man_bits + 1)).exp2();
    let smallest =
        (2.0 - f64::from(1u32 << (format.exp_bits - 1)) - f64::from(format.man_bits)).exp2();
    let of_element = |element: usize| {
        let terms = real.weights.iter().zip(&v).map(|(w, v)| (w * number(v[element])).abs());
        // A weight that float32 flushes is below 2^-126 of the sum.
        let before = terms.sum::<f64>() * growth + tokens * f64::from(f32::MIN_POSITIVE);
        before + (real.context[element].abs() + before) * half_ulp + smallest
    };
    let bounds = (0..elements).map(of_element).collect();
    (real.context, bounds)
}
