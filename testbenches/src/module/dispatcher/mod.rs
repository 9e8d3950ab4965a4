// SPDX-License-Identifier: MIT
//! Bench of `dispatcher`: every command of a run, and its end, in the cycle in which they are due
//! whatever the target does, with the fields that `golden::dispatch` finds.
//!
//! The bench plays host and memories. To know what is read it runs the model once, as stimulus; the
//! judge knows the memories from what the host wrote, and leaves out a run whose memories gave
//! something else or were written meanwhile.

mod host;
mod judge;

use super::plan;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use host::Host;
use judge::Judge;
use pimlico_dpa::NO_ROW;
use pimlico_dpa::types::{Load, LoadKind};
use pimlico_ports::Model;
use pimlico_units::module::{Dispatcher, DispatcherIn, DispatcherOut};

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Bench
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    fn arrange(inputs: &mut [DispatcherIn]) {
        let Some(first) = inputs.first() else { return };
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        let mut host = Host::new(sizes, first.load_i.data);
        let mut memories = Memories::new(sizes);
        let mut unit = Self::new();
        for input in inputs {
            host.drive(input);
            if !host.lies() {
                memories.drive(input);
            }
            let output = unit.step(input);
            memories.see(input, &output);
            host.see(&output);
        }
    }

    fn plan(bins: &mut Bins) {
        plan::plan(Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES }, bins);
    }

    fn cover(inputs: &[DispatcherIn], outputs: &[DispatcherOut], bins: &mut Bins) {
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        plan::cover(sizes, inputs, outputs, bins);
    }

    fn oracle(inputs: &[DispatcherIn], outputs: &[DispatcherOut]) -> Result<u64, OracleError> {
        let sizes = Sizes { requests: REQUESTS, commands: COMMANDS, entries: ENTRIES };
        let mut judge = Judge::new(sizes, inputs);
        for (clock, output) in outputs.iter().enumerate() {
            judge.judge(clock, output)?;
        }
        Ok(judge.checked)
    }
}

/// The sizes of a dispatcher.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub requests: usize,
    pub commands: usize,
    pub entries: usize,
}

impl Sizes {
    /// How many addresses a kind of write has, and how many bits.
    pub fn of(&self, kind: LoadKind) -> (usize, u32) {
        match kind {
            LoadKind::Command => (self.commands, 64),
            LoadKind::Entry => (self.entries, 16),
            LoadKind::Tokens => (self.requests, 20),
            LoadKind::Segment | LoadKind::Layers => (self.requests, 32),
            LoadKind::Clear => (usize::MAX, 64),
        }
    }
}

/// Both memories.
struct Memories {
    commands: Vec<u64>,
    table: Vec<u16>,
    window: [u64; 2],
    entry: u16,
}

impl Memories {
    fn new(sizes: Sizes) -> Self {
        let (commands, table) = (vec![0; sizes.commands], vec![NO_ROW; sizes.entries]);
        Self { commands, table, window: [0; 2], entry: 0 }
    }

    fn drive(&self, input: &mut DispatcherIn) {
        input.fetch_data_i = self.window;
        input.table_data_i = self.entry;
    }

    /// Reads, then writes.
    fn see(&mut self, input: &DispatcherIn, output: &DispatcherOut) {
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            self.window =
                std::array::from_fn(|n| self.commands.get(from + n).copied().unwrap_or(0));
        }
        if output.table_read_o {
            self.entry = self.table.get(usize::from(output.table_address_o)).copied().unwrap_or(0);
        }
        // Where the unit has not asked whether it fits, nothing is written.
        let Load { address, data, .. } = input.load_i;
        let address = usize::from(address);
        if output.command_write_o
            && let Some(word) = self.commands.get_mut(address)
        {
            *word = data;
        }
        if output.table_write_o
            && let Some(entry) = self.table.get_mut(address)
        {
            *entry = data as u16;
        }
    }
}
