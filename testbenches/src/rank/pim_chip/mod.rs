// SPDX-License-Identifier: MIT
//! Bench of `pim_chip`: what is on the data lines is what the cell arrays hold or what `golden` sums up of
//! columns and shared buffer, and what is written arrives.

mod arrangement;
mod plan;
mod reference;

use super::burst_timer::BURST;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use pimlico_dpa::types::{PinCommand, ResultAddress};
use pimlico_ports::Enumerated;
use pimlico_units::arith::Format;
use pimlico_units::rank::{PimChip, PimChipIn, PimChipOut};
use reference::Chip;

/// Banks, of four in a group.
const BANKS: usize = 16;
/// Edges of the PUs' clock from an RD_ALL to its result, in tree mode and in accumulator mode.
const TREE_EDGES: usize = 4;
const ACCUMULATE_EDGES: usize = 2;
/// Slots that a tree beat needs the adders for after its own.
const HAZARD: usize = 2;
/// Slots that follow the one of an RD_ALL.
const IDLE_SLOTS: usize = 5;
/// tCK in which RD_ALLs come alike.
const STRETCH: usize = 128;

/// Commands of processing in memory, and how a chip comes to be locked or not.
const OF_PIM: [&str; 5] = ["ACT_ALL_BANK", "SET_WORD", "RD_ALL_BANK", "RD_RESULT", "WR_SHARED"];

/// Which of `OF_PIM` a command is.
fn of_pim(command: PinCommand) -> Option<usize> {
    OF_PIM.iter().position(|name| *name == command.name())
}

/// Which of `TRANSFERS` a command begins.
fn transfer(command: PinCommand) -> Option<usize> {
    let transfers = [PinCommand::Rd, PinCommand::RdResult, PinCommand::Wr, PinCommand::WrShared];
    transfers.into_iter().position(|transfer| transfer == command)
}

/// An RD_RESULT of the first bank group's scores has the chip keep those of the others.
fn keeps(address: ResultAddress) -> bool {
    !address.context_sums && address.lane.get() == 0
}

/// An RD_RESULT of scores that are kept.
fn is_kept(address: ResultAddress) -> bool {
    !address.context_sums && address.lane.get() > 0
}

impl<A: Format> Bench for PimChip<A> {
    fn arrange(inputs: &mut [PimChipIn<A>]) {
        arrangement::arrange(inputs);
    }

    fn plan(bins: &mut Bins) {
        plan::plan::<A>(bins);
    }

    fn cover(inputs: &[PimChipIn<A>], outputs: &[PimChipOut<A>], bins: &mut Bins) {
        plan::cover(inputs, outputs, bins);
    }

    fn oracle(inputs: &[PimChipIn<A>], outputs: &[PimChipOut<A>]) -> Result<u64, OracleError> {
        let mut chip = Chip::<A>::new(inputs.len());
        for (tck, pair) in inputs.chunks(2).enumerate() {
            chip.tck(tck, &pair[0], inputs);
        }
        for (beat, got) in outputs.iter().enumerate() {
            let (tck, second) = (beat / 2, beat % 2 == 1);
            let what = || format!("tCK {tck}, beat {}", beat % 2);
            let driven = chip.driven[beat];
            equal(beat, "drives_o", got.drives_o, driven.is_some(), what)?;
            equal(beat, "dq_o", got.dq_o, driven.unwrap_or(0), what)?;
            equal(beat, "idle_o", got.idle_o, !chip.busy[tck], what)?;
            equal(beat, "unlocked_o", got.unlocked_o, chip.unlocked[tck], what)?;
            equal(beat, "written_o", got.written_o, chip.written[tck], what)?;
            let write = chip.writes[tck];
            equal(beat, "cells_write_o", got.cells_write_o, write.is_some(), what)?;
            let (bank, column, data) = write.unwrap_or_default();
            equal(beat, "cells_write_bank_o", got.cells_write_bank_o.get(), bank, what)?;
            equal(beat, "cells_write_column_o", got.cells_write_column_o, column, what)?;
            if second {
                equal(beat, "cells_write_data_o", got.cells_write_data_o, data, what)?;
            }
            // New with an edge, until the next: the one in this tCK's first beat has come in its second.
            let edge = chip.edges[tck] + usize::from(second && inputs[beat - 1].clk_pu_i);
            let new = chip.result_edges.contains(&edge);
            equal(beat, "result_valid_o", got.result_valid_o, new, what)?;
        }
        Ok(outputs.len() as u64)
    }
}

/// All commands are known here.
const _: () = assert!(PinCommand::ALL.len() == 13);
