// SPDX-License-Identifier: MIT
//! What a rank makes of a program's commands, one after the other, as if each took no time: what its chips
//! hold, what its scores, weights, contexts and outputs are.
//!
//! Hardware works at several commands at once, and has interlocks so that nobody can tell. Here there are
//! none. A program may also ask for what no interlock saves: results of a sum that was never made, a word
//! that was never written, sums that meet in an adder. What that gives is open, and the first command that
//! does so ends the judgement ([`Stop::Open`]).
//!
//! Weights are not computed: the unit's exponential is its own. What the device says they are is checked
//! against real numbers ([`Expected::Near`]) and then taken for it, so that contexts are exact again.

use crate::dispatch::Dispatched;
use crate::exact;
use crate::format::{Format, Subnormals};
use crate::reduction::{CHIPS, LANES, Precision};
use crate::relayout::Widths;
use crate::sequencer::opcode::{
    CLOSE_ALL, FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};
use crate::softmax::{CHUNK, Exponential, HeadSum};
use std::collections::VecDeque;

/// Banks of a chip.
const BANKS: usize = 16;
/// Bank groups.
const GROUPS: usize = 4;
/// Words of a shared buffer.
const WORDS: usize = 256;
/// Places for partial sums of the context.
const PARTIAL_SUMS: usize = 256;
/// Query heads.
const HEADS: usize = 8;
/// Words of weights that may wait for whoever writes them.
const MOST_WORDS: usize = 16;
/// Units in the last place by which an exponential of binary16 may be off.
const EXP_ULPS: f64 = 0.888;
/// tCK from the first data of an RD_RESULT until an RD_RESULT reads its partial outputs: the burst, and the
/// adders of the tree.
const OUTPUTS_SETTLE: u64 = 4 + 4;
/// The same of partial sums of the context: the burst, and an adder.
const CONTEXT_SETTLES: u64 = 4 + 1;
const H: Format = Format::BINARY16;
const GRADUAL: Subnormals = Subnormals::Gradual;

/// A column of a bank, or a word of the shared buffers: 64 bits of each chip.
pub type Column = [u64; CHIPS];

/// How a rank computes.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Sums are of 32 bits.
    pub wide: bool,
    /// The context is normalised, not the weights.
    pub late: bool,
    /// Places of the score buffer.
    pub places: usize,
    /// tCK from an RD_RESULT to its data.
    pub cl: u64,
}

/// What goes into a program.
pub trait Source {
    /// A column of every bank, in a row that is open in all.
    fn column(&mut self, row: u32, column: u32) -> Option<[Column; BANKS]>;

    /// The tCK in which the next RD_RESULT is on the pins.
    fn results(&mut self) -> Option<u64>;

    /// The host's next burst, in its order.
    fn operand(&mut self) -> Option<[u64; 8]>;

    /// The next weight, as the device has it.
    fn weight(&mut self) -> Option<u16>;
}

/// A number that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// These bits.
    Bits(u16),
    /// This number, or one that is off by so much.
    Near(f64, f64),
    /// Any number.
    Any,
}

impl Expected {
    /// Whether a binary16 number is it.
    pub fn holds(&self, bits: u16) -> bool {
        match *self {
            Self::Bits(expected) => bits == expected,
            Self::Near(value, bound) => (exact::to_f64(H, bits.into()) - value).abs() <= bound,
            Self::Any => true,
        }
    }
}

/// A score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// There is no such token.
    pub masked: bool,
    /// Query head.
    pub head: u32,
    /// binary16.
    pub bits: u16,
}

/// What has been made, in order.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// Scores, before scaling.
    pub scores: Vec<Score>,
    /// Weights, with their head.
    pub weights: Vec<(u32, Expected)>,
    /// Elements of the context, with their head.
    pub context: Vec<(u32, Expected)>,
    /// Outputs of a matrix.
    pub outputs: Vec<u16>,
}

/// Why a command has not been executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// What it gives is open.
    Open(&'static str),
    /// What goes into it has not come.
    Waits,
}

/// The sums of the bank PUs of a rank: of each bank, chip and lane.
type Sums = [[[u32; LANES]; CHIPS]; BANKS];

/// Sums that are made, or complete.
#[derive(Clone, Debug)]
struct BankSums {
    accumulate: bool,
    sums: Box<Sums>,
}

/// A word of weights.
#[derive(Clone, Copy, Debug)]
struct Word {
    count: usize,
    /// The tree beats before the FINISH that it waits for, if that comes behind all of them.
    behind: Option<u64>,
}

/// A rank.
#[derive(Clone, Debug)]
pub struct Rank {
    kind: Kind,
    scale: u32,
    precision: Precision,
    shared: Vec<Option<Column>>,
    /// As of [`Word::behind`], of words that hold weights.
    behind: Vec<Option<u64>>,
    making: Option<BankSums>,
    complete: Option<BankSums>,
    /// Score by score: scaled, of each head.
    heads: [Vec<u32>; HEADS],
    sums: [Option<HeadSum>; HEADS],
    /// Scores of the chunk that has begun, and its head.
    chunk: usize,
    chunk_head: usize,
    buffer: Vec<Option<u32>>,
    /// The tCK from which on an RD_RESULT reads the partial output at a place, if there is one.
    outputs_from: Vec<Option<u64>>,
    /// Partial sums of the context, with the same.
    partial_sums: Vec<Option<([u32; CHIPS], u64)>>,
    /// The last RD_RESULT was one of scores that are kept.
    keeps: bool,
    /// What the adder unit sums up of the context.
    lanes: Option<[u32; CHIPS]>,
    words: VecDeque<Word>,
    /// Tree beats so far; whether one may still be on its way; and whether a FINISH is behind them.
    trees: u64,
    tree_under_way: bool,
    finish_behind: bool,
    /// The results of the last tree beats have been read.
    tree_read: bool,
    /// What it has made.
    pub made: Made,
}

impl Rank {
    /// One of whose memories nothing is known.
    pub fn new(kind: Kind) -> Self {
        let sums = if kind.wide { Format::BINARY32 } else { H };
        Self {
            kind,
            scale: 0,
            precision: Precision { elements: H, subnormals: GRADUAL, sums },
            shared: vec![None; WORDS],
            behind: vec![None; WORDS],
            making: None,
            complete: None,
            heads: Default::default(),
            sums: [None; HEADS],
            chunk: 0,
            chunk_head: 0,
            buffer: vec![None; kind.places],
            outputs_from: vec![None; kind.places],
            keeps: false,
            partial_sums: vec![None; PARTIAL_SUMS],
            lanes: None,
            words: VecDeque::new(),
            trees: 0,
            tree_under_way: false,
            finish_behind: false,
            tree_read: false,
            made: Made::default(),
        }
    }

    /// Sets the factor of the scores.
    pub fn set_scale(&mut self, scale: u16) {
        self.scale = scale.into();
    }

    /// Executes a command.
    pub fn execute(&mut self, command: &Dispatched, source: &mut impl Source) -> Result<(), Stop> {
        match command.opcode {
            MAC_SCORE | MAC_CONTEXT => self.mac(command, source),
            RD_RESULT => {
                let at = source.results().ok_or(Stop::Waits)?;
                match (command.word & 0x80 != 0, command.word & 0x40 != 0) {
                    (true, _) => self.context(command, at),
                    (false, true) => self.outputs(command, at),
                    (false, false) => self.scores(command),
                }
            }
            WR_SHARED => {
                let beats = source.operand().ok_or(Stop::Waits)?;
                self.shared[command.word as usize] = Some(relaid(&beats));
                self.behind[command.word as usize] = None;
                Ok(())
            }
            WR_WEIGHTS => self.write_weights(command, source),
            FINISH => self.finish(command.head as usize),
            WEIGH => self.weigh(command),
            CLOSE_ALL if self.words.is_empty() => {
                self.tree_under_way &= !self.tree_read;
                Ok(())
            }
            CLOSE_ALL => Err(Stop::Open("words of weights that nobody writes")),
            _ => Err(Stop::Open("no command")),
        }
    }

    /// Whether all words of weights are written.
    pub fn is_paired(&self) -> bool {
        self.words.is_empty()
    }

    fn mac(&mut self, command: &Dispatched, source: &mut impl Source) -> Result<(), Stop> {
        let accumulate = command.opcode == MAC_CONTEXT;
        let [first, last, _] = command.flags;
        let word = command.word as usize;
        let shared = self.shared[word].ok_or(Stop::Open("a word that was never written"))?;
        if accumulate && self.tree_under_way {
            if self.behind[word] != Some(self.trees) {
                return Err(Stop::Open("an accumulator beat behind tree beats"));
            }
            self.tree_under_way = false;
        }
        if !accumulate {
            self.trees += 1;
            self.tree_under_way = true;
            (self.finish_behind, self.tree_read) = (false, false);
        }
        let zero = self.precision.sums.zero(false);
        let begun = BankSums { accumulate, sums: Box::new([[[zero; LANES]; CHIPS]; BANKS]) };
        let mut making = if first { begun } else { self.making.take().ok_or(NO_SUM)? };
        if making.accumulate != accumulate {
            return Err(NO_SUM);
        }
        let columns = source.column(command.row, command.column).ok_or(Stop::Waits)?;
        for (bank, (sums, column)) in making.sums.iter_mut().zip(&columns).enumerate() {
            for (sums, (row, word)) in sums.iter_mut().zip(column.iter().zip(&shared)) {
                self.beat(sums, elements(*row), elements(*word), accumulate.then_some(bank / 4));
            }
        }
        if last {
            self.complete = Some(making);
        } else {
            self.making = Some(making);
        }
        Ok(())
    }

    /// A beat of a bank PU; in accumulator mode with this element of the word.
    fn beat(
        &self,
        sums: &mut [u32; LANES],
        row: [u32; LANES],
        word: [u32; LANES],
        select: Option<usize>,
    ) {
        let precision = &self.precision;
        match select {
            None => {
                let products = std::array::from_fn(|lane| precision.product(row[lane], word[lane]));
                sums[0] = precision.add(precision.lanes_sum(products), sums[0]);
            }
            Some(select) => {
                for (sum, row) in sums.iter_mut().zip(row) {
                    *sum = precision.add(precision.product(row, word[select]), *sum);
                }
            }
        }
    }

    /// The sums of the tree over chips of the four banks of a group.
    fn tree(&mut self, command: &Dispatched) -> Result<[u32; LANES], Stop> {
        (self.lanes, self.tree_read) = (None, true);
        let complete = self.complete.as_ref().filter(|sums| !sums.accumulate).ok_or(NO_SUM)?;
        let precision = &self.precision;
        let group = command.word as usize % GROUPS;
        Ok(std::array::from_fn(|n| {
            let chips = &complete.sums[4 * group + n];
            let scores = chips.map(|sums| precision.term(precision.element(sums[0])));
            precision.chips_sum(scores)
        }))
    }

    fn scores(&mut self, command: &Dispatched) -> Result<(), Stop> {
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
        let group = command.word % GROUPS as u32;
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

    fn outputs(&mut self, command: &Dispatched, at: u64) -> Result<(), Stop> {
        let tree = self.tree(command)?;
        let [first, last, _] = command.flags;
        let place = command.place as usize;
        let partial = !(first && last);
        if partial && !place.is_multiple_of(LANES) {
            return Err(Stop::Open("partial sums that are not in one word"));
        }
        if partial && (self.keeps || !self.words.is_empty()) {
            return Err(Stop::Open("scores and partial sums meet in the buffer"));
        }
        self.keeps = false;
        for (n, sum) in tree.into_iter().enumerate() {
            let from = self.outputs_from.get(place + n).copied().flatten();
            let settled = from.is_some_and(|from| at >= from);
            let before = match self.buffer.get(place + n).copied().flatten() {
                _ if first => self.precision.sums.zero(false),
                Some(before) if settled => self.precision.term(before),
                _ => return Err(Stop::Open("a partial sum that is not there")),
            };
            let output = self.precision.element(self.precision.add(sum, before));
            if last {
                self.made.outputs.push(output as u16);
            } else {
                let place = place + n;
                let kept = self.buffer.get_mut(place).ok_or(Stop::Open("no such place"))?;
                let from = at + self.kind.cl + OUTPUTS_SETTLE;
                (*kept, self.outputs_from[place]) = (Some(output), Some(from));
            }
        }
        Ok(())
    }

    fn context(&mut self, command: &Dispatched, at: u64) -> Result<(), Stop> {
        let complete = self.complete.as_ref().filter(|sums| sums.accumulate).ok_or(NO_SUM)?;
        let [first, last, _] = command.flags;
        let (bank, lane) = (command.word as usize / 4 % 4, command.word as usize % LANES);
        let upper = command.word & 0x40 != 0;
        let place = command.place as usize;
        let zero = self.precision.sums.zero(false);
        let mut lanes = match (upper, first) {
            (true, _) if !self.kind.wide => return Err(Stop::Open("groups that there are not")),
            (true, _) => self.lanes.take().ok_or(Stop::Open("the upper groups come first"))?,
            (false, true) => [zero; CHIPS],
            (false, false) => {
                let before = self.partial_sums.get(place).copied().flatten();
                let before = before.filter(|(_, from)| at >= *from);
                let (before, _) = before.ok_or(Stop::Open("a partial sum that is not there"))?;
                before.map(|sum| self.precision.add(sum, zero))
            }
        };
        let groups = match (self.kind.wide, upper) {
            (false, _) => 0..GROUPS,
            (true, false) => 0..GROUPS / 2,
            (true, true) => GROUPS / 2..GROUPS,
        };
        for group in groups {
            for (sum, chip) in lanes.iter_mut().zip(&complete.sums[4 * group + bank]) {
                *sum = self.precision.add(chip[lane], *sum);
            }
        }
        if self.kind.wide && !upper {
            self.lanes = Some(lanes);
        } else if last {
            let head = command.head;
            let elements = lanes.map(|sum| (head, self.element_of_context(head as usize, sum)));
            self.made.context.extend(elements);
        } else {
            let kept = self.partial_sums.get_mut(place).ok_or(Stop::Open("no such place"))?;
            *kept = Some((lanes, at + self.kind.cl + CONTEXT_SETTLES));
        }
        Ok(())
    }

    fn element_of_context(&self, head: usize, sum: u32) -> Expected {
        if !self.kind.late {
            return Expected::Bits(self.precision.element(sum) as u16);
        }
        let value = exact::to_f64(self.precision.sums, sum);
        match self.sums[head].filter(|sum| sum.is_proper() && value.is_finite()) {
            Some(sum) => near(sum.normalised(value, 0.0)),
            None => Expected::Any,
        }
    }

    fn finish(&mut self, head: usize) -> Result<(), Stop> {
        if self.chunk != 0 || self.heads[head].is_empty() || self.sums[head].is_some() {
            return Err(Stop::Open("a head that is not complete"));
        }
        let scores: Vec<f64> = self.heads[head].iter().map(|x| exact::to_f64(H, *x)).collect();
        let exponential = Exponential { format: H, subnormals: GRADUAL, ulps: EXP_ULPS };
        self.sums[head] = Some(HeadSum::of(exponential, &scores));
        self.finish_behind = true;
        Ok(())
    }

    fn weigh(&mut self, command: &Dispatched) -> Result<(), Stop> {
        let sum = self.sums[command.head as usize].ok_or(Stop::Open("a head without its sum"))?;
        if self.words.len() == MOST_WORDS {
            return Err(Stop::Open("more words of weights than are kept"));
        }
        let count = LANES.min(command.tokens as usize);
        let place = command.place as usize;
        for n in 0..count {
            let kept = self.buffer.get(place + n).copied().flatten();
            let x = exact::to_f64(H, kept.ok_or(Stop::Open("a score that is not there"))?);
            let weight = match sum.is_proper() && !x.is_nan() {
                true if self.kind.late => near(sum.exponential(x)),
                true => near(sum.weight(x)),
                false => Expected::Any,
            };
            self.made.weights.push((command.head, weight));
        }
        let behind = self.finish_behind.then_some(self.trees);
        self.words.push_back(Word { count, behind });
        Ok(())
    }

    fn write_weights(
        &mut self,
        command: &Dispatched,
        source: &mut impl Source,
    ) -> Result<(), Stop> {
        let Word { count, behind } = self.words.pop_front().ok_or(Stop::Open("no weights"))?;
        let mut word = 0;
        for n in 0..count {
            word |= u64::from(source.weight().ok_or(Stop::Waits)?) << (16 * n);
        }
        self.shared[command.word as usize] = Some([word; CHIPS]);
        self.behind[command.word as usize] = behind;
        Ok(())
    }
}

const NO_SUM: Stop = Stop::Open("a sum that was never made");

fn near((value, bound): (f64, f64)) -> Expected {
    Expected::Near(value, bound)
}

/// A burst of the host as the chips get it, 64 bits each.
pub fn relaid(beats: &[u64; 8]) -> Column {
    let widths = Widths { element_bits: 16, chip_bits: 8 };
    let chips: Vec<u64> = beats.chunks(2).flat_map(|group| widths.to_chips(group)).collect();
    std::array::from_fn(|chip| {
        let byte = |beat: usize| u64::from(chips[beat].to_le_bytes()[chip]) << (8 * beat);
        (0..8).map(byte).sum()
    })
}

fn elements(word: u64) -> [u32; LANES] {
    std::array::from_fn(|lane| (word >> (16 * lane)) as u32 & 0xFFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKENS: usize = 20;
    const ONE: u16 = 0x3C00;

    /// An element of K (row 0) or V (row 1) of a token, a small number.
    fn element(row: u32, token: usize, e: usize) -> u16 {
        let n = (token * 7 + e * 3 + row as usize * 5) % 11;
        exact::from_f64(H, GRADUAL, n as f64 / 8.0 - 0.5) as u16
    }

    fn query(e: usize) -> u16 {
        exact::from_f64(H, GRADUAL, (e % 5) as f64 / 4.0 - 0.25) as u16
    }

    /// A burst of 32 elements as the chips hold it.
    fn burst(element: impl Fn(usize) -> u16) -> Column {
        std::array::from_fn(|chip| {
            (0..LANES).map(|p| u64::from(element(CHIPS * p + chip)) << (16 * p)).sum()
        })
    }

    /// K and V of a head of 32 elements: a token of K in each bank, a token of V in each group.
    struct Host {
        tck: u64,
        queries: usize,
        weights: Vec<u16>,
    }

    impl Source for Host {
        fn column(&mut self, row: u32, column: u32) -> Option<[Column; BANKS]> {
            Some(std::array::from_fn(|bank| {
                let token = match row {
                    0 => 16 * column as usize + bank,
                    _ if bank % 4 == 0 => 4 * column as usize + bank / 4,
                    _ => TOKENS,
                };
                let is = token < TOKENS;
                burst(|e| if is { element(row, token, e) } else { 0 })
            }))
        }

        fn results(&mut self) -> Option<u64> {
            self.tck += 4;
            Some(self.tck)
        }

        fn operand(&mut self) -> Option<[u64; 8]> {
            self.queries = self.queries.checked_sub(1)?;
            Some(std::array::from_fn(|beat| {
                (0..4).map(|n| u64::from(query(4 * beat + n)) << (16 * n)).sum()
            }))
        }

        fn weight(&mut self) -> Option<u16> {
            if self.weights.is_empty() { None } else { Some(self.weights.remove(0)) }
        }
    }

    fn command(opcode: u32, word: u32, place: u32, flags: [bool; 2], tokens: u32) -> Dispatched {
        let (turn, request, head, row, column) = (0, 0, 0, 0, 0);
        let flags = [flags[0], flags[1], false];
        Dispatched { turn, opcode, request, head, row, place, column, word, flags, tokens }
    }

    /// Scores, softmax and context of a head, with these numbers as its weights.
    fn attend(kind: Kind, weights: &[u16]) -> Made {
        let mut rank = Rank::new(kind);
        rank.set_scale(ONE);
        let mut host = Host { tck: 0, queries: 1, weights: weights.to_vec() };
        let mut run =
            |command: Dispatched| rank.execute(&command, &mut host).expect("it is closed");
        run(command(WR_SHARED, 3, 0, [false; 2], 0));
        for chunk in 0..2 {
            run(Dispatched { column: chunk, ..command(MAC_SCORE, 3, 0, [true; 2], 0) });
            for group in 0..4 {
                let place = 16 * chunk + 4 * group;
                let tokens = TOKENS as u32 - 16 * chunk;
                run(command(RD_RESULT, group, place, [chunk == 0, false], tokens));
            }
        }
        run(command(FINISH, 0, 0, [false; 2], 0));
        for column in 0..5 {
            run(command(WEIGH, 0, 4 * column, [false; 2], 4));
            run(command(WR_WEIGHTS, 8, 0, [false; 2], 0));
            let flags = [column == 0, column == 4];
            run(Dispatched { row: 1, column, ..command(MAC_CONTEXT, 8, 0, flags, 0) });
        }
        for lane in 0..4 {
            run(command(RD_RESULT, 0x80 | lane, 0, [true; 2], 0));
            if kind.wide {
                run(command(RD_RESULT, 0xC0 | lane, 0, [true; 2], 0));
            }
        }
        rank.made
    }

    const KIND: Kind = Kind { wide: false, late: false, places: 64, cl: 22 };

    #[test]
    fn a_head_is_that_of_the_reductions() {
        let q: Vec<u16> = (0..32).map(query).collect();
        let weights: Vec<u16> =
            (0..TOKENS).map(|t| exact::from_f64(H, GRADUAL, 1.0 / (t + 2) as f64) as u16).collect();
        for wide in [false, true] {
            let kind = Kind { wide, ..KIND };
            let sums = if wide { Format::BINARY32 } else { H };
            let precision = Precision { elements: H, subnormals: GRADUAL, sums };
            let made = attend(kind, &weights);
            let vector = |row, token| (0..32).map(|e| element(row, token, e)).collect::<Vec<_>>();
            for (token, score) in made.scores.iter().enumerate() {
                assert_eq!(score.masked, token >= TOKENS);
                if !score.masked {
                    assert_eq!(score.bits, precision.score(&vector(0, token), &q), "token {token}");
                }
            }
            let v: Vec<_> = (0..TOKENS).map(|token| vector(1, token)).collect();
            let context = precision.context(&v, &weights);
            // A lane of each chip: elements 8 p + c.
            for (e, (_, got)) in made.context.iter().enumerate() {
                assert!(got.holds(precision.element(context[e]) as u16), "element {e}");
            }
            assert_eq!((made.scores.len(), made.context.len(), made.weights.len()), (32, 32, 20));
        }
    }

    #[test]
    fn weights_are_those_of_real_numbers() {
        let made = attend(KIND, &[ONE; TOKENS]);
        let scores = made.scores.iter().take(TOKENS);
        let scores: Vec<f64> = scores.map(|score| exact::to_f64(H, score.bits.into())).collect();
        for ((_, expected), weight) in made.weights.iter().zip(crate::softmax::weights(&scores)) {
            let bits = |x: f64| exact::from_f64(H, GRADUAL, x) as u16;
            assert!(expected.holds(bits(weight)) && !expected.holds(bits(weight * 1.02)));
        }
        let late = attend(Kind { wide: true, late: true, ..KIND }, &[ONE; TOKENS]);
        assert!(late.weights.iter().any(|(_, weight)| *weight == Expected::Near(1.0, 0.0)));
        assert!(late.context.iter().all(|(_, e)| matches!(e, Expected::Near(_, b) if *b < 0.01)));
    }

    #[test]
    fn what_is_open_is_not_judged() {
        let mut host = Host { tck: 0, queries: 1, weights: Vec::new() };
        let mut stops = |commands: &[Dispatched]| {
            let mut rank = Rank::new(KIND);
            commands.iter().find_map(|command| rank.execute(command, &mut host).err())
        };
        let open = |stop| matches!(stop, Some(Stop::Open(_)));
        let write = command(WR_SHARED, 3, 0, [false; 2], 0);
        assert!(open(stops(&[command(MAC_SCORE, 3, 0, [true; 2], 0)])));
        assert!(open(stops(&[command(RD_RESULT, 0, 0, [true; 2], 16)])));
        assert!(open(stops(&[command(WEIGH, 0, 0, [true; 2], 4)])));
        // A tree beat and at once an accumulator beat.
        let beats = [MAC_SCORE, MAC_CONTEXT].map(|mac| command(mac, 3, 0, [true; 2], 0));
        assert!(open(stops(&[write, beats[0], beats[1]])));
        assert_eq!(stops(&[write]), Some(Stop::Waits), "the host has no more");
    }

    #[test]
    fn partial_outputs_are_there_a_while_after_their_burst() {
        let read = |flags| command(RD_RESULT, 0x40, 8, flags, 0);
        let sum = command(MAC_SCORE, 3, 0, [true; 2], 0);
        // RD_RESULTs four tCK apart: the eighth after the first is CL + 8 and more behind it.
        for between in 0..10 {
            let mut host = Host { tck: 0, queries: 1, weights: Vec::new() };
            let mut rank = Rank::new(KIND);
            let mut run = |command: Dispatched| rank.execute(&command, &mut host);
            let begins = [command(WR_SHARED, 3, 0, [false; 2], 0), sum, read([true, false])];
            begins.iter().for_each(|command| run(*command).expect("it is closed"));
            (0..between).for_each(|_| run(read([true; 2])).expect("it is closed"));
            let open = matches!(run(read([false, true])), Err(Stop::Open(_)));
            assert_eq!(open, 4 * (between + 1) < 22 + 8, "{between}");
        }
    }
}
