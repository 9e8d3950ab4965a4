// SPDX-License-Identifier: MIT
//! The dispatcher's model.

use super::decoder::Decoder;
use super::nest::Nest;
use super::sequence::Turn;
use super::stage::Stage;
use super::{DispatcherIn, DispatcherOut, DispatcherProbe};
use pimlico_dpa::Status;
use pimlico_dpa::types::{Dispatch, Load, LoadKind, RunEnd};
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
    /// A write to them, which waits for a cycle.
    config: Option<Load>,
    status: [Status; 16],
    /// The layer of the run that has just ended is over.
    steps: bool,
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
    pub(super) decoder: Decoder,

    multiply: Option<Turn>,
    add: Option<Stage>,
    /// With the segment of its request.
    translate: Option<(Stage, Request)>,
    wait: Option<Stage>,
    dispatch: Option<Stage>,
}

/// What happens in a cycle of a dispatcher in which its target [takes](Dispatcher::take) a command.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The command.
    pub dispatched: Dispatch,
    /// The word of the command buffer that is read.
    pub fetch: Option<u32>,
    /// The entry of the table that is read.
    pub entry: Option<u16>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Request {
    pub(super) tokens: u32,
    pub(super) base: u16,
    pub(super) rows: u16,
    /// How many layers there are, of which 0 is one, and entries from one to the next.
    layers: u16,
    stride: u16,
    /// The layer that the request is at,
    layer: u16,
    /// and its first entry, if that is not beyond the table.
    layer_base: Option<u16>,
}

impl Request {
    /// The entry of a virtual row, if there is such a row.
    fn entry(&self, row: u16) -> Option<u16> {
        if row < self.rows { self.layer_base?.checked_add(row) } else { None }
    }

    /// Goes back to the first layer.
    fn begin(&mut self) {
        (self.layer, self.layer_base) = (0, Some(self.base));
    }

    /// Goes on to the next layer, behind the last to the first.
    fn next_layer(&mut self) {
        self.layer += 1;
        self.layer_base = self.layer_base.and_then(|base| base.checked_add(self.stride));
        if self.layer >= self.layers {
            self.begin();
        }
    }
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
    pub const LATENCY: u64 = 6;

    /// Whether every stage has a command: nothing changes until the target takes one.
    pub fn is_full(&self) -> bool {
        let held = [&self.dispatch, &self.wait, &self.add].iter().all(|stage| stage.is_some());
        held && self.translate.is_some()
            && self.multiply.is_some()
            && self.dispatch.is_some_and(|stage| stage.ends.is_none())
    }

    /// Whether no run goes on and nothing of the last one is left: nothing changes until the host writes or starts one.
    pub fn is_idle(&self) -> bool {
        let is_over = !self.busy && !self.steps && self.config.is_none();
        is_over && self.dispatch.is_none() && self.multiply.is_none()
    }

    /// Whether it has a command for its target, which it keeps until that is taken.
    pub fn offers(&self) -> bool {
        self.dispatch.is_some_and(|stage| stage.ends.is_none())
    }

    /// Whether it has another command behind that, if the table has this for it, and not the end of the run.
    pub fn offers_two(&self, table_data: u16) -> bool {
        self.offers() && self.wait.is_some_and(|stage| stage.found(table_data).ends.is_none())
    }

    /// A cycle of a run in which its target takes a command, where all stages are full and nothing is written: what
    /// [`step`](Model::step) does then. None, and then it has done nothing, where another stage than the last may end the run, or
    /// a loop begins.
    pub fn take(&mut self, fetch_data: &[u64; 2], table_data: u16) -> Option<Taken> {
        let goes_on = self.running && !self.steps && self.config.is_none();
        let (Some(dispatch), Some(wait)) = (self.dispatch, self.wait) else { return None };
        let (Some((translate, segment)), Some(add)) = (self.translate, self.add) else {
            return None;
        };
        let Some(Turn::Stage(multiply)) = self.multiply else { return None };
        if !goes_on || dispatch.ends.is_some() {
            return None;
        }
        let entry = match translate.looks_up() {
            true => {
                let entry = segment.entry(translate.place as u16);
                Some(entry.filter(|entry| usize::from(*entry) < ENTRIES)?)
            }
            false => None,
        };
        self.dispatch = Some(wait.found(table_data));
        self.wait = Some(translate);
        self.translate = Some((add, self.requests[usize::from(add.request)]));
        self.add = Some(multiply);
        let (turn, fetch) = self.sequence(fetch_data, false);
        self.multiply = Some(turn);
        self.running = fetch.is_some();
        self.pc = fetch.unwrap_or(self.pc);
        Some(Taken { dispatched: dispatch.dispatched(), fetch, entry })
    }

    /// What `status_o` and `overflow_o` show.
    pub fn status(&self) -> ([Status; 16], bool) {
        (self.status, self.overflow)
    }

    /// Whether there is such an address, and room for the data.
    fn fits(&Load { kind, address, data }: &Load) -> bool {
        let (addresses, bits) = match kind {
            LoadKind::Command => (COMMANDS, 64),
            LoadKind::Entry => (ENTRIES, 16),
            LoadKind::Tokens => (REQUESTS, 20),
            LoadKind::Segment | LoadKind::Layers => (REQUESTS, 32),
            LoadKind::Clear => return true,
        };
        usize::from(address) < addresses && (bits == 64 || data >> bits == 0)
    }

    fn load(&mut self, load: &Load) {
        let &Load { kind, address, .. } = load;
        match kind {
            LoadKind::Clear => (self.length, self.overflow) = (0, false),
            _ if !Self::fits(load) => self.overflow = true,
            LoadKind::Command => self.length = self.length.max(u32::from(address) + 1),
            LoadKind::Entry => {}
            LoadKind::Tokens | LoadKind::Segment | LoadKind::Layers => self.config = Some(*load),
        }
    }

    /// Writes T_cur, the segment or the layers of a request. With these it is at its first layer.
    fn configure(&mut self, &Load { kind, address, data }: &Load) {
        let Some(request) = self.requests.get_mut(usize::from(address)) else { return };
        let halves = (data as u16, (data >> 16) as u16);
        match kind {
            LoadKind::Tokens => return request.tokens = data as u32,
            LoadKind::Layers => (request.stride, request.layers) = halves,
            _ => (request.base, request.rows) = halves,
        }
        request.begin();
    }

    /// What a turn leaves for the next stage: nothing of a NOP, and of a loop, which begins.
    fn checked_turn(&mut self, turn: Turn) -> Option<Stage> {
        match turn {
            Turn::Stage(stage) => Some(stage),
            Turn::Nothing => None,
            Turn::Loop(Ok(level), at) if self.reaches_too_far(&level) => {
                Some(Stage::end(Status::LoopEnd, at))
            }
            Turn::Loop(Ok(level), _) => {
                self.nest.push(level);
                None
            }
            Turn::Loop(Err(status), at) => Some(Stage::end(status, at)),
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
            config: None,
            status: [Status::default(); 16],
            steps: false,
            length: 0,
            overflow: false,
            busy: false,
            running: false,
            request: 0,
            pc: 0,
            nest: Nest::default(),
            decoder: Decoder::new(),
            multiply: None,
            add: None,
            translate: None,
            wait: None,
            dispatch: None,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        DispatcherProbe {
            busy_q: self.busy,
            running_q: self.running,
            length_q: U::new(self.length.into()),
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let fits = input.load_valid_i && Self::fits(&input.load_i);
        let started = input.start_valid_i && !self.busy;

        // From the end of the pipeline: which registers are free for the next.
        let dispatch = self.dispatch;
        let done = dispatch.and_then(|stage| stage.ends.map(|status| (status, stage.address)));
        let command = dispatch.filter(|stage| stage.ends.is_none());
        let dispatch_free = dispatch.is_none() || input.dispatch_ready_i;
        let wait_free = self.wait.is_none() || dispatch_free;
        let translate_free = self.translate.is_none() || wait_free;
        let add_free = self.add.is_none() || translate_free;
        let multiply_free = self.multiply.is_none() || add_free;

        // Look-up.
        let entry = match &self.translate {
            Some((stage, segment)) if stage.looks_up() => Some(segment.entry(stage.place as u16)),
            _ => None,
        };
        let entry = entry.map(|entry| entry.filter(|entry| usize::from(*entry) < ENTRIES));
        let misses = entry == Some(None);
        let read = entry.flatten().filter(|_| wait_free);

        // Words.
        let loop_waits = matches!(self.multiply, Some(Turn::Loop(..)));
        let steps = self.running && multiply_free && !loop_waits;
        let (turn, next) = match steps {
            true => {
                let (turn, next) = self.sequence(&input.fetch_data_i, input.stop_i);
                (Some(turn), next)
            }
            false => (None, None),
        };
        let fetch = if started { Some(input.start_i.address.get() as u32) } else { next };

        let output = DispatcherOut {
            command_write_o: fits && input.load_i.kind == LoadKind::Command,
            table_write_o: fits && input.load_i.kind == LoadKind::Entry,
            overflow_o: self.overflow,
            start_ready_o: !self.busy,
            fetch_read_o: fetch.is_some(),
            fetch_address_o: U::new(fetch.unwrap_or(0).into()),
            table_read_o: read.is_some(),
            table_address_o: read.unwrap_or(0),
            dispatch_valid_o: command.is_some(),
            dispatch_o: command.map_or_else(Dispatch::default, |stage| stage.dispatched()),
            end_valid_o: done.is_some(),
            end_o: done.map_or_else(RunEnd::default, |(status, address)| RunEnd {
                status,
                address: U::new(address.into()),
                layer: self.requests[usize::from(self.request)].layer,
            }),
            status_o: self.status,
        };

        // The edge: a layer ends behind its run; then from the end of the pipeline.
        if std::mem::take(&mut self.steps) {
            self.requests[usize::from(self.request)].next_layer();
        }
        if dispatch_free {
            self.dispatch = self.wait.map(|stage| stage.found(input.table_data_i));
        }
        if wait_free {
            self.wait = self.translate.map(|(mut stage, _)| {
                if misses {
                    stage.ends = Some(Status::Va2PaMiss);
                }
                stage
            });
        }
        if translate_free {
            self.translate = self.add.map(|add| (add, self.requests[usize::from(add.request)]));
        }
        if add_free {
            self.add = self.multiply.take().and_then(|turn| self.checked_turn(turn));
        }
        if multiply_free {
            self.multiply = turn;
        }
        self.running &= !steps || next.is_some();
        if let Some(address) = fetch {
            self.pc = address;
        }
        if let Some((status, _)) = done {
            self.steps = status == Status::Done && dispatch.is_some_and(|stage| stage.next_layer);
            (self.multiply, self.add, self.translate) = (None, None, None);
            (self.wait, self.dispatch) = (None, None);
            (self.busy, self.running) = (false, false);
            self.set_status(status);
        }
        if started {
            (self.busy, self.running) = (true, true);
            self.request = input.start_i.request.get() as u8;
            self.nest.clear();
            self.set_status(Status::Running);
        }
        if let Some(write) = self.config.take() {
            self.configure(&write);
        }
        if input.load_valid_i {
            self.load(&input.load_i);
        }
        output
    }
}

mod laps;
