// SPDX-License-Identifier: MIT
//! What the banks of a channel make of the commands on its pins: rows, columns and sums, when they are due. It keeps rows as what
//! was opened and written, and computes each sum anew with `golden`.

use crate::channel::arrays::{Word, elements};
use pimlico_golden::reduction::Precision;
use pimlico_golden::word_dot;
use pimlico_ports::U;
use pimlico_units::channel::pim_channel::BankResults;
use pimlico_units::channel::{PimChannelIn, PimChannelOut};

type Row = [Word; 32];

const ACT: u64 = 1;
const RD: u64 = 4;
const WR: u64 = 5;
const ACTIVATION: u64 = 7;
const GWRITE: u64 = 9;
const DOT_PRODUCT: u64 = 10;
const GEMV: u64 = 11;
const READ_RESULT: u64 = 12;

/// tCK from a dot product to its sum.
const SUM: usize = 9;
/// tCK from a GWRITE until all words are written.
const COPY: usize = 19;

/// What is expected, and what of the plan was reached.
pub(super) struct Expected<R: BankResults> {
    pub(super) outputs: Vec<PimChannelOut<R>>,
    /// A GEMV of one word, of several, of 32, an RDRESULT.
    pub(super) results: [bool; 4],
    /// Words that were written, and words that were not.
    pub(super) factors: [bool; 2],
    /// RD or WR during dot products in its bank, during a GWRITE of another.
    pub(super) meanwhile: [bool; 2],
}

/// A sum that is under way: the words of each bank, and the factors.
#[derive(Clone)]
struct Sum {
    rows: Vec<Vec<u16>>,
    factors: Vec<u16>,
}

/// The banks.
struct Banks {
    mem: Vec<Row>,
    pim: Vec<Row>,
    global: [Option<Word>; 32],
    sum: Sum,
    /// Sums that have ended, and when the PUs have them.
    ended: Vec<(usize, Vec<u16>)>,
    /// When the last dot product is made, and the bank and time of the last GWRITE.
    dots_until: usize,
    copy: Option<(usize, usize)>,
}

impl Banks {
    fn new(banks: usize) -> Self {
        Self {
            mem: vec![[[0; 4]; 32]; banks],
            pim: vec![[[0; 4]; 32]; banks],
            global: [None; 32],
            sum: Sum { rows: vec![Vec::new(); banks], factors: Vec::new() },
            ended: Vec::new(),
            dots_until: 0,
            copy: None,
        }
    }

    /// A dot product. Returns whether its factors were written.
    fn dot(&mut self, word: usize, begins: bool) -> bool {
        if begins {
            self.sum.factors.clear();
            self.sum.rows.iter_mut().for_each(Vec::clear);
        }
        for (sum, row) in self.sum.rows.iter_mut().zip(&self.pim) {
            sum.extend(elements(row[word]));
        }
        let factors = self.global[word];
        self.sum.factors.extend(elements(factors.unwrap_or_default()));
        factors.is_some()
    }

    /// The sum ends.
    fn end(&self, precision: Precision) -> Vec<u16> {
        let Sum { rows, factors } = &self.sum;
        rows.iter().map(|row| word_dot::dot(precision, row, factors)).collect()
    }
}

/// What is expected of a run. Commands and requests are taken from it, the rest is not.
pub(super) fn expected<R: BankResults>(
    precision: Precision,
    inputs: &[PimChannelIn<R>],
    outputs: &[PimChannelOut<R>],
) -> Expected<R> {
    let pins = outputs.iter().map(|output| PimChannelOut::of_controller(&output.controller()));
    let mut found = Expected {
        outputs: pins.collect(),
        results: [false; 4],
        factors: [false; 2],
        meanwhile: [false; 2],
    };
    let Some(first) = inputs.first() else { return found };
    let (dot, latency) = (first.dot_i.get() as usize, first.latency_i.get() as usize);
    let cl = first.cl_i.get() as usize;
    let mut banks = Banks::new(R::BANKS);
    for (tck, output) in outputs.iter().enumerate() {
        let (bank, column) = (output.bank_o.get() as usize, output.column_o.get() as usize);
        let is_built = bank < R::BANKS;
        let activated = |of: usize| inputs.get(tck + 2).map(|input| input.cells_i[of % 4]);
        match output.command_o.get() {
            command @ (ACT | ACTIVATION) if is_built => {
                if let Some(at) = found.outputs.get_mut(tck + 1) {
                    at.activate_o = true;
                    at.activate_pim_o = command == ACTIVATION;
                    (at.activate_bank_o, at.activate_row_o) = (output.bank_o, output.row_o);
                }
                let group = if command == ACT { bank..bank + 1 } else { bank..bank + 4 };
                for of in group {
                    let rows = if command == ACT { &mut banks.mem } else { &mut banks.pim };
                    rows[of] = activated(of).unwrap_or_default();
                }
            }
            command @ (RD | WR) => {
                let of_other = banks.copy.is_some_and(|(of, until)| of != bank && tck < until);
                found.meanwhile[0] |= is_built && tck < banks.dots_until;
                found.meanwhile[1] |= is_built && of_other;
                let Some(row) = banks.mem.get_mut(bank) else { continue };
                let words = &mut row[2 * column..2 * column + 2];
                let next = found.outputs.get_mut(tck + 2);
                if command == RD {
                    if let Some(at) = next {
                        at.read_o = true;
                        at.read_data_o.copy_from_slice(words.as_flattened());
                    }
                } else if let Some(input) = inputs.get(tck + 1) {
                    words.as_flattened_mut().copy_from_slice(&input.mem_data_i);
                    if let Some(at) = next {
                        at.restore_o = true;
                        at.restore_bank_o = output.bank_o;
                        at.restore_row_o = banks_row(outputs, tck, bank);
                        at.restore_column_o = U::new(column as u64);
                        at.restore_data_o = input.mem_data_i;
                    }
                }
            }
            GWRITE => {
                let row = banks.mem.get(bank).copied().unwrap_or_default();
                banks.global = row.map(Some);
                banks.copy = Some((bank, tck + COPY));
            }
            DOT_PRODUCT => {
                let begins = output.first_o || banks.sum.factors.is_empty();
                found.factors[usize::from(!banks.dot(column, begins))] = true;
                banks.dots_until = tck + dot;
                if output.last_o {
                    banks.ended.push((tck + SUM, banks.end(precision)));
                }
            }
            GEMV => {
                let count = output.count_o.get() as usize + 1;
                for n in 0..count {
                    found.factors[usize::from(!banks.dot(column + n, n == 0))] = true;
                }
                found.results[if count == 1 { 0 } else { 1 + usize::from(count == 32) }] = true;
                banks.dots_until = tck + count * dot;
                let last = tck + (count - 1) * dot;
                let results = banks.end(precision);
                if let Some(at) = found.outputs.get_mut(last + SUM) {
                    at.gemv_results_o = true;
                    at.results_o.as_mut().copy_from_slice(&results);
                }
                if let Some(at) = found.outputs.get_mut(last + latency) {
                    at.burst_o = true;
                }
                banks.ended.push((last + SUM, results));
            }
            READ_RESULT => {
                found.results[3] = true;
                let here = banks.ended.iter().rev().find(|(from, _)| *from <= tck + 1);
                if let Some(at) = found.outputs.get_mut(tck + 1) {
                    at.read_results_o = true;
                    if let Some((_, results)) = here {
                        at.results_o.as_mut().copy_from_slice(results);
                    }
                }
                if let Some(at) = found.outputs.get_mut(tck + cl) {
                    at.burst_o = true;
                }
            }
            _ => {}
        }
    }
    found
}

/// The row of the last ACT of a bank.
fn banks_row<R: BankResults>(outputs: &[PimChannelOut<R>], until: usize, bank: usize) -> U<15> {
    let is_of = |output: &&PimChannelOut<R>| {
        output.command_o.get() == ACT && output.bank_o.get() as usize == bank
    };
    outputs[..until].iter().rev().find(is_of).map(|output| output.row_o).unwrap_or_default()
}
