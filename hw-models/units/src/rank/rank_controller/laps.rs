// SPDX-License-Identifier: MIT
//! What of a rank controller moves in a lap: see [`lap`](crate::lap).

use super::{BANKS, Earliest, Queue, RankController, RankControllerOut};
use crate::lap::Walk;

/// Longer than any timing.
const LONG: u64 = 1 << 8;

impl<const SLOTS: usize> RankController<SLOTS> {
    /// Goes over all of it, once it is configured.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            now,
            configured,
            timing: _,
            array: Queue { entries, len },
            bus: Queue { entries: bus_entries, len: bus_len },
            open,
            rows,
            uniform,
            opened,
            act_at,
            faw_from,
            row_from,
            refreshed_from,
            pre_from,
            column_from,
            read_from,
            any_read_from,
            data_from,
            write_from,
            result_from,
            shared_from,
            bus_data_from,
            bus_write_from,
            bus_was_last,
            passed_over,
            let_by,
            writes,
            word_set,
            word_next,
            pins,
        } = self;
        walk.refuse_if(!*configured);
        walk.size(*len);
        entries[..*len].iter_mut().for_each(|request| walk.array_request(request));
        walk.size(*bus_len);
        bus_entries[..*bus_len].iter_mut().for_each(|request| walk.bus_request(request));
        walk.still(*open);
        // Which row was open is of no account where none is.
        let is_open = |bank: &usize| *open >> bank & 1 != 0;
        (0..BANKS).filter(is_open).for_each(|bank| walk.row(&mut rows[bank]));
        for flag in [uniform, bus_was_last, passed_over] {
            walk.still(*flag);
        }
        for number in [let_by, writes] {
            walk.still(*number);
        }
        for word in [word_set, word_next] {
            walk.still(*word);
        }
        walk.size(*opened);
        walk.since(act_at, *now, LONG);
        faw_from.iter_mut().for_each(|from| walk.time(from, *now));
        pre_from.walk(walk, *now);
        column_from.walk(walk, *now);
        read_from.walk(walk, *now);
        for from in [
            row_from,
            refreshed_from,
            any_read_from,
            data_from,
            write_from,
            result_from,
            shared_from,
            bus_data_from,
            bus_write_from,
        ] {
            walk.time(from, *now);
        }
        pins.walk(walk);
        walk.moves(now);
    }
}

impl<const N: usize> Earliest<N> {
    fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Self { one, all, latest } = self;
        one.iter_mut().chain([all, latest]).for_each(|from| walk.time(from, now));
    }
}

impl RankControllerOut {
    /// Goes over all of it, where no row is on the pins.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            array_ready_o,
            bus_ready_o,
            pins_o,
            bus_pins_o,
            mac_o,
            transfer_o,
            array_issued_o,
            bus_issued_o,
            refresh_issued_o,
            lost_row_switch_o,
            lost_refresh_o,
            idle_o,
            ..
        } = self;
        for flag in [
            array_ready_o,
            bus_ready_o,
            array_issued_o,
            bus_issued_o,
            refresh_issued_o,
            lost_row_switch_o,
            lost_refresh_o,
            idle_o,
        ] {
            walk.still(*flag);
        }
        walk.bits(pins_o);
        walk.bits(bus_pins_o);
        walk.bits(mac_o);
        walk.bus_request(transfer_o);
    }
}
