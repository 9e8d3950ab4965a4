// SPDX-License-Identifier: MIT
//! The timeline of an iteration (Fig. 11): blocks one behind the other, or two sub-batches interleaved.

use crate::event::{GraphTask, Schedule, TaskGraph};
use pimlico_golden::timeline::TimelineChecker;
use serde::Serialize;

/// Times of the operators of a part of a batch in a block, tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Operators {
    /// QKV generation.
    pub qkv: u64,
    /// Attention.
    pub mha: u64,
    /// Projection and feed-forward network.
    pub ffn: u64,
}

impl Operators {
    /// The time of so many blocks one behind the other.
    pub fn serial(&self, blocks: u64) -> u64 {
        blocks * (self.qkv + self.mha + self.ffn)
    }
}

/// Stages A to F of two sub-batches, tCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Stages {
    /// QKV of the first.
    pub a: u64,
    /// QKV of the second beside attention of the first.
    pub b: u64,
    /// Projection, FFN and the next QKV of the first beside attention of the second.
    pub c: u64,
    /// The same of the second beside attention of the first.
    pub d: u64,
    /// Projection and FFN of the first beside attention of the second.
    pub e: u64,
    /// Projection and FFN of the second.
    pub f: u64,
}

impl Stages {
    /// Those of two sub-batches; a stage ends when both sides have.
    pub fn of([one, two]: &[Operators; 2]) -> Self {
        Self {
            a: one.qkv,
            b: two.qkv.max(one.mha),
            c: (one.ffn + one.qkv).max(two.mha),
            d: (two.ffn + two.qkv).max(one.mha),
            e: one.ffn.max(two.mha),
            f: two.ffn,
        }
    }

    /// The time of so many blocks.
    pub fn total(&self, blocks: u64) -> u64 {
        self.a + self.b + (blocks - 1) * (self.c + self.d) + self.e + self.f
    }
}

/// Resources of a timeline: the systolic arrays, and the PIM with the vector units.
pub const NPU: u64 = 0b01;
/// The other one.
pub const PIM: u64 = 0b10;

/// An operator in a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedOperator {
    /// What it is.
    pub operator: &'static str,
    /// Sub-batch.
    pub sub_batch: u64,
    /// Block.
    pub block: u64,
    /// [`NPU`] or [`PIM`].
    pub uses: u64,
    /// When it begins, tCK.
    pub start: u64,
    /// When it ends, tCK.
    pub end: u64,
}

/// An iteration, run operator by operator on the event core.
pub struct Timeline {
    /// The operators.
    pub operators: Vec<PlacedOperator>,
    /// When the last one ends, tCK.
    pub end: u64,
    /// What `golden::timeline` found.
    pub violations: u64,
}

/// A graph as it grows.
#[derive(Default)]
struct Building {
    graph: TaskGraph,
    names: Vec<(&'static str, u64, u64)>,
}

impl Building {
    fn add(&mut self, name: (&'static str, u64, u64), uses: u64, tck: u64, after: &[u32]) -> u32 {
        self.names.push(name);
        let task = GraphTask { uses, ps: tck, ..GraphTask::default() };
        self.graph.add(task, after.iter().copied())
    }

    fn run(self) -> Timeline {
        let schedule: Schedule = self.graph.run();
        let mut checker = TimelineChecker::default();
        self.graph.watch(&schedule, &mut checker);
        checker.end();
        let place =
            |(number, &(operator, sub_batch, block)): (usize, &(&'static str, u64, u64))| {
                let uses = self.graph.tasks()[number].uses;
                let (start, end) = (schedule.start[number], schedule.end[number]);
                PlacedOperator { operator, sub_batch, block, uses, start, end }
            };
        Timeline {
            operators: self.names.iter().enumerate().map(place).collect(),
            end: schedule.end.iter().copied().max().unwrap_or(0),
            violations: checker.faults(),
        }
    }
}

/// Runs so many blocks one behind the other (Fig. 11a).
pub fn run_serial(blocks: u64, of: &Operators) -> Timeline {
    let mut building = Building::default();
    let mut last = Vec::new();
    for block in 0..blocks {
        let qkv = building.add(("QKV", 0, block), NPU, of.qkv, &last);
        let mha = building.add(("MHA", 0, block), PIM, of.mha, &[qkv]);
        last = vec![building.add(("FFN", 0, block), NPU, of.ffn, &[mha])];
    }
    building.run()
}

/// Runs so many blocks of two sub-batches (Fig. 11b). With `barriers` an operator begins when the stage before it has ended on
/// both sides; without them it begins when its own inputs are there and the operator before it on its side has ended.
pub fn run_interleaved(blocks: u64, of: &[Operators; 2], barriers: bool) -> Timeline {
    let mut building = Building::default();
    // What ended the stage before, on either side.
    let (mut npu_last, mut pim_last): (Option<u32>, Option<u32>) = (None, None);
    let mut attended: [Option<u32>; 2] = [None; 2];
    let mut generated: [Option<u32>; 2] = [None; 2];
    for stage in 0..2 * blocks + 2 {
        let (sub_batch, block) = (stage % 2, stage / 2);
        let at = sub_batch as usize;
        let other = 1 - at;
        let inputs = |side: Option<u32>, own: Option<u32>| -> Vec<u32> {
            let both = if barriers { [npu_last, pim_last] } else { [side, own] };
            both.into_iter().flatten().collect()
        };
        let npu_inputs = inputs(npu_last, attended[at]);
        let pim_inputs = inputs(pim_last, generated[other]);
        if block > 0 {
            let name = ("FFN", sub_batch, block - 1);
            npu_last = Some(building.add(name, NPU, of[at].ffn, &npu_inputs));
        }
        if block < blocks {
            // Behind FFN of the same stage, if there is one.
            let after: Vec<u32> =
                if block > 0 { npu_last.into_iter().collect() } else { npu_inputs };
            npu_last = Some(building.add(("QKV", sub_batch, block), NPU, of[at].qkv, &after));
            generated[at] = npu_last;
        }
        if (1..=2 * blocks).contains(&stage) {
            let name = ("MHA", other as u64, (stage - 1) / 2);
            pim_last = Some(building.add(name, PIM, of[other].mha, &pim_inputs));
            attended[other] = pim_last;
        }
    }
    building.run()
}
