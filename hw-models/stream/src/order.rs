// SPDX-License-Identifier: MIT
//! Who may do what next: the state of all slots, and the account of memory.
//!
//! ```text
//!            ask          filling         ready          next            computed        destroyed
//!   Free ---------> Reserved ---> Filling -----> Ready ---------> InUse ----------> Spent ------> Free
//! ```
//!
//! Real runs ([`crate::agents`]) and those on a computed clock ([`crate::clock`]) call the same [`Order`]; it knows no time.
//!
//! **Admission in the order of use.** Memory for load *n* is reserved only after that for load *n* - 1, and before
//! anything is read. Hermes lets loaders run ahead as they like and stops them when memory "has exceeded" the
//! constraint (section III-B): then later layers can fill all memory while the next one in order waits, for ever. In
//! order, everything that holds memory is used before what waits, so a run ends if its fixed part and the largest layer
//! fit ([`Setup::check`]); and as memory is reserved first, the limit is never exceeded.

use crate::event::{Load, Signals, Use, What};
use crate::setup::{Residency, Setup, SetupError, Stay};
use std::collections::BTreeMap;

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Free,
    Reserved(Load),
    Filling(Load),
    Ready(Load),
    InUse(Load),
    /// It was used, and stays until the pass ends.
    Used(Load),
    Spent(Load),
}

/// What a loader may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Load this: its memory is reserved.
    Load(Load),
    /// Ask again when something has happened.
    Wait,
    /// There is nothing more for it to load.
    Done,
}

/// What the agent that computes may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Use this layer.
    Use(Use),
    /// Ask again when something has happened.
    Wait,
    /// All passes are over.
    Done,
}

/// The state of a run.
#[derive(Debug)]
pub struct Order {
    setup: Setup,
    slots: Vec<Slot>,
    /// Free slots, the one that was free last at the end: memory that is warm is used again first.
    free: Vec<usize>,
    /// Slots of layers that stay for the run.
    kept: Vec<Option<usize>>,
    /// Slots of other layers that are loaded, by pass and layer.
    ahead: BTreeMap<(usize, usize), usize>,
    /// The load that is granted next.
    next_load: usize,
    /// Of each loader the next of its loads: *i*, *i* + m, *i* + 2 m, ... (Hermes, section III-B).
    of_loader: Vec<usize>,
    /// Which loaders wait for memory.
    stopped: Vec<bool>,
    /// Pass and layer that are used next.
    next_use: (usize, usize),
    is_computing: bool,
    /// Bytes of all slots that are not free.
    held: u64,
    peak: u64,
    signals: Signals,
    is_over: bool,
    events: Vec<What>,
}

impl Order {
    /// Before the first load.
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        setup.check()?;
        let (slots, loaders) = (setup.slots(), setup.loaders());
        Ok(Self {
            slots: vec![Slot::Free; slots],
            free: (0..slots).rev().collect(),
            kept: vec![None; setup.layers.len()],
            ahead: BTreeMap::new(),
            next_load: 0,
            of_loader: (0..loaders).collect(),
            stopped: vec![false; loaders],
            next_use: (0, 0),
            is_computing: false,
            held: 0,
            peak: 0,
            signals: Signals::default(),
            is_over: false,
            events: Vec::new(),
            setup,
        })
    }

    /// What has happened since the last call, in order.
    pub fn events(&mut self) -> std::vec::Drain<'_, What> {
        self.events.drain(..)
    }

    /// What the run was set up to do.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Signals so far.
    pub fn signals(&self) -> Signals {
        self.signals
    }

    /// The most bytes that slots have held at once.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Loads that were granted so far.
    pub fn loads(&self) -> usize {
        self.next_load
    }

    /// A loader that has nothing to do asks for its next load.
    pub fn ask(&mut self, loader: usize) -> Answer {
        let number = self.of_loader[loader];
        if self.is_over || number >= self.setup.loads() {
            return Answer::Done;
        }
        if number != self.next_load {
            return Answer::Wait;
        }
        let (pass, layer) = self.setup.load(number);
        let bytes = self.setup.layers[layer];
        let wanted = self.setup.fixed.saturating_add(self.held).saturating_add(bytes);
        let fits = self.setup.limit.is_none_or(|limit| wanted <= limit);
        let Some(slot) = self.free.last().copied().filter(|_| fits) else {
            if !std::mem::replace(&mut self.stopped[loader], true) {
                self.signals.stop += 1;
                self.events.push(What::Stop { loader });
            }
            return Answer::Wait;
        };
        if std::mem::take(&mut self.stopped[loader]) {
            self.signals.go += 1;
            self.events.push(What::Go { loader });
        }
        self.free.pop();
        self.next_load += 1;
        self.of_loader[loader] += self.stopped.len();
        self.held += bytes;
        self.peak = self.peak.max(self.held);
        let load = Load { number, pass, layer, slot, loader, bytes };
        self.slots[slot] = Slot::Reserved(load);
        self.events.push(What::Granted(load));
        Answer::Load(load)
    }

    /// A loader begins to fill a slot.
    ///
    /// # Panics
    ///
    /// If it is not reserved for this.
    pub fn filling(&mut self, load: Load) {
        assert_eq!(self.slots[load.slot], Slot::Reserved(load), "filled when it was reserved");
        self.slots[load.slot] = Slot::Filling(load);
        self.events.push(What::Filling(load));
    }

    /// A slot is full.
    ///
    /// # Panics
    ///
    /// If it is not being filled.
    pub fn ready(&mut self, load: Load) {
        assert_eq!(self.slots[load.slot], Slot::Filling(load), "ready when it was being filled");
        self.slots[load.slot] = Slot::Ready(load);
        match self.setup.stay(load.layer) {
            Stay::Run => self.kept[load.layer] = Some(load.slot),
            Stay::Use | Stay::Pass => {
                self.ahead.insert((load.pass, load.layer), load.slot);
            }
        }
        self.signals.ready += 1;
        self.events.push(What::Ready(load));
    }

    /// The agent that computes asks for the next layer.
    ///
    /// # Panics
    ///
    /// If the last one has not computed.
    pub fn next_layer(&mut self) -> Next {
        assert!(!self.is_computing, "one layer computes");
        let (pass, layer) = self.next_use;
        if self.is_over || pass == self.setup.passes {
            return Next::Done;
        }
        let is_whole = self.setup.residency == Residency::Whole;
        if is_whole && self.kept.iter().any(Option::is_none) {
            return Next::Wait;
        }
        let slot = match self.setup.stay(layer) {
            Stay::Run => self.kept[layer],
            Stay::Use | Stay::Pass => self.ahead.get(&(pass, layer)).copied(),
        };
        let Some(slot) = slot else { return Next::Wait };
        let Slot::Ready(load) = self.slots[slot] else {
            panic!("{:?} in the slot of a layer that is used", self.slots[slot]);
        };
        self.slots[slot] = Slot::InUse(load);
        self.is_computing = true;
        let used = Use { pass, layer, slot };
        self.events.push(What::Computing(used));
        Next::Use(used)
    }

    /// A layer has computed. Returns the loads whose slots are to be destroyed.
    ///
    /// # Panics
    ///
    /// If it was not in use.
    pub fn computed(&mut self, used: Use) -> Vec<Load> {
        let Slot::InUse(load) = self.slots[used.slot] else {
            panic!("{:?} has computed", self.slots[used.slot]);
        };
        self.events.push(What::Computed(used));
        self.is_computing = false;
        let ends_pass = used.layer + 1 == self.setup.layers.len();
        self.next_use = if ends_pass { (used.pass + 1, 0) } else { (used.pass, used.layer + 1) };
        let mut spent = Vec::new();
        self.slots[used.slot] = match self.setup.stay(used.layer) {
            Stay::Run => Slot::Ready(load),
            Stay::Pass => Slot::Used(load),
            Stay::Use => {
                self.ahead.remove(&(used.pass, used.layer));
                spent.push(load);
                Slot::Spent(load)
            }
        };
        if ends_pass && self.setup.residency == Residency::Pipeline {
            for (_, slot) in std::mem::take(&mut self.ahead) {
                if let Slot::Used(load) = self.slots[slot] {
                    self.slots[slot] = Slot::Spent(load);
                    spent.push(load);
                }
            }
        }
        for Load { slot, .. } in &spent {
            self.signals.destroy += 1;
            self.events.push(What::Destroy { slot: *slot });
        }
        spent
    }

    /// The memory of a slot is free.
    ///
    /// # Panics
    ///
    /// If it is not to be destroyed.
    pub fn destroyed(&mut self, slot: usize) {
        let Slot::Spent(load) = self.slots[slot] else {
            panic!("{:?} is destroyed", self.slots[slot]);
        };
        self.slots[slot] = Slot::Free;
        self.free.push(slot);
        self.held -= load.bytes;
        self.events.push(What::Destroyed { slot });
    }

    /// No further layer is wanted.
    pub fn end(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.events.push(What::Ended);
        }
    }

    /// An agent has failed: nothing begins any more.
    pub fn fail(&mut self) {
        self.is_over = true;
        self.events.push(What::Failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(loaders: usize, slots: usize, limit: Option<u64>) -> Order {
        let residency = Residency::Pipeload { loaders, slots, pinned: 0 };
        let setup = Setup { layers: vec![4, 6, 5], passes: 1, fixed: 10, limit, residency };
        Order::new(setup).expect("it runs")
    }

    fn granted(answer: Answer) -> Load {
        match answer {
            Answer::Load(load) => load,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn memory_is_granted_in_the_order_of_use() {
        let mut order = order(3, 3, Some(20));
        assert_eq!((order.ask(2), order.ask(1)), (Answer::Wait, Answer::Wait));
        let first = granted(order.ask(0));
        let second = granted(order.ask(1));
        assert_eq!((first.layer, second.layer), (0, 1));
        // 10 of 10 are held.
        assert_eq!((order.ask(2), order.ask(2)), (Answer::Wait, Answer::Wait));
        assert_eq!(order.signals().stop, 1);
        // The second is ready first, and waits.
        for load in [second, first] {
            order.filling(load);
            order.ready(load);
        }
        let Next::Use(used) = order.next_layer() else { panic!() };
        assert_eq!(used.layer, 0);
        assert_eq!(order.computed(used), [first]);
        assert_eq!(order.ask(2), Answer::Wait);
        order.destroyed(first.slot);
        // 4 are free, 5 are wanted.
        assert_eq!(order.ask(2), Answer::Wait);
        let Next::Use(used) = order.next_layer() else { panic!() };
        order.computed(used);
        order.destroyed(second.slot);
        let third = granted(order.ask(2));
        assert_eq!((third.layer, third.slot), (2, second.slot));
        let Signals { ready, destroy, stop, go } = order.signals();
        assert_eq!((ready, destroy, stop, go), (2, 2, 1, 1));
        assert_eq!(order.ask(0), Answer::Done);
        assert_eq!(order.peak(), 10);
    }

    #[test]
    fn what_has_ended_begins_nothing() {
        let mut order = order(1, 2, None);
        let load = granted(order.ask(0));
        order.filling(load);
        order.end();
        order.ready(load);
        assert_eq!((order.ask(0), order.next_layer()), (Answer::Done, Next::Done));
    }

    #[test]
    #[should_panic(expected = "ready when it was being filled")]
    fn a_slot_is_ready_after_it_was_filled() {
        let mut order = order(1, 2, None);
        let load = granted(order.ask(0));
        order.ready(load);
    }
}
