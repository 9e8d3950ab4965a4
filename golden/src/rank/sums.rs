// SPDX-License-Identifier: MIT
//! Sums: of the bank PUs over columns, and of the adder unit over chips or bank groups.

use super::operands::elements;
use super::{BANKS, BankSums, NO_SUM, Rank, Source, Stop};
use crate::dispatch::Dispatched;
use crate::reduction::{CHIPS, LANES};
use crate::sequencer::opcode::MAC_CONTEXT;

/// Bank groups.
const GROUPS: usize = 4;
/// tCK from an RD_RESULT that leaves partial outputs to one that goes on from them: a burst, and four cycles of
/// the core.
fn outputs_settle(gear: u64) -> u64 {
    4 + 4 * gear
}

/// The same of partial sums of the context.
fn context_settles(gear: u64) -> u64 {
    let cycles = match gear {
        1 => 13,
        2 => 11,
        _ => 10,
    };
    4 + cycles * gear
}

impl Rank {
    /// An RD_ALL with what the bank PUs do with it.
    pub(super) fn mac(
        &mut self,
        command: &Dispatched,
        source: &mut impl Source,
    ) -> Result<(), Stop> {
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
        let sums = Box::new([[[zero; LANES]; CHIPS]; BANKS]);
        let begun = BankSums { accumulate, finishes: 0, sums };
        let mut making = if first { begun } else { self.making.take().ok_or(NO_SUM)? };
        if making.accumulate != accumulate {
            return Err(NO_SUM);
        }
        making.finishes = making.finishes.max(self.finishes_ahead[word]);
        let columns = source.column(command.row, command.column).ok_or(Stop::Waits)?;
        for (bank, (sums, column)) in making.sums.iter_mut().zip(&columns).enumerate() {
            for (sums, (row, word)) in sums.iter_mut().zip(column.iter().zip(&shared)) {
                self.beat(sums, elements(*row), elements(*word), accumulate.then_some(bank / 4));
            }
        }
        if last {
            (self.complete, self.kept) = (Some(making), false);
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
    pub(super) fn tree(&mut self, command: &Dispatched) -> Result<[u32; LANES], Stop> {
        (self.lanes, self.tree_read) = (None, true);
        let complete = self.complete.as_ref().filter(|sums| !sums.accumulate).ok_or(NO_SUM)?;
        let precision = &self.precision;
        let group = command.word as usize % GROUPS;
        self.kept |= group == 0;
        if !self.kept {
            return Err(Stop::Open("scores that the chips do not keep"));
        }
        Ok(std::array::from_fn(|n| {
            let chips = &complete.sums[4 * group + n];
            let scores = chips.map(|sums| precision.term(precision.element(sums[0])));
            precision.chips_sum(scores)
        }))
    }

    /// An RD_RESULT of outputs of a matrix, in a tCK.
    pub(super) fn outputs(&mut self, command: &Dispatched, at: u64) -> Result<(), Stop> {
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
                let from = at + outputs_settle(self.kind.gear);
                (*kept, self.outputs_from[place]) = (Some(output), Some(from));
            }
        }
        Ok(())
    }

    /// An RD_RESULT of sums of the context, in a tCK.
    pub(super) fn context(&mut self, command: &Dispatched, at: u64) -> Result<(), Stop> {
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
            let element = |sum| self.element_of_context(head as usize, complete.finishes, sum);
            let elements = lanes.map(|sum| (head, element(sum)));
            self.made.context.extend(elements);
        } else {
            let kept = self.partial_sums.get_mut(place).ok_or(Stop::Open("no such place"))?;
            *kept = Some((lanes, at + context_settles(self.kind.gear)));
        }
        Ok(())
    }
}
