// SPDX-License-Identifier: MIT
//! The engine of AiM channels with its short cuts against the same engine with every tCK stepped: what is on the pins and
//! when, all statistics, and all results.

use pimlico_device::aim::{
    AimHead, AimLayout, AimMapping, AimOptions, AimUnits, Module, Order, RowWrites, SpanKind,
};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{BusDriver, Config, PinWatch, Statistics, WriteRun};
use pimlico_dpa::types::Pins;
use pimlico_host::aim::{AimHost, HeadQuery};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const SCALE: u16 = 0x2DA8;

/// What was on the pins, and when.
#[derive(Clone, Default)]
struct Seen {
    commands: Rc<RefCell<Vec<(u64, Pins)>>>,
    data: Rc<RefCell<Vec<(u64, u64, BusDriver)>>>,
    /// The order in which both were told: the number of data that were told before each command.
    order: Rc<RefCell<Vec<usize>>>,
    /// Runs of writes are taken.
    runs: bool,
    /// WRs that were told in runs.
    in_runs: Rc<Cell<u64>>,
}

impl PinWatch for Seen {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        self.order.borrow_mut().push(self.data.borrow().len());
        self.commands.borrow_mut().push((at_tck, pins));
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        self.data.borrow_mut().push((from_tck, until_tck, driver));
    }

    fn takes(&mut self, _run: &WriteRun) -> bool {
        self.runs
    }

    fn writes(&mut self, run: &WriteRun, _host_tck: u64, chips_tck: u64) {
        self.in_runs.update(|count| count + run.count);
        for (number, (bank, column)) in (0..run.count).zip(run.places()) {
            let data_tck = run.tck(number) - run.from_tck + chips_tck;
            self.command(run.tck(number), Pins::wr(bank, column));
            // Data that follow each other without a pause.
            self.data(data_tck, data_tck + run.every_tck, BusDriver::BufferChip);
        }
    }
}

/// An engine, and the same with every tCK stepped.
fn both(config: &Config, options: AimOptions) -> [AimHost; 2] {
    let module = || Module::new(config.clone(), AimUnits::models(config, options), options);
    [AimHost::new(module()), AimHost::new(module().stepping())]
}

/// The two are alike, or the first place where they are not.
fn equal<T: PartialEq + std::fmt::Debug>(what: &str, ahead: &[T], stepped: &[T]) {
    if let Some(at) = ahead.iter().zip(stepped).position(|(a, b)| a != b) {
        panic!("{what} {at}: {:?}, stepped {:?}", ahead[at], stepped[at]);
    }
    assert_eq!(ahead.len(), stepped.len(), "{what}");
}

/// Does the same with both, with writes told one by one and in runs, and compares the pins, the time and what is returned.
/// Returns how many WRs were told in runs, and how many rows that are written were passed.
fn alike<T: PartialEq + std::fmt::Debug>(
    config: &Config,
    options: AimOptions,
    work: impl Fn(&mut AimHost) -> T,
) -> (u64, u64) {
    let run = |mut module: AimHost, runs: bool| {
        let seen = Seen { runs, ..Seen::default() };
        module.watch(Box::new(seen.clone()));
        let made = work(&mut module);
        (seen, module.tck(), made, module.passed_spans(SpanKind::Writes))
    };
    let [ahead, stepped] = both(config, options);
    let [in_runs, _] = both(config, options);
    let stepped = run(stepped, true);
    assert_eq!(stepped.0.in_runs.get(), 0, "a stepped module has no runs");
    let ahead = [run(ahead, false), run(in_runs, true)];
    for (seen, tck, made, _) in &ahead {
        equal("command", &seen.commands.borrow(), &stepped.0.commands.borrow());
        equal("data", &seen.data.borrow(), &stepped.0.data.borrow());
        assert_eq!(*tck, stepped.1, "tCK");
        assert_eq!(*made, stepped.2, "results and statistics");
    }
    equal("order", &ahead[0].0.order.borrow(), &stepped.0.order.borrow());
    (ahead[1].0.in_runs.get(), ahead[1].3)
}

/// A number of binary16 between -1 and 1, by its number.
fn number(seed: u64, number: usize) -> u16 {
    let mut bits = seed ^ (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (bits >> 40) as u16 & 0xBBFF
}

fn write(module: &mut AimHost, writes: &mut dyn Iterator<Item = RowWrites<'_>>) -> Statistics {
    module.begin();
    module.write(writes).expect("models alone");
    module.end()
}

/// A matrix is written, multiplied with two vectors, written once more in part, and multiplied again.
fn matrix(
    module: &mut AimHost,
    (rows, columns, seed): (usize, usize, u64),
) -> impl PartialEq + std::fmt::Debug + use<> {
    let vector: Vec<u16> = (0..columns).map(|column| number(seed, column)).collect();
    let layout = AimLayout::new(module.config(), &module.options(), rows, columns, 3);
    let layout = layout.expect("it fits");
    module.hold(&[layout]).expect("there are rows");
    let mut statistics = Vec::new();
    for group in 0..layout.groups() {
        let first = group * layout.pus();
        let mut writes =
            layout.writes(group, |row, c| number(seed, (first + row) * columns + c + 1));
        statistics.push(write(module, &mut writes));
    }
    let mut outputs = Vec::new();
    for turn in 0..2 {
        let (values, cost) = module.product(&layout, &vector).expect("models alone");
        outputs.push(values);
        statistics.push(cost);
        if turn == 0 {
            let of_row = layout.row_writes(rows / 2, |row, column| (row ^ column) as u16 & 0x3BFF);
            let of_column = layout.column_writes(columns / 2, |row, _| row as u16 & 0x3BFF);
            statistics.push(write(module, &mut of_row.chain(of_column)));
        }
    }
    (outputs, statistics)
}

fn any_options() -> impl Strategy<Value = AimOptions> {
    let buffers = prop_oneof![Just(IoBuffers::PingPong), Just(IoBuffers::Single)];
    let order = prop_oneof![Just(Order::InputStationary), Just(Order::OutputStationary)];
    let mapping = (order, prop_oneof![Just(64usize), 1..=64usize])
        .prop_map(|(order, tile_words)| AimMapping { order, tile_words, ..AimMapping::default() });
    let lanes = prop_oneof![Just(2usize), Just(4), Just(8), Just(16)];
    let numbers = (1..=3usize, prop_oneof![Just(26u64), 1..=26u64], lanes);
    (buffers, any::<bool>(), any::<bool>(), mapping, numbers).prop_map(
        |(io_buffers, refresh, mode_change, mapping, (channels, pu_clocks, softmax_lanes))| {
            AimOptions {
                channels,
                io_buffers,
                refresh,
                mode_change,
                mapping,
                pu_clocks,
                softmax_lanes,
                ..AimOptions::default()
            }
        },
    )
}

/// Channels whose timings are others, so that no case hangs on those of the preset.
fn any_config() -> impl Strategy<Value = Config> {
    let timings =
        (1..=12u64, 20..=40u64, 400..=4000u64, 0..=4u64, prop_oneof![Just(4u64), Just(16)]);
    timings.prop_map(|(cwl, rp, refi, shared, faw_banks)| {
        let mut config = Config::gddr6_aim();
        config.timing.cwl_tck = cwl;
        config.timing.rp_tck = rp;
        config.timing.refi_tck = refi;
        config.timing.wtr_shared_tck = shared;
        config.timing.faw_banks = faw_banks;
        config
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn matrices_are_written_and_multiplied_as_if_stepped(
        options in any_options(),
        config in prop_oneof![Just(Config::gddr6_aim()), any_config()],
        (rows, columns) in prop_oneof![(1..100usize, 1..2500usize), (1..16usize, 1..6000usize)],
        seed in any::<u64>(),
    ) {
        alike(&config, options, |module| matrix(module, (rows, columns, seed)));
    }

    #[test]
    fn heads_are_attended_to_as_if_stepped(
        options in any_options(),
        (context, head_dim, queries) in (1..1500usize, 1..=8usize, 1..=3usize),
        pipeline in any::<bool>(),
        shared in any::<bool>(),
    ) {
        let head_dim = 16 * head_dim;
        let options = AimOptions {
            mapping: AimMapping { tile_words: 64, ..options.mapping },
            head_pipeline: pipeline,
            shared_rows: shared,
            ..options
        };
        let queries: Vec<Vec<u16>> = (0..queries)
            .map(|query| (0..head_dim).map(|e| number(1 + query as u64, e)).collect())
            .collect();
        alike(&Config::gddr6_aim(), options, |module| {
            let layout = AimHead::new(module.config(), &options, head_dim, context, 0).expect("it fits");
            let AimHead { k, v } = &layout;
            module.hold(&layout.matrices()).expect("there are rows");
            let mut written = Vec::new();
            for matrix in [k, v] {
                for group in 0..matrix.groups() {
                    written.push(write(module, &mut matrix.writes(group, |row, c| {
                        number(9 + group as u64, row * matrix.columns + c)
                    })));
                }
            }
            let queries: Vec<&[u16]> = queries.iter().map(Vec::as_slice).collect();
            let made = if pipeline {
                let of = |query| HeadQuery { head: layout, query, scale: SCALE };
                let queries: Vec<_> = queries.into_iter().map(of).collect();
                module.piped_attention(&queries).expect("models alone").results
            } else if shared {
                module.shared_attention(&layout, &queries, SCALE).expect("models alone")
            } else {
                let run = |query: &&[u16]| module.attention(&layout, query, SCALE);
                queries.iter().map(run).collect::<Result<_, _>>().expect("models alone")
            };
            (written, made)
        });
    }
}

/// A REF is forced while a column waits for its row: the tCK from then on are lost to the refresh, not to the row.
#[test]
fn what_a_wait_is_lost_to_changes_when_a_ref_is_forced() {
    let mut config = Config::gddr6_aim();
    let timing = &mut config.timing;
    (timing.cwl_tck, timing.rp_tck, timing.refi_tck) = (2, 27, 540);
    (timing.wtr_shared_tck, timing.faw_banks) = (0, 4);
    let mapping = AimMapping { tile_words: 19, ..AimMapping::default() };
    let options = AimOptions {
        channels: 2,
        io_buffers: IoBuffers::Single,
        mode_change: false,
        mapping: AimMapping { order: Order::OutputStationary, ..mapping },
        pu_clocks: 5,
        ..AimOptions::default()
    };
    alike(&config, options, |module| matrix(module, (41, 1921, 25_027_876)));
}

#[test]
fn what_is_written_is_there_behind_many_refreshes() {
    // 64 rows of the banks, in which 40 REFs become due.
    for (refresh, channels) in [(true, 1), (true, 2), (false, 1)] {
        let options = AimOptions { channels, refresh, ..AimOptions::default() };
        let (in_runs, passed) =
            alike(&Config::gddr6_aim(), options, |module| matrix(module, (64 * channels, 8192, 7)));
        // Of its 32 768 WRs, each for all channels.
        assert!(in_runs > 30_000, "{in_runs}");
        let least = if refresh { 4 } else { 30 };
        assert!(passed > least, "{passed} of 64 rows, with refresh: {refresh}");
    }
}
