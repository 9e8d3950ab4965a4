// SPDX-License-Identifier: MIT
//! The weights of a model in the groups in which they are copied (section 4.1), and the memory that they take.

use pimlico_device::lp5::{AddressMap, Lp5Layout, Lp5LayoutError};
use pimlico_model::Model;

/// Bytes of an element: BF16.
const ELEMENT: u64 = 2;

/// A matrix: outputs, and inputs.
pub type Shape = (u64, u64);

/// The matrices of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelWeights {
    /// Decoder layers.
    pub layers: u64,
    /// Those of a layer, in groups that are copied one behind the other: Q, K, V and O; then each of the feed-forward
    /// network by itself.
    pub groups: Vec<Vec<Shape>>,
    /// The language-model head, which is the embedding too.
    pub head: Shape,
    /// Numbers of norms.
    norms: u64,
}

impl ModelWeights {
    /// Those of a model.
    pub fn new(model: &Model) -> Self {
        let wide = |size: usize| size as u64;
        let (hidden, ffn) = (wide(model.hidden), wide(model.ffn));
        let q = wide(model.heads * model.head_dim);
        let kv = wide(model.kv_heads.unwrap_or(model.heads) * model.head_dim);
        let mut groups = vec![vec![(q, hidden), (kv, hidden), (kv, hidden), (hidden, q)]];
        let inputs = if model.gated { 2 } else { 1 };
        groups.extend(vec![vec![(ffn, hidden)]; inputs]);
        groups.push(vec![(hidden, ffn)]);
        let layers = wide(model.layers);
        let norms = (2 * layers + 1) * hidden;
        Self { layers, groups, head: (wide(model.vocab), hidden), norms }
    }

    /// Bytes of a layer's matrices.
    pub fn layer_bytes(&self) -> u64 {
        self.groups.iter().map(|group| bytes(group)).sum()
    }

    /// Bytes of the model, once.
    pub fn bytes(&self) -> u64 {
        self.layers * self.layer_bytes() + bytes(&[self.head]) + ELEMENT * self.norms
    }

    /// Bytes that padding adds in the banks.
    pub fn padding(&self, map: &AddressMap) -> Result<u64, Lp5LayoutError> {
        let of = |&(rows, columns): &Shape| {
            let layout = Lp5Layout::new(map, rows, columns, map.weight_rows())?;
            Ok(layout.padded_bytes() - bytes(&[(rows, columns)]))
        };
        let of_layer = self.groups.iter().flatten().map(of).sum::<Result<u64, _>>()?;
        Ok(self.layers * of_layer + of(&self.head)?)
    }

    /// Bytes of a cacheable buffer: the largest group's.
    pub fn buffer(&self) -> u64 {
        self.groups.iter().map(|group| bytes(group)).max().unwrap_or(0)
    }

    /// Memory of each policy.
    pub fn capacity(&self, map: &AddressMap) -> Result<Capacity, Lp5LayoutError> {
        let (host, buffer) = (self.bytes(), self.buffer());
        let banks = host + self.padding(map)?;
        Ok(Capacity {
            duplicated: host + banks,
            facil: banks,
            double_buffered: banks + 2 * buffer,
            in_turns: banks + buffer,
        })
    }
}

/// Bytes of matrices.
pub fn bytes(group: &[Shape]) -> u64 {
    group.iter().map(|(rows, columns)| ELEMENT * rows * columns).sum()
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// ModelWeights twice (WD).
    pub duplicated: u64,
    /// ModelWeights in the banks alone, with a memory controller that knows their layout (FACIL-O).
    pub facil: u64,
    /// ModelWeights in the banks and two buffers (DDB).
    pub double_buffered: u64,
    /// ModelWeights in the banks and one buffer (OWR).
    pub in_turns: u64,
}

impl Capacity {
    /// What a policy saves of the duplicated weights, in percent.
    pub fn saving(&self, of: u64) -> f64 {
        100.0 * (1.0 - of as f64 / self.duplicated as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(name: &str) -> ModelWeights {
        ModelWeights::new(&pimlico_model::presets()[name])
    }

    #[test]
    fn bytes_of_the_papers_models() {
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        let (small, large) = (weights("llama-3.2-1b"), weights("llama-3.2-3b"));
        assert_eq!([small.bytes(), large.bytes()], [2_471_628_800, 6_425_499_648]);
        assert_eq!(small.padding(&map), Ok(75 << 20));
        assert_eq!(large.padding(&map), Ok(33 << 19));
        assert_eq!([small.buffer(), large.buffer()], [32 << 20, 48 << 20]);
        // Without shared K and V heads the attention's matrices are the largest group.
        let mpt = weights("gpt3-7b");
        assert_eq!((mpt.groups.len(), mpt.buffer()), (3, 2 * 4 * 4096 * 4096));
    }

    #[test]
    fn savings() {
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        let saved = |name: &str| {
            let capacity = weights(name).capacity(&map).expect("it fits");
            [capacity.facil, capacity.in_turns, capacity.double_buffered]
                .map(|of| (100.0 * capacity.saving(of)).round() / 100.0)
        };
        assert_eq!(saved("llama-3.2-1b"), [49.22, 48.55, 47.88]);
        assert_eq!(saved("llama-3.2-3b"), [49.93, 49.54, 49.15]);
    }
}
