// SPDX-License-Identifier: MIT
//! Attention of a head beside `golden`'s of the same K, V and Q, stage by stage: each bit, and how far each result may be
//! from float64.

use super::results::{Beside, judgement};
use crate::report::{Error, Stages, Verdict};
use crate::results::{Attention, Summed, scale};
use pimlico_device::gemv::TILE_WORDS;
use pimlico_device::mapping::BURST;
use pimlico_device::{Normalise, SumFormat};
use pimlico_golden::head::{self as golden, HeadMade, HeadOrder};
use pimlico_golden::native::{ContextOrder, DotOrder};
use pimlico_model::data::Head;

/// What the results of heads are.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadJudgement {
    /// Errors of each stage against float64 of what it was given, and of the whole.
    pub stages: Stages,
    /// Scores, weights and context.
    pub parts: [Verdict; 3],
    /// Outputs that are further from float64 than their bounds, from the scores or from K, V and Q.
    output: Verdict,
}

impl HeadJudgement {
    /// Of two heads.
    pub fn and(self, other: Self) -> Self {
        Self {
            stages: self.stages.worse(other.stages),
            parts: std::array::from_fn(|n| self.parts[n].and(other.parts[n])),
            output: self.output.and(other.output),
        }
    }

    /// Of attention whose output alone is known.
    pub fn of_output(output: Verdict) -> Self {
        let stages = Stages { output: output.error, ..Stages::default() };
        Self { stages, output: Verdict { error: Error::default(), ..output }, ..Self::default() }
    }

    /// All as one operator, whose error is that of the output.
    pub fn whole(&self) -> Verdict {
        let parts = self.parts.into_iter().fold(Verdict::default(), Verdict::and);
        Verdict { error: self.stages.output, ..parts.and(self.output) }
    }

    /// Scores, softmax and context as operators.
    pub fn operators(&self) -> [Verdict; 3] {
        let [score, softmax, context] = self.parts;
        let error = context.error;
        [score, softmax, Verdict { error, ..context.and(self.output) }]
    }

    /// With the query heads counted from the first of an operator, whose number `first` is.
    pub fn from(mut self, first: usize) -> Self {
        for part in self.parts.iter_mut().chain([&mut self.output]) {
            if let Some(head) = part.first.as_mut().and_then(|wrong| wrong.head.as_mut()) {
                *head += first;
            }
        }
        self
    }

    /// Of so many queries over a context whose results were not computed.
    pub fn not_run(queries: usize, context: usize, head_dim: usize) -> Self {
        let parts = [context, context, head_dim].map(|outputs| Verdict::not_run(queries * outputs));
        Self { parts, ..Self::default() }
    }
}

/// Judges the results of a head's queries.
pub fn judge(head: &Head, result: &Attention) -> HeadJudgement {
    let all = 0..head.queries.len();
    all.map(|n| judge_query(n, n, head, result)).fold(HeadJudgement::default(), HeadJudgement::and)
}

/// The same of one of the queries, whose results are number `n`.
pub fn judge_query(number: usize, n: usize, head: &Head, result: &Attention) -> HeadJudgement {
    let query = head.queries[number].as_slice();
    let (scores, weights, context) = (&result.scores[n], &result.weights[n], &result.context[n]);
    let made = HeadMade { scores, weights, context };
    let (k, v) = (head.k.slices(), head.v.slices());
    let of_order = |order| golden::stages(&order, (query, &k, &v), scale(query.len()), &made);
    let mut orders = orders(&result.summed[n]).into_iter();
    let first = of_order(orders.next().expect("a head has an order"));
    // A program of one's own may end its sums where that of another shape does.
    let others = |stages: &golden::Stages| {
        [stages.score.bits != *scores, stages.context.bits != *context].map(u8::from).iter().sum()
    };
    let stages = match others(&first) {
        0u8 => first,
        _ => [first].into_iter().chain(orders.map(of_order)).min_by_key(others).expect("the first"),
    };
    let of = |result, got: &[u16], stage| judgement(got, &Beside::stage(result, number, stage));
    let parts = [
        of("score", scores, &stages.score),
        of("weight", weights, &stages.softmax),
        of("context", context, &stages.context),
    ];
    let from_scores = of("context", context, &stages.output_from_scores);
    let output = of("context", context, &stages.output);
    HeadJudgement {
        stages: Stages {
            score: parts[0].error,
            softmax: parts[1].error,
            context: parts[2].error,
            output_from_scores: from_scores.error,
            output: output.error,
        },
        parts,
        output: Verdict { error: Error::default(), ..from_scores.and(output) },
    }
}

/// The orders that the sums of a head may have.
fn orders(summed: &Summed) -> Vec<HeadOrder> {
    match summed {
        Summed::Rank { normalise, sums, tokens } => {
            let wide = *sums == SumFormat::Binary32;
            let order = |&tokens: &usize| HeadOrder {
                score: DotOrder::Chips { wide, tile: TILE_WORDS * BURST },
                context: ContextOrder::Groups { wide, tokens },
                late: *normalise == Normalise::Late,
            };
            tokens.iter().map(order).collect()
        }
        Summed::Module { score, context } => {
            let order = |(&score, &context): (&usize, &usize)| HeadOrder {
                score: DotOrder::Beats { part: score },
                context: ContextOrder::Beats { part: context },
                late: false,
            };
            let of_score = |score| context.iter().map(move |context| (score, context));
            score.iter().flat_map(of_score).map(order).collect()
        }
    }
}
