// SPDX-License-Identifier: MIT
//! The engine of AiM channels, with its short cuts and with every tCK stepped: its reports, and what is on the pins while rows are
//! written without data. A long run: `PROPTEST_CASES=1000 cargo test -p pimlico-workload aim_ahead::`.

use super::cases::cases;
use pimlico_device::aim::{
    AimDevice, AimLayout, AimOptions, AimUnits, ArrayRequest, Module, Requests, Word,
};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{BusDriver, Config, Device, PinWatch, WriteRun};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_host::aim::AimHost;
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
        (told, counted, module.passed_rows())
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
