// SPDX-License-Identifier: MIT
//! All tests of the crate in one program, a module each: every program would compile the models that it runs for itself.
#![cfg(feature = "benches")]

mod admission;
mod aim;
mod assertions;
mod channel;
mod coverage;
mod dispatcher;
mod faults;
mod lockstep;
mod parameters;
mod pim_blocks;
mod rank;
mod refresh;
mod relayout;
mod softmax;
mod unary;
mod waves;
