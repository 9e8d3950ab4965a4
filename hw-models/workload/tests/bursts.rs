// SPDX-License-Identifier: MIT
//! The engine's short cuts for a host that writes and reads memory: bursts that are moved whole, and runs of writes that
//! are one step, against the same bursts beat by beat. Arrays, what is read, what those who watch the pins are told, counts,
//! time and reports are equal. A long run: `PROPTEST_CASES=500 cargo test -p pimlico-workload bursts::`.

use super::cases::cases;
use pimlico_device::data_bus::Beats;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::mapping::Place;
use pimlico_device::{
    BURST_TCK, BankOrder, BusDriver, Config, Dimm, Gear, HostTransfer, KnownLaps, Options,
    PinWatch, Rank, RankDevice, SCORE_BUFFER, Statistics, WriteRun,
};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::HostPort;
use pimlico_host::memory_controller::Transaction;
use pimlico_host::strips::{self, Strip, Strips, Writing};
use pimlico_model::data::Distribution;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::operator;
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Rows that the tests write, and more.
const ROWS: usize = 200;

/// What is told.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Command(u64, Pins),
    Data(u64, u64, BusDriver),
    Host(u64, Pins),
    /// What is on the host's data bus in a tCK, if it is something.
    Beats(u64, [Option<u64>; 2], [Option<u64>; 2]),
    /// A burst there, told with its last tCK.
    Burst(u64, Beats, bool),
}

/// All that is, beat by beat or, where whole bursts will do, burst by burst.
#[derive(Clone)]
struct Log {
    beats: bool,
    told: Rc<RefCell<Vec<Told>>>,
    /// Beats of the host and of the module that are no burst yet.
    parts: [Vec<u64>; 2],
    /// Bursts that were told as a whole.
    whole: Rc<Cell<usize>>,
    /// Runs of writes are taken as a whole: what bursts hold is not told of any write then.
    runs: bool,
    /// Writes in them.
    in_runs: Rc<Cell<u64>>,
}

impl Log {
    fn new(beats: bool) -> Self {
        let parts = [const { Vec::new() }; 2];
        let (told, whole, in_runs) = (Rc::default(), Rc::default(), Rc::default());
        Self { beats, told, parts, whole, runs: false, in_runs }
    }

    fn tell(&self, told: Told) {
        self.told.borrow_mut().push(told);
    }
}

impl PinWatch for Log {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        self.tell(Told::Command(at_tck, pins));
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        self.tell(Told::Data(from_tck, until_tck, driver));
    }

    fn host_command(&mut self, at_tck: u64, pins: Pins) {
        self.tell(Told::Host(at_tck, pins));
    }

    fn wants_beats(&self) -> bool {
        self.beats
    }

    fn host_burst(&mut self, from_tck: u64, beats: &Beats, read: bool) {
        self.whole.update(|count| count + 1);
        let beats = if self.runs && !read { Beats::default() } else { *beats };
        self.tell(Told::Burst(from_tck, beats, read));
    }

    fn takes(&mut self, _run: &WriteRun) -> bool {
        self.runs
    }

    fn writes(&mut self, run: &WriteRun, host_tck: u64, chips_tck: u64) {
        self.in_runs.update(|count| count + run.count);
        for (number, (bank, column)) in (0..run.count).zip(run.places()) {
            let (tck, data_tck) = (run.tck(number), chips_tck + number * BURST_TCK);
            self.tell(Told::Host(tck, Pins::wr(bank, column)));
            self.tell(Told::Command(tck, Pins::wr(bank, column)));
            self.tell(Told::Data(data_tck, data_tck + BURST_TCK, BusDriver::BufferChip));
            self.tell(Told::Burst(host_tck + number * BURST_TCK, Beats::default(), false));
        }
    }

    fn host_data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        if self.beats {
            if [driven, seen] != [[None; 2]; 2] {
                self.tell(Told::Beats(at_tck, driven, seen));
            }
            return;
        }
        for (side, beats) in [driven, seen].into_iter().enumerate() {
            self.parts[side].extend(beats.into_iter().flatten());
            if let Ok(beats) = Beats::try_from(&*self.parts[side]) {
                self.parts[side].clear();
                self.tell(Told::Burst(at_tck - 3, beats, side == 1));
            }
        }
    }
}

/// All that a device shows of what was done to it.
#[derive(Debug, PartialEq)]
struct Shown<T> {
    made: T,
    told: Vec<Told>,
    tck: u64,
    refreshed_tck: u64,
    statistics: Statistics,
    transfers: Vec<HostTransfer>,
}

fn shown<T>(
    device: &mut Attached<Rank>,
    beats: bool,
    run: impl Fn(&mut dyn RankDevice) -> T,
) -> Shown<T> {
    let log = Log::new(beats);
    device.dimm_mut().watch(Box::new(log.clone()));
    let made = run(device);
    let (tck, refreshed_tck) = (device.dimm().tck(), RankDevice::refreshed_tck(device));
    let (statistics, transfers) = (device.dimm_mut().end(), device.take_transfers());
    Shown { made, told: log.told.take(), tck, refreshed_tck, statistics, transfers }
}

/// Whether both ways are equal in all that is shown, and in the arrays.
fn equal<T: PartialEq + std::fmt::Debug>(
    config: &Config,
    options: Options,
    beats: bool,
    run: impl Fn(&mut dyn RankDevice) -> T,
) -> Result<(), TestCaseError> {
    let engine = || Attached::engine(config, options).expect("an L3 rank");
    let (mut whole, mut each) = (engine(), engine().beat_by_beat());
    let [of_whole, of_each] = [&mut whole, &mut each].map(|device| shown(device, beats, &run));
    let first = of_whole.told.iter().zip(&of_each.told).position(|(whole, each)| whole != each);
    if let Some(n) = first {
        let around = n.saturating_sub(3)..(n + 3).min(of_whole.told.len()).min(of_each.told.len());
        prop_assert_eq!(&of_whole.told[around.clone()], &of_each.told[around], "told {}", n);
    }
    prop_assert_eq!(of_whole.told.len(), of_each.told.len());
    prop_assert!(of_whole == of_each, "{:?} {:?}", of_whole.statistics, of_each.statistics);
    let [whole, each] = [&whole, &each].map(|device| device.dimm().dram());
    for row in 0..ROWS {
        for column in 0..config.columns() {
            let [whole, each] = [whole, each].map(|dram| dram.read_all_banks(row, column));
            prop_assert_eq!(whole, each, "row {} column {}", row, column);
        }
    }
    Ok(())
}

/// Presets, some with REFs that are often or take long, with either kind of ACT_ALL, and latencies of other chips.
fn configs() -> impl Strategy<Value = Config> {
    let preset = prop::sample::select(vec!["ddr4-3200", "ddr4-3200-16gb"]);
    let refresh = prop::option::of((80..600_u64, 2..12_u64));
    let latencies = prop::option::of((10..=24_u64, 9..=20_u64));
    let faw_banks = prop::sample::select(vec![4, 16]);
    (preset, refresh, latencies, faw_banks)
        .prop_map(|(preset, refresh, latencies, faw_banks)| {
            let mut config = Config::of_rank(preset).expect("a preset");
            let timing = &mut config.timing;
            timing.faw_banks = faw_banks;
            if let Some((rfc_tck, times)) = refresh {
                (timing.rfc_tck, timing.refi_tck) = (rfc_tck, times * rfc_tck + 100);
            }
            if let Some((cl_tck, cwl_tck)) = latencies {
                (timing.cl_tck, timing.cwl_tck) = (cl_tck, cwl_tck.min(cl_tck));
                (timing.cl_reg_tck, timing.cwl_gb_tck) = (timing.cl_tck, timing.cwl_tck);
            }
            config
        })
        .prop_filter("no rank, or no image", |config| {
            config.check_rank().is_ok() && HostPort::of(config).is_ok()
        })
}

fn options() -> impl Strategy<Value = Options> {
    let gear = prop::sample::select(vec![Gear::One, Gear::Two, Gear::Four]);
    (any::<bool>(), gear).prop_map(|(refresh, gear)| Options {
        refresh,
        gear,
        ..Options::default()
    })
}

/// A write or a read somewhere in a few rows; where it is, and what.
fn transaction() -> impl Strategy<Value = Transaction> {
    let place = (0..16_usize, prop::sample::select(vec![0_usize, 1, 7]), 0..128_usize);
    (place, any::<Beats>(), prop::bool::weighted(0.7)).prop_map(
        |((bank, row, column), beats, is_write)| {
            let place = Place { bank, row, column };
            if is_write { Transaction::Write(place, beats) } else { Transaction::Read(place) }
        },
    )
}

/// Runs of bursts to neighbouring columns of one bank group or of all, then back.
fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    let run = (transaction(), 0..200_usize, 0..5_usize).prop_map(|(first, count, step)| {
        let Place { bank, row, column } = first.place();
        (0..=count)
            .map(|n| {
                let bank = (bank + step * n) % 16;
                let place = Place { bank, row, column: (column + n / 4) % 128 };
                match first {
                    Transaction::Write(_, beats) => {
                        Transaction::Write(place, beats.map(|beat| beat.rotate_left(n as u32)))
                    }
                    Transaction::Read(_) => Transaction::Read(place),
                }
            })
            .collect::<Vec<_>>()
    });
    let alone = prop::collection::vec(transaction(), 0..40);
    prop::collection::vec(prop_oneof![2 => run, 1 => alone], 0..8).prop_map(|runs| runs.concat())
}

/// Strips, and data that follow from where they go and from when.
#[derive(Clone, Debug)]
struct Listed(Vec<Strip>);

impl Strips for Listed {
    fn strip(&mut self, number: usize) -> Option<Strip> {
        self.0.get(number).copied()
    }

    fn beats(&self, number: usize, Place { bank, row, column }: Place) -> Beats {
        let place = (((number * 16 + bank) << 8 | row) << 8 | column) as u64;
        std::array::from_fn(|beat| (place + beat as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }
}

/// Strips of a few rows: of all banks, each in another group than the one before, or of others in any order; some go on where
/// one before has ended.
fn strips() -> impl Strategy<Value = Listed> {
    let order = prop_oneof![
        4 => Just((0..16).map(|n| n % 4 * 4 + n / 4).collect::<Vec<_>>()),
        1 => Just((0..16).collect()),
        1 => prop::sample::subsequence((0..16).collect::<Vec<_>>(), 1..16),
        1 => Just(vec![0, 4, 8, 12]),
        1 => Just((0..16).collect::<Vec<_>>()).prop_shuffle(),
    ];
    let columns = prop_oneof![1..8_usize, 100..128_usize];
    let strip = (order, columns, 0..3_usize, any::<bool>());
    prop::collection::vec(strip, 1..9).prop_map(|strips| {
        let mut listed = Vec::<Strip>::new();
        for (banks, columns, row, goes_on) in strips {
            let column = listed
                .last()
                .filter(|_| goes_on)
                .map(|last| (last.row, last.column + last.columns));
            let (row, column) = column.filter(|(_, column)| *column < 128).unwrap_or((row, 0));
            let columns = columns.min(128 - column);
            listed.push(Strip { row, column, columns, banks: BankOrder::new(banks) });
        }
        Listed(listed)
    })
}

/// What was told, whenever.
fn in_order(mut told: Vec<Told>) -> Vec<Told> {
    let key = |told: &Told| match *told {
        Told::Command(tck, _) => (tck, 0, 0),
        Told::Host(tck, _) => (tck, 1, 0),
        Told::Data(tck, until_tck, driver) => (tck, 2, 2 * until_tck + driver as u64),
        Told::Beats(tck, ..) => (tck, 3, 0),
        Told::Burst(tck, _, read) => (tck, 4, u64::from(read)),
    };
    told.sort_by_key(key);
    told
}

proptest! {
    #![proptest_config(cases(60))]

    /// Strips, so many of their writes at a time, between other transactions: with runs as one step, and beat by beat.
    #[test]
    fn strips_are_equal(
        config in configs(),
        options in options(),
        all in prop::collection::vec((strips(), 1..3000_usize, transactions()), 1..3),
    ) {
        let write = |device: &mut dyn RankDevice, log: &Log, listed: bool| {
            let mut host = HostPort::of(device.config()).expect("an image");
            let mut read = Vec::new();
            for (strips, most, others) in &all {
                let (mut writing, mut cost) = (Writing::new(strips.clone()), Statistics::default());
                let mut list = strips::writes(strips.clone()).peekable();
                while !(if listed { list.peek().is_none() } else { writing.is_over() }) {
                    cost = cost.and(if listed {
                        let part = list.by_ref().take(*most);
                        host.transfer(device, part).expect("places").1
                    } else {
                        host.write_part(device, &mut writing, *most).expect("places")
                    });
                }
                read.push((cost, device.take_transfers(), device.tck()));
                let (beats, cost) = host.transfer(device, others.clone()).expect("places");
                read.push((cost, device.take_transfers(), beats.len() as u64));
                log.tell(Told::Burst(device.tck(), [beats.iter().flatten().fold(0, |all, beat| {
                    beat.wrapping_add(u64::rotate_left(all, 7))
                }); 8], true));
            }
            read
        };
        let shown = |beat_by_beat: bool| {
            let device = Attached::engine(&config, options).expect("an L3 rank");
            let mut device = if beat_by_beat { device.beat_by_beat() } else { device };
            let log = Log { runs: true, ..Log::new(false) };
            device.dimm_mut().watch(Box::new(log.clone()));
            let made = write(&mut device, &log, beat_by_beat);
            let (tck, refreshed_tck) = (device.dimm().tck(), RankDevice::refreshed_tck(&device));
            let statistics = device.dimm_mut().end();
            let told = log.told.take();
            let told = told.into_iter().map(|told| match told {
                Told::Burst(tck, _, false) => Told::Burst(tck, Beats::default(), false),
                told => told,
            });
            (made, in_order(told.collect()), tck, refreshed_tck, statistics, device)
        };
        let ((made, told, tck, refreshed_tck, statistics, runs), each) = (shown(false), shown(true));
        let first = told.iter().zip(&each.1).position(|(runs, each)| runs != each);
        if let Some(n) = first {
            let around = n.saturating_sub(3)..(n + 3).min(told.len()).min(each.1.len());
            prop_assert_eq!(&told[around.clone()], &each.1[around], "told {}", n);
        }
        prop_assert_eq!(told.len(), each.1.len());
        prop_assert_eq!((made, tck, refreshed_tck, statistics), (each.0, each.2, each.3, each.4));
        for row in 0..8 {
            for column in 0..config.columns() {
                let [runs, each] = [&runs, &each.5].map(|device| device.dimm().dram().read_all_banks(row, column));
                prop_assert_eq!(runs, each, "row {} column {}", row, column);
            }
        }
    }
}

/// Of rows that are written whole nearly all writes are in runs, whether or not what they hold is kept.
#[test]
fn rows_are_runs() {
    let banks = BankOrder::new((0..16).map(|n| n % 4 * 4 + n / 4));
    let rows = Listed((0..20).map(|row| Strip { row, column: 0, columns: 128, banks }).collect());
    let written = |keeps: bool| {
        let mut device =
            Attached::engine(&Config::ddr4_3200(), Options::default()).expect("a rank");
        if !keeps {
            device.leave_data_out(&KnownLaps::default());
        }
        let log = Log { runs: true, ..Log::new(false) };
        device.dimm_mut().watch(Box::new(log.clone()));
        let mut host = HostPort::new().expect("an image");
        let cost = host.write(&mut device, rows.clone()).expect("places");
        assert_eq!(cost.commands[PinCommand::Wr as usize], 20 * 2048);
        (cost, in_order(log.told.take()), log.in_runs.get())
    };
    let (kept, in_runs) = (written(true), written(true).2);
    assert_eq!(kept, written(false));
    assert!(in_runs > 19 * 2048, "{in_runs} writes of 40960");
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn transactions_are_equal(
        config in configs(),
        options in options(),
        beats in any::<bool>(),
        all in prop::collection::vec((transactions(), 0..700_u64), 1..4),
    ) {
        equal(&config, options, beats, |device| {
            let mut host = HostPort::of(device.config()).expect("an image");
            let of_part = |(transactions, pause_tck): &(Vec<Transaction>, u64)| {
                let done = host.transfer(device, transactions.clone()).expect("places");
                for _ in 0..*pause_tck {
                    device.step_memory(Pins::NONE, [None; 2]).expect("no mismatch");
                }
                (done, device.take_transfers(), device.tck())
            };
            all.iter().map(of_part).collect::<Vec<_>>()
        })?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn attention_is_equal(
        config in configs(),
        options in options(),
        head_dim in prop_oneof![prop::sample::select(vec![64, 128, 256]), 1..=256_usize],
        (heads, group) in prop::sample::select(vec![(1, 1), (4, 2), (8, 8), (2, 1)]),
        contexts in prop::collection::vec(1..900_usize, 1..4),
        seed in any::<u64>(),
    ) {
        let job = AttentionJob {
            model: "small".to_owned(),
            head_dim,
            heads,
            group,
            contexts,
            distribution: Distribution::Random,
            seed,
        };
        // The report has what the checkers at the pins have found.
        equal(&config, options, true, |device| {
            let report = operator::on_rank(device, &job).expect("it runs");
            serde_json::to_string(&report).expect("a report")
        })?;
    }

    #[test]
    fn gemv_is_equal(
        config in configs(),
        options in options(),
        (rows, columns) in prop_oneof![(1..=40_usize, 1..=5000_usize), (1..=400_usize, 1..=300_usize)],
        seed in any::<u64>(),
    ) {
        let job = GemvJob { rows, columns, io_buffers: IoBuffers::Single, seed };
        // The report has what the checkers at the pins have found.
        equal(&config, options, true, |device| {
            let report = operator::on_rank(device, &job).expect("it runs");
            serde_json::to_string(&report).expect("a report")
        })?;
    }
}

#[test]
fn bursts_are_moved_whole_unless_they_must_not_be() {
    let moved = |beats: bool, config: &Config, beat_by_beat: bool| {
        let device = Attached::engine(config, Options::default()).expect("an L3 rank");
        let mut device = if beat_by_beat { device.beat_by_beat() } else { device };
        let log = Log::new(beats);
        device.dimm_mut().watch(Box::new(log.clone()));
        let mut host = HostPort::new().expect("an image");
        let place = |n| Place { bank: n % 16, row: 3, column: n };
        let writes = (0..50).map(|n| Transaction::Write(place(n), [n as u64; 8]));
        let reads = (0..50).map(|n| Transaction::Read(place(n)));
        let (read, _) = host.transfer(&mut device, writes.chain(reads)).expect("places");
        let in_time = config.timing.cwl_tck == Config::ddr4_3200().timing.cwl_tck;
        assert!(!in_time || read.iter().enumerate().all(|(n, beats)| *beats == [n as u64; 8]));
        log.whole.get()
    };
    let config = Config::ddr4_3200();
    assert_eq!(moved(false, &config, false), 100);
    assert_eq!(moved(false, &config, true), 0);
    // Who wants beats is told of beats; data that come when the chips do not take them go beat by beat.
    assert_eq!(moved(true, &config, false), 0);
    let mut late = config;
    (late.timing.cwl_tck, late.timing.cwl_gb_tck) = (14, 14);
    assert_eq!(moved(false, &late, false), 0);
}

#[test]
fn a_context_beyond_the_score_buffer_is_equal() {
    let job = AttentionJob {
        model: "small".to_owned(),
        head_dim: 32,
        heads: 2,
        group: 2,
        contexts: vec![SCORE_BUFFER / 2 + 1000],
        distribution: Distribution::Random,
        seed: 1,
    };
    let [whole, each] = [false, true].map(|beat_by_beat| {
        let device = Attached::engine(&Config::ddr4_3200(), Options::default());
        let device = device.expect("an L3 rank");
        let mut device = if beat_by_beat { device.beat_by_beat() } else { device };
        let report = operator::on_rank(&mut device, &job).expect("it runs");
        serde_json::to_string(&report).expect("a report")
    });
    assert_eq!(whole, each);
}
