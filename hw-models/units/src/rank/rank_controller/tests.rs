// SPDX-License-Identifier: MIT
//! What the controller does with DDR4-3200, by hand.

use super::*;
use std::collections::VecDeque;

/// The controller with what its ports have still to ask, and what the pins have shown.
struct Bench {
    unit: RankController,
    input: RankControllerIn,
    array: VecDeque<ArrayRequest>,
    clock: u64,
    /// Cycle and command.
    pins: Vec<(u64, PinCommand)>,
    lost: [u64; 2],
}

/// DDR4-3200 whose chips may open so many banks in a tFAW.
fn ddr4(faw_banks: u64) -> Bench {
    let timing_i = Timing {
        ccd_s: 4,
        ccd_l: 8,
        rrd_s: 4,
        rrd_l: 8,
        rcd: 22,
        rcd_wr: 22,
        rcd_mac: 22,
        ras: 52,
        rp: 22,
        rtp: 12,
        rd_to_wr: 12,
        wr_to_rd_s: 24,
        wr_to_rd_l: 32,
        wr_to_pre: 44,
        faw: 34,
        faw_banks: U::new(faw_banks),
        rc: 74,
        rfc: 560,
        ..Timing::default()
    };
    let input = RankControllerIn { timing_i, ..Default::default() };
    let unit = RankController::new();
    let (array, pins) = (VecDeque::new(), Vec::new());
    let mut bench = Bench { unit, input, array, clock: 0, pins, lost: [0; 2] };
    bench.step();
    bench
}

impl Bench {
    fn ask(&mut self, kind: ArrayKind, bank: u64, row: u16, column: u8) {
        let (bank, mac) = (U::new(bank), Mac::default());
        self.array.push_back(ArrayRequest { kind, bank, row, column, mac });
    }

    fn step(&mut self) -> RankControllerOut {
        let mut input = self.input;
        if let Some(request) = self.array.front() {
            (input.array_valid_i, input.array_i) = (true, *request);
        }
        let output = self.unit.step(&input);
        if input.array_valid_i && output.array_ready_o {
            self.array.pop_front();
        }
        match output.pins_o.command {
            PinCommand::None => {}
            command => self.pins.push((self.clock, command)),
        }
        self.lost[0] += u64::from(output.lost_row_switch_o);
        self.lost[1] += u64::from(output.lost_refresh_o);
        self.clock += 1;
        output
    }

    fn run(&mut self, clocks: u64) {
        for _ in 0..clocks {
            self.step();
        }
    }

    /// When a command was on the pins.
    fn times(&self, command: PinCommand) -> Vec<u64> {
        let of_command = self.pins.iter().filter(|(_, c)| *c == command);
        of_command.map(|(clock, _)| *clock).collect()
    }
}

#[test]
fn an_open_row_is_read_in_every_slot_beside_a_full_bus() {
    for write in [false, true] {
        let mut bench = ddr4(16);
        (0..128).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 7, column));
        (bench.input.bus_valid_i, bench.input.bus_i.write) = (true, write);
        bench.run(1200);
        let reads = bench.times(PinCommand::RdAll);
        assert_eq!((reads.len(), reads[127] - reads[0]), (128, 127 * 8));
        // Accepted in cycle 1; ACT_ALL on the pins in cycle 3.
        assert_eq!((bench.times(PinCommand::ActAll), reads[0]), (vec![3], 25));
        assert_eq!(bench.lost, [22, 0]);
        let bursts = [PinCommand::RdResult, PinCommand::WrShared][usize::from(write)];
        let bursts = bench.times(bursts);
        assert!(bursts.len() >= 1200 / 4 - 2);
        let late = bursts.windows(2).filter(|pair| pair[1] - pair[0] != 4).count();
        assert!(late <= 2, "once for the ACT_ALL, once for the RD_ALLs");
    }
}

#[test]
fn a_row_switch_costs_no_more_than_its_timings() {
    for (refresh, expected, lost) in
        [(false, 12 + 22 + 22, [55, 0]), (true, 12 + 22 + 560 + 22, [22, 593])]
    {
        let mut bench = ddr4(16);
        (0..8).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 1, column));
        bench.ask(ArrayKind::ReadAll, 0, 2, 0);
        while !bench.step().array_issued_o {}
        // In the middle of a row, where it has to wait for the row's end.
        bench.input.refresh_i = refresh;
        for _ in 0..1300 {
            bench.input.refresh_i &= !bench.step().refresh_issued_o;
        }
        let reads = bench.times(PinCommand::RdAll);
        assert_eq!((reads.len(), reads[7] - reads[0]), (9, 7 * 8));
        assert_eq!(reads[8] - reads[7], expected);
        assert_eq!(bench.lost, [22 + lost[0], lost[1]]);
        assert_eq!(bench.times(PinCommand::Ref).len(), usize::from(refresh));
    }
}

#[test]
fn two_halves_open_a_window_apart() {
    let mut bench = ddr4(8);
    bench.ask(ArrayKind::ReadAll, 0, 1, 0);
    bench.run(300);
    let acts = bench.times(PinCommand::ActAll);
    assert_eq!(acts, [acts[0], acts[0] + 34]);
    assert_eq!(bench.times(PinCommand::RdAll), [acts[1] + 22]);
}

#[test]
fn an_opening_by_acts_keeps_the_window_of_four() {
    let mut bench = ddr4(4);
    bench.ask(ArrayKind::ReadAll, 0, 1, 0);
    bench.run(300);
    let acts = bench.times(PinCommand::Act);
    let expected: Vec<u64> = (0..16).map(|i| acts[0] + i / 4 * 34 + i % 4 * 4).collect();
    assert_eq!(acts, expected);
    assert_eq!(bench.times(PinCommand::RdAll), [acts[15] + 22]);
}

#[test]
fn a_forced_refresh_stops_the_stream_at_once() {
    let mut bench = ddr4(16);
    (0..128).for_each(|column| bench.ask(ArrayKind::ReadAll, 0, 1, column));
    bench.run(200);
    let stopped = bench.clock;
    bench.input.force_i = true;
    while !bench.step().refresh_issued_o {}
    bench.input.force_i = false;
    bench.run(1500);
    let reads = bench.times(PinCommand::RdAll);
    let before = reads.iter().rfind(|&&clock| clock <= stopped).expect("the stream runs");
    let refreshed = bench.times(PinCommand::Ref);
    assert_eq!(refreshed, [before + 12 + 22]);
    let after = reads.iter().find(|&&clock| clock > stopped).expect("and goes on");
    assert_eq!(after - refreshed[0], 560 + 22);
    assert_eq!(reads.len(), 128);
}

#[test]
fn a_ref_lets_the_results_of_two_chunks_go_first() {
    use PinCommand::{RdResult, Ref};
    // Three reads, and reads without end.
    for (reads, expected) in [(3, 3), (u64::MAX, 8)] {
        let mut bench = ddr4(16);
        bench.input.bus_valid_i = true;
        let mut accepted = 0;
        while bench.times(Ref).is_empty() {
            bench.input.bus_valid_i = accepted < reads;
            bench.input.refresh_i = accepted > 0;
            accepted += u64::from(bench.step().bus_ready_o && bench.input.bus_valid_i);
            assert!(bench.clock < 100, "it comes");
        }
        let refreshed = bench.times(Ref)[0];
        let before = bench.times(RdResult);
        assert_eq!(before.len(), expected, "{before:?}");
        assert!(refreshed > before[expected - 1]);
        bench.run(700);
        let next = bench.times(RdResult).get(expected).copied();
        assert_eq!(next, (reads > 3).then_some(refreshed + 560));
    }
    // Writes have no results that could be lost.
    let mut bench = ddr4(16);
    (bench.input.bus_valid_i, bench.input.bus_i.write) = (true, true);
    bench.run(50);
    bench.input.refresh_i = true;
    let asked = bench.clock;
    while !bench.step().refresh_issued_o {}
    assert!(bench.clock <= asked + 3, "{} tCK", bench.clock - asked);
}

#[test]
fn refs_follow_each_other_before_anything_is_accepted() {
    let mut bench = ddr4(16);
    bench.input.refresh_i = true;
    bench.ask(ArrayKind::ReadAll, 0, 1, 0);
    bench.run(2 * 560 + 100);
    bench.input.refresh_i = false;
    bench.run(1000);
    let refs = bench.times(PinCommand::Ref);
    assert_eq!(refs, [refs[0], refs[0] + 560, refs[0] + 1120]);
    assert_eq!(bench.times(PinCommand::ActAll), [refs[2] + 560]);
}

#[test]
fn the_ports_take_turns_on_the_data_bus() {
    // Reads from one port and writes from the other: each waits for the other's turnaround.
    use PinCommand::{Rd, RdResult, Wr, WrShared};
    for (kind, column, burst) in [(ArrayKind::Rd, Rd, WrShared), (ArrayKind::Wr, Wr, RdResult)] {
        let write = burst == WrShared;
        let mut bench = ddr4(16);
        (0..20).for_each(|i| bench.ask(kind, i % 4 * 4, 1, 0));
        (bench.input.bus_valid_i, bench.input.bus_i.write) = (true, write);
        bench.run(1000);
        assert_eq!(bench.times(column).len(), 20);
        assert!(bench.times(burst).len() > 100);
    }
}
