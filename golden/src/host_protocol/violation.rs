// SPDX-License-Identifier: MIT
//! What was broken, when, and by whom.

use super::{Counter, PinState, Stream, Window};
use crate::pins::Pin;
use std::fmt;

/// Who broke a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Party {
    Host,
    Module,
    /// One of the two: their pins do not tell which.
    Either,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostViolation {
    /// When.
    pub at_tck: u64,
    /// What.
    pub breach: Breach,
}

/// What was broken. By the host, until another party is named.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub enum Breach {
    /// A command of processing in memory on the host's pins.
    NotDdr4 { pin: Pin },
    /// A REF after the host has given the pins away, and before it has written a PREA to take them back.
    HostRefInRun,
    /// An ACT of a row that is no window, or an RD or WR of a bank without an open window, likewise.
    RowInRun { pin: Pin },
    /// One of the two after a PREA that was written before a status said `ended`: the host may own the
    /// pins, or not.
    TakenTooEarly { pin: Pin },
    /// More bursts on their way than the queue has room for.
    QueueOverrun { ahead: u64 },
    /// Another message, or the pins taken back, before all operands of a START.
    OperandsMissing { operands: u64 },
    /// An operand that no START has announced.
    OperandUnannounced,
    /// A message that is not one of the contract.
    UnknownMessage { word: u64, flaw: &'static str },
    /// An RD of a place of which no status has counted a burst.
    ResultTooEarly { stream: Stream, burst: u64 },
    /// A status counts the 64th burst behind one that was not read.
    ResultOverwritten { stream: Stream, first: u64, bursts: u64 },
    /// A run without a read of the status for too long.
    NotPolled { since_tck: u64 },
    /// The end, and the host does not own the pins.
    NeverTaken,
    /// Either: a burst was read twice, and was not the same. The host has read again what the module
    /// has already replaced and no status counted, or the module has changed it.
    ResultChanged { stream: Stream, burst: u64 },
    /// Either: a window's WR (host) or RD (module) without data when they are due.
    DataMissing { window: Window, due_tck: u64, write: bool },
    /// Either: data that no command has asked for.
    DataUnasked { write: bool },
    /// Module: an RD of mailbox or operands brings something else than 0.
    NotZero { window: Window },
    /// Module: a status that contradicts itself, or sets bits that are 0.
    StatusFlawed { flaw: &'static str },
    /// Module: a counter has gone back.
    StatusWentBack { counter: Counter, from: u16, to: u16 },
    /// Module: `lost` or `refused`, which are for good, has been cleared.
    FlagCleared { flag: &'static str },
    /// Module: a counter is ahead of what the host has sent.
    CountTooHigh { counter: Counter, count: u64, most: u64 },
    /// Module: a counter of results or runs has moved where no run could be on.
    CountMoved { counter: Counter, from: u16, to: u16 },
    /// Module: the status says a state in which the module cannot be.
    WrongState { state: PinState, waits: bool },
    /// Module: the status says that a START waits and none does, or the other way round.
    WrongStart { waits: bool, written: u64, started: u64 },
    /// Module: the run has ended within tRFC of its last REF.
    LeftTooEarly { ref_tck: u64 },
    /// Module: `lost` or `refused`, and the host has not overrun the queue, or sent no such message.
    LostOrRefused { flag: &'static str },
    /// Module: a host's command reaches the chips where the module owns their pins.
    ChipsSeeHost { pin: Pin },
    /// Module: a host's command does not reach the chips, where the host owns their pins.
    ChipsMissHost { pin: Pin },
    /// Module: a command on the chips' pins that is not the host's, outside of a run.
    ModuleDrives { pin: Pin },
}

impl Breach {
    /// Its name.
    pub fn name(&self) -> &'static str {
        self.rule().0
    }

    /// Who it was.
    pub fn party(&self) -> Party {
        self.rule().1
    }

    fn rule(&self) -> (&'static str, Party) {
        use Party::{Either, Host, Module};
        match self {
            Self::NotDdr4 { .. } => ("NotDdr4", Host),
            Self::HostRefInRun => ("HostRefInRun", Host),
            Self::RowInRun { .. } => ("RowInRun", Host),
            Self::TakenTooEarly { .. } => ("TakenTooEarly", Host),
            Self::QueueOverrun { .. } => ("QueueOverrun", Host),
            Self::OperandsMissing { .. } => ("OperandsMissing", Host),
            Self::OperandUnannounced => ("OperandUnannounced", Host),
            Self::UnknownMessage { .. } => ("UnknownMessage", Host),
            Self::ResultTooEarly { .. } => ("ResultTooEarly", Host),
            Self::ResultOverwritten { .. } => ("ResultOverwritten", Host),
            Self::NotPolled { .. } => ("NotPolled", Host),
            Self::NeverTaken => ("NeverTaken", Host),
            Self::ResultChanged { .. } => ("ResultChanged", Either),
            Self::DataMissing { write, .. } => ("DataMissing", bus_driver(*write)),
            Self::DataUnasked { write } => ("DataUnasked", bus_driver(*write)),
            Self::NotZero { .. } => ("NotZero", Module),
            Self::StatusFlawed { .. } => ("StatusFlawed", Module),
            Self::StatusWentBack { .. } => ("StatusWentBack", Module),
            Self::FlagCleared { .. } => ("FlagCleared", Module),
            Self::CountTooHigh { .. } => ("CountTooHigh", Module),
            Self::CountMoved { .. } => ("CountMoved", Module),
            Self::WrongState { .. } => ("WrongState", Module),
            Self::WrongStart { .. } => ("WrongStart", Module),
            Self::LeftTooEarly { .. } => ("LeftTooEarly", Module),
            Self::LostOrRefused { .. } => ("LostOrRefused", Module),
            Self::ChipsSeeHost { .. } => ("ChipsSeeHost", Module),
            Self::ChipsMissHost { .. } => ("ChipsMissHost", Module),
            Self::ModuleDrives { .. } => ("ModuleDrives", Module),
        }
    }
}

/// Who drives the host's data bus for a WR or an RD.
fn bus_driver(write: bool) -> Party {
    if write { Party::Host } else { Party::Module }
}

/// The names of all rules.
pub fn host_rule_names() -> impl Iterator<Item = &'static str> {
    let names = "NotDdr4 HostRefInRun RowInRun TakenTooEarly QueueOverrun OperandsMissing \
        OperandUnannounced UnknownMessage ResultTooEarly ResultOverwritten NotPolled NeverTaken \
        ResultChanged DataMissing DataUnasked NotZero StatusFlawed StatusWentBack FlagCleared \
        CountTooHigh CountMoved WrongState WrongStart LeftTooEarly LostOrRefused ChipsSeeHost \
        ChipsMissHost ModuleDrives";
    names.split_whitespace()
}

impl fmt::Display for HostViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}", self.breach.name(), self.at_tck, self.breach)
    }
}

impl std::error::Error for HostViolation {}

/// What happened, without rule and time.
impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDdr4 { pin } => write!(f, "{pin} on the host's pins"),
            Self::HostRefInRun => write!(f, "REF while the host does not own the pins"),
            Self::RowInRun { pin } => write!(f, "{pin} while the host does not own the pins"),
            Self::TakenTooEarly { pin } => {
                write!(f, "{pin} after a PREA that did not wait for a status with `ended`")
            }
            Self::QueueOverrun { ahead } => {
                write!(f, "{ahead} bursts sent beyond `taken` of the last status read")
            }
            Self::OperandsMissing { operands } => {
                write!(f, "{operands} operands of the last START were not sent before")
            }
            Self::OperandUnannounced => write!(f, "an operand that no START has announced"),
            Self::UnknownMessage { word, flaw } => {
                write!(f, "the message with word 0 {word:#018x} {flaw}")
            }
            Self::ResultTooEarly { stream, burst } => {
                write!(f, "RD of {stream} burst {burst}, which no status has counted")
            }
            Self::ResultOverwritten { stream, first, bursts } => {
                write!(f, "{bursts} {stream} bursts from {first} on gone before they were read")
            }
            Self::NotPolled { since_tck } => {
                write!(f, "the status was not read since {since_tck}, in a run")
            }
            Self::NeverTaken => write!(f, "the end, and the host does not own the pins"),
            _ => self.fmt_module(f),
        }
    }
}

impl Breach {
    fn fmt_module(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = |write: &bool| if *write { "WR" } else { "RD" };
        match self {
            Self::ResultChanged { stream, burst } => {
                write!(f, "{stream} burst {burst} is not what it was when it was read before")
            }
            Self::DataMissing { window, due_tck, write } => {
                write!(f, "no data at {due_tck} for a {} of {window}", command(write))
            }
            Self::DataUnasked { write } => write!(f, "data without a {}", command(write)),
            Self::NotZero { window } => write!(f, "a read of {window} is not 0"),
            Self::StatusFlawed { flaw } => write!(f, "the status {flaw}"),
            Self::StatusWentBack { counter, from, to } => {
                write!(f, "{counter} goes back from {from} to {to}")
            }
            Self::FlagCleared { flag } => write!(f, "`{flag}` is cleared"),
            Self::CountTooHigh { counter, count, most } => {
                write!(f, "{counter} is {count}, and {most} can be at most")
            }
            Self::CountMoved { counter, from, to } => {
                write!(f, "{counter} goes from {from} to {to} without a run")
            }
            Self::WrongState { state, waits } => {
                let start = if *waits { "a START waits" } else { "no START waits" };
                write!(f, "the status says {state}, {start}, which cannot be")
            }
            Self::WrongStart { waits, written, started } => {
                let says = if *waits { "a START waits" } else { "no START waits" };
                write!(f, "the status says that {says}: {written} written, {started} started")
            }
            Self::LeftTooEarly { ref_tck } => {
                write!(f, "the status says PinsLeft within tRFC of the REF at {ref_tck}")
            }
            Self::LostOrRefused { flag } => write!(f, "`{flag}` without a reason"),
            Self::ChipsSeeHost { pin } => write!(f, "the host's {pin} reaches the chips"),
            Self::ChipsMissHost { pin } => write!(f, "the host's {pin} does not reach the chips"),
            Self::ModuleDrives { pin } => {
                write!(f, "{pin} on the chips' pins is the module's, outside of a run")
            }
            _ => Ok(()),
        }
    }
}
