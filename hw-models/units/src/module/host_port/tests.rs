// SPDX-License-Identifier: MIT
//! Tests of the host port.

use super::{HostPort, HostPortIn, HostPortOut};
use crate::gear::{DefaultGear, Gear, Gear1, Gear4};
use pimlico_dpa::types::{
    Burst, Element, Fault, Load, LoadKind, Pins, RankResults, RunEnd, Start, Status, Timing,
};
use pimlico_ports::{Model, U};
use std::array::from_fn;

const CL: usize = 8;
const CWL: usize = 6;
const RP: usize = 5;
const RFC: usize = 12;
const WINDOW: usize = 0xFFFF;

/// Banks of the windows.
const MAILBOX: usize = 0;
const OPERANDS: usize = 1;
const STATUS: usize = 2;
const RESULTS: usize = 3;

/// States in the status.
const HOST: u64 = 0;
const LEFT: u64 = 1;
const RUN: u64 = 2;

/// A host, and a module that does as it is told.
struct Bench<G: Gear> {
    unit: HostPort<G>,
    input: HostPortIn,
    /// The tCK that comes.
    now: usize,
    /// Beats that the host drives, by tCK.
    drives: Vec<(usize, [u64; 2])>,
    /// Outputs of the first beat of every tCK.
    seen: Vec<HostPortOut>,
    /// Both beats of every tCK that the unit drives.
    bus: Vec<Option<[u64; 2]>>,
}

impl<G: Gear> Bench<G> {
    fn new() -> Self {
        let timing_i = Timing {
            cl: CL as u8,
            cwl: CWL as u8,
            rp: RP as u8,
            rfc: RFC as u16,
            ..Default::default()
        };
        let input = HostPortIn { timing_i, host_pins_i: Pins::NONE.encode(), ..Default::default() };
        let (drives, seen, bus) = (Vec::new(), Vec::new(), Vec::new());
        Self { unit: HostPort::new(), input, now: 0, drives, seen, bus }
    }

    /// A tCK with a command on the pins; gives the outputs of its last beat.
    fn tck(&mut self, pins: Pins) -> HostPortOut {
        let drives = self.drives.iter().find(|(tck, _)| *tck == self.now);
        let beats = drives.map_or([0xDEAD; 2], |(_, beats)| *beats);
        let outputs = beats.map(|host_dq_i| {
            let host_pins_i = pins.encode();
            self.unit.step(&HostPortIn { host_pins_i, host_dq_i, ..self.input })
        });
        self.bus.push(outputs[0].host_dq_valid_o.then(|| outputs.map(|output| output.host_dq_o)));
        self.seen.push(outputs[0]);
        self.now += 1;
        outputs[1]
    }

    fn wait(&mut self, tck: usize) {
        (0..tck).for_each(|_| {
            self.tck(Pins::NONE);
        });
    }

    /// To the first tCK of a cycle of the core.
    fn align(&mut self) {
        self.wait(self.now.next_multiple_of(G::TCK) - self.now);
    }

    /// A cycle of the core with these inputs; gives its outputs.
    fn cycle(&mut self, change: impl FnOnce(&mut HostPortIn)) -> HostPortOut {
        assert_eq!(self.now % G::TCK, 0);
        let kept = self.input;
        change(&mut self.input);
        self.wait(G::TCK);
        self.input = kept;
        *self.seen.last().expect("a tCK has been")
    }

    fn open(&mut self) {
        for bank in [MAILBOX, OPERANDS, STATUS, RESULTS, RESULTS + 4] {
            self.tck(Pins::act(bank, WINDOW));
        }
    }

    /// A WR to a window; gives its tCK.
    fn write(&mut self, bank: usize, burst: Burst) -> usize {
        let wr = self.now;
        self.drives
            .extend((0..4).map(|tck| (wr + CWL - 1 + tck, [burst[2 * tck], burst[2 * tck + 1]])));
        self.tck(Pins::wr(bank, 0));
        self.wait(3);
        wr
    }

    /// Reads a burst of a window.
    fn read(&mut self, bank: usize, column: usize) -> Burst {
        let rd = self.now;
        self.tck(Pins::rd(bank, column));
        self.wait(CL + 6);
        let beats: Vec<_> =
            (rd..self.now).filter_map(|tck| self.bus[tck].map(|b| (tck, b))).collect();
        let tcks: Vec<usize> = beats.iter().map(|(tck, _)| *tck).collect();
        assert_eq!(tcks, (rd + CL + 1..rd + CL + 5).collect::<Vec<_>>());
        from_fn(|beat| beats[beat / 2].1[beat % 2])
    }

    fn status(&mut self) -> Burst {
        self.read(STATUS, 0)
    }

    /// Has a START with so many operands executed; the next cycle is the first of the run.
    fn start(&mut self, operands: u64) {
        self.open();
        self.write(MAILBOX, start(operands));
        self.wait(CWL + 4);
        self.tck(Pins::PRE_ALL);
        while !self.tck(Pins::NONE).start_valid_o {}
        self.align();
    }

    /// The tCK in which an output is first seen, from some tCK on.
    fn first(&self, from: usize, is_seen: impl Fn(&HostPortOut) -> bool) -> usize {
        let mut tcks = from..self.seen.len();
        tcks.find(|tck| is_seen(&self.seen[*tck])).expect("it is seen")
    }
}

fn load(kind: LoadKind, address: u64, data: &[u64]) -> Burst {
    let mut burst = [0x5555; 8];
    burst[0] = 1 | (kind as u64) << 4 | (data.len() as u64) << 8 | address << 16;
    burst[1..=data.len()].copy_from_slice(data);
    burst
}

/// A START of request 3 at word 0x123, with a factor of 2.
fn start(operands: u64) -> Burst {
    [2 | 3 << 16 | 0x123 << 32 | 0x4000 << 48, operands, 7, 7, 7, 7, 7, 7]
}

/// Elements `first`, `first + 1`, ... in so many lanes.
fn elements(first: u16, lanes: usize) -> RankResults {
    RankResults {
        context_valid: U::new((1 << lanes) - 1),
        context_element: from_fn(|lane| match lane < lanes {
            true => Element { bits: first + lane as u16, ..Default::default() },
            false => Element::default(),
        }),
        ..Default::default()
    }
}

fn a_load_is_written<G: Gear>() {
    let mut bench = Bench::<G>::new();
    bench.open();
    let wr = bench.write(MAILBOX, load(LoadKind::Entry, 0xFFFE, &[11, 22, 33]));
    bench.wait(CWL + 5 * G::TCK);
    // In the queue from C+4 on, at the head in the cycle behind that one.
    let head = (wr + CWL + 5).next_multiple_of(G::TCK);
    for (n, data) in [11, 22, 33].into_iter().enumerate() {
        for tck in head + n * G::TCK..head + (n + 1) * G::TCK {
            let address = 0xFFFE_u16.wrapping_add(n as u16);
            let load = Load { kind: LoadKind::Entry, address, data };
            assert_eq!((bench.seen[tck].load_valid_o, bench.seen[tck].load_o), (true, load));
        }
    }
    assert_eq!(bench.seen.iter().filter(|output| output.load_valid_o).count(), 3 * G::TCK);
    assert_eq!(bench.status()[1] & 0xFFFF, 1);
}

#[test]
fn words_of_a_load_are_written_in_a_cycle_each() {
    a_load_is_written::<Gear1>();
    a_load_is_written::<DefaultGear>();
    a_load_is_written::<Gear4>();
}

fn a_start_takes_the_pins<G: Gear>() {
    let mut bench = Bench::<G>::new();
    bench.open();
    let wr = bench.write(MAILBOX, start(2));
    // A START waits from C+4 on: a PREA before that moves nothing.
    bench.wait(wr + CWL + 3 - bench.now);
    assert_eq!(bench.tck(Pins::PRE_ALL).pins_o, Pins::PRE_ALL);
    let prea = bench.now;
    assert_eq!(bench.tck(Pins::PRE_ALL).pins_o, Pins::PRE_ALL);
    assert_eq!(bench.tck(Pins::act(5, 1)).pins_o, Pins::NONE);
    bench.wait(RP + 3 * G::TCK);
    let starts = bench.first(0, |output| output.start_valid_o);
    assert_eq!(starts, (prea + RP + 1).next_multiple_of(G::TCK));
    let start = Start { request: U::new(3), address: U::new(0x123) };
    assert_eq!(bench.seen[starts].start_o, start);
    assert_eq!((bench.seen[starts].scale_o, bench.seen[starts].operands_o.get()), (0, 0));
    assert!(bench.seen[prea].owns_o && !bench.seen[prea + 1].owns_o);
    assert!(bench.seen[starts].memory_o);
    let run = bench.seen[starts + G::TCK];
    assert!(!run.memory_o && !run.start_valid_o && run.start_o == Start::default());
    assert_eq!((run.scale_o, run.operands_o.get()), (0x4000, 2));
}

#[test]
fn a_prea_gives_the_pins_to_a_start_that_waits() {
    a_start_takes_the_pins::<Gear1>();
    a_start_takes_the_pins::<DefaultGear>();
    a_start_takes_the_pins::<Gear4>();
}

#[test]
fn operands_are_offered_in_their_order() {
    let mut bench = Bench::<DefaultGear>::new();
    bench.start(300);
    bench.open();
    let bursts: [Burst; 2] = from_fn(|n| from_fn(|beat| (16 * n + beat) as u64));
    bursts.iter().for_each(|burst| {
        bench.write(OPERANDS, *burst);
    });
    bench.wait(CWL + 6);
    bench.align();
    for burst in bursts {
        let offered = bench.cycle(|_| ());
        assert_eq!((offered.operand_valid_o, offered.operand_o), (true, burst));
        bench.cycle(|input| input.operand_taken_i = true);
    }
    let last = bench.cycle(|_| ());
    assert_eq!((last.operand_valid_o, last.operands_o.get()), (false, 127));
    assert_eq!(bench.status()[1] & 0xFFFF, 3);
}

#[test]
fn an_operand_without_a_run_is_dropped_and_a_message_of_no_kind_refused() {
    let mut bench = Bench::<DefaultGear>::new();
    bench.open();
    bench.write(OPERANDS, [1; 8]);
    bench.write(MAILBOX, [4; 8]);
    bench.write(STATUS, [1; 8]);
    bench.wait(CWL + 8);
    assert!(bench.seen.iter().all(|output| !output.operand_valid_o && !output.load_valid_o));
    let status = bench.status();
    assert_eq!((status[0], status[1]), (1 << 5, 2));
}

#[test]
fn what_finds_no_room_is_lost() {
    let mut bench = Bench::<DefaultGear>::new();
    bench.open();
    (0..129).for_each(|_| {
        bench.write(MAILBOX, start(0));
    });
    bench.wait(CWL + 8);
    let status = bench.status();
    assert_eq!((status[0], status[1]), (1 << 4 | 1 << 2, 1));
}

fn results_are_packed<G: Gear>() {
    let mut bench = Bench::<G>::new();
    bench.start(0);
    for n in 0..33_u16.div_ceil(G::TCK as u16) {
        bench.cycle(|input| input.results_i = elements(n * G::TCK as u16 + 1, G::TCK));
    }
    bench.open();
    let burst = bench.read(RESULTS, 0);
    let expected: Burst =
        from_fn(|beat| (0..4).map(|n| ((4 * beat + n + 1) as u64) << (16 * n)).sum());
    assert_eq!(burst, expected);
    assert_eq!(bench.status()[1], 1 | 1 << 16);

    // A run ends: what is left is written, and the pins are nobody's.
    bench.align();
    bench.input.over_i = true;
    bench.input.settled_i = true;
    let rest = bench.now;
    bench.wait(4 * G::TCK);
    let left = bench.first(rest, |output| output.memory_o);
    assert_eq!(left, rest + if G::TCK == 1 { 3 } else { 2 * G::TCK });
    let last = bench.read(RESULTS + 4, 32);
    let held: u64 = (33..).take(G::TCK).zip(0..).map(|(element, n)| element << (16 * n)).sum();
    assert_eq!(last, [held, 0, 0, 0, 0, 0, 0, 0]);
    let status = bench.status();
    assert_eq!((status[0], status[1]), (LEFT | 1 << 3, 1 | 2 << 16 | 1 << 48));
}

#[test]
fn results_are_packed_and_read() {
    results_are_packed::<Gear1>();
    results_are_packed::<DefaultGear>();
    results_are_packed::<Gear4>();
}

#[test]
fn a_run_does_not_end_before_the_last_ref_is_over() {
    let mut bench = Bench::<DefaultGear>::new();
    bench.start(0);
    bench.input.over_i = true;
    bench.input.settled_i = true;
    let refresh = bench.now;
    bench.input.refresh_i = true;
    bench.tck(Pins::NONE);
    bench.input.refresh_i = false;
    bench.wait(RFC + 6);
    // Over from tCK tRFC + 1 on, which is the last of a cycle.
    let left = bench.first(refresh, |output| output.memory_o);
    assert_eq!(left, refresh + (RFC + 2).next_multiple_of(2));
}

#[test]
fn the_status_says_how_the_run_ended_and_the_host_takes_the_pins_back() {
    let mut bench = Bench::<DefaultGear>::new();
    bench.open();
    assert_eq!(bench.status(), [HOST, 0, 0, 0, 0, 0, 0, 0]);
    bench.start(0);
    bench.open();
    assert_eq!(bench.status()[0], RUN);
    bench.input.status_i[3] = Status::Running;
    bench.input.fault_i = Fault::NoRow;
    bench.input.overflow_i = true;
    bench.align();
    bench.cycle(|input| {
        input.end_valid_i = true;
        input.end_i = RunEnd { status: Status::PastEnd, address: U::new(0x2A5), layer: 0xB1E };
    });
    bench.tck(Pins::PRE_ALL); // closes windows, and nothing else
    bench.open();
    let flags = 1 << 6 | 2 << 8 | 5 << 12 | 0x2A5 << 16 | 0xB1E << 32;
    let status = bench.status();
    assert_eq!((status[0], status[2]), (flags | RUN, 1 << 12));
    bench.align();
    bench.cycle(|input| (input.over_i, input.settled_i) = (true, true));
    assert_eq!(bench.status()[0], flags | LEFT | 1 << 3);
    assert_eq!(bench.tck(Pins::PRE_ALL).pins_o, Pins::NONE);
    assert_eq!(bench.tck(Pins::act(5, 1)).pins_o, Pins::act(5, 1));
    bench.open();
    assert_eq!(bench.status()[0], flags | HOST);
}

#[test]
fn the_module_has_the_bus_where_no_window_is_read() {
    let mut bench = Bench::<DefaultGear>::new();
    (bench.input.module_dq_valid_i, bench.input.module_dq_i) = (true, 77);
    bench.open();
    let rd = bench.now;
    bench.tck(Pins::rd(MAILBOX, 0));
    bench.tck(Pins::pre(STATUS));
    bench.wait(2);
    bench.tck(Pins::rd(STATUS, 0)); // its window is closed
    bench.wait(CL + 6);
    let windows: Vec<usize> =
        (0..bench.now).filter(|tck| bench.bus[*tck] != Some([77; 2])).collect();
    assert_eq!(windows, (rd + CL + 1..rd + CL + 5).collect::<Vec<_>>());
    assert_eq!(bench.bus[rd + CL + 1], Some([0; 2]));
}

/// A host that looks at windows of a run, whose tCK go by one by one, or as many at once as can.
fn passive_tck_go_by_at_once<G: Gear>() {
    let [mut stepped, mut passing] = [(); 2].map(|()| Bench::<G>::new());
    for bench in [&mut stepped, &mut passing] {
        bench.start(300);
        bench.open();
        bench.write(OPERANDS, [3; 8]);
        bench.wait(CWL + 6);
        bench.align();
        bench.input.status_i[3] = Status::Running;
        bench.cycle(|input| input.results_i = elements(1, G::TCK));
        bench.cycle(|_| ());
    }
    let mut passed = 0;
    for n in 0..600 {
        let tck = (1 + n * n % 13) * G::TCK;
        let bank = [STATUS, RESULTS, MAILBOX, RESULTS + 4][n % 4];
        let reads = (n % 5 > 0).then_some((7 * n % tck, Pins::rd(bank, n % 64)));
        let now = passing.now;
        let command = |tck| reads.filter(|(at, _)| *at == tck).map_or(Pins::NONE, |(_, pins)| pins);
        (0..tck).for_each(|n| {
            stepped.tck(command(n));
        });
        if passing.unit.is_passive() {
            passed += 1;
            passing.now += tck;
            passing.bus.resize(passing.now, None);
            let Bench { unit, input, bus, .. } = &mut passing;
            // In two parts, which may meet within a cycle of the core.
            let first = 5 * n % (tck + 1);
            for (from, until) in [(0, first), (first, tck)] {
                let reads = reads.filter(|(at, _)| (from..until).contains(at));
                let reads = reads.map(|(at, pins)| ((at - from) as u64, pins));
                unit.pass(input, (until - from) as u64, reads, &mut |n, beats| {
                    bus[now + from + n as usize] = Some(beats)
                });
            }
        } else {
            (0..tck).for_each(|n| {
                passing.tck(command(n));
            });
        }
        assert_eq!(passing.bus[now..], stepped.bus[now..], "{n}");
    }
    assert!(passed > 200, "{passed}");
    assert!(stepped.bus.iter().flatten().count() > 1000);
}

#[test]
fn a_host_that_looks_on_sees_the_same() {
    passive_tck_go_by_at_once::<Gear1>();
    passive_tck_go_by_at_once::<DefaultGear>();
    passive_tck_go_by_at_once::<Gear4>();
}
