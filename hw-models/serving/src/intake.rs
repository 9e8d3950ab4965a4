// SPDX-License-Identifier: MIT
//! Requests of a trace on their way into a system: when they come, and who waits.
//!
//! Requests come at the times of their trace, or in a *closed loop*: so many are there from the beginning, and the next one comes
//! when one has made its last token.

use crate::metrics::Served;
use crate::outcome::Run;
use crate::trace::{Request, Trace};
use pimlico_golden::timeline::TimelineChecker;
use std::collections::VecDeque;

/// What a system says of a request before it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suits {
    /// It can be served.
    Yes,
    /// It fits nowhere.
    TooLong,
    /// It is no part of this run.
    LeftOut,
}

/// Requests that have not begun, and what became of all.
#[derive(Clone, Debug)]
pub struct Intake {
    /// Those that wait, by number: those that were sent back first.
    waiting: VecDeque<u32>,
    /// Of a closed loop those that come later.
    later: VecDeque<u32>,
    /// What became of each request of the trace; the time when it comes is there from when it is known.
    pub served: Vec<Served>,
    /// Tokens that are to be made.
    pub tokens: u64,
}

impl Intake {
    /// Of a trace the requests that suit; with `closed_loop` so many at a time. Those that are too long are told to the run.
    pub fn new(
        trace: &Trace,
        closed_loop: Option<u64>,
        run: &mut Run,
        checker: &mut TimelineChecker,
        suits: impl Fn(u32, &Request) -> Suits,
    ) -> Self {
        let served = trace.requests.iter().map(|request| Served {
            arrival_ps: if closed_loop.is_some() { 0 } else { request.arrival_ps },
            input: request.input,
            output: request.output,
            scheduled_ps: u64::MAX,
            ..Served::default()
        });
        let mut intake = Self {
            waiting: VecDeque::new(),
            later: VecDeque::new(),
            served: served.collect(),
            tokens: 0,
        };
        for (number, request) in trace.requests.iter().enumerate() {
            let number = number as u32;
            match suits(number, request) {
                Suits::LeftOut => {}
                Suits::TooLong => run.oom.push(number),
                Suits::Yes => {
                    intake.tokens += request.output;
                    intake.later.push_back(number);
                }
            }
        }
        let all = intake.later.len() as u64;
        let first = closed_loop.map_or(all, |of| of.min(all));
        (0..first).for_each(|_| intake.next_comes(None, checker));
        intake
    }

    /// The next request comes, where there is one: now, or when the trace has it.
    fn next_comes(&mut self, now: Option<u64>, checker: &mut TimelineChecker) {
        let Some(number) = self.later.pop_front() else { return };
        let served = &mut self.served[number as usize];
        served.arrival_ps = now.unwrap_or(served.arrival_ps);
        checker.request(number, served.output, served.arrival_ps);
        self.waiting.push_back(number);
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The request that is next, and when it comes.
    pub fn first(&self) -> Option<(u32, u64)> {
        let number = *self.waiting.front()?;
        Some((number, self.served[number as usize].arrival_ps))
    }

    /// The request that is next has begun.
    pub fn begun(&mut self) {
        self.waiting.pop_front();
    }

    /// A request that has begun waits again, before all others.
    pub fn send_back(&mut self, number: u32) {
        self.waiting.push_front(number);
        self.served[number as usize].restarts += 1;
    }

    /// A request has made its last token. In a closed loop the next one comes.
    pub fn finished(&mut self, number: u32, now: u64, checker: &mut TimelineChecker) {
        self.served[number as usize].finished_ps = now;
        self.next_comes(Some(now), checker);
    }

    /// What became of the requests that were served.
    pub fn end(self) -> Vec<(u32, Served)> {
        let numbered = self.served.into_iter().enumerate();
        let numbered = numbered.map(|(number, served)| (number as u32, served));
        numbered.filter(|(_, served)| served.finished_ps > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intake(closed_loop: Option<u64>, checker: &mut TimelineChecker) -> (Intake, Run) {
        let request = |number: u64| Request { arrival_ps: 10 * number, input: 5, output: number };
        let trace = Trace { name: "t".to_owned(), requests: (1..=5).map(request).collect() };
        let mut run = Run::default();
        let suits = |number: u32, request: &Request| match (number, request.output) {
            (1, _) => Suits::LeftOut,
            (_, 4) => Suits::TooLong,
            _ => Suits::Yes,
        };
        (Intake::new(&trace, closed_loop, &mut run, checker, suits), run)
    }

    #[test]
    fn requests_come_when_the_trace_says() {
        let mut checker = TimelineChecker::default();
        let (mut intake, run) = intake(None, &mut checker);
        assert_eq!((run.oom, intake.tokens), (vec![3], 1 + 3 + 5));
        assert_eq!(intake.first(), Some((0, 10)));
        intake.begun();
        intake.finished(0, 99, &mut checker);
        assert_eq!(intake.first(), Some((2, 30)));
        intake.begun();
        intake.send_back(2);
        assert_eq!((intake.first(), intake.served[2].restarts), (Some((2, 30)), 1));
        assert_eq!(intake.end().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn in_a_closed_loop_the_next_comes_when_one_ends() {
        let mut checker = TimelineChecker::default();
        let (mut intake, _) = intake(Some(1), &mut checker);
        assert_eq!(intake.first(), Some((0, 0)));
        intake.begun();
        assert!(intake.is_empty());
        for (number, now, next) in [(0, 70, Some((2, 70))), (2, 90, Some((4, 90))), (4, 95, None)] {
            intake.finished(number, now, &mut checker);
            assert_eq!(intake.first(), next);
            intake.begun();
        }
        // The checker knows of a request once it has come.
        assert!(checker.first().is_none());
    }
}
