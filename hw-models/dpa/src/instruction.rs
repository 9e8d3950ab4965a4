// SPDX-License-Identifier: MIT
//! What the words of a program say: a table of their bits stands at the top of the crate.

use crate::types::{CommandWord, LoopSource, LoopWord, ModifyWord, Opcode, Status};
use pimlico_ports::{pack, unpack};

/// The bit of an END that sends the request on to its next layer.
const NEXT_LAYER: u64 = 1;

/// What a word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A command to dispatch.
    Command(CommandWord),
    /// Dyn-Modi.
    Modify(ModifyWord),
    /// Dyn-Loop.
    Loop(LoopWord),
    /// Nothing.
    Nop,
    /// The end of a run.
    End,
    /// The end of a run, behind which the request goes on to its next layer.
    EndLayer,
}

impl Instruction {
    /// The word.
    pub fn encode(&self) -> u64 {
        match self {
            Self::Command(word) => pack(word),
            Self::Modify(word) => pack(word),
            Self::Loop(word) => pack(word),
            Self::Nop => pack(&CommandWord::new(Opcode::Nop)),
            Self::End => pack(&CommandWord::new(Opcode::End)),
            Self::EndLayer => pack(&CommandWord::new(Opcode::End)) | NEXT_LAYER,
        }
    }

    /// What a word says; else [`UnknownOpcode`](Status::UnknownOpcode) or
    /// [`UnknownTarget`](Status::UnknownTarget).
    pub fn decode(word: u64) -> Result<Self, Status> {
        let said = match Opcode::of_word(word) {
            Opcode::Nop => Self::Nop,
            Opcode::End if word & NEXT_LAYER != 0 => Self::EndLayer,
            Opcode::End => Self::End,
            Opcode::DynLoop => Self::Loop(loop_of(word)?),
            Opcode::DynModi => Self::Modify(unpack(word)),
            opcode if opcode.is_command() => Self::Command(command_of(word)?),
            _ => return Err(Status::UnknownOpcode),
        };
        match said {
            _ if said.encode() == word => Ok(said),
            // Bits beside the opcode.
            Self::Nop | Self::End | Self::EndLayer => Err(Status::UnknownOpcode),
            // A source or a target that there is none of.
            _ => Err(Status::UnknownTarget),
        }
    }
}

fn command_of(word: u64) -> Result<CommandWord, Status> {
    let command: CommandWord = unpack(word);
    let is_right = command.zero.get() == 0 && command.request.is_valid();
    is_right.then_some(command).ok_or(Status::UnknownOpcode)
}

fn loop_of(word: u64) -> Result<LoopWord, Status> {
    let of: LoopWord = unpack(word);
    // What has no source reads as the first; it may name a request.
    let has_source = pack(&of) == word;
    let fits = !of.request.fixed || of.source == LoopSource::All || !has_source;
    let is_right = of.zero.get() == 0 && of.request.is_valid() && fits;
    is_right.then_some(of).ok_or(Status::UnknownOpcode)
}
