// SPDX-License-Identifier: MIT
//! The dispatcher's model.

use super::nest::Nest;
use super::sequence::Sequenced;
use super::stage::{Products, Stage};
use super::{DispatcherIn, DispatcherOut, DispatcherProbe};
use pimlico_dpa::types::{Dispatch, Load, LoadKind, RunEnd};
use pimlico_dpa::{NO_ROW, Status};
use pimlico_ports::{Model, U, Unit};

/// The cycle model of a dispatcher for so many requests, words of the command buffer and entries of the
/// Va2Pa table.
///
#[doc = contract!("module/dispatcher")]
#[derive(Clone)]
pub struct Dispatcher<
    const REQUESTS: usize = 16,
    const COMMANDS: usize = 12288,
    const ENTRIES: usize = 49152,
> {
    pub(super) requests: [Request; 16],
    status: [Status; 16],
    /// Words of the program.
    pub(super) length: u32,
    pub(super) overflow: bool,

    /// A run is not over.
    busy: bool,
    /// Words of it are sequenced.
    running: bool,
    pub(super) request: u8,
    pub(super) pc: u32,
    pub(super) nest: Nest,

    multiply: Option<(Stage, Products)>,
    translate: Option<Stage>,
    dispatch: Option<Stage>,
    /// What the registers of the last two stages hold even when nothing is in them.
    translate_held: Stage,
    dispatch_held: Stage,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Request {
    pub(super) tokens: u32,
    pub(super) base: u16,
    pub(super) rows: u16,
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Unit
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    const MODULE: &'static str = "dispatcher";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("REQUESTS", REQUESTS as i64),
        ("COMMANDS", COMMANDS as i64),
        ("ENTRIES", ENTRIES as i64),
    ];
    type In = DispatcherIn;
    type Out = DispatcherOut;
    type Probe = DispatcherProbe;

    fn variant() -> String {
        match (REQUESTS, COMMANDS, ENTRIES) {
            (16, 12288, 49152) => String::new(),
            _ => format!("requests{REQUESTS}_commands{COMMANDS}_entries{ENTRIES}"),
        }
    }
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    /// Cycles from a start to the first command.
    pub const LATENCY: u64 = 4;

    /// Whether there is such an address, and room for the data.
    fn fits(&Load { kind, address, data }: &Load) -> bool {
        let (addresses, bits) = match kind {
            LoadKind::Command => (COMMANDS, 64),
            LoadKind::Entry => (ENTRIES, 16),
            LoadKind::Tokens => (REQUESTS, 20),
            LoadKind::Segment => (REQUESTS, 32),
            LoadKind::Clear => return true,
        };
        usize::from(address) < addresses && (bits == 64 || data >> bits == 0)
    }

    fn load(&mut self, load: &Load) {
        let &Load { kind, address, data } = load;
        let request = usize::from(address) % self.requests.len();
        match kind {
            LoadKind::Clear => (self.length, self.overflow) = (0, false),
            _ if !Self::fits(load) => self.overflow = true,
            LoadKind::Command => self.length = self.length.max(u32::from(address) + 1),
            LoadKind::Entry => {}
            LoadKind::Tokens => self.requests[request].tokens = data as u32,
            LoadKind::Segment => {
                self.requests[request].base = data as u16;
                self.requests[request].rows = (data >> 16) as u16;
            }
        }
    }

    fn set_status(&mut self, status: Status) {
        if usize::from(self.request) < REQUESTS {
            self.status[usize::from(self.request)] = status;
        }
    }
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Model
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    fn new() -> Self {
        const {
            assert!(REQUESTS >= 1 && REQUESTS <= 16);
            assert!(COMMANDS <= 16380 && ENTRIES <= 65535);
        }
        Self {
            requests: [Request::default(); 16],
            status: [Status::default(); 16],
            length: 0,
            overflow: false,
            busy: false,
            running: false,
            request: 0,
            pc: 0,
            nest: Nest::default(),
            multiply: None,
            translate: None,
            dispatch: None,
            translate_held: Stage::default(),
            dispatch_held: Stage::default(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        DispatcherProbe {
            pc_q: U::new(self.pc.into()),
            depth_q: U::new(self.nest.depth as u64),
            length_q: U::new(self.length.into()),
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let fits = input.load_valid_i && Self::fits(&input.load_i);
        let started = input.start_valid_i && !self.busy;

        // Dispatch.
        let last = self.dispatch_held;
        let row = input.table_data_i;
        let missed = last.looks_up() && row == NO_ROW;
        let done = self.dispatch.is_some() && (missed || last.ends.is_some());
        let valid = self.dispatch.is_some() && !done;
        let dispatch_free = !valid || input.dispatch_ready_i;
        let translate_free = self.translate.is_none() || dispatch_free;

        // Look-up.
        let Request { base, rows, .. } = self.requests[usize::from(self.translate_held.request)];
        let entry = usize::from(base) + usize::from(self.translate_held.place as u16);
        let beyond = self.translate_held.place as u16 >= rows || entry >= ENTRIES;
        let looks_up = self.translate.is_some() && self.translate_held.looks_up() && dispatch_free;
        let translate_faults = looks_up && beyond;

        // Products.
        let multiplied = match &self.multiply {
            Some((stage, products)) if translate_free => Some(stage.multiply(products)),
            _ => None,
        };
        let multiply_free = self.multiply.is_none() || translate_free;
        let overflows = |stage: &Stage| stage.ends == Some(Status::FieldOverflow);
        let multiply_faults = multiplied.as_ref().is_some_and(overflows);

        // Words.
        let steps = self.running && multiply_free;
        let (mut nest, mut next) = (None, self.pc);
        let sequenced = steps.then(|| {
            let nest = nest.insert(self.nest);
            self.sequence(&input.fetch_data_i, input.stop_i, nest, &mut next)
        });
        let goes_on = matches!(sequenced, Some(Sequenced::Command(..) | Sequenced::Nothing));
        let fetch_address = match goes_on {
            _ if started => input.start_i.address.get() as u32,
            true => next,
            false => self.pc,
        };

        let status = if missed { Status::Va2PaMiss } else { last.ends.unwrap_or_default() };
        let end = RunEnd { status, address: U::new(last.address.into()) };
        let output = DispatcherOut {
            command_write_o: fits && input.load_i.kind == LoadKind::Command,
            table_write_o: fits && input.load_i.kind == LoadKind::Entry,
            overflow_o: self.overflow,
            start_ready_o: !self.busy,
            fetch_read_o: started || goes_on,
            fetch_address_o: U::new(fetch_address.into()),
            table_read_o: looks_up && !beyond,
            table_address_o: entry as u16,
            dispatch_valid_o: valid,
            dispatch_o: if valid { last.dispatched(row) } else { Dispatch::default() },
            end_valid_o: done,
            end_o: if done { end } else { RunEnd::default() },
            status_o: self.status,
        };

        // The edge, from the end of the pipeline. A fault takes with it all that is behind.
        if dispatch_free {
            self.dispatch = self.translate.filter(|_| !done).map(|mut stage| {
                if translate_faults {
                    stage.ends = Some(Status::Va2PaMiss);
                }
                self.dispatch_held = stage;
                stage
            });
        }
        if translate_free {
            self.translate = multiplied.filter(|_| !done && !translate_faults);
            self.translate_held = self.translate.unwrap_or(self.translate_held);
        }
        let killed = done || translate_faults || multiply_faults;
        if multiply_free {
            self.multiply = match sequenced {
                _ if killed => None,
                Some(Sequenced::Command(stage, products)) => Some((stage, products)),
                Some(Sequenced::Ends(stage)) => Some((stage, Products::default())),
                Some(Sequenced::Nothing) | None => None,
            };
        }
        self.running &= !killed && (goes_on || !steps);
        if let (true, Some(nest)) = (goes_on, nest) {
            self.nest = nest;
        }
        if started || goes_on {
            self.pc = fetch_address;
        }
        if done {
            self.busy = false;
            self.set_status(status);
        }
        if started {
            (self.busy, self.running) = (true, true);
            self.request = input.start_i.request.get() as u8;
            self.nest.depth = 0;
            self.set_status(Status::Running);
        }
        if input.load_valid_i {
            self.load(&input.load_i);
        }
        output
    }
}
