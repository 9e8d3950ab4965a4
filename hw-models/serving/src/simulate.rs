// SPDX-License-Identifier: MIT
//! Serving a trace with L3's system or one of its baselines.
//!
//! Replicas share a queue. Whenever one ends an iteration, requests that have come go, in their order, to the replica with most
//! room, and wait there for its next iteration; the first that has room nowhere keeps those behind it waiting.
//!
//! Between two changes of a replica's requests iterations are alike but for one token more in each context. So iterations
//! without prompts are taken together, up to [`STRETCH`] of them, until a request ends or the next one comes, each with the
//! contexts in the middle.

use crate::error::ServingError;
use crate::gpu::GpuGroup;
use crate::intake::{Intake, Suits};
use crate::iteration::{Detail, Lasted};
use crate::memory::KvMemory;
use crate::outcome::{Run, Sample};
use crate::policy::Admission;
use crate::predict::Predictor;
use crate::replica::Replica;
use crate::schedule::{self, Half};
use crate::setup::Setup;
use crate::trace::{Request, Trace};
use crate::worker::{Doing, Live, Worker};
use pimlico_golden::timeline::TimelineChecker;

/// Iterations that are taken together, at the most.
pub const STRETCH: u64 = 16;

/// Serves a trace. The checker is told of all that happens.
pub fn simulate(
    setup: &Setup<'_>,
    trace: &Trace,
    checker: &mut TimelineChecker,
) -> Result<Run, ServingError> {
    Simulation::new(setup, trace, checker)?.run()
}

struct Simulation<'a> {
    setup: &'a Setup<'a>,
    trace: &'a Trace,
    checker: &'a mut TimelineChecker,
    workers: Vec<Worker>,
    intake: Intake,
    /// Tokens made, by request.
    made: Vec<u64>,
    run: Run,
    every: u64,
}

impl<'a> Simulation<'a> {
    fn new(
        setup: &'a Setup<'a>,
        trace: &'a Trace,
        checker: &'a mut TimelineChecker,
    ) -> Result<Self, ServingError> {
        let Setup { llm, hardware, policy, .. } = setup;
        hardware.check()?;
        let channels = hardware.channels / hardware.dp;
        let gpus = GpuGroup { gpu: setup.gpu, model: setup.gpu_model, tp: hardware.tp };
        let replica = Replica {
            llm: (*llm).clone(),
            policy: *policy,
            gpus,
            channels,
            sets: hardware.sets(),
            heads: llm.kv_heads().div_ceil(channels),
            placement: setup.placement,
            ranks: setup.costs.filter(|_| policy.has_ranks()).cloned(),
        };
        let (layout, capacity) = replica.room(hardware, setup.rank)?;
        let worker = |_| Worker {
            replica: replica.clone(),
            now: 0,
            live: Vec::new(),
            memory: KvMemory::new(layout, capacity.clone(), checker),
            of_class: vec![0; capacity.len()],
            doing: None,
            predictor: setup.learns.map(Predictor::new),
            is_over: false,
            iterations: 0,
        };
        let workers: Vec<Worker> = (0..hardware.dp).map(worker).collect();
        let mut run = Run { energy_pj: Some(0), ..Run::default() };
        let suits = |number: u32, request: &Request| {
            let fits = || {
                (0..capacity.len()).any(|class| workers[0].memory.may_hold(request.tokens(), class))
            };
            match setup.without.binary_search(&number) {
                Ok(_) => Suits::LeftOut,
                Err(_) if fits() => Suits::Yes,
                Err(_) => Suits::TooLong,
            }
        };
        let intake = Intake::new(trace, setup.closed_loop, &mut run, checker, suits);
        run.memory.0 = workers.iter().map(|worker| worker.memory.capacity()).sum();
        let made = vec![0; trace.requests.len()];
        let every = (trace.requests.iter().map(|request| request.output).sum::<u64>() / 400).max(1);
        Ok(Self { setup, trace, checker, workers, intake, made, run, every })
    }

    fn run(mut self) -> Result<Run, ServingError> {
        if self.intake.is_empty() {
            return Err(self.nothing_fits());
        }
        // The replica that is first done; of equal ones the first.
        while let Some(number) = self.next() {
            let now = self.workers[number].now;
            self.finish_iterations(number);
            self.dispatch(now);
            self.begin_iterations(number);
        }
        self.checker.end();
        self.run.served = self.intake.end();
        self.run.predictor = self.workers.swap_remove(0).predictor;
        Ok(self.run)
    }

    fn nothing_fits(&self) -> ServingError {
        let least = self.trace.requests.iter().map(|request| request.tokens()).min().unwrap_or(0);
        let llm = self.setup.llm;
        let (capacity, replicas) = (self.workers[0].memory.capacity(), self.setup.hardware.dp);
        let unit = if self.setup.policy.has_ranks() { "rows of ranks" } else { "bytes" };
        ServingError::NoRoom {
            what: format!("K and V of the shortest request, {least} tokens of {},", llm.name),
            wanted: least * llm.kv_bytes(),
            of: format!("{replicas} replica(s), counted in {unit} of one,"),
            there: capacity,
        }
    }

    fn next(&self) -> Option<usize> {
        let going = self.workers.iter().enumerate().filter(|(_, worker)| !worker.is_over);
        going.min_by_key(|(number, worker)| (worker.now, *number)).map(|(number, _)| number)
    }

    /// What a replica did until now has its effect.
    fn finish_iterations(&mut self, number: usize) {
        let Self { workers, run, made, intake, checker, every, .. } = self;
        let worker = &mut workers[number];
        let Some(doing) = worker.doing.take() else { return };
        let Doing { halves, count, each_ps, begin_ps } = doing;
        let now = worker.now;
        let mut tokens = 0;
        let mut ended = Vec::new();
        for (live, _) in halves.iter().flat_map(|half| &half.decoding) {
            let of = &mut worker.live[*live];
            of.context += count;
            tokens += count;
            made[of.request as usize] += count;
            checker.tokens(of.request, count, now);
            if made[of.request as usize] == intake.served[of.request as usize].output {
                ended.push(*live);
            }
        }
        run.between.push((each_ps, tokens));
        for (live, chunk) in halves.iter().flat_map(|half| &half.chunks) {
            let of = &mut worker.live[*live];
            of.left -= chunk.tokens;
            of.context += chunk.tokens;
            run.prompt_tokens += chunk.tokens;
            let served = &mut intake.served[of.request as usize];
            served.scheduled_ps = served.scheduled_ps.min(begin_ps);
            run.chunked += u64::from(of.left > 0);
            if of.left == 0 {
                let made = &mut made[of.request as usize];
                if *made == 0 {
                    served.first_ps = now;
                }
                *made += 1;
                tokens += 1;
                checker.tokens(of.request, 1, now);
                if *made == served.output {
                    ended.push(*live);
                }
            }
        }
        ended.sort_unstable();
        for live in ended.into_iter().rev() {
            let of = worker.live.remove(live);
            worker.leave(&of, self.trace, checker);
            intake.served[of.request as usize].replica = number as u32;
            intake.finished(of.request, now, checker);
            run.makespan_ps = run.makespan_ps.max(now);
        }
        let before = run.output_tokens / *every;
        run.output_tokens += tokens;
        if run.output_tokens / *every > before {
            let live = workers.iter().map(|worker| worker.live.len() as u64).sum();
            let used = workers.iter().map(|worker| worker.memory.used()).sum();
            let tokens = run.output_tokens;
            run.samples.push(Sample { at_ps: now, live, used, tokens });
        }
    }

    /// Requests that have come go to replicas that have room.
    fn dispatch(&mut self, now: u64) {
        while let Some((request, arrival_ps)) = self.intake.first() {
            let of = self.trace.requests[request as usize];
            if arrival_ps > now {
                return;
            }
            let tokens = self.wanted(request);
            let mut best: Option<(u64, usize, usize)> = None;
            for (number, worker) in self.workers.iter().enumerate() {
                let class = worker.class_for(request, tokens, self.setup);
                if let Some(class) = class {
                    let entry = (worker.memory.used(), number, class);
                    best = Some(best.map_or(entry, |best| best.min(entry)));
                }
            }
            let Some((_, number, class)) = best else { return };
            let worker = &mut self.workers[number];
            if !worker.memory.grow((0, tokens), class, self.checker) {
                return;
            }
            self.intake.begun();
            worker.of_class[class] += of.tokens();
            let left = of.input + self.made[request as usize];
            worker.live.push(Live { request, class, held: tokens, context: 0, left });
            if worker.doing.is_none() {
                worker.now = now;
                worker.is_over = false;
            }
            self.run.batch.most =
                self.run.batch.most.max(self.workers.iter().map(|w| w.live.len() as u64).sum());
        }
    }

    /// Tokens for which a request needs room to begin.
    fn wanted(&self, request: u32) -> u64 {
        let of = self.trace.requests[request as usize];
        match self.setup.admission {
            Admission::Reserve => of.tokens(),
            Admission::Lazy => of.input + self.made[request as usize] + 1,
        }
    }

    /// Begins what a replica does next, or lets it wait for the next request.
    fn begin_iterations(&mut self, number: usize) {
        let now = self.workers[number].now;
        let next_arrival =
            self.intake.first().map(|(_, arrival)| arrival).filter(|&arrival| arrival > now);
        if self.workers[number].live.is_empty() {
            let worker = &mut self.workers[number];
            match next_arrival {
                Some(arrival) => worker.now = arrival,
                // Another replica's end makes room, or nothing is left.
                None => worker.is_over = true,
            }
            return;
        }
        let mut halves = self.workers[number].compose(self.setup);
        let mut count = self.stretch(number, &halves);
        while !self.make_room(number, &halves, count) {
            if count > 1 {
                count = 1;
                continue;
            }
            self.send_back(number);
            if self.workers[number].live.is_empty() {
                return;
            }
            halves = self.workers[number].compose(self.setup);
            count = self.stretch(number, &halves);
        }
        // The contexts in the middle of the stretch.
        let middle = halves.clone().map(|mut half| {
            half.decoding.iter_mut().for_each(|(_, of)| *of = of.spanning(count));
            half
        });
        let iteration = self.workers[number].iteration(&middle, self.setup);
        let Lasted { ps, busy_ps, .. } = iteration.run(self.checker);
        if let Some(arrival) = next_arrival {
            count = count.min((arrival - now).div_ceil(ps.max(1))).max(1);
        }
        self.account(number, &middle, count, (ps, &busy_ps));
        let worker = &mut self.workers[number];
        let numbers = worker.iterations..worker.iterations + count;
        let window = &self.setup.window;
        if number == 0 && numbers.start < window.end && window.start < numbers.end {
            for kept in numbers.start.max(window.start)..numbers.end.min(window.end) {
                self.run.kept.push((now + (kept - numbers.start) * ps, iteration.clone()));
            }
        }
        if let Some(predictor) = &mut worker.predictor {
            schedule::see(predictor, &middle, &worker.replica);
        }
        worker.iterations += count;
        worker.now = now + count * ps;
        worker.doing = Some(Doing { halves, count, each_ps: ps, begin_ps: now });
    }

    /// How many iterations may be taken together.
    fn stretch(&self, number: usize, halves: &[Half; 2]) -> u64 {
        if self.setup.detail == Detail::Full || halves.iter().any(|half| !half.chunks.is_empty()) {
            return 1;
        }
        let worker = &self.workers[number];
        let left = |live: usize| {
            let request = worker.live[live].request as usize;
            self.intake.served[request].output - self.made[request]
        };
        let of_halves = halves.iter().flat_map(|half| &half.decoding);
        of_halves.map(|(live, _)| left(*live)).min().unwrap_or(1).min(STRETCH)
    }

    /// Room for the tokens that are made; `false` if there is none.
    fn make_room(&mut self, number: usize, halves: &[Half; 2], count: u64) -> bool {
        let worker = &mut self.workers[number];
        for (live, _) in halves.iter().flat_map(|half| &half.decoding) {
            let of = &mut worker.live[*live];
            let wanted = of.context + count;
            if wanted > of.held && self.setup.admission == Admission::Lazy {
                if !worker.memory.grow((of.held, wanted), of.class, self.checker) {
                    return false;
                }
                of.held = wanted;
            }
        }
        true
    }

    /// The newest request gives its room back and waits, before all others.
    fn send_back(&mut self, number: usize) {
        let worker = &mut self.workers[number];
        let Some(of) = worker.live.pop() else { return };
        worker.leave(&of, self.trace, self.checker);
        self.intake.send_back(of.request);
        self.run.preempted += 1;
    }

    /// Sums over iterations that are alike.
    fn account(
        &mut self,
        number: usize,
        halves: &[Half; 2],
        count: u64,
        (ps, busy): (u64, &[u64]),
    ) {
        let Self { run, workers, .. } = self;
        run.iterations += count;
        run.iteration_ps += count * ps;
        run.busy_ps.resize(busy.len(), 0);
        run.busy_ps.iter_mut().zip(busy).for_each(|(sum, busy)| *sum += count * busy);
        let decoding = || halves.iter().flat_map(|half| &half.decoding);
        let requests = decoding().count() as u128;
        if requests > 0 {
            let tokens: u128 = decoding().map(|(_, of)| u128::from(of.context)).sum();
            run.batch.weight += count;
            run.batch.requests += u128::from(count) * requests;
            run.batch.tokens += u128::from(count) * tokens;
        }
        let replica = &workers[number].replica;
        let energy = halves.iter().map(|half| {
            let (decoding, chunks) = half.parts();
            replica.energy_pj(&decoding, &chunks)
        });
        let energy: Option<u128> = energy.sum();
        run.energy_pj = run.energy_pj.zip(energy).map(|(sum, of)| sum + u128::from(count) * of);
        let used: u64 = workers.iter().map(|worker| worker.memory.used()).sum();
        let (_, most, sum) = &mut run.memory;
        *most = (*most).max(used);
        let own = u128::from(workers[number].memory.used());
        *sum += own * u128::from(count) * u128::from(ps);
    }
}
