// SPDX-License-Identifier: MIT
//! The dispatcher with the memories beside it: command buffer and Va2Pa table.

use pimlico_dpa::types::{Load, LoadKind, Start};
use pimlico_dpa::{COMMANDS, ENTRIES, NO_ROW};
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::module::{Dispatcher, DispatcherIn, DispatcherOut};

/// Clocks after which nothing moves in the dispatcher, where its target takes nothing and it fetches nothing:
/// either its stages are full, or the end of the program has passed two of them.
const STAGES: u32 = 3;

/// The dispatcher and its memories.
pub struct Module {
    dispatcher: Box<dyn Instances<Dispatcher>>,
    commands: Box<[u64]>,
    table: Box<[u16]>,
    /// What the memories give, and no request.
    input: DispatcherIn,
    /// The ports in its last clock.
    driven: DispatcherIn,
    output: DispatcherOut,
    /// Clocks for which its target has taken nothing, and it has fetched nothing.
    stalled: u32,
}

impl Module {
    /// A dispatcher that has been reset, with empty memories.
    pub fn new(dispatcher: Box<dyn Instances<Dispatcher>>) -> Self {
        Self {
            dispatcher,
            commands: vec![0; COMMANDS].into(),
            table: vec![NO_ROW; ENTRIES].into(),
            input: DispatcherIn::default(),
            driven: DispatcherIn::default(),
            output: DispatcherOut::default(),
            stalled: 0,
        }
    }

    /// A clock in which the host writes.
    pub fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), Box<Mismatch>> {
        let load_i = Load { kind, address, data };
        self.clock(DispatcherIn { load_valid_i: true, load_i, ..self.input })
    }

    /// A clock in which a run starts.
    pub fn start(&mut self, request: u8, address: u16) -> Result<(), Box<Mismatch>> {
        self.stalled = 0;
        self.clock(DispatcherIn {
            start_valid_i: true,
            start_i: Start { request: U::new(request.into()), address: U::new(address.into()) },
            ..self.input
        })
    }

    /// A clock of a run. The dispatcher's clock stands still where nothing can change: where its target
    /// has taken nothing for as long as it has stages.
    pub fn step(
        &mut self,
        dispatch_ready_i: bool,
        stop_i: bool,
    ) -> Result<&DispatcherOut, Box<Mismatch>> {
        if !dispatch_ready_i && self.stalled >= STAGES {
            return Ok(&self.output);
        }
        self.clock(DispatcherIn { dispatch_ready_i, stop_i, ..self.input })?;
        let stalls = self.output.dispatch_valid_o && !dispatch_ready_i && !self.output.fetch_read_o;
        self.stalled = if stalls { self.stalled + 1 } else { 0 };
        Ok(&self.output)
    }

    /// The dispatcher's ports in its last clock.
    pub fn ports(&self) -> (&DispatcherIn, &DispatcherOut) {
        (&self.driven, &self.output)
    }

    fn clock(&mut self, input: DispatcherIn) -> Result<(), Box<Mismatch>> {
        self.driven = input;
        let output = std::slice::from_mut(&mut self.output);
        self.dispatcher.step(std::slice::from_ref(&input), output)?;
        let output = &self.output;
        let Load { address, data, .. } = input.load_i;
        let address = usize::from(address);
        if output.command_write_o {
            self.commands[address] = data;
        }
        if output.table_write_o {
            self.table[address] = data as u16;
        }
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            // What lies beyond the memory is beyond every program, and not looked at.
            let word = |n: usize| self.commands.get(from + n).copied().unwrap_or(0);
            self.input.fetch_data_i = std::array::from_fn(word);
        }
        if output.table_read_o {
            self.input.table_data_i = self.table[usize::from(output.table_address_o)];
        }
        Ok(())
    }
}
