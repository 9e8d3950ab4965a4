// SPDX-License-Identifier: MIT
//! A run on a clock that is computed: the [`Order`] of real runs, and agents that say when what they do ends.
//!
//! Everything begins as soon as the order lets it, at a moment of the clock; then the clock goes on to the next moment
//! at which something ends. One thread does all of it, so that a run depends on nothing but its setup and its agents.

use crate::event::{Event, Load, Signals, Use};
use crate::order::{Answer, Next, Order};
use crate::setup::{Setup, SetupError};

/// What has ended at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// Loads, in the order of their loaders.
    pub loads: Vec<Load>,
    /// The layer that was computing.
    pub used: Option<Use>,
}

/// Agents on a clock. Moments are ns from the start of the run.
pub trait Timed {
    /// What can go wrong.
    type Error;

    /// A load begins, for which memory has just been reserved.
    fn load(&mut self, load: Load, now_ns: f64) -> Result<(), Self::Error>;

    /// A layer begins to be used.
    fn layer(&mut self, used: Use, now_ns: f64) -> Result<(), Self::Error>;

    /// When the first of what is under way ends; none if nothing is.
    fn next_ns(&mut self) -> Option<f64>;

    /// The clock goes on to a moment, that of [`next_ns`](Self::next_ns) at the latest. What ends then is no longer under way.
    fn advance(&mut self, to_ns: f64) -> Ended;

    /// A layer is of no further use.
    fn destroy(&mut self, _load: Load) -> Result<(), Self::Error> {
        Ok(())
    }

    /// All layers of a pass have been used. Returns when the next pass may begin to use layers, or none if no further pass is
    /// wanted.
    fn pass(&mut self, _pass: usize, now_ns: f64) -> Result<Option<f64>, Self::Error> {
        Ok(Some(now_ns))
    }

    /// Something has happened.
    fn see(&mut self, event: Event) -> Result<(), Self::Error>;
}

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockError<E> {
    /// It cannot run.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// What an agent says.
    #[error("{0}")]
    Agent(E),
}

/// What a run was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClockedRun {
    /// Signals between agents.
    pub signals: Signals,
    /// The most bytes that slots have held at once.
    pub peak_bytes: u64,
    /// Layers that were loaded.
    pub loads: usize,
    /// Passes that were made.
    pub passes: usize,
    /// From the start to the end of the last pass.
    pub wall_ns: f64,
}

/// Runs a setup.
///
/// # Panics
///
/// If an agent never ends what it began.
pub fn run<T: Timed>(setup: &Setup, agents: &mut T) -> Result<ClockedRun, ClockError<T::Error>> {
    let mut order = Order::new(setup.clone())?;
    let mut clock = Clock { idle: vec![true; setup.loaders()], is_using: false, resume_ns: 0.0 };
    let (mut now, mut outcome) = (0.0f64, ClockedRun::default());
    loop {
        clock.begin(&mut order, agents, now).map_err(ClockError::Agent)?;
        see(&mut order, agents, now).map_err(ClockError::Agent)?;
        let resume = Some(clock.resume_ns).filter(|resume| *resume > now);
        let Some(next) = agents.next_ns().into_iter().chain(resume).min_by(f64::total_cmp) else {
            break;
        };
        now = next;
        let Ended { loads, used } = agents.advance(now);
        for load in loads {
            order.ready(load);
            clock.idle[load.loader] = true;
        }
        let Some(used) = used else { continue };
        clock.is_using = false;
        for load in order.computed(used) {
            agents.destroy(load).map_err(ClockError::Agent)?;
            order.destroyed(load.slot);
        }
        see(&mut order, agents, now).map_err(ClockError::Agent)?;
        if used.layer + 1 == setup.layers.len() {
            outcome.passes = used.pass + 1;
            match agents.pass(used.pass, now).map_err(ClockError::Agent)? {
                Some(resume_ns) => clock.resume_ns = resume_ns,
                None => order.end(),
            }
            outcome.wall_ns = now.max(clock.resume_ns);
        }
    }
    assert_eq!(order.next_layer(), Next::Done, "a run that was checked comes to its end");
    Ok(ClockedRun {
        signals: order.signals(),
        peak_bytes: order.peak(),
        loads: order.loads(),
        ..outcome
    })
}

/// Tells what has happened.
fn see<T: Timed>(order: &mut Order, agents: &mut T, now_ns: f64) -> Result<(), T::Error> {
    order.events().try_for_each(|what| agents.see(Event { at_ns: now_ns.round() as u64, what }))
}

/// Who is at work.
struct Clock {
    /// Which loaders load nothing.
    idle: Vec<bool>,
    is_using: bool,
    /// No layer is used before.
    resume_ns: f64,
}

impl Clock {
    /// Begins everything that may begin now.
    fn begin<T: Timed>(
        &mut self,
        order: &mut Order,
        agents: &mut T,
        now: f64,
    ) -> Result<(), T::Error> {
        loop {
            let mut any = false;
            if !self.is_using
                && self.resume_ns <= now
                && let Next::Use(used) = order.next_layer()
            {
                agents.layer(used, now)?;
                self.is_using = true;
                any = true;
            }
            for (loader, is_idle) in self.idle.iter_mut().enumerate() {
                if *is_idle && let Answer::Load(load) = order.ask(loader) {
                    order.filling(load);
                    agents.load(load, now)?;
                    *is_idle = false;
                    any = true;
                }
            }
            if !any {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::What;
    use crate::setup::Residency;

    /// Agents that take 1 ns for everything; of one load the end may get lost.
    #[derive(Default)]
    struct Agents {
        now_ns: f64,
        loading: Vec<Load>,
        using: Option<Use>,
        lost: Option<usize>,
        fails: Option<usize>,
        wanted: usize,
        events: Vec<Event>,
    }

    impl Timed for Agents {
        type Error = String;

        fn load(&mut self, load: Load, _: f64) -> Result<(), String> {
            if self.fails == Some(load.number) {
                return Err(format!("load {} fails", load.number));
            }
            self.loading.push(load);
            Ok(())
        }

        fn layer(&mut self, used: Use, _: f64) -> Result<(), String> {
            self.using = Some(used);
            Ok(())
        }

        fn next_ns(&mut self) -> Option<f64> {
            let any = !self.loading.is_empty() || self.using.is_some();
            any.then_some(self.now_ns + 1.0)
        }

        fn advance(&mut self, to_ns: f64) -> Ended {
            if to_ns < self.now_ns + 1.0 {
                return Ended::default();
            }
            self.now_ns = to_ns;
            let mut loads = std::mem::take(&mut self.loading);
            loads.retain(|load| self.lost != Some(load.number));
            Ended { loads, used: self.using.take() }
        }

        fn pass(&mut self, pass: usize, now_ns: f64) -> Result<Option<f64>, String> {
            self.now_ns = now_ns;
            Ok((pass + 1 < self.wanted).then_some(now_ns + 0.5))
        }

        fn see(&mut self, event: Event) -> Result<(), String> {
            self.events.push(event);
            Ok(())
        }
    }

    fn setup() -> Setup {
        let residency = Residency::Pipeload { loaders: 2, slots: 3, pinned: 0 };
        Setup { layers: vec![1; 4], passes: 3, fixed: 0, limit: Some(3), residency }
    }

    #[test]
    fn a_run_ends_when_nothing_more_is_wanted() {
        let mut agents = Agents { wanted: 2, ..Agents::default() };
        let outcome = run(&setup(), &mut agents).expect("it runs");
        assert_eq!((outcome.passes, outcome.peak_bytes), (2, 3));
        assert!(agents.events.iter().any(|event| event.what == What::Ended));
        let used = agents.events.iter().filter(|event| matches!(event.what, What::Computed(_)));
        assert_eq!(used.count(), 8);
    }

    #[test]
    fn what_an_agent_says_ends_the_run() {
        let mut agents = Agents { wanted: 3, fails: Some(5), ..Agents::default() };
        let error = run(&setup(), &mut agents).expect_err("a failure");
        assert_eq!(error, ClockError::Agent("load 5 fails".to_owned()));
    }

    #[test]
    #[should_panic(expected = "a run that was checked comes to its end")]
    fn a_signal_that_is_lost_is_found() {
        let mut agents = Agents { wanted: 3, lost: Some(5), ..Agents::default() };
        let _ = run(&setup(), &mut agents);
    }
}
