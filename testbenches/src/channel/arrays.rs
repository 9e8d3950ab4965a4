// SPDX-License-Identifier: MIT
//! The cell arrays of a channel, with the rows that are open in them.

use crate::random::Random;
use pimlico_dpa::types::{BANKS, Column, PinCommand, Pins, Row};
use std::collections::HashMap;

/// A column of a bank: sixteen elements, four in each part, the first in the low bits.
pub(crate) type Word = [u64; 4];

/// The arrays. What was never written is random, of moderate size.
pub(crate) struct Arrays {
    seed: u64,
    /// Banks that an ACT_ALL opens.
    faw_banks: usize,
    open: [Option<Row>; BANKS],
    written: HashMap<(usize, Row, Column), Word>,
}

impl Arrays {
    pub fn new(seed: u64, faw_banks: usize) -> Self {
        Self { seed, faw_banks, open: [None; BANKS], written: HashMap::new() }
    }

    /// A column of every open bank; of the others zeros.
    pub fn columns(&self, column: Column) -> [[u16; 16]; BANKS] {
        std::array::from_fn(|bank| {
            elements(self.open[bank].map_or([0; 4], |row| self.cells(bank, row, column)))
        })
    }

    fn cells(&self, bank: usize, row: Row, column: Column) -> Word {
        self.written.get(&(bank, row, column)).copied().unwrap_or_else(|| {
            let place = (bank as u64) << 32 | u64::from(row) << 8 | u64::from(column);
            moderate_word(&mut Random(self.seed ^ place << 16))
        })
    }

    /// A command on the pins of the first slot.
    pub fn command(&mut self, pins: &Pins) {
        let bank = pins.bank.get() as usize;
        match pins.command {
            PinCommand::Act => self.open[bank] = Some(pins.row),
            PinCommand::ActAll => self.open[bank..bank + self.faw_banks].fill(Some(pins.row)),
            PinCommand::Pre => self.open[bank] = None,
            PinCommand::PreAll => self.open = [None; BANKS],
            _ => {}
        }
    }

    /// A column of a bank is written.
    pub fn write(&mut self, bank: usize, column: Column, word: Word) {
        if let Some(row) = self.open[bank] {
            self.written.insert((bank, row, column), word);
        }
    }
}

/// Sixteen numbers between 2^-6 and 2 of either sign; some of them any number.
pub(crate) fn moderate_word(random: &mut Random) -> Word {
    std::array::from_fn(|_| {
        let (draw, wild) = (random.next(), random.below(256));
        let numbers = (0..4).map(|n| {
            let bits = draw >> (16 * n) & 0xFFFF;
            let exponent = 9 + (bits >> 10 & 7).min(6);
            let moderate = bits & 0x83FF | exponent << 10;
            let number = match wild.checked_sub(4 * n) {
                Some(wild @ 0..4) => [0, 0x8000, 0x0001, 0x7C00][wild as usize],
                _ => moderate,
            };
            number << (16 * n)
        });
        numbers.sum()
    })
}

/// The elements of a word.
pub(crate) fn elements(word: Word) -> [u16; 16] {
    std::array::from_fn(|n| (word[n / 4] >> (16 * (n % 4))) as u16)
}
