// SPDX-License-Identifier: MIT
//! The host port's model.

use super::decoder::decode;
use super::messages::{self, Action, Messages};
use super::modes::rewritten;
use super::owner::{Owner, OwnerIn, State};
use super::queue::{LOAD, Queue, Receiver};
use super::reader::{Read, Reader};
use super::results::{Elements, Stream};
use super::status::{Module, View};
use super::windows::{Window, Windows};
use super::{HostPortIn, HostPortOut, HostPortProbe};
use crate::gear::{self, DefaultGear, Gear};
use pimlico_dpa::types::{Beat, Burst, Pins};
use pimlico_ports::{Model, Open, U, Unit};
use std::array::from_fn;
use std::marker::PhantomData;

/// The cycle model of a host port.
///
#[doc = contract!("module/host_port")]
#[derive(Clone)]
pub struct HostPort<G: Gear = DefaultGear> {
    /// The next beat of the cycle of the core.
    beat: usize,
    windows: Windows,
    receiver: Receiver,
    queue: Queue,
    messages: Messages,
    owner: Owner,
    contexts: Stream,
    outputs: Stream,
    module: Module,
    reader: Reader,
    gear: PhantomData<G>,
}

impl<G: Gear> Unit for HostPort<G> {
    const MODULE: &'static str = "host_port";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("GEAR", G::TCK as i64)];
    type In = HostPortIn;
    type Out = HostPortOut;
    type Probe = HostPortProbe;

    fn variant() -> String {
        gear::variant::<G>("")
    }
}

impl<G: Gear> Model for HostPort<G> {
    fn new() -> Self {
        Self {
            beat: 0,
            windows: Windows::default(),
            receiver: Receiver::default(),
            queue: Queue::new(),
            messages: Messages::default(),
            owner: Owner::new(),
            contexts: Stream::new(),
            outputs: Stream::new(),
            module: Module::default(),
            reader: Reader::new(),
            gear: PhantomData,
        }
    }

    fn reset(&mut self) {
        self.beat = 0;
        self.windows = Windows::default();
        self.receiver = Receiver::default();
        self.queue.reset();
        self.messages = Messages::default();
        self.owner = Owner::new();
        self.contexts.reset();
        self.outputs.reset();
        self.module = Module::default();
        self.reader = Reader::new();
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        let head = self.queue.head();
        if self.action() != Action::Offer {
            open.port("operand_o").mark();
        }
        if self.reader.is_open() {
            open.port("host_dq_o").mark();
        }
        let of_no_kind = |head| messages::load_kind(head).is_none();
        if head.is_some_and(|head| head.kind() == Some(LOAD) && of_no_kind(head)) {
            open.port("load_o").field("kind").mark();
        }
    }

    fn probe(&self) -> Self::Probe {
        HostPortProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        self.output(input, decode(&input.host_pins_i), self.action())
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.clock(input);
        output
    }
}

impl<G: Gear> HostPort<G> {
    /// The host owns the pins, and nothing of its windows is under way: commands to other rows change nothing then but
    /// what is left of tRFC.
    pub fn is_quiet(&self) -> bool {
        self.owner.state() == State::Host
            && self.windows.are_closed()
            && self.receiver.is_idle()
            && self.queue.is_empty()
            && self.reader.is_idle()
            && !self.contexts.packs()
            && !self.outputs.packs()
    }

    /// Whether the port does no more for the host than to answer reads, as long as a run goes on and no data or results come:
    /// what a window shows then changes with the status alone.
    pub fn is_passive(&self) -> bool {
        self.packs_at_most() && self.contexts.rests() && self.outputs.rests()
    }

    /// Whether it does no more than that, and to pack results that have come.
    pub fn packs_at_most(&self) -> bool {
        self.owner.runs()
            && self.windows.rest()
            && self.receiver.is_idle()
            && self.queue.rests()
            && matches!(self.action(), Action::Wait | Action::Offer)
    }

    /// So many [passive](Self::is_passive) tCK, of cycles of the core which show this and the same status as the one before
    /// them. In none of them is an operand taken, a REF on the pins, or the run over; nor does its program end. The host has
    /// no command in them but this RD, in the tCK of this number. Tells what the module drives on the host's data bus, by the
    /// number of the tCK.
    pub fn pass(
        &mut self,
        input: &HostPortIn,
        tck: u64,
        command: Option<(u64, Pins)>,
        driven: &mut dyn FnMut(u64, [Beat; 2]),
    ) {
        let mut over = 0;
        while over < tck {
            let comes_tck = command.and_then(|(at_tck, _)| at_tck.checked_sub(over));
            let rests = self.windows.rest();
            let idle_tck = if rests { self.reader.idle_tck() } else { 0 };
            let idle_tck = idle_tck.min(tck - over).min(comes_tck.unwrap_or(u64::MAX));
            self.reader.rest(idle_tck);
            over += idle_tck;
            if over < tck {
                if let (Some(first), Some(second)) =
                    (self.reader.beat(false), self.reader.beat(true))
                {
                    driven(over, [first, second]);
                }
                let read = self.reader.window().map(|window| self.read(window));
                self.reader.clock(self.windows.read(), input.timing_i.cl, read);
                let comes = command.filter(|(at_tck, _)| *at_tck == over);
                self.windows.clock(comes.map_or(Pins::NONE, |(_, pins)| decode(&pins.encode())));
                over += 1;
            }
        }
        self.owner.pass(tck);
        self.module.clock(input, false);
        let beats = (2 * tck % (2 * G::TCK as u64)) as usize;
        self.beat = (self.beat + beats) % (2 * G::TCK);
    }

    /// A beat, of which no more is wanted than what is on the host's data bus.
    pub fn step_beat(&mut self, input: &HostPortIn) -> Option<Beat> {
        let on_bus = self.on_bus(input);
        self.clock(input);
        on_bus
    }

    /// The end of a beat.
    fn clock(&mut self, input: &HostPortIn) {
        self.receiver.take(input.host_dq_i);
        if self.is_second() {
            self.end_tck(input, decode(&input.host_pins_i), self.action());
        }
        self.beat = (self.beat + 1) % (2 * G::TCK);
    }

    /// What the module drives on the host's data bus in this beat.
    fn on_bus(&self, input: &HostPortIn) -> Option<Beat> {
        let of_module = input.module_dq_valid_i.then_some(input.module_dq_i);
        self.reader.beat(self.is_second()).or(of_module)
    }

    /// This beat is the second of its tCK.
    fn is_second(&self) -> bool {
        self.beat % 2 == 1
    }

    /// This beat is the last of the cycle of the core.
    fn is_last(&self) -> bool {
        self.beat == 2 * G::TCK - 1
    }

    /// What is done in this cycle of the core with the burst at the head of the queue.
    fn action(&self) -> Action {
        self.messages.action(self.queue.head(), &self.owner)
    }

    fn output(&self, input: &HostPortIn, command: Pins, action: Action) -> HostPortOut {
        let on_bus = self.on_bus(input);
        let state = self.owner.state();
        let mut output = HostPortOut {
            memory_o: state != State::Run,
            owns_o: state == State::Host,
            pins_o: if state == State::Host {
                rewritten(command, input.timing_i.cl, input.timing_i.cwl)
            } else {
                Pins::NONE
            },
            host_dq_valid_o: on_bus.is_some(),
            host_dq_o: on_bus.unwrap_or(input.module_dq_i),
            scale_o: self.messages.scale(),
            operands_o: self.messages.operands(),
            ..Default::default()
        };
        match (action, self.queue.head()) {
            (Action::Write { load, .. }, _) => {
                (output.load_valid_o, output.load_o) = (true, load);
            }
            (Action::Start(start), _) => {
                (output.start_valid_o, output.start_o) = (true, start);
            }
            (Action::Offer, Some(head)) => {
                (output.operand_valid_o, output.operand_o) = (true, head.burst);
            }
            _ => {}
        }
        output
    }

    /// The end of a tCK. What is read is as it stands in this tCK, and so is read first.
    fn end_tck(&mut self, input: &HostPortIn, command: Pins, action: Action) {
        let read = self.reader.window().map(|window| self.read(window));
        self.reader.clock(self.windows.read(), input.timing_i.cl, read);
        let rests = self.is_last() && self.rests(input);
        let is_finished = !self.contexts.is_unfinished() && !self.outputs.is_unfinished();
        let starts = matches!(action, Action::Start(_));
        let change = OwnerIn {
            command,
            start_waits: self.queue.has_start(),
            refresh: input.refresh_i,
            last: self.is_last().then_some((starts, rests && is_finished)),
        };
        self.owner.clock(&change, &input.timing_i);
        let lane = self.beat / 2;
        if self.is_last() {
            let leaves = self.messages.clock(action, self.queue.head(), input.operand_taken_i);
            self.queue.clock(leaves, self.receiver.complete());
            self.contexts.take(lane, contexts::<G>(input), rests);
            self.outputs.take(lane, outputs::<G>(input), rests);
            self.module.clock(input, starts);
        } else {
            if let Some(entry) = self.receiver.complete() {
                self.queue.push(entry);
            }
            self.contexts.clock(lane);
            self.outputs.clock(lane);
        }
        self.receiver.clock(self.windows.written(), input.timing_i.cwl);
        self.windows.clock(command);
    }

    /// The unit rests, where this is the last beat of a cycle of the core.
    fn rests(&self, input: &HostPortIn) -> bool {
        let is_empty = contexts::<G>(input) == Elements::default()
            && outputs::<G>(input) == Elements::default();
        let packs = self.contexts.packs() || self.outputs.packs();
        self.owner.runs() && input.over_i && input.settled_i && is_empty && !packs
    }

    /// The burst of a window, as it stands in this tCK.
    fn read(&self, window: Window) -> Read {
        match window {
            Window::Mailbox | Window::Operands => Some(Burst::default()),
            Window::Status => Some(self.status()),
            Window::Results(group, column) => {
                let stream = if group < 2 { &self.contexts } else { &self.outputs };
                stream.burst(2 * column + group % 2).copied()
            }
        }
    }

    /// The window of the status, as it stands now.
    pub fn status(&self) -> Burst {
        let view = View {
            state: self.owner.state(),
            start_waits: self.queue.has_start(),
            lost: self.queue.lost(),
            refused: self.messages.refused(),
            module: &self.module,
            taken: self.queue.taken(),
            contexts: self.contexts.count(),
            outputs: self.outputs.count(),
            runs: self.owner.ended(),
        };
        view.burst()
    }
}

/// The elements of the context in the lanes of the gear.
fn contexts<G: Gear>(input: &HostPortIn) -> Elements {
    let results = &input.results_i;
    elements::<G>(results.context_valid, results.context_element.map(|element| element.bits))
}

/// The outputs in the lanes of the gear.
fn outputs<G: Gear>(input: &HostPortIn) -> Elements {
    elements::<G>(input.results_i.output_valid, input.results_i.output_element)
}

fn elements<G: Gear>(valid: U<4>, bits: [u16; 4]) -> Elements {
    from_fn(|lane| (lane < G::TCK && valid.get() >> lane & 1 != 0).then_some(bits[lane]))
}
