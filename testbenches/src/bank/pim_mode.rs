// SPDX-License-Identifier: MIT
//! Bench of `pim_mode`: banks and blocks do what `golden` says of the channel's commands.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::lp5_mode::{BankAction, BlockStep, ChannelCommand, ChannelModes, Effect};
use pimlico_ports::U;
use pimlico_units::bank::{PimMode, PimModeIn, PimModeOut};

/// Cycles from a column command to the step of the blocks.
const LATENCY: usize = 3;

const ROWS: [&str; 5] = ["enter", "exit", "results", "spare", "weights"];
const COMMANDS: [&str; 6] =
    ["ACT in SB", "ACT in MB", "RD in SB", "RD in MB", "WR in SB", "WR in MB"];
const WRITES: [&str; 10] = [
    "register 0",
    "register 1",
    "register 2",
    "register 3",
    "register 4",
    "register 5",
    "register 6",
    "register 7",
    "SETUP",
    "behind",
];
const FAULTS: [&str; 5] = [
    "ACT of an open bank in SB",
    "ACT of an open bank in MB",
    "closed bank in SB",
    "closed banks in MB",
    "WR that means nothing",
];
const PRECHARGES: [&str; 4] =
    ["of one bank in SB", "of one bank in MB", "of all in SB", "of all in MB"];
const PAIRS: [&str; 6] = ["ACT, PRE", "ACT, RD", "ACT, WR", "PRE, RD", "PRE, WR", "RD, WR"];
const STARTS: [&str; 3] = ["at the start", "behind it", "behind it, where positions repeat"];

/// The command of a cycle.
fn command(input: &PimModeIn) -> Option<ChannelCommand> {
    let (bank, column) = (input.bank_i.get() as usize, input.column_i.get());
    match (input.activate_i, input.precharge_i, input.read_i, input.write_i) {
        (true, ..) => Some(ChannelCommand::Activate { bank, row: input.row_i.into() }),
        (_, true, ..) => Some(ChannelCommand::Precharge { bank: (!input.all_i).then_some(bank) }),
        (_, _, true, _) => Some(ChannelCommand::Read { bank, column }),
        (.., true) => Some(ChannelCommand::Write { bank, column, data: input.setup_i.into() }),
        _ => None,
    }
}

/// What the ports say of an effect: the banks in the next cycle, and the blocks in the third.
fn outputs_of(effect: &Effect) -> (PimModeOut, PimModeOut) {
    let mut banks = PimModeOut { fault_o: effect.fault, ..PimModeOut::default() };
    if let Some((action, obeying)) = &effect.banks {
        banks.banks_o = obeying.iter().fold(0, |mask, bank| mask | 1 << bank);
        match action {
            BankAction::Activate => banks.activate_o = true,
            BankAction::Precharge => banks.precharge_o = true,
            BankAction::Read => banks.read_o = true,
            BankAction::Write => banks.write_o = true,
            BankAction::WriteResults => banks.write_results_o = true,
        }
    }
    let mut blocks = PimModeOut { step_o: effect.step.is_some(), ..PimModeOut::default() };
    match effect.step {
        None | Some(BlockStep::Empty) => {}
        Some(BlockStep::Outside) => blocks.outside_o = true,
        Some(BlockStep::Write { register }) => {
            (blocks.block_write_o, blocks.register_o) = (true, U::new(register));
        }
        Some(BlockStep::Read { register }) => {
            (blocks.block_read_o, blocks.register_o) = (true, U::new(register));
        }
        Some(BlockStep::Mac { register, element, first }) => {
            (blocks.block_mac_o, blocks.first_o) = (true, first);
            (blocks.register_o, blocks.element_o) = (U::new(register), U::new(element));
        }
    }
    (banks, blocks)
}

/// What is in a cycle that follows these, the last first.
fn both(multi_o: bool, banks: PimModeOut, blocks: PimModeOut) -> PimModeOut {
    PimModeOut {
        multi_o,
        step_o: blocks.step_o,
        block_write_o: blocks.block_write_o,
        block_mac_o: blocks.block_mac_o,
        block_read_o: blocks.block_read_o,
        register_o: blocks.register_o,
        element_o: blocks.element_o,
        first_o: blocks.first_o,
        outside_o: blocks.outside_o,
        ..banks
    }
}

/// What a row is for: its number among [`ROWS`].
fn purpose(row: u64, rows: u64) -> usize {
    row.checked_sub(rows - 4).map_or(4, |reserved| reserved.min(4) as usize)
}

impl<const ROWS_OF_BANK: u64> Bench for PimMode<ROWS_OF_BANK> {
    /// Checks all outputs in every cycle; counts the steps of the blocks.
    fn oracle(inputs: &[PimModeIn], outputs: &[PimModeOut]) -> Result<u64, OracleError> {
        let mut channel = ChannelModes::new(ROWS_OF_BANK);
        let mut banks = PimModeOut::default();
        let mut blocks = [PimModeOut::default(); LATENCY];
        let mut checked = 0;
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let expected = both(channel.is_multi(), banks, blocks[LATENCY - 1]);
            OracleError::unless_equal(cycle, output, &expected)?;
            checked += u64::from(output.step_o);
            let effect = command(input).map(|command| channel.command(command));
            blocks.rotate_right(1);
            (banks, blocks[0]) = outputs_of(&effect.unwrap_or_default());
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, its row", &COMMANDS, &ROWS);
        bins.declare("precharge", PRECHARGES);
        bins.cross("WR in MB", &["of weights", "of results"], &WRITES);
        bins.declare("fault", FAULTS);
        bins.declare("two commands", PAIRS);
        bins.declare("output registers of the tile of a MAC", (1..=8).map(|n| n.to_string()));
        bins.declare("register of a MAC", (0..8).map(|q| q.to_string()));
        bins.declare("element of a MAC", (0..128).map(|k| k.to_string()));
        bins.cross("MAC", &["of a later tile", "of the first tile"], &STARTS);
        bins.declare("RD outside of the tile", ["in front of it", "behind it"]);
        bins.declare("bank of a command in SB", (0..16).map(|bank| bank.to_string()));
    }

    fn cover(inputs: &[PimModeIn], _: &[PimModeOut], bins: &mut Bins) {
        let mut channel = ChannelModes::new(ROWS_OF_BANK);
        let mut setup = 0u64;
        for input in inputs {
            let commands = [input.activate_i, input.precharge_i, input.read_i, input.write_i];
            let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
            for (pair, (a, b)) in pairs.into_iter().enumerate() {
                if commands[a] && commands[b] {
                    bins.hit("two commands", pair);
                }
            }
            let Some(command) = command(input) else { continue };
            let multi = channel.is_multi();
            let bank = input.bank_i.get() as usize;
            let row = if multi { channel.common_row() } else { channel.row(bank) };
            let effect = channel.command(command);
            if !multi {
                bins.hit("bank of a command in SB", bank);
            }
            let (kind, row) = match command {
                ChannelCommand::Activate { row, .. } => (0, Some(row)),
                ChannelCommand::Precharge { bank } => {
                    bins.hit("precharge", 2 * usize::from(bank.is_none()) + usize::from(multi));
                    continue;
                }
                ChannelCommand::Read { .. } => (1, row),
                ChannelCommand::Write { .. } => (2, row),
            };
            if effect.fault {
                let sort = match (kind, row) {
                    (0, _) => usize::from(multi),
                    (_, None) => 2 + usize::from(multi),
                    _ => 4,
                };
                bins.hit("fault", sort);
            }
            let Some(row) = row else { continue };
            let purpose = purpose(row, ROWS_OF_BANK);
            bins.hit_cross("command, its row", 2 * kind + usize::from(multi), purpose);
            if !multi {
                continue;
            }
            let column = input.column_i.get();
            if kind == 2 && matches!(purpose, 2 | 4) {
                bins.hit_cross("WR in MB", usize::from(purpose == 2), column.min(9) as usize);
                if purpose == 4 && column == 8 {
                    setup = input.setup_i.into();
                }
            }
            let (start, position) = (setup % 1024, row % 16 * 64 + column);
            match effect.step {
                Some(BlockStep::Mac { register, element, .. }) => {
                    let registers = setup / 1024 % 8;
                    bins.hit("output registers of the tile of a MAC", registers as usize);
                    bins.hit("register of a MAC", register as usize);
                    bins.hit("element of a MAC", element as usize);
                    let of_first = (setup / 8192 % 2) as usize;
                    let place = usize::from(position != start) + usize::from(position < start);
                    bins.hit_cross("MAC", of_first, place);
                }
                Some(BlockStep::Outside) => {
                    bins.hit("RD outside of the tile", usize::from(position > start));
                }
                _ => {}
            }
        }
    }

    /// Makes most commands ones that the banks are in a state for, many rows reserved, and most columns ones that mean
    /// something.
    fn arrange(inputs: &mut [PimModeIn]) {
        let mut channel = ChannelModes::new(ROWS_OF_BANK);
        for input in inputs {
            let chance = u64::from(input.row_i);
            let is_wild = |bit: u32| chance >> bit & 31 == 0;
            let multi = channel.is_multi();
            let bank = input.bank_i.get() as usize;
            input.row_i = match chance % 4 {
                0 => (ROWS_OF_BANK - 1 - chance / 4 % 4) as u16,
                1 => (chance / 4 % 32) as u16,
                _ => (chance % ROWS_OF_BANK) as u16,
            };
            let is_open = if multi { channel.common_row() } else { channel.row(bank) };
            if !is_wild(3) {
                input.precharge_i &= !input.activate_i;
                let column =
                    !input.activate_i && !input.precharge_i && input.read_i | input.write_i;
                input.read_i &= column;
                input.write_i &= column && !input.read_i;
                if input.activate_i && is_open.is_some() {
                    (input.activate_i, input.precharge_i) = (false, true);
                } else if column && is_open.is_none() {
                    (input.activate_i, input.read_i, input.write_i) = (true, false, false);
                    if multi && chance % 3 == 0 {
                        // Rows that other banks have open are closed first.
                        (input.activate_i, input.precharge_i) = (false, true);
                    }
                }
            }
            if input.write_i && multi && chance >> 8 & 3 != 0 {
                input.column_i = U::new(input.column_i.get() % 10);
            }
            if let Some(command) = command(input) {
                channel.command(command);
            }
        }
    }
}
