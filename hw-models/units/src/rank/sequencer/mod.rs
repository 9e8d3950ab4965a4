// SPDX-License-Identifier: MIT
//! The sequencer: queues between the dispatcher and the rank's ports, and the interlocks that hold back
//! the head of each until the data are there that it works on.
//!
//! Twin of `rtl/rank/sequencer.sv`; this header is the contract of both.
//!
//! ```text
//!               ┌─▶ array ────▶ array port: MAC, CLOSE_ALL
//! dispatcher ─▶ door ─▶ results ──┬─▶ bus port: RD_RESULT before WR_SHARED, WR_WEIGHTS
//!               ├─▶ operands ─────┘
//!               └─▶ softmax ──▶ softmax unit: FINISH, WEIGH
//! ```
//!
//! A clock is one tCK. Commands enter in the order of the program, through a register (the *door*); each
//! queue keeps its order, and there is none between the queues but for the interlocks. They know the
//! entries of the queues and a few counters, not the program:
//!
//! | head of a queue | waits for |
//! | --- | --- |
//! | MAC | its word of the shared buffers, as it was to be when the MAC entered |
//! | MAC that ends a sum | where this sum or the one before is of the context, for the results of that one to have left; a MAC that is a sum by itself, for the time in which a chunk's results leave |
//! | CLOSE_ALL | everything before it |
//! | RD_RESULT | the sum that ended last before it in the program; of the context, a tCK after the burst before it |
//! | WR_SHARED, WR_WEIGHTS | the MACs before it that use the word's present content; its data |
//! | FINISH | the scores before it |
//! | WEIGH | the reciprocals before it; room for a word of weights |
//!
//! At the door waits, beside what finds its queue full: a write to a word of which another write is not
//! done, so that one bit tells a word's present content from the next; a WR_SHARED with *first*, for the
//! array queue to be empty; an RD_RESULT of scores, while the softmax queue has something to do with
//! the scores before; and everything behind a CLOSE_ALL in its queue.
//!
//! What an entry waits for was dispatched before it, so the queues always drain. Of a word of weights that
//! means: a WR_WEIGHTS has its WEIGH before it; at most sixteen WEIGHs are without their WR_WEIGHTS, as many
//! words as are kept, and none at a CLOSE_ALL or at the end. What breaks this is a fault.
//!
//! # Timing
//!
//! Registers alone decide the outputs, whatever the inputs of the clock are: a request stands until it is
//! taken, and what happens in a clock shows in the next.
//!
//! ```text
//! clock             0     1     2     3     4
//! dispatch_valid_i  A     B     B     0
//! dispatch_ready_o  1     1     0     1           A goes through in clock 1, B waits in 2
//! door              -     A     B     B     -
//! array_valid_o     0     0     1     1     0     A in its queue
//! array_taken_i     0     0     0     1     0
//! ```
//!
//! An entry is *sent* when its port takes it (`array_taken_i`, `bus_taken_i`), and stays in its queue until
//! what it asks for is *done*, in order: `read_i`, `results_taken_i`, `written_i`. FINISH and WEIGH are done
//! when the softmax unit takes them.
//!
//! # Runs
//!
//! `start_i` is set in a clock in which nothing else happens: a run begins, and the fault of the one before
//! is forgotten. `done_i` tells that the dispatcher's run has ended. When all that was dispatched is done, a
//! CLOSE_ALL is asked for if the last array command was none, and then `done_o` stands.
//!
//! Each CLOSE_ALL sets `head_end_o` in the first clock in which it is asked for.
//!
//! # Faults
//!
//! `fault_o` is the first since the start, [`Fault`](pimlico_dpa::types::Fault). The command that has it enters no queue, and
//! those that are taken after it are dropped; what was in the queues goes on, and weights that nobody writes
//! any more are dropped.
//!
//! # Depths
//!
//! The banks take a MAC in 8 tCK, and need the next from the queue whatever else the dispatcher has to
//! do: 32 RD_RESULTs between two segments of the context (16 sums of 32 bits, two bursts each), then
//! WEIGH, softmax unit, WR_WEIGHTS and CWL for the first weights, some 50 tCK, with 80 in which results
//! have the bus: 160 tCK are 20 MACs. The results queue has room for two segments, the operands queue
//! for the query vectors of eight heads of 256 elements.

mod command;
mod model;
mod ports;
mod queue;
mod weights;

pub use model::Sequencer;
pub use ports::{SequencerIn, SequencerOut, SequencerProbe};
