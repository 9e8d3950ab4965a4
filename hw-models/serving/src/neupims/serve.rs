// SPDX-License-Identifier: MIT
//! Requests of a trace on the devices.
//!
//! ```text
//! prompt       on NPUs without PIM, as many as make tokens: one behind the other through the stages; the first token
//! waits        for a place in a micro-batch and for the room of all its K and V in a channel, in the order of the prompts
//! iterations   a micro-batch goes through the stages, and each of its requests has a token; newcomers join behind it
//! ```
//!
//! There are as many micro-batches as stages. A request keeps its channel. K and V of a prompt are in the devices' memory with
//! its first token; those that wait have room where prompts are computed.

use super::estimate::{MhaLatency, PimWork};
use super::iteration::BatchIteration;
use super::packing::{NewRequest, min_load};
use super::service::{NeupimsService, PoolRoom};
use super::system::{Assign, CHANNELS};
use crate::error::ServingError;
use crate::intake::{Intake, Suits};
use crate::outcome::Run;
use crate::time::NANOSECOND;
use crate::trace::{Request, Trace};
use pimlico_golden::timeline::{TimelineChecker, WatchedTask};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A live request.
#[derive(Clone, Copy, Debug)]
struct Member {
    number: u32,
    /// Tokens of its prompt and those that it has made, of which the last is the one that attends.
    tokens: u64,
    channel: usize,
    /// What it has of a pool.
    bytes: u64,
    /// When its last token was made.
    last_ps: u64,
}

/// A micro-batch.
#[derive(Clone, Debug, Default)]
struct Members {
    all: Vec<Member>,
    /// Those, from the first on, that are in the stages.
    in_stages: usize,
    runs: bool,
}

/// What happens at a time: of equal times ends come first, so that newcomers find what they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ServiceEvent {
    /// A micro-batch leaves the last stage.
    Done(usize),
    /// The next request comes.
    Arrival,
    /// A prompt has been computed.
    Prompt(u32),
    /// A micro-batch comes to the first stage.
    Begin(usize),
}

/// What the devices did, a stage's devices for all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceUse {
    /// tCK in which a device of a stage has a micro-batch.
    pub tck: u64,
    /// Multiply-accumulates of the arrays.
    pub macs: u64,
    /// Mean tCK that a channel's PIM works.
    pub pim_tck: f64,
    /// What all PIMs of a device do.
    pub work: PimWork,
    /// Bytes on the buses of a device.
    pub bytes: u64,
    /// Tokens that were made in iterations.
    pub tokens: u64,
}

/// What became of a trace.
#[derive(Clone, Debug, Default)]
pub struct NeupimsRun {
    /// Requests, times and memory. Resources are the stages of prompts, and those of tokens.
    pub run: Run,
    /// What a device of a stage did, but for prompts.
    pub used: DeviceUse,
}

struct Devices<'a> {
    of: &'a NeupimsService,
    latency: &'a dyn MhaLatency,
    checker: &'a mut TimelineChecker,
    requests: &'a [Request],
    room: PoolRoom,
    intake: Intake,
    /// Requests with a first token that have no place yet.
    ready: VecDeque<u32>,
    batches: Vec<Members>,
    /// Free bytes of each pool, and the checker's numbers of them.
    free: Vec<u64>,
    memories: Vec<u32>,
    /// The channel from which on the next request looks for one in turn.
    turn: usize,
    /// When each stage is free, of prompts and of tokens.
    free_at: [Vec<u64>; 2],
    events: BinaryHeap<Reverse<(u64, ServiceEvent)>>,
    outcome: NeupimsRun,
    made: Vec<u64>,
    now: u64,
    live: u64,
}

/// Serves a trace; with `closed_loop` so many requests at a time. The checker is told of all that happens.
pub fn serve(
    of: &NeupimsService,
    latency: &dyn MhaLatency,
    trace: &Trace,
    closed_loop: Option<u64>,
    checker: &mut TimelineChecker,
) -> Result<NeupimsRun, ServingError> {
    let room = of.room()?;
    let memories = (0..room.pools).map(|_| checker.memory(room.bytes)).collect();
    let mut outcome = NeupimsRun::default();
    let fits = |tokens: u64| tokens <= of.longest() && of.request_bytes(tokens) <= room.bytes;
    let suits = |_, request: &Request| match fits(request.tokens()) {
        true => Suits::Yes,
        false => Suits::TooLong,
    };
    let intake = Intake::new(trace, closed_loop, &mut outcome.run, checker, suits);
    if intake.is_empty() {
        let least = trace.requests.iter().map(Request::tokens).min().unwrap_or(0);
        return Err(ServingError::NoRoom {
            what: format!("K and V of the shortest request, {least} tokens of {},", of.llm.name),
            wanted: of.request_bytes(least),
            of: format!("a pool, for requests of up to {} tokens,", of.longest()),
            there: room.bytes,
        });
    }
    outcome.run.memory.0 = room.pools as u64 * room.bytes;
    let stages = of.shard.pp as usize;
    outcome.run.busy_ps = vec![0; 2 * stages];
    let mut devices = Devices {
        of,
        latency,
        checker,
        requests: &trace.requests,
        room,
        intake,
        ready: VecDeque::new(),
        batches: vec![Members::default(); of.micro_batches()],
        free: vec![room.bytes; room.pools],
        memories,
        turn: 0,
        free_at: [vec![0; stages], vec![0; stages]],
        events: BinaryHeap::from([Reverse((0, ServiceEvent::Arrival))]),
        outcome,
        made: vec![0; trace.requests.len()],
        now: 0,
        live: 0,
    };
    while devices.step() {}
    Ok(devices.end())
}

impl Devices<'_> {
    /// What happens next; `false` if nothing does.
    fn step(&mut self) -> bool {
        let Some(Reverse((now, event))) = self.events.pop() else { return false };
        self.outcome.run.memory.2 += u128::from(now - self.now) * u128::from(self.used_bytes());
        self.now = now;
        match event {
            ServiceEvent::Done(batch) => self.done(batch),
            ServiceEvent::Arrival => self.arrive(),
            ServiceEvent::Prompt(number) => self.first_token(number),
            ServiceEvent::Begin(batch) => self.begin(batch),
        }
        true
    }

    fn used_bytes(&self) -> u64 {
        self.free.iter().map(|free| self.room.bytes - free).sum()
    }

    /// Goes through the stages of prompts, or of tokens, each for so long. Returns when it begins and ends.
    fn pass(&mut self, is_token: bool, ps: u64) -> (u64, u64) {
        let (side, stages) = (usize::from(is_token), self.of.shard.pp as usize);
        let (mut begin, mut end) = (None, self.now);
        for stage in 0..stages {
            let start = end.max(self.free_at[side][stage]);
            end = start + ps;
            self.free_at[side][stage] = end;
            begin.get_or_insert(start);
            let resource = side * stages + stage;
            self.outcome.run.busy_ps[resource] += ps;
            let before = [(stage as u32).saturating_sub(1)].map(|before| (before, 0));
            let after = if stage > 0 { &before[..] } else { &[] };
            self.checker.task(WatchedTask { uses: 1 << resource, start, end, after });
        }
        self.checker.go_on();
        (begin.unwrap_or(self.now), end)
    }

    /// Prompts of requests that have come begin, one behind the other.
    fn arrive(&mut self) {
        while let Some((number, arrival_ps)) = self.intake.first() {
            if arrival_ps > self.now {
                self.events.push(Reverse((arrival_ps, ServiceEvent::Arrival)));
                return;
            }
            self.intake.begun();
            let input = self.requests[number as usize].input;
            let tck = self.of.system.prompt(&self.of.shard, input);
            let (begin, end) = self.pass(false, tck * NANOSECOND);
            self.intake.served[number as usize].scheduled_ps = begin;
            self.outcome.run.prompt_tokens += input;
            self.events.push(Reverse((end, ServiceEvent::Prompt(number))));
        }
    }

    /// A prompt has been computed: its request has a token.
    fn first_token(&mut self, number: u32) {
        self.intake.served[number as usize].first_ps = self.now;
        self.token(number);
        match self.made[number as usize] == self.requests[number as usize].output {
            true => self.finish(number),
            false => self.ready.push_back(number),
        }
        self.take_in();
    }

    fn token(&mut self, number: u32) {
        self.made[number as usize] += 1;
        self.outcome.run.output_tokens += 1;
        self.checker.tokens(number, 1, self.now);
    }

    /// A request has all its tokens. In a closed loop the next one comes.
    fn finish(&mut self, number: u32) {
        self.intake.finished(number, self.now, self.checker);
        self.arrive();
    }

    /// Requests get a place, in their order, while there is one.
    fn take_in(&mut self) {
        while let Some(&number) = self.ready.front() {
            let fewest = |&at: &usize| (self.batches[at].all.len(), at);
            let at = (0..self.batches.len()).min_by_key(fewest).expect("there is a stage");
            if self.batches[at].all.len() == self.of.micro_batch() {
                return;
            }
            let request = self.requests[number as usize];
            let bytes = self.of.request_bytes(request.tokens());
            let Some(channel) = self.channel(at, request.input + 1, bytes) else { return };
            let pool = channel.min(self.room.pools - 1);
            self.ready.pop_front();
            self.free[pool] -= bytes;
            self.checker.store(self.memories[pool], bytes);
            self.live += 1;
            let used = self.used_bytes();
            let run = &mut self.outcome.run;
            run.memory.1 = run.memory.1.max(used);
            run.batch.most = run.batch.most.max(self.live);
            let (tokens, last_ps) = (request.input + 1, self.now);
            self.batches[at].all.push(Member { number, tokens, channel, bytes, last_ps });
            self.start(at);
        }
    }

    /// A micro-batch with requests begins, unless it is on its way.
    fn start(&mut self, at: usize) {
        let batch = &mut self.batches[at];
        if !batch.runs && !batch.all.is_empty() {
            batch.runs = true;
            self.events.push(Reverse((self.now, ServiceEvent::Begin(at))));
        }
    }

    /// The channel of a newcomer to a micro-batch, of those with room: that of the least load by Algorithm 1, or the next in turn.
    fn channel(&mut self, at: usize, tokens: u64, bytes: u64) -> Option<usize> {
        let has_room = |channel: &usize| self.free[(*channel).min(self.room.pools - 1)] >= bytes;
        let (system, shard) = (&self.of.system, &self.of.shard);
        if system.assign == Assign::RoundRobin {
            let channel = (0..CHANNELS).map(|n| (self.turn + n) % CHANNELS).find(has_room)?;
            self.turn = (channel + 1) % CHANNELS;
            return Some(channel);
        }
        let with_room: Vec<usize> = (0..CHANNELS).filter(has_room).collect();
        let mut loads = vec![0; CHANNELS];
        for member in &self.batches[at].all {
            loads[member.channel] += system.estimate.tck(shard, member.tokens);
        }
        let mut loads: Vec<u64> = with_room.iter().map(|&channel| loads[channel]).collect();
        let new = NewRequest { tokens, tck: system.estimate.tck(shard, tokens) };
        let place = (!with_room.is_empty()).then(|| min_load(&mut loads, &[new])[0]);
        place.map(|place| with_room[place])
    }

    /// A micro-batch enters the stages.
    fn begin(&mut self, at: usize) {
        let batch = &mut self.batches[at];
        batch.in_stages = batch.all.len();
        let mut channels = vec![Vec::new(); CHANNELS];
        batch.all.iter().for_each(|member| channels[member.channel].push(member.tokens));
        let tokens: u64 = batch.all.iter().map(|member| member.tokens).sum();
        let iteration = self.of.system.iteration(&self.of.shard, self.latency, &channels);
        self.account(&iteration, tokens);
        let (_, end) = self.pass(true, iteration.tck * NANOSECOND);
        self.events.push(Reverse((end, ServiceEvent::Done(at))));
    }

    fn account(&mut self, of: &BatchIteration, tokens: u64) {
        let used = &mut self.outcome.used;
        used.tck += of.tck;
        used.macs += of.macs;
        used.pim_tck += of.pim_busy;
        used.work = used.work.plus(of.work);
        used.bytes += of.bytes;
        used.tokens += of.requests;
        let run = &mut self.outcome.run;
        run.iterations += 1;
        run.batch.requests += u128::from(of.requests);
        run.batch.tokens += u128::from(tokens);
        run.batch.weight += 1;
    }

    /// Requests of a micro-batch have made a token; those that are done leave.
    fn done(&mut self, at: usize) {
        let now = self.now;
        let mut batch = std::mem::take(&mut self.batches[at]);
        let newcomers = batch.all.split_off(batch.in_stages);
        let mut left = Vec::with_capacity(batch.all.len());
        let mut finished = Vec::new();
        let mut between: Vec<(u64, u64)> = Vec::new();
        for member in batch.all {
            self.token(member.number);
            let waited = now - member.last_ps;
            match between.last_mut() {
                Some((ps, times)) if *ps == waited => *times += 1,
                _ => between.push((waited, 1)),
            }
            let number = member.number as usize;
            match self.made[number] == self.requests[number].output {
                true => finished.push(member),
                false => left.push(Member { tokens: member.tokens + 1, last_ps: now, ..member }),
            }
        }
        self.outcome.run.between.extend(between);
        left.extend(newcomers);
        self.batches[at] = Members { all: left, in_stages: 0, runs: false };
        for member in finished {
            let pool = member.channel.min(self.room.pools - 1);
            self.free[pool] += member.bytes;
            self.checker.give_back(self.memories[pool], member.bytes);
            self.live -= 1;
            self.finish(member.number);
        }
        self.take_in();
        self.start(at);
    }

    fn end(mut self) -> NeupimsRun {
        self.checker.end();
        let run = &mut self.outcome.run;
        run.served = self.intake.end();
        run.makespan_ps = run.served.iter().map(|(_, of)| of.finished_ps).max().unwrap_or(0);
        run.iteration_ps = self.now;
        self.outcome
    }
}

#[cfg(test)]
mod tests {
    use super::super::service::NeupimsPolicy;
    use super::super::shard::Shard;
    use super::super::system::System;
    use super::*;
    use crate::llm::Llm;

    fn service(policy: NeupimsPolicy, pp: u64) -> NeupimsService {
        let llm = Llm::new("gpt3-7b", pimlico_model::presets()["gpt3-7b"].clone());
        let shard = Shard::new(&llm, 4, pp).expect("it divides");
        NeupimsService { policy, llm, shard, system: policy.system(), batch: 64 }
    }

    fn trace(requests: usize, gap_ps: u64) -> Trace {
        let request = |n: usize| Request {
            arrival_ps: n as u64 * gap_ps,
            input: 20 + n as u64 * 37 % 200,
            output: 1 + n as u64 * 13 % 40,
        };
        Trace { name: "t".to_owned(), requests: (0..requests).map(request).collect() }
    }

    fn run(of: &NeupimsService, trace: &Trace, closed_loop: Option<u64>) -> NeupimsRun {
        let mut checker = TimelineChecker::default();
        let run =
            serve(of, &of.system.estimate, trace, closed_loop, &mut checker).expect("it fits");
        assert_eq!(checker.first(), None);
        run
    }

    #[test]
    fn a_request_alone_takes_its_prompt_and_an_iteration_for_each_token() {
        for (policy, _) in NeupimsPolicy::ALL {
            let of = service(policy, 2);
            let alone = run(&of, &trace(3, 0).first(1), None);
            let (input, output) = (20, 1);
            let prompt = 2 * of.system.prompt(&of.shard, input) * NANOSECOND;
            assert_eq!((alone.run.makespan_ps, alone.run.output_tokens), (prompt, output));
            let request = Request { arrival_ps: 7, input, output: 3 };
            let three = Trace { name: "t".to_owned(), requests: vec![request] };
            let three = run(&of, &three, None);
            let iteration = |tokens: u64| {
                let mut channels = vec![Vec::new(); CHANNELS];
                channels[0].push(tokens);
                2 * of.system.iteration(&of.shard, &of.system.estimate, &channels).tck * NANOSECOND
            };
            let (_, served) = three.run.served[0];
            assert_eq!(served.ttft_ps(), prompt);
            assert_eq!(served.e2e_ps(), prompt + iteration(21) + iteration(22));
            assert_eq!((three.run.iterations, three.used.tokens), (2, 2));
        }
    }

    #[test]
    fn all_tokens_are_made_and_no_more_requests_are_live_than_may() {
        for (policy, _) in NeupimsPolicy::ALL {
            for (pp, batch) in [(1, 5), (2, 6), (4, 300)] {
                let of = NeupimsService { batch, ..service(policy, pp) };
                let all = trace(120, 2_000_000_000);
                let made = run(&of, &all, None).run;
                let wanted: u64 = all.requests.iter().map(|request| request.output).sum();
                assert_eq!((made.output_tokens, made.served.len()), (wanted, 120));
                assert!(made.batch.most <= batch, "{pp}: {} of {batch}", made.batch.most);
                assert!(made.served.iter().all(|(_, of)| of.first_ps > of.arrival_ps));
                let closed = run(&of, &all, Some(3)).run;
                assert!(closed.batch.most <= 3 && closed.output_tokens == wanted);
            }
        }
    }

    #[test]
    fn requests_without_room_wait_and_those_too_long_are_left_out() {
        let of = service(NeupimsPolicy::Neupims, 1);
        let long = Request { arrival_ps: 0, input: 2000, output: 3 };
        let longer = Request { input: 40_000, ..long };
        let mut requests = vec![long; 150];
        requests.push(longer);
        let all = Trace { name: "t".to_owned(), requests };
        let of = NeupimsService { batch: 512, ..of };
        let made = run(&of, &all, None).run;
        assert_eq!((made.served.len(), made.oom.as_slice()), (150, &[150][..]));
        let of_channel = of.room().expect("room").bytes / of.request_bytes(2003);
        assert!(made.batch.most <= 32 * of_channel, "{} {of_channel}", made.batch.most);
        let none = Trace { name: "t".to_owned(), requests: vec![longer] };
        let mut checker = TimelineChecker::default();
        let error = serve(&of, &of.system.estimate, &none, None, &mut checker);
        let error = error.expect_err("nothing fits").to_string();
        assert!(error.starts_with("K and V of the shortest request, 40003 tokens of"), "{error}");
    }

    #[test]
    fn packing_by_load_is_no_slower_than_turns() {
        let all = trace(400, 0);
        let of = NeupimsService { batch: 256, ..service(NeupimsPolicy::Neupims, 1) };
        let turns = System { assign: Assign::RoundRobin, ..of.system };
        let in_turn = NeupimsService { system: turns, ..of.clone() };
        let [packed, in_turn] = [of, in_turn].map(|of| run(&of, &all, None).run.makespan_ps);
        assert!(packed < in_turn, "{packed} {in_turn}");
    }
}
