// SPDX-License-Identifier: MIT
//! Tests of the dispatcher.

use super::{Dispatcher, DispatcherIn, DispatcherOut, Taken};
use pimlico_dpa::types::{Load, LoadKind, Start};
use pimlico_dpa::{Dispatch, Instruction, NO_ROW, Status};
use pimlico_ports::{Model, U};

type Small = Dispatcher<16, 64, 64>;

/// A dispatcher with its memories.
struct Bench {
    unit: Small,
    commands: [u64; 66],
    table: [u16; 64],
    input: DispatcherIn,
    clock: u64,
    /// Cycles in which a command was taken at once.
    taken: u64,
}

impl Bench {
    fn new(program: &str) -> Self {
        let mut bench = Self {
            unit: Small::new(),
            commands: [0; 66],
            table: [NO_ROW; 64],
            input: DispatcherIn { dispatch_ready_i: true, ..Default::default() },
            clock: 0,
            taken: 0,
        };
        for (address, word) in (0..).zip(pimlico_dpa::assemble(program).expect("it is right")) {
            bench.load(LoadKind::Command, address, word);
        }
        // Requests 1 and 2 have rows 100, 101, ... and 200, ..., eight each.
        for row in 0..8 {
            bench.load(LoadKind::Entry, row, 100 + u64::from(row));
            bench.load(LoadKind::Entry, 8 + row, 200 + u64::from(row));
        }
        bench.load(LoadKind::Segment, 1, 8 << 16);
        bench.load(LoadKind::Segment, 2, 8 << 16 | 8);
        bench
    }

    fn step(&mut self, change: impl FnOnce(&mut DispatcherIn)) -> DispatcherOut {
        let mut input = self.input;
        change(&mut input);
        let before = self.unit.clone();
        let output = self.unit.step(&input);
        let only_takes = DispatcherIn { dispatch_ready_i: true, ..Default::default() };
        let DispatcherIn { fetch_data_i, table_data_i, .. } = input;
        if input == (DispatcherIn { fetch_data_i, table_data_i, ..only_takes }) {
            self.take(before, &input, &output);
        }
        let Load { address, data, .. } = input.load_i;
        let address = usize::from(address);
        if output.command_write_o {
            self.commands[address] = data;
        }
        if output.table_write_o {
            self.table[address] = data as u16;
        }
        if output.fetch_read_o {
            let from = output.fetch_address_o.get() as usize;
            self.input.fetch_data_i =
                std::array::from_fn(|n| self.commands.get(from + n).copied().unwrap_or(u64::MAX));
        }
        if output.table_read_o {
            self.input.table_data_i = self.table[usize::from(output.table_address_o)];
        }
        self.clock += 1;
        output
    }

    /// Where a command can be taken at once, that is what the cycle has done, and the run goes on from there.
    fn take(&mut self, mut unit: Small, input: &DispatcherIn, output: &DispatcherOut) {
        let Some(taken) = unit.take(&input.fetch_data_i, input.table_data_i) else { return };
        let Taken { dispatched, fetch, entry } = taken;
        assert!(output.dispatch_valid_o && !output.end_valid_o);
        assert_eq!(dispatched, output.dispatch_o);
        let address = output.fetch_read_o.then_some(output.fetch_address_o.get() as u32);
        assert_eq!(
            (fetch, entry),
            (address, output.table_read_o.then_some(output.table_address_o))
        );
        assert_eq!(unit.probe(), self.unit.probe());
        self.unit = unit;
        self.taken += 1;
    }

    fn load(&mut self, kind: LoadKind, address: u16, data: u64) {
        self.step(|input| {
            input.load_valid_i = true;
            input.load_i = Load { kind, address, data };
        });
    }

    /// Runs a request to its end. Returns the commands, each with the cycle since the start, and
    /// the cycle, status and address of the end.
    fn run(&mut self, request: u64, address: u64) -> (Vec<(u64, Dispatch)>, (u64, Status, u64)) {
        let mut commands = Vec::new();
        let start = self.clock;
        let taken = self.step(|input| {
            input.start_valid_i = true;
            input.start_i = Start { request: U::new(request), address: U::new(address) };
        });
        assert!(taken.start_ready_o);
        loop {
            let clock = self.clock - start;
            assert!(clock < 10_000, "it hangs");
            let output = self.step(|_| ());
            if output.dispatch_valid_o && self.input.dispatch_ready_i {
                commands.push((clock, output.dispatch_o));
            }
            if output.end_valid_o {
                let status = output.end_o.status;
                let after = self.step(|_| ());
                assert!(after.start_ready_o);
                assert_eq!(after.status_o[request as usize], status);
                return (commands, (clock, status, output.end_o.address.get()));
            }
        }
    }
}

const SCORE: &str = "loop all/512 {
      loop part/16 {
        mac_score row=0+1@2 column=0+2@1 first
        mac_score row=0+1@2 column=1+2@1 last
      }
    }
    end";

#[test]
fn a_command_in_every_cycle_of_a_loop_as_the_request_grows() {
    let mut bench = Bench::new(SCORE);
    for tokens in [1, 16, 17, 512, 513, 2000] {
        for request in [1, 2] {
            bench.load(LoadKind::Tokens, request, tokens);
            let (commands, end) = bench.run(request.into(), 0);
            let count = 2 * tokens.div_ceil(16);
            // Two loops begin before the first command, and one before each row after the first.
            let clock = |n: u64| Small::LATENCY + 4 + n + n / 64 * 2;
            assert_eq!(end, (clock(count - 1) + 1, Status::Done, 6));
            assert_eq!(commands.len() as u64, count);
            for (n, (at, command)) in (0..).zip(&commands) {
                assert_eq!(*at, clock(n));
                let row = 100 * u64::from(request) + n / 64;
                assert_eq!(u64::from(command.row), row);
                assert_eq!(u64::from(command.column), n % 64);
                let left = tokens - n / 2 * 16;
                assert_eq!(command.tokens.get(), left.min(16));
                assert_eq!(command.first, n % 2 == 0);
                assert_eq!(command.last, n % 2 == 1);
            }
        }
    }
}

#[test]
fn a_loop_that_begins_takes_two_cycles_and_one_that_ends_none() {
    let program = "loop 2 {\nloop 3 {\nloop 2 {\nloop 2 {\nfinish\n}\nnop\n}\n}\n}\nend";
    let (commands, (end, ..)) = Bench::new(program).run(0, 0);
    let clocks: Vec<u64> = commands.iter().map(|(clock, _)| clock - Small::LATENCY).collect();
    // Two commands and a NOP in each repetition of the third loop.
    let clock = |n: u64| n % 2 + 3 * (n / 2) + 2 * (1 + (1 + n / 12) + (1 + n / 4) + (1 + n / 2));
    assert!(clocks.iter().copied().eq((0..24).map(clock)), "{clocks:?}");
    assert_eq!(end - Small::LATENCY, clock(23) + 2);
}

#[test]
fn a_slow_target_loses_and_repeats_nothing() {
    let mut fast = Bench::new(SCORE);
    fast.load(LoadKind::Tokens, 1, 900);
    let mut slow = Bench::new(SCORE);
    slow.load(LoadKind::Tokens, 1, 900);
    let expected = fast.run(1, 0).0;
    slow.step(|input| {
        input.start_valid_i = true;
        input.start_i.request = U::new(1);
    });
    let mut got = Vec::new();
    while got.len() < expected.len() {
        let ready = slow.clock % 7 < 2;
        let output = slow.step(|input| input.dispatch_ready_i = ready);
        if output.dispatch_valid_o && ready {
            got.push(output.dispatch_o);
        }
    }
    for (got, (_, expected)) in got.iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    assert!(slow.taken > 60 && fast.taken > 60, "{} {}", slow.taken, fast.taken);
}

#[test]
fn a_fault_stops_its_request_and_harms_no_other() {
    let good = "loop 3 {\nmac_context row=0+1@1 column=7 first@1\n}\nend\n"; // words 0 to 3
    let at = |clock, status, address| (clock, status, address);
    // Word 4 on; how many commands come before the fault, and its end.
    for (bad, count, end) in [
        ("nop", 0, at(7, Status::PastEnd, 5)),
        (".word 0", 0, at(6, Status::UnknownOpcode, 4)),
        ("finish\n.word 0x3010000000000000", 1, at(7, Status::UnknownOpcode, 5)),
        (".word 0xd000000000007000\nfinish", 0, at(6, Status::UnknownTarget, 4)),
        (".word 0xc060000000100001\nfinish", 0, at(6, Status::UnknownTarget, 4)),
        (".word 0xc000000000100000\nnop", 0, at(6, Status::LoopBound, 4)),
        ("loop all/1 {\nfinish\n}", 0, at(6, Status::LoopBound, 4)),
        ("loop 2 {\n.word 0xc000000000200001\nnop\n}\nend", 0, at(8, Status::LoopEnd, 5)),
        ("finish\n.word 0xc000000000200001\nnop", 1, at(7, Status::LoopEnd, 5)),
        ("loop 40 {\nmac_score column=0+100@1\n}\nend", 3, at(11, Status::FieldOverflow, 6)),
        ("loop 40 {\nmac_score row=6+1@1\n}\nend", 2, at(10, Status::Va2PaMiss, 6)),
        ("mac_score request=3\nend", 0, at(6, Status::Va2PaMiss, 4)),
    ] {
        let mut bench = Bench::new(&(good.to_owned() + bad));
        bench.load(LoadKind::Segment, 4, 20 << 16 | 40); // nothing there
        bench.load(LoadKind::Tokens, 1, 0);
        let (commands, got) = bench.run(1, 4);
        assert_eq!((commands.len(), got), (count, end), "{bad}");
        let (commands, got) = bench.run(2, 0);
        assert_eq!(got, (11, Status::Done, 3), "{bad}");
        let rows: Vec<_> = commands.iter().map(|(_, c)| c.row).collect();
        assert_eq!(rows, [200, 201, 202], "{bad}");
        let status = bench.step(|_| ()).status_o;
        assert_eq!(status[1], end.1);
        assert_eq!(bench.run(4, 0).1, (8, Status::Va2PaMiss, 2), "no row in the table");
    }
    let deep = "loop 1 {\n".repeat(4) + ".word 0xc000000000100001\nnop\n" + &"}\n".repeat(4);
    assert_eq!(Bench::new(&deep).run(1, 0).1, (14, Status::TooDeep, 4));
    let mut unit = Dispatcher::<2, 64, 64>::new();
    let input = DispatcherIn {
        start_valid_i: true,
        start_i: Start { request: U::new(2), ..Start::default() },
        dispatch_ready_i: true,
        ..Default::default()
    };
    let ends: Vec<_> = (0..7).map(|_| unit.step(&input)).filter(|o| o.end_valid_o).collect();
    assert_eq!(ends[0].end_o.status, Status::UnknownRequest);
}

#[test]
fn what_does_not_fit_is_not_run() {
    let mut bench = Bench::new("nop\nend");
    for (kind, address, data) in [
        (LoadKind::Command, 64, 0),
        (LoadKind::Entry, 64, 0),
        (LoadKind::Entry, 0, 1 << 16),
        (LoadKind::Tokens, 16, 0),
        (LoadKind::Tokens, 0, 1 << 20),
        (LoadKind::Segment, 16, 0),
        (LoadKind::Segment, 0, 1 << 32),
    ] {
        assert_eq!(bench.run(1, 0).1, (7, Status::Done, 1));
        bench.load(kind, address, data);
        assert_eq!(bench.run(1, 0).1, (6, Status::BufferOverflow, 0), "{kind:?}");
        bench.load(LoadKind::Clear, 0, 0);
        assert_eq!(bench.run(1, 0).1, (6, Status::PastEnd, 0), "{kind:?}");
        bench.load(LoadKind::Command, 1, Instruction::End.encode());
    }
}

#[test]
fn the_host_stops_a_run() {
    let mut bench = Bench::new("loop 60000 {\nfinish\nfinish\n}\nend");
    bench.input.stop_i = true;
    assert_eq!(bench.run(1, 0).1, (6, Status::Stopped, 0));
    bench.input.stop_i = false;
    bench.step(|input| input.start_valid_i = true);
    let mut count = 0;
    for clock in 1.. {
        let output = bench.step(|input| input.stop_i = clock >= 7);
        count += u64::from(output.dispatch_valid_o);
        if output.end_valid_o {
            // The loop has taken two cycles; the commands of the four after it come.
            assert_eq!((clock, count), (12, 4));
            assert_eq!(output.end_o.address.get(), 1);
            break;
        }
    }
}

/// Layers come by turns: each run that ends in `end layer` has the rows of the next, until the host writes the segment or
/// the layers again. No other end goes on, and no other request.
#[test]
fn a_layer_is_over_where_its_last_program_says_so() {
    let mut bench =
        Bench::new("mac_score row=1\nend\nmac_score row=1\nend layer\nmac_score row=2\nend layer");
    bench.load(LoadKind::Segment, 1, 2 << 16);
    bench.load(LoadKind::Layers, 1, 3 << 16 | 4);
    let run = |bench: &mut Bench, address: u64, expected: (Option<u16>, u16)| {
        let start = Start { request: U::new(1), address: U::new(address) };
        bench.step(|input| (input.start_valid_i, input.start_i) = (true, start));
        let mut row = None;
        let end = loop {
            let output = bench.step(|_| ());
            row = row.or(output.dispatch_valid_o.then_some(output.dispatch_o.row));
            if output.end_valid_o {
                break output.end_o;
            }
        };
        assert_eq!((row, end.layer), expected);
    };
    // Entries 1, 5 and 9; behind the last layer again the first.
    for (row, layer) in [(101, 0), (105, 1), (201, 2), (101, 0), (105, 1)] {
        run(&mut bench, 0, (Some(row), layer));
        run(&mut bench, 2, (Some(row), layer));
    }
    // A fault does not go on: layers have two virtual rows.
    run(&mut bench, 4, (None, 2));
    run(&mut bench, 2, (Some(201), 2));
    assert_eq!(bench.run(2, 2).0[0].1.row, 201);
    run(&mut bench, 2, (Some(101), 0));
    bench.load(LoadKind::Layers, 1, 3 << 16 | 2);
    run(&mut bench, 2, (Some(101), 0));
    run(&mut bench, 2, (Some(103), 1));
    bench.load(LoadKind::Segment, 1, 2 << 16 | 8);
    run(&mut bench, 2, (Some(201), 0));
    // A layer beyond the table, also where the sum begins anew.
    bench.load(LoadKind::Layers, 1, 4 << 16 | 0xFFF8);
    run(&mut bench, 2, (Some(201), 0));
    run(&mut bench, 2, (None, 1));
    // One layer, or none.
    for layers in [0, 1] {
        bench.load(LoadKind::Layers, 1, layers << 16 | 2);
        run(&mut bench, 2, (Some(201), 0));
        run(&mut bench, 2, (Some(201), 0));
    }
}
