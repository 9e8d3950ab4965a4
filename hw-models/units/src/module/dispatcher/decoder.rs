// SPDX-License-Identifier: MIT
//! What the words of a program say, kept for when they come again: in a loop they do so in every repetition.

use pimlico_dpa::{Instruction, Status};

/// Words that are kept, by the low bits of their address.
const KEPT: usize = 64;

/// A decoder.
#[derive(Clone)]
pub(super) struct Decoder {
    kept: [(u64, Result<Instruction, Status>); KEPT],
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self { kept: [(0, Instruction::decode(0)); KEPT] }
    }

    /// What the word at this address says.
    pub(super) fn decode(&mut self, word: u64, address: u32) -> Result<Instruction, Status> {
        let kept = &mut self.kept[address as usize % KEPT];
        if kept.0 != word {
            *kept = (word, Instruction::decode(word));
        }
        kept.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_word_at_an_address_is_decoded_anew() {
        let mut decoder = Decoder::new();
        let end = Instruction::End.encode();
        for (word, address) in
            [(0, 0), (end, 0), (end, KEPT as u32), (0, KEPT as u32), (0, 1), (end, 1)]
        {
            assert_eq!(decoder.decode(word, address), Instruction::decode(word));
        }
    }
}
