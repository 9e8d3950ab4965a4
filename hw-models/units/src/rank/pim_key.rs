// SPDX-License-Identifier: MIT
//! Whether a chip obeys the commands of processing in memory.

use pimlico_dpa::types::{PinCommand, Pins};

/// The lock of a chip. Its contract stands in `rtl/rank/pin_codes.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PimKey {
    /// Opcodes of the key so far.
    count: usize,
    unlocked: bool,
}

impl PimKey {
    /// Whether the chip obeys them.
    pub fn is_unlocked(&self) -> bool {
        self.unlocked
    }

    /// The end of a tCK with this command on the pins.
    pub fn command(&mut self, pins: Pins) {
        if pins.command != PinCommand::Mrs {
            return;
        }
        self.count = match pins {
            pins if pins == Pins::PIM_KEY[self.count] => self.count + 1,
            pins => usize::from(pins == Pins::PIM_KEY[0]),
        };
        if self.count == Pins::PIM_KEY.len() {
            *self = Self { count: 0, unlocked: true };
        }
        self.unlocked &= pins != Pins::PIM_LOCK;
    }

    /// The command as the chip obeys it: one of processing in memory is none to a locked chip.
    pub fn obeyed(&self, pins: Pins) -> Pins {
        match pins.command {
            PinCommand::ActAll
            | PinCommand::SetWord
            | PinCommand::RdAll
            | PinCommand::RdResult
            | PinCommand::WrShared
                if !self.unlocked =>
            {
                Pins::NONE
            }
            _ => pins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(commands: impl IntoIterator<Item = Pins>) -> bool {
        let mut key = PimKey::default();
        commands.into_iter().for_each(|pins| key.command(pins));
        key.is_unlocked()
    }

    #[test]
    fn the_key_unlocks_and_the_lock_locks() {
        let [first, second, third, fourth] = Pins::PIM_KEY;
        assert!(after(Pins::PIM_KEY));
        assert!(!after([first, second, third]));
        assert!(after([first, second, Pins::REF, Pins::NONE, Pins::act(0, 1), third, fourth]));
        assert!(after([first, second, first, second, third, fourth]));
        assert!(!after([first, second, Pins::mrs(0, 0x2C39), third, fourth]));
        assert!(!after([second, first, third, fourth]));
        let behind = |command| after(Pins::PIM_KEY.into_iter().chain([command]));
        assert!(behind(Pins::mrs(0, 0x2000)) && behind(first) && behind(Pins::REF));
        assert!(!behind(Pins::PIM_LOCK));
        assert!(!after([first, second, third, Pins::PIM_LOCK, fourth]));
    }

    #[test]
    fn a_locked_chip_obeys_the_commands_of_jedec_alone() {
        let locked = PimKey::default();
        for pins in [Pins::act_all(0, 5), Pins::wr_shared(9)] {
            assert_eq!(locked.obeyed(pins), Pins::NONE);
        }
        for pins in [Pins::act(0, 5), Pins::rd(3, 4), Pins::PRE_ALL, Pins::REF, Pins::PIM_LOCK] {
            assert_eq!(locked.obeyed(pins), pins);
        }
    }
}
