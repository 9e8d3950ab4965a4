// SPDX-License-Identifier: MIT
//! Independent references for Pimlico: what the hardware has to compute, said without saying how
//! hardware would.
//!
//! Nothing here is shared with the hardware models, neither code nor method. They align, normalise
//! and keep guard and sticky bits as the RTL does; this crate takes every operand for the exact
//! number it stands for, computes the exact result in integers, and picks the nearer of its two
//! neighbours in the format. Where the two agree, the definition of IEEE 754 and the circuit agree.
//!
//! | module | answers |
//! | --- | --- |
//! | [`mod@format`] | what number do these bits stand for? |
//! | [`exact`] | what are `a * b`, `a + b`, `max(a, b)`, and `a` in another format, rounded once? |
//! | [`unary`] | what is `1 / a`, rounded once, and how far is a result from `e^a`? |
//! | [`softfloat`] | and what does somebody else's arithmetic say? |
//! | [`reduction`] | what are a score and a context, summed in the contract's order? |
//! | [`dot`] | what is a dot product, summed by a PU of its own? |
//! | [`native`] | and all of these, for every result of a run? |
//! | [`softmax`] | what is softmax in chunks, given its exponentials, and how far off may it be? |
//! | [`exponential`] | which number is the unit's exponential? |
//! | [`bound`] | how far may a sum of products be from the real one? |
//! | [`product`], [`head`] | what are the results of a run, and how far off may they be? |
//! | [`pingpong`] | what is in a ping-pong buffer, as a queue? |
//! | [`mem_order`] | which read, write, activation or precharge of a channel is next? |
//! | [`pim_order`] | which operation and command of PIM is next? |
//! | [`row_buffers`] | what do the row buffers of a bank hold? |
//! | [`gemv`] | when does a GEMV have its beats, and how long does it take? |
//! | [`window`] | how many banks are activated within tFAW? |
//! | [`word_dot`] | what is a dot product in a PU of NeuPIMs? |
//! | [`relayout`] | which bit of the host's beats is which chip's? |
//! | [`attention`] | what would attention be without the rounding? |
//! | [`real`] | and in another floating-point type, or in integers? |
//! | [`llama`] | and a whole decoder? |
//! | [`error`] | how far is one from the other? |
//! | [`pins`] | does what is on the DRAM's pins keep JESD79-4? |
//! | [`pins_dual`] | and what is on those of a channel whose banks have two row buffers? |
//! | [`pins_lp5`] | and what is on those of LPDDR5X-PIM, whose rows change what a command is of? |
//! | [`host_protocol`] | and do a host and the module keep their own protocol on the host's? |
//! | [`dispatch`] | what does a program of direct PIM access dispatch? |
//! | [`sequencer`] | and what may be asked of a rank for it, and when? |
//! | [`rank`] | what does a rank make of the commands, taken one by one? |
//! | [`schedule`] | does a run that streams layers keep its memory's limit, and its order? |
//! | [`bank_rows`] | and do layers in the banks of ranks keep to rows of their own? |
//! | [`column_gemv`] | what is a matrix times a vector, summed up column by column in PIM blocks of LPDDR5X? |
//! | [`lp5_layout`] | where is an element of a matrix in LPDDR5X-PIM, by the order of reads? |
//! | [`lp5_mode`] | what do the commands of a channel do in the modes of LPDDR5X-PIM? |
//! | [`lp5_time`] | how long does a matrix times a vector take there, command by command? |
//! | [`prefill`] | when does a prefill end whose weights are copied before they are used? |
//! | [`group_copies`] | and are they copied beside the products that they may be copied beside? |
//! | [`systolic`] | what is a matrix times activations, summed up row by row in a systolic array? |
//! | [`npu_vector`] | what may an operation of a vector unit result in, GELU among them? |
//! | [`neupims`] | what does NeuPIMs' scheduler decide, and how long is its timeline? |
//! | [`timeline`] | does a simulated schedule of a serving system hold together? |
//!
//! ```
//! use pimlico_golden::format::{Format, Subnormals};
//! use pimlico_golden::exact;
//!
//! // The largest number, 65504, plus 16 is half-way to 65536, which is one step too far.
//! assert_eq!(exact::add(Format::BINARY16, Subnormals::Gradual, 0x7BFF, 0x4C00), 0x7C00);
//! ```

#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod attention;
pub mod bank_rows;
pub mod bound;
pub mod column_gemv;
pub mod dispatch;
pub mod dot;
pub mod error;
pub mod exact;
pub mod exponential;
pub mod format;
pub mod gemv;
pub mod group_copies;
pub mod head;
pub mod host_protocol;
pub mod llama;
pub mod lp5_layout;
pub mod lp5_mode;
pub mod lp5_time;
pub mod mem_order;
pub mod native;
pub mod neupims;
pub mod npu_vector;
pub mod pim_order;
pub mod pin_codes;
pub mod pingpong;
pub mod pins;
pub mod pins_dual;
pub mod pins_lp5;
pub mod prefill;
pub mod product;
pub mod rank;
pub mod real;
pub mod reduction;
pub mod relayout;
pub mod row_buffers;
pub mod schedule;
pub mod sequencer;
pub mod softfloat;
pub mod softmax;
pub mod systolic;
pub mod timeline;
pub mod unary;
mod vectors;
pub mod window;
pub mod word_dot;
