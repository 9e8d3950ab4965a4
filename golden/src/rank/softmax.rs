// SPDX-License-Identifier: MIT
//! Scores and what becomes of them: sums of heads, weights, and contexts that are normalised late.

use super::{Expected, GRADUAL, H, Rank, Score, Stop, Word, near};
use crate::dispatch::Dispatched;
use crate::exact;
use crate::reduction::LANES;
use crate::softmax::{CHUNK, Exponential, HeadSum};

/// Bank groups.
const GROUPS: u32 = 4;
/// Words of weights that may wait for whoever writes them.
const MOST_WORDS: usize = 16;
/// Units in the last place by which an exponential of binary16 may be off.
const EXP_ULPS: f64 = 0.888;

impl Rank {
    /// An RD_RESULT of scores.
    pub(super) fn scores(&mut self, command: &Dispatched) -> Result<(), Stop> {
        let tree = self.tree(command)?;
        let head = command.head as usize;
        let [first, ..] = command.flags;
        match self.chunk {
            0 => self.chunk_head = head,
            _ if self.chunk_head != head => return Err(Stop::Open("a chunk of two heads")),
            _ => {}
        }
        if self.chunk == 0 && first {
            self.heads[head].clear();
            self.sums[head] = None;
        } else if self.chunk == 0 && (self.heads[head].is_empty() || self.sums[head].is_some()) {
            return Err(Stop::Open("a chunk that goes on from none"));
        }
        let group = command.word % GROUPS;
        let place = command.place as usize;
        let keep = place + LANES <= self.kind.places;
        for (n, sum) in (0..).zip(tree) {
            let bits =
                self.precision.element(self.precision.add(sum, self.precision.sums.zero(false)));
            let masked = 4 * group + n >= command.tokens;
            let scaled = exact::mul(H, GRADUAL, bits, self.scale);
            let scaled = if masked { H.infinity(true) } else { scaled };
            self.made.scores.push(Score { masked, head: command.head, bits: bits as u16 });
            self.heads[head].push(scaled);
            if keep {
                let place = place + n as usize;
                (self.buffer[place], self.outputs_from[place]) = (Some(scaled), None);
            }
        }
        self.keeps = keep;
        self.chunk = (self.chunk + LANES) % CHUNK;
        Ok(())
    }

    /// The element of the context that a sum becomes, which uses weights behind so many FINISHes.
    pub(super) fn element_of_context(&self, head: usize, finishes: u64, sum: u32) -> Expected {
        if !self.kind.late {
            return Expected::Bits(self.precision.element(sum) as u16);
        }
        let value = exact::to_f64(self.precision.sums, sum);
        let of_head = self.sums[head].filter(|_| finishes >= self.finished[head]);
        match of_head.filter(|sum| sum.is_proper() && value.is_finite()) {
            Some(sum) => near(sum.normalised(value, 0.0)),
            None => Expected::Any,
        }
    }

    /// FINISH: the sum of a head is complete.
    pub(super) fn finish(&mut self, head: usize) -> Result<(), Stop> {
        if self.chunk != 0 || self.heads[head].is_empty() || self.sums[head].is_some() {
            return Err(Stop::Open("a head that is not complete"));
        }
        let scores: Vec<f64> = self.heads[head].iter().map(|x| exact::to_f64(H, *x)).collect();
        let exponential = Exponential { format: H, subnormals: GRADUAL, ulps: EXP_ULPS };
        self.sums[head] = Some(HeadSum::of(exponential, &scores));
        self.finish_behind = true;
        self.finishes += 1;
        self.finished[head] = self.finishes;
        Ok(())
    }

    /// WEIGH: scores become a word of weights.
    pub(super) fn weigh(&mut self, command: &Dispatched) -> Result<(), Stop> {
        let sum = self.sums[command.head as usize].ok_or(Stop::Open("a head without its sum"))?;
        if self.words.len() == MOST_WORDS {
            return Err(Stop::Open("more words of weights than are kept"));
        }
        let count = LANES.min(command.tokens as usize);
        let place = command.place as usize;
        for n in 0..count {
            let kept = self.buffer.get(place + n).copied().flatten();
            let x = exact::to_f64(H, kept.ok_or(Stop::Open("a score that is not there"))?);
            let weight = match sum.is_proper() && sum.covers(x) {
                true if self.kind.late => near(sum.exponential(x)),
                true => near(sum.weight(x)),
                false => Expected::Any,
            };
            self.made.weights.push((command.head, weight));
        }
        let behind = self.finish_behind.then_some(self.trees);
        self.words.push_back(Word { count, behind, finishes: self.finishes });
        Ok(())
    }
}
