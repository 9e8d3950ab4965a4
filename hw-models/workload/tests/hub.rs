// SPDX-License-Identifier: MIT
//! The hub of AiM channels with its programs against the engine: the same bits, the same commands, and times that differ by
//! what a start takes.

use pimlico_device::aim::{
    AimDevice, AimHead, AimLayout, AimMapping, AimOptions, AimStart, AimUnits, Elements,
    HUB_CHANNELS, Hub, Module, Order,
};
use pimlico_device::dispatch::DispatchError;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{BusDriver, Config, DeviceError, PinWatch, Statistics};
use pimlico_dpa::Opcode;
use pimlico_dpa::types::{PinCommand, Pins, Status};
use pimlico_host::aim::{AimAttention, AimHost};
use pimlico_host::driver::Driver;
use pimlico_host::program::{self, Program, Template};
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::{Model, Models, Unit};
use pimlico_units::module::{AimHub, AimHubIn, AimHubOut};
use pimlico_workload::aim;
use pimlico_workload::judge::pins::PinLog;
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;

fn options(io_buffers: IoBuffers) -> AimOptions {
    let channels = HUB_CHANNELS;
    AimOptions { channels, io_buffers, refresh: false, ..AimOptions::default() }
}

/// The engine, and the hub.
fn devices(options: AimOptions) -> [AimHost; 2] {
    fn hub<M>(config: &Config, options: AimOptions) -> AimHost
    where
        M: Model + Unit<In = AimHubIn, Out = AimHubOut>,
    {
        let models = Box::new(Models::<M>::new(1));
        AimHost::hub(config.clone(), options, models).expect("it fits")
    }
    let config = Config::gddr6_aim();
    let engine = AimHost::engine(&config, options);
    let hub = match options.io_buffers {
        IoBuffers::PingPong => hub::<AimHub<true>>(&config, options),
        IoBuffers::Single => hub::<AimHub<false>>(&config, options),
    };
    [engine, hub]
}

/// Runs the same on both, with the checker at their pins: what the engine gave, and the hub.
fn on_both<T>(options: AimOptions, run: impl Fn(&mut AimHost) -> T) -> [T; 2] {
    devices(options).map(|mut device| {
        let pins = PinLog::of_module(&mut device);
        let ran = run(&mut device);
        assert_eq!(pins.violations(device.tck()), (0, vec![]), "{options:?}");
        ran
    })
}

/// Compares statistics; the hub takes so many tCK longer. A PREA may fall into the next operator.
fn compare(engine: &Statistics, hub: &Statistics, longer: RangeInclusive<i64>, what: &str) {
    let more = hub.cycles as i64 - engine.cycles as i64;
    let commands = |of: &Statistics| {
        let mut commands = of.commands;
        commands[PinCommand::PreAll as usize] = 0;
        commands
    };
    assert_eq!(commands(hub), commands(engine), "{what}");
    assert_eq!((hub.used, hub.bus_cycles), (engine.used, engine.bus_cycles), "{what}");
    assert_eq!(hub.adder_unit_cycles, engine.adder_unit_cycles, "{what}");
    // Softmax takes whole words.
    let softmax = hub.softmax_unit_cycles as i64 - engine.softmax_unit_cycles as i64;
    assert!((0..32).contains(&softmax), "{what}: {engine:?} {hub:?}");
    assert!(longer.contains(&more), "{what}: {more} tCK, {engine:?} {hub:?}");
}

/// By how many tCK a product or the scores of a head take longer on the hub: its first word is on the pins 17 cycles behind a
/// start, which waits for an EPU cycle, while the engine waits for all that it has to be idle; with single buffers the
/// engine begins in the mode of the banks, and the hub in none.
fn longer(io_buffers: IoBuffers) -> RangeInclusive<i64> {
    match io_buffers {
        IoBuffers::PingPong => 18..=40,
        IoBuffers::Single => 6..=10,
    }
}

fn product(options: AimOptions, rows: usize, columns: usize) {
    let operands = Operands::synthetic(rows, columns, 7);
    let [engine, hub] = on_both(options, |device| {
        let layout = AimLayout::new(device.config(), &device.options(), rows, columns, 3);
        let layout = layout.expect("it fits");
        device.begin();
        device.hold(&[layout]).expect("there are rows");
        for group in 0..layout.groups() {
            let first = group * layout.pus();
            let element = |row: usize, column: usize| operands.matrix[first + row][column];
            device.write(&mut layout.writes(group, element)).expect("models alone");
        }
        let written = device.end();
        (device.product(&layout, &operands.vector).expect("it runs"), written)
    });
    let ((outputs, statistics), written) = engine;
    let ((hub_outputs, hub), hub_written) = hub;
    let what = format!("{rows} x {columns}, {options:?}");
    assert_eq!(hub_outputs, outputs, "{what}");
    if !options.refresh {
        assert_eq!(hub_written.commands, written.commands, "{what}");
        compare(&statistics, &hub, longer(options.io_buffers), &what);
    }
}

#[test]
fn a_product_has_the_bits_and_commands_of_the_engine() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        for (rows, columns) in
            [(1, 1), (32, 1024), (33, 1024), (32, 1025), (70, 2500), (100, 100), (300, 128)]
        {
            product(options(io_buffers), rows, columns);
        }
        product(AimOptions { refresh: true, ..options(io_buffers) }, 150, 2500);
    }
}

#[test]
fn a_product_may_have_tiles_of_any_length_and_any_order() {
    use Order::{InputStationary, OutputStationary};
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        for (order, tile_words) in
            [(OutputStationary, 64), (OutputStationary, 7), (InputStationary, 5)]
        {
            let mapping = AimMapping { order, tile_words, k_row_tokens: None };
            product(AimOptions { mapping, ..options(io_buffers) }, 70, 300);
        }
    }
}

/// Contexts of a head that grows in its room.
fn attention(options: AimOptions, room: usize, contexts: &[usize], head_dim: usize) {
    let distribution = Distribution::Random;
    let shape = HeadShape { head_dim, context: room, group: 1, distribution };
    let data = Head::synthetic(shape, 3, 0);
    let [engine, hub] = on_both(options, |device| {
        let head = AimHead::new(device.config(), &device.options(), head_dim, room, 2);
        let head = head.expect("it fits");
        aim::attention::load(device, &head, &data).expect("it runs");
        let run = |&context: &usize| {
            aim::attention::run_query(device, &head.part(context), &data.queries[0])
        };
        contexts.iter().map(run).collect::<Result<Vec<_>, _>>().expect("it runs")
    });
    let of_single = options.io_buffers == IoBuffers::Single;
    // A tile that comes again for every group of tokens waits for its command.
    let again = if options.mapping.order == Order::OutputStationary { 16 } else { 0 };
    // The MAC and the RD_RESULT of a group take the dispatcher 8 tCK. With one or two columns the channels wait for them,
    // up to 2 tCK.
    let short = if head_dim <= 32 { 2 } else { 0 };
    for ((engine, hub), context) in engine.iter().zip(&hub).zip(contexts) {
        let groups = context.div_ceil(options.pus()) as i64;
        let scores = longer(options.io_buffers);
        let scores = *scores.start()..=scores.end() + again + short * groups;
        for (name, engine, hub, longer) in [
            ("score", &engine.score, &hub.score, scores),
            // The words of each of the two passes come from the GPR, and a start takes its time.
            ("softmax", &engine.softmax, &hub.softmax, 50..=80),
            ("context", &engine.context, &hub.context, if of_single { 18..=24 } else { 24..=52 }),
        ] {
            let what = format!("{name} {head_dim} x {context}, {options:?}");
            assert_eq!(engine.values, hub.values, "{what}");
            if !options.refresh {
                compare(&engine.statistics, &hub.statistics, longer, &what);
            }
        }
    }
    let commands = |all: &[AimAttention]| {
        let steps = all.iter().flat_map(|it| [&it.score, &it.softmax, &it.context]);
        let all = steps.fold(Statistics::default(), |all, step| all.and(step.statistics));
        all.commands
    };
    assert!(options.refresh || commands(&engine) == commands(&hub));
}

#[test]
fn attention_has_the_bits_and_commands_of_the_engine() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let options = options(io_buffers);
        attention(options, 1500, &[1, 16, 33, 700, 1024, 1025, 1500], 128);
        attention(options, 1500, &[1100, 1500], 32);
        attention(options, 100, &[20, 100], 24);
        attention(AimOptions { refresh: true, ..options }, 2100, &[900, 2000, 2100], 64);
    }
}

#[test]
fn attention_may_be_output_stationary() {
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let mapping = AimMapping { order: Order::OutputStationary, ..AimMapping::default() };
        let options = AimOptions { mapping, ..options(io_buffers) };
        // Four groups of elements, of which a last tile has another shape, and one.
        attention(options, 1500, &[33, 1024, 1025, 1500], 128);
        attention(options, 1100, &[700, 1100], 20);
    }
}

#[test]
fn one_program_serves_a_head_as_it_grows() {
    let options = options(IoBuffers::PingPong);
    let config = Config::gddr6_aim();
    let models = Box::new(Models::<AimHub>::new(1));
    let mut hub = AimHost::hub(config.clone(), options, models).expect("it fits");
    let head = AimHead::new(&config, &options, 32, 3000, 0).expect("it fits");
    let mut run = |context: usize| {
        let head = head.part(context);
        hub.hold(&head.matrices()).expect("there are rows");
        hub.attention(&head, &[0; 32], 0).expect("it runs");
        hub.driver().writes()
    };
    let first = run(1000);
    for context in [1001, 1024, 1025, 3000] {
        let now = run(context);
        // Two words of a token are in a row with those of 32 groups, and two tiles of V.
        let of_k = context.div_ceil(32 * 32);
        let of_v = context.div_ceil(1024);
        assert_eq!(now.commands, first.commands, "{context}");
        assert_eq!(now.entries, (of_k + of_v) as u64, "{context}");
    }
}

/// The engine and a hub of models without a host, and a driver for each.
fn bare() -> [(Box<dyn AimDevice>, Driver); 2] {
    let (config, options) = (Config::gddr6_aim(), options(IoBuffers::PingPong));
    let units = AimUnits::models(&config, options);
    let engine = Module::new(config.clone(), units, options);
    let hub = Hub::<AimHub>::new(config, options, Box::new(Models::new(1))).expect("it fits");
    [(Box::new(engine), Driver::new()), (Box::new(hub), Driver::new())]
}

/// When the first word of a filling was on the pins.
#[derive(Clone, Default)]
struct FirstWord(Rc<Cell<Option<u64>>>);

impl PinWatch for FirstWord {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        if pins.command == PinCommand::WrShared && self.0.get().is_none() {
            self.0.set(Some(at_tck));
        }
    }

    fn data(&mut self, _from_tck: u64, _until_tck: u64, _driver: BusDriver) {}
}

#[test]
fn the_first_word_of_a_program_comes_17_cycles_after_the_start() {
    let program = Program::new(|program| {
        program.command(Template::new(Opcode::WrShared).word(1));
        program.command(Template::new(Opcode::MacScore).word(1).first(&[]).last(&[]).opens(&[]));
        program.command(Template::new(Opcode::RdResult).place(0).first(&[]));
        program.command(Template::new(Opcode::CloseAll));
    });
    let words = program.words().expect("it is short");
    let [engine, hub] = bare().map(|(mut device, mut driver)| {
        let address = driver.program(&mut *device, &words).expect("it has room");
        driver.rows(&mut *device, 0, 0, &[Some(3)]).expect("it has room");
        let (first, from_tck) = (FirstWord::default(), device.tck());
        device.watch(Box::new(first.clone()));
        let start = AimStart { request: 0, address, operands: &[[0; 16]] };
        device.run(start).expect("it runs");
        first.0.get().expect("there is one") - from_tck
    });
    // It is in the second slot of a cycle. The hub accepts a start in the second cycle of an EPU cycle.
    assert_eq!((engine, hub), (2 * 3 + 1, 2 * (1 + 17) + 1));
}

#[test]
fn virtual_rows_may_lie_anywhere() {
    let (rows, columns) = (100, 1500);
    let Operands { matrix, vector } = Operands::synthetic(rows, columns, 3);
    let options = options(IoBuffers::PingPong);
    let layout = AimLayout::new(&Config::gddr6_aim(), &options, rows, columns, 0).expect("it fits");
    let element = |n: usize| vector.get(n).copied().unwrap_or(0);
    let fillings = program::aim::fillings(&layout, &options);
    let words = program::aim::product_words(&layout, &fillings);
    let operands: Vec<Elements> =
        words.map(|word| std::array::from_fn(|n| element(16 * word + n))).collect();
    let program = program::aim::product(&layout, &options, &fillings).words().expect("it is short");
    let place = |row: usize| 5000 - 7 * row;
    let outputs = bare().map(|(mut device, mut driver)| {
        for group in 0..layout.groups() {
            let first = group * layout.pus();
            let writes = layout.writes(group, |row, column| matrix[first + row][column]);
            let mut writes = writes.map(|writes| {
                let row = place(writes.row());
                writes.in_row(row)
            });
            device.write(&mut writes).expect("models alone");
        }
        let table: Vec<_> = (0..layout.end_row()).map(|row| Some(place(row) as u16)).collect();
        driver.rows(&mut *device, 3, 100, &table).expect("it has room");
        let address = driver.program(&mut *device, &program).expect("it has room");
        let start = AimStart { request: 3, address, operands: &operands };
        device.run(start).expect("it runs");
        device.gpr(0, rows).to_vec()
    });

    let [mut engine, _] = devices(options);
    engine.hold(&[layout]).expect("there are rows");
    for group in 0..layout.groups() {
        let first = group * layout.pus();
        let mut writes = layout.writes(group, |row, column| matrix[first + row][column]);
        engine.write(&mut writes).expect("models alone");
    }
    let (expected, _) = engine.product(&layout, &vector).expect("models alone");
    assert_eq!(outputs, [expected.clone(), expected]);
}

/// Rows and columns that are added to a matrix: channels that do not take them keep what they have.
#[test]
fn what_is_added_leaves_other_channels_alone() {
    let (rows, columns, row, column) = (40, 100, 20, 33);
    let old = Operands::synthetic(rows, columns, 5);
    let new = Operands::synthetic(rows, columns, 6).matrix;
    let mut both = old.matrix.clone();
    both[row].clone_from(&new[row]);
    for (of_both, of_new) in both.iter_mut().zip(&new) {
        of_both[column] = of_new[column];
    }
    let run = |matrix: &[Vec<u16>], adds: bool| {
        on_both(options(IoBuffers::PingPong), |device| {
            let layout = AimLayout::new(device.config(), &device.options(), rows, columns, 0);
            let layout = layout.expect("it fits");
            device.hold(&[layout]).expect("there are rows");
            for group in 0..layout.groups() {
                let first = group * layout.pus();
                let element = |row: usize, column: usize| matrix[first + row][column];
                device.write(&mut layout.writes(group, element)).expect("models alone");
            }
            if adds {
                let element = |row: usize, column: usize| both[row][column];
                device.write(&mut layout.row_writes(row, element)).expect("models alone");
                device.write(&mut layout.column_writes(column, element)).expect("models alone");
            }
            device.product(&layout, &old.vector).expect("it runs").0
        })
    };
    let [engine, hub] = run(&old.matrix, true);
    assert_eq!(run(&both, false), [engine.clone(), engine.clone()]);
    assert_eq!(hub, engine);
    assert_ne!(run(&old.matrix, false)[0], engine);
}

#[test]
fn what_a_program_does_wrong_ends_it() {
    let of = |command: Template| {
        let program = Program::new(|program| {
            program.command(command.clone());
            program.command(Template::new(Opcode::CloseAll));
        });
        let words = program.words().expect("it is short");
        let [engine, hub] = bare().map(|(mut device, mut driver)| {
            let address = driver.program(&mut *device, &words).expect("it has room");
            driver.rows(&mut *device, 0, 0, &[Some(20_000), Some(3), None]).expect("it has room");
            let run = device.run(AimStart { request: 0, address, operands: &[] });
            match run.expect_err("it is wrong") {
                DeviceError::Dispatch(error) => error,
                error => panic!("{error}"),
            }
        });
        assert_eq!(engine, hub, "{command:?}");
        hub
    };
    let mac = || Template::new(Opcode::MacScore).word(1);
    assert_eq!(of(Template::new(Opcode::Finish)), DispatchError::UnknownCommand);
    assert_eq!(of(mac()), DispatchError::Beyond { field: "row" });
    assert_eq!(of(Template::new(Opcode::Weigh)), DispatchError::NoTokens);
    let place = Template::new(Opcode::RdResult).place(16);
    assert_eq!(of(place), DispatchError::Beyond { field: "place" });
    assert_eq!(of(Template::new(Opcode::WrShared).word(2)), DispatchError::Operands);
    let status = Status::Va2PaMiss;
    assert_eq!(of(mac().row(2)), DispatchError::Fault { request: 0, status, address: 0 });
    // A column without a filling, and results without a sum.
    let stuck = DispatchError::Stuck { overwritten: false };
    assert_eq!(of(mac().row(1)), stuck);
    assert_eq!(of(Template::new(Opcode::RdResult).place(0)), stuck);
}
