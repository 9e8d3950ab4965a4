// SPDX-License-Identifier: MIT
//! The modes of a channel with single buffers: that of the arrays and that of the data lines.

use pimlico_dpa::types::PinCommand;

/// Cycles since the last command of each kind was on the pins, if ever.
#[derive(Clone, Default)]
pub(super) struct Modes {
    /// RD_ALL or WR.
    array: Option<u32>,
    word: Option<u32>,
    results: Option<u32>,
}

impl Modes {
    /// Whether a column or a WR may be requested, with so many tCK for a change.
    pub fn allow_arrays(&self, change: u8) -> bool {
        let change = u32::from(change);
        is_over(self.word, change.div_ceil(2)) && is_over(self.results, (change + 3) / 2)
    }

    /// Whether a word or results may be requested.
    pub fn allow_lines(&self, change: u8) -> bool {
        is_over(self.array, u32::from(change).saturating_sub(4) / 2)
    }

    /// The end of a cycle with these commands on the pins of both slots.
    pub fn clock(&mut self, array: PinCommand, line: PinCommand) {
        let follow = |since: &mut Option<u32>, now: bool| {
            *since = if now { Some(1) } else { since.map(|cycles| cycles + 1) };
        };
        follow(&mut self.array, matches!(array, PinCommand::RdAll | PinCommand::Wr));
        follow(&mut self.word, line == PinCommand::WrShared);
        follow(&mut self.results, line == PinCommand::RdResult);
    }
}

fn is_over(since: Option<u32>, cycles: u32) -> bool {
    since.is_none_or(|since| since >= cycles)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles from a command to the first request of the other mode.
    fn wait(command: PinCommand, change: u8) -> u32 {
        let mut modes = Modes::default();
        modes.clock(command, command);
        let mut cycles = 1;
        while !(modes.allow_arrays(change) && modes.allow_lines(change)) {
            modes.clock(PinCommand::None, PinCommand::None);
            cycles += 1;
        }
        cycles
    }

    #[test]
    fn a_change_takes_its_tck_from_one_command_to_the_other() {
        let commands = [PinCommand::RdAll, PinCommand::WrShared, PinCommand::RdResult];
        assert_eq!(commands.map(|command| wait(command, 33)), [14, 17, 18]);
        assert_eq!(commands.map(|command| wait(command, 0)), [1, 1, 1]);
        assert_eq!(commands.map(|command| wait(command, 7)), [1, 4, 5]);
    }
}
