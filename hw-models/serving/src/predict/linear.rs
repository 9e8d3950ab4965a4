// SPDX-License-Identifier: MIT
//! A linear function of features, by least squares of the relative error.

use super::Observation;

/// Kept on the diagonal, in parts of it, so that features that never differ have a solution.
const RIDGE: f64 = 1e-9;

/// A constant, and a factor for each of `N` features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear<const N: usize> {
    /// The constant.
    pub constant: f64,
    /// The factors.
    pub factors: [f64; N],
}

impl<const N: usize> Linear<N> {
    /// Fitted to samples, which are some.
    pub fn fitted(samples: &[Observation<N>]) -> Self {
        // Features are scaled to 1, so that the diagonal is of one size.
        let mut scale = [1.0f64; N];
        for sample in samples {
            for (scale, of) in scale.iter_mut().zip(&sample.features) {
                *scale = scale.max(*of);
            }
        }
        let columns = N + 1;
        let mut matrix = vec![vec![0.0; columns + 1]; columns];
        for sample in samples {
            let weight = sample.weight();
            let at = |column: usize| match column {
                0 => 1.0,
                _ => sample.features[column - 1] / scale[column - 1],
            };
            for (row, sums) in matrix.iter_mut().enumerate() {
                for (column, sum) in sums[..columns].iter_mut().enumerate() {
                    *sum += weight * at(row) * at(column);
                }
                sums[columns] += weight * at(row) * sample.value;
            }
        }
        let size = matrix[0][0];
        for (row, sums) in matrix.iter_mut().enumerate() {
            sums[row] += RIDGE * size;
        }
        let solution = solved(matrix);
        let mut factors = [0.0; N];
        for (at, factor) in factors.iter_mut().enumerate() {
            *factor = solution[at + 1] / scale[at];
        }
        Self { constant: solution[0], factors }
    }

    /// The value that is expected.
    pub fn value(&self, features: &[f64; N]) -> f64 {
        let terms = self.factors.iter().zip(features).map(|(factor, of)| factor * of);
        self.constant + terms.sum::<f64>()
    }
}

/// The solution of linear equations, each with its right side behind it, by elimination.
fn solved(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let count = rows.len();
    for column in 0..count {
        let largest = (column..count)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            .unwrap_or(column);
        rows.swap(column, largest);
        let pivot = rows[column].clone();
        for (number, row) in rows.iter_mut().enumerate() {
            if number != column && pivot[column] != 0.0 {
                let factor = row[column] / pivot[column];
                row.iter_mut().zip(&pivot).for_each(|(of, pivot)| *of -= factor * pivot);
            }
        }
    }
    let value = |row: usize| {
        let pivot = rows[row][row];
        if pivot == 0.0 { 0.0 } else { rows[row][count] / pivot }
    };
    (0..count).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let sample = |number: u64| {
            let [a, b] = [number % 11, number * number % 7].map(|of| of as f64);
            Observation { features: [1e5 * a, b, 0.0], value: 3000.0 + 0.25 * 1e5 * a + 40.0 * b }
        };
        let samples: Vec<_> = (0..50).map(sample).collect();
        let linear = Linear::fitted(&samples);
        let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 1e-4 * theirs;
        assert!(close(linear.constant, 3000.0) && close(linear.factors[0], 0.25), "{linear:?}");
        assert!(close(linear.factors[1], 40.0) && linear.factors[2].abs() < 1e-6, "{linear:?}");
        assert!(close(linear.value(&[1e5, 2.0, 0.0]), 28_080.0));
    }
}
