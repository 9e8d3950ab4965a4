// SPDX-License-Identifier: MIT
//! Every fault of the dispatcher, on RTL and model together: it stops its request, and what a request
//! after it dispatches is what it would have been.

use pimlico_dpa::types::{Load, LoadKind, Start};
use pimlico_dpa::{Instruction, Status, assemble};
use pimlico_ports::{Instances, U};
use pimlico_testbenches::Lockstep;
use pimlico_units::module::{Dispatcher, DispatcherIn, DispatcherOut};

type Small = Dispatcher<4, 24, 64>;

/// RTL and model with the memories beside them.
struct Module {
    unit: Lockstep<Small>,
    commands: [u64; 24],
    table: [u16; 64],
    input: DispatcherIn,
}

impl Module {
    /// With rows 40 to 43 and 9 tokens for request 1.
    fn new(program: &[u64]) -> Self {
        let input = DispatcherIn { dispatch_ready_i: true, ..Default::default() };
        let unit = Lockstep::new(1, 1);
        let mut module = Self { unit, commands: [0; 24], table: [0; 64], input };
        for (address, word) in (0..).zip(program) {
            module.load(LoadKind::Command, address, *word);
        }
        (0..4).for_each(|row| module.load(LoadKind::Entry, row, 40 + u64::from(row)));
        module.load(LoadKind::Segment, 1, 4 << 16);
        module.load(LoadKind::Tokens, 1, 9);
        module
    }

    fn step(&mut self, input: DispatcherIn) -> DispatcherOut {
        let mut output = [DispatcherOut::default()];
        self.unit.step(&[input], &mut output).expect("RTL and model are equal");
        let [output] = output;
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
            let word = |n| self.commands.get(from + n).copied().unwrap_or(u64::MAX);
            self.input.fetch_data_i = std::array::from_fn(word);
        }
        if output.table_read_o {
            self.input.table_data_i = self.table[usize::from(output.table_address_o)];
        }
        output
    }

    fn load(&mut self, kind: LoadKind, address: u16, data: u64) {
        let input =
            DispatcherIn { load_valid_i: true, load_i: Load { kind, address, data }, ..self.input };
        self.step(input);
    }

    /// Runs a request from a word on. Returns the rows that it dispatches, and its status.
    fn run(&mut self, request: u64, address: u64, stop_i: bool) -> (Vec<u16>, Status) {
        let start_i = Start { request: U::new(request), address: U::new(address) };
        self.step(DispatcherIn { start_valid_i: true, start_i, ..self.input });
        let mut rows = Vec::new();
        for _ in 0..1000 {
            let output = self.step(DispatcherIn { stop_i, ..self.input });
            rows.extend(output.dispatch_valid_o.then_some(output.dispatch_o.row));
            if output.end_valid_o {
                return (rows, output.end_o.status);
            }
        }
        panic!("it hangs");
    }
}

#[test]
fn a_fault_stops_its_request_and_no_other() {
    let good = assemble("loop part/3 {\nmac_score row=0+1@1\n}\nend").expect("it is right");
    let deep =
        "loop 2 {\n".repeat(4) + "mac_score\n.word 0xc000000000100001\nnop\n" + &"}\n".repeat(4);
    let faults = [
        ("mac_score", 1, Status::PastEnd),
        ("mac_score\n.word 0xf000000000000000", 1, Status::UnknownOpcode),
        ("mac_score\n.word 0xd000000000007000\nfinish", 1, Status::UnknownTarget),
        ("mac_score\n.word 0xc000000000100000\nnop", 1, Status::LoopBound),
        ("mac_score\nloop all/1 {\nnop\n}", 2, Status::LoopBound),
        ("mac_score\n.word 0xc000000000200002\nnop", 1, Status::LoopEnd),
        (&deep, 1, Status::TooDeep),
        ("mac_score\nmac_score row=65536", 1, Status::FieldOverflow),
        ("loop 9 {\nmac_score column=0+255@1\n}", 1, Status::FieldOverflow),
        ("loop 9 {\nmac_score row=3+1@1\n}", 1, Status::Va2PaMiss),
        ("mac_score\nmac_score request=4", 1, Status::UnknownRequest),
    ];
    for (bad, request, expected) in faults {
        let bad = assemble(bad).expect("it can be written");
        let mut module = Module::new(&[good.clone(), bad].concat());
        module.load(LoadKind::Segment, 2, 4 << 16);
        module.load(LoadKind::Tokens, 2, 0);
        let before = module.run(1, 0, false);
        assert_eq!(before, (vec![40, 41, 42], Status::Done));
        let (rows, status) = module.run(request, good.len() as u64, false);
        assert_eq!(status, expected);
        assert!(!rows.is_empty(), "{expected:?}: what came before it stands");
        assert_eq!(module.run(1, 0, false), before, "{expected:?}");
    }

    let mut module = Module::new(&good);
    assert_eq!(module.run(1, 0, true), (vec![], Status::Stopped));
    assert_eq!(module.run(5, 0, false), (vec![], Status::UnknownRequest));
    module.load(LoadKind::Command, 24, Instruction::End.encode());
    assert_eq!(module.run(1, 0, false), (vec![], Status::BufferOverflow));
}
