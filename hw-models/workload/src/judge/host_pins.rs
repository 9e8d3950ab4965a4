// SPDX-License-Identifier: MIT
//! The checker of the host's protocol at the pins of a rank: `rtl/module/host_port.md` as `golden` has it.

use super::pins::pin;
use crate::report::HostPins;
use pimlico_device::data_bus::{BEATS, Beats, UNDRIVEN};
use pimlico_device::{Config, Looks, Options};
use pimlico_dpa::types::Pins;
use pimlico_golden::host_protocol::{HostChecker, HostRules, HostViolation};
use pimlico_golden::pins::{Pin, WriteRun};

/// Violations that are kept; the others are counted.
const KEPT: usize = 8;

/// How long a look at the status may wait in the host's controller, behind all results that the module holds and the
/// operands that are queued: 160 bursts, with the turns of the bus between them and their windows to be opened.
const QUEUED_TCK: u64 = 1024;

/// What was found at a host's pins.
#[derive(Clone, Debug, Default)]
pub struct HostFound {
    /// Commands that were checked.
    pub commands: u64,
    /// Rules that were broken.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<HostViolation>,
}

impl HostFound {
    /// Of two ranks.
    pub fn and(mut self, other: &Self) -> Self {
        self.commands += other.commands;
        self.violations += other.violations;
        self.first.extend(other.first.iter().cloned());
        self
    }
}

/// The checker at a host's pins.
pub(crate) struct HostLog {
    checker: HostChecker,
    found: HostFound,
    /// What is on the host's data bus: written, and read.
    bursts: [Option<Burst>; 2],
}

/// A burst that is not over. Beats that nobody drives are those of an idle bus.
#[derive(Clone, Copy)]
struct Burst {
    from_tck: u64,
    beats: Beats,
}

impl HostLog {
    /// Of a rank that has just been reset.
    pub fn new(config: &Config, options: Options) -> Self {
        let checker = HostChecker::new(rules(config, options));
        Self { checker, found: HostFound::default(), bursts: [None; 2] }
    }

    /// A command on the host's pins.
    pub fn command(&mut self, at_tck: u64, pins: Pins) {
        if let Some(pin) = pin(pins) {
            self.found.commands += 1;
            let found = self.checker.command(at_tck, pin);
            self.add(found);
        }
    }

    /// Looks of the host at the status, or at another place, that give the same.
    pub fn looks(&mut self, looks: &Looks) {
        let Looks { from_tck, every_tck, count, pins, beats } = *looks;
        self.found.commands += count;
        let place = (pins.bank(), pins.column());
        let found = self.checker.looks(from_tck, [every_tck, count], place, beats);
        self.add(found);
    }

    /// Whether a run goes on, so that commands on the chips' pins hang on nothing that the host does.
    pub fn goes_on(&self, at_tck: u64) -> bool {
        self.checker.goes_on(at_tck)
    }

    /// A command on the chips' pins.
    pub fn chips(&mut self, at_tck: u64, pins: Pins) {
        if let Some(pin) = pin(pins) {
            let found = self.checker.chips(at_tck, pin);
            self.add(found);
        }
    }

    /// A REF on the chips' pins.
    pub fn refreshes(&mut self, at_tck: u64) {
        let found = self.checker.chips(at_tck, Pin::Ref);
        self.add(found);
    }

    /// All-bank RDs on the chips' pins, at equal distances.
    pub fn reads(&mut self, from_tck: u64, every_tck: u64, columns: impl Iterator<Item = usize>) {
        let found = self.checker.reads(from_tck, every_tck, columns);
        self.add(found);
    }

    /// What host and module drive on the host's data bus in a tCK.
    pub fn data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        for (side, pair) in [driven, seen].into_iter().enumerate() {
            let Some(Burst { from_tck, beats }) = take(&mut self.bursts[side], at_tck, pair) else {
                continue;
            };
            self.burst(from_tck, beats, side == 1);
        }
    }

    /// A burst on the host's data bus, which the module drives if it is `read`.
    pub fn burst(&mut self, from_tck: u64, beats: Beats, read: bool) {
        let found = match read {
            false => self.checker.write_data(from_tck, beats),
            true => self.checker.read_data(from_tck, beats),
        };
        self.add(found);
    }

    /// Whether a run of writes can be judged as a whole.
    pub fn takes(&self, run: &WriteRun<'_>) -> bool {
        self.checker.is_plain(run)
    }

    /// A run of writes that it takes.
    pub fn writes(&mut self, run: &WriteRun<'_>) {
        self.found.commands += run.count;
        self.checker.writes(run);
    }

    /// Whether the host's own commands behind this tCK break no rule until a REF, if they are to memory.
    pub fn is_fresh(&self, at_tck: u64) -> bool {
        self.checker.is_fresh(at_tck)
    }

    /// So many commands of its own to memory, of which nothing is found.
    pub fn pass(&mut self, commands: u64) {
        self.found.commands += commands;
    }

    /// Rules that were broken so far.
    pub fn violations(&self) -> u64 {
        self.found.violations
    }

    /// What was found until `at_tck`.
    pub fn found(&mut self, at_tck: u64) -> HostFound {
        let found = self.checker.finish(at_tck);
        self.add(found);
        self.found.clone()
    }

    fn add(&mut self, found: Vec<HostViolation>) {
        self.found.violations += found.len() as u64;
        let room = KEPT - self.found.first.len();
        self.found.first.extend(found.into_iter().take(room));
    }
}

/// Takes the beats of a tCK; returns a burst with its last.
fn take(burst: &mut Option<Burst>, at_tck: u64, pair: [Option<u64>; 2]) -> Option<Burst> {
    if burst.is_none() && pair == [None; 2] {
        return None;
    }
    let Burst { from_tck, beats } =
        burst.get_or_insert(Burst { from_tck: at_tck, beats: [UNDRIVEN; BEATS] });
    let first = 2 * (at_tck - *from_tck) as usize;
    for (beat, driven) in beats[first..].iter_mut().zip(pair) {
        *beat = driven.unwrap_or(UNDRIVEN);
    }
    if first + 2 == BEATS { burst.take() } else { None }
}

/// What the contract asks of the host of a rank.
fn rules(config: &Config, options: Options) -> HostRules {
    let timing = &config.timing;
    HostRules {
        banks_per_group: config.organisation.banks_per_group,
        burst: timing.burst_tck,
        cl: timing.cl_tck,
        cwl: timing.cwl_tck,
        t_rp: timing.rp_tck,
        t_rfc: timing.rfc_tck,
        chips: true,
        poll: Some(options.poll_tck + QUEUED_TCK),
    }
}

impl From<HostFound> for HostPins {
    fn from(found: HostFound) -> Self {
        let HostFound { commands, violations, first } = found;
        let first_violations = first.iter().map(ToString::to_string).collect();
        Self { commands, violations, first_violations }
    }
}
