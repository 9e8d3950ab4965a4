// SPDX-License-Identifier: MIT
//! A run on threads: Hermes' agents (section III-B).
//!
//! * *Loading agents*: a thread each, which fills slots.
//! * The *inference agent*: the thread that calls [`run`], which uses layers in their order.
//! * The *daemon agent*: a thread that frees slots when it is told to.
//!
//! All of them ask [`Order`] under one lock what they may do next; layers are loaded and used outside of it. The first
//! error or panic of an agent stops all; [`run`] returns when every thread has been joined.

use crate::event::{Event, Load, Signals, Use};
use crate::order::{Answer, Next, Order};
use crate::setup::{Setup, SetupError};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Bytes of a loader's stack. It reads and converts nothing on it.
const STACK: usize = 256 << 10;
/// For how long a loader that slows itself down sleeps at once.
const NAP: Duration = Duration::from_millis(20);

/// What the agents do.
pub trait Work<T> {
    /// What can go wrong.
    type Error: Send;

    /// Uses a layer.
    fn layer(&mut self, used: Use, slot: &T) -> Result<(), Self::Error>;

    /// All layers of a pass have been used. Returns whether another pass is wanted.
    fn pass(&mut self, pass: usize) -> Result<bool, Self::Error>;
}

/// What fills slots and empties them, on several threads.
pub trait Supply<T>: Sync {
    /// What can go wrong.
    type Error: Send;

    /// Fills a slot. If it takes long, it looks at `halt` and stops early.
    fn load(&self, load: Load, slot: &mut T, halt: &Halt) -> Result<(), Self::Error>;

    /// A layer is of no further use.
    fn destroy(&self, _layer: usize, _slot: &mut T) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// Whether an agent has failed.
#[derive(Debug, Default)]
pub struct Halt(AtomicBool);

impl Halt {
    /// Whether what is being done is in vain.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps until a moment, or until an agent fails.
    pub fn sleep_until(&self, moment: Instant) {
        while let Some(left) = moment.checked_duration_since(Instant::now()) {
            if left.is_zero() || self.is_set() {
                break;
            }
            std::thread::sleep(left.min(NAP));
        }
    }
}

/// Why a run did not end well.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError<E> {
    /// It cannot run.
    #[error("{0}")]
    Setup(#[from] SetupError),
    /// What an agent says.
    #[error("{0}")]
    Agent(E),
    /// An agent panicked.
    #[error("{agent} panicked: {message}")]
    Panicked {
        /// Which.
        agent: String,
        /// What it said.
        message: String,
    },
    /// A thread cannot be started.
    #[error("a thread for {agent}: {error}")]
    Thread {
        /// For which agent.
        agent: String,
        /// Why.
        error: String,
    },
}

/// What a run was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Signals between agents.
    pub signals: Signals,
    /// The most bytes that slots have held at once.
    pub peak_bytes: u64,
    /// Layers that were loaded.
    pub loads: usize,
    /// Passes that were made.
    pub passes: usize,
    /// From the start to the end of the last pass.
    pub wall: Duration,
    /// Of all loaders together, the time of loading.
    pub load: Duration,
    /// The time of using layers, with what is between passes.
    pub compute: Duration,
    /// The time for which the inference agent waited for a layer.
    pub stall: Duration,
}

/// What the agents have in common.
struct Shared<'a, E> {
    state: Mutex<State<'a, E>>,
    changed: Condvar,
    halt: Halt,
    start: Instant,
}

struct State<'a, E> {
    order: Order,
    failure: Option<RunError<E>>,
    load: Duration,
    observe: &'a mut (dyn FnMut(Event) + Send),
}

/// Tells the daemon that a slot with a layer is to be freed.
struct Destroy {
    layer: usize,
    slot: usize,
}

/// Runs a setup. Each slot holds the largest layer that is loaded into it; `observe` sees every event, in order.
///
/// # Panics
///
/// If there are not as many slots as the setup says.
pub fn run<T, W, S>(
    setup: &Setup,
    slots: &[Mutex<T>],
    supply: &S,
    work: &mut W,
    observe: &mut (dyn FnMut(Event) + Send),
) -> Result<Outcome, RunError<W::Error>>
where
    T: Send,
    W: Work<T>,
    S: Supply<T, Error = W::Error>,
{
    let order = Order::new(setup.clone())?;
    assert_eq!(slots.len(), setup.slots(), "slots as the setup says");
    let state = State { order, failure: None, load: Duration::ZERO, observe };
    let shared = Shared {
        state: Mutex::new(state),
        changed: Condvar::new(),
        halt: Halt::default(),
        start: Instant::now(),
    };
    let shared = &shared;
    let inference = std::thread::scope(|scope| {
        let (spent, to_destroy) = channel();
        let daemon = move || shared.destroy(slots, supply, to_destroy);
        shared.spawn(scope, "the daemon".to_owned(), daemon);
        for loader in 0..setup.loaders() {
            let agent = move || shared.loader(loader, slots, supply);
            shared.spawn(scope, format!("loader {loader}"), agent);
        }
        let mut inference = Outcome::default();
        let run = || shared.inference(slots, work, &spent, &mut inference);
        shared.guarded("the inference agent", run);
        drop(spent);
        inference
    });
    // All threads have been joined.
    let mut state = shared.lock();
    match state.failure.take() {
        Some(failure) => Err(failure),
        None => Ok(Outcome {
            signals: state.order.signals(),
            peak_bytes: state.order.peak(),
            loads: state.order.loads(),
            load: state.load,
            ..inference
        }),
    }
}

impl<'a, E: Send> Shared<'a, E> {
    fn lock(&self) -> MutexGuard<'_, State<'a, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<'a, E>>) -> MutexGuard<'s, State<'a, E>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells what has happened to who watches, and to all who wait.
    fn told(&self, state: &mut State<'a, E>) {
        let State { order, observe, .. } = state;
        let mut any = false;
        for what in order.events() {
            // Under the lock, so that times rise in the order of the events.
            let at_ns = self.start.elapsed().as_nanos() as u64;
            observe(Event { at_ns, what });
            any = true;
        }
        if any {
            self.changed.notify_all();
        }
    }

    /// The first failure stops all.
    fn fail(&self, failure: RunError<E>) {
        let mut state = self.lock();
        if state.failure.is_none() {
            self.halt.0.store(true, Ordering::Relaxed);
            state.failure = Some(failure);
            state.order.fail();
            self.told(&mut state);
        }
    }

    /// Runs an agent; its error or panic is the run's.
    fn guarded(&self, agent: &str, run: impl FnOnce() -> Result<(), E>) {
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.fail(RunError::Agent(error)),
            Err(panic) => {
                let message = message(&*panic);
                self.fail(RunError::Panicked { agent: agent.to_owned(), message });
            }
        }
    }

    fn spawn<'scope>(
        &'scope self,
        scope: &'scope std::thread::Scope<'scope, '_>,
        agent: String,
        run: impl FnOnce() -> Result<(), E> + Send + 'scope,
    ) {
        let builder = Builder::new().name(agent.clone()).stack_size(STACK);
        let name = agent.clone();
        let started = builder.spawn_scoped(scope, move || self.guarded(&name, run));
        if let Err(error) = started {
            self.fail(RunError::Thread { agent, error: error.to_string() });
        }
    }

    fn loader<T, S: Supply<T, Error = E>>(
        &self,
        loader: usize,
        slots: &[Mutex<T>],
        supply: &S,
    ) -> Result<(), E> {
        loop {
            let mut state = self.lock();
            let load = loop {
                let answer = state.order.ask(loader);
                self.told(&mut state);
                match answer {
                    Answer::Load(load) => break load,
                    Answer::Wait => state = self.wait(state),
                    Answer::Done => return Ok(()),
                }
            };
            state.order.filling(load);
            self.told(&mut state);
            drop(state);
            let begun = Instant::now();
            supply.load(load, &mut alone(&slots[load.slot]), &self.halt)?;
            let mut state = self.lock();
            if state.failure.is_some() {
                return Ok(());
            }
            state.load += begun.elapsed();
            state.order.ready(load);
            self.told(&mut state);
        }
    }

    fn inference<T, W: Work<T, Error = E>>(
        &self,
        slots: &[Mutex<T>],
        work: &mut W,
        spent: &Sender<Destroy>,
        outcome: &mut Outcome,
    ) -> Result<(), E> {
        let layers = self.lock().order.setup().layers.len();
        loop {
            let mut state = self.lock();
            let waits = Instant::now();
            let used = loop {
                let next = state.order.next_layer();
                self.told(&mut state);
                match next {
                    Next::Use(used) => break used,
                    Next::Wait => state = self.wait(state),
                    Next::Done => return Ok(()),
                }
            };
            drop(state);
            outcome.stall += waits.elapsed();
            let begun = Instant::now();
            work.layer(used, &alone(&slots[used.slot]))?;
            let mut state = self.lock();
            if state.failure.is_some() {
                return Ok(());
            }
            let to_destroy = state.order.computed(used);
            self.told(&mut state);
            drop(state);
            for Load { layer, slot, .. } in to_destroy {
                // The daemon ends early where an agent has failed.
                let _ = spent.send(Destroy { layer, slot });
            }
            let ends_pass = used.layer + 1 == layers;
            let is_over = ends_pass && !work.pass(used.pass)?;
            outcome.compute += begun.elapsed();
            if ends_pass {
                outcome.passes = used.pass + 1;
                outcome.wall = self.start.elapsed();
            }
            if is_over {
                let mut state = self.lock();
                state.order.end();
                self.told(&mut state);
                return Ok(());
            }
        }
    }

    /// The daemon.
    fn destroy<T, S: Supply<T, Error = E>>(
        &self,
        slots: &[Mutex<T>],
        supply: &S,
        to_destroy: Receiver<Destroy>,
    ) -> Result<(), E> {
        for Destroy { layer, slot } in to_destroy {
            supply.destroy(layer, &mut alone(&slots[slot]))?;
            let mut state = self.lock();
            if state.failure.is_some() {
                break;
            }
            state.order.destroyed(slot);
            self.told(&mut state);
        }
        Ok(())
    }
}

/// A slot, which by the order of the agents nobody else has.
fn alone<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    slot.try_lock().expect("a slot that one agent has")
}

/// What a panic says, in one line.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").lines().next().unwrap_or_default().to_owned()
}
