// SPDX-License-Identifier: MIT
//! Channels of NeuPIMs: faults that are planted, each found by the checker at the pins or by the reference.

use pimlico_device::neupims::{
    ChannelOptions, ChannelPins, ChannelWatch, Commands, NeupimsChannel, NeupimsSpec,
};
use pimlico_host::neupims::{Both, TileStream, WeightStream};
use pimlico_units::channel::ChannelCommand;
use pimlico_workload::judge::dual_pins::DualPinLog;
use pimlico_workload::neupims::product::ProductJob;
use pimlico_workload::neupims::row_buffers::{RowBufferStudy, Work};
use pimlico_workload::neupims::{ChannelsBy, Setup};

fn spec() -> NeupimsSpec {
    NeupimsSpec::built_in("hbm2-neupims").expect("it is there")
}

fn timing() -> ChannelOptions {
    ChannelOptions { data: false, ..ChannelOptions::default() }
}

/// A timing of the controller that is a tCK short. What waits for tRFC is picked or admitted when that is over, and comes in the tCK behind it.
#[test]
fn a_timing_that_is_too_short_is_found_at_the_pins() {
    type Change = fn(&mut NeupimsSpec);
    let changes: [(&str, Change); 6] = [
        ("tFAW", |spec| spec.timing.faw -= 1),
        ("tRP", |spec| spec.timing.rp -= 1),
        ("tRCD", |spec| spec.timing.rcd -= 1),
        ("tRFC", |spec| spec.timing.rfc -= 2),
        ("tRTP", |spec| spec.timing.rtp -= 1),
        ("data bus", |spec| spec.timing.rtrs -= 1),
    ];
    for (rule, change) in changes {
        let mut wrong = spec();
        change(&mut wrong);
        let mut channel = NeupimsChannel::new(&wrong, &timing());
        let log = DualPinLog::new(&spec(), &timing(), 0);
        channel.watch(Box::new(log.clone()));
        let mut host = Both {
            mem: Some(WeightStream::random(2..9, 1)),
            pim: Some(TileStream::random(9..20, false, 1)),
        };
        channel.run(&mut host, 50_000).expect("no design in lockstep");
        let found = log.findings(channel.tck());
        assert!(found.violations > 0, "{rule}");
    }
}

/// A controller to which a REF seems further away than it is, by ten tCK more each time, admits operations that it has no time for.
#[test]
fn an_operation_that_is_admitted_too_late_is_found_at_the_pins() {
    let mut wrong = spec();
    wrong.timing.refi += 20;
    let mut channel = NeupimsChannel::new(&wrong, &timing());
    let log = DualPinLog::new(&spec(), &timing(), 0);
    channel.watch(Box::new(log.clone()));
    let pim = Some(TileStream::new(9..20, false, |_| vec![32]));
    let mut host = Both { mem: None, pim };
    channel.run(&mut host, 100_000).expect("no design in lockstep");
    let found = log.findings(channel.tck());
    assert!(found.first.iter().any(|rule| rule.starts_with("PIM across a REF")), "{found:?}");
}

/// The pins with one command left out.
struct Deaf(DualPinLog, ChannelCommand);

impl ChannelWatch for Deaf {
    fn command(&mut self, at_tck: u64, pins: ChannelPins) {
        if pins.command != self.1 {
            self.0.command(at_tck, pins);
        }
    }
}

#[test]
fn a_command_that_does_not_come_is_missed() {
    for command in [
        ChannelCommand::Ref,
        ChannelCommand::Act,
        ChannelCommand::PimActivation,
        ChannelCommand::PimPrecharge,
    ] {
        let mut channel = NeupimsChannel::new(&spec(), &timing());
        let log = DualPinLog::new(&spec(), &timing(), 0);
        channel.watch(Box::new(Deaf(log.clone(), command)));
        let mut host = Both {
            mem: Some(WeightStream::new(2..9)),
            pim: Some(TileStream::new(9..20, false, |_| vec![8; 4])),
        };
        channel.run(&mut host, 20_000).expect("no design in lockstep");
        assert!(log.findings(channel.tck()).violations > 0, "{command:?}");
    }
}

#[test]
fn random_work_keeps_estimates_and_rules_whatever_the_threads() {
    for commands in [Commands::Composite, Commands::Fine] {
        let study = RowBufferStudy {
            spec: spec(),
            commands,
            options: ChannelOptions::default(),
            work: Work::Random,
            sums: 1,
            tck: 60_000,
            seed: 3,
            watched: true,
        };
        let report = study.run(2).expect("it runs");
        let same = study.run(1).expect("it runs");
        for (row, same) in report.rows.iter().zip(&same.rows) {
            assert_eq!(row.pins.wrong(), None, "{}", row.memory);
            assert_eq!(row.both, same.both);
            // A blocked PIM does nothing while requests for MEM keep coming.
            let both = (row.memory != "blocked").then_some(&row.both);
            for of in [&row.pim_alone].into_iter().chain(both) {
                assert!(of.operations.above_estimate == 0 && of.operations.count > 50);
                assert!(of.operations.mean_estimate_tck > of.operations.mean_tck);
            }
        }
    }
}

#[test]
fn products_of_all_lengths_are_the_references() {
    for commands in [Commands::Composite, Commands::Fine] {
        let options = ChannelOptions::default();
        let setup = Setup { spec: spec(), options, commands, threads: 1, by: ChannelsBy::ENGINE };
        for words in 1..=32 {
            let job =
                ProductJob { rows: 33, columns: 16 * words - words % 2, channels: 1, seed: 5 };
            let report = job.run(&setup).expect("it fits");
            assert_eq!((report.outputs.results, report.outputs.differing), (33, 0), "{words}");
            assert_eq!(report.pins.wrong(), None, "{words}");
            assert_eq!(report.channel.dots, 2 * words as u64 + 2);
        }
        let job = |channels| ProductJob { rows: 200, columns: 1300, channels, seed: 5 };
        let one = job(1).run(&setup).expect("it fits");
        let three = job(3).run(&Setup { threads: 3, ..setup.clone() }).expect("it fits");
        assert_eq!((one.outputs.differing, three.outputs.differing), (0, 0));
        assert_eq!(one.outputs.max_error, three.outputs.max_error);
        assert!(three.tck < one.tck);
    }
}
