// SPDX-License-Identifier: MIT
//! The module's dispatcher: expands a program of direct PIM access (DPA) into commands (LoL-PIM
//! section 5).
//!
//! Twin of `rtl/module/dispatcher.sv`; this header is the contract of both.
//!
//! A clock is one tCK. Words, their encoding and their faults stand in [`pimlico_dpa`]; here is how
//! they are executed. The command buffer and the Va2Pa table are memories outside, so that the unit is
//! logic alone; the configuration is inside, in registers.
//!
//! # Host
//!
//! `load_valid_i` writes `load_data_i` to `load_address_i`; it is always taken:
//!
//! | `load_kind_i` | what is written | addresses |
//! | --- | --- | --- |
//! | 0 | a word of the command buffer | 0 to `COMMANDS` - 1 |
//! | 1 | an entry of the Va2Pa table: bits 15 to 0 | 0 to `ENTRIES` - 1 |
//! | 2 | T_cur of a request: bits 19 to 0 | 0 to `REQUESTS` - 1 |
//! | 3 | a request's segment of the table: first entry in bits 15 to 0, number of entries in bits 31 to 16 | 0 to `REQUESTS` - 1 |
//! | 4 | nothing: program and overflow are forgotten | any |
//! | 5 to 7 | nothing | any |
//!
//! The memories take the host's address and data, with `command_write_o` and `table_write_o`. A write
//! to an address beyond, or of a number with more bits than there are, is left out and sets
//! `overflow_o`; a run then ends as `BufferOverflow`, as part of what it needs is missing. Load kind 4
//! clears it. The program reaches to the highest word written since then. What a run uses must not be
//! written while it lasts, or what it dispatches is anything (but nothing hangs).
//!
//! # Runs
//!
//! Where `start_valid_i` meets `start_ready_o`, request `start_request_i` runs from word
//! `start_address_i` on. One runs at a time: the next start is taken when the last has ended, in the
//! clock after `done_o`, so that a fault can only stop the request whose it is. `done_o` tells the end
//! of a run once, behind its last command, with its status and the address of the word at which it
//! ended: END, the faulty word, or the next word where the host stopped it. `status_o` holds each
//! request's last status; the codes are those of [`Status`](pimlico_dpa::Status). `stop_i` ends a run before the next word;
//! it is held until `done_o`, and what is on its way still leaves.
//!
//! # Pipeline
//!
//! Four stages; each holds one command, moves on where the next is free, and waits where the target is
//! not ready:
//!
//! ```text
//! clock             0       1       2       3       4       5
//! start_valid_i     1
//! fetch_address_o   start   next
//! words taken               A       B                               fetch_data_i is sequenced
//! products                          A       B                       Dyn-Modi's are added
//! table_address_o                           A       B               request and virtual row
//! dispatch_valid_o                                  A       B       table_data_i is the row
//! ```
//!
//! The command buffer gives four words at once, from `fetch_address_o` on, a clock later (four memories
//! interleaved by word; what it gives for words beyond the program is not looked at), the table one
//! entry. Both hold what they gave until the next read.
//!
//! In a clock, up to two Dyn-Loops that begin, a Dyn-Modi and the command behind it are sequenced, and
//! all the loops that end with it: one command is dispatched in every clock, in the first repetition
//! of a loop as in the others, at the ends of loops and where nested loops begin again, whatever the
//! rows: a look-up is made for every row, in a stage of its own, and takes no time from any other. A
//! clock without a command is taken by
//!
//! * NOP;
//! * a third and a fourth loop that begin at the same command, together;
//! * the start: the first command is dispatched [`LATENCY`](Dispatcher::LATENCY) clocks after it;
//! * the end: `done_o` takes the place of a command.
//!
//! Where the target is slower these disappear as well, while there are others in the pipeline.
//!
//! A loop's registers count what is left, repetitions or tokens, down by its step: comparison and
//! subtraction take the place of the division ceil(T_cur / LB). The products of Dyn-Modi are computed
//! for each command afresh, from the numbers of the repetitions: four multipliers, and not a register
//! for each command and field.

mod model;
mod nest;
mod ports;
mod sequence;
mod stage;
#[cfg(test)]
mod tests;

pub use model::Dispatcher;
pub use ports::{DispatcherIn, DispatcherOut, DispatcherProbe};
