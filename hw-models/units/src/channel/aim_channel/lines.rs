// SPDX-License-Identifier: MIT
//! Requests for the data lines that are with the rank controller, the oldest first.

/// Those that it has accepted and that were not on the pins: a queue of two, and the pins.
#[derive(Clone, Default)]
pub(super) struct Ahead {
    /// Which of them are words.
    words: [bool; 4],
    count: usize,
}

impl Ahead {
    fn is_word(&self) -> &[bool] {
        &self.words[..self.count]
    }

    /// RD_RESULTs that no word is before.
    pub fn front(&self) -> u32 {
        self.is_word().iter().take_while(|is_word| !**is_word).count() as u32
    }

    /// Whether there is a word.
    pub fn has_word(&self) -> bool {
        self.is_word().contains(&true)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The end of a cycle: the oldest is on the pins; another, a word or not, is accepted.
    pub fn clock(&mut self, on_pins: bool, accepted: Option<bool>) {
        if on_pins {
            self.words.rotate_left(1);
            self.count -= 1;
        }
        if let Some(is_word) = accepted {
            self.words[self.count] = is_word;
            self.count += 1;
        }
    }
}
