// SPDX-License-Identifier: MIT
//! What MEM does, with what PIM leaves to it.

use super::{ChannelCommand, Look, MemLost, OfPim, Pins};
use crate::channel::channel_controller::ChannelController;
use crate::channel::channel_controller::state::{Masks, MemMay};
use crate::channel::mem_scheduler::{Candidates, Request, Taken, View};
use crate::channel::pim_queue::Operation;

impl<const READS: usize, const WRITES: usize> ChannelController<READS, WRITES> {
    /// What MEM does in this cycle, if it has the pins.
    #[inline(always)]
    pub(super) fn of_mem(
        &self,
        look: &Look<'_>,
        of: &OfPim,
        is_taken: bool,
    ) -> (View, MemMay, Taken, Pins, MemLost) {
        let mut is_taken = is_taken;
        let mut pins = Pins::default();
        let (t, state, clock) = (look.t, look.state, look.clock);
        if look.mem_is_empty {
            // Nothing is picked in the next cycle, for which this is kept.
            return (View::default(), state.mem_may, Taken::default(), pins, MemLost::None);
        }
        // Banks that MEM may not use, and rows that PIM has. With a single row buffer these are all, or none.
        let of_refresh = if look.owed { t.banks(state.turn) } else { 0 };
        let operation = look.operation.filter(|_| !t.blocked);
        let (of_gwrite, reserved) = match operation {
            Some(Operation { gwrite: true, bank, .. }) => (1u32 << bank, None),
            Some(Operation { row, .. }) => (0, Some(*row)),
            None => (0, None),
        };
        let stop = if t.blocked && state.owner { u32::MAX } else { of_refresh | of_gwrite };
        let held = look.pim_holds_rows().then_some(state.pim.row);
        // tRFC, tFAW and the activation window.
        let windows = [0, 1].map(|rank| clock.reached(state.opens_at[rank]));
        let holds = of.holds_acts;
        let acts = [0, 1].map(|rank| windows[rank] && !holds[rank]);
        // A pick takes what is left to MEM in the last cycle.
        let may = state.mem_may;
        let of_acts =
            |rank: usize| if windows[rank] && !may.holds[rank] { t.banks(rank) } else { 0 };
        let Masks { read, write, precharge, act } = look.masks();
        let view = View {
            read_ready: read & !may.stop,
            write_ready: write & !may.stop,
            act_ready: act & !may.stop & (of_acts(0) | of_acts(1)),
            precharge_ready: precharge & !may.stop,
            of_pim: [reserved, held],
        };

        let mut taken = Taken::default();
        let Candidates { column, act: opens, precharge: closes, blocked } =
            *self.scheduler.candidates();
        let mut lost = match (look.owed, blocked) {
            (true, _) => MemLost::Refresh,
            (_, true) => MemLost::Reserved,
            _ => MemLost::Row,
        };
        if let Some(column) = column {
            let Request { write: is_write, bank, row, tag, column } = column.request;
            let (rank, group) = (t.rank(bank), usize::from(bank / 4));
            let ready = if is_write { write } else { read };
            let may = ready & !stop & 1 << bank != 0 && reserved != Some(row);
            let (bus, results) = if is_write {
                let bus = clock.reached(state.write_at[rank]);
                (bus, look.meets(t.cwl, t.rtrs, t.gap) || of.holds_writes[rank])
            } else {
                let bus = clock.reached(state.read_at[rank]) && look.turned(rank, group);
                (bus, look.meets(t.cl, t.rtrs, t.rtrs) || of.holds_reads)
            };
            lost = match (may, bus, results) {
                (false, ..) if of_refresh >> bank & 1 == 1 => MemLost::Refresh,
                (false, ..) => MemLost::Reserved,
                (_, false, _) => MemLost::None,
                (.., true) => MemLost::Results,
                _ if is_taken => MemLost::CommandBus,
                _ => MemLost::None,
            };
            if may && bus && !results && !is_taken {
                taken.column = true;
                let name = if is_write { ChannelCommand::Wr } else { ChannelCommand::Rd };
                (pins.command, pins.bank) = (name, bank);
                (pins.column, pins.tag) = (column, Some(tag));
                is_taken = true;
            }
        }
        if let Some((bank, row)) = opens {
            let (rank, group) = (t.rank(bank), usize::from(bank / 4));
            let may = act & !stop & 1 << bank != 0
                && acts[rank]
                && !view.of_pim.contains(&Some(row))
                && clock.reached(state.act_at[rank])
                && clock.reached(state.act_group_at[group]);
            if column.is_none() {
                lost = match may {
                    true if is_taken => MemLost::CommandBus,
                    true => MemLost::Row,
                    false if !acts[rank] => MemLost::Window,
                    false => lost,
                };
            }
            if may && !is_taken {
                taken.act = true;
                (pins.command, pins.bank, pins.row) = (ChannelCommand::Act, bank, row);
                is_taken = true;
            }
        }
        if let Some(bank) = closes {
            let may = precharge & !stop & 1 << bank != 0;
            if may && !is_taken {
                taken.precharge = true;
                (pins.command, pins.bank) = (ChannelCommand::Pre, bank);
            }
        }
        (view, MemMay { stop, holds }, taken, pins, lost)
    }
}
