// SPDX-License-Identifier: MIT
//! Prefill through buffers, on the slot pool of `pimlico_stream`: a slot is a buffer, its loader the threads that copy.
//!
//! ```text
//! DDB   copies    [g0]|[g1/4]  [g1/4] [g1/4]         [g1/4]  |[g2]   |[g3]   |[g0']  |...
//!       products      |[ Q  ]  [ K  ] [ V  ] attend  [ O  ]  |[gate] |[ up ] |[down] |...
//!
//! OWR   copies    [Q]   [K]   [V]           [O]   [gate]      ...
//!       products     [Q]   [K]   [V] attend    [O]      [gate]   ...
//! ```
//!
//! The pool grants slots in the order of groups, so that with two of them group *j* is in slot *j* mod 2, and a slot is filled again
//! when its group has been multiplied. Within a group threads wait for each other behind each matrix ([`Stages`]).

use super::stages::{Copying, Stages};
use super::weights::{Group, ModelInBanks};
use super::{Host, PrefillError};
use crate::judge::prefill::Step;
use crate::judge::residency::Watch;
use memmap2::MmapMut;
use pimlico_stream::agents::{self, Halt, Supply, Work};
use pimlico_stream::event::{Event, Load, Use};
use pimlico_stream::setup::{Residency, Setup};
use pimlico_stream::slots;
use std::num::NonZero;

/// Buffers, and who copies into them.
pub(super) struct Buffers<'a> {
    pub(super) groups: Vec<Group<'a>>,
    /// Two of them: copies go beside products.
    pub(super) count: usize,
    /// Bytes of each.
    pub(super) bytes: u64,
    pub(super) copy_threads: NonZero<usize>,
}

impl Buffers<'_> {
    /// What the pool is asked for.
    pub(super) fn setup(&self) -> Setup {
        Setup {
            layers: self.groups.iter().map(Group::bytes).collect(),
            passes: 1,
            fixed: 0,
            limit: Some(self.count as u64 * self.bytes),
            residency: Residency::Pipeload { loaders: 1, slots: self.count, pinned: 0 },
        }
    }

    /// Parts in which a group is copied: as many as the group has matrices beside which it is.
    fn parts(&self, group: usize) -> usize {
        match (self.count, group) {
            (2, 1..) => self.groups[group - 1].matrices.len(),
            _ => 1,
        }
    }

    /// Takes all groups through the host; returns what the pool's events were.
    pub(super) fn run(
        &self,
        model: &ModelInBanks<'_>,
        host: &mut Host<'_>,
        stages: &Stages,
    ) -> Result<Vec<Event>, PrefillError> {
        let setup = self.setup();
        let slots = slots::slots(self.count, self.bytes);
        let slots = slots.map_err(|error| PrefillError::Memory(error.to_string()))?;
        let supply = Copies { buffers: self, stages };
        let mut work = Products { buffers: self, model, stages, host, parts: 0 };
        let (mut watch, mut events) = (Watch::new(&setup), Vec::new());
        let mut observe = |event: Event| {
            watch.see(event);
            events.push(event);
        };
        let ran = agents::run(&setup, &slots, &supply, &mut work, &mut observe);
        ran.map_err(|error| PrefillError::Threads(error.to_string()))?;
        watch.finish().map_err(PrefillError::Judged)?;
        Ok(events)
    }
}

/// The threads that copy.
struct Copies<'a> {
    buffers: &'a Buffers<'a>,
    stages: &'a Stages,
}

impl Supply<MmapMut> for Copies<'_> {
    type Error = PrefillError;

    fn load(&self, load: Load, buffer: &mut MmapMut, halt: &Halt) -> Result<(), PrefillError> {
        let _copying = Copying(self.stages);
        let number = load.layer;
        let group = &self.buffers.groups[number];
        let parts = self.buffers.parts(number);
        let threads = self.buffers.copy_threads;
        let beside = (self.buffers.count == 2 && number > 0).then(|| {
            let before = &self.buffers.groups[..number - 1];
            before.iter().map(|group| group.matrices.len()).sum::<usize>()
        });
        for part in 0..parts {
            // Beside the product with the matrix of this number.
            if let Some(first) = beside
                && !self.stages.await_products(first + part + 1, halt)
            {
                return Ok(());
            }
            let bytes = group.matrices.iter().map(|matrix| matrix.part(part, parts).1.len() as u64);
            let bytes = bytes.sum();
            self.stages.tell(Step::CopyBegan { group: number, buffer: load.slot, bytes });
            for matrix in &group.matrices {
                let (lines, to) = matrix.part(part, parts);
                matrix.source.copy(lines, threads, &mut buffer[to]);
            }
            self.stages.tell(Step::CopyEnded);
        }
        Ok(())
    }
}

/// The thread that multiplies, with those that help it.
struct Products<'a, 'h> {
    buffers: &'a Buffers<'a>,
    model: &'a ModelInBanks<'a>,
    stages: &'a Stages,
    host: &'a mut Host<'h>,
    /// Parts that have to be copied before the next product.
    parts: usize,
}

impl Work<MmapMut> for Products<'_, '_> {
    type Error = PrefillError;

    fn layer(&mut self, used: Use, buffer: &MmapMut) -> Result<(), PrefillError> {
        let number = used.layer;
        let group = &self.buffers.groups[number];
        let is_last = number + 1 == self.buffers.groups.len();
        if number == 0 {
            self.parts = 1;
        }
        for (matrix, buffered) in group.matrices.iter().enumerate() {
            let operand = self.model.copied(buffered.source, &buffer[buffered.at..]);
            let step = Step::ProductBegan { group: number, matrix, buffer: Some(used.slot) };
            let products = self.host.multiply(self.stages, step, operand);
            // The barrier.
            if self.buffers.count == 2 && !is_last {
                self.parts += 1;
                if !self.stages.await_parts(self.parts) {
                    return Err(PrefillError::Stopped);
                }
            }
            self.host.take(group.layer, buffered.part, products);
        }
        Ok(())
    }

    fn pass(&mut self, _: usize) -> Result<bool, PrefillError> {
        Ok(true)
    }
}
