// SPDX-License-Identifier: MIT
//! Which requests an iteration has: sub-batches that are even, and prompts in chunks that fill what the GPU has left.
//!
//! L3's sections 5.2 and 5.3, with what the paper leaves open decided:
//!
//! * `T_GPU_i`, eqs. (1) and (3), is the time of a layer of sub-batch `i` on the GPU, with its own decoding requests: the others
//!   are in attention then. `T_PIM_i`, eqs. (2) and (4), is the busiest rankset, Q, K and V on their way, and the other
//!   sub-batch's K and V of prompts.
//! * Where the other sub-batch has no decoding request, up to [`IDLE_TOKENS`] tokens of prompts are added.
//! * A chunk is no shorter than [`LEAST_CHUNK`] tokens, unless its prompt ends: fewer cost the GPU nearly as much, since it
//!   reads all weights, and a system with few requests would never take in more.
//! * A request has one chunk in an iteration.

use crate::iteration::{Part, SubBatch};
use crate::predict::linear::Linear;
use crate::predict::{self, Features, Predictor};
use crate::replica::{Chunk, Decoding, PCIE_LATENCY_PS, Replica};
use std::collections::VecDeque;

/// Tokens of prompts in a sub-batch beside one that decodes nothing.
pub const IDLE_TOKENS: u64 = 2048;
/// Tokens of a chunk that is not the end of its prompt, at the least.
pub const LEAST_CHUNK: u64 = 512;
/// Chunks are whole multiples of so many tokens.
pub const TILE: u64 = 16;
/// Tokens of prompts in an iteration where prompts come first.
pub const FIRST_TOKENS: u64 = 8192;

/// A request whose prompt is not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Its place among the live requests.
    pub live: usize,
    /// Tokens that are left.
    pub left: u64,
    /// Tokens that are finished.
    pub finished: u64,
    /// Its first rankset.
    pub class: u32,
}

/// What a sub-batch has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Half {
    /// Decoding requests, by their place among the live ones.
    pub decoding: Vec<(usize, Decoding)>,
    /// Chunks of prompts, by the place of their request.
    pub chunks: Vec<(usize, Chunk)>,
}

impl Half {
    /// Its tasks on a replica.
    pub fn on(&self, replica: &Replica) -> SubBatch {
        let (decoding, chunks) = self.parts();
        replica.sub_batch(&decoding, &chunks)
    }

    /// Its requests and chunks without their places.
    pub fn parts(&self) -> (Vec<Decoding>, Vec<Chunk>) {
        let decoding = self.decoding.iter().map(|&(_, request)| request).collect();
        let chunks = self.chunks.iter().map(|&(_, chunk)| chunk).collect();
        (decoding, chunks)
    }
}

/// Decoding requests in two sub-batches of even tokens: by their tokens, the longest first, each to the lighter one.
pub fn even(mut decoding: Vec<(usize, Decoding)>) -> [Half; 2] {
    decoding.sort_by_key(|&(live, of)| (u64::MAX - of.context, live));
    let mut halves = [Half::default(), Half::default()];
    let mut tokens = [0, 0];
    for request in decoding {
        let lighter = usize::from(tokens[1] < tokens[0]);
        tokens[lighter] += request.1.context;
        halves[lighter].decoding.push(request);
    }
    halves
}

/// The same with tokens that are even in each rankset: each request goes to the sub-batch that has fewer in its own, or fewer of
/// all. The paper has the sum alone; of that each layer still waits for the busiest rankset.
pub fn even_by_rankset(mut decoding: Vec<(usize, Decoding)>, sets: usize) -> [Half; 2] {
    decoding.sort_by_key(|&(live, of)| (u64::MAX - of.context, live));
    let mut halves = [Half::default(), Half::default()];
    let (mut all, mut of_sets) = ([0, 0], vec![[0, 0]; sets]);
    for request in decoding {
        let (context, set) = (request.1.context, request.1.class as usize);
        let lighter = [0, 1].into_iter().min_by_key(|&half| (of_sets[set][half], all[half]));
        let lighter = lighter.unwrap_or(0);
        of_sets[set][lighter] += context;
        all[lighter] += context;
        halves[lighter].decoding.push(request);
    }
    halves
}

/// An iteration of prompts alone: in their order, until there are [`FIRST_TOKENS`] tokens.
pub fn prompts_first(prompts: impl IntoIterator<Item = Prompt>) -> Half {
    let (mut half, mut left) = (Half::default(), FIRST_TOKENS);
    for prompt in prompts {
        if left == 0 {
            break;
        }
        let tokens = prompt.left.min(left);
        left -= tokens;
        half.chunks.push((prompt.live, prompt.chunk(tokens)));
    }
    half
}

impl Prompt {
    /// Its next tokens.
    fn chunk(&self, tokens: u64) -> Chunk {
        Chunk { tokens, finished: self.finished, class: self.class }
    }
}

/// What the scheduler expects a layer of a sub-batch to take: the costs themselves, or what it has learned of them.
#[derive(Clone, Copy)]
pub struct Estimate<'a> {
    /// The costs.
    pub replica: &'a Replica,
    /// What was learned, where that is asked for.
    pub learned: Option<&'a Predictor>,
}

impl Estimate<'_> {
    /// On the GPU, with so many decoding requests.
    fn gpu_ps(&self, decoding: usize, chunks: &[Chunk]) -> u64 {
        let batch =
            self.learned.and_then(|of| of.batch.value(&predict::of_batch(decoding, chunks)));
        let prompts = match (chunks, self.learned) {
            ([], _) => Some(0),
            (_, Some(of)) => of.prompts.value(&predict::of_prompts(chunks)),
            (_, None) => None,
        };
        batch.unwrap_or_else(|| self.replica.batch_ps(decoding, chunks))
            + prompts.unwrap_or_else(|| self.replica.prompts_ps(chunks))
    }

    /// On what computes attention beside the GPU, next to the other sub-batch's chunks.
    fn attention<'b>(&self, decoding: &'b [Decoding]) -> Attention<'b> {
        let sums = |of: &Predictor| of.decoding.model().map(|model| Known::Sums(*model));
        let busiest = |of: &Predictor| of.busiest.model().map(|model| Known::Busiest(*model));
        let learned = self.learned.and_then(|of| match of.features {
            Features::Sums => sums(of),
            Features::Busiest => busiest(of),
        });
        let known =
            learned.unwrap_or_else(|| Known::Itself(attention_ps(&self.replica.parts(decoding))));
        Attention { decoding, known }
    }
}

/// What is expected of the attention of decoding requests.
struct Attention<'a> {
    decoding: &'a [Decoding],
    known: Known,
}

enum Known {
    Itself(u64),
    Sums(Linear<3>),
    Busiest(Linear<4>),
}

impl Attention<'_> {
    fn ps(&self, replica: &Replica, others: &[Chunk]) -> u64 {
        let expected = match self.known {
            Known::Itself(ps) => return ps + overlap_ps(&replica.prompts(others)),
            Known::Sums(model) => model.value(&predict::of_decoding(self.decoding, others)),
            Known::Busiest(model) => model.value(&predict::of_busiest(self.decoding, others)),
        };
        expected.max(0.0).round() as u64
    }
}

/// Time of a layer on what computes attention beside the GPU, with what it exchanges with the GPU.
fn attention_ps(parts: &[Part]) -> u64 {
    let Some(compute) = parts.iter().map(|part| part.compute_ps).max() else { return 0 };
    let exchange = parts.iter().map(|part| part.down_ps + part.up_ps).max().unwrap_or(0);
    let latency = if exchange > 0 { 2 * PCIE_LATENCY_PS } else { 0 };
    compute + exchange + latency
}

/// What K and V of prompts take of it: they are spread over the ranksets.
fn overlap_ps(prompts: &[(u32, u64)]) -> u64 {
    prompts.iter().map(|(_, ps)| ps).sum::<u64>() / prompts.len().max(1) as u64
}

/// What two sub-batches took is seen: `halves` of an iteration, as they ran.
pub fn see(predictor: &mut Predictor, halves: &[Half; 2], replica: &Replica) {
    let parts = [halves[0].parts(), halves[1].parts()];
    for (of, (decoding, chunks)) in parts.iter().enumerate() {
        if decoding.is_empty() && chunks.is_empty() {
            continue;
        }
        let count = decoding.len();
        predictor.batch.see(predict::of_batch(count, chunks), replica.batch_ps(count, chunks));
        predictor.prompts.see(predict::of_prompts(chunks), replica.prompts_ps(chunks));
        let (_, others) = &parts[1 - of];
        if !decoding.is_empty() {
            let features = predict::of_decoding(decoding, others);
            let ps = attention_ps(&replica.parts(decoding)) + overlap_ps(&replica.prompts(others));
            predictor.decoding.see(features, ps);
            predictor.busiest.see(predict::of_busiest(decoding, others), ps);
        }
    }
}

/// Adds prompts to both sub-batches, to sub-batch 1 first, so that each keeps the GPU busy while the other is in attention.
pub fn interleave(halves: &mut [Half; 2], prompts: VecDeque<Prompt>, estimate: Estimate<'_>) {
    if prompts.is_empty() {
        return;
    }
    let mut prompts = prompts;
    for of in [1, 0] {
        let (decoding, _) = halves[1 - of].parts();
        let other = estimate.attention(&decoding);
        fill(&mut halves[of], &other, &mut prompts, estimate);
    }
}

/// Adds prompts to a sub-batch beside the other one.
fn fill(
    half: &mut Half,
    other: &Attention<'_>,
    prompts: &mut VecDeque<Prompt>,
    estimate: Estimate<'_>,
) {
    let (decoding, mut chunks) = (half.decoding.len(), half.parts().1);
    let mut added = 0;
    while let Some(&prompt) = prompts.front() {
        let idle = IDLE_TOKENS.saturating_sub(added);
        let target = other.ps(estimate.replica, &chunks);
        let without = estimate.gpu_ps(decoding, &chunks);
        let mut time = |tokens: u64| {
            chunks.push(prompt.chunk(tokens));
            let ps = estimate.gpu_ps(decoding, &chunks);
            chunks.pop();
            ps
        };
        let tokens = match other.decoding.is_empty() {
            true => prompt.left.min(idle),
            false if time(prompt.left) <= target => prompt.left,
            false if added > 0 && without >= target => 0,
            false => cut(prompt.left, target, time).max(LEAST_CHUNK.saturating_sub(added)),
        };
        let tokens = tokens.min(prompt.left);
        if tokens == 0 {
            return;
        }
        prompts.pop_front();
        chunks.push(prompt.chunk(tokens));
        half.chunks.push((prompt.live, prompt.chunk(tokens)));
        added += tokens;
        if tokens < prompt.left {
            return;
        }
    }
}

/// The multiple of [`TILE`] tokens with which the time is nearest to a target.
fn cut(left: u64, target: u64, mut time: impl FnMut(u64) -> u64) -> u64 {
    let (mut under, mut over) = (0, left.div_ceil(TILE));
    while over - under > 1 {
        let middle = (under + over) / 2;
        *(if time(middle * TILE) <= target { &mut under } else { &mut over }) = middle;
    }
    let mut off = |tiles: u64| time((tiles * TILE).min(left)).abs_diff(target);
    if under > 0 && off(under) <= off(over) { under * TILE } else { over * TILE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoding(contexts: &[u64]) -> Vec<(usize, Decoding)> {
        let request = |(live, &context)| (live, Decoding::new(context, 0));
        contexts.iter().enumerate().map(request).collect()
    }

    #[test]
    fn sub_batches_are_those_of_the_papers_example() {
        // Section 5.3: {5k, 2k} and {4k, 3k}.
        let halves = even(decoding(&[2000, 3000, 4000, 5000]));
        let of = |half: &Half| half.decoding.iter().map(|(_, of)| of.context).collect::<Vec<_>>();
        assert_eq!((of(&halves[0]), of(&halves[1])), (vec![5000, 2000], vec![4000, 3000]));
        assert!(even(decoding(&[7])).iter().any(|half| half.decoding.is_empty()));
    }

    #[test]
    fn sub_batches_may_be_even_in_each_rankset() {
        // The sums of tokens are even with both longest in one sub-batch's rankset 0.
        let of = |context, class| Decoding::new(context, class);
        let requests = [of(5000, 0), of(4000, 1), of(3000, 1), of(2000, 0)];
        let requests: Vec<_> = requests.into_iter().enumerate().collect();
        let busiest = |halves: [Half; 2]| {
            let of_set = |half: &Half, set: u32| {
                let there = half.decoding.iter().filter(|(_, of)| of.class == set);
                there.map(|(_, of)| of.context).sum::<u64>()
            };
            halves.map(|half| of_set(&half, 0).max(of_set(&half, 1)))
        };
        assert_eq!(busiest(even(requests.clone())), [7000, 7000]);
        assert_eq!(busiest(even_by_rankset(requests, 2)), [5000, 4000]);
    }

    #[test]
    fn prompts_that_come_first_fill_an_iteration() {
        let prompt = |live, left| Prompt { live, left, finished: 0, class: 0 };
        let half = prompts_first([prompt(0, 8000), prompt(1, 500), prompt(2, 9)]);
        let tokens: Vec<_> = half.chunks.iter().map(|(live, of)| (*live, of.tokens)).collect();
        assert_eq!(tokens, [(0, 8000), (1, 192)]);
    }

    #[test]
    fn a_chunk_is_cut_where_the_times_are_nearest() {
        // A time of 10 a token, and of 100 at the least.
        let time = |tokens: u64| (10 * tokens).max(100);
        assert_eq!(cut(1000, 5000, time), 496); // 4960 is nearer than 5120
        assert_eq!(cut(1000, 5100, time), 512);
        assert_eq!(cut(1000, 3, time), 16);
        assert_eq!(cut(9, 3, time), 16);
    }
}
