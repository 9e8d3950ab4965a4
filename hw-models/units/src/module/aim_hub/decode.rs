// SPDX-License-Identifier: MIT
//! What becomes of a dispatched command.

use super::feeder::Filling;
use super::softmax::Job;
use super::{CHANNELS, ELEMENTS, GPR};
use crate::channel::AimChannel;
use crate::prim::Fifo;
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{AimCommand, AimKind, BankSize, Dispatch, Fault};
use pimlico_ports::U;

/// Columns or words of a command, at the most.
const MOST: u32 = 64;

/// Where results go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Place {
    /// Line of the GPR.
    pub line: u16,
    /// They are added to what is there.
    pub goes_on: bool,
}

/// What the units around the decoder allow in a cycle.
#[derive(Clone, Copy)]
pub(super) struct Around {
    /// The queue of fillings has room.
    pub filling_room: bool,
    /// A filling of the GPR is in it.
    pub feeds_gpr: bool,
    /// Results that are requested and not in the GPR: none, as many as there may be.
    pub none_pending: bool,
    pub all_pending: bool,
    pub softmax_busy: bool,
    /// No run is under way.
    pub over: bool,
}

/// What a cycle's command comes to.
#[derive(Clone, Copy, Default)]
pub(super) struct Decoded {
    /// The oldest command is taken, or dropped.
    taken: bool,
    fault: Fault,
    pub command: Option<AimCommand>,
    /// A command is offered to the channels, whether they have room or not.
    pub offers: bool,
    pub filling: Option<Filling>,
    pub place: Option<Place>,
    pub job: Option<Job>,
    /// The MAC that is kept back from now on.
    mac: Option<AimCommand>,
}

/// Commands between the dispatcher's clock and that of the channels.
const QUEUE: usize = 2;

/// The queue of commands with their faults, the MAC that is kept back, and the run's fault.
#[derive(Clone)]
pub(super) struct Decode {
    queue: Fifo<(Dispatch, Fault), QUEUE>,
    /// The dispatcher's command enters the queue at the end of this EPU cycle.
    pub is_ready: bool,
    mac: Option<AimCommand>,
    pub fault: Fault,
}

impl Decode {
    pub fn new() -> Self {
        Self { queue: Fifo::new(), is_ready: true, mac: None, fault: Fault::None }
    }

    /// Whether a command is in the queue, or a MAC is kept back.
    pub fn is_busy(&self) -> bool {
        !self.queue.is_empty() || self.keeps()
    }

    fn keeps(&self) -> bool {
        self.mac.is_some()
    }

    /// What becomes of the oldest command, if there is one.
    pub fn decode<const PINGPONG: bool>(
        &self,
        channel: &AimChannel<PINGPONG>,
        around: &Around,
    ) -> Decoded {
        let decoded = self.offer(self.queue.oldest().copied(), around);
        match decoded.command {
            Some(command) if channel.has_room_for(command.kind) => {
                Decoded { offers: true, ..decoded }
            }
            // The fault is found all the same.
            Some(_) => {
                let Decoded { fault, .. } = decoded;
                let taken = fault != Fault::None || self.fault != Fault::None;
                Decoded { offers: true, taken, fault, mac: self.mac, ..Decoded::default() }
            }
            None => decoded,
        }
    }

    /// What the channels are offered, as if they had room, and what comes with it.
    fn offer(&self, oldest: Option<(Dispatch, Fault)>, around: &Around) -> Decoded {
        let still = Decoded { mac: self.mac, ..Decoded::default() };
        let Some((it, fault)) = oldest else { return self.flush(around.over) };
        if self.fault != Fault::None || fault != Fault::None {
            return Decoded { taken: true, fault, ..self.flush(around.over) };
        }
        let for_gpr = it.kind == Opcode::WrWeights;
        let flushes = match it.kind {
            Opcode::Weigh | Opcode::CloseAll => true,
            _ => for_gpr && it.first,
        };
        if flushes && self.keeps() {
            return self.flush(true);
        }
        let count = count(&it);
        match it.kind {
            Opcode::MacScore => Decoded {
                taken: true,
                command: self.mac.map(|mac| AimCommand { frees: it.opens, ..mac }),
                mac: Some(mac(&it, count)),
                ..still
            },
            Opcode::WrShared | Opcode::WrWeights => {
                let waits = it.first && !around.none_pending || around.softmax_busy;
                let held = !around.filling_room || for_gpr && waits;
                let count_of = U::new(count.into());
                let fill =
                    AimCommand { kind: AimKind::Fill, count: count_of, ..Default::default() };
                let filling = Filling {
                    of_gpr: for_gpr,
                    word: it.place.get() as u32 / ELEMENTS as u32,
                    count,
                    elements: match it.word {
                        0 => it.tokens.get() as u32,
                        _ => count * ELEMENTS as u32,
                    },
                };
                match held {
                    true => still,
                    false => Decoded {
                        taken: true,
                        command: Some(fill),
                        filling: Some(filling),
                        ..still
                    },
                }
            }
            Opcode::RdResult if !around.all_pending && !around.softmax_busy => {
                let line = it.place.get() as usize / (ELEMENTS * CHANNELS);
                Decoded {
                    taken: true,
                    command: Some(AimCommand { kind: AimKind::Results, ..Default::default() }),
                    place: Some(Place { line: line as u16, goes_on: !it.first }),
                    ..still
                }
            }
            Opcode::Weigh if around.none_pending && !around.feeds_gpr && !around.softmax_busy => {
                let job = Job {
                    word: it.place.get() as u32 / ELEMENTS as u32,
                    tokens: it.tokens.get() as u32,
                    head: it.head,
                };
                Decoded { taken: true, job: Some(job), ..still }
            }
            Opcode::CloseAll => Decoded {
                taken: true,
                command: Some(AimCommand { kind: AimKind::Close, ..Default::default() }),
                ..still
            },
            _ => still,
        }
    }

    /// The MAC that is kept back is sent, if that is wanted.
    fn flush(&self, wanted: bool) -> Decoded {
        match self.mac.filter(|_| wanted) {
            Some(mac) => {
                Decoded { command: Some(AimCommand { frees: true, ..mac }), ..Decoded::default() }
            }
            None => Decoded { mac: self.mac, ..Decoded::default() },
        }
    }

    /// The end of a cycle, in which a start may be accepted.
    pub fn clock(&mut self, decoded: &Decoded, starts: bool) {
        self.queue.clock(decoded.taken, None);
        self.mac = decoded.mac;
        if self.fault == Fault::None {
            self.fault = decoded.fault;
        }
        if starts {
            self.fault = Fault::None;
        }
    }

    /// The end of an EPU cycle, behind that of its second cycle, with what the dispatcher has.
    pub fn clock_epu(&mut self, dispatch: Option<Dispatch>, size: &BankSize) {
        let enters = dispatch.filter(|_| self.is_ready).map(|it| (it, fault(&it, size)));
        self.queue.clock(false, enters);
        self.is_ready = !self.queue.is_full();
    }
}

/// Columns or words.
fn count(it: &Dispatch) -> u32 {
    match it.word {
        0 => (it.tokens.get() as u32).div_ceil(ELEMENTS as u32),
        word => word.into(),
    }
}

fn first_word(it: &Dispatch) -> u32 {
    8 * it.head.get() as u32
}

fn mac(it: &Dispatch, count: u32) -> AimCommand {
    AimCommand {
        kind: AimKind::Mac,
        row: it.row,
        column: it.column,
        word: U::new(first_word(it).into()),
        count: U::new(count.into()),
        first: it.first,
        last: it.last,
        ..Default::default()
    }
}

/// What is wrong with a command.
fn fault(it: &Dispatch, size: &BankSize) -> Fault {
    let Dispatch { kind, row, column, .. } = *it;
    let (count, place) = (count(it), it.place.get() as u32);
    let is_mac = kind == Opcode::MacScore;
    let fills = matches!(kind, Opcode::WrShared | Opcode::WrWeights);
    let multiple = match kind {
        Opcode::RdResult => ELEMENTS * CHANNELS,
        Opcode::Weigh | Opcode::WrWeights => ELEMENTS,
        _ => 1,
    };
    let end = match kind {
        Opcode::Weigh => place + it.tokens.get() as u32,
        Opcode::WrWeights => place + count * ELEMENTS as u32,
        _ => 0,
    };
    if matches!(kind, Opcode::MacContext | Opcode::Finish) {
        Fault::UnknownCommand
    } else if is_mac && u64::from(row) >= size.rows.get() {
        Fault::NoRow
    } else if (is_mac || fills) && !(1..=MOST).contains(&count)
        || kind == Opcode::Weigh && it.tokens.get() == 0
    {
        Fault::NoTokens
    } else if is_mac && first_word(it) + count > MOST {
        Fault::NoOperand
    } else if is_mac && u64::from(column) + u64::from(count) > size.columns.get() {
        Fault::NoColumn
    } else if !place.is_multiple_of(multiple as u32) || end > GPR {
        Fault::NoPlace
    } else {
        Fault::None
    }
}
