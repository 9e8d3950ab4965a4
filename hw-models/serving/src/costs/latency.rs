// SPDX-License-Identifier: MIT
//! Costs as a line over the context, by least squares of the relative error, and how far off it is.

use super::{CostTable, Knot};
use serde::Serialize;

/// How far a line may be off before the cost itself is told, in percent.
const TOLD_PERCENT: f64 = 2.0;

/// A line over the tokens of the context.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LatencyLine {
    /// For each token.
    pub slope: f64,
    /// Beside the tokens.
    pub intercept: f64,
    /// Mean of the relative errors, in percent.
    pub mean_off_percent: f64,
    /// The largest, in percent.
    pub most_off_percent: f64,
    /// Tokens of the context where that is.
    pub most_off_tokens: u64,
}

/// A cost beside the line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Tokens of the context.
    pub tokens: u64,
    /// Duration in ns.
    pub ns: f64,
    /// The line there.
    pub line_ns: f64,
    /// How far that is off, in percent.
    pub off_percent: f64,
    /// Energy in pJ; 0 where it is not known.
    pub energy_pj: f64,
}

impl LatencyLine {
    /// That of the durations in ns.
    pub fn of_latency(table: &CostTable) -> Self {
        Self::of(table.knots(), |knot| knot.ps as f64 / 1000.0)
    }

    /// That of the energy in pJ.
    pub fn of_energy(table: &CostTable) -> Self {
        Self::of(table.knots(), |knot| knot.energy_pj as f64)
    }

    /// Weights are the inverse squares, so that short contexts count as much as long ones.
    fn of(knots: &[Knot], value: impl Fn(&Knot) -> f64) -> Self {
        let [mut w, mut x, mut y, mut xx, mut xy] = [0.0; 5];
        for knot in knots.iter().filter(|knot| value(knot) > 0.0) {
            let (at, of) = (knot.tokens as f64, value(knot));
            let weight = of.powi(-2);
            w += weight;
            x += weight * at;
            y += weight * of;
            xx += weight * at * at;
            xy += weight * at * of;
        }
        let determinant = w * xx - x * x;
        if determinant <= 0.0 {
            return Self {
                slope: 0.0,
                intercept: 0.0,
                mean_off_percent: 0.0,
                most_off_percent: 0.0,
                most_off_tokens: 0,
            };
        }
        let slope = (w * xy - x * y) / determinant;
        let intercept = (y - slope * x) / w;
        let off = |knot: &Knot| {
            let line = slope * knot.tokens as f64 + intercept;
            100.0 * (line / value(knot) - 1.0).abs()
        };
        let (mut sum, mut most, mut tokens) = (0.0, 0.0, 0);
        for knot in knots {
            let off = off(knot);
            sum += off;
            if off > most {
                (most, tokens) = (off, knot.tokens);
            }
        }
        let mean_off_percent = sum / knots.len() as f64;
        Self { slope, intercept, mean_off_percent, most_off_percent: most, most_off_tokens: tokens }
    }
}

impl Measured {
    /// The costs at powers of two, and where the line is off.
    pub fn rows(table: &CostTable, line: &LatencyLine) -> Vec<Self> {
        let of = |knot: &Knot| {
            let ns = knot.ps as f64 / 1000.0;
            let line_ns = line.slope * knot.tokens as f64 + line.intercept;
            let off_percent = 100.0 * (line_ns / ns - 1.0);
            let energy_pj = knot.energy_pj as f64;
            Self { tokens: knot.tokens, ns, line_ns, off_percent, energy_pj }
        };
        let is_told =
            |row: &Self| row.tokens.is_power_of_two() || row.off_percent.abs() > TOLD_PERCENT;
        table.knots().iter().map(of).filter(is_told).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_what_is_off_it_is_told() {
        let knot =
            |tokens: u64| Knot { tokens, ps: 1000 * (5 * tokens + 40), energy_pj: 7 * tokens };
        let mut knots: Vec<Knot> = (1..200).map(|n| knot(16 * n)).collect();
        let line = LatencyLine::of_latency(&CostTable::new(knots.clone()));
        assert!(
            (line.slope - 5.0).abs() < 1e-9 && (line.intercept - 40.0).abs() < 1e-6,
            "{line:?}"
        );
        assert!(line.most_off_percent < 1e-6);
        knots[150].ps *= 2;
        let table = CostTable::new(knots);
        let line = LatencyLine::of_latency(&table);
        assert_eq!(line.most_off_tokens, 16 * 151);
        let rows = Measured::rows(&table, &line);
        assert!(rows.iter().any(|row| row.tokens == 16 * 151 && row.off_percent < -40.0));
        let energy = LatencyLine::of_energy(&table);
        assert!((energy.slope - 7.0).abs() < 1e-9, "{energy:?}");
    }
}
