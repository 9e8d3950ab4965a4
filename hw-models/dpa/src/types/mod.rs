// SPDX-License-Identifier: MIT
//! Types of the ports: commands, requests, results, instruction words, configuration and timings.
//!
//! Each is the twin of a type of `rtl/pimlico_pkg.sv` (`ArrayRequest` of `array_request_t`, `PinCommand` of
//! `pin_command_e`) and has its fields in the same order. The build of the RTL refuses to go on where the
//! two differ in a field, a width, an order or a code. Every encoding of the device stands here, once.

mod aim;
mod configuration;
pub mod mode_registers;
mod pins;
mod program;
mod requests;
mod results;
mod run;

pub use aim::{AimCommand, AimEvents, AimKind, AimWrite};
pub use configuration::{BankSize, Options, Timing};
pub use pins::{DramPins, PinCommand, Pins, ReadAll};
pub use program::{
    CommandWord, Condition, LoopSource, LoopWord, Modification, ModifyWord, Opcode, RequestChoice,
    Target,
};
pub use requests::{
    ArrayKind, ArrayRequest, BusRequest, Finish, LaneSums, Mac, ResultAddress, Sum, SumKind,
    TreeSum, Weigh,
};
pub use results::{Activity, CellWrite, Element, LANES, RankEvents, RankResults, Score};
pub use run::{Dispatch, Fault, Load, LoadKind, RunEnd, Start, Status};

use pimlico_ports::{Shape, Signal, U};

/// Chips of a rank.
pub const CHIPS: usize = 8;
/// Banks of a chip.
pub const BANKS: usize = 16;

/// Bank of a chip: bank group in the upper two bits.
pub type Bank = U<4>;
/// Row of a bank.
pub type Row = u16;
/// Column of a row, counted in bursts.
pub type Column = u8;
/// Word of the shared buffers.
pub type Word = u8;
/// Query head.
pub type Head = U<3>;
/// Place in the score buffer, or among the partial sums.
pub type Place = U<17>;
/// A beat on the data bus: a byte of each chip.
pub type Beat = u64;
/// A burst on the data bus: eight beats, the first at the bottom.
pub type Burst = [Beat; 8];
/// A column of a logic bank: 64 bits of each chip.
pub type Cells = [u64; CHIPS];
/// The same column of every bank.
pub type Columns = [Cells; BANKS];

/// All of them, those that others are made of within these: what is compared with the package.
pub const SHAPES: &[Shape] = &[
    Timing::SHAPE,
    Options::SHAPE,
    BankSize::SHAPE,
    Pins::SHAPE,
    ReadAll::SHAPE,
    DramPins::SHAPE,
    ArrayRequest::SHAPE,
    BusRequest::SHAPE,
    ResultAddress::SHAPE,
    TreeSum::SHAPE,
    LaneSums::SHAPE,
    Finish::SHAPE,
    Weigh::SHAPE,
    RankEvents::SHAPE,
    Activity::SHAPE,
    RankResults::SHAPE,
    CellWrite::SHAPE,
    AimCommand::SHAPE,
    AimWrite::SHAPE,
    AimEvents::SHAPE,
    CommandWord::SHAPE,
    LoopWord::SHAPE,
    ModifyWord::SHAPE,
    Dispatch::SHAPE,
    Load::SHAPE,
    Start::SHAPE,
    RunEnd::SHAPE,
    Fault::SHAPE,
];
