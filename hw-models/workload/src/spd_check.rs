// SPDX-License-Identifier: MIT
//! What re-layout costs a host, and whether it breaks the chips' timing: with the honest SPD image and
//! with the spoofed one, against a module without re-layout.
//!
//! A host programs itself from the image and writes and reads through the module's buffer chip. The
//! checker of `golden` watches the chips' pins with the chips' own timing, and the host's pins with
//! the timing that the host was told.
//!
//! What L3 (section 4.1) calls zero latency is that of a *write*: the host sends the data a clock
//! earlier, and they are in the chips as long after the command as without re-layout. A *read* gives
//! the host its data a clock later, and from RD to WR the host waits two clocks more; neither is free,
//! and both are told here.

use crate::judge::pins;
use crate::memory_path::{self, PathError, PathOutcome, Transfer};
use pimlico_device::data_bus::{self, BEATS, Beats};
use pimlico_device::mapping::{self, Place};
use pimlico_device::spd::{Description, Spd, Values};
use pimlico_device::{Burst, Config, DataPath};
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_golden::pins::{Driver, Rules, Violation};
use pimlico_host::memory_controller::{Delay, Transaction};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Bursts of the stream to open rows: a row of two banks of each group. Written and read they are over
/// before the first REF.
const OPEN_ROW_BURSTS: usize = 1024;
/// Bursts of the long stream, 1 MiB: eight rows of every bank, over several REFs.
const LONG_BURSTS: usize = 16 * OPEN_ROW_BURSTS;
/// The bytes of an image that are Pimlico's own: a host of JEDEC's kind does not know them.
const OWN_BYTES: std::ops::Range<usize> = 353..382;
/// tCK by which data may be sent or expected sooner or later than the image says.
const FARTHEST_TCK: i64 = 3;
/// Transactions of the random stream.
const RANDOM_TRANSACTIONS: usize = 4096;

/// A host, by how it learns when data are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Host {
    /// It reads tWL from our own bytes of the image.
    Own,
    /// It reads what JEDEC has given a meaning, where tWL is not, and takes the standard's for the clock.
    Jedec,
    /// As JEDEC's, but it then trains: it finds by how much data are to be sent and expected at other times.
    Trained,
}

/// A module, what it tells its host, and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpdSetup {
    /// What the SPD image holds.
    pub values: Values,
    /// How data pass the buffer chip.
    pub path: DataPath,
    /// How the host learns when data are due.
    pub host: Host,
}

/// A module without re-layout, which tells the truth: what the others are measured by.
pub const PLAIN: SpdSetup =
    SpdSetup { values: Values::Honest, path: DataPath::Wires, host: Host::Own };
/// A module with re-layout that tells the chips' own timing.
pub const HONEST: SpdSetup =
    SpdSetup { values: Values::Honest, path: DataPath::Relayout, host: Host::Own };
/// A module with re-layout whose image makes up for it.
pub const SPOOFED: SpdSetup =
    SpdSetup { values: Values::Spoofed, path: DataPath::Relayout, host: Host::Own };
/// The same with a host of JEDEC's kind. (An honest image tells every host the same.)
pub const SPOOFED_JEDEC: SpdSetup = SpdSetup { host: Host::Jedec, ..SPOOFED };
/// A module with re-layout that tells the truth, and a host that trains.
pub const HONEST_TRAINED: SpdSetup = SpdSetup { host: Host::Trained, ..HONEST };
/// The spoofed image, and a host that trains.
pub const SPOOFED_TRAINED: SpdSetup = SpdSetup { host: Host::Trained, ..SPOOFED };

/// What is compared.
const SETUPS: [SpdSetup; 6] =
    [PLAIN, HONEST, SPOOFED, SPOOFED_JEDEC, HONEST_TRAINED, SPOOFED_TRAINED];

/// The comparison.
#[derive(Clone, Debug, Serialize)]
pub struct SpdComparison {
    /// Name of the preset.
    pub system: String,
    /// Seed of data and random stream.
    pub seed: u64,
    /// Clock period in ns.
    pub tck_ns: f64,
    /// Honest without re-layout, honest with it, spoofed with it; spoofed with a host of JEDEC's kind; honest and
    /// spoofed with a host that trains.
    pub configurations: [Measured; 6],
    /// What does not hold of what is claimed; nothing, if all does.
    pub failures: Vec<String>,
}

/// What was measured of a module and its host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// What the SPD image holds.
    pub spd: Values,
    /// Whether re-layout is in the data path.
    pub relayout: bool,
    /// How the host learns when data are due.
    pub host: Host,
    /// What it has found by training.
    pub trained: Delay,
    /// Violations at the chips' pins, of their own timing, by rule.
    pub chip_violations: BTreeMap<&'static str, u64>,
    /// Violations at the host's pins of the timing in the image, by rule.
    pub host_violations: BTreeMap<&'static str, u64>,
    /// Whether all data lie in the chips as they should.
    pub stored_right: bool,
    /// Whether the host reads what it wrote.
    pub read_right: bool,
    /// Latencies of single bursts.
    pub latency_tck: Latency,
    /// The least time from one command to the next.
    pub commands_tck: Spacing,
    /// Share of the time from the first to the last beat in which the host's data bus moves data.
    pub utilisation: BusUtilisation,
    /// Duration of the random stream in tCK.
    pub random_tck: u64,
}

/// From a command to the end of its last beat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// From WR to the end at the host's pins.
    pub write_at_host: u64,
    /// From WR to the end at the chips.
    pub write_at_chips: u64,
    /// From RD to the end at the chips.
    pub read_at_chips: u64,
    /// From RD to the end at the host's pins.
    pub read_at_host: u64,
}

/// From one command to the next that has to wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Spacing {
    pub write_to_read: u64,
    pub read_to_write: u64,
    pub write_to_precharge: u64,
    pub read_to_precharge: u64,
}

/// Shares from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BusUtilisation {
    /// Writes to rows that stay open.
    pub write_open_rows: f64,
    /// Reads of rows that stay open.
    pub read_open_rows: f64,
    /// Writes to eight rows of each bank, with REFs.
    pub write_long: f64,
    /// Reads of eight rows of each bank, with REFs.
    pub read_long: f64,
}

/// Compares all of them on a rank of such chips.
pub fn compare(config: &Config, seed: u64) -> Result<SpdComparison, PathError> {
    let mut measured = Vec::with_capacity(SETUPS.len());
    for setup in SETUPS {
        measured.push(Measured::new(setup, config, seed)?);
    }
    let configurations = measured.try_into().expect("as many as there are setups");
    Ok(SpdComparison {
        seed,
        tck_ns: config.tck_ps as f64 / 1000.0,
        failures: failures(&configurations),
        configurations,
        system: config.name.clone(),
    })
}

impl SpdComparison {
    /// By how many tCK a read reaches the host later, spoofed with re-layout than without.
    pub fn read_penalty_tck(&self) -> u64 {
        let [plain, _, spoofed, ..] = &self.configurations;
        spoofed.latency_tck.read_at_host.saturating_sub(plain.latency_tck.read_at_host)
    }

    /// By how many tCK a WR waits longer after an RD.
    pub fn turnaround_penalty_tck(&self) -> u64 {
        let [plain, _, spoofed, ..] = &self.configurations;
        spoofed.commands_tck.read_to_write.saturating_sub(plain.commands_tck.read_to_write)
    }
}

const SPOOFED_NAME: &str = "spoofed with re-layout";

/// What does not hold of: without re-layout all is well; with it the spoofed image breaks nothing and
/// costs a write nothing, and nor does any for a host that trains; the honest one does break something, and the
/// spoofed one with a host of JEDEC's kind, or else nobody is watching.
fn failures(configurations: &[Measured; 6]) -> Vec<String> {
    let [plain, honest, spoofed, jedec, honest_trained, spoofed_trained] = configurations;
    let sound = |who, measured: &Measured| {
        let Measured { chip_violations, host_violations, stored_right, read_right, .. } = measured;
        [
            (who, chip_violations.is_empty(), "violations at the chips' pins"),
            (who, host_violations.is_empty(), "violations at the host's pins"),
            (who, *stored_right, "wrong data in the chips"),
            (who, *read_right, "wrong data read"),
        ]
    };
    let no_later = spoofed.latency_tck.write_at_chips == plain.latency_tck.write_at_chips;
    let as_fast = spoofed.utilisation == plain.utilisation;
    let watched = !honest.chip_violations.is_empty();
    let compared = [
        (
            SPOOFED_NAME,
            no_later,
            "data of a write are not as long in coming to the chips as without",
        ),
        (SPOOFED_NAME, as_fast, "not the data rate that it has without"),
        ("honest with re-layout", watched, "no violation at the chips' pins"),
        ("spoofed, JEDEC's host", !jedec.stored_right, "no written data are lost"),
    ];
    let sound_ones = [
        sound("honest without re-layout", plain),
        sound(SPOOFED_NAME, spoofed),
        sound("honest, a host that trains", honest_trained),
        sound("spoofed, a host that trains", spoofed_trained),
    ];
    sound_ones
        .into_iter()
        .flatten()
        .chain(compared)
        .filter(|(_, holds, _)| !holds)
        .map(|(who, _, what)| format!("{who}: {what}"))
        .collect()
}

/// What came of transactions.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Violations at the chips' pins, of their own timing.
    pub chip_violations: Vec<Violation>,
    /// Violations at the host's pins of the timing in the image.
    pub host_violations: Vec<Violation>,
    /// Whether all data lie in the chips as they should.
    pub stored_right: bool,
    /// Whether the host reads what it wrote.
    pub read_right: bool,
    /// What the host had found by training.
    pub trained: Delay,
    /// What they did.
    pub outcome: PathOutcome,
}

/// Runs transactions on a module that holds nothing, of the chips of `config`, and checks all that can be checked.
pub fn judge(
    setup: SpdSetup,
    config: &Config,
    transactions: &[Transaction],
) -> Result<Judgement, PathError> {
    let mut image = *Description::of(config).image(setup.values)?.as_bytes();
    if setup.host != Host::Own {
        image[OWN_BYTES].fill(0);
    }
    let trained = match setup.host {
        Host::Trained => train(&image, setup.path, config)?,
        Host::Own | Host::Jedec => Delay::default(),
    };
    let transactions_of = transactions.iter().copied();
    let outcome = memory_path::run(&image, trained, setup.path, config, transactions_of)?;

    let mut written: HashMap<_, Beats> = HashMap::new();
    let mut to_read = Vec::new();
    for transaction in transactions {
        let Place { bank, row, column } = transaction.place();
        match *transaction {
            Transaction::Write(_, beats) => {
                written.insert((bank, row, column), beats);
            }
            Transaction::Read(_) => {
                let beats = written.get(&(bank, row, column)).copied();
                to_read.push(beats.unwrap_or([0; BEATS]));
            }
        }
    }
    let stored_right = written.iter().all(|(&(bank, row, column), beats)| {
        outcome.dram.read(bank, row, column) == in_chips(setup.path, beats)
    });
    Ok(Judgement {
        chip_violations: outcome.violations_at_chips(pins::rules(config)),
        host_violations: outcome.violations_at_host(host_rules(&image, trained)?),
        stored_right,
        read_right: outcome.read == to_read,
        trained,
        outcome,
    })
}

/// What a host takes its end of the module to demand: what it has been told, at the times that it has found.
fn host_rules(image: &[u8], trained: Delay) -> Result<Rules, PathError> {
    let mut rules = pins::advertised_rules(&Spd::parse(image)?);
    rules.cl = rules.cl.saturating_add_signed(trained.read_tck);
    rules.cwl = rules.cwl.saturating_add_signed(trained.write_tck);
    Ok(rules)
}

/// Finds at which times a host has to send and expect data: it writes a pattern and reads it back, the times
/// nearest to those of the image first. (In DDR4, write levelling and read training, to the whole tCK.) Where
/// nothing comes back, it stays with the image.
fn train(image: &[u8], path: DataPath, config: &Config) -> Result<Delay, PathError> {
    let range = -FARTHEST_TCK..=FARTHEST_TCK;
    let of_write = |write_tck| range.clone().map(move |read_tck| Delay { write_tck, read_tck });
    let mut delays: Vec<Delay> = range.clone().flat_map(of_write).collect();
    delays.sort_by_key(|delay| delay.write_tck.abs() + delay.read_tck.abs());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let patterns: Vec<Beats> = (0..4).map(|_| random_beats(&mut random)).collect();
    let place = |column| Place { bank: 0, row: 0, column };
    let writes = patterns.iter().enumerate().map(|(n, beats)| Transaction::Write(place(n), *beats));
    let reads = (0..patterns.len()).map(|n| Transaction::Read(place(n)));
    let there_and_back: Vec<_> = writes.chain(reads).collect();
    for delay in delays {
        let outcome = memory_path::run(image, delay, path, config, there_and_back.iter().copied())?;
        if outcome.read == patterns {
            return Ok(delay);
        }
    }
    Ok(Delay::default())
}

/// How the chips should hold a host's burst.
fn in_chips(path: DataPath, beats: &Beats) -> Burst {
    if path == DataPath::Relayout {
        let elements: Vec<u16> =
            (0..4 * BEATS).map(|e| (beats[e / 4] >> (16 * (e % 4))) as u16).collect();
        mapping::burst_of(&elements, 0)
    } else {
        data_bus::burst_of(beats)
    }
}

impl Measured {
    fn new(setup: SpdSetup, config: &Config, seed: u64) -> Result<Self, PathError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut bench = Bench::new(setup, config);
        let (latency_tck, commands_tck) = bench.single_bursts(&mut random)?;
        let [write_open_rows, read_open_rows] = bench.stream(OPEN_ROW_BURSTS, &mut random)?;
        let [write_long, read_long] = bench.stream(LONG_BURSTS, &mut random)?;
        let random_tck = bench.run(&random_transactions(&mut random))?.end_tck;
        let Bench { chip_violations, host_violations, stored_right, read_right, trained, .. } =
            bench;
        Ok(Self {
            spd: setup.values,
            relayout: setup.path == DataPath::Relayout,
            host: setup.host,
            trained,
            chip_violations,
            host_violations,
            stored_right,
            read_right,
            latency_tck,
            commands_tck,
            utilisation: BusUtilisation { write_open_rows, read_open_rows, write_long, read_long },
            random_tck,
        })
    }
}

/// Runs transactions, each time on a new module, and sums up what is found.
struct Bench<'a> {
    setup: SpdSetup,
    config: &'a Config,
    chip_violations: BTreeMap<&'static str, u64>,
    host_violations: BTreeMap<&'static str, u64>,
    stored_right: bool,
    read_right: bool,
    trained: Delay,
}

impl<'a> Bench<'a> {
    fn new(setup: SpdSetup, config: &'a Config) -> Self {
        let [chip_violations, host_violations] = [BTreeMap::new(), BTreeMap::new()];
        Self {
            setup,
            config,
            chip_violations,
            host_violations,
            stored_right: true,
            read_right: true,
            trained: Delay::default(),
        }
    }

    fn run(&mut self, transactions: &[Transaction]) -> Result<PathOutcome, PathError> {
        let judgement = judge(self.setup, self.config, transactions)?;
        for (counts, found) in [
            (&mut self.chip_violations, &judgement.chip_violations),
            (&mut self.host_violations, &judgement.host_violations),
        ] {
            for violation in found {
                *counts.entry(violation.rule).or_default() += 1;
            }
        }
        self.stored_right &= judgement.stored_right;
        self.read_right &= judgement.read_right;
        self.trained = judgement.trained;
        Ok(judgement.outcome)
    }

    fn single_bursts(
        &mut self,
        random: &mut impl RngCore,
    ) -> Result<(Latency, Spacing), PathError> {
        let at = |bank, row| Place { bank, row, column: 0 };
        let mut write = |place| Transaction::Write(place, random_beats(random));
        let (other_row, other_group) = (at(0, 1), at(self.config.organisation.banks_per_group, 0));

        let there_and_back = self.run(&[write(at(0, 0)), Transaction::Read(at(0, 0))])?;
        let turned = self.run(&[Transaction::Read(at(0, 0)), write(other_group)])?;
        let rewritten = self.run(&[write(at(0, 0)), write(other_row)])?;
        // So many RDs that tRAS is over at the last.
        let mut reads = vec![Transaction::Read(at(0, 0)); 8];
        reads.push(Transaction::Read(other_row));
        let reread = self.run(&reads)?;

        let latency = Latency {
            write_at_host: latency(&there_and_back, Driver::Controller, &there_and_back.host_bus),
            write_at_chips: latency(&there_and_back, Driver::Controller, &there_and_back.chip_bus),
            read_at_chips: latency(&there_and_back, Driver::Dram, &there_and_back.chip_bus),
            read_at_host: latency(&there_and_back, Driver::Dram, &there_and_back.host_bus),
        };
        let spacing = Spacing {
            write_to_read: spacing(&there_and_back, is_write, is_read),
            read_to_write: spacing(&turned, is_read, is_write),
            write_to_precharge: spacing(&rewritten, is_write, is_precharge),
            read_to_precharge: spacing(&reread, is_read, is_precharge),
        };
        Ok((latency, spacing))
    }

    /// How busy the host's bus is with so many writes, and then with as many reads.
    fn stream(&mut self, bursts: usize, random: &mut impl RngCore) -> Result<[f64; 2], PathError> {
        let places = (0..bursts).map(|burst| streamed(self.config, burst));
        let write = |place| Transaction::Write(place, random_beats(random));
        let writes: Vec<_> = places.clone().map(write).collect();
        let write = self.run(&writes)?.utilisation(Driver::Controller);
        let mut both = writes;
        both.extend(places.map(Transaction::Read));
        let read = self.run(&both)?.utilisation(Driver::Dram);
        Ok([write, read])
    }
}

/// Where burst `burst` of a stream lies: in four bank groups in turn, then in the next column; when the
/// row of these four banks is full in the next four, and when all are full in the next row.
fn streamed(config: &Config, burst: usize) -> Place {
    let (groups, per_group) =
        (config.organisation.bank_groups, config.organisation.banks_per_group);
    let (column, group) = (burst / groups % config.columns(), burst % groups);
    let set = burst / groups / config.columns();
    Place {
        bank: group * per_group + set % per_group,
        row: set / per_group % config.organisation.rows,
        column,
    }
}

/// Writes and reads of a few columns of a few rows of a few banks: of one bank, two of a group, and of
/// several groups.
fn random_transactions(random: &mut impl RngCore) -> Vec<Transaction> {
    let transaction = |_| {
        let draw = random.next_u64() as usize;
        let bank = [0, 1, 4, 15][draw & 3];
        let place = Place { bank, row: draw >> 2 & 1, column: draw >> 3 & 3 };
        match draw >> 5 & 1 {
            0 => Transaction::Write(place, random_beats(random)),
            _ => Transaction::Read(place),
        }
    };
    (0..RANDOM_TRANSACTIONS).map(transaction).collect()
}

fn random_beats(random: &mut impl RngCore) -> Beats {
    std::array::from_fn(|_| random.next_u64())
}

fn is_write(pins: Pins) -> bool {
    pins.command == PinCommand::Wr
}

fn is_read(pins: Pins) -> bool {
    pins.command == PinCommand::Rd
}

fn is_precharge(pins: Pins) -> bool {
    pins.command == PinCommand::Pre
}

/// From the last command that makes `driver` send data to the end of these data on a bus.
fn latency(outcome: &PathOutcome, driver: Driver, bus: &[Transfer]) -> u64 {
    let is_it = if driver == Driver::Dram { is_read } else { is_write };
    let last = bus.iter().rfind(|transfer| transfer.driver == driver).expect("data follow");
    last.until_tck - last_before(outcome, u64::MAX, is_it)
}

fn last_before(outcome: &PathOutcome, tck: u64, is_it: fn(Pins) -> bool) -> u64 {
    let mut commands = outcome.commands.iter();
    let last = commands.rfind(|event| event.at_tck < tck && is_it(event.pins));
    last.expect("the transactions ask for it").at_tck
}

/// tCK from the last command of one kind to the first of the other kind after it.
fn spacing(outcome: &PathOutcome, earlier: fn(Pins) -> bool, later: fn(Pins) -> bool) -> u64 {
    let mut commands = outcome.commands.iter();
    let event = commands.find(|event| later(event.pins)).expect("the transactions ask for it");
    event.at_tck - last_before(outcome, event.at_tck, earlier)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_hold_is_said() {
        let comparison = compare(&Config::ddr4_3200(), 1).expect("presets");
        assert_eq!(comparison.failures, [""; 0]);
        let failures_of = |change: fn(&mut [Measured; 6])| {
            let mut configurations = comparison.configurations.clone();
            change(&mut configurations);
            failures(&configurations).join("; ")
        };
        type Change = fn(&mut [Measured; 6]);
        let changes: [(Change, &str); 10] = [
            (|c| c[0].read_right = false, "honest without re-layout: wrong data read"),
            (|c| c[1].chip_violations.clear(), "honest with re-layout: no violation"),
            (|c| c[2].stored_right = false, "spoofed with re-layout: wrong data in the chips"),
            (|c| c[2].chip_violations = [("CWL", 1)].into(), "violations at the chips' pins"),
            (|c| c[2].host_violations = [("CL", 1)].into(), "violations at the host's pins"),
            (|c| c[2].latency_tck.write_at_chips += 1, "data of a write are not as long in coming"),
            (|c| c[2].utilisation.read_long -= 0.01, "not the data rate"),
            (|c| c[3].stored_right = true, "spoofed, JEDEC's host: no written data are lost"),
            (|c| c[4].stored_right = false, "honest, a host that trains: wrong data in the chips"),
            (|c| c[5].read_right = false, "spoofed, a host that trains: wrong data read"),
        ];
        for (change, expected) in changes {
            let said = failures_of(change);
            assert!(said.contains(expected) && !said.contains(';'), "{said}");
        }
    }
}
