// SPDX-License-Identifier: MIT
//! The host while a run goes on, and it does no more than to look at the status, or to read results once.

use super::Asked;
use super::message::{self, ModuleStatus};
use crate::memory_controller::{MemoryController, Transaction};
use pimlico_device::data_bus::Beats;
use pimlico_device::mapping::Place;
use pimlico_device::{Looks, Onlooker};
use pimlico_dpa::types::Pins;
use std::collections::VecDeque;

/// A host that looks at the status of a run that goes on, again and again until it says something new.
pub struct Polling<'a> {
    pub controller: &'a mut MemoryController,
    pub asked: &'a mut VecDeque<Asked>,
    pub poll_tck: u64,
    /// What the status said last, if that is no end and nothing that went wrong, and when it has last said so again.
    pub says: Option<ModuleStatus>,
    pub said_tck: Option<u64>,
    pub until_tck: u64,
    /// The next look, and the last.
    pub reads_tck: Option<u64>,
    pub last_tck: Option<u64>,
    /// The next look is the read that waits in the controller, whatever of.
    pub waits: bool,
    /// What the last one gave, if it said the same as before.
    pub gave: Option<Beats>,
}

impl Onlooker for Polling<'_> {
    fn until_tck(&self) -> u64 {
        self.until_tck
    }

    fn reads_tck(&self) -> Option<u64> {
        self.reads_tck
    }

    fn read(&mut self) -> Pins {
        let Some(at_tck) = self.reads_tck.take() else { return Pins::NONE };
        self.last_tck = Some(at_tck);
        if !self.waits {
            let status = Transaction::Read(message::status());
            self.asked.push_back(Asked::Status);
            self.controller.push(status).expect("a window of the module");
        }
        self.controller.command(at_tck).unwrap_or_default()
    }

    fn see(&mut self, at_tck: u64, beats: [u64; 2]) {
        (2 * at_tck..).zip(beats).for_each(|(clock, beat)| self.controller.take(clock, Some(beat)));
        let [beats] = self.controller.read() else { return };
        if self.waits {
            return;
        }
        let says = ModuleStatus::of(beats);
        self.gave = (says.is_some() && says == self.says).then_some(*beats);
        if self.gave.is_some() {
            self.look_again(at_tck + 1);
        }
    }

    fn looks(&self) -> Option<Looks> {
        let (from_tck, beats) = self.reads_tck.zip(self.gave)?;
        // The next comes when it is known what the one before has told.
        let every_tck = self.poll_tck.max(self.until_tck - from_tck);
        let Place { bank, column, .. } = message::status();
        Some(Looks { from_tck, every_tck, count: u64::MAX, pins: Pins::rd(bank, column), beats })
    }

    fn skip(&mut self, looks: u64) {
        if let Some(Looks { from_tck, every_tck, .. }) = self.looks() {
            let reads_tck = from_tck + looks * every_tck;
            self.reads_tck = Some(reads_tck);
            self.until_tck = self.controller.read_until(reads_tck);
        }
    }
}

impl Polling<'_> {
    /// In this tCK it is known that the last look has told nothing new.
    fn look_again(&mut self, known_tck: u64) {
        let Some(last_tck) = self.last_tck else { return };
        self.said_tck = Some(known_tck);
        self.asked.pop_front();
        self.controller.forget_read();
        let at_tck = known_tck.max(last_tck + self.poll_tck);
        if self.controller.would_read(message::status(), at_tck) {
            self.reads_tck = Some(at_tck);
            self.until_tck = self.controller.read_until(at_tck);
        }
    }
}
