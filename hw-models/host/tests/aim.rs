// SPDX-License-Identifier: MIT
//! A module of AiM channels: every bit against the contract's order of summation, every slot and every
//! command judged.

use pimlico_device::aim::{AimLayout, AimOptions, AimUnits, Module, Operand, gemv};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Activation, Config, DramCommand, Statistics};
use pimlico_golden::dot::{dot, dot_in_parts};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_host::gemv::Operands;
use pimlico_host::pins::PinLog;
use proptest::prelude::*;

const P: Precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
const TILE: usize = 1024;

fn module(options: AimOptions) -> Module {
    let config = Config::gddr6_aim();
    let units = AimUnits::models(&config, options);
    Module::new(config, units, options)
}

fn run(module: &mut Module, operands: &Operands) -> (Vec<u16>, Statistics) {
    let (rows, columns) = (operands.matrix.len(), operands.vector.len());
    let layout = AimLayout::new(module.config(), &module.options(), rows, columns, 0);
    let layout = layout.expect("it fits");
    for group in 0..layout.groups() {
        let first = group * layout.pus();
        let writes = layout.writes(group, |row, column| operands.matrix[first + row][column]);
        module.write(writes).expect("models alone");
    }
    gemv(module, &layout, Operand::Vector(&operands.vector), 0).expect("models alone")
}

/// An output: in parts where there are several groups.
fn expected(options: &AimOptions, operands: &Operands, row: usize) -> u16 {
    let (row, vector) = (&operands.matrix[row], &operands.vector);
    if operands.matrix.len() <= options.pus() {
        dot(P, 16, row, vector)
    } else {
        dot_in_parts(P, 16, TILE, row, vector)
    }
}

fn check(options: AimOptions, rows: usize, columns: usize, seed: u64) -> Statistics {
    let operands = Operands::synthetic(rows, columns, seed);
    let mut module = module(options);
    let pins = PinLog::of_module(&mut module);
    let (outputs, statistics) = run(&mut module, &operands);
    assert_eq!(outputs.len(), rows);
    for (row, output) in outputs.into_iter().enumerate() {
        let expected = expected(&options, &operands, row);
        assert_eq!(output, expected, "row {row} of {rows} x {columns}, {options:?}");
    }
    assert_eq!(pins.violations(module.tck()), (0, vec![]), "{rows} x {columns}, {options:?}");

    let groups = rows.div_ceil(options.pus());
    assert_eq!(statistics.used, (groups * columns.div_ceil(16)) as u64);
    let tck = 2 * statistics.used + statistics.lost_tck.total();
    assert!((0..2).contains(&(tck - statistics.cycles)), "{statistics:?}");
    let slots = statistics.used + statistics.lost_slots(2).total();
    assert_eq!(slots, statistics.cycles.div_ceil(2), "{statistics:?}");
    let sums = if groups == 1 { 1 } else { groups * columns.div_ceil(TILE) };
    let count = |command: DramCommand| statistics.commands[command.number()];
    assert_eq!(count(DramCommand::WrShared { word: 0 }), columns.div_ceil(16) as u64);
    assert_eq!(statistics.commands[7], sums as u64, "RD_RESULT");
    statistics
}

fn shapes() -> impl Strategy<Value = (AimOptions, usize, usize, u64)> {
    let options = (1..=4usize, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(channels, single, refresh, staggered)| AimOptions {
            channels,
            io_buffers: if single { IoBuffers::Single } else { IoBuffers::PingPong },
            activation: if staggered { Activation::Staggered } else { Activation::AllBank },
            refresh,
        },
    );
    // Few rows of many elements, or many of few.
    let matrix = prop_oneof![(1..=40usize, 1..=5000usize), (1..=400usize, 1..=300usize)];
    (options, matrix, any::<u64>()).prop_map(|(o, (rows, columns), seed)| (o, rows, columns, seed))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn every_bit_is_what_the_order_of_summation_gives((options, rows, columns, seed) in shapes()) {
        check(options, rows, columns, seed);
    }

    #[test]
    fn ping_pong_is_never_slower((options, rows, columns, seed) in shapes()) {
        // Without refresh, of which one may meet one REF more than the other.
        let cycles = |io_buffers| {
            let options = AimOptions { io_buffers, refresh: false, ..options };
            check(options, rows, columns, seed).cycles
        };
        let (ping_pong, single) = (cycles(IoBuffers::PingPong), cycles(IoBuffers::Single));
        prop_assert!(ping_pong <= single, "{ping_pong} {single}");
    }
}

#[test]
fn edges_of_groups_and_tiles() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let options = AimOptions { channels: 1, io_buffers, ..AimOptions::default() };
        for (rows, columns) in
            [(1, 1), (16, 1024), (17, 1024), (16, 1025), (17, 1025), (33, 2048), (64, 16), (100, 3)]
        {
            check(options, rows, columns, 1);
        }
    }
}
