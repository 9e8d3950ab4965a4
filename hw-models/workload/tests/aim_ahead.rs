// SPDX-License-Identifier: MIT
//! The engine of AiM channels, with its short cuts and with every tCK stepped: its reports, and what is on the pins while rows are
//! written without data. A long run: `PROPTEST_CASES=1000 cargo test -p pimlico-workload aim_ahead::`.

use super::cases::cases;
use pimlico_device::aim::{
    AimDevice, AimHead, AimLayout, AimMapping, AimOptions, AimUnits, ArrayRequest, GLOBAL_WORDS,
    Module, Order, Pu, Requests, SpanKind, Word,
};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{BusDriver, Config, Device, PinWatch, Statistics, WriteRun};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_host::aim::{AimAttention, AimHost};
use pimlico_model::data::Distribution;
use pimlico_ports::U;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::operator::{AnyOperator, execute};
use pimlico_workload::system;
use pimlico_workload::task::SILENT;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// An engine, and the same with every tCK stepped.
fn both(config: &Config, options: AimOptions) -> [AimHost; 2] {
    let module = || Module::new(config.clone(), AimUnits::models(config, options), options);
    [AimHost::new(module()), AimHost::new(module().stepping())]
}

#[test]
fn reports_are_those_of_a_stepped_module() {
    let gemv = |io_buffers| GemvJob { rows: 70, columns: 2100, io_buffers, seed: 3 };
    let attention = AttentionJob {
        model: "two heads".to_owned(),
        head_dim: 64,
        heads: 4,
        group: 2,
        contexts: vec![300, 77],
        distribution: Distribution::Random,
        seed: 4,
    };
    for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
        let operators: [Box<dyn AnyOperator>; 2] =
            [Box::new(gemv(io_buffers)), Box::new(attention.clone())];
        for (operator, timing_only) in
            operators.iter().flat_map(|operator| [(operator, false), (operator, true)])
        {
            let options = AimOptions { channels: 2, io_buffers, ..AimOptions::default() };
            let [ahead, stepped] = both(&Config::gddr6_aim(), options).map(|mut module| {
                let groups = std::slice::from_mut(&mut module);
                let mut system = system::Module::new(groups).timing_only(timing_only);
                let report = execute(&**operator, &mut system, SILENT).expect("it runs");
                format!("{report:#?}")
            });
            assert_eq!(ahead, stepped, "{io_buffers:?}, timing only: {timing_only}");
        }
    }
}

/// What is told of the pins, write by write, whether runs of them are taken as a whole or not.
struct Log {
    told: Rc<RefCell<Vec<(u64, String)>>>,
    takes: bool,
}

impl PinWatch for Log {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        self.told.borrow_mut().push((at_tck, format!("{pins:?}")));
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        self.told.borrow_mut().push((from_tck, format!("{driver:?} until {until_tck}")));
    }

    fn takes(&mut self, _: &WriteRun) -> bool {
        self.takes
    }

    fn writes(&mut self, run: &WriteRun, _: u64, chips_tck: u64) {
        for (number, (bank, column)) in (0..).zip(run.places()) {
            let command = PinCommand::Wr;
            let (bank, column) = (U::new(bank as u64), column as u8);
            self.command(run.tck(number), Pins { command, bank, row: 0, column });
            let from_tck = chips_tck + number * run.every_tck;
            self.data(from_tck, from_tck + run.every_tck, BusDriver::BufferChip);
        }
    }
}

/// Matrices that are written, one behind the other.
#[derive(Clone, Debug)]
struct Matrices {
    channels: usize,
    sizes: Vec<(usize, usize)>,
    refresh: bool,
    /// Banks are closed behind each group of their rows, and REFs are made up for.
    closes: bool,
    takes: bool,
}

impl Matrices {
    /// Writes them without data. Returns what is told of the pins, all that is counted, and how many rows were passed.
    fn written(&self, steps: bool) -> (Vec<(u64, String)>, String, u64) {
        let config = Config::gddr6_aim();
        let &Self { channels, refresh, takes, .. } = self;
        let options = AimOptions { channels, refresh, ..AimOptions::default() };
        let module = Module::new(config.clone(), AimUnits::models(&config, options), options);
        let mut module = if steps { module.stepping() } else { module };
        let told = Rc::default();
        module.watch(Box::new(Log { told: Rc::clone(&told), takes }));
        AimDevice::leave_data_out(&mut module);
        module.begin();
        let mut row = 0;
        for &(rows, columns) in &self.sizes {
            let layout = AimLayout::new(&config, &options, rows, columns, row).expect("it fits");
            row = layout.end_row();
            for group in 0..layout.groups() {
                let mut writes = layout.word_writes(group, |_, _| Word::default());
                module.write(&mut writes).expect("models alone");
                if self.closes {
                    close(&mut module);
                }
            }
        }
        close(&mut module);
        let counted = format!("{} {:?}", module.tck(), module.end());
        let mut told = told.take();
        told.sort();
        (told, counted, module.passed_spans(SpanKind::Writes))
    }

    /// Compares. Returns how many rows were passed.
    fn check(&self) -> u64 {
        let (told, counted, passed) = self.written(false);
        let (told_stepped, counted_stepped, _) = self.written(true);
        assert_eq!(counted, counted_stepped);
        let differs = told.iter().zip(&told_stepped).find(|(one, other)| one != other);
        assert_eq!((differs, told.len()), (None, told_stepped.len()));
        passed
    }
}

/// All banks are closed, REFs that are owed come, and all data have.
fn close(module: &mut Module) {
    let array = Some(ArrayRequest::CloseAll);
    let mut requests = Requests { array, head_end: true, ..Requests::default() };
    for _ in 0..4000 {
        module.step(&mut requests).expect("models alone");
        requests.head_end = false;
    }
}

#[test]
fn most_rows_of_a_large_matrix_are_passed() {
    for (refresh, takes, least) in [(true, true, 40), (true, false, 40), (false, true, 100)] {
        let sizes = vec![(16 * 16, 8 * 1024)];
        let matrices = Matrices { channels: 1, sizes, refresh, closes: true, takes };
        let passed = matrices.check();
        assert!(passed > least, "{matrices:?}: {passed} of 128 rows");
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn rows_without_data_are_written_alike(
        channels in 1..=2_usize,
        sizes in prop::collection::vec((1..=50_usize, 16..=6000_usize), 1..=3),
        [refresh, closes, takes] in any::<[bool; 3]>(),
    ) {
        Matrices { channels, sizes, refresh, closes, takes }.check();
    }
}

/// What is computed without data, one behind the other: matrices, and heads with queries that share them.
#[derive(Clone, Debug)]
struct Computed {
    options: AimOptions,
    /// Rows and columns.
    matrices: Vec<(usize, usize)>,
    /// Elements of a vector, tokens and queries.
    heads: Vec<(usize, usize, usize)>,
}

impl Computed {
    /// Computes it. Returns what is told of the pins, what it has cost, and how many rows and chunks of scores were passed.
    fn run(&self, steps: bool) -> (Vec<(u64, String)>, Vec<Statistics>, [u64; 2]) {
        let config = Config::gddr6_aim();
        let options = self.options;
        let module = Module::new(config.clone(), AimUnits::models(&config, options), options);
        let mut host = AimHost::new(if steps { module.stepping() } else { module });
        let told = Rc::default();
        host.watch(Box::new(Log { told: Rc::clone(&told), takes: true }));
        host.leave_data_out();
        let mut costs = Vec::new();
        for &(rows, columns) in &self.matrices {
            let layout = AimLayout::new(&config, &options, rows, columns, 0).expect("it fits");
            host.hold(&[layout]).expect("there are rows");
            let (_, cost) = host.product(&layout, &vec![0; columns]).expect("models alone");
            costs.push(cost);
            host.release(&[layout]);
        }
        for &(head_dim, context, queries) in &self.heads {
            let head = AimHead::new(&config, &options, head_dim, context, 0).expect("it fits");
            host.hold(&head.matrices()).expect("there are rows");
            let query = vec![0; head_dim];
            let of_queries = match options.shared_rows {
                true => host.shared_attention(&head, &vec![&query[..]; queries], 0x3C00),
                false => {
                    let each = (0..queries).map(|_| host.attention(&head, &query, 0x3C00));
                    each.collect()
                }
            };
            costs.extend(of_queries.expect("models alone").into_iter().flat_map(
                |AimAttention { score, softmax, context }| {
                    [score, softmax, context].map(|step| step.statistics)
                },
            ));
            host.release(&head.matrices());
        }
        let passed = [SpanKind::Reads, SpanKind::Chunks].map(|kind| host.passed_spans(kind));
        let mut told = told.take();
        told.sort();
        (told, costs, passed)
    }

    /// Compares. Returns how many rows and chunks of scores were passed.
    fn check(&self) -> [u64; 2] {
        let (told, costs, passed) = self.run(false);
        let (told_stepped, costs_stepped, none) = self.run(true);
        let differs = told.iter().zip(&told_stepped).find(|(one, other)| one != other);
        assert_eq!((differs, told.len()), (None, told_stepped.len()));
        assert_eq!(costs, costs_stepped);
        assert_eq!(none, [0; 2]);
        passed
    }
}

#[test]
fn most_rows_that_are_read_and_most_chunks_are_passed() {
    // Spans of two rows each, of 160 of a matrix and of 256 of K and V; and of 1024 chunks, each of which is taken twice.
    for (refresh, least) in [(false, [60, 90, 2000]), (true, [30, 40, 1700])] {
        let options = AimOptions { channels: 1, refresh, ..AimOptions::default() };
        let (matrices, heads) = (vec![(16 * 40, 4096)], vec![(128, 16 * 1024, 1)]);
        let of_matrix = Computed { options, matrices, heads: Vec::new() }.check();
        let of_head = Computed { options, matrices: Vec::new(), heads }.check();
        let passed = [of_matrix[0], of_head[0], of_head[1]];
        let are_most = passed.iter().zip(least).all(|(passed, least)| *passed >= least);
        assert!(are_most, "refresh {refresh}: {passed:?}");
    }
}

fn computed() -> impl Strategy<Value = Computed> {
    let flags = any::<[bool; 6]>();
    let numbers =
        (1..=2_usize, 1..=64_usize, 1..=Pu::LATENCY, prop::sample::select(vec![2, 4, 8, 16]));
    let matrices = prop::collection::vec((1..=600_usize, 16..=5000_usize), 0..=2);
    let heads = prop::collection::vec(
        (prop::sample::select(vec![32, 64, 80, 128]), 1..=3000_usize, 1..=2_usize),
        0..=2,
    );
    (flags, numbers, matrices, heads).prop_map(|(flags, numbers, matrices, heads)| {
        let [refresh, mode_change, shared_rows, single, outputs, of_tiles] = flags;
        let (channels, tile_words, pu_clocks, softmax_lanes) = numbers;
        let order = if outputs { Order::OutputStationary } else { Order::InputStationary };
        let tile_words = if of_tiles { tile_words } else { GLOBAL_WORDS };
        let mapping = AimMapping { order, tile_words, k_row_tokens: None };
        let io_buffers = if single { IoBuffers::Single } else { IoBuffers::PingPong };
        let pu_clocks = if of_tiles { pu_clocks } else { Pu::LATENCY };
        let options = AimOptions {
            channels,
            io_buffers,
            refresh,
            mode_change,
            mapping,
            pu_clocks,
            softmax_lanes,
            head_pipeline: false,
            shared_rows,
        };
        Computed { options, matrices, heads }
    })
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn operators_without_data_are_alike(computed in computed()) {
        computed.check();
    }
}
