// SPDX-License-Identifier: MIT
//! Which results of the bank PUs an RD_RESULT reads.

use super::bank_pus::{BankPus, SumElement};
use crate::config::Config;
use crate::sizes::{CHIPS, LANES};
use pimlico_dpa::types::ResultAddress;
use pimlico_units::arith::Fp;

/// The results of a burst: an element of each chip in each of its tCK.
pub type ReadElements<A> = [[Fp<A>; CHIPS]; LANES];

/// What is between the bank PUs' result registers and the data bus.
pub struct ReadOut<A: SumElement> {
    banks_per_group: usize,
    /// The scores of the banks, as they were at the last RD_RESULT of those of bank group 0.
    kept: Box<[[Fp<A>; CHIPS]]>,
}

impl<A: SumElement> ReadOut<A> {
    /// Nothing has been read yet.
    pub fn new(config: &Config) -> Self {
        Self {
            banks_per_group: config.organisation.banks_per_group,
            kept: vec![[Fp::ZERO; CHIPS]; config.banks()].into(),
        }
    }

    /// The elements that an RD_RESULT reads. Of sums of the context of 32 bits a burst has two: what stands behind them is not
    /// used.
    pub fn elements(&mut self, pus: &BankPus<A>, address: ResultAddress) -> ReadElements<A> {
        let ResultAddress { context_sums, upper, bank, lane, .. } = address;
        let (bank, lane) = (bank.get() as usize, lane.get() as usize);
        let of_group = self.banks_per_group;
        if !context_sums && lane == 0 {
            for (bank, kept) in self.kept.iter_mut().enumerate() {
                *kept = pus.score(bank);
            }
        }
        std::array::from_fn(|n| {
            if context_sums {
                let group = (n + if upper { 2 } else { 0 }) % LANES;
                pus.sum(group * of_group + bank, lane)
            } else {
                self.kept[lane * of_group + n]
            }
        })
    }
}
