// SPDX-License-Identifier: MIT
//! An iteration of a model on a GPU and on what computes the attention of decoding requests, as a graph of tasks.
//!
//! Up to two sub-batches take turns. In a layer, sub-batch `i` has
//!
//! 1. on the GPU the projection and feed-forward network of the layer before, qkv, and the attention of prompts;
//! 2. for each part of its attention: Q, K and V down to a rankset, the heads there, and their results up;
//! 3. K and V of prompts down, which nothing in the iteration waits for.
//!
//! Without transfers that is `sum over layers of max(G_0, P_1) + max(G_1, P_0)`, but for the ends. A transfer has one
//! direction of PCIe, the channels' pins and a rankset for itself; without overlap, all ranksets, and K and V of prompts are
//! waited for.
//!
//! Layers are alike, but for the ranksets, which come again after as many layers as there are. So [`Iteration::run`] places only
//! some layers, until each takes as long as the same one a turn earlier, and adds the others ([`Detail::Periodic`]); or it
//! places all of them ([`Detail::Full`]).

use crate::event::{GraphTask, Schedule, TaskGraph};
use pimlico_golden::timeline::TimelineChecker;

/// Bit of the GPU.
pub const GPU: u32 = 0;
/// Bit of PCIe, from GPU to host.
pub const PCIE_DOWN: u32 = 1;
/// Bit of PCIe, from host to GPU.
pub const PCIE_UP: u32 = 2;
/// Bit of the channels' pins.
pub const PINS: u32 = 3;
/// Bit of the first rankset, or of whatever computes attention beside the GPU.
pub const FIRST_SET: u32 = 4;
/// Ranksets, at the most.
pub const MOST_SETS: u32 = 60;

/// Parts that the heads of a rankset are cut into, and K and V of prompts: between two, it takes in or gives out data.
const PIECES: u64 = 4;

/// Attention of requests that are in the same rankset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The rankset of layer 0.
    pub set: u32,
    /// Q, K and V on their way down.
    pub down_ps: u64,
    /// The heads of the busiest rank.
    pub compute_ps: u64,
    /// Results on their way up.
    pub up_ps: u64,
}

/// A sub-batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubBatch {
    /// On the GPU: qkv and the attention of prompts.
    pub first_ps: u64,
    /// The same behind the projection and feed-forward network of the layer before.
    pub each_ps: u64,
    /// Projection and feed-forward network of the last layer.
    pub last_ps: u64,
    /// Attention of its decoding requests, by rankset.
    pub parts: Vec<Part>,
    /// K and V of prompts: the rankset of layer 0, and how long it takes.
    pub prompts: Vec<(u32, u64)>,
}

impl SubBatch {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.each_ps == 0
    }
}

/// How many layers are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Until they are alike.
    Periodic,
    /// All.
    Full,
}

/// What an iteration runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Layers.
    pub layers: u32,
    /// Ranksets.
    pub sets: u32,
    /// Whether each layer is in the rankset behind that of the layer before.
    pub rotates: bool,
    /// Whether ranksets compute while another one has the channels.
    pub overlap: bool,
    /// From the end of a transfer to when it is there.
    pub latency_ps: u64,
    /// How many layers are placed.
    pub detail: Detail,
}

/// An iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// What it runs on.
    pub shape: Shape,
    /// The sub-batches.
    pub halves: [SubBatch; 2],
}

/// What becomes of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lasted {
    /// How long it takes.
    pub ps: u64,
    /// For each resource how long it is busy.
    pub busy_ps: Vec<u64>,
    /// Layers that were placed.
    pub placed: u32,
}

/// What a task is, for pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// On the GPU.
    Matrices,
    /// Q, K and V down.
    Down,
    /// Heads.
    Heads,
    /// Results up.
    Up,
    /// K and V of prompts down.
    Prompts,
}

/// A task of the graph: what it is, of which sub-batch and layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    /// What it is.
    pub work: Work,
    /// Sub-batch.
    pub half: u32,
    /// Layer; the one behind the last has only the end of the last.
    pub layer: u32,
}

/// A graph under construction.
struct Graph<'a> {
    iteration: &'a Iteration,
    graph: TaskGraph,
    labels: Vec<Label>,
    /// For each sub-batch the tasks that its next one on the GPU waits for.
    before: [Vec<u32>; 2],
    /// The last task on the GPU.
    on_gpu: Option<u32>,
}

/// The graph of some layers, placed.
pub struct Placed {
    /// The graph.
    pub graph: TaskGraph,
    /// What its tasks are.
    pub labels: Vec<Label>,
    /// When they are.
    pub schedule: Schedule,
}

impl Iteration {
    /// How long it takes; the checker is told of all tasks that are placed.
    pub fn run(&self, checker: &mut TimelineChecker) -> Lasted {
        let Shape { layers, detail, .. } = self.shape;
        let turn = if self.shape.rotates { self.shape.sets } else { 1 };
        // Most are alike behind five turns.
        for turns in [5, 6, 8] {
            let few = turns * turn + layers % turn;
            if detail == Detail::Full || few >= layers {
                break;
            }
            let placed = self.place(few);
            if let Some(period) = placed.period(turn, few) {
                placed.graph.watch(&placed.schedule, checker);
                let more = u64::from((layers - few) / turn);
                return placed.lasted(self.resources(), more, period, turn, few);
            }
        }
        let placed = self.place(layers);
        placed.graph.watch(&placed.schedule, checker);
        placed.lasted(self.resources(), 0, 0, turn, layers)
    }

    /// Resources that there are.
    pub fn resources(&self) -> usize {
        (FIRST_SET + self.shape.sets) as usize
    }

    /// Its first layers, and the end of the last of them.
    pub fn place(&self, layers: u32) -> Placed {
        let mut graph = Graph {
            iteration: self,
            graph: TaskGraph::default(),
            labels: Vec::new(),
            before: [Vec::new(), Vec::new()],
            on_gpu: None,
        };
        for layer in 0..=layers {
            for half in 0..2 {
                graph.layer(half, layer, layers);
            }
        }
        let Graph { graph, labels, .. } = graph;
        let schedule = graph.run();
        Placed { graph, labels, schedule }
    }
}

impl Graph<'_> {
    fn add(&mut self, task: GraphTask, label: Label, after: impl IntoIterator<Item = u32>) -> u32 {
        self.labels.push(label);
        self.graph.add(task, after)
    }

    /// A layer of a sub-batch; the one behind the last is the end of that.
    fn layer(&mut self, half: usize, layer: u32, layers: u32) {
        let iteration = self.iteration;
        let of = &iteration.halves[half];
        if of.is_empty() {
            return;
        }
        let ps = match layer {
            0 => of.first_ps,
            layer if layer == layers => of.last_ps,
            _ => of.each_ps,
        };
        let label = |work| Label { work, half: half as u32, layer };
        let matrices = GraphTask { uses: 1 << GPU, ps, delay_ps: 0, class: 1 };
        let before = std::mem::take(&mut self.before[half]);
        let after: Vec<u32> = before.into_iter().chain(self.on_gpu).collect();
        let on_gpu = self.add(matrices, label(Work::Matrices), after);
        self.on_gpu = Some(on_gpu);
        if layer == layers {
            return;
        }
        for part in &of.parts {
            let up = self.part(part, on_gpu, layer, label);
            self.before[half].push(up);
        }
        for &(set, ps) in &of.prompts {
            let down = self.prompts(set, ps, on_gpu, layer, label(Work::Prompts));
            if !iteration.shape.overlap {
                self.before[half].push(down);
            }
        }
    }

    /// The bits of a transfer to or from a rankset.
    fn transfer(&self, direction: u32, set: u32) -> u64 {
        let Shape { sets, overlap, .. } = self.iteration.shape;
        let sets = if overlap { 1 << (FIRST_SET + set) } else { ((1 << sets) - 1) << FIRST_SET };
        1 << direction | 1 << PINS | sets
    }

    fn set_of(&self, first: u32, layer: u32) -> u32 {
        let Shape { sets, rotates, .. } = self.iteration.shape;
        if rotates { (first + layer) % sets } else { first }
    }

    /// The attention of a part. Returns its last task.
    fn part(&mut self, part: &Part, on_gpu: u32, layer: u32, label: impl Fn(Work) -> Label) -> u32 {
        let set = self.set_of(part.set, layer);
        let delay_ps = self.iteration.shape.latency_ps;
        let mut last = on_gpu;
        if part.down_ps > 0 {
            let uses = self.transfer(PCIE_DOWN, set);
            let task = GraphTask { uses, ps: part.down_ps, delay_ps, class: 0 };
            last = self.add(task, label(Work::Down), [last]);
        }
        let pieces = if part.down_ps > 0 { PIECES } else { 1 };
        for piece in 0..pieces {
            let ps = part.compute_ps * (piece + 1) / pieces - part.compute_ps * piece / pieces;
            let uses = 1 << (FIRST_SET + set);
            let task = GraphTask { uses, ps, delay_ps: 0, class: 2 };
            last = self.add(task, label(Work::Heads), [last]);
        }
        if part.up_ps > 0 {
            let uses = self.transfer(PCIE_UP, set);
            let task = GraphTask { uses, ps: part.up_ps, delay_ps, class: 0 };
            last = self.add(task, label(Work::Up), [last]);
        }
        last
    }

    /// K and V of prompts, in pieces. Returns the last of them.
    fn prompts(&mut self, set: u32, ps: u64, on_gpu: u32, layer: u32, label: Label) -> u32 {
        let uses = self.transfer(PCIE_DOWN, self.set_of(set, layer));
        let class = if self.iteration.shape.overlap { 3 } else { 0 };
        let mut last = on_gpu;
        for piece in 0..PIECES {
            let ps = ps * (piece + 1) / PIECES - ps * piece / PIECES;
            last = self.add(GraphTask { uses, ps, delay_ps: 0, class }, label, [last]);
        }
        last
    }
}

impl Placed {
    /// How much later a layer is than the same one a turn earlier, if that is so on the GPU in the last two turns, and of
    /// all that a layer has in the two turns before the last: transfers that nothing waits for may fall behind, and catch up
    /// at the end.
    fn period(&self, turn: u32, layers: u32) -> Option<u64> {
        let mut ends = [vec![0; layers as usize], vec![0; layers as usize]];
        let mut all = vec![0; layers as usize];
        for (task, label) in self.labels.iter().enumerate() {
            if label.layer == layers {
                continue;
            }
            let end = self.schedule.end[task];
            let of_layer = &mut all[label.layer as usize];
            *of_layer = end.max(*of_layer);
            if label.work == Work::Matrices {
                ends[label.half as usize][label.layer as usize] = end;
            }
        }
        let turn = turn as usize;
        let apart = |half: &Vec<u64>, layer: usize| half[layer] - half[layer - turn];
        let last = layers as usize - 1;
        let period = ends.iter().map(|half| apart(half, last)).max()?;
        let is_alike = |half: &Vec<u64>| {
            half[last] == 0
                || (last + 1 - 2 * turn..=last).all(|layer| apart(half, layer) == period)
        };
        let keeps_up =
            (last + 1 - 3 * turn..=last - turn).all(|layer| apart(&all, layer) == period);
        (keeps_up && ends.iter().all(is_alike)).then_some(period)
    }

    /// What became of it, with so many turns of layers more.
    fn lasted(&self, resources: usize, more: u64, period: u64, turn: u32, placed: u32) -> Lasted {
        let end = self.schedule.end.iter().copied().max().unwrap_or(0);
        let mut busy_ps = vec![0; resources];
        for (task, label) in self.graph.tasks().iter().zip(&self.labels) {
            // Layers 1 to `turn` are those of a turn that has no layer 0.
            let times = if (1..=turn).contains(&label.layer) { 1 + more } else { 1 };
            let mut uses = task.uses;
            while uses != 0 {
                busy_ps[uses.trailing_zeros() as usize] += times * task.ps;
                uses &= uses - 1;
            }
        }
        Lasted { ps: end + more * period, busy_ps, placed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_golden::timeline::two_sub_batches;
    use proptest::prelude::*;

    fn shape(layers: u32, sets: u32) -> Shape {
        Shape {
            layers,
            sets,
            rotates: true,
            overlap: true,
            latency_ps: 0,
            detail: Detail::Periodic,
        }
    }

    fn half(ps: u64, parts: Vec<Part>) -> SubBatch {
        SubBatch { first_ps: ps, each_ps: ps, last_ps: ps, parts, prompts: Vec::new() }
    }

    fn run(iteration: &Iteration) -> Lasted {
        let mut checker = TimelineChecker::default();
        let lasted = iteration.run(&mut checker);
        checker.end();
        assert_eq!(checker.first(), None);
        lasted
    }

    #[test]
    fn two_sub_batches_without_transfers_are_the_recurrence() {
        let part = |compute_ps| vec![Part { compute_ps, ..Part::default() }];
        for (g, p) in [([30, 20], [50, 10]), ([5, 7], [100, 90]), ([90, 80], [3, 4])] {
            let halves = [half(g[0], part(p[0])), half(g[1], part(p[1]))];
            let iteration = Iteration { shape: shape(40, 1), halves };
            assert_eq!(run(&iteration).ps, two_sub_batches(g, p, g, 40));
        }
    }

    #[test]
    fn a_layer_waits_for_all_parts_and_parts_are_side_by_side() {
        let part = |set, compute_ps| Part { set, down_ps: 2, compute_ps, up_ps: 1 };
        let parts = vec![part(0, 40), part(1, 80)];
        let iteration =
            Iteration { shape: shape(1, 4), halves: [half(10, parts), half(0, vec![])] };
        // The second part's transfer waits for the first's.
        assert_eq!(run(&iteration).ps, 10 + 2 + 2 + 80 + 1 + 10);
        let off = Shape { overlap: false, ..shape(1, 4) };
        let lasted = run(&Iteration { shape: off, ..iteration });
        assert!(lasted.ps >= 10 + 2 + 2 + 80 + 1 + 1 + 10, "{lasted:?}");
    }

    proptest! {
        #[test]
        fn layers_that_are_added_are_those_that_would_be_placed(
            sets in 1..5u32,
            layers in 1..70u32,
            gpu in [1..1000u64, 0..1000u64],
            parts in proptest::collection::vec((0..5u32, 0..2u32, 1..50u64, 1..900u64, 1..50u64), 0..7),
            prompts in proptest::collection::vec((0..5u32, 1..500u64), 0..2),
            rotates: bool,
            overlap: bool,
        ) {
            let mut halves = gpu.map(|ps| half(ps, Vec::new()));
            for (set, of, down_ps, compute_ps, up_ps) in parts {
                let part = Part { set: set % sets, down_ps, compute_ps, up_ps };
                halves[of as usize].parts.push(part);
            }
            halves[0].prompts = prompts.iter().map(|&(set, ps)| (set % sets, ps)).collect();
            let shape = Shape { rotates, overlap, latency_ps: 7, ..shape(layers, sets) };
            let iteration = Iteration { shape, halves };
            let periodic = run(&iteration);
            let full = run(&Iteration { shape: Shape { detail: Detail::Full, ..shape }, ..iteration });
            prop_assert!(periodic.ps.abs_diff(full.ps) <= u64::from(layers), "{periodic:?} {full:?}");
            prop_assert!(periodic.busy_ps.iter().zip(&full.busy_ps).all(|(a, b)| a.abs_diff(*b) <= u64::from(layers)));
        }
    }
}
