// SPDX-License-Identifier: MIT
//! Writes and reads of a host through re-layout, any of them: the chips' pins are watched, and the
//! data have to come back.

use pimlico_device::mapping::Place;
use pimlico_device::{Config, DataPath};
use pimlico_golden::pins::Violation;
use pimlico_host::memory_controller::Transaction;
use pimlico_workload::spd_check::{
    HONEST, HONEST_TRAINED, Judgement, PLAIN, SPOOFED, SPOOFED_JEDEC, SPOOFED_TRAINED, SpdSetup,
    compare, judge,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn judged(setup: SpdSetup, transactions: &[Transaction]) -> Judgement {
    judge(setup, &Config::ddr4_3200(), transactions).expect("presets, and places that are there")
}

/// Of few banks, rows and columns, that they meet: a bank, another one of its group, other groups.
fn transactions() -> impl Strategy<Value = Vec<Transaction>> {
    let bank = prop::sample::select(vec![0, 1, 4, 15]);
    let place = (bank, 0..3usize, 0..4usize);
    let place = place.prop_map(|(bank, row, column)| Place { bank, row, column });
    vec((place, any::<[u64; 8]>(), any::<bool>()), 1..60).prop_map(|drawn| {
        let transaction = |(place, beats, writes)| {
            if writes { Transaction::Write(place, beats) } else { Transaction::Read(place) }
        };
        drawn.into_iter().map(transaction).collect()
    })
}

fn writes(transactions: &[Transaction]) -> usize {
    transactions.iter().filter(|t| matches!(t, Transaction::Write(..))).count()
}

fn of_rule(found: &[Violation], rule: &str) -> usize {
    found.iter().filter(|violation| violation.rule == rule).count()
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        ..ProptestConfig::with_cases(500)
    })]

    #[test]
    fn the_chips_timing_is_kept_with_the_spoofed_image_or_training(transactions in transactions()) {
        let held = SpdSetup { path: DataPath::Bypass, ..SPOOFED };
        for setup in [PLAIN, SPOOFED, held, HONEST_TRAINED, SPOOFED_TRAINED] {
            let judgement = judged(setup, &transactions);
            prop_assert_eq!(&judgement.chip_violations, &[]);
            prop_assert_eq!(&judgement.host_violations, &[]);
            prop_assert!(judgement.stored_right && judgement.read_right);
        }

        let written = writes(&transactions);
        // A host that knows the standard's bytes alone is told of the reads and not of the writes.
        let jedec = judged(SPOOFED_JEDEC, &transactions);
        prop_assert_eq!(of_rule(&jedec.chip_violations, "CWL"), written);
        prop_assert_eq!(&jedec.host_violations, &[]);
        let late = judged(HONEST, &transactions);
        // Written data are late at the chips, read data at the host, each of them.
        prop_assert_eq!(of_rule(&late.chip_violations, "CWL"), written);
        prop_assert_eq!(of_rule(&late.host_violations, "CL"), transactions.len() - written);
        prop_assert_eq!(late.stored_right, written == 0);
        // The other way round: a module that spoofs and does not hold the data.
        let early = judged(SpdSetup { path: DataPath::Wires, ..SPOOFED }, &transactions);
        prop_assert_eq!(of_rule(&early.chip_violations, "CWL"), written);
    }
}

#[test]
fn the_comparison_has_the_figures_of_the_claim() {
    let comparison = compare(&Config::ddr4_3200(), 1).expect("presets");
    assert_eq!(comparison.failures, [""; 0]);
    let [plain, honest, spoofed, ..] = &comparison.configurations;
    // CWL + BL, CL + BL; one tCK more or less where re-layout holds the data.
    let latencies = [plain, honest, spoofed].map(|m| {
        let l = &m.latency_tck;
        [l.write_at_host, l.write_at_chips, l.read_at_chips, l.read_at_host]
    });
    assert_eq!(latencies, [[20, 20, 26, 26], [20, 21, 26, 27], [19, 20, 26, 27]]);
    let spacings = [plain, honest, spoofed].map(|m| {
        let c = &m.commands_tck;
        [c.write_to_read, c.read_to_write, c.write_to_precharge, c.read_to_precharge]
    });
    assert_eq!(spacings, [[32, 12, 44, 12], [32, 12, 44, 12], [32, 14, 44, 12]]);
    assert_eq!((comparison.read_penalty_tck(), comparison.turnaround_penalty_tck()), (1, 2));

    assert_eq!((plain.utilisation.write_open_rows, plain.utilisation.read_open_rows), (1.0, 1.0));
    assert!(plain.utilisation.write_long < 1.0, "REFs take their time");
    assert_eq!(honest.chip_violations.keys().collect::<Vec<_>>(), [&"CWL"]);
    assert_eq!(honest.host_violations.keys().collect::<Vec<_>>(), [&"CL", &"turnaround"]);
    assert!(!honest.stored_right && !honest.read_right);
    assert_eq!(
        (&spoofed.chip_violations, &spoofed.host_violations),
        (&BTreeMap::new(), &BTreeMap::new())
    );
    assert!(spoofed.stored_right && spoofed.read_right);
    assert!(spoofed.random_tck > plain.random_tck, "turnaround costs what it costs");
}
