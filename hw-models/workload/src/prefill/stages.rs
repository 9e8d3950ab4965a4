// SPDX-License-Identifier: MIT
//! Threads that copy and threads that multiply wait for each other: one barrier for each matrix (section 4.1). What they
//! did is kept, with its time.

use crate::judge::prefill::Step;
use pimlico_stream::agents::Halt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After how long a thread that waits looks whether another one failed.
const LOOK: Duration = Duration::from_millis(20);

/// What both kinds of threads know.
pub(super) struct Stages {
    start: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    steps: Vec<(u64, Step)>,
    /// Products that began.
    products: usize,
    /// Parts that were copied, of all groups.
    parts: usize,
    failed: bool,
}

impl Stages {
    /// Before the first step.
    pub(super) fn new(start: Instant) -> Self {
        Self { start, state: Mutex::default(), changed: Condvar::new() }
    }

    /// A step.
    pub(super) fn tell(&self, step: Step) {
        let mut state = self.lock();
        // Under the lock, so that times rise in the order of the steps.
        let at_ns = self.start.elapsed().as_nanos() as u64;
        state.steps.push((at_ns, step));
        match step {
            Step::ProductBegan { .. } => state.products += 1,
            Step::CopyEnded => state.parts += 1,
            _ => return,
        }
        self.changed.notify_all();
    }

    /// Waits until so many products have begun; not once a thread has failed.
    pub(super) fn await_products(&self, count: usize, halt: &Halt) -> bool {
        self.wait(|state| state.products >= count, || halt.is_set())
    }

    /// Waits until so many parts have been copied; not once a thread has failed.
    pub(super) fn await_parts(&self, count: usize) -> bool {
        self.wait(|state| state.parts >= count, || false)
    }

    /// A thread that copies has failed.
    fn fail(&self) {
        self.lock().failed = true;
        self.changed.notify_all();
    }

    /// All steps.
    pub(super) fn into_steps(self) -> Vec<(u64, Step)> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).steps
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, until: impl Fn(&State) -> bool, halted: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        while !until(&state) {
            if state.failed || halted() {
                return false;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// A copy that is under way. If its thread panics, those that wait for it are told.
pub(super) struct Copying<'a>(pub(super) &'a Stages);

impl Drop for Copying<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let stages = Stages::new(Instant::now());
        std::thread::scope(|scope| {
            let copying = scope.spawn(|| {
                let _copying = Copying(&stages);
                std::panic::resume_unwind(Box::new("a copy fails"));
            });
            assert!(!stages.await_parts(1), "it was never copied");
            assert!(copying.join().is_err());
        });
        stages.tell(Step::CopyEnded);
        assert!(stages.await_parts(1), "what is there need not be waited for");
    }

    #[test]
    fn a_part_waits_for_its_product() {
        let stages = Stages::new(Instant::now());
        std::thread::scope(|scope| {
            let copying = scope.spawn(|| stages.await_products(2, &Halt::default()));
            for matrix in 0..2 {
                assert!(!copying.is_finished());
                std::thread::sleep(Duration::from_millis(5));
                stages.tell(Step::ProductBegan { group: 0, matrix, buffer: None });
            }
            assert!(copying.join().expect("it ends"));
        });
        assert_eq!(stages.into_steps().len(), 2);
    }
}
