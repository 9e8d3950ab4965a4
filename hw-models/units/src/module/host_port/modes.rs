// SPDX-License-Identifier: MIT
//! An MRS of the host as the chips get it.

use pimlico_dpa::types::mode_registers::{cl_bits, cwl_bits};
use pimlico_dpa::types::{PinCommand, Pins};

/// Bits of each mode register that are not the host's.
const FORCED: [u16; 16] = {
    let mut forced = [0; 16];
    forced[0] = 1 << 12 | 0b111 << 4 | 1 << 2 | 0b11; // CL, burst length
    forced[1] = 0b11 << 3; // additive latency
    forced[2] = 1 << 12 | 0b111 << 3; // CRC of written data, CWL
    forced[3] = 0b111 << 6 | 0b111 << 2; // fine granularity of refresh, PDA, gear-down, MPR
    forced[4] = 0b111 << 6; // command address latency
    forced[5] = 0b111 << 10 | 0b111; // DM, DBI, parity
    forced
};

/// The host's command for chips with these latencies.
pub(super) fn rewritten(pins: Pins, cl: u8, cwl: u8) -> Pins {
    if pins.command != PinCommand::Mrs {
        return pins;
    }
    let levels = match pins.bank() {
        0 => cl_bits(cl.into()),
        2 => cwl_bits(cwl.into()),
        _ => None,
    };
    Pins { row: pins.row & !FORCED[pins.bank()] | levels.unwrap_or_default(), ..pins }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chips_get_their_own_latencies_and_no_mode_that_the_module_lacks() {
        let chips = |register, opcode| rewritten(Pins::mrs(register, opcode), 22, 16);
        // CL 23 becomes 22, CWL 16 stays; DLL reset and RTT_WR pass.
        assert_eq!(chips(0, 0x0163), Pins::mrs(0, 0x0150));
        assert_eq!(chips(2, 0x1220), Pins::mrs(2, 0x0228));
        let all = (0..8).map(|register| chips(register, 0x3FFF).row());
        let passed = [0x2FD8, 0x3FE7, 0x2FEF, 0x3E23, 0x3E3F, 0x23F8, 0x3FFF, 0x3FFF];
        assert!(all.eq(passed));
        assert!(Pins::PIM_KEY.into_iter().all(|pins| rewritten(pins, 22, 16) == pins));
        assert_eq!(rewritten(Pins::act(0, 0x3FFF), 22, 16), Pins::act(0, 0x3FFF));
    }
}
