// SPDX-License-Identifier: MIT
//! Cycles of a rank controller that can be foreseen: those in which it waits for a timing, and those of WRs to open rows.
//! What is done here is what `step` does with the same inputs.

use super::{
    ArrayKind, ArrayRequest, BANKS_PER_GROUP, Choice, PinCommand, Pins, RankController,
    RankControllerOut, U, bank_of,
};
use pimlico_dpa::types::Timing;

impl<const SLOTS: usize> RankController<SLOTS> {
    /// Cycles from this one on in which no command is chosen and no request accepted, if inputs stay as they were in the
    /// cycle before: up to the first timing of those that its choice hangs on. None, if something was chosen or accepted in
    /// that cycle: then `accepted` is true, or the pins show it.
    pub fn waits(&self, accepted: bool) -> u64 {
        let RankControllerOut { pins_o, bus_pins_o, .. } = self.pins;
        let chosen = [pins_o, bus_pins_o].map(|pins| pins.command != PinCommand::None);
        if accepted || chosen != [false; 2] || !self.configured {
            return 0;
        }
        let bank = self.array.head().map_or(0, bank_of);
        let group = bank / BANKS_PER_GROUP;
        let Timing { rrd_s, rrd_l, rcd, rcd_wr, rcd_mac, .. } = self.timing;
        let since_act = [rrd_s, rrd_l, rcd, rcd_wr, rcd_mac].map(|of| self.act_at + u64::from(of));
        let since_others = [
            self.faw_from[0],
            self.faw_from[3],
            self.row_from,
            self.refreshed_from,
            self.pre_from.one(bank),
            self.pre_from.latest,
            self.column_from.one(group),
            self.column_from.latest,
            self.read_from.one(group),
            self.read_from.latest,
            self.any_read_from,
            self.data_from,
            self.write_from,
            self.result_from,
            self.shared_from,
            self.bus_data_from,
            self.bus_write_from,
        ];
        let all = since_act.into_iter().chain(since_others);
        all.filter_map(|from| from.checked_sub(self.now)).min().unwrap_or(u64::MAX)
    }

    /// What `lost_row_switch_o` and `lost_refresh_o` are in these cycles: as in the next one, and not in the last.
    pub fn lost_in_wait(&self) -> [bool; 2] {
        [self.pins.lost_row_switch_o, self.pins.lost_refresh_o]
    }

    /// So many of the cycles in which it [waits](Self::waits) go by.
    pub fn pass(&mut self, cycles: u64) {
        self.now += cycles;
    }

    /// A cycle that has a WR on the pins, chooses one to an open row for the only request there is, and accepts another
    /// request. Returns the pins; or nothing, and then nothing was done: it is no such cycle. No REF is forced in it.
    pub fn write_on(&mut self, request: ArrayRequest) -> Option<Pins> {
        let head = self.head_of_run(ArrayKind::Wr, PinCommand::Wr)?;
        if self.bus_was_last || !self.data_ready(true) {
            return None;
        }
        Some(self.run_on(Choice { pins: write_pins(head), ..Choice::default() }, request))
    }

    /// So many such cycles go by, whole turns of the banks, in each of which all is done that was done in the turn before: at their
    /// end `chosen` has its WR and `accepted` is the only request. What a WR forbids is left as it was, so that another turn has
    /// to come.
    pub fn pass_writes(&mut self, cycles: u64, [chosen, accepted]: [ArrayRequest; 2]) {
        self.now += cycles;
        self.pins.pins_o = write_pins(chosen);
        self.array.entries[0] = accepted;
    }

    /// The same as [`write_on`](Self::write_on) of all-bank reads, with two slots.
    pub fn read_on(&mut self, request: ArrayRequest) -> Option<Pins> {
        let head = self.head_of_run(ArrayKind::ReadAll, PinCommand::RdAll)?;
        if !Self::APART {
            return None;
        }
        let pins = Pins { command: PinCommand::RdAll, column: head.column, ..Pins::default() };
        Some(self.run_on(Choice { pins, mac: head.mac, ..Choice::default() }, request))
    }

    /// The only request, if it is of a kind whose command may go now as the one before it went.
    fn head_of_run(&self, kind: ArrayKind, before: PinCommand) -> Option<ArrayRequest> {
        let head = self.array.head().filter(|head| head.kind == kind)?;
        let RankControllerOut { pins_o, bus_pins_o, .. } = self.pins;
        let runs = self.array.len == 1
            && self.bus.len == 0
            && pins_o.command == before
            && bus_pins_o.command == PinCommand::None
            && self.hits(head)
            && self.column_ready(head);
        runs.then_some(head)
    }

    /// A command is chosen as the one before it was. Returns that.
    fn run_on(&mut self, choice: Choice, request: ArrayRequest) -> Pins {
        let shown = std::mem::replace(&mut self.pins.pins_o, choice.pins);
        self.pins.mac_o = choice.mac;
        // An RD_RESULT or a WR_SHARED was in the cycle before, and is not in this one.
        (self.pins.transfer_o, self.pins.bus_issued_o) = Default::default();
        (self.let_by, self.writes) = (0, 0);
        self.obey(&choice);
        self.array.pop();
        self.array.push(request);
        self.now += 1;
        shown
    }
}

/// The WR of a request.
fn write_pins(request: ArrayRequest) -> Pins {
    let bank = U::new(bank_of(request) as u64);
    Pins { command: PinCommand::Wr, bank, row: 0, column: request.column }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::RankControllerIn;
    use pimlico_dpa::types::{BusRequest, Mac};
    use pimlico_ports::Model;

    /// AiM's channels, in cycles of two tCK.
    fn timing() -> Timing {
        Timing {
            ccd_s: 1,
            ccd_l: 1,
            ccd_result: 1,
            rrd_s: 6,
            rrd_l: 6,
            rcd: 18,
            rcd_wr: 14,
            rcd_mac: 28,
            ras: 27,
            rp: 16,
            rc: 45,
            rtp: 6,
            rd_to_wr: 3,
            wr_to_rd_s: 9,
            wr_to_rd_l: 10,
            wr_to_pre: 21,
            faw: 21,
            faw_banks: U::new(16),
            rfc: 105,
            ..Timing::default()
        }
    }

    /// Numbers by a linear congruence.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            (self.0 >> 33) % n
        }
    }

    /// Runs of requests of a kind, mostly to one row, with some of the bus between them.
    struct Stream {
        random: Random,
        kind: ArrayKind,
        row: u16,
        left: u64,
        number: u8,
    }

    impl Stream {
        fn next(&mut self) -> ArrayRequest {
            if self.left == 0 {
                let kinds = [ArrayKind::Wr, ArrayKind::Wr, ArrayKind::ReadAll, ArrayKind::CloseAll];
                self.kind = kinds[self.random.below(4) as usize];
                self.left = if self.kind == ArrayKind::CloseAll { 1 } else { 40 };
                self.row = self.random.below(3) as u16;
            }
            self.left -= 1;
            self.number = (self.number + 1) % 64;
            let bank = if self.kind == ArrayKind::Wr { u64::from(self.number) * 4 % 15 } else { 0 };
            ArrayRequest {
                kind: self.kind,
                bank: U::new(bank),
                row: self.row,
                column: self.number,
                mac: Mac { word: self.number, ..Mac::default() },
            }
        }
    }

    /// In cycles of all kinds what is foreseen is what `step` does, and leaves what it leaves.
    #[test]
    fn what_is_foreseen_is_what_is_stepped() {
        let (mut writes, mut reads, mut waited) = (0, 0, 0);
        for seed in 0..40 {
            let random = Random(seed);
            let mut stream = Stream { random, kind: ArrayKind::Wr, row: 0, left: 0, number: 0 };
            let mut unit = RankController::<2>::new();
            let mut input = RankControllerIn { timing_i: timing(), ..Default::default() };
            unit.step(&input);
            let mut random = Random(seed + 1000);
            let (mut asked, mut accepted) = (stream.next(), true);
            for _ in 0..4000 {
                input.array_valid_i = random.below(200) > 0;
                input.array_i = asked;
                input.bus_valid_i = random.below(60) == 0 || input.bus_valid_i && !accepted;
                input.bus_i = BusRequest { write: seed % 2 == 0, ..BusRequest::default() };
                input.refresh_i = random.below(500) == 0 || input.refresh_i && !accepted;
                // A run, in a cycle of it.
                let mut stepped = unit.clone();
                let output = stepped.step(&input);
                if input.array_valid_i && !input.bus_valid_i {
                    for reading in [false, true] {
                        let mut ahead = unit.clone();
                        let pins = match reading {
                            true => ahead.read_on(asked),
                            false => ahead.write_on(asked),
                        };
                        if let Some(pins) = pins {
                            *if reading { &mut reads } else { &mut writes } += 1;
                            assert!(output.array_ready_o && pins == output.pins_o);
                            assert!(!output.lost_refresh_o && !output.lost_row_switch_o);
                            assert!(output.bus_pins_o.command == PinCommand::None);
                            same(&mut ahead, &mut stepped.clone(), &mut random);
                        }
                    }
                }
                accepted = output.array_ready_o && input.array_valid_i
                    || output.bus_ready_o && input.bus_valid_i;
                if output.array_ready_o && input.array_valid_i {
                    asked = stream.next();
                }
                unit = stepped;
                // Behind it, with the same inputs.
                let cycles = unit.waits(accepted).min(300);
                let lost = unit.lost_in_wait();
                let (mut all, mut each) = (unit.clone(), unit.clone());
                all.pass(cycles);
                for _ in 0..cycles {
                    let output = each.step(&input);
                    let taken = output.array_ready_o && input.array_valid_i
                        || output.bus_ready_o && input.bus_valid_i;
                    let shown = [output.pins_o, output.bus_pins_o];
                    assert!(!taken && shown.iter().all(|pins| !pins.is_some()));
                    assert_eq!([output.lost_row_switch_o, output.lost_refresh_o], lost);
                    waited += 1;
                }
                same(&mut all, &mut each, &mut random);
            }
        }
        assert!(writes > 1000 && reads > 1000 && waited > 1000, "{writes} {reads} {waited}");
    }

    #[test]
    fn whole_turns_of_banks_leave_what_the_last_one_leaves() {
        for banks in [1, 3, 4, 6, 16] {
            let request = |number: u64| ArrayRequest {
                kind: ArrayKind::Wr,
                bank: U::new(number % banks % 4 * 4 + number % banks / 4),
                row: 3,
                column: (number / banks) as u8,
                ..ArrayRequest::default()
            };
            let mut unit = RankController::<2>::new();
            let mut input = RankControllerIn { timing_i: timing(), ..Default::default() };
            unit.step(&input);
            // All rows are open, and WRs follow each other.
            let mut number = 0;
            input.array_valid_i = true;
            while number < 3 * banks {
                input.array_i = request(number);
                number += u64::from(unit.step(&input).array_ready_o);
            }
            let mut each = unit.clone();
            let mut write = |unit: &mut RankController<2>, turns: u64| {
                for number in number..number + turns * banks {
                    assert!(unit.write_on(request(number)).is_some(), "{banks} banks, {number}");
                }
                number += turns * banks;
                number
            };
            let last = write(&mut each, 2);
            let mut all = each.clone();
            write(&mut each, 5);
            let last = last + 4 * banks;
            all.pass_writes(4 * banks, [last - 2, last - 1].map(request));
            for number in last..last + banks {
                assert!(all.write_on(request(number)).is_some(), "{banks} banks, {number}");
            }
            assert!(all == each, "{banks} banks");
        }
    }

    /// Both do the same from here on.
    fn same(one: &mut RankController<2>, other: &mut RankController<2>, random: &mut Random) {
        let mut stream =
            Stream { random: Random(random.0), kind: ArrayKind::Wr, row: 1, left: 0, number: 3 };
        let mut asked = stream.next();
        for _ in 0..60 {
            let input = RankControllerIn {
                array_valid_i: true,
                array_i: asked,
                bus_valid_i: stream.random.below(8) == 0,
                ..Default::default()
            };
            let outputs = [one.step(&input), other.step(&input)];
            assert_eq!(outputs[0], outputs[1]);
            if outputs[0].array_ready_o {
                asked = stream.next();
            }
        }
    }
}
