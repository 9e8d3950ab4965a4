// SPDX-License-Identifier: MIT
//! What does NeuPIMs' scheduler decide, and how long is its timeline?
//!
//! Algorithms 1 to 3 of the paper, stated by counting and by search: tiles are counted one by one, the latency without
//! rounding is one exact fraction, the best packing is searched for, and the timeline of two sub-batches is summed slot by slot.
//!
//! ```
//! use pimlico_golden::neupims::Channel;
//!
//! // GPT3-7B over four devices: 1024 elements in 8 heads of 128.
//! let channel = Channel { embedding: 1024, heads: 8, banks: 32, page: 512, gwrite: 100, tile: 184 };
//! assert_eq!(channel.latency(300), 10_568);
//! assert_eq!(channel.exact_latency(300), (124_006_400, 16_384));
//! ```

/// A channel and the part of a model that it computes (Algorithm 1's parameters).
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// Elements of K of a token on this device.
    pub embedding: u64,
    /// Heads on this device.
    pub heads: u64,
    /// Banks of a channel.
    pub banks: u64,
    /// Elements of a DRAM page.
    pub page: u64,
    /// tCK to fill the global buffer.
    pub gwrite: u64,
    /// tCK of a tile of one row in each bank.
    pub tile: u64,
}

impl Channel {
    /// tCK of a request's attention where every quotient is rounded up: tiles and GWRITEs are counted one by one.
    pub fn latency(&self, tokens: u64) -> u64 {
        let pieces = |of: u64, size: u64| (0..of).step_by(size as usize).count() as u64;
        let mut tck = 0;
        for _page_of_query in 0..pieces(self.embedding, self.page) {
            tck += self.gwrite + self.tile * pieces(tokens, self.banks);
        }
        for _head in 0..self.heads {
            for _page_of_logits in 0..pieces(tokens, self.page) {
                tck += self.gwrite + self.tile * pieces(self.embedding / self.heads, self.banks);
            }
        }
        tck
    }

    /// The same without rounding, as numerator and denominator.
    pub fn exact_latency(&self, tokens: u64) -> (u128, u128) {
        let Self { embedding, heads, banks, page, gwrite, tile } = *self;
        let [e, n, b, p, g, t, s] =
            [embedding, heads, banks, page, gwrite, tile, tokens].map(u128::from);
        (e * (g * b + t * s) + s * (n * g * b + t * e), p * b)
    }
}

/// Algorithm 2: the channel of each new request, by its length and latency, behind what the channels have.
pub fn packed(channels: &[u64], requests: &[(u64, u64)]) -> Vec<usize> {
    let mut loads = channels.to_vec();
    let mut places = vec![usize::MAX; requests.len()];
    // The longest that is left, the first of equal ones, until none is.
    while let Some(next) = (0..requests.len())
        .filter(|&request| places[request] == usize::MAX)
        .reduce(|best, other| if requests[other].0 > requests[best].0 { other } else { best })
    {
        let least = *loads.iter().min().expect("a channel");
        let channel = loads.iter().position(|&load| load == least).expect("it is there");
        places[next] = channel;
        loads[channel] += requests[next].1;
    }
    places
}

/// The least load that the busiest of empty channels can have, by search.
pub fn least_busiest(channels: usize, latencies: &[u64]) -> u64 {
    fn search(loads: &mut Vec<u64>, left: &[u64], best: &mut u64) {
        let Some((&next, left)) = left.split_first() else {
            *best = loads.iter().copied().max().unwrap_or(0).min(*best);
            return;
        };
        for channel in 0..loads.len() {
            // Channels of equal loads are the same, and what is as bad as the best is no better.
            let is_new = !loads[..channel].contains(&loads[channel]);
            if is_new && loads[channel] + next < *best {
                loads[channel] += next;
                search(loads, left, best);
                loads[channel] -= next;
            }
        }
    }
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    let mut best = latencies.iter().sum::<u64>() + 1;
    search(&mut vec![0; channels], &sorted, &mut best);
    best
}

/// Algorithm 3: how many of each channel's requests are in the first sub-batch.
pub fn first_parts(requests: &[usize]) -> Vec<usize> {
    let odd_before = |channel: usize| requests[..channel].iter().filter(|n| *n % 2 == 1).count();
    let part = |channel: usize| {
        let larger = requests[channel] % 2 == 1 && odd_before(channel).is_multiple_of(2);
        requests[channel] / 2 + usize::from(larger)
    };
    (0..requests.len()).map(part).collect()
}

/// Times of the operators of two sub-batches in a block.
#[derive(Clone, Copy, Debug)]
pub struct Operators {
    /// QKV generation.
    pub qkv: [u64; 2],
    /// Attention.
    pub mha: [u64; 2],
    /// Projection and feed-forward network.
    pub ffn: [u64; 2],
}

/// The time of so many blocks in slots that end when both sides have (Fig. 11b): the NPU has the sub-batches in turn, and
/// the PIM has the one that the NPU had in the slot before.
pub fn interleaved(blocks: usize, of: &Operators) -> u64 {
    let slot = |slot: usize| {
        let (sub_batch, block) = (slot % 2, slot / 2);
        let ffn = if block > 0 { of.ffn[sub_batch] } else { 0 };
        let qkv = if block < blocks { of.qkv[sub_batch] } else { 0 };
        let mha = if (1..=2 * blocks).contains(&slot) { of.mha[(slot - 1) % 2] } else { 0 };
        (ffn + qkv).max(mha)
    };
    (0..2 * blocks + 2).map(slot).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_packing_is_found() {
        // The greedy one has 3 + 2 + 2 = 7 here.
        assert_eq!(least_busiest(2, &[3, 3, 2, 2, 2]), 6);
        assert_eq!(packed(&[0, 0], &[(3, 3), (3, 3), (2, 2), (2, 2), (2, 2)]), [0, 1, 0, 1, 0]);
        assert_eq!(packed(&[9, 0], &[(1, 4), (5, 4)]), [1, 1]);
    }

    #[test]
    fn odd_channels_take_turns() {
        assert_eq!(first_parts(&[3, 2, 1, 5, 0]), [2, 1, 0, 3, 0]);
    }

    #[test]
    fn slots_follow_each_other() {
        let of = Operators { qkv: [1, 2], mha: [10, 20], ffn: [3, 4] };
        // A 1, B max(2, 10), E max(3, 20), F max(4, 0): one block, without C and D but for MHA of the second.
        assert_eq!(interleaved(1, &of), 1 + 10 + 20 + 4);
        assert_eq!(interleaved(2, &of), 1 + 10 + (20 + 10) + 20 + 4);
    }
}
