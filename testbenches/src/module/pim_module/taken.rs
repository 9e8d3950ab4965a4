// SPDX-License-Identifier: MIT
//! When the rank took the commands of a program, kind by kind.

use pimlico_golden::dispatch::Dispatched;
use pimlico_golden::sequencer::opcode::{
    FINISH, MAC_CONTEXT, MAC_SCORE, RD_RESULT, WEIGH, WR_SHARED, WR_WEIGHTS,
};

/// What takes its turn in the order of the program.
const KINDS: [&[u32]; 5] =
    [&[MAC_SCORE, MAC_CONTEXT], &[RD_RESULT], &[WR_SHARED, WR_WEIGHTS], &[FINISH], &[WEIGH]];

/// The cycles in which commands of each of [`KINDS`] were taken.
pub(super) struct Taken(pub [Vec<u64>; KINDS.len()]);

impl Taken {
    /// The first cycle in which a command was taken that is this one of the program, or behind it.
    pub fn from(&self, commands: &[Dispatched], at: usize) -> Option<u64> {
        let first = |(kind, taken): (&&[u32], &Vec<u64>)| {
            let before = commands[..at].iter().filter(|command| kind.contains(&command.opcode));
            taken.get(before.count()).copied()
        };
        KINDS.iter().zip(&self.0).filter_map(first).min()
    }
}
