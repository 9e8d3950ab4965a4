// SPDX-License-Identifier: MIT
//! What a channel did, and what it lost to what.

use super::pins::ChannelPins;
use super::sizes::{BANKS, GROUP, WORD};
use pimlico_units::channel::ChannelCommand;

/// An operation of PIM: when it was admitted, how long it was estimated to be, and how long it was, until its row could be closed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// When it was admitted.
    pub admitted_tck: u64,
    /// tCK as the controller estimated them.
    pub estimated_tck: u64,
    /// tCK as they were.
    pub tck: u64,
}

/// What a channel did in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStatistics {
    /// tCK of the stretch.
    pub tck: u64,
    /// Commands by their code, none of them included.
    pub commands: [u64; 13],
    /// tCK in which MEM moved no burst, by cause: 0 is none.
    pub mem_lost: [u64; 8],
    /// tCK in which PIM made no dot product, by cause: 0 is none.
    pub pim_lost: [u64; 16],
    /// Dot products of all banks.
    pub dots: u64,
    /// Bursts of results.
    pub results: u64,
    /// Operations that are over.
    pub operations: u64,
    /// tCK that they were estimated to take, and that they took.
    pub estimated_tck: u64,
    /// The same that they took.
    pub operation_tck: u64,
    /// Operations that took longer than was estimated.
    pub late: u64,
    /// The largest part of an estimate that an operation took, in thousandths.
    pub fullest: u64,
}

impl ChannelStatistics {
    /// How many there were of a command.
    pub fn of(&self, command: ChannelCommand) -> u64 {
        self.commands[command as usize]
    }

    /// Bursts of MEM.
    pub fn bursts(&self) -> u64 {
        self.of(ChannelCommand::Rd) + self.of(ChannelCommand::Wr)
    }

    /// Commands of PIM on the pins.
    pub fn pim_commands(&self) -> u64 {
        self.commands[ChannelCommand::PimActivation as usize..].iter().sum()
    }

    /// Commands on the pins.
    pub fn pin_commands(&self) -> u64 {
        self.commands[1..].iter().sum()
    }

    /// The part of all activations that windows of `faw_tck` in `pseudo_ranks` allow that there was.
    pub fn window(&self, faw_tck: u64, pseudo_ranks: u64) -> f64 {
        let banks =
            self.of(ChannelCommand::Act) + GROUP as u64 * self.of(ChannelCommand::PimActivation);
        banks as f64 * faw_tck as f64 / (4 * pseudo_ranks * self.tck.max(1)) as f64
    }

    /// A tCK, or several without a command.
    pub(super) fn account(&mut self, tck: u64, pins: &ChannelPins, mem: u64, pim: u64) {
        self.tck += tck;
        self.commands[pins.command as usize] += tck;
        self.mem_lost[mem as usize & 7] += tck;
        self.pim_lost[pim as usize & 15] += tck;
        match pins.command {
            ChannelCommand::PimDotProduct => self.dots += 1,
            ChannelCommand::PimGemv => {
                self.dots += u64::from(pins.count);
                self.results += 1;
            }
            ChannelCommand::PimReadResult => self.results += 1,
            _ => {}
        }
    }

    /// An operation is over.
    pub(super) fn ended(&mut self, operation: Operation) {
        self.operations += 1;
        self.estimated_tck += operation.estimated_tck;
        self.operation_tck += operation.tck;
        self.late += u64::from(operation.tck > operation.estimated_tck);
        let part = 1000 * operation.tck / operation.estimated_tck.max(1);
        self.fullest = self.fullest.max(part);
    }

    /// With those of another channel in the same time.
    pub fn and(mut self, other: &Self) -> Self {
        let add = |to: &mut [u64], from: &[u64]| to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.commands, &other.commands);
        add(&mut self.mem_lost, &other.mem_lost);
        add(&mut self.pim_lost, &other.pim_lost);
        Self {
            tck: self.tck.max(other.tck),
            dots: self.dots + other.dots,
            results: self.results + other.results,
            operations: self.operations + other.operations,
            estimated_tck: self.estimated_tck + other.estimated_tck,
            operation_tck: self.operation_tck + other.operation_tck,
            late: self.late + other.late,
            fullest: self.fullest.max(other.fullest),
            ..self
        }
    }

    /// Multiplications of the PUs.
    pub fn macs(&self) -> u64 {
        self.dots * (BANKS * WORD) as u64
    }
}
