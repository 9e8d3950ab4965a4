// SPDX-License-Identifier: MIT
//! From the host's memory controller through the module's buffer chip to the chips, tCK by tCK, and
//! what was seen on the pins of both ends.

use crate::judge::pins;
use pimlico_device::data_bus::{BEATS, Beats};
use pimlico_device::spd::{RELAYOUT_TCK, SpdError};
use pimlico_device::{BufferChip, Chips, Config, ConfigError, DataPath, Dram, Sides};
use pimlico_dpa::types::Pins;
use pimlico_golden::pins::{Driver, PinChecker, Rules, Violation};
use pimlico_host::memory_controller::{Delay, MemoryController, NoSuchPlace, Transaction};

/// Why transactions cannot be run.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PathError {
    /// The SPD image.
    #[error(transparent)]
    Spd(#[from] SpdError),
    /// The preset.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A transaction.
    #[error(transparent)]
    Place(#[from] NoSuchPlace),
}

/// A command, and when it was on the pins. It is the same at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at_tck: u64,
    /// The command.
    pub pins: Pins,
}

/// A burst on a data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// From this tCK.
    pub from_tck: u64,
    /// To this, which it no longer takes.
    pub until_tck: u64,
    /// Whose data they are.
    pub driver: Driver,
}

/// What transactions did.
#[derive(Clone, Debug)]
pub struct PathOutcome {
    /// What the host read, in the order of its transactions.
    pub read: Vec<Beats>,
    /// What the chips hold.
    pub dram: Dram,
    /// All commands.
    pub commands: Vec<Event>,
    /// The data bus at the host's pins.
    pub host_bus: Vec<Transfer>,
    /// The data bus at the chips' pins.
    pub chip_bus: Vec<Transfer>,
    /// When all was over.
    pub end_tck: u64,
}

/// Runs transactions on a module that holds nothing: a host that programs itself from `image` and has found
/// `delay` by training, data that pass the buffer chip by `path`, chips with the timing of `config`.
pub fn run(
    image: &[u8],
    delay: Delay,
    path: DataPath,
    config: &Config,
    transactions: impl IntoIterator<Item = Transaction>,
) -> Result<PathOutcome, PathError> {
    let host = MemoryController::from_spd(image)?.with_delay(delay);
    let mut host = host.refreshing(config.timing.refi_tck);
    let mut chips = Chips::new(config)?;
    let mut buffer = BufferChip::new(path);
    for transaction in transactions {
        host.push(transaction)?;
    }
    let mut commands = Vec::new();
    let [mut host_bus, mut chip_bus] = [Watch::default(), Watch::default()];
    let mut at_tck = 0;
    // Data may still be on their way when nobody waits for them any more.
    let mut idle_tck = 0;
    while idle_tck < RELAYOUT_TCK + 1 {
        if let Some(pins) = host.command(at_tck) {
            chips.command(at_tck, pins);
            commands.push(Event { at_tck, pins });
        }
        for clock in [2 * at_tck, 2 * at_tck + 1] {
            let from = Sides { host: host.drive(clock), chips: chips.drive(clock) };
            let to = buffer.step(from);
            chips.take(clock, to.chips);
            host.take(clock, to.host);
            host_bus.see(clock, Driver::Controller, from.host);
            host_bus.see(clock, Driver::Dram, to.host);
            chip_bus.see(clock, Driver::Controller, to.chips);
            chip_bus.see(clock, Driver::Dram, from.chips);
        }
        at_tck += 1;
        idle_tck = if host.is_idle() && chips.is_idle() { idle_tck + 1 } else { 0 };
    }
    Ok(PathOutcome {
        read: host.read().to_vec(),
        dram: chips.dram().clone(),
        commands,
        host_bus: host_bus.0,
        chip_bus: chip_bus.0,
        end_tck: at_tck,
    })
}

/// The bursts seen on a data bus, in the order in which they began.
#[derive(Default)]
struct Watch(Vec<Transfer>);

impl Watch {
    /// What `driver` has on the bus in this clock.
    fn see(&mut self, clock: u64, driver: Driver, beat: Option<u64>) {
        if beat.is_none() {
            return;
        }
        let (tck, burst_tck) = (clock / 2, BEATS as u64 / 2);
        // The other driver's may have begun since, if they collide.
        let last = self.0.iter_mut().rev().take(2).find(|transfer| transfer.driver == driver);
        match last {
            Some(last) if tck <= last.until_tck && tck < last.from_tck + burst_tck => {
                last.until_tck = tck + 1;
            }
            _ => self.0.push(Transfer { from_tck: tck, until_tck: tck + 1, driver }),
        }
    }
}

impl PathOutcome {
    /// What the checker finds at the chips' pins.
    pub fn violations_at_chips(&self, rules: Rules) -> Vec<Violation> {
        self.violations(rules, &self.chip_bus)
    }

    /// What the checker finds at the host's pins.
    pub fn violations_at_host(&self, rules: Rules) -> Vec<Violation> {
        self.violations(rules, &self.host_bus)
    }

    fn violations(&self, rules: Rules, bus: &[Transfer]) -> Vec<Violation> {
        let mut checker = PinChecker::new(rules);
        let mut found = Vec::new();
        let mut bus = bus.iter().peekable();
        for &Event { at_tck, pins } in &self.commands {
            while let Some(transfer) = bus.next_if(|transfer| transfer.from_tck < at_tck) {
                let Transfer { from_tck, until_tck, driver } = *transfer;
                found.extend(checker.data(from_tck, until_tck, driver));
            }
            found.extend(pins::pin(pins).map_or_else(Vec::new, |pin| checker.command(at_tck, pin)));
        }
        for &Transfer { from_tck, until_tck, driver } in bus {
            found.extend(checker.data(from_tck, until_tck, driver));
        }
        found.extend(checker.finish(self.end_tck));
        found
    }

    /// Share of the time from the first to the last beat of `driver` at the host's pins in which such
    /// data move there.
    pub fn utilisation(&self, driver: Driver) -> f64 {
        let data: Vec<_> = self.host_bus.iter().filter(|t| t.driver == driver).collect();
        let (Some(first), Some(last)) = (data.first(), data.last()) else { return 0.0 };
        let busy: u64 = data.iter().map(|transfer| transfer.until_tck - transfer.from_tck).sum();
        busy as f64 / (last.until_tck - first.from_tck) as f64
    }
}
