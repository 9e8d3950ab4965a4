// SPDX-License-Identifier: MIT
//! The memories of a hub: command buffer, Va2Pa table, GPR. An access takes two cycles: in the cycle behind a request the
//! data are not there yet.

use super::CHANNELS;
use crate::channel::arrays::{elements, moderate_word};
use crate::random::Random;
use pimlico_dpa::types::Load;
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW};
use pimlico_units::module::{AimHubIn, AimHubOut};
use std::collections::HashMap;

/// Sixteen elements.
pub(super) type Word = [u16; 16];

/// What a word of the GPR is before it is written.
pub(super) fn before(word: u32) -> Word {
    elements(moderate_word(&mut Random(u64::from(word) << 8 | 0x5A)))
}

pub(super) struct Memories {
    commands: Vec<u64>,
    table: Vec<u16>,
    gpr: HashMap<u32, Word>,
    window: [u64; 2],
    entry: u16,
    words: [Word; CHANNELS],
    /// Read in the last cycle: command buffer, Va2Pa table, and each memory of the GPR.
    fetches: bool,
    looks_up: bool,
    reads: [bool; CHANNELS],
    random: Random,
}

impl Memories {
    pub fn new(random: Random) -> Self {
        Self {
            commands: vec![0; COMMANDS],
            table: vec![NO_ROW; ENTRIES],
            gpr: HashMap::new(),
            window: [0; 2],
            entry: 0,
            words: Default::default(),
            fetches: false,
            looks_up: false,
            reads: [false; CHANNELS],
            random,
        }
    }

    pub fn drive(&mut self, input: &mut AimHubIn) {
        let mut on_its_way = || self.random.next();
        input.fetch_data_i = self.window;
        input.table_data_i = self.entry;
        input.gpr_data_i = self.words;
        if self.fetches {
            input.fetch_data_i = [on_its_way(), on_its_way()];
        }
        if self.looks_up {
            input.table_data_i = on_its_way() as u16;
        }
        for (data, reads) in input.gpr_data_i.iter_mut().zip(self.reads) {
            if reads {
                *data = [on_its_way() as u16; 16];
            }
        }
    }

    /// Reads, then writes.
    pub fn see(&mut self, input: &AimHubIn, output: &AimHubOut) {
        self.fetches = output.fetch_read_o;
        self.looks_up = output.table_read_o;
        self.reads = std::array::from_fn(|memory| output.gpr_read_o.get() >> memory & 1 != 0);
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            self.window =
                std::array::from_fn(|n| self.commands.get(from + n).copied().unwrap_or(0));
        }
        if output.table_read_o {
            self.entry = self.table.get(usize::from(output.table_address_o)).copied().unwrap_or(0);
        }
        let Load { address, data, .. } = input.load_i;
        let address = usize::from(address);
        if output.command_write_o {
            self.commands[address] = data;
        }
        if output.table_write_o {
            self.table[address] = data as u16;
        }
        for memory in 0..CHANNELS {
            let word = |line: u64| line as u32 * CHANNELS as u32 + memory as u32;
            if output.gpr_read_o.get() >> memory & 1 != 0 {
                let at = word(output.gpr_read_address_o.get());
                self.words[memory] = self.gpr.get(&at).copied().unwrap_or_else(|| before(at));
            }
            if output.gpr_write_o.get() >> memory & 1 != 0 {
                let at = word(output.gpr_write_address_o.get());
                self.gpr.insert(at, output.gpr_write_data_o[memory]);
            }
        }
    }
}
