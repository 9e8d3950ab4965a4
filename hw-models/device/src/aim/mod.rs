// SPDX-License-Identifier: MIT
//! A module of GDDR6-AiM channels behind one hub (LoL-PIM section 7 and Table 5): a tCCD at a time.
//!
//! ```text
//!   HUB    controller ──┬─ commands, operands: the same to all channels
//!          GPR, EPU ────┘                          ▲ results: each channel's own lines
//!            ┌─────────────┬──────────── ... ──────┤
//!   channel  │ global buffer (64 words of 32 B)    │
//!            │      │ a word                       │
//!            │   16 banks, a PU of 16 multipliers at each ──▶ result registers (16 x binary16)
//!            └──────────────────────────────────────────────
//! ```
//!
//! All channels receive the same commands, so that they stay in lockstep: one rank controller and one
//! refresh manager serve them all, and one global buffer stands for that of each channel. Written data
//! and results differ, and are on each channel's own lines. (The link between host and hub, 64 GB/s, is
//! not modelled: the time in which banks are written is that of the channels.)
//!
//! * [`AimDevice`]: what its host needs of it. It runs programs, whose commands are those of `aim_hub`'s contract.
//! * [`AimUnits`]: the units, as models, as RTL, or as both in lockstep.
//! * [`AimLayout`], [`AimHead`]: where the elements of a matrix lie, and K and V of a head.
//! * [`Module`]: all of it, the engine.
//! * [`Requests`]: what it is asked for in a cycle.
//! * [`AimMapping`]: the order in which matrices are taken. What waits for what with one I/O buffer or two, `queues` has.
//! * [`Hub`]: the module as one design, model or RTL, behind the same trait.

mod ahead;
mod back_end;
mod channels;
mod control;
mod device;
mod epu;
mod head;
mod hub;
mod known;
mod layout;
mod loaded;
mod mode;
mod module;
mod place;
mod program;
mod queues;
mod requests;
mod run;
mod softmax;
mod spans;
mod units;
mod wave;
mod weigh;

pub use back_end::BackEnd;
pub use channels::Beat;
pub use device::{AimDevice, AimStart};
pub use epu::{SoftmaxRequest, Sum};
pub use head::AimHead;
pub use hub::{HUB_CHANNELS, Hub, check_hub};
pub use known::SpanKind;
pub use layout::{AimLayout, GPR, LayoutError, RowWrites, Write, elements, of_elements, word_of};
pub use module::Module;
pub use requests::{AllBankRead, ArrayRequest, BusRequest, Events, Requests};
pub use softmax::{RTL_LANES, Scores, SoftmaxUnits, Weigh, Weighed, may_have_lanes};
pub use units::{
    AimMapping, AimOptions, AimUnits, BANKS, EPU_CYCLES, Elements, GLOBAL_WORDS, IoBufferUnits,
    MOST_CHANNELS, MULTIPLIERS, Order, Pu, RankController, SLOTS, Word, check,
};
