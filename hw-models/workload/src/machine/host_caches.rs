// SPDX-License-Identifier: MIT
//! K and V in the memory of LPDDR5X-PIM, for a host that computes attention itself: plain memory behind the matrices, in the order
//! of addresses.
//!
//! ```text
//! layer 0: K of token 0, 1, ...   V of token 0, 1, ...     layer 1: ...       each token: all K and V heads, whole bursts
//! ```

use crate::error::DecodeError;
use pimlico_device::lp5::address::BURST_BYTES;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{AddressMap, BurstPlace, Request, Vector};
use pimlico_host::lp5_memory::{address, loads, stores};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;

/// Where K and V are.
pub struct HostCaches {
    map: AddressMap,
    base: u64,
    /// Elements of a token's K, filled up to whole bursts.
    elements: usize,
    /// Tokens for which there is room.
    tokens: usize,
}

/// K and V of a layer as they were loaded: token by token, K before V.
pub struct Loaded {
    elements: usize,
    k: Vec<u16>,
    v: Vec<u16>,
}

impl HostCaches {
    /// Room for K and V of so many tokens from a row of each bank on.
    pub fn new(
        map: &AddressMap,
        first_row: u64,
        shape: &CheckpointShape,
        tokens: usize,
    ) -> Result<Self, DecodeError> {
        let elements = shape.kv_width().next_multiple_of(LANES);
        let bytes = 2 * (2 * elements * tokens * shape.layers) as u64;
        let wanted = bytes.div_ceil(map.row_bytes());
        let there = map.weight_rows().end.saturating_sub(first_row);
        if wanted > there {
            return Err(DecodeError::Rows { tokens, wanted, there });
        }
        Ok(Self { map: map.clone(), base: first_row * map.row_bytes(), elements, tokens })
    }

    /// The address of a token's K, or of its V.
    fn address(&self, layer: usize, is_v: bool, token: usize) -> u64 {
        assert!(token < self.tokens, "no room for another token");
        let vector = (2 * layer + usize::from(is_v)) * self.tokens + token;
        self.base + (2 * vector * self.elements) as u64
    }

    /// Stores of the last token's K and V, and their bytes.
    pub fn stores(&self, layer: usize, heads: &[Head]) -> (Vec<Vec<Request>>, u64) {
        let last = heads[0].k.len() - 1;
        let bursts = [false, true].into_iter().flat_map(|is_v| {
            let of = |head: &Head| if is_v { head.v[last].to_vec() } else { head.k[last].to_vec() };
            let vector: Vec<u16> = heads.iter().flat_map(of).collect();
            let first = self.address(layer, is_v, last);
            let burst = move |(n, elements): (usize, &[u16])| {
                let mut data: Vector = [0; LANES];
                data[..elements.len()].copy_from_slice(elements);
                (first + (n * BURST_BYTES) as u64, data)
            };
            vector.chunks(LANES).enumerate().map(burst).collect::<Vec<_>>()
        });
        (stores(&self.map, bursts), (2 * 2 * self.elements) as u64)
    }

    /// Loads of K and V of so many tokens.
    pub fn loads(&self, layer: usize, tokens: usize) -> Vec<Vec<Request>> {
        let of = |is_v| {
            let first = self.address(layer, is_v, 0);
            (first..first + (2 * tokens * self.elements) as u64).step_by(BURST_BYTES)
        };
        loads(&self.map, of(false).chain(of(true)))
    }

    /// Room for what is loaded of so many tokens.
    pub fn empty(&self, tokens: usize) -> Loaded {
        let zeros = vec![0; tokens * self.elements];
        Loaded { elements: self.elements, k: zeros.clone(), v: zeros }
    }

    /// Takes a burst of a layer that was loaded.
    pub fn take(&self, to: &mut Loaded, layer: usize, from: (usize, BurstPlace), data: &Vector) {
        let address = address(&self.map, from.0, from.1);
        let of_v = self.address(layer, true, 0);
        let (first, to) = match address < of_v {
            true => (self.address(layer, false, 0), &mut to.k),
            false => (of_v, &mut to.v),
        };
        to[(address - first) as usize / 2..][..LANES].copy_from_slice(data);
    }
}

impl Loaded {
    /// K and V of a token's head, which has so many elements.
    pub fn head(&self, token: usize, number: usize, head_dim: usize) -> [&[u16]; 2] {
        let at = token * self.elements + number * head_dim;
        [&self.k[at..at + head_dim], &self.v[at..at + head_dim]]
    }
}
