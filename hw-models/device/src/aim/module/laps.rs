// SPDX-License-Identifier: MIT
//! What of a module moves in a lap, where there are no data: see [`lap`](pimlico_units::lap).

use super::{Carried, Module, Transfer};
use crate::aim::known::SpanKind;
use crate::aim::layout::Write;
use crate::aim::requests::{AllBankRead, BusRequest};
use crate::aim::units::{EPU_CYCLES, SLOTS};
use pimlico_units::lap::Walk;

impl Module {
    /// Goes over all of it but the REFs, where laps are of a kind.
    pub(in crate::aim) fn walk(&mut self, walk: &mut Walk<'_>, kind: SpanKind) {
        let Self {
            config: _,
            options: _,
            loaded: _,
            tck,
            control,
            reads: taken,
            writes,
            bus_requests,
            open,
            cells: _,
            transfers,
            column,
            operand,
            take_results,
            channels,
            results,
            epu,
            weighing,
            // No softmax ends in a lap.
            weighed_tck: _,
            accounts,
            refreshed_tck,
            teller: _,
            wave: _,
            steps_all: _,
            known: _,
        } = self;
        control.walk(walk);
        walk.size(taken.len());
        taken.iter_mut().for_each(|read| read.walk(walk));
        walk.size(writes.len());
        writes.iter_mut().for_each(|write| write.walk(walk));
        walk.size(bus_requests.len());
        bus_requests.iter().for_each(|request| request.walk(walk));
        for row in open {
            walk.still(row.is_some());
            row.iter_mut().for_each(|row| walk.row(row));
        }
        walk.size(transfers.len());
        transfers.iter_mut().for_each(|transfer| transfer.walk(walk, *tck));
        walk.still(column.is_some());
        if let Some((beat, row, column)) = column {
            beat.walk(walk);
            walk.row(row);
            walk.size(*column);
        }
        walk.still(operand.map_or(0_u64, |(_, last)| 1 + u64::from(last)));
        walk.still(*take_results);
        channels.walk(walk);
        walk.size(results.len());
        epu.walk(walk);
        walk.still(weighing.is_some());
        weighing.iter_mut().for_each(|weighing| weighing.walk(walk));
        match kind {
            SpanKind::Reads => accounts.walk(walk, *tck),
            SpanKind::Writes | SpanKind::Chunks => accounts.walk_without_reads(walk, *tck),
        }
        walk.time(refreshed_tck, *tck);
        // Nothing of the EPU's is in a row that is written.
        let phase = *tck % (EPU_CYCLES * SLOTS as u64);
        walk.still(if kind == SpanKind::Writes { 0 } else { phase });
        walk.moves(tck);
    }
}

impl Transfer {
    /// Goes over all of it that is no data.
    fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Self { from_tck, until_tck, what, told } = self;
        walk.at(from_tck, now);
        walk.at(until_tck, now);
        walk.still(*told);
        let mut kind = |kind: u8| walk.still(kind);
        match what {
            Carried::Landed => kind(0),
            Carried::Written(write) => {
                kind(1);
                write.walk(walk);
            }
            Carried::Operand(_, last) => kind(2 + u8::from(*last)),
            Carried::Results(sum) => kind(4 + u8::from(sum.goes_on)),
        }
    }
}

impl Write {
    /// Goes over all of it that is no data.
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { bank, row, column, words: _, channels: _ } = self;
        walk.size(*bank);
        walk.row(row);
        walk.size(*column);
    }
}

impl AllBankRead {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { row, column, beat, gap } = self;
        walk.row(row);
        walk.size(*column);
        beat.walk(walk);
        walk.still(*gap as u8);
    }
}

impl BusRequest {
    /// Goes over all of it that is no data, nor where in the GPR that goes.
    fn walk(&self, walk: &mut Walk<'_>) {
        match self {
            Self::Operand { number, word: _, last } => {
                walk.size(1 + *number);
                walk.still(*last);
            }
            Self::Results(sum) => {
                walk.size(0);
                walk.still(sum.goes_on);
            }
        }
    }
}
