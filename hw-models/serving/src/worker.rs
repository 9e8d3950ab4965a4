// SPDX-License-Identifier: MIT
//! A replica at work: its requests, their ranksets, and what its next iteration has.

use crate::iteration::{Iteration, Shape};
use crate::memory::KvMemory;
use crate::policy::{Admission, Placement, Policy, SubBatches};
use crate::predict::Predictor;
use crate::replica::{Decoding, PCIE_LATENCY_PS, Replica};
use crate::schedule::{self, Estimate, Half, Prompt};
use crate::setup::Setup;
use crate::trace::{Trace, synthetic};
use pimlico_golden::timeline::TimelineChecker;
use rand_xoshiro::rand_core::RngCore;

/// One part in so many of the memory is kept free of newcomers, where requests grow.
const SPARE: u64 = 100;

/// A request that has room in a replica.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Its number in the trace.
    pub request: u32,
    /// Its first rankset.
    pub class: usize,
    /// Tokens for which it has room.
    pub held: u64,
    /// Tokens whose K and V are there.
    pub context: u64,
    /// Tokens of the prompt that are not computed.
    pub left: u64,
}

/// What a replica is doing until its time.
pub struct Doing {
    /// The sub-batches.
    pub halves: [Half; 2],
    /// Iterations, and how long each takes.
    pub count: u64,
    pub each_ps: u64,
    /// When the first begins.
    pub begin_ps: u64,
}

/// A replica at work.
pub struct Worker {
    /// What it has of the system.
    pub replica: Replica,
    /// The time until which it is done.
    pub now: u64,
    /// Requests that have room.
    pub live: Vec<Live>,
    /// Its room for K and V.
    pub memory: KvMemory,
    /// Tokens that requests of each first rankset will have.
    pub of_class: Vec<u64>,
    /// What it is doing.
    pub doing: Option<Doing>,
    /// What the scheduler learns, where it is asked to.
    pub predictor: Option<Predictor>,
    /// Whether it has nothing left to do.
    pub is_over: bool,
    /// Iterations that it has begun.
    pub iterations: u64,
}

impl Worker {
    /// The first rankset of a newcomer, if it has room here.
    pub fn class_for(&self, request: u32, tokens: u64, setup: &Setup<'_>) -> Option<usize> {
        let of_class = || self.of_class.iter().enumerate();
        let class = match (setup.policy, setup.placement) {
            (Policy::CpuOffload, _) if self.memory.fits(tokens, 0) => 0,
            (Policy::CpuOffload, _) if self.is_faster_offloaded(tokens) => 1,
            (Policy::CpuOffload, _) => return None,
            (_, Placement::Layers) => {
                of_class().min_by_key(|&(class, of)| (of, class)).map_or(0, |(class, _)| class)
            }
            (_, Placement::Same | Placement::Spread) => 0,
            (_, Placement::Drawn) => random_one(request, self.memory.pools())?,
            (_, Placement::Random) => {
                let has_room = |&class: &usize| self.memory.fits(tokens, class);
                let with_room: Vec<usize> = (0..self.memory.pools()).filter(has_room).collect();
                *with_room.get(random_one(request, with_room.len())?)?
            }
        };
        let is_free = match setup.admission {
            Admission::Reserve => true,
            // Who is sent back does not come in again at once: those that are here grow.
            Admission::Lazy => {
                let left = self.memory.capacity() - self.memory.used();
                self.live.is_empty() || left >= self.memory.capacity() / SPARE
            }
        };
        (is_free && self.memory.fits(tokens, class)).then_some(class)
    }

    /// Whether more tokens a second are made with one more request, of so many tokens, on the host's CPU; so it is where the
    /// GPUs have none.
    fn is_faster_offloaded(&self, tokens: u64) -> bool {
        let (mut on_gpu, mut on_cpu) = (Half::default(), Half::default());
        for (live, of) in self.live.iter().enumerate() {
            let half = if of.class == 0 { &mut on_gpu } else { &mut on_cpu };
            half.decoding.push((live, Decoding::new(of.held, of.class as u32)));
        }
        on_cpu.decoding.push((self.live.len(), Decoding::new(tokens, 1)));
        let requests = [&on_gpu, &on_cpu].map(|half| half.decoding.len() as u128);
        let [gpu, cpu] = [&on_gpu, &on_cpu].map(|half| half.on(&self.replica));
        let stream = cpu.parts.iter().map(|part| part.compute_ps).sum::<u64>();
        let both = (gpu.each_ps + cpu.each_ps).max(cpu.each_ps + stream);
        let [few, more] = [requests[0], requests[0] + requests[1]];
        few == 0 || more * u128::from(gpu.each_ps) > few * u128::from(both)
    }

    /// A request gives back what it has.
    pub fn leave(&mut self, of: &Live, trace: &Trace, checker: &mut TimelineChecker) {
        self.memory.give_back(of.held, of.class, checker);
        self.of_class[of.class] -= trace.requests[of.request as usize].tokens();
    }

    /// The next iteration's requests.
    pub fn compose(&self, setup: &Setup<'_>) -> [Half; 2] {
        let live = || self.live.iter().enumerate();
        let decoding = live()
            .filter(|(_, of)| of.left == 0)
            .map(|(number, of)| (number, Decoding::new(of.context + 1, of.class as u32)));
        let prompts = live().filter(|(_, of)| of.left > 0).map(|(number, of)| Prompt {
            live: number,
            left: of.left,
            finished: of.context,
            class: of.class as u32,
        });
        if setup.policy.interleaves() {
            let mut halves = self.sub_batches(decoding.collect(), setup);
            let estimate = Estimate { replica: &self.replica, learned: self.predictor.as_ref() };
            schedule::interleave(&mut halves, prompts.collect(), estimate);
            return halves;
        }
        let first = schedule::prompts_first(prompts);
        if !first.chunks.is_empty() {
            return [first, Half::default()];
        }
        match setup.policy {
            Policy::CpuOffload => {
                let (gpu, cpu) = decoding.partition(|(_, of)| of.class == 0);
                [gpu, cpu].map(|decoding| Half { decoding, chunks: Vec::new() })
            }
            policy if policy.has_sub_batches() => self.sub_batches(decoding.collect(), setup),
            _ => [Half { decoding: decoding.collect(), chunks: Vec::new() }, Half::default()],
        }
    }

    /// Decoding requests in two sub-batches.
    fn sub_batches(&self, decoding: Vec<(usize, Decoding)>, setup: &Setup<'_>) -> [Half; 2] {
        match setup.sub_batches {
            SubBatches::Tokens => schedule::even(decoding),
            SubBatches::Ranksets => schedule::even_by_rankset(decoding, self.memory.pools()),
        }
    }

    /// The tasks of an iteration.
    pub fn iteration(&self, halves: &[Half; 2], setup: &Setup<'_>) -> Iteration {
        let has_ranks = setup.policy.has_ranks();
        let has_ranksets = setup.policy.has_ranksets();
        let shape = Shape {
            layers: self.replica.llm.layers() as u32,
            sets: if has_ranksets { self.replica.sets as u32 } else { 1 },
            rotates: has_ranksets && matches!(setup.placement, Placement::Layers | Placement::Same),
            overlap: setup.overlap,
            latency_ps: if has_ranks { PCIE_LATENCY_PS } else { 0 },
            detail: setup.detail,
        };
        let halves = [0, 1].map(|half| halves[half].on(&self.replica));
        Iteration { shape, halves }
    }
}

/// One of so many that follows from a request's number alone.
fn random_one(request: u32, of: usize) -> Option<usize> {
    let number = synthetic::generator(u64::from(request)).next_u64();
    Some(number.checked_rem(of as u64)? as usize)
}
