// SPDX-License-Identifier: MIT
//! Programs of *direct PIM access* (DPA), after LoL-PIM section 5: a short stack of commands that the
//! module's dispatcher expands at run time, so that one program serves a request while it grows.
//!
//! * [`Instruction`]: what a word of the command buffer says, and its [binary encoding](#encoding).
//! * [`assemble`], [`disassemble`]: the [text form](#text) and back.
//! * [`expand`], [`Expansion`]: what the dispatcher makes of a program.
//! * [`types`]: what is on the ports of the units, each command, request and result with its encoding.
//!
//! # What runs
//!
//! The host *starts* a request at a word of the command buffer. From there words are taken in their
//! order until END; commands are dispatched, Dyn-Loops repeat what follows them, Dyn-Modis change the
//! fields of the command behind them. What differs from request to request stands in the
//! configuration, not in the program: T_cur, the request's tokens, and its *segment* of the Va2Pa
//! table, which gives each of its virtual rows a row of the banks. A request may have several *layers*: its
//! segment is that of the first, and moves on by so many entries behind each run that ends in END with
//! *next layer*; behind the last layer it is back at the first. So one program runs all layers, and the
//! host writes neither rows nor T_cur between them.
//!
//! # Encoding
//!
//! A word has 64 bits; a program is at most [`COMMANDS`] words, 96 KB. In a file it is its words, each
//! of eight bytes, the lowest first. Bits 63 to 60 are the opcode:
//!
//! | opcode | name | what is dispatched |
//! | --- | --- | --- |
//! | 1 | MAC_SCORE | a column of every bank to its PU, adder tree: score and FC |
//! | 2 | MAC_CONTEXT | the same, four accumulators: context |
//! | 3 | RD_RESULT | results to the adder unit; *word* is the bus address, *place* where scores go |
//! | 4 | WR_SHARED | a word of the shared buffers, from the host; *first*: behind the MACs before it |
//! | 5 | WR_WEIGHTS | a word of the shared buffers, from the softmax unit |
//! | 6 | FINISH | softmax: the scores of *head* are complete |
//! | 7 | WEIGH | softmax: a word of weights of *head*: up to four scores from *place* on, as many as there are tokens |
//! | 8 | CLOSE_ALL | all banks closed; a head ends |
//! | 9 | NOP | nothing |
//! | 10 | END | nothing; the run ends. Bit 0: *next layer* |
//! | 12 | Dyn-Loop | |
//! | 13 | Dyn-Modi | |
//!
//! These are the commands of a rank. The hub of AiM channels has the same words and gives their fields other meanings:
//! `rtl/module/aim_hub.md`.
//!
//! Any other opcode is a fault, 0 among them, so that empty memory does not run; so is a bit that is
//! set where `0` is asked for.
//!
//! **A command** (1 to 8):
//!
//! | bits | field | |
//! | --- | --- | --- |
//! | 59 | fixed | 0: the request that runs; 1: the one in bits 58 to 55 |
//! | 58-55 | request | whose virtual row it is; `0` unless *fixed* |
//! | 54-52 | | `0` |
//! | 51-47 | first | a condition: begins a sum, or a head |
//! | 46-42 | last | a condition: ends it |
//! | 41-37 | opens | a condition: the first of an operator |
//! | 36-34 | head | query head |
//! | 33-16 | row, place | of a MAC the virtual row, at most 65535; of others a place of the score buffer |
//! | 15-8 | column | |
//! | 7-0 | word | word of the shared buffers, or bus address |
//!
//! Fields that a command has no use for are dispatched like the others. A *condition* has its enabling
//! bit at the top and a bit for each of the loops around the command, the innermost lowest: the flag
//! is set where it is enabled and every loop marked is in its first repetition (*first*, *opens*) or
//! in its last (*last*). A loop that is not there holds nothing back. So 10000 means always, and
//! *first* = 10101 at the first chunk of a head in `loop rows { loop heads { loop chunks { .. } } }`.
//!
//! **Dyn-Loop** repeats the words that follow. Loops nest up to [`DEPTH`] deep, none reaching over the
//! end of the one around it.
//!
//! | bits | field | |
//! | --- | --- | --- |
//! | 59-55 | fixed, request | as above, for the source *all*; otherwise `0` |
//! | 54-53 | source | 0: count; 1: part; 2: all |
//! | 52-34 | | `0` |
//! | 33-20 | LE | words that are repeated, 1 or more, Dyn-Loops and Dyn-Modis among them |
//! | 19-0 | LB | count: how often; otherwise tokens of a repetition |
//!
//! A loop over *all* tokens goes over the T_cur of the request, LB tokens in each repetition and in the
//! last what is left: ceil(T_cur / LB) repetitions. A loop over a *part* goes over the tokens of the
//! present repetition of the nearest loop around it that goes over tokens, or over all tokens of the
//! running request if there is none. So `all 512 { part 16 { .. } }` walks the 16-token chunks of rows
//! of 512, and ends with the last token. Steps need not be powers of two: the dispatcher compares and
//! subtracts, and never divides. A loop has 1 to [`MAX_REPETITIONS`] repetitions.
//!
//! **Dyn-Modi** adds up to four products to fields of the next word, which must be a command: each a
//! coefficient times the number of the present repetition, from 0, of one of the loops around it.
//! Slot *s* is in bits 15 *s* to 15 *s* + 14:
//!
//! | bits | field | |
//! | --- | --- | --- |
//! | 14-12 | target | 0: none; 1: row or place; 2: the same, 64 times the coefficient; 3: column; 4: word; 5: word, modulo 256; 6: head |
//! | 11-10 | loop | 0: the innermost, 1: the one around it, ... |
//! | 9-0 | coefficient | |
//!
//! A field that overflows is a fault, but for the word if one of its targets is 5.
//!
//! # Faults
//!
//! A fault stops the request that runs; what was dispatched before it stands. [`Status`] is what the
//! host reads. Where a word has several faults, the one that is checked first counts:
//!
//! 1. of any word: [`PastEnd`](Status::PastEnd), [`UnknownOpcode`](Status::UnknownOpcode);
//! 2. of a Dyn-Loop: an unknown source ([`UnknownTarget`](Status::UnknownTarget)),
//!    [`UnknownRequest`](Status::UnknownRequest), [`TooDeep`](Status::TooDeep),
//!    [`LoopBound`](Status::LoopBound), [`LoopEnd`](Status::LoopEnd);
//! 3. of a Dyn-Modi: an unknown target, a loop that is not there, no command behind it in the same loop
//!    (each `UnknownTarget`);
//! 4. of a command: `UnknownRequest`, [`FieldOverflow`](Status::FieldOverflow),
//!    [`Va2PaMiss`](Status::Va2PaMiss).
//!
//! # Text
//!
//! One word or command in a line, `#` begins a comment. Numbers are decimal or hexadecimal (`0x1f`).
//!
//! ```text
//! wr_shared word=0                       # Q, one burst
//! loop all/512 {                         # rows of K: all tokens of the request
//!   loop part/16 {                       # the row's chunks of 16 tokens
//!     mac_score row=0+1@2 column=0+1@1 first last opens@1,2
//!     rd_result word=0 place=0+16@1+512@2 first@1,2
//!   }
//! }
//! close_all
//! end
//! ```
//!
//! * A command is its opcode's name, `head=`, `row=` (`place=` where it has no row), `column=` and
//!   `word=` where they are not 0, the flags `first`, `last` and `opens`, and `request=N` if fixed.
//! * `@1` is the innermost loop, `@2` the one around it. `first@1,3` sets the flag in the first
//!   repetition of both, `first` always.
//! * `row=5+2@1` adds 2 in each repetition: the assembler puts a Dyn-Modi before the command, slots in
//!   the order of the text. `+2x64@1` is target 2, `word=0~2@1` target 5.
//! * `loop 4 { .. }`, `loop all/512 { .. }`, `loop all:3/512 { .. }` (of request 3), `loop part/16 { .. }`.
//! * `nop`, `end`, `end layer` (with *next layer*), and `.word 0x0123456789abcdef` for a word of which nothing else can be said.
//!
//! Any sequence of words has a text, and the text gives back the same words.
//!
//! ```
//! let words = pimlico_dpa::assemble("loop 2 {\n  mac_score column=1+4@1 first last\n}\nend\n")?;
//! assert_eq!(words, [0xc000_0000_0020_0002, 0xd000_0000_0000_3004, 0x1008_4000_0000_0100, 0xa << 60]);
//! assert_eq!(pimlico_dpa::assemble(&pimlico_dpa::disassemble(&words))?, words);
//! # Ok::<(), pimlico_dpa::AssembleError>(())
//! ```

mod assemble;
pub mod clock;
mod disassemble;
mod expand;
mod instruction;
pub mod types;

pub use assemble::{AssembleError, Assembled, assemble, assemble_lines};
pub use disassemble::disassemble;
pub use expand::{ExpandError, Expansion, Request, Tables, expand};
pub use instruction::Instruction;
pub use types::{
    CommandWord, Condition, Dispatch, LoopSource, LoopWord, Modification, ModifyWord, Opcode,
    RequestChoice, Status, Target,
};

/// Words of the command buffer: 96 KB.
pub const COMMANDS: usize = 12 << 10;
/// Entries of the Va2Pa table, of 16 bits each: 96 KB.
pub const ENTRIES: usize = 48 << 10;
/// An entry of the Va2Pa table that gives no row.
pub const NO_ROW: u16 = u16::MAX;
/// Requests in the configuration.
pub const REQUESTS: usize = 16;
/// Loops that may stand in each other.
pub const DEPTH: usize = 4;
/// Repetitions of a loop, at the most.
pub const MAX_REPETITIONS: u32 = 1 << 16;
/// Bits of T_cur.
pub const TOKEN_BITS: u32 = 20;
/// Modifications of a command.
pub const SLOTS: usize = 4;
