// SPDX-License-Identifier: MIT
//! The dispatcher with the memories beside it.

use crate::laps::Doings;
use crate::memories::{Accesses, Memories};
use pimlico_dpa::types::{Dispatch, Load, Start, Status};
use pimlico_ports::Model;
use pimlico_units::lap::Walk;
use pimlico_units::module::{Dispatcher, DispatcherIn, DispatcherOut, Taken};

/// The dispatcher and its memories.
pub struct Front {
    dispatcher: Dispatcher,
    memories: Memories,
    input: DispatcherIn,
    output: DispatcherOut,
    /// In its last cycle there was nothing that could change: all its stages were full and its target took nothing, or no run
    /// goes on.
    stalled: bool,
    /// What it does, where that is kept.
    kept: Option<Doings>,
}

/// Commands of which it is kept that they were taken, at the most.
const MOST_KEPT: usize = 4096;

impl Front {
    /// A dispatcher that has been reset, with empty memories.
    pub fn new() -> Self {
        Self {
            dispatcher: Dispatcher::new(),
            memories: Memories::new(),
            input: DispatcherIn::default(),
            output: DispatcherOut::default(),
            stalled: false,
            kept: None,
        }
    }

    /// Keeps what the dispatcher does from here on; returns what was kept before.
    pub fn keep(&mut self, kept: Option<Doings>) -> Option<Doings> {
        std::mem::replace(&mut self.kept, kept)
    }

    /// The address of the entry of the Va2Pa table that was read last.
    pub fn entry_at(&self) -> u16 {
        self.memories.entry_at()
    }

    /// What the Va2Pa table has at an address, if that is an entry of the running request.
    pub fn looked_up(&self, at: u16) -> Option<u16> {
        let is_own = self.dispatcher.segment().contains(&at.into());
        self.memories.looked_up(at).filter(|_| is_own)
    }

    /// Goes over all of it, for [laps](pimlico_units::lap). What the dispatcher had on its ports is of no more account.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        // Whether it is known that the clock stands still changes nothing.
        let Self { dispatcher, memories, input: _, output: _, stalled: _, kept: _ } = self;
        let outermost = dispatcher.outermost();
        walk.refuse_if(outermost.is_none());
        let (words, over_tokens) = outermost.unwrap_or((0..=0, false));
        let goes_over_all = memories.walk(walk, words);
        dispatcher.walk(walk, goes_over_all || !over_tokens);
    }

    /// A cycle in which the host writes.
    pub fn load(&mut self, load_i: Load) {
        self.stalled = false;
        self.clock(DispatcherIn { load_valid_i: true, load_i, ..DispatcherIn::default() });
    }

    /// A cycle in which a run starts.
    pub fn start(&mut self, start_i: Start) {
        self.stalled = false;
        self.clock(DispatcherIn { start_valid_i: true, start_i, ..DispatcherIn::default() });
    }

    /// A cycle of a run. Returns whether the dispatcher has one: its clock stands still where nothing can
    /// change, as all its stages are full and its target takes nothing, or as its run is over.
    pub fn step(&mut self, dispatch_ready_i: bool, stop_i: bool) -> bool {
        let stalls = !dispatch_ready_i && self.dispatcher.is_full() || self.dispatcher.is_idle();
        if std::mem::replace(&mut self.stalled, stalls) && stalls {
            return false;
        }
        self.clock(DispatcherIn { dispatch_ready_i, stop_i, ..DispatcherIn::default() });
        true
    }

    /// Whether its clock stands still until its target takes a command, or for good.
    pub fn is_stalled(&self) -> bool {
        self.stalled
    }

    /// Whether it has a command for its target, which it keeps until that is taken.
    pub fn offers(&self) -> bool {
        self.dispatcher.offers()
    }

    /// Whether it has another command behind that.
    pub fn offers_two(&self) -> bool {
        self.dispatcher.offers_two(self.memories.entry())
    }

    /// So many cycles of a run, in one of which the first of [two](Self::offers_two) commands is taken. Returns that one.
    pub fn pass(&mut self, cycles: u64, taken_in: u64) -> Dispatch {
        let mut taken = Dispatch::default();
        for cycle in 0..cycles {
            let dispatch_ready_i = cycle == taken_in;
            if self.dispatcher.is_full() {
                if !dispatch_ready_i {
                    continue;
                }
                let (fetched, entry) = (self.memories.fetched(), self.memories.entry());
                if let Some(Taken { dispatched, fetch, entry }) =
                    self.dispatcher.take(&fetched, entry)
                {
                    self.memories.read(fetch.map(|from| from as usize), entry.map(usize::from));
                    taken = dispatched;
                    self.note(Some(dispatched), entry.is_some());
                    continue;
                }
            }
            self.clock(DispatcherIn { dispatch_ready_i, ..DispatcherIn::default() });
            if dispatch_ready_i {
                taken = self.output.dispatch_o;
            }
        }
        self.stalled = false;
        taken
    }

    /// The dispatcher's inputs in its last cycle.
    pub fn input(&self) -> &DispatcherIn {
        &self.input
    }

    /// The dispatcher's outputs in its last cycle.
    pub fn output(&self) -> &DispatcherOut {
        &self.output
    }

    /// Status of each request, and whether the host has written more than fits.
    pub fn status(&self) -> ([Status; 16], bool) {
        self.dispatcher.status()
    }

    fn clock(&mut self, input: DispatcherIn) {
        let (fetch_data_i, table_data_i) = (self.memories.fetched(), self.memories.entry());
        self.input = DispatcherIn { fetch_data_i, table_data_i, ..input };
        self.output = self.dispatcher.step(&self.input);
        let output = &self.output;
        self.memories.clock(&Accesses {
            command_write: output.command_write_o,
            table_write: output.table_write_o,
            load: input.load_i,
            fetch: output.fetch_read_o.then_some(output.fetch_address_o.get() as usize),
            entry: output.table_read_o.then_some(output.table_address_o.into()),
        });
        let taken = input.dispatch_ready_i && output.dispatch_valid_o;
        let (dispatched, is_read) = (output.dispatch_o, output.table_read_o);
        self.note(taken.then_some(dispatched), is_read);
    }

    /// A command was taken, an entry of the table was read.
    fn note(&mut self, dispatched: Option<Dispatch>, is_read: bool) {
        let Some(kept) = &mut self.kept else { return };
        kept.overflow |= kept.dispatched.len() == MOST_KEPT;
        if kept.overflow {
            return;
        }
        kept.dispatched.extend(dispatched);
        let read = (self.memories.entry_at(), self.memories.entry());
        if is_read && kept.read.last() != Some(&read) {
            kept.read.push(read);
        }
    }
}
