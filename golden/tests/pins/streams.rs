// SPDX-License-Identifier: MIT
//! Random streams of commands, legal and not.

use crate::controller::Controller;
use crate::gates::gates;
use crate::refresh::REFI;
use crate::{MRS, RD_ALL, WR_ALL, WR_SHARED, act, command_with_data, ddr4_3200, pre, rd, wr};
use pimlico_golden::pins::{Driver, Pin, PinChecker, Rules, rule_names};
use std::collections::BTreeSet;

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    fn pin(&mut self, faw_banks: usize) -> Pin {
        let bank = self.below(16);
        match self.below(40) {
            0..8 => act(bank),
            8 => Pin::ActAll { bank: bank / faw_banks * faw_banks, row: 7 },
            9..14 => pre(bank),
            14 => Pin::PreAll,
            15..22 => rd(bank),
            22..28 => wr(bank),
            28..33 => RD_ALL,
            33 => WR_ALL,
            34..36 => Pin::RdResult { bank },
            36..38 => WR_SHARED,
            38 if bank < 8 => MRS,
            38 => Pin::SetWord { word: 7 },
            _ => Pin::Ref,
        }
    }
}

/// Long random streams: what the controller gives as early as it may is legal, and a tCK earlier is
/// not. So the two agree on every tCK, and each judges the other.
fn random_stream(rules: Rules, seed: u64, commands: usize) -> BTreeSet<&'static str> {
    let mut random = Random(seed);
    let mut controller = Controller::new(rules.clone());
    let mut checker = PinChecker::new(rules.clone());
    let (mut now, mut refs) = (0, 0);
    assert_eq!(checker.command(now, Pin::PreAll), []);
    controller.give(now, Pin::PreAll);
    let mut rules_met = BTreeSet::new();
    let mut given = 0;
    while given < commands {
        // Rather early than late: three may be postponed, two pulled in.
        let due = rules.t_refi.map_or(0, |t_refi| now / t_refi);
        let must_refresh = due > refs + 3;
        let pin = match must_refresh {
            true if controller.open.contains(&true) => Pin::PreAll,
            true => Pin::Ref,
            false => random.pin(rules.faw_banks),
        };
        let pulled_in = pin == Pin::Ref && refs >= due + 2;
        if !controller.allowed(pin) || pulled_in {
            continue;
        }
        let earliest = controller.earliest(pin).max(now + 1);
        let found = checker.clone().command(earliest - 1, pin);
        assert!(!found.is_empty(), "{pin} at {} is too early (seed {seed})", earliest - 1);
        rules_met.extend(found.iter().map(|violation| violation.rule));
        let idle = if random.below(4) == 0 { random.below(30) as u64 } else { 0 };
        let at = earliest + idle;
        let found = command_with_data(&mut checker, &rules, at, pin);
        assert!(found.is_empty(), "{} (seed {seed})", found[0]);
        controller.give(at, pin);
        given += 1;
        refs += u64::from(pin == Pin::Ref);
        now = at;
    }
    assert_eq!(checker.finish(now + rules.cl), []);
    assert!(refs > 20, "{refs} REFs");
    rules_met
}

#[test]
fn random_legal_streams_pass_and_no_tck_earlier() {
    let aim = Rules {
        burst: 2,
        t_ccd_s: 2,
        t_ccd_l: 2,
        t_rrd_s: 11,
        t_rrd_l: 11,
        t_faw: 42,
        t_rcd: 36,
        t_rcd_wr: 28,
        t_rcd_mac: 56,
        t_ras: 54,
        t_rp: 32,
        t_rc: 89,
        cl: 50,
        cwl: 6,
        t_wtr_s: 9,
        t_wtr_l: 11,
        t_wr: 33,
        t_rtp: 12,
        t_rfc: 210,
        t_refi: Some(3333),
        ..ddr4_3200()
    };
    // Each timing binds by itself now and then.
    let odd = Rules { t_rc: 100, t_faw: 120, t_rcd_wr: 25, t_rcd_mac: 31, ..ddr4_3200() };
    let trunk = Rules { t_ccd_result: Some(8), t_wtr_shared: Some(6), ..ddr4_3200() };
    let modes = Rules { t_modch: Some(32), ..aim.clone() };
    let mut met = BTreeSet::new();
    for seed in 0..8 {
        met.extend(random_stream(modes.clone(), seed, 30_000));
        met.extend(random_stream(trunk.clone(), seed, 30_000));
        met.extend(random_stream(ddr4_3200(), seed, 30_000));
        met.extend(random_stream(aim.clone(), seed, 30_000));
        met.extend(random_stream(odd.clone(), seed, 30_000));
        met.extend(random_stream(Rules { faw_banks: 8, ..odd.clone() }, seed, 30_000));
    }
    let of_commands = gates().iter().map(|gate| gate.rule).collect();
    assert_eq!(met, of_commands, "every rule between two commands was met");
}

/// Whatever comes, the checker does not panic, and names rules that there are.
#[test]
fn nonsense_is_told_not_panicked_at() {
    let names: BTreeSet<&str> = rule_names().collect();
    let mut random = Random(1);
    let mut checker = PinChecker::new(ddr4_3200());
    let extremes = [0, 1, REFI, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    let mut told = 0;
    for step in 0..100_000 {
        let mut tck = step * 3 + random.below(20) as u64;
        if random.below(100) == 0 {
            tck = extremes[random.below(extremes.len())];
        }
        let found = match random.below(6) {
            0 => checker.data(tck, tck.wrapping_add(4), Driver::Dram),
            1 => checker.data(tck, random.below(9) as u64, Driver::Controller),
            2 => checker.command(tck, act(random.below(20))),
            3 if random.below(100) == 0 => checker.finish(tck),
            _ => checker.command(tck, random.pin(16)),
        };
        told += found.len();
        for violation in &found {
            assert!(names.contains(violation.rule));
            assert!(!violation.to_string().contains('\n'));
        }
        if random.below(1000) == 0 {
            checker = PinChecker::new(ddr4_3200());
        }
    }
    assert!(told > 10_000, "{told}");
}
