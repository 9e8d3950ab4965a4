// SPDX-License-Identifier: MIT
//! Requests in micro-batches through the stages of a system.
//!
//! A micro-batch goes from stage to stage; behind the last each of its requests has a token, those that are done leave, and it
//! begins again with the tokens so far. Requests that have come are taken in, in their order, as soon as rows are free: into a
//! micro-batch of their own, or into that with the fewest requests, where they wait for its next round. Stages serve
//! micro-batches in the order in which these begin a round.

use super::outcome::{How, KeptStage, PipelineRun, Steady};
use super::plan::StagePlan;
use super::system::Allocation;
use crate::error::ServingError;
use crate::intake::{Intake, Suits};
use crate::outcome::Sample;
use crate::time::SECOND;
use crate::trace::{Request, Trace};
use pimlico_golden::timeline::{TimelineChecker, WatchedTask};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Tasks that are told to a checker at once.
const PART: usize = 4096;
/// One part in so many of the rows is kept free of newcomers, where requests grow.
const SPARE: u64 = 200;
/// Samples over a run.
const SAMPLES: u64 = 400;

/// A live request.
#[derive(Clone, Copy, Debug)]
struct LiveRequest {
    number: u32,
    /// Tokens whose K and V are there.
    tokens: u64,
    rows: u64,
    /// Rows that it was given since its last round.
    new_rows: u64,
    /// When its last token was made.
    last_ps: Option<u64>,
}

/// A micro-batch.
#[derive(Clone, Debug, Default)]
struct MicroBatch {
    requests: Vec<LiveRequest>,
    /// Of them those, from the first on, that are in the stages; the others came since.
    in_stages: usize,
    /// Whether it is on its way.
    runs: bool,
}

/// What happens at a time: of equal times ends come first, so that newcomers find what they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// A micro-batch leaves the last stage.
    Done(usize),
    /// The next request comes.
    Arrival,
    /// A micro-batch comes to the first stage.
    Begin(usize),
}

/// Sums in the middle of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Middle {
    begin: Option<(u64, u64)>,
    end: Option<(u64, u64)>,
    live_ps: u128,
    waits_ps: u128,
    waits: u64,
}

struct Pipeline<'a> {
    plan: &'a StagePlan,
    how: &'a How,
    requests: &'a [Request],
    checker: &'a mut TimelineChecker,
    intake: Intake,
    /// Tokens made, by request.
    made: Vec<u64>,
    batches: Vec<MicroBatch>,
    /// Micro-batches of a request's own that have none.
    unused: BTreeSet<usize>,
    free_rows: u64,
    memory: u32,
    /// When each stage is free.
    stage_free: Vec<u64>,
    events: BinaryHeap<Reverse<(u64, Happens)>>,
    /// Tokens that are to be made.
    all: u64,
    outcome: PipelineRun,
    middle: Middle,
    watched: usize,
    now: u64,
    live: u64,
    live_tokens: u64,
}

/// Serves a trace. The checker is told of all that happens.
pub fn serve(
    plan: &StagePlan,
    trace: &Trace,
    how: &How,
    checker: &mut TimelineChecker,
) -> Result<PipelineRun, ServingError> {
    let mut pipeline = Pipeline::new(plan, trace, how, checker);
    if pipeline.intake.is_empty() {
        return Err(pipeline.nothing_fits());
    }
    while pipeline.step() {}
    Ok(pipeline.end())
}

impl<'a> Pipeline<'a> {
    fn new(
        plan: &'a StagePlan,
        trace: &'a Trace,
        how: &'a How,
        checker: &'a mut TimelineChecker,
    ) -> Self {
        let rows = plan.room().rows;
        let memory = checker.memory(rows);
        let mut outcome = PipelineRun::default();
        let suits = |_, request: &Request| {
            let tokens = request.tokens();
            let fits = tokens <= plan.system().max_context && plan.rows_of(tokens) <= rows;
            if fits { Suits::Yes } else { Suits::TooLong }
        };
        let intake = Intake::new(trace, how.closed_loop, &mut outcome.run, checker, suits);
        outcome.run.memory.0 = rows;
        Self {
            plan,
            how,
            requests: &trace.requests,
            checker,
            all: intake.tokens,
            intake,
            made: vec![0; trace.requests.len()],
            batches: vec![MicroBatch::default(); plan.micro_batches()],
            unused: BTreeSet::new(),
            free_rows: rows,
            memory,
            stage_free: vec![0; plan.system().pp as usize],
            events: BinaryHeap::from([Reverse((0, Happens::Arrival))]),
            outcome,
            middle: Middle::default(),
            watched: 0,
            now: 0,
            live: 0,
            live_tokens: 0,
        }
    }

    fn nothing_fits(&self) -> ServingError {
        let least = self.requests.iter().map(Request::tokens).min().unwrap_or(0);
        let (room, system) = (self.plan.room(), self.plan.system());
        let (limit, name) = (system.max_context, &system.llm.name);
        ServingError::NoRoom {
            what: format!("K and V of the shortest request, {least} tokens of {name},"),
            wanted: room.rows_for(least) * room.row_bytes,
            of: format!("{} modules, for requests of up to {limit} tokens,", system.modules()),
            there: room.rows * room.row_bytes,
        }
    }

    /// What happens next; `false` if nothing does.
    fn step(&mut self) -> bool {
        let Some(Reverse((now, happens))) = self.events.pop() else { return false };
        self.pass(now);
        match happens {
            Happens::Done(batch) => self.done(now, batch),
            Happens::Arrival => self.take_in(now),
            Happens::Begin(batch) => self.round(now, batch),
        }
        true
    }

    /// Time passes with the live requests that there are.
    fn pass(&mut self, now: u64) {
        let ps = now - self.now;
        let of_live = |count: u64| u128::from(ps) * u128::from(count);
        if self.middle.begin.is_some() && self.middle.end.is_none() {
            self.middle.live_ps += of_live(self.live);
        }
        self.outcome.run.memory.2 += of_live(self.used());
        if self.live > 0 {
            let sums = &mut self.outcome.run.batch;
            sums.requests += of_live(self.live);
            sums.tokens += of_live(self.live_tokens);
            sums.weight += ps;
        }
        self.now = now;
    }

    /// Takes in requests that have come while there are rows.
    fn take_in(&mut self, now: u64) {
        while let Some((number, arrival_ps)) = self.intake.first() {
            let request = self.requests[number as usize];
            if arrival_ps > now {
                self.events.push(Reverse((arrival_ps, Happens::Arrival)));
                return;
            }
            let tokens = request.input + self.made[number as usize];
            let rows = self.plan.rows_of(tokens + 1);
            let spare = match self.plan.system().allocation {
                Allocation::Lazy if self.live > 0 => self.plan.room().rows / SPARE,
                _ => 0,
            };
            if rows + spare > self.free_rows {
                return;
            }
            self.intake.begun();
            self.give(rows);
            self.live += 1;
            self.live_tokens += tokens;
            let run = &mut self.outcome.run;
            run.batch.most = run.batch.most.max(self.live);
            let last_ps = (self.made[number as usize] > 0).then_some(now);
            let live = LiveRequest { number, tokens, rows, new_rows: rows, last_ps };
            let at = self.batch_for_newcomer();
            self.batches[at].requests.push(live);
            if !self.batches[at].runs {
                self.batches[at].runs = true;
                self.events.push(Reverse((now, Happens::Begin(at))));
            }
        }
    }

    /// Rows that requests have.
    fn used(&self) -> u64 {
        self.plan.room().rows.saturating_sub(self.free_rows)
    }

    /// A request gets rows, of those that are free.
    fn give(&mut self, rows: u64) {
        self.free_rows -= rows;
        self.checker.store(self.memory, rows);
        let used = self.used();
        let most = &mut self.outcome.run.memory.1;
        *most = used.max(*most);
    }

    /// A request leaves.
    fn leave(&mut self, request: &LiveRequest) {
        self.free_rows += request.rows;
        self.checker.give_back(self.memory, request.rows);
        self.live -= 1;
        self.live_tokens -= request.tokens;
    }

    /// The micro-batch of a newcomer.
    fn batch_for_newcomer(&mut self) -> usize {
        if self.plan.micro_batches() > 0 {
            let fewest = |&at: &usize| (self.batches[at].requests.len(), at);
            return (0..self.batches.len()).min_by_key(fewest).unwrap_or(0);
        }
        self.unused.pop_first().unwrap_or_else(|| {
            self.batches.push(MicroBatch::default());
            self.batches.len() - 1
        })
    }

    /// A micro-batch goes through the stages.
    fn round(&mut self, now: u64, batch: usize) {
        let of = &mut self.batches[batch];
        of.in_stages = of.requests.len();
        let contexts: Vec<u64> = of.requests.iter().map(|request| request.tokens + 1).collect();
        let mut new_rows = 0;
        for request in &mut of.requests {
            new_rows += std::mem::take(&mut request.new_rows);
            let scheduled = &mut self.intake.served[request.number as usize].scheduled_ps;
            *scheduled = now.min(*scheduled);
        }
        let (requests, tokens) = (contexts.len() as u64, contexts.iter().sum());
        let round = self.outcome.run.iterations;
        let time = self.plan.stage(&contexts, new_rows);
        let (mut ready, mut link) = (now, 0);
        for stage in 0..self.stage_free.len() {
            let start = ready.max(self.stage_free[stage]);
            let end = start + time.ps();
            if self.how.window.contains(&round) {
                let (batch, stage) = (batch as u64, stage as u64);
                let kept = KeptStage { round, batch, stage, start, requests, tokens, time };
                self.outcome.kept.push(kept);
            }
            let before = [(self.watched.saturating_sub(1) as u32, link)];
            let after = if stage > 0 { &before[..] } else { &[] };
            self.checker.task(WatchedTask { uses: 1 << stage, start, end, after });
            self.watched += 1;
            self.stage_free[stage] = end;
            self.outcome.time.add(time);
            link = self.plan.link_ps(stage as u64, requests);
            ready = end + link;
        }
        let end = self.stage_free.last().copied().unwrap_or(now);
        self.events.push(Reverse((end, Happens::Done(batch))));
        if self.watched >= PART {
            self.checker.go_on();
            self.watched = 0;
        }
        self.outcome.run.iterations += 1;
        let busy = &mut self.outcome.run.busy_ps;
        busy.resize(self.stage_free.len(), 0);
        busy.iter_mut().for_each(|busy| *busy += time.ps());
    }

    /// Each request that was in the stages has a token.
    fn done(&mut self, now: u64, batch: usize) {
        let mut requests = std::mem::take(&mut self.batches[batch].requests);
        let in_stages = std::mem::take(&mut self.batches[batch].in_stages);
        for request in &mut requests[..in_stages] {
            self.token(now, request);
        }
        requests.retain(|request| {
            let number = request.number as usize;
            let is_done = self.made[number] == self.requests[number].output;
            if is_done {
                self.intake.finished(request.number, now, self.checker);
                self.leave(request);
            }
            !is_done
        });
        self.batches[batch].requests = requests;
        self.grow(batch);
        let requests = self.batches[batch].requests.len() as u64;
        match requests {
            0 => {
                self.batches[batch].runs = false;
                if self.plan.micro_batches() == 0 {
                    self.unused.insert(batch);
                }
            }
            _ => {
                let last = self.stage_free.len() as u64 - 1;
                let link = self.plan.link_ps(last, requests);
                self.events.push(Reverse((now + link, Happens::Begin(batch))));
            }
        }
        self.outcome.run.makespan_ps = now;
        self.take_in(now);
    }

    /// A request has a token.
    fn token(&mut self, now: u64, request: &mut LiveRequest) {
        let number = request.number as usize;
        request.tokens += 1;
        self.live_tokens += 1;
        self.made[number] += 1;
        self.checker.tokens(request.number, 1, now);
        let used = self.used();
        let run = &mut self.outcome.run;
        run.output_tokens += 1;
        let every = (self.all / SAMPLES).max(1);
        if run.output_tokens.is_multiple_of(every) {
            let (live, tokens) = (self.live, run.output_tokens);
            run.samples.push(Sample { at_ps: now, live, used, tokens });
        }
        match request.last_ps {
            None => self.intake.served[number].first_ps = now,
            Some(last) => {
                let ps = now - last;
                match run.between.last_mut().filter(|of| of.0 == ps) {
                    Some(of) => of.1 += 1,
                    None => run.between.push((ps, 1)),
                }
                if self.middle.begin.is_some() && self.middle.end.is_none() {
                    self.middle.waits_ps += u128::from(ps);
                    self.middle.waits += 1;
                }
            }
        }
        request.last_ps = Some(now);
        let made = run.output_tokens;
        if self.middle.begin.is_none() && made >= self.all / 4 {
            self.middle.begin = Some((now, made));
        }
        if self.middle.end.is_none() && made >= self.all - self.all / 4 {
            self.middle.end = Some((now, made));
        }
    }

    /// Requests of a micro-batch get rows for their next token; the last of them wait again where there are none.
    fn grow(&mut self, batch: usize) {
        let mut at = 0;
        while let Some(&request) = self.batches[batch].requests.get(at) {
            let wanted = self.plan.rows_of(request.tokens + 1).max(request.rows);
            let more = wanted - request.rows;
            if more <= self.free_rows {
                if more > 0 {
                    self.give(more);
                }
                let request = &mut self.batches[batch].requests[at];
                (request.rows, request.new_rows) = (wanted, request.new_rows + more);
                at += 1;
                continue;
            }
            let Some(newest) = self.batches[batch].requests.pop() else { return };
            self.leave(&newest);
            self.intake.send_back(newest.number);
            self.outcome.run.preempted += 1;
        }
    }

    fn end(mut self) -> PipelineRun {
        self.checker.end();
        let Middle { begin, end, live_ps, waits_ps, waits } = self.middle;
        if let (Some((begin, before)), Some((end, after))) = (begin, end)
            && end > begin
        {
            let ps = (end - begin) as f64;
            self.outcome.steady = Steady {
                tokens_per_s: (after - before) as f64 / ps * SECOND as f64,
                batch: live_ps as f64 / ps,
                token_ps: waits_ps as f64 / waits.max(1) as f64,
            };
        }
        let run = &mut self.outcome.run;
        run.iteration_ps = run.batch.weight;
        let busy: u64 = run.busy_ps.iter().sum();
        self.outcome.bubble_ps = run.busy_ps.len() as u64 * run.iteration_ps - busy;
        run.served = self.intake.end();
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::module::ModuleCosts;
    use crate::costs::{CostTable, Knot};
    use crate::llm::Llm;
    use crate::lol::system::{LolPolicy, LolSystem};
    use crate::metrics::Served;
    use pimlico_device::Config;
    use pimlico_golden::timeline::TimelineFault;

    /// A head takes 200 ps for a token, softmax 100, and the matrices of a layer 1 us.
    fn plan(policy: LolPolicy, allocation: Allocation, (tp, pp): (u64, u64)) -> StagePlan {
        let table = |each: u64| {
            let knot = |tokens: u64| Knot { tokens, ps: each * tokens, energy_pj: 0 };
            CostTable::new([16, 32_768].map(knot).to_vec())
        };
        let costs = ModuleCosts::of_tables(table(200), table(100), 0, (3333, 0));
        let llm = Llm::new("qwen1.5-7b", pimlico_model::presets()["qwen1.5-7b"].clone());
        let nodes = tp * pp / policy.node_modules();
        let system = LolSystem { tp, pp, allocation, ..LolSystem::new(&llm, policy, nodes) };
        let room = system.room(&Config::gddr6_aim()).expect("it fits");
        StagePlan::of_costs(system, costs, 1_000_000, room)
    }

    fn trace(requests: usize) -> Trace {
        let request = Request { arrival_ps: 0, input: 16_000, output: 40 };
        Trace { name: "t".to_owned(), requests: vec![request; requests] }
    }

    fn run(plan: &StagePlan, trace: &Trace) -> PipelineRun {
        let mut checker = TimelineChecker::default();
        let run = serve(plan, trace, &How::default(), &mut checker).expect("it is served");
        assert_eq!(checker.first(), None);
        let wanted: u64 = trace.requests.iter().map(|request| request.output).sum();
        assert_eq!((run.run.output_tokens, run.run.served.len()), (wanted, trace.requests.len()));
        run
    }

    #[test]
    fn one_request_takes_its_stages_one_after_the_other() {
        let plan = plan(LolPolicy::LolPim, Allocation::Static, (8, 1));
        let one = run(&plan, &trace(1));
        let stages: u64 = (16_001..16_041).map(|tokens| plan.stage(&[tokens], 0).ps()).sum();
        assert_eq!((one.run.makespan_ps, one.bubble_ps), (stages, 0));
        assert_eq!(one.time.ps(), stages);
        // Four pairs of a layer: the products of each, and softmax of the last.
        let time = plan.stage(&[16_000], 0);
        assert_eq!(time.products_ps, 32 * 4 * 200 * 16_000);
        assert_eq!(time.softmax_ps, 32 * 100 * 16_000);
        assert_eq!(time.matrices_ps, 32_000_000);
    }

    #[test]
    fn stages_work_side_by_side_and_wait_without_requests() {
        let plan = plan(LolPolicy::LolPim, Allocation::Static, (8, 4));
        let (one, many) = (run(&plan, &trace(1)), run(&plan, &trace(60)));
        assert!(many.steady.tokens_per_s > 3.5 * one.steady.tokens_per_s, "{:?}", many.steady);
        assert!(one.bubble_ps > 2 * one.time.ps(), "{one:?}");
        assert!(many.bubble_ps < many.time.ps() / 5, "{many:?}");
        // Shares of the time of all stages are complete.
        assert_eq!(many.bubble_ps + many.time.ps(), 4 * many.run.iteration_ps);
    }

    #[test]
    fn requests_that_grow_have_more_room_than_those_that_may() {
        let of = |allocation| {
            let plan = plan(LolPolicy::LolPim, allocation, (32, 1));
            run(&plan, &trace(200)).steady.batch
        };
        assert_eq!(of(Allocation::Static).round() as u64, 15);
        let lazy = of(Allocation::Lazy);
        assert!((29.0..31.5).contains(&lazy), "{lazy}");
    }

    #[test]
    fn head_first_works_in_rounds_of_sixteen_pairs() {
        let plan = plan(LolPolicy::PimHfa, Allocation::Static, (8, 1));
        // Four requests of four pairs are one round, five are two.
        let [four, five] =
            [4, 5].map(|requests| plan.stage(&vec![16_000; requests], 0).products_ps);
        assert_eq!((four, five), (32 * 200 * 16_000, 2 * 32 * 200 * 16_000));
        run(&plan, &trace(20));
    }

    #[test]
    fn newcomers_wait_for_the_next_round_of_their_micro_batch() {
        let plan = plan(LolPolicy::GpuLolPim, Allocation::Lazy, (4, 4));
        let mut late = trace(30);
        for (number, request) in late.requests.iter_mut().enumerate() {
            request.arrival_ps = 1_000_000 * number as u64;
        }
        let run = run(&plan, &late);
        let waits = |served: &Served| served.scheduled_ps - served.arrival_ps;
        assert!(run.run.served.iter().any(|(_, served)| waits(served) > 0));
        for (_, served) in &run.run.served {
            assert!(
                served.first_ps > served.scheduled_ps && served.scheduled_ps >= served.arrival_ps
            );
        }
    }

    #[test]
    fn in_a_closed_loop_the_next_request_comes_when_one_ends() {
        let (plan, trace) = (plan(LolPolicy::LolPim, Allocation::Lazy, (8, 4)), trace(20));
        let of = |requests| {
            let mut checker = TimelineChecker::default();
            let how = How { closed_loop: Some(requests), ..How::default() };
            let run = serve(&plan, &trace, &how, &mut checker).expect("it is served");
            assert_eq!((checker.first(), run.run.served.len()), (None, 20));
            run.run
        };
        let (one, three) = (of(1), of(3));
        assert_eq!((one.batch.most, three.batch.most), (1, 3));
        for two in one.served.windows(2) {
            assert_eq!(two[1].1.arrival_ps, two[0].1.finished_ps);
        }
        assert!(three.makespan_ps < one.makespan_ps);
    }

    #[test]
    fn requests_that_outgrow_the_rows_come_again() {
        let plan = plan(LolPolicy::LolPim, Allocation::Lazy, (8, 4));
        let mut long = trace(40);
        long.requests
            .iter_mut()
            .for_each(|request| *request = Request { output: 2000, ..*request });
        let run = run(&plan, &long);
        let restarts: u32 = run.run.served.iter().map(|(_, served)| served.restarts).sum();
        assert!(restarts > 0 && u64::from(restarts) == run.run.preempted);
    }

    /// Serves requests, and changes something behind some steps.
    fn planted(plant: impl FnOnce(&mut Pipeline<'_>)) -> Option<TimelineFault> {
        let plan = plan(LolPolicy::LolPim, Allocation::Lazy, (8, 4));
        let (trace, mut checker) = (trace(60), TimelineChecker::default());
        let how = How::default();
        let mut pipeline = Pipeline::new(&plan, &trace, &how, &mut checker);
        (0..500).for_each(|_| assert!(pipeline.step()));
        plant(&mut pipeline);
        while pipeline.step() {}
        pipeline.end();
        checker.first()
    }

    #[test]
    fn rounds_that_are_kept_are_the_stages_of_the_run() {
        let plan = plan(LolPolicy::LolPim, Allocation::Static, (8, 4));
        let (trace, mut checker) = (trace(3), TimelineChecker::default());
        let how = How { window: 0..u64::MAX, ..How::default() };
        let run = serve(&plan, &trace, &how, &mut checker).expect("it is served");
        assert_eq!(run.kept.len() as u64, 4 * run.run.iterations);
        let kept_ps: u64 = run.kept.iter().map(|of| of.time.ps()).sum();
        assert_eq!(kept_ps, run.run.busy_ps.iter().sum::<u64>());
        let how = How { window: 2..4, ..How::default() };
        let few = serve(&plan, &trace, &how, &mut TimelineChecker::default());
        assert_eq!(few.expect("it is served").kept, run.kept[8..16]);
    }

    #[test]
    fn planted_faults_are_found() {
        assert_eq!(planted(|_| {}), None);
        let overlap = planted(|pipeline| pipeline.stage_free[0] -= 1000);
        assert!(matches!(overlap, Some(TimelineFault::Overlap { resource: 0, .. })), "{overlap:?}");
        let lost = planted(|pipeline| pipeline.made[3] += 1);
        assert_eq!(lost, Some(TimelineFault::Lost { request: 3, made: 39, wanted: 40 }));
        let above = planted(|pipeline| pipeline.free_rows += 1000);
        assert!(matches!(above, Some(TimelineFault::Capacity { .. })), "{above:?}");
    }
}
