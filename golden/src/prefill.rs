// SPDX-License-Identifier: MIT
//! When the prefill of PIM-SHERPA ends: two clocks, one of the threads that multiply and one of those that copy, which wait
//! for each other where the method says so. No formula, but each matrix in its turn.

/// A weight matrix: seconds to multiply with it, and to copy it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix {
    /// Of its product with all tokens.
    pub multiply: f64,
    /// Of copying it out of the PIM's memory.
    pub copy: f64,
}

/// With two buffers: while the matrices of a group are multiplied, the next group is copied, in as many equal parts as the
/// group has matrices, and both wait for each other behind each matrix. The first group is copied before.
pub fn double_buffered(groups: &[Vec<Matrix>]) -> f64 {
    let copy = |group: &[Matrix]| -> f64 { group.iter().map(|matrix| matrix.copy).sum() };
    let mut both = groups.first().map_or(0.0, |first| copy(first));
    for (number, group) in groups.iter().enumerate() {
        let next = groups.get(number + 1).map_or(0.0, |next| copy(next));
        for matrix in group {
            let [mut multiplying, mut copying] = [both; 2];
            multiplying += matrix.multiply;
            copying += next / group.len() as f64;
            both = if multiplying > copying { multiplying } else { copying };
        }
    }
    both
}

/// With one buffer: each matrix is copied, then multiplied.
pub fn in_turns(groups: &[Vec<Matrix>]) -> f64 {
    let mut now = 0.0;
    for matrix in groups.iter().flatten() {
        now += matrix.copy;
        now += matrix.multiply;
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_hidden_but_for_the_first_and_what_is_longer() {
        let matrix = |multiply, copy| Matrix { multiply, copy };
        let groups = [vec![matrix(1.0, 1.0), matrix(3.0, 1.0)], vec![matrix(2.0, 4.0)]];
        // 2 before; then 2 of the 4 beside 1, 2 beside 3, and nothing beside 2.
        assert_eq!(double_buffered(&groups), 2.0 + 2.0 + 3.0 + 2.0);
        assert_eq!(in_turns(&groups), 12.0);
        assert_eq!((double_buffered(&[]), in_turns(&[])), (0.0, 0.0));
    }
}
