// SPDX-License-Identifier: MIT
//! The event core: tasks on serial resources.
//!
//! A task has a set of resources for itself from its start to its end. It is ready when all tasks that it waits for have ended
//! and their delays have passed, and starts as soon as all of its resources are free. Of the ready tasks those of the lower
//! class come first, then those that were ready first, then those that were added first. A task that waits for tasks of higher
//! classes alone keeps its resources from others of those: it starts when they end. So a schedule follows from the graph alone.

use pimlico_golden::timeline::{TimelineChecker, WatchedTask};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphTask {
    /// Its resources, a bit for each.
    pub uses: u64,
    /// How long it has them.
    pub ps: u64,
    /// How much later those that wait for it are ready.
    pub delay_ps: u64,
    /// Of the ready tasks the lowest class starts first.
    pub class: u8,
}

/// Tasks and what they wait for.
#[derive(Clone, Debug, Default)]
pub struct TaskGraph {
    tasks: Vec<GraphTask>,
    /// For each task where its edges begin, and the end of all.
    first: Vec<u32>,
    edges: Vec<u32>,
}

/// When the tasks of a graph start and end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The starts.
    pub start: Vec<u64>,
    /// The ends.
    pub end: Vec<u64>,
}

impl TaskGraph {
    /// Adds a task that waits for others. Returns its number.
    ///
    /// # Panics
    ///
    /// If it waits for a task that was not added before it.
    pub fn add(&mut self, task: GraphTask, after: impl IntoIterator<Item = u32>) -> u32 {
        let number = self.tasks.len() as u32;
        if self.first.is_empty() {
            self.first.push(0);
        }
        self.tasks.push(task);
        self.edges.extend(after);
        let begin = self.first[number as usize] as usize;
        assert!(self.edges[begin..].iter().all(|&other| other < number), "task {number}");
        self.first.push(self.edges.len() as u32);
        number
    }

    /// The tasks.
    pub fn tasks(&self) -> &[GraphTask] {
        &self.tasks
    }

    /// The tasks that a task waits for.
    pub fn after(&self, task: usize) -> &[u32] {
        &self.edges[self.first[task] as usize..self.first[task + 1] as usize]
    }

    /// Places all tasks in time, from 0 on.
    pub fn run(&self) -> Schedule {
        Run::new(self).place()
    }

    /// Tells a checker of a schedule of this graph.
    pub fn watch(&self, schedule: &Schedule, checker: &mut TimelineChecker) {
        let mut after = Vec::new();
        for (number, task) in self.tasks.iter().enumerate() {
            after.clear();
            let edges = self.after(number).iter();
            after.extend(edges.map(|&other| (other, self.tasks[other as usize].delay_ps)));
            let (start, end) = (schedule.start[number], schedule.end[number]);
            checker.task(WatchedTask { uses: task.uses, start, end, after: &after });
        }
        checker.close();
    }
}

/// What happens at a time. Ends come first, so that what is free is known before anything starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    End,
    Ready,
}

/// A graph that is being placed.
struct Run<'a> {
    graph: &'a TaskGraph,
    schedule: Schedule,
    waits_for: Vec<u32>,
    ready_ps: Vec<u64>,
    /// For each task those that wait for it: where they begin, and all of them.
    first_next: Vec<u32>,
    next: Vec<u32>,
    events: BinaryHeap<Reverse<(u64, Happens, u32)>>,
    /// Class, time and number of tasks that are ready.
    ready: Vec<(u8, u64, u32)>,
    busy: u64,
    /// Class of the task that has a resource.
    held: [u8; 64],
}

impl<'a> Run<'a> {
    fn new(graph: &'a TaskGraph) -> Self {
        let count = graph.tasks.len();
        let waits_for: Vec<u32> = (0..count).map(|task| graph.after(task).len() as u32).collect();
        let mut first_next = vec![0u32; count + 1];
        for &before in &graph.edges {
            first_next[before as usize + 1] += 1;
        }
        for task in 0..count {
            first_next[task + 1] += first_next[task];
        }
        let mut place = first_next.clone();
        let mut next = vec![0u32; graph.edges.len()];
        for task in 0..count {
            for &before in graph.after(task) {
                let at = &mut place[before as usize];
                next[*at as usize] = task as u32;
                *at += 1;
            }
        }
        let schedule = Schedule { start: vec![0; count], end: vec![0; count] };
        let ready = (0..count as u32)
            .filter(|&task| waits_for[task as usize] == 0)
            .map(|task| (graph.tasks[task as usize].class, 0, task));
        let mut ready: Vec<_> = ready.collect();
        ready.sort_unstable();
        let (events, ready_ps) = (BinaryHeap::new(), vec![0; count]);
        let (busy, held) = (0, [0; 64]);
        Self { graph, schedule, waits_for, ready_ps, first_next, next, events, ready, busy, held }
    }

    fn place(mut self) -> Schedule {
        self.start(0);
        while let Some(Reverse((now, happens, task))) = self.events.pop() {
            self.happen(now, happens, task);
            while let Some(&Reverse((at, happens, task))) = self.events.peek() {
                if at != now {
                    break;
                }
                self.events.pop();
                self.happen(at, happens, task);
            }
            self.start(now);
        }
        self.schedule
    }

    fn happen(&mut self, now: u64, happens: Happens, task: u32) {
        let of = &self.graph.tasks[task as usize];
        match happens {
            Happens::Ready => self.is_ready(now, task),
            Happens::End => {
                self.busy &= !of.uses;
                let ready = now + of.delay_ps;
                let next = self.first_next[task as usize]..self.first_next[task as usize + 1];
                for at in next {
                    let waiting = self.next[at as usize];
                    let of = waiting as usize;
                    self.ready_ps[of] = self.ready_ps[of].max(ready);
                    self.waits_for[of] -= 1;
                    if self.waits_for[of] == 0 {
                        match self.ready_ps[of] {
                            at if at > now => {
                                self.events.push(Reverse((at, Happens::Ready, waiting)))
                            }
                            // All ends of this time are known before anything starts.
                            _ => self.is_ready(now, waiting),
                        }
                    }
                }
            }
        }
    }

    fn is_ready(&mut self, now: u64, task: u32) {
        let entry = (self.graph.tasks[task as usize].class, now, task);
        let at = self.ready.partition_point(|other| *other < entry);
        self.ready.insert(at, entry);
    }

    /// Starts what can start.
    fn start(&mut self, now: u64) {
        let Self { graph, schedule, events, ready, busy, held, .. } = self;
        // What waiting tasks of lower classes keep, and those of the class that is looked at.
        let (mut kept, mut of_class, mut looked_at) = (0u64, 0u64, 0u8);
        ready.retain(|&(class, _, task)| {
            if class > looked_at {
                (kept, of_class, looked_at) = (kept | of_class, 0, class);
            }
            let of = &graph.tasks[task as usize];
            let waits_for = of.uses & *busy;
            if waits_for != 0 || of.uses & kept != 0 {
                if bits(waits_for).all(|resource| held[resource] > class) {
                    of_class |= of.uses;
                }
                return true;
            }
            *busy |= of.uses;
            bits(of.uses).for_each(|resource| held[resource] = class);
            schedule.start[task as usize] = now;
            schedule.end[task as usize] = now + of.ps;
            events.push(Reverse((now + of.ps, Happens::End, task)));
            false
        });
    }
}

/// The resources of a set.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let resource = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(resource)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn task(uses: u64, ps: u64) -> GraphTask {
        GraphTask { uses, ps, ..GraphTask::default() }
    }

    #[test]
    fn tasks_take_turns_by_class_then_by_when_they_are_ready() {
        let mut graph = TaskGraph::default();
        let first = graph.add(task(0b01, 10), []);
        let late = graph.add(GraphTask { class: 2, ..task(0b11, 5) }, []);
        let early = graph.add(GraphTask { class: 1, delay_ps: 3, ..task(0b01, 4) }, [first]);
        let last = graph.add(task(0b10, 1), [early]);
        let schedule = graph.run();
        // `early` is of a lower class, so `late` waits, and `last` waits for its delay behind both resources.
        assert_eq!(schedule.start, [0, 14, 10, 19]);
        assert_eq!(schedule.end, [10, 19, 14, 20]);
        let mut checker = TimelineChecker::default();
        graph.watch(&schedule, &mut checker);
        assert_eq!((checker.faults(), checker.tasks()), (0, 4));
        assert_eq!((late, last), (1, 3));
    }

    #[test]
    fn a_task_of_several_resources_is_not_overtaken_by_those_that_come_later() {
        let mut graph = TaskGraph::default();
        let begin = graph.add(task(0, 5), []);
        let low = |uses, ps| GraphTask { class: 2, ..task(uses, ps) };
        // Two resources are never free at the same time, but for the one that wants both.
        for (uses, first) in [(0b01, 10), (0b10, 15)] {
            let mut last = graph.add(low(uses, first), []);
            for _ in 0..3 {
                last = graph.add(low(uses, 10), [last]);
            }
        }
        let both = graph.add(task(0b11, 2), [begin]);
        let schedule = graph.run();
        assert_eq!(schedule.start[both as usize], 15);
    }

    #[test]
    fn a_schedule_with_an_overlap_is_found() {
        let mut graph = TaskGraph::default();
        graph.add(task(1, 10), []);
        graph.add(task(1, 10), []);
        let mut schedule = graph.run();
        schedule.start[1] -= 1;
        let mut checker = TimelineChecker::default();
        graph.watch(&schedule, &mut checker);
        assert_eq!(checker.faults(), 1);
    }

    proptest! {
        #[test]
        fn schedules_of_any_graph_hold(
            tasks in vec((0..8u64, 0..20u64, 0..5u64, 0..3u8, vec(any::<prop::sample::Index>(), 0..3)), 1..60),
        ) {
            let mut graph = TaskGraph::default();
            for (number, (uses, ps, delay_ps, class, after)) in tasks.iter().enumerate() {
                let after = after.iter().filter(|_| number > 0).map(|index| index.index(number) as u32);
                let task = GraphTask { uses: *uses, ps: *ps, delay_ps: *delay_ps, class: *class };
                graph.add(task, after.collect::<Vec<_>>());
            }
            let schedule = graph.run();
            let mut checker = TimelineChecker::default();
            graph.watch(&schedule, &mut checker);
            prop_assert_eq!(checker.first(), None);
            prop_assert_eq!(&graph.run(), &schedule);
            // Nothing is longer than all tasks one after the other.
            let all: u64 = graph.tasks().iter().map(|task| task.ps + task.delay_ps).sum();
            prop_assert!(schedule.end.iter().all(|&end| end <= all));
        }
    }
}
