// SPDX-License-Identifier: MIT
//! A random forest: the mean of regression trees, each grown on samples that are drawn with replacement.
//!
//! Samples count by the inverse square of their value, so that what is made small is the relative error. Sums are of `f64` in
//! a fixed order, and draws are seeded: a forest is the same on all machines.

use super::Observation;
use crate::trace::synthetic::generator;
use rand_xoshiro::rand_core::RngCore;

/// Trees of a forest.
const TREES: usize = 32;
/// Splits from the root to a leaf, at the most.
const DEPTH: usize = 12;
/// Samples of a leaf, at the least.
const LEAF: usize = 2;

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// The mean of its samples.
    Leaf(f64),
    /// Samples whose feature is at most `at` are behind the next node, the others behind `above`.
    Split { feature: usize, at: f64, above: usize },
}

/// A forest over `N` features.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest<const N: usize> {
    trees: Vec<Vec<Node>>,
}

impl<const N: usize> Forest<N> {
    /// Grown on samples, which are some.
    pub fn grown(samples: &[Observation<N>], seed: u64) -> Self {
        let mut random = generator(seed);
        let mut drawn = vec![Observation::default(); samples.len()];
        let trees = (0..TREES).map(|_| {
            drawn.fill_with(|| samples[(random.next_u64() % samples.len() as u64) as usize]);
            let mut nodes = Vec::new();
            grow(&mut drawn, DEPTH, &mut nodes);
            nodes
        });
        Self { trees: trees.collect() }
    }

    /// The value that is expected.
    pub fn value(&self, features: &[f64; N]) -> f64 {
        let sum: f64 = self.trees.iter().map(|nodes| of_tree(nodes, features)).sum();
        sum / self.trees.len() as f64
    }
}

fn of_tree<const N: usize>(nodes: &[Node], features: &[f64; N]) -> f64 {
    let mut node = 0;
    loop {
        match nodes[node] {
            Node::Leaf(value) => return value,
            Node::Split { feature, at, above } => {
                node = if features[feature] <= at { node + 1 } else { above };
            }
        }
    }
}

/// Weighted count, sum and sum of squares of values.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    weight: f64,
    value: f64,
    square: f64,
}

impl Sums {
    fn and<const N: usize>(self, sample: &Observation<N>, sign: f64) -> Self {
        let weight = sign * sample.weight();
        Self {
            weight: self.weight + weight,
            value: self.value + weight * sample.value,
            square: self.square + weight * sample.value * sample.value,
        }
    }

    fn of<const N: usize>(samples: &[Observation<N>]) -> Self {
        samples.iter().fold(Self::default(), |sums, sample| sums.and(sample, 1.0))
    }

    fn mean(&self) -> f64 {
        self.value / self.weight
    }

    /// Squared distances from the mean.
    fn spread(&self) -> f64 {
        self.square - self.value * self.value / self.weight
    }
}

/// Adds the nodes of samples, which come into another order.
fn grow<const N: usize>(samples: &mut [Observation<N>], depth: usize, nodes: &mut Vec<Node>) {
    let all = Sums::of(samples);
    let number = nodes.len();
    nodes.push(Node::Leaf(all.mean()));
    if depth == 0 || samples.len() < 2 * LEAF {
        return;
    }
    let mut best: Option<(f64, usize, usize)> = None;
    for feature in 0..N {
        sort(samples, feature);
        let (mut under, mut over) = (Sums::default(), all);
        for count in 1..=samples.len() - LEAF {
            let moved = &samples[count - 1];
            (under, over) = (under.and(moved, 1.0), over.and(moved, -1.0));
            let is_apart = moved.features[feature] < samples[count].features[feature];
            if count < LEAF || !is_apart {
                continue;
            }
            let spread = under.spread() + over.spread();
            if best.is_none_or(|(least, ..)| spread < least) {
                best = Some((spread, feature, count));
            }
        }
    }
    let Some((_, feature, count)) = best else { return };
    sort(samples, feature);
    let at = (samples[count - 1].features[feature] + samples[count].features[feature]) / 2.0;
    let (under, over) = samples.split_at_mut(count);
    grow(under, depth - 1, nodes);
    nodes[number] = Node::Split { feature, at, above: nodes.len() };
    grow(over, depth - 1, nodes);
}

fn sort<const N: usize>(samples: &mut [Observation<N>], feature: usize) {
    // Equal features are in the order of their values, so that the order before makes no difference.
    samples.sort_by(|a, b| {
        let by_feature = a.features[feature].total_cmp(&b.features[feature]);
        by_feature.then(a.value.total_cmp(&b.value))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forest_finds_steps_and_slopes() {
        let sample = |number: u64| {
            let [x, y] = [number % 37, number / 37].map(|of| of as f64);
            Observation {
                features: [x, y],
                value: 100.0 + 10.0 * x + if y > 12.0 { 500.0 } else { 0.0 },
            }
        };
        let samples: Vec<_> = (0..37 * 25).map(sample).collect();
        let forest = Forest::grown(&samples, 1);
        for of in &samples {
            let off = (forest.value(&of.features) / of.value - 1.0).abs();
            assert!(off < 0.05, "{of:?}: {off}");
        }
        assert_eq!(forest, Forest::grown(&samples, 1));
        assert_ne!(forest, Forest::grown(&samples, 2));
    }

    #[test]
    fn samples_that_are_alike_are_a_leaf() {
        let samples = [Observation { features: [1.0], value: 7.0 }; 9];
        let forest = Forest::grown(&samples, 1);
        assert!(forest.trees.iter().all(|nodes| nodes.len() == 1));
        assert!((forest.value(&[5.0]) - 7.0).abs() < 1e-9);
    }
}
