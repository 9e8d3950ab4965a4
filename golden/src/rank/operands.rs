// SPDX-License-Identifier: MIT
//! Words of the shared buffers: the host's bursts, and words of weights.

use super::{Column, Rank, Source, Stop, Word};
use crate::dispatch::Dispatched;
use crate::reduction::{CHIPS, LANES};
use crate::relayout::Widths;

impl Rank {
    /// WR_SHARED: the host's next burst.
    pub(super) fn write_shared(
        &mut self,
        command: &Dispatched,
        source: &mut impl Source,
    ) -> Result<(), Stop> {
        let beats = source.operand().ok_or(Stop::Waits)?;
        self.shared[command.word as usize] = Some(relaid(&beats));
        self.behind[command.word as usize] = None;
        self.finishes_ahead[command.word as usize] = 0;
        Ok(())
    }

    /// WR_WEIGHTS: the next word of weights.
    pub(super) fn write_weights(
        &mut self,
        command: &Dispatched,
        source: &mut impl Source,
    ) -> Result<(), Stop> {
        let Word { count, behind, finishes } =
            self.words.pop_front().ok_or(Stop::Open("no weights"))?;
        let mut word = 0;
        for n in 0..count {
            word |= u64::from(source.weight().ok_or(Stop::Waits)?) << (16 * n);
        }
        self.shared[command.word as usize] = Some([word; CHIPS]);
        self.behind[command.word as usize] = behind;
        self.finishes_ahead[command.word as usize] = finishes;
        Ok(())
    }
}

/// A burst of the host as the chips get it, 64 bits each.
pub fn relaid(beats: &[u64; 8]) -> Column {
    let widths = Widths { element_bits: 16, chip_bits: 8 };
    let chips: Vec<u64> = beats.chunks(2).flat_map(|group| widths.to_chips(group)).collect();
    std::array::from_fn(|chip| {
        let byte = |beat: usize| u64::from(chips[beat].to_le_bytes()[chip]) << (8 * beat);
        (0..8).map(byte).sum()
    })
}

/// The elements of a word.
pub(super) fn elements(word: u64) -> [u32; LANES] {
    std::array::from_fn(|lane| (word >> (16 * lane)) as u32 & 0xFFFF)
}
