// SPDX-License-Identifier: MIT
//! Rank controller and refresh manager together: whatever the ports ask for, no REF is postponed for
//! too long and none is lost, and the pins keep every timing.

use pimlico_device::{Config, Timing};
use pimlico_dpa::types::{ArrayKind, ArrayRequest, PinCommand, Pins};
use pimlico_golden::pins::{Driver, Pin, PinChecker, Violation};
use pimlico_ports::{Bundle, Enumerated, Instances, Model, U, Unit};
use pimlico_testbenches::Lockstep;
use pimlico_units::rank::{
    RankController, RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn,
    RefreshManagerOut,
};
use pimlico_workload::judge::pins::rules;

type Manager = RefreshManager<8, 256>;

/// tREFIs of a run.
const REFIS: u64 = 14;

/// What the array port asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Traffic {
    /// `READ_ALL`s without end, so many to a row.
    Rows(u64),
    /// The same, with the end of a head and a pause now and then.
    Heads(u64),
    /// `RD`s and `WR`s anywhere, and `READ_ALL`s.
    Mixed,
    /// One `READ_ALL`, and then nothing.
    Idle,
}

/// What a run has shown.
#[derive(Debug, Default)]
struct Seen {
    clocks: u64,
    refs: u64,
    /// The most that was owed.
    owed: u64,
    forced: bool,
    read_alls: u64,
    violations: Vec<Violation>,
}

/// A unit's outputs in a clock.
fn step<M: Unit>(unit: &mut impl Instances<M>, input: M::In) -> M::Out
where
    M::Out: Bundle,
{
    let mut output = [M::Out::default()];
    unit.step(&[input], &mut output).expect("no mismatch");
    output[0]
}

/// The request in its turn, at the array port.
fn request(traffic: Traffic, turn: u64, to: &mut RankControllerIn) {
    let hash = turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let (kind, row) = match traffic {
        Traffic::Rows(columns) | Traffic::Heads(columns) => (ArrayKind::ReadAll, turn / columns),
        Traffic::Mixed => {
            (ArrayKind::from_code((hash & 7).min(2)).unwrap_or_default(), hash >> 12 & 1)
        }
        Traffic::Idle => (ArrayKind::ReadAll, 0),
    };
    to.array_i = ArrayRequest {
        kind,
        bank: U::new(hash >> 4),
        row: row as u16,
        column: (turn % 128) as u8,
        ..Default::default()
    };
}

/// Runs controller and manager. With `shadow`, a model of the controller, its registers reach the
/// manager in the clock they belong to, as wires would; without, the manager's wishes pass a register,
/// as they do between units that step one after the other.
fn run(
    config: &Config,
    traffic: Traffic,
    mut controller: impl Instances<RankController>,
    mut manager: impl Instances<Manager>,
    mut shadow: Option<RankController>,
) -> Seen {
    let timing = &config.timing;
    let mut checker = PinChecker::new(rules(config));
    let mut seen = Seen { clocks: REFIS * timing.refi_tck, ..Seen::default() };
    let mut wishes = RefreshManagerOut::default();
    let (mut turn, mut pause) = (0, 0);
    for clock in 0..seen.clocks {
        let mut input = RankControllerIn { timing_i: timing.ports(), ..Default::default() };
        let head_end_i = matches!(traffic, Traffic::Heads(_)) && turn % 1000 == 999 && pause == 0;
        if head_end_i {
            pause = 1 + turn % 7 * 100;
            turn += 1;
        }
        request(traffic, turn, &mut input);
        input.array_valid_i = pause == 0 && (traffic != Traffic::Idle || turn == 0);
        pause = u64::saturating_sub(pause, 1);
        // Writes and reads in runs, as operands go in and results come out.
        input.bus_valid_i = clock / 64 % 3 != 0;
        input.bus_i.write = clock / 256 % 2 == 0;
        input.bus_i.address = (clock % 16) as u8;

        let manage = |manager: &mut _, output: &RankControllerOut| {
            let input = RefreshManagerIn {
                enable_i: true,
                refi_i: U::new(timing.refi_tck),
                head_end_i,
                idle_i: output.idle_o,
                done_i: output.refresh_issued_o,
            };
            step::<Manager>(manager, input)
        };
        if let Some(shadow) = &shadow {
            // What it looks at here are registers, whatever the inputs.
            let output = shadow.clone().step(&input);
            wishes = manage(&mut manager, &output);
        }
        (input.refresh_i, input.force_i) = (wishes.refresh_o, wishes.force_o);
        let output = step(&mut controller, input);
        match &mut shadow {
            Some(shadow) => assert_eq!(shadow.step(&input), output),
            None => wishes = manage(&mut manager, &output),
        }
        turn += u64::from(input.array_valid_i && output.array_ready_o);

        seen.refs += u64::from(output.refresh_issued_o);
        seen.owed = seen.owed.max(wishes.owed_o.get());
        seen.forced |= wishes.force_o;
        seen.violations.extend(check(&mut checker, timing, clock, &output));
        seen.read_alls += u64::from(output.pins_o.command == PinCommand::RdAll);
    }
    seen.violations.extend(checker.finish(seen.clocks));
    seen
}

/// Holds what is on the pins against the rules.
fn check(
    checker: &mut PinChecker,
    timing: &Timing,
    clock: u64,
    output: &RankControllerOut,
) -> Vec<Violation> {
    let Pins { command, bank, row, column } = output.pins_o;
    let (bank, row, column) = (bank.get() as usize, usize::from(row), usize::from(column));
    let pin = match command {
        PinCommand::None => return Vec::new(),
        PinCommand::Act => Pin::Act { bank, row },
        PinCommand::ActAll => Pin::ActAll { bank, row },
        PinCommand::Pre => Pin::Pre { bank },
        PinCommand::PreAll => Pin::PreAll,
        PinCommand::Rd => Pin::Rd { bank, column },
        PinCommand::Wr => Pin::Wr { bank, column },
        PinCommand::RdAll => Pin::RdAll { column },
        PinCommand::RdResult => Pin::RdResult { bank: column },
        PinCommand::WrShared => Pin::WrShared { word: column },
        PinCommand::Ref => Pin::Ref,
        PinCommand::SetWord => Pin::SetWord { word: column },
        PinCommand::Mrs => Pin::Mrs { register: bank, opcode: row },
    };
    let mut found = checker.command(clock, pin);
    let data = match pin {
        Pin::Rd { .. } => Some((Driver::Dram, timing.cl_tck)),
        Pin::RdResult { .. } => Some((Driver::Dram, timing.cl_reg_tck)),
        Pin::Wr { .. } => Some((Driver::Controller, timing.cwl_tck)),
        Pin::WrShared { .. } => Some((Driver::Controller, timing.cwl_gb_tck)),
        _ => None,
    };
    if let Some((driver, latency)) = data {
        let from = clock + latency;
        found.extend(checker.data(from, from + timing.burst_tck, driver));
    }
    found
}

#[test]
fn refresh_keeps_up_whatever_the_traffic() {
    // This traffic has RDs among RD_RESULTs, as a module has not: all have one latency here.
    let mut aim = Config::gddr6_aim();
    (aim.timing.cl_reg_tck, aim.timing.cwl_gb_tck) = (aim.timing.cl_tck, aim.timing.cwl_tck);
    for config in [Config::ddr4_3200(), aim] {
        for (traffic, faw_banks) in [
            (Traffic::Rows(128), 16),
            (Traffic::Rows(128), 8),
            (Traffic::Rows(128), 4),
            (Traffic::Rows(5), 16),
            (Traffic::Rows(u64::MAX), 16),
            (Traffic::Heads(64), 16),
            (Traffic::Mixed, 4),
            (Traffic::Mixed, 16),
            (Traffic::Idle, 16),
        ] {
            let mut config = config.clone();
            config.timing.faw_banks = faw_banks;
            for wired in [false, true] {
                let shadow = wired.then(RankController::new);
                let (controller, manager) = (Lockstep::new(1, 1), Lockstep::new(1, 1));
                let seen = run(&config, traffic, controller, manager, shadow);
                let name = format!("{} {traffic:?} {faw_banks} {wired}", config.name);
                assert_eq!(seen.violations.first(), None, "{name}: {seen:?}");
                // The last multiple of tREFI is not reached.
                let owed = REFIS - 1 - seen.refs;
                assert!(owed <= 8 && seen.owed <= 8, "{name}: {seen:?}");
                let endless = traffic == Traffic::Rows(u64::MAX);
                assert_eq!(seen.forced, endless, "{name}: {seen:?}");
                match traffic {
                    Traffic::Rows(_) => assert!(seen.owed >= 7, "{name}: {seen:?}"),
                    Traffic::Idle => assert_eq!((seen.owed, owed), (1, 0), "{name}"),
                    Traffic::Heads(_) | Traffic::Mixed => {}
                }
                assert!(traffic == Traffic::Idle || seen.read_alls > 50, "{name}: {seen:?}");
            }
        }
    }
}
