// SPDX-License-Identifier: MIT
//! The memories beside the dispatcher: command buffer and Va2Pa table.

use pimlico_dpa::types::Load;
use pimlico_dpa::{COMMANDS, CommandWord, ENTRIES, Instruction, LoopSource, LoopWord, NO_ROW};
use pimlico_ports::U;
use pimlico_units::lap::Walk;
use std::ops::RangeInclusive;

/// What the dispatcher does with its memories in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Accesses {
    /// The host's write goes to the command buffer.
    pub command_write: bool,
    /// The host's write goes to the table.
    pub table_write: bool,
    /// The host's write.
    pub load: Load,
    /// Address of the first word of the command buffer that is read.
    pub fetch: Option<usize>,
    /// Address of the entry of the table that is read.
    pub entry: Option<usize>,
}

/// Both memories, with what they have read last.
pub struct Memories {
    commands: Box<[u64]>,
    table: Box<[u16]>,
    fetched: [u64; 2],
    entry: u16,
    /// Its address.
    entry_at: u16,
}

impl Memories {
    /// Empty memories.
    pub fn new() -> Self {
        Self {
            commands: vec![0; COMMANDS].into(),
            table: vec![NO_ROW; ENTRIES].into(),
            fetched: [0; 2],
            entry: 0,
            entry_at: 0,
        }
    }

    /// Words of the command buffer from the last address on, the first at the bottom.
    pub fn fetched(&self) -> [u64; 2] {
        self.fetched
    }

    /// Entry of the table at the last address.
    pub fn entry(&self) -> u16 {
        self.entry
    }

    /// Its address.
    pub fn entry_at(&self) -> u16 {
        self.entry_at
    }

    /// What the table has at an address, if there is one.
    pub fn looked_up(&self, at: u16) -> Option<u16> {
        self.table.get(usize::from(at)).copied()
    }

    /// Goes over these words of the program, and what was read last, for [laps](pimlico_units::lap): wherever the first virtual row
    /// of the words is. Returns whether one of them begins a loop over all tokens of a request.
    pub fn walk(&mut self, walk: &mut Walk<'_>, words: RangeInclusive<usize>) -> bool {
        let Self { commands, table: _, fetched, entry, entry_at } = self;
        let words = commands.get(words).unwrap_or_default();
        let said = |word: &u64| Instruction::decode(*word);
        let virtual_row = |word: &u64| match said(word) {
            Ok(Instruction::Command(of)) if of.opcode.has_row() => Some(of.place),
            _ => None,
        };
        let first = words.iter().find_map(virtual_row).unwrap_or_default();
        for word in words.iter().chain(&*fetched) {
            match said(word) {
                Ok(Instruction::Command(of)) if of.opcode.has_row() => {
                    let rest = Instruction::Command(CommandWord { place: U::new(0), ..of });
                    walk.still(of.place.get().wrapping_sub(first.get()));
                    walk.still(rest.encode());
                }
                _ => walk.still(*word),
            }
        }
        walk.row(entry);
        walk.moves(entry_at);
        let is_over_all = |word: &u64| {
            matches!(said(word), Ok(Instruction::Loop(LoopWord { source: LoopSource::All, .. })))
        };
        words.iter().any(is_over_all)
    }

    /// The end of a cycle.
    ///
    /// # Panics
    ///
    /// If a write is beyond the end: the dispatcher keeps those.
    pub fn clock(&mut self, accesses: &Accesses) {
        let Load { address, data, .. } = accesses.load;
        if accesses.command_write {
            self.commands[usize::from(address)] = data;
        }
        if accesses.table_write {
            self.table[usize::from(address)] = data as u16;
        }
        self.read(accesses.fetch, accesses.entry);
    }

    /// The end of a cycle in which nothing is written.
    pub fn read(&mut self, fetch: Option<usize>, entry: Option<usize>) {
        if let Some(from) = fetch {
            // What lies beyond the memory is beyond every program, and not looked at.
            let word = |n: usize| self.commands.get(from + n).copied().unwrap_or(0);
            self.fetched = std::array::from_fn(word);
        }
        if let Some(at) = entry {
            self.entry_at = at as u16;
            self.entry = self.table.get(at).copied().unwrap_or(NO_ROW);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_dpa::types::LoadKind;

    #[test]
    fn what_is_written_is_read_a_cycle_later() {
        let mut memories = Memories::new();
        let load = |address, data| Load { kind: LoadKind::Command, address, data };
        let write = Accesses { command_write: true, load: load(3, 7), ..Default::default() };
        memories.clock(&write);
        memories.clock(&Accesses { fetch: Some(2), entry: Some(1), ..Default::default() });
        assert_eq!((memories.fetched(), memories.entry()), ([0, 7], NO_ROW));
        let write = Accesses { table_write: true, load: load(1, 9), ..Default::default() };
        memories.clock(&write);
        assert_eq!(memories.entry(), NO_ROW);
        memories.clock(&Accesses {
            fetch: Some(COMMANDS - 1),
            entry: Some(1),
            ..Default::default()
        });
        assert_eq!((memories.fetched(), memories.entry()), ([0; 2], 9));
    }
}
