// SPDX-License-Identifier: MIT
//! Writes that the engine passes from one REF to the next against the same writes beat by beat: equal time, counts, transfers
//! on the host's channel, and findings of the checkers at the pins. A long run:
//! `PROPTEST_CASES=1000 cargo test -p pimlico-workload stretches::`.

use super::cases::cases;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::mapping::Place;
use pimlico_device::{BankOrder, Config, Dimm, Gear, KnownLaps, Options, RankDevice};
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::HostPort;
use pimlico_host::memory_controller::Transaction;
use pimlico_host::strips::{Strip, Strips, Writing};
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::operator;
use proptest::prelude::*;

/// Strips without data.
#[derive(Clone, Debug)]
struct Listed(Vec<Strip>);

impl Strips for Listed {
    fn strip(&mut self, number: usize) -> Option<Strip> {
        self.0.get(number).copied()
    }

    fn beats(&self, _: usize, _: Place) -> [u64; 8] {
        [0; 8]
    }
}

/// What a host does: strips, so many of their writes at a time, then reads.
#[derive(Clone, Debug)]
struct Load {
    strips: Listed,
    most: usize,
    reads: usize,
}

/// Writes all loads with one host. Returns all that shows, and how many stretches were passed.
fn shown(
    [config, known]: [&Config; 2],
    options: Options,
    loads: &[Load],
    [beat_by_beat, is_watched]: [bool; 2],
) -> (String, u64) {
    let device = Attached::engine(config, options).expect("an L3 rank");
    let mut device = if beat_by_beat { device.beat_by_beat() } else { device };
    device.leave_data_out(&KnownLaps::default());
    let log = is_watched.then(|| PinLog::of(&mut device));
    let mut host = HostPort::of(known).expect("an image");
    let mut shown = Vec::new();
    for Load { strips, most, reads } in loads {
        let mut writing = Writing::new(strips.clone());
        while !writing.is_over() {
            let cost = host.write_part(&mut device, &mut writing, *most).expect("places");
            shown.push(format!("{cost:?} {:?}", device.take_transfers()));
        }
        let place = |n: usize| Place { bank: n % 16, row: n / 20, column: n % 128 };
        let reads = (0..*reads).map(|n| Transaction::Read(place(n)));
        let (_, cost) = host.transfer(&mut device, reads).expect("places");
        shown.push(format!("{cost:?} {:?}", device.take_transfers()));
    }
    let tck = RankDevice::refreshed_tck(&device);
    shown.push(format!("{} {tck} {:?}", device.dimm().tck(), device.dimm_mut().end()));
    shown.extend(log.map(|log| format!("{:?}", log.findings(device.dimm().tck()))));
    (shown.join("\n"), device.dimm().passed_stretches())
}

/// A preset with REFs often, as the host knows it; and as it is, which may ask for more than the host keeps.
fn configs() -> impl Strategy<Value = [Config; 2]> {
    let preset = prop::sample::select(vec!["ddr4-3200", "ddr4-3200-16gb"]);
    let more = prop_oneof![3 => Just([0; 4]), 1 => [0..8_u64, 0..8, 0..8, 0..40]];
    (preset, 700..5000_u64, more).prop_map(|(preset, refi_tck, [rcd, rp, wr, rfc])| {
        let mut known = Config::of_rank(preset).expect("a preset");
        known.timing.refi_tck = refi_tck.max(known.timing.rfc_tck + 400);
        let mut config = known.clone();
        config.timing.rcd_wr_tck += rcd;
        config.timing.rp_tck += rp;
        config.timing.rc_tck += rp;
        config.timing.wr_tck += wr;
        config.timing.rfc_tck += rfc;
        [config, known]
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

/// Strips that are alike for some rows, of few columns, so that REFs come at the same places again; here and there a row is
/// written again, or one strip has other columns.
fn strips() -> impl Strategy<Value = Listed> {
    let order = prop_oneof![
        4 => Just((0..16).map(|n| n % 4 * 4 + n / 4).collect::<Vec<_>>()),
        1 => Just((0..16).collect()),
        1 => Just(vec![0, 4, 8, 12, 1, 5, 9, 13]),
        1 => Just(vec![0, 4, 8, 12]),
    ];
    let columns = prop_oneof![4 => 2..24_usize, 1 => 24..128_usize];
    let odd = prop::option::of(0..200_usize);
    let alike = (order, columns, 0..4_usize, 20..250_usize, odd);
    prop::collection::vec(alike, 1..3).prop_map(|all| {
        let mut listed = Vec::new();
        for (banks, columns, column, count, odd) in all {
            let banks = BankOrder::new(banks);
            for n in 0..count.min(12_000 / columns) {
                let (row, columns) = match odd {
                    Some(odd) if odd == n => (n.saturating_sub(1), columns),
                    Some(odd) if odd + 30 == n => (n, columns / 2 + 1),
                    _ => (n, columns),
                };
                listed.push(Strip { row, column, columns: columns.min(128 - column), banks });
            }
        }
        Listed(listed)
    })
}

fn loads() -> impl Strategy<Value = Vec<Load>> {
    let load = (strips(), 500..60_000_usize, 0..60_usize);
    let load = load.prop_map(|(strips, most, reads)| Load { strips, most, reads });
    prop::collection::vec(load, 1..3)
}

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn stretches_are_equal(
        [config, known] in configs(),
        options in options(),
        loads in loads(),
        is_watched in prop::bool::weighted(0.8),
    ) {
        let of = |beat_by_beat| shown([&config, &known], options, &loads, [beat_by_beat, is_watched]);
        let ((passing, _), (each, none)) = (of(false), of(true));
        prop_assert_eq!(none, 0);
        prop_assert_eq!(passing, each);
    }
}

/// What is kept is written, of a matrix whose rows are made as they are wanted.
#[test]
fn data_are_not_passed() {
    let mut device = Attached::engine(&Config::ddr4_3200(), Options::default()).expect("a rank");
    let job = GemvJob { rows: 112, columns: 4096, io_buffers: IoBuffers::Single, seed: 1 };
    operator::on_rank(&mut device, &job).expect("the products are golden's");
    assert_eq!(device.dimm().passed_stretches(), 0);
}

/// Of rows that take longer than from one REF to the next most is passed, wherever in a row a REF comes.
#[test]
fn long_runs_are_passed() {
    let config = Config::ddr4_3200();
    let banks = BankOrder::new((0..16).map(|n| n % 4 * 4 + n / 4));
    for (columns, least) in [(128, 115), (97, 80)] {
        let strip = |row| Strip { row, column: 3 * (128 - columns) / 4, columns, banks };
        let strips = Listed((0..250).map(strip).collect());
        let loads = [Load { strips, most: usize::MAX, reads: 5 }];
        let of = |by_beat| shown([&config; 2], Options::default(), &loads, [by_beat, true]);
        let ((passing, passed), (each, _)) = (of(false), of(true));
        assert_eq!(passing, each);
        assert!(passed >= least, "{passed} were passed of {columns} columns");
    }
}

/// Of a load of rows that are alike most is passed; nothing is, where a rule is broken in each stretch.
#[test]
fn rows_that_are_alike_are_passed() {
    let mut known = Config::ddr4_3200();
    known.timing.refi_tck = 2000;
    let mut slow = known.clone();
    slow.timing.rcd_wr_tck += 5;
    let banks = BankOrder::new((0..16).map(|n| n % 4 * 4 + n / 4));
    let strip = |row| Strip { row, column: 0, columns: 4, banks };
    let strips = Listed((0..3000).map(strip).collect());
    let loads = [Load { strips, most: usize::MAX, reads: 5 }];
    for (config, least, most) in [(&known, 150, u64::MAX), (&slow, 0, 0)] {
        let of = |by_beat| shown([config, &known], Options::default(), &loads, [by_beat, true]);
        let ((passing, passed), (each, _)) = (of(false), of(true));
        assert_eq!(passing, each);
        assert!((least..=most).contains(&passed), "{passed} were passed");
    }
}
