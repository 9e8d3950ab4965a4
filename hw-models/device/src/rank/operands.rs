// SPDX-License-Identifier: MIT
//! Operands on their way to the shared buffers: the host's through the re-layout unit, words of weights past
//! it.

use crate::buffer_chip::{BufferChip, DataPath, Sides};
use crate::data_bus::{Beats, Incoming, Outgoing, beats_of, burst_of};
use crate::sizes::{Burst, CHIPS};
use pimlico_units::lap::Walk;
use std::collections::VecDeque;

/// What a word of the shared buffers gets.
#[derive(Clone, Copy, Debug)]
enum Operand {
    /// A burst of the host, in its order.
    Host(Beats),
    /// A word of weights, the same in every chip.
    Weights(u64),
}

/// The operands, and the buffer chip that data pass.
pub struct Operands {
    /// CWL in beats.
    latency: u64,
    pub buffer_chip: BufferChip,
    /// Those of requests that have not been on the pins yet.
    queued: VecDeque<Operand>,
    from_host: Outgoing,
    from_rank_pu: Outgoing,
    /// The words that the chips are going to take.
    expected: Incoming<usize>,
}

/// What is on the chips' data bus in a beat.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnBus {
    /// The buffer chip drives it.
    pub drives: bool,
    /// A word of the shared buffers that is complete with this beat.
    pub written: Option<(usize, Burst)>,
}

impl Operands {
    /// None yet.
    pub fn new(cwl_tck: u64) -> Self {
        Self {
            latency: 2 * cwl_tck,
            buffer_chip: BufferChip::new(DataPath::Relayout),
            queued: VecDeque::with_capacity(8),
            from_host: Outgoing::default(),
            from_rank_pu: Outgoing::default(),
            expected: Incoming::default(),
        }
    }

    /// A request for a burst of the host is taken.
    pub fn push_host(&mut self, beats: Beats) {
        self.queued.push_back(Operand::Host(beats));
    }

    /// A request for a word of weights is taken.
    pub fn push_weights(&mut self, word: u64) {
        self.queued.push_back(Operand::Weights(word));
    }

    /// The oldest request is on the pins as a WR_SHARED. Returns whether it is for a burst of the host.
    pub fn write(&mut self, at_tck: u64, word: usize) -> bool {
        let first_beat = 2 * at_tck + self.latency;
        self.expected.expect(first_beat, word);
        let operand = self.queued.pop_front();
        match operand {
            // A tCK sooner, for the re-layout unit.
            Some(Operand::Host(beats)) => self.from_host.push(first_beat - 2, beats),
            Some(Operand::Weights(word)) => {
                self.from_rank_pu.push(first_beat, beats_of(&[word; CHIPS]));
            }
            None => {}
        }
        matches!(operand, Some(Operand::Host(_)))
    }

    /// A beat of the data bus.
    pub fn step(&mut self, beat: u64) -> OnBus {
        let host = self.from_host.beat(beat);
        let relaid = self.buffer_chip.step(Sides { host, chips: None }).chips;
        let data = relaid.or(self.from_rank_pu.beat(beat));
        let written = self.expected.beat(beat, data);
        OnBus {
            drives: data.is_some(),
            written: written.map(|(word, beats)| (word, burst_of(&beats))),
        }
    }

    /// Goes over what is no data, for [laps](pimlico_units::lap), in a tCK, where nothing of the host is on its way.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        let Self { latency: _, buffer_chip, queued, from_host, from_rank_pu, expected } = self;
        let is_of_host = |operand: &Operand| matches!(operand, Operand::Host(_));
        let has_host = !from_host.is_empty() || queued.iter().any(is_of_host);
        walk.refuse_if(has_host || !buffer_chip.is_idle());
        walk.size(queued.len());
        from_rank_pu.walk(walk, 2 * now);
        expected.walk(walk, 2 * now, |word, walk| walk.size(*word));
    }

    /// Whether no word is going to be written.
    pub fn is_idle(&self) -> bool {
        self.expected.is_empty()
    }
}
