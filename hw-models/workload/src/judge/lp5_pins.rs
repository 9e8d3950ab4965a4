// SPDX-License-Identifier: MIT
//! The checker at the pins of a channel of LPDDR5X-PIM.

use super::Findings;
use super::pins::{Violation, pin, rules};
use pimlico_device::lp5::address::RESERVED_ROWS;
use pimlico_device::lp5::{Lp5Device, Lp5Options};
use pimlico_device::{BusDriver, Config, Device, PinWatch};
use pimlico_dpa::types::Pins;
use pimlico_golden::pins::{Driver, Rules};
use pimlico_golden::pins_lp5::Lp5Checker;
use std::cell::RefCell;
use std::rc::Rc;

/// Violations of a channel that are kept; the others are counted.
const KEPT: usize = 8;

/// The checker at the pins of a channel.
#[derive(Clone)]
pub struct Lp5PinLog(Rc<RefCell<Log>>);

struct Log {
    checker: Lp5Checker,
    count: u64,
    first: Vec<Violation>,
}

impl Lp5PinLog {
    /// Watches the channels of a device that has just been reset.
    pub fn of(device: &mut Lp5Device) -> Vec<Self> {
        let (channels, options) = (device.channels(), device.options());
        let log = |channel| {
            let log = Self::new(device.config(), options);
            device.watch_channel(channel, Box::new(log.clone()));
            log
        };
        (0..channels).map(log).collect()
    }

    /// There are no registers with rules of their own: what is written to blocks is held to the rules of a WR. Where refresh is off, no REF is missed.
    /// Plain banks reserve no rows: those that change the mode lie behind their last.
    fn new(config: &Config, options: Lp5Options) -> Self {
        let rules = rules(config);
        let t_refi = rules.t_refi.filter(|_| options.refresh);
        let (rows, t_rcd_mac) = match options.plain {
            true => (config.organisation.rows + RESERVED_ROWS as usize, rules.t_rcd),
            false => (config.organisation.rows, rules.t_rcd_mac),
        };
        let checker = Lp5Checker::new(Rules { t_refi, t_rcd_mac, ..rules }, rows);
        Self(Rc::new(RefCell::new(Log { checker, count: 0, first: Vec::new() })))
    }

    /// What was found at all channels until `at_tck`.
    pub fn findings(logs: &[Self], at_tck: u64) -> Findings {
        let of = |log: &Self| {
            let mut log = log.0.borrow_mut();
            let found = log.checker.finish(at_tck);
            log.add(found);
            Findings { violations: (log.count, log.first.clone()), host: None }
        };
        logs.iter().map(of).fold(Findings::default(), Findings::and)
    }
}

impl Log {
    fn add(&mut self, found: Vec<Violation>) {
        self.count += found.len() as u64;
        let room = KEPT - self.first.len();
        self.first.extend(found.into_iter().take(room));
    }
}

impl PinWatch for Lp5PinLog {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        let mut log = self.0.borrow_mut();
        if let Some(pin) = pin(pins) {
            let found = log.checker.command(at_tck, pin);
            log.add(found);
        }
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        let driver = match driver {
            BusDriver::Chips => Driver::Dram,
            BusDriver::BufferChip => Driver::Controller,
        };
        let mut log = self.0.borrow_mut();
        let found = log.checker.data(from_tck, until_tck, driver);
        log.add(found);
    }
}
