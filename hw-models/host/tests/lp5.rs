// SPDX-License-Identifier: MIT
//! Products on LPDDR5X-PIM beside `golden`'s, bit for bit, with `golden` at the pins of every channel; and what faults look like.

use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::mode::{DRAIN, ReservedRows, SETUP_COLUMN};
use pimlico_device::lp5::{
    BlockElements, BlockFormats, BurstPlace, GemvPlan, Lp5Device, Lp5Layout, Lp5Options, Lp5Spec,
    Request, Vector,
};
use pimlico_device::{BusDriver, Device, PinWatch, Statistics};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_golden::column_gemv::column_gemv;
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::pins::{Driver, Pin, Rules};
use pimlico_golden::pins_lp5::Lp5Checker;
use pimlico_golden::reduction::Precision;
use pimlico_host::lp5::Lp5Matrix;
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// `golden` at the pins of a channel.
#[derive(Clone)]
struct Judge(Rc<RefCell<(Lp5Checker, Vec<String>)>>);

impl Judge {
    fn new(spec: &Lp5Spec, refresh: bool) -> Self {
        let timing = &spec.timing;
        let rules = Rules {
            bank_groups: spec.organisation.bank_groups,
            banks_per_group: spec.organisation.banks_per_group,
            burst: timing.burst_tck,
            t_ccd_s: timing.ccd_s_tck,
            t_ccd_l: timing.ccd_l_tck,
            t_ccd_result: None,
            t_rrd_s: timing.rrd_s_tck,
            t_rrd_l: timing.rrd_l_tck,
            t_faw: timing.faw_tck,
            faw_banks: 16,
            t_rcd: timing.rcd_tck,
            t_rcd_wr: timing.rcd_wr_tck,
            t_rcd_mac: timing.rcd_mac_tck,
            t_ras: timing.ras_tck,
            t_rp: timing.rp_tck,
            t_rc: timing.rc_tck,
            cl: timing.cl_tck,
            cwl: timing.cwl_tck,
            cl_reg: None,
            cwl_gb: None,
            t_modch: None,
            rtw_gap: timing.rtw_gap_tck,
            t_wtr_s: timing.wtr_s_tck,
            t_wtr_l: timing.wtr_l_tck,
            t_wtr_shared: None,
            t_wr: timing.wr_tck,
            t_rtp: timing.rtp_tck,
            t_rfc: timing.rfc_tck,
            t_refi: refresh.then_some(timing.refi_tck),
            max_postponed: timing.max_postponed_refs,
            locked: false,
        };
        let checker = Lp5Checker::new(rules, spec.organisation.rows);
        Self(Rc::new(RefCell::new((checker, Vec::new()))))
    }

    fn add(&self, found: Vec<pimlico_golden::pins::Violation>) {
        let mut of = self.0.borrow_mut();
        if of.1.len() < 4 {
            of.1.extend(found.iter().map(ToString::to_string));
        }
    }
}

impl PinWatch for Judge {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        let (bank, row, column) = (pins.bank.get() as usize, pins.row(), pins.column());
        let pin = match pins.command {
            PinCommand::Act => Pin::Act { bank, row },
            PinCommand::Pre => Pin::Pre { bank },
            PinCommand::PreAll => Pin::PreAll,
            PinCommand::Rd => Pin::Rd { bank, column },
            PinCommand::Wr => Pin::Wr { bank, column },
            PinCommand::Ref => Pin::Ref,
            other => panic!("{other:?}: no command of LPDDR5X"),
        };
        let found = self.0.borrow_mut().0.command(at_tck, pin);
        self.add(found);
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        let driver = match driver {
            BusDriver::Chips => Driver::Dram,
            BusDriver::BufferChip => Driver::Controller,
        };
        let found = self.0.borrow_mut().0.data(from_tck, until_tck, driver);
        self.add(found);
    }
}

/// A matrix and a vector of moderate numbers, and a device that has the matrix.
struct Bench {
    spec: Lp5Spec,
    options: Lp5Options,
    device: Lp5Device,
    judges: Vec<Judge>,
    matrix: Lp5Matrix,
    weights: Vec<u16>,
    inputs: Vec<u16>,
}

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

impl Bench {
    fn new(name: &str, (rows, columns): (u64, u64), options: Lp5Options, seed: u64) -> Self {
        let spec = Lp5Spec::built_in(name).expect("a device");
        let map = spec.map().expect("a map");
        let layout = Lp5Layout::new(&map, rows, columns, seed % 20..65_532).expect("it fits");
        let mut device = Lp5Device::new(&spec, options).expect("a device");
        let judges: Vec<_> = (0..4).map(|_| Judge::new(&spec, options.refresh)).collect();
        for (channel, judge) in judges.iter().enumerate() {
            device.watch_channel(channel, Box::new(judge.clone()));
        }
        let mut state = seed;
        // Numbers from 2^-3 to 2 in either format, of either sign.
        let (base, span) = match options.formats.elements {
            BlockElements::Bfloat16 => (0x3E00, 0x0200),
            BlockElements::Binary16 => (0x3000, 0x1000),
        };
        let mut number = || {
            let bits = random(&mut state);
            (base + bits as u16 % span) | (bits >> 48) as u16 & 0x8000
        };
        let weights = (0..rows * columns).map(|_| number()).collect();
        let inputs = (0..columns).map(|_| number()).collect();
        let matrix = Lp5Matrix::new(layout, 0);
        Self { spec, options, device, judges, matrix, weights, inputs }
    }

    fn vector(&self) -> impl Fn(u64, u64) -> Vector + Copy + '_ {
        let (rows, columns) = self.matrix.layout().shape();
        move |row, column| {
            let of_lane = |lane: usize| {
                let row = row + lane as u64;
                if row < rows { self.weights[(row * columns + column) as usize] } else { 0 }
            };
            std::array::from_fn(of_lane)
        }
    }

    fn load(&mut self) {
        let other = self.other();
        let mut device = std::mem::replace(&mut self.device, other);
        self.matrix.load(&mut device, self.vector()).expect("no waveform");
        self.device = device;
    }

    /// A device that is not used.
    fn other(&self) -> Lp5Device {
        Lp5Device::new(&self.spec, self.options).expect("a device")
    }

    fn run(&mut self) -> (Vec<u16>, Statistics) {
        self.load();
        self.device.begin();
        let outputs = self.matrix.multiply(&mut self.device, &self.inputs).expect("no waveform");
        (outputs, self.device.end())
    }

    fn expected(&self) -> Vec<u16> {
        let elements = match self.options.formats.elements {
            BlockElements::Bfloat16 => Format::BFLOAT16,
            BlockElements::Binary16 => Format::BINARY16,
        };
        let sums = if self.options.formats.wide { Format::BINARY32 } else { elements };
        let precision = Precision { elements, subnormals: Subnormals::Gradual, sums };
        column_gemv(&precision, &self.weights, &self.inputs)
    }

    fn violations(&self) -> Vec<String> {
        let tck = self.device.tck();
        for judge in &self.judges {
            let found = judge.0.borrow_mut().0.finish(tck);
            judge.add(found);
        }
        self.judges.iter().flat_map(|judge| judge.0.borrow().1.clone()).collect()
    }

    /// A product whose requests are changed on their way, of channel 0. Returns the results that are read there, and the
    /// counts.
    fn changed<R: Iterator<Item = Request>>(
        mut self,
        change: impl Fn(Vec<Request>) -> R,
    ) -> (bool, Self) {
        self.load();
        self.device.begin();
        let requests: Vec<_> = self.matrix.product(&self.inputs).collect();
        let results = ReservedRows::of(65_536).results();
        let mut read = Vec::new();
        let of_channel = |channel| -> Box<dyn Iterator<Item = Request>> {
            if channel == 0 {
                Box::new(change(requests.clone()))
            } else {
                Box::new(std::iter::empty())
            }
        };
        let outcome = self.device.run(of_channel, |channel, place, data| {
            if (channel, place.row) == (0, results) {
                read.push(*data);
            }
        });
        outcome.expect("no waveform");
        let expected = self.expected();
        // Vector 4 n is that of channel 0 in its n-th bank, register by register.
        let right = (0..read.len()).all(|n| {
            let rows = expected.iter().skip(64 * n).chain(std::iter::repeat(&0));
            read[n].iter().zip(rows).all(|(found, expected)| found == expected)
        });
        (right && !read.is_empty(), self)
    }
}

const NARROW: Lp5Options = Lp5Options {
    formats: BlockFormats { elements: BlockElements::Bfloat16, wide: false },
    refresh: true,
    plain: false,
};
const NAMES: [&str; 2] = ["lpddr5x-8533-pim", "lpddr5x-9600-pim"];

#[test]
fn products_are_goldens_and_pins_keep_their_rules() {
    let formats = [BlockElements::Bfloat16, BlockElements::Binary16];
    let formats = formats.into_iter().flat_map(|elements| [(elements, false), (elements, true)]);
    for (seed, ((elements, wide), shape)) in formats
        .zip([(1, 1), (1000, 300), (3000, 129), (9000, 70)])
        .chain([
            ((BlockElements::Bfloat16, true), (130, 1000)),
            ((BlockElements::Bfloat16, false), (5000, 7)),
        ])
        .enumerate()
    {
        let formats = BlockFormats { elements, wide };
        let options = Lp5Options { formats, refresh: seed != 1, plain: false };
        let mut bench = Bench::new(NAMES[seed % 2], shape, options, seed as u64 + 7);
        let (outputs, statistics) = bench.run();
        assert!(outputs == bench.expected(), "{shape:?}, {options:?}");
        assert_eq!(bench.violations(), [""; 0], "{shape:?}, {options:?}");
        let asked = bench.matrix.asked();
        for channel in 0..4 {
            let counts = bench.device.counts(channel);
            assert_eq!(
                (counts.macs, counts.inputs, counts.outputs),
                (asked.macs, asked.inputs, asked.outputs)
            );
            assert_eq!((counts.stale, counts.faults), (0, 0));
            assert!(!bench.device.is_multi_bank(channel));
        }
        let slots = statistics.used * bench.spec.timing.ccd_l_tck + statistics.lost_tck.total();
        assert_eq!((statistics.used, slots), (asked.macs, statistics.cycles), "{statistics:?}");
        assert_eq!(statistics.lost_tck.bubble, 0, "a MAC in every tCCD_L");
    }
}

/// Weights are read as they were written, by the mode of single banks, wherever they are.
#[test]
fn what_is_written_is_read() {
    let mut bench = Bench::new(NAMES[0], (1500, 40), NARROW, 3);
    bench.load();
    let (matrix, vector) = (&bench.matrix, bench.vector());
    let mut device = bench.other();
    matrix.load(&mut device, vector).expect("no waveform");
    for channel in 0..4 {
        let stores: Vec<_> = matrix.stores(channel, vector).collect();
        let loads = stores.iter().filter_map(Request::place).map(Request::Read);
        let mut expected = stores.iter();
        let of = |n| if n == channel { loads.clone().collect() } else { Vec::new() };
        let read = |_, place: BurstPlace, data: &Vector| {
            assert_eq!(expected.next(), Some(&Request::Write(place, *data)));
        };
        device.run(|n| of(n).into_iter(), read).expect("no waveform");
        assert_eq!(expected.next(), None);
    }
}

/// The engine's tCK against the closed form, which knows no command.
#[test]
fn the_closed_form_agrees() {
    for (name, shape, fence) in
        [(NAMES[0], (512, 2048), 0), (NAMES[1], (2048, 1024), 0), (NAMES[0], (2048, 1024), 160)]
    {
        let mut bench = Bench::new(name, shape, NARROW, 20);
        bench.matrix = Lp5Matrix::new(bench.matrix.layout().clone(), fence);
        let (_, statistics) = bench.run();
        let plan = GemvPlan::new(&bench.spec.timing, bench.matrix.layout());
        let planned = plan.refreshed_tck(&bench.spec.timing) + 2.0 * fence as f64;
        let found = statistics.cycles as f64;
        assert!((found / planned - 1.0).abs() < 0.05, "{name}, {shape:?}: {found} of {planned}");
    }
}

fn plain() -> Bench {
    of_rows(2048)
}

fn of_rows(rows: u64) -> Bench {
    Bench::new(NAMES[0], (rows, 200), NARROW, 5)
}

#[test]
fn an_unchanged_product_is_right() {
    let (is_right, bench) = plain().changed(Vec::into_iter);
    assert!(is_right && bench.violations().is_empty());
    assert_eq!((bench.device.counts(0).stale, bench.device.counts(0).faults), (0, 0));
}

#[test]
fn a_short_drain_is_found() {
    let results = ReservedRows::of(65_536).results();
    for short in 1..=DRAIN {
        // With one register the last MAC is of the first that is written to a row.
        let (is_right, bench) = of_rows(1000).changed(|requests| {
            let mut left = short;
            let keep = move |request: &Request| {
                let drains =
                    *request == Request::Read(BurstPlace { bank: 0, row: results, column: 0 });
                let drop = drains && left > 0;
                left -= usize::from(drop);
                !drop
            };
            requests.into_iter().filter(keep)
        });
        assert!(!is_right, "{short} too few");
        assert!(bench.device.counts(0).stale > 0, "{short} too few");
    }
}

#[test]
fn another_order_of_lanes_is_found() {
    let (is_right, _) = plain().changed(|requests| {
        requests.into_iter().map(|request| match request {
            Request::Write(place, mut data) if place.column < 8 && place.row < 60_000 => {
                data.swap(2, 9);
                Request::Write(place, data)
            }
            other => other,
        })
    });
    assert!(!is_right, "inputs in another order");
    let mut bench = plain();
    bench.weights.chunks_mut(200 * 16).for_each(|rows| {
        let (above, below) = rows.split_at_mut(200);
        above.swap_with_slice(&mut below[..200]);
    });
    let expected = bench.expected();
    let (outputs, _) = plain().run();
    assert!(outputs != expected, "weights in another order");
}

#[test]
fn another_order_of_columns_and_registers_is_found() {
    // The setup says one register more than there are, or starts a burst later.
    for (bits, with) in [(1 << 10, 1 << 10), (1, 1)] {
        let (is_right, bench) = plain().changed(|requests| {
            requests.into_iter().map(move |request| match request {
                Request::Write(place, mut data)
                    if place.column == SETUP_COLUMN && place.row < 60_000 =>
                {
                    data[0] = if data[0] & bits == 0 { data[0] | with } else { data[0] & !bits };
                    Request::Write(place, data)
                }
                other => other,
            })
        });
        let faults = bench.device.counts(0).faults;
        assert!(!is_right || faults > 0, "{bits:#x}");
    }
}

#[test]
fn a_mode_that_is_not_left_is_found() {
    let exit = ReservedRows::of(65_536).exit();
    let (is_right, bench) = plain().changed(|requests| {
        let leaves = |request: &Request| request.place().is_some_and(|place| place.row == exit);
        requests.into_iter().filter(move |request| !leaves(request))
    });
    assert!(!is_right, "no result is read in the mode of all banks");
    assert!(bench.device.is_multi_bank(0));
    assert!(bench.judges[0].0.borrow().0.is_multi_bank());
}

#[test]
fn weights_are_not_written_in_the_mode_of_all_banks() {
    let (is_right, bench) = plain().changed(|requests| {
        let mut done = false;
        requests.into_iter().flat_map(move |request| {
            let macs = matches!(request, Request::Read(place) if place.row < 60_000);
            let write = (macs && !done).then(|| {
                done = true;
                let place = request.place().expect("a read");
                Request::Write(BurstPlace { column: 63, ..place }, [1; LANES])
            });
            write.into_iter().chain([request])
        })
    });
    assert!(is_right && bench.device.counts(0).faults == 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// MACs in any order and from wherever refreshes fall have the same operands: rows of a product in which each sum is exact.
    #[test]
    fn any_order_of_reads_gives_the_same_operands(seed in 1u64..1000, distance in 2usize..40) {
        let ones = |mut bench: Bench| {
            bench.weights.iter_mut().for_each(|weight| *weight = 0x3F80);
            bench.inputs.iter_mut().for_each(|input| *input = 0x3F80);
            bench
        };
        let bench = ones(Bench::new(NAMES[1], (900, 128), NARROW, seed));
        let (is_right, bench) = bench.changed(|mut requests| {
            let is_mac = |request: &Request| matches!(request, Request::Read(place) if place.row < 60_000);
            let from = requests.iter().position(is_mac).expect("MACs") + 1;
            let until = requests.iter().rposition(is_mac).expect("MACs") + 1;
            // The first stays where it is, as the sum begins with it.
            requests[from..until].chunks_mut(distance).for_each(<[Request]>::reverse);
            requests.into_iter()
        });
        prop_assert!(is_right);
        prop_assert_eq!(bench.violations(), Vec::<String>::new());
    }

    /// Requests of any kind in the mode of single banks: the pins keep their rules, and what is read is what was written last.
    #[test]
    fn loads_and_stores_are_kept_and_pins_keep_their_rules(
        seed in any::<u64>(),
        banks in 1u64..=16,
        rows in 1u64..4,
        count in 1usize..3000,
    ) {
        let mut state = seed;
        let mut requests = Vec::new();
        for _ in 0..count {
            let bits = random(&mut state);
            let place = BurstPlace {
                bank: (bits % banks) as u8,
                row: (bits >> 8) as u32 % rows as u32 * 21_000,
                column: (bits >> 16) as u8 % 64,
            };
            requests.push(match bits >> 24 & 7 {
                0..3 => Request::Write(place, [(bits >> 32) as u16; LANES]),
                7 if bits >> 27 & 15 == 0 => Request::Fence { tck: bits >> 32 & 1023 },
                _ => Request::Read(place),
            });
        }
        let mut bench = Bench::new(NAMES[(seed % 2) as usize], (16, 1), NARROW, 1);
        let mut cells = std::collections::HashMap::new();
        let mut expected = Vec::new();
        for request in &requests {
            match request {
                Request::Write(at, data) => drop(cells.insert((at.bank, at.row, at.column), *data)),
                Request::Read(at) => {
                    let data = cells.get(&(at.bank, at.row, at.column)).copied();
                    expected.push((*at, data.unwrap_or_default()));
                }
                Request::Fence { .. } => {}
            }
        }
        let mut found = Vec::new();
        let of = |channel| if channel == 2 { requests.clone() } else { Vec::new() };
        let read = |channel, place, data: &Vector| {
            assert_eq!(channel, 2);
            found.push((place, *data));
        };
        bench.device.run(|channel| of(channel).into_iter(), read).expect("no waveform");
        prop_assert!(found == expected);
        prop_assert_eq!(bench.violations(), Vec::<String>::new());
    }
}
