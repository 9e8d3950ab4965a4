// SPDX-License-Identifier: MIT
//! The command that a host's pins show.

use pimlico_dpa::types::{DramPins, PinCommand, Pins};
use pimlico_ports::U;

/// The command on the host's pins: of JEDEC's alone, and without the bits that mean nothing to a host.
pub(super) fn decode(pins: &DramPins) -> Pins {
    let a = pins.a.get();
    let bank = U::new(pins.bg.get() << 2 | pins.ba.get());
    let is_burst = a >> 12 & 1 != 0 && a >> 10 & 1 == 0 && a & 7 == 0;
    let burst = |command| Pins { command, bank, row: 0, column: (a >> 3 & 0x7F) as u8 };
    let row = u64::from(pins.cas_n) << 15 | u64::from(pins.we_n) << 14 | a;
    match (pins.cs_n, pins.act_n, [pins.ras_n, pins.cas_n, pins.we_n]) {
        (true, ..) => Pins::NONE,
        (_, false, [false, ..]) => {
            Pins { command: PinCommand::Act, bank, row: row as u16, column: 0 }
        }
        (_, true, [false, true, false]) if a >> 10 & 1 != 0 => Pins::PRE_ALL,
        (_, true, [false, true, false]) => {
            Pins { command: PinCommand::Pre, bank, ..Pins::default() }
        }
        (_, true, [false, false, true]) => Pins::REF,
        (_, true, [false, false, false]) if pins.bg.get() < 2 => {
            Pins { command: PinCommand::Mrs, bank, row: a as u16, column: 0 }
        }
        (_, true, [true, false, true]) if is_burst => burst(PinCommand::Rd),
        (_, true, [true, false, false]) if is_burst => burst(PinCommand::Wr),
        _ => Pins::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_dpa::types::ReadAll;

    #[test]
    fn commands_of_jedec_are_read_as_they_are_encoded() {
        let commands = [Pins::NONE, Pins::PRE_ALL, Pins::REF, Pins::pre(9), Pins::act(7, 0xA5C3)];
        let others = [Pins::rd(5, 0x55), Pins::wr(10, 0x2A), Pins::mrs(6, 0x2C17)];
        for pins in commands.into_iter().chain(others) {
            assert_eq!(decode(&pins.encode()), pins);
        }
    }

    #[test]
    fn bits_that_mean_nothing_to_a_host_do_not_count() {
        let rd_all = Pins::rd_all(3, ReadAll { first: true, ..ReadAll::default() });
        assert_eq!(decode(&rd_all.encode()), Pins::rd(rd_all.bank(), 3));
        let prea = DramPins { ba: U::new(3), a: U::new(0x3FFF), ..Pins::PRE_ALL.encode() };
        assert_eq!(decode(&prea), Pins::PRE_ALL);
        assert_eq!(decode(&Pins::act_all(0, 5).encode()), Pins::NONE);
        let chopped = DramPins { a: U::new(0), ..Pins::rd(0, 0).encode() };
        assert_eq!(decode(&chopped), Pins::NONE);
    }
}
