// SPDX-License-Identifier: MIT
//! The bursts that a host has written: messages and operands in the order of their arrival.

use pimlico_dpa::types::{Burst as Words, LoadKind};
use pimlico_ports::Enumerated;
use std::collections::VecDeque;

/// What a burst is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::module) enum Message {
    Load,
    Start,
    Refused,
    Operand,
}

/// A burst of the host.
#[derive(Clone, Copy)]
pub(in crate::module) struct Burst {
    operand: bool,
    pub words: Words,
    /// The first tCK that it is in the queue.
    pub from: u64,
}

impl Burst {
    /// A burst without data as yet, of the mailbox or of the operands.
    pub fn new(operand: bool) -> Self {
        Self { operand, words: [0; 8], from: 0 }
    }

    pub fn message(&self) -> Message {
        match self.words[0] & 3 {
            _ if self.operand => Message::Operand,
            1 => Message::Load,
            2 => Message::Start,
            _ => Message::Refused,
        }
    }

    /// Kind of a LOAD, and number of its data words.
    pub fn load(&self) -> Option<(LoadKind, usize)> {
        let is_load = self.message() == Message::Load;
        let kind = LoadKind::from_code(self.words[0] >> 4 & 7).filter(|_| is_load)?;
        Some((kind, (self.words[0] >> 8 & 7) as usize))
    }
}

/// The queue.
#[derive(Default)]
pub(in crate::module) struct Queue(VecDeque<Burst>);

impl Queue {
    /// Bursts that have room.
    pub const ROOM: usize = 128;

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn head(&self) -> Option<&Burst> {
        self.0.front()
    }

    /// STARTs in a tCK.
    pub fn starts(&self, tck: u64) -> usize {
        let there = self.0.iter().filter(|burst| burst.from <= tck);
        there.filter(|burst| burst.message() == Message::Start).count()
    }

    /// A burst is in the queue from a tCK on.
    pub fn push(&mut self, burst: Burst, from: u64) {
        self.0.push_back(Burst { from, ..burst });
    }

    pub fn pop(&mut self) -> Option<Burst> {
        self.0.pop_front()
    }
}
