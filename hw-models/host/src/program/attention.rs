// SPDX-License-Identifier: MIT
//! The program of the attention of query heads that share one K and V, as one pipeline.
//!
//! ```text
//! score     WR_SHARED Q ──▶ MAC_SCORE chunk 0, chunk 1, ...           b columns each
//!                               └─▶ RD_RESULT chunk 0 ──▶ adder unit ──▶ softmax unit, score buffer
//! FINISH                                                  reciprocal of each head's sum
//! context   WEIGH: score buffer ──▶ softmax unit ──▶ WR_WEIGHTS ──▶ MAC_CONTEXT column 0, 1, ...
//!                                                four tokens each      └─▶ RD_RESULT ──▶ adder unit
//! ```
//!
//! What waits for what is the sequencer's knowledge, not the program's: see [`pimlico_device::dispatch`].
//!
//! # Why there is no bubble
//!
//! Of the tCK that the banks take for a chunk of 16 tokens, each unit behind them must need no more. A
//! slot is tCCD_L = 8 tCK, a vector has *b* = d_h / 32 bursts:
//!
//! | in score, a chunk | tCK | d_h = 128 | 64 | 32 |
//! | --- | --- | --- | --- | --- |
//! | banks: b MAC_SCORE | 8 b | 32 | 16 | 8 |
//! | data bus: 4 RD_RESULT, tCCD_S each | 16 | 16 | 16 | 16 |
//! | adder unit: a sum over the chips in a tCK | 16 | 16 | 16 | 16 |
//! | softmax unit: a score in a tCK | 16 | 16 | 16 | 16 |
//! | command bus: b + 4 commands | b + 4 | 8 | 6 | 5 |
//! | dispatcher: b + 4 commands | b + 4 | 8 | 6 | 5 |
//!
//! | in context, four columns | tCK |
//! | --- | --- |
//! | banks: 4 MAC_CONTEXT | 32 |
//! | softmax unit: a weight in a tCK | 16 |
//! | data bus: 4 WR_WEIGHTS, tCCD_S each | 16 |
//! | command bus: 8 commands | 8 |
//! | dispatcher: 12 commands | 12 |
//!
//! From d_h = 33 on nothing takes longer than the banks. Up to d_h = 32 a chunk takes two slots, one of
//! them a bubble. What the banks wait for at the beginning of score and of context is *fill*.
//!
//! # Rows
//!
//! Virtual rows 0, 1, ... are those of K; those of V follow behind the last row of K of the longest context.
//! So neither moves while a request grows.
//!
//! # Query heads that share K and V
//!
//! A row that is open serves all of them: in score the row's chunks are read once for each head, in
//! context its columns. The bank PUs have accumulators for one head, so the sums of a row leave after
//! each head, and the adder unit goes on from the partial sums of the rows before. So it is with the
//! two parts of a long V vector. With one head and one part the sums stay in the banks to the end.
//!
//! # Contexts beyond the score buffer
//!
//! The buffer is shared out among the heads. What does not fit takes further [passes](Passes): the first
//! computes maximum and sum of all scores and keeps the first *block*; for each block that follows the
//! scores are computed again, under the number of a head that is not in use, and used; for each the host
//! gives Q once more. That is another
//! program, to which the host changes when a context outgrows the buffer. In it T_cur is what lies behind
//! the first block, whose tokens stand in a configuration of their own ([`BLOCK_REQUEST`]).

use super::{Builder, Field, Index, Over, Program, Template};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{HEADS, LANES, SCORE_BUFFER, SumFormat};
use pimlico_dpa::types::ResultAddress;
use pimlico_dpa::{Opcode, TOKEN_BITS};

/// Tokens of a chunk: one in each logic bank.
const CHUNK: usize = 16;
/// The number whose T_cur is the first block, in a program of several passes.
pub const BLOCK_REQUEST: u8 = 15;
/// Tokens of a context, at most: T_cur has so many bits.
pub const MAX_CONTEXT: usize = (1 << TOKEN_BITS) - 1;
/// A place of the score buffer that there is not: what goes there is not kept.
const NOWHERE: u32 = Opcode::RdResult.max_place();
/// The number of a head that is not in use.
const SPARE_HEAD: u32 = HEADS as u32 - 1;

/// How often the tokens are gone over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// Once: the score buffer holds all scores.
    One,
    /// Once for each block.
    Several,
}

/// How the score buffer is shared out among heads that are computed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoreBufferUse {
    /// Which program is to run.
    pub kind: Passes,
    /// Tokens of each head that it holds in a pass.
    pub block: usize,
    /// Passes over the tokens.
    pub passes: usize,
    /// The most scores that it holds in one of them.
    pub scores: usize,
}

/// Tokens of each of so many heads that the score buffer holds. The heads' places are a multiple of 64
/// apart, so that a Dyn-Modi can write it.
///
/// # Panics
///
/// If there is no head.
pub fn capacity(heads: usize) -> usize {
    (SCORE_BUFFER / heads) & !63
}

/// Query heads that are computed at once, in a context of so many tokens: as many as one pass has room for.
pub fn heads_at_once(context: usize) -> usize {
    // Where scores are computed again, one head's number must be free.
    (1..=HEADS).rev().find(|heads| context <= capacity(*heads)).unwrap_or(HEADS - 1)
}

/// How the score buffer is shared out among so many heads.
///
/// # Panics
///
/// If there is no head.
pub fn score_buffer_use(layout: &HeadLayout, heads: usize) -> ScoreBufferUse {
    let context = layout.context;
    if context <= capacity(heads) {
        let scores = heads * context.next_multiple_of(CHUNK);
        return ScoreBufferUse { kind: Passes::One, block: capacity(heads), passes: 1, scores };
    }
    let block = block(layout, heads);
    let passes = context.div_ceil(block);
    ScoreBufferUse { kind: Passes::Several, block, passes, scores: heads * block }
}

/// Tokens of each head in a pass of several: as many as the score buffer holds, in whole rows of K and V.
///
/// # Panics
///
/// If there is no head.
pub fn block(layout: &HeadLayout, heads: usize) -> usize {
    Shape::new(layout, heads, SumFormat::Binary16).block()
}

/// The program for so many query heads and all contexts up to that of `longest`.
///
/// # Panics
///
/// If there is no query head, or there are more than [`HEADS`], or with several passes than one less.
pub fn attention(longest: &HeadLayout, heads: usize, sums: SumFormat, passes: Passes) -> Program {
    let most = if passes == Passes::One { HEADS } else { HEADS - 1 };
    assert!((1..=most).contains(&heads), "{heads} query heads");
    let shape = Shape::new(longest, heads, sums);
    Program::new(|program| {
        match passes {
            Passes::One => shape.one_pass(program),
            Passes::Several => shape.several_passes(program),
        }
        program.command(Template::new(Opcode::CloseAll));
    })
}

struct Shape<'a> {
    layout: &'a HeadLayout,
    heads: usize,
    sums: SumFormat,
    /// Tokens of a row of K, and of one of V.
    k_tokens: usize,
    v_tokens: usize,
}

/// Which of the scores, and what becomes of them.
struct Scores {
    over: Over,
    /// Virtual row of the first.
    row: Field,
    keep: Keep,
}

#[derive(Clone, Copy, PartialEq)]
enum Keep {
    /// They are the first of all, kept in the buffer.
    First,
    /// They go on from the first, and are not kept.
    No,
    /// They are computed again, to be kept.
    Again,
}

/// Which tokens of the context.
struct Tokens {
    over: Over,
    row: Field,
    /// Whether the sums begin with them, and whether they end.
    begins: bool,
    ends: bool,
    /// The pass of which they are part.
    pass: Index,
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl<'a> Shape<'a> {
    fn new(layout: &'a HeadLayout, heads: usize, sums: SumFormat) -> Self {
        let k_tokens = layout.chunks_per_row() * CHUNK;
        let v_tokens = layout.columns() * layout.groups();
        Self { layout, heads, sums, k_tokens, v_tokens }
    }

    /// Tokens of a block: it ends with a row of K and with one of V.
    fn block(&self) -> usize {
        let (mut a, mut b) = (self.k_tokens, self.v_tokens);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        let rows = self.k_tokens / a * self.v_tokens;
        capacity(self.heads) / rows * rows
    }

    /// Virtual row of V's first row.
    fn v_row(&self) -> Field {
        number(self.layout.v_column(0, 0).0 - self.layout.k_column(0, 0).0).into()
    }

    fn one_pass(&self, program: &mut Builder) {
        self.queries(program);
        let over = Over::All(None, number(self.k_tokens));
        let (row, keep) = (Field::default(), Keep::First);
        self.scores(program, capacity(self.heads), &Scores { over, row, keep });
        self.finish(program);
        let over = Over::All(None, number(self.v_tokens));
        let (row, begins, ends) = (self.v_row(), true, true);
        let tokens = Tokens { over, row, begins, ends, pass: Index::NONE };
        self.context(program, capacity(self.heads), &tokens);
    }

    fn several_passes(&self, program: &mut Builder) {
        let block = self.block();
        let (k_tokens, v_tokens) = (number(self.k_tokens), number(self.v_tokens));
        let k_rows = number(block / self.k_tokens);
        let v_rows = number(block / self.v_tokens * self.layout.parts());
        let pass = Index::NONE;

        self.queries(program);
        let over = Over::All(Some(BLOCK_REQUEST), k_tokens);
        let keep = Keep::First;
        self.scores(program, block, &Scores { over, row: Field::default(), keep });
        let over = Over::All(None, k_tokens);
        self.scores(program, block, &Scores { over, row: k_rows.into(), keep: Keep::No });
        self.finish(program);
        let over = Over::All(Some(BLOCK_REQUEST), v_tokens);
        let tokens = Tokens { over, row: self.v_row(), begins: true, ends: false, pass };
        self.context(program, block, &tokens);
        program.repeat(Over::All(None, number(block)), |program, pass| {
            self.queries(program); // weights have taken their place
            let row = pass.times(k_rows) + k_rows;
            let over = Over::Part(k_tokens);
            self.scores(program, block, &Scores { over, row, keep: Keep::Again });
            let row = self.v_row() + pass.times(v_rows) + v_rows;
            let over = Over::Part(v_tokens);
            self.context(program, block, &Tokens { over, row, begins: false, ends: true, pass });
        });
    }

    /// Q, one burst in each word.
    fn queries(&self, program: &mut Builder) {
        program.times(self.heads * self.layout.bursts(), |program, word| {
            program.command(Template::new(Opcode::WrShared).word(word.times(1)));
        });
    }

    /// The heads, each with its number and its first place in the score buffer. Where the places of two
    /// heads are too far apart to be added, every head is written by itself.
    fn heads(&self, program: &mut Builder, block: usize, mut body: impl FnMut(&mut Builder, Head)) {
        if block / 64 <= super::COEFFICIENT as usize || self.heads == 1 {
            program.times(self.heads, |program, index| {
                let (number, place) = (index.times(1), index.times(number(block)));
                body(program, Head { index, number, place });
            });
        } else {
            for n in 0..self.heads {
                let (number, place) = (number(n).into(), number(n * block).into());
                body(program, Head { index: Index::NONE, number, place });
            }
        }
    }

    /// Scores of all heads, row by row of K.
    fn scores(&self, program: &mut Builder, block: usize, of: &Scores) {
        let bursts = number(self.layout.bursts());
        program.repeat(of.over, |program, row| {
            self.heads(program, block, |program, head| {
                program.repeat(Over::Part(number(CHUNK)), |program, chunk| {
                    for burst in 0..bursts {
                        let mut read = Template::new(Opcode::MacScore)
                            .row(of.row.clone() + row.times(1))
                            .column(chunk.times(bursts) + burst)
                            .word(head.words(bursts) + burst);
                        if burst == 0 {
                            read = read.first(&[]);
                        }
                        if burst == 0 && of.keep != Keep::No && head.is_first() {
                            read = read.opens(&[row, head.index, chunk]);
                        }
                        if burst + 1 == bursts {
                            read = read.last(&[]);
                        }
                        program.command(read);
                    }
                    for group in 0..self.layout.groups() {
                        program.command(self.score_results(of.keep, row, &head, chunk, group));
                    }
                });
            });
        });
    }

    fn score_results(
        &self,
        keep: Keep,
        row: Index,
        head: &Head,
        chunk: Index,
        group: usize,
    ) -> Template {
        let place = chunk.times(number(CHUNK))
            + head.place.clone()
            + row.times(number(self.k_tokens))
            + number(group * LANES);
        let scores = ResultAddress::scores(group as u8);
        let results = Template::new(Opcode::RdResult).word(u32::from(scores.bits()));
        match keep {
            Keep::First => results.head(head.number.clone()).place(place).first(&[row, chunk]),
            Keep::No => results.head(head.number.clone()).place(NOWHERE),
            Keep::Again => results.head(SPARE_HEAD).place(place).first(&[]),
        }
    }

    /// The reciprocals of the heads' sums.
    fn finish(&self, program: &mut Builder) {
        program.times(self.heads, |program, head| {
            program.command(Template::new(Opcode::Finish).head(head.times(1)));
        });
    }

    /// Context of all heads over tokens whose scores are in the buffer, row by row of V.
    fn context(&self, program: &mut Builder, block: usize, of: &Tokens) {
        let parts = self.layout.parts();
        if self.heads * parts == 1 {
            // The sums stay in the banks.
            let head = Head::only();
            program.repeat(of.over, |program, row| {
                self.columns(program, of, &head, row, 0, &[row]);
            });
            let [first, last] = [of.begins, of.ends].map(|there| there.then(Vec::new));
            self.context_results(program, &head, 0, (first, last.map(|_| vec![of.pass])));
            return;
        }
        program.repeat(of.over, |program, row| {
            self.heads(program, block, |program, head| {
                for part in 0..parts {
                    self.columns(program, of, &head, row, part, &[]);
                    let first = of.begins.then(|| vec![row]);
                    let last = of.ends.then(|| vec![row, of.pass]);
                    self.context_results(program, &head, part, (first, last));
                }
            });
        });
    }

    /// The columns of a row and part: weights, with the first part, and MACs. The sum goes over the loops
    /// `sum` as well.
    fn columns(
        &self,
        program: &mut Builder,
        of: &Tokens,
        head: &Head,
        row: Index,
        part: usize,
        sum: &[Index],
    ) {
        let groups = number(self.layout.groups());
        program.repeat(Over::Part(groups), |program, quad| {
            let sum = [sum, &[quad]].concat();
            // A head's words are in the other half from those of the head before, so that few columns
            // do not wait for it. (With several passes there is no slot for that; there, columns are many.)
            let half = if of.pass == Index::NONE { number(self.layout.columns()) } else { 0 };
            let word = quad.times(1) + head.words(half);
            if part == 0 {
                let place =
                    quad.times(groups) + head.place.clone() + row.times(number(self.v_tokens));
                let weigh = Template::new(Opcode::Weigh).head(head.number.clone()).place(place);
                program.command(weigh);
                program.command(Template::new(Opcode::WrWeights).wrapping_word(word.clone()));
            }
            let virtual_row = of.row.clone() + row.times(number(self.layout.parts()));
            let read = Template::new(Opcode::MacContext)
                .row(virtual_row + number(part))
                .column(quad.times(1))
                .wrapping_word(word)
                .first(&sum)
                .last(&sum);
            let opening = read.clone().opens(&[row, head.index, quad]);
            program.command(if part == 0 && head.is_first() { opening } else { read });
        });
    }

    /// The results of a part: *first* and *last* in the first and last repetitions of these loops.
    fn context_results(
        &self,
        program: &mut Builder,
        head: &Head,
        part: usize,
        (first, last): (Option<Vec<Index>>, Option<Vec<Index>>),
    ) {
        let parts = self.layout.parts();
        program.times(self.layout.bursts_of_part(part) * LANES, |program, sum| {
            let halves: &[bool] = match self.sums {
                SumFormat::Binary16 => &[false],
                SumFormat::Binary32 => &[false, true],
            };
            for &upper in halves {
                let of_first = ResultAddress::context(0, 0, upper);
                let place = sum.times(1) + head.partial_sums(parts) + number(part * CHUNK);
                let mut results = Template::new(Opcode::RdResult)
                    .word(sum.times(1) + u32::from(of_first.bits()))
                    .place(place)
                    .head(head.number.clone());
                if let Some(first) = &first {
                    results = results.first(first);
                }
                if let Some(last) = &last {
                    results = results.last(last);
                }
                program.command(results);
            }
        });
    }
}

/// A query head, or the loop over all of them.
struct Head {
    index: Index,
    number: Field,
    /// Its first place in the score buffer.
    place: Field,
}

impl Head {
    /// The only one.
    fn only() -> Self {
        Self { index: Index::NONE, number: Field::default(), place: Field::default() }
    }

    /// Whether the first head is among them.
    fn is_first(&self) -> bool {
        self.number.base == 0
    }

    /// Its first word of the shared buffers, where each has so many.
    fn words(&self, bursts: u32) -> Field {
        self.number.clone() * bursts
    }

    /// Its first place among the partial sums.
    fn partial_sums(&self, parts: usize) -> Field {
        self.number.clone() * number(parts * CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::Config;

    #[test]
    fn the_score_buffer_is_shared_out() {
        assert_eq!(heads_at_once(1), 8);
        assert_eq!(heads_at_once(16 * 1024), 8);
        assert_eq!(heads_at_once(16 * 1024 + 1), 7);
        assert_eq!(heads_at_once(64 * 1024), 2);
        assert_eq!(heads_at_once(128 * 1024), 1);
        assert_eq!(heads_at_once(128 * 1024 + 1), 7);
        let layout =
            |context| HeadLayout::new(&Config::ddr4_3200(), 128, context, 0).expect("it fits");
        let one = score_buffer_use(&layout(100), 1);
        assert_eq!(
            (one.kind, one.block, one.passes, one.scores),
            (Passes::One, 128 * 1024, 1, 112)
        );
        // A seventh of the buffer, in whole rows.
        let seven = score_buffer_use(&layout(128 * 1024 + 1), 7);
        assert_eq!((seven.kind, seven.block, seven.passes), (Passes::Several, 36 * 512, 8));
    }
}
