// SPDX-License-Identifier: MIT
//! Does a run that streams layers through bounded memory keep its promises?
//!
//! A [`ScheduleJudge`] is told what was streamed ([`Streamed`]) and sees the events of a run one by one, in the order in which
//! they are said to have happened. It keeps an account of its own, from the events alone:
//!
//! * bytes beside the layers and bytes of all reservations together are never above the limit;
//! * memory is reserved before it is filled, filled before it is used, used before it is freed;
//! * reservations are in the order of use, each by the loader whose turn it is (number of the load modulo loaders), and
//!   a loader has one at a time;
//! * in each pass each layer is used once, in order, one at a time, and is the layer that was filled for this pass;
//! * a slot has one layer at a time;
//! * a layer is freed when its time is over and no earlier; it is not loaded again before;
//! * after the end nothing is reserved or used, after a failure nothing happens;
//! * times do not fall.
//!
//! Hermes (Han et al., 2024), section III-B, says what agents do; that memory is reserved in order and before a load is
//! stricter than its text.

use std::fmt;

/// For how long a layer stays in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Until it has been used once.
    OneUse,
    /// Until all layers have been used.
    OnePass,
    /// For good.
    Forever,
}

/// What was streamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// Bytes of each layer, and for how long it stays.
    pub layers: Vec<(u64, Life)>,
    /// How often all layers are used.
    pub passes: usize,
    /// Loaders.
    pub loaders: usize,
    /// Slots.
    pub slots: usize,
    /// Bytes beside the layers.
    pub fixed: u64,
    /// Bytes that there are in all, if that is limited.
    pub limit: Option<u64>,
    /// Whether nothing is used before all is loaded.
    pub loads_all_first: bool,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A slot was reserved for a layer of a pass, by a loader.
    Reserved {
        /// Which loader.
        loader: usize,
        /// For which pass.
        pass: usize,
        /// Which layer.
        layer: usize,
        /// Which slot.
        slot: usize,
    },
    /// Its loader began to fill it.
    FillBegan(usize),
    /// It was full.
    FillEnded(usize),
    /// A layer in a slot began to be used.
    UseBegan {
        /// In which pass.
        pass: usize,
        /// Which layer.
        layer: usize,
        /// Which slot.
        slot: usize,
    },
    /// The use of a slot ended.
    UseEnded(usize),
    /// It was told that the slot is of no further use.
    Dismissed(usize),
    /// The slot was free.
    Freed(usize),
    /// A loader was held up for want of memory.
    Held(usize),
    /// A loader that was held up went on.
    Released(usize),
    /// No further use was wanted.
    Ended,
    /// Something failed.
    Failed,
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The number of the event, from 0; as many as there were, if something did not happen.
    pub event: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.event, self.what)
    }
}

impl std::error::Error for Broken {}

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The most bytes at once, with those beside the layers.
    pub most_bytes: u64,
    /// Layers that were filled.
    pub fills: usize,
    /// Bytes of these.
    pub bytes: u64,
    /// Layers that were used.
    pub uses: usize,
    /// Layers that were filled and not used for the pass for which they were.
    pub in_vain: usize,
    /// Slots that were freed.
    pub frees: usize,
    /// How often a loader was held up.
    pub held: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Reserved,
    BeingFilled,
    Full,
    BeingUsed,
    Dismissed,
}

/// A slot that is not free.
#[derive(Clone, Copy, Debug)]
struct Holding {
    loader: usize,
    pass: usize,
    layer: usize,
    stage: Stage,
    /// Uses that have ended.
    uses: usize,
}

/// Judges the events of a run.
#[derive(Clone, Debug)]
pub struct ScheduleJudge {
    rules: Streamed,
    slots: Vec<Option<Holding>>,
    held_up: Vec<bool>,
    reservations: usize,
    /// Pass and layer whose reservation comes next.
    due: Option<(usize, usize)>,
    uses: usize,
    in_use: Option<usize>,
    at: u64,
    events: usize,
    ended: bool,
    failed: bool,
    account: Account,
}

impl ScheduleJudge {
    /// Of a run that has not begun.
    pub fn new(rules: Streamed) -> Self {
        Self {
            slots: vec![None; rules.slots],
            held_up: vec![false; rules.loaders],
            reservations: 0,
            due: Some((0, 0)),
            uses: 0,
            in_use: None,
            at: 0,
            events: 0,
            ended: false,
            failed: false,
            account: Account { most_bytes: rules.fixed, ..Account::default() },
            rules,
        }
    }

    /// Sees the next event, at a time in ns.
    pub fn see(&mut self, at_ns: u64, event: Happened) -> Result<(), Broken> {
        let seen = self.check(at_ns, event);
        let number = self.events;
        self.events += 1;
        seen.map_err(|what| Broken { event: number, what: format!("{event:?}: {what}") })
    }

    /// The run is over; what it came to.
    pub fn finish(&self) -> Result<Account, Broken> {
        let wrong = |what: String| Err(Broken { event: self.events, what });
        if self.failed {
            return Ok(self.account);
        }
        let all = self.rules.passes * self.rules.layers.len();
        if !self.ended && self.uses != all {
            return wrong(format!("{} of {all} uses", self.uses));
        }
        if let Some(slot) = self.in_use {
            return wrong(format!("slot {slot} is in use"));
        }
        let mut account = self.account;
        for (slot, holding) in self.slots.iter().enumerate() {
            let Some(Holding { layer, stage, uses, .. }) = holding else { continue };
            let (_, life) = self.rules.layers[*layer];
            match (stage, life) {
                (Stage::Full, Life::OneUse) if !self.ended => {
                    return wrong(format!("layer {layer} in slot {slot} was not used"));
                }
                (Stage::Full, _) => account.in_vain += usize::from(*uses == 0),
                (stage, _) => return wrong(format!("layer {layer} in slot {slot} is {stage:?}")),
            }
        }
        Ok(account)
    }

    fn check(&mut self, at_ns: u64, event: Happened) -> Result<(), String> {
        if self.failed {
            return Err("after a failure".to_owned());
        }
        if at_ns < self.at {
            return Err(format!("at {at_ns} ns, after {} ns", self.at));
        }
        self.at = at_ns;
        match event {
            Happened::Reserved { loader, pass, layer, slot } => {
                self.reserved(loader, (pass, layer), slot)
            }
            Happened::FillBegan(slot) => self.goes(slot, Stage::Reserved, Stage::BeingFilled),
            Happened::FillEnded(slot) => {
                self.goes(slot, Stage::BeingFilled, Stage::Full)?;
                let layer = self.holding(slot)?.layer;
                self.account.fills += 1;
                self.account.bytes += self.rules.layers[layer].0;
                Ok(())
            }
            Happened::UseBegan { pass, layer, slot } => self.use_began((pass, layer), slot),
            Happened::UseEnded(slot) => {
                self.goes(slot, Stage::BeingUsed, Stage::Full)?;
                self.in_use = None;
                self.uses += 1;
                self.account.uses += 1;
                self.slots[slot].as_mut().expect("it is held").uses += 1;
                Ok(())
            }
            Happened::Dismissed(slot) => self.dismissed(slot),
            Happened::Freed(slot) => {
                self.goes(slot, Stage::Dismissed, Stage::Dismissed)?;
                self.slots[slot] = None;
                self.account.frees += 1;
                Ok(())
            }
            Happened::Held(loader) => {
                self.account.held += 1;
                self.turned(loader, true)
            }
            Happened::Released(loader) => self.turned(loader, false),
            Happened::Ended if self.ended => Err("twice".to_owned()),
            Happened::Ended => {
                self.ended = true;
                Ok(())
            }
            Happened::Failed => {
                self.failed = true;
                Ok(())
            }
        }
    }

    fn holding(&self, slot: usize) -> Result<Holding, String> {
        let held = self.slots.get(slot).ok_or_else(|| format!("{} slots", self.slots.len()))?;
        held.ok_or_else(|| "the slot is free".to_owned())
    }

    fn goes(&mut self, slot: usize, from: Stage, to: Stage) -> Result<(), String> {
        let holding = self.holding(slot)?;
        if holding.stage != from {
            return Err(format!("the slot is {:?}", holding.stage));
        }
        self.slots[slot] = Some(Holding { stage: to, ..holding });
        Ok(())
    }

    fn reserved(
        &mut self,
        loader: usize,
        (pass, layer): (usize, usize),
        slot: usize,
    ) -> Result<(), String> {
        if self.ended {
            return Err("after the end".to_owned());
        }
        if self.due != Some((pass, layer)) {
            return Err(format!("due is {:?}", self.due));
        }
        if loader != self.reservations % self.rules.loaders {
            return Err("it is another loader's turn".to_owned());
        }
        if self.held_up[loader] {
            return Err("the loader is held up".to_owned());
        }
        let is_loading = |holding: &Holding| {
            holding.loader == loader
                && matches!(holding.stage, Stage::Reserved | Stage::BeingFilled)
        };
        if self.slots.iter().flatten().any(is_loading) {
            return Err("the loader has another".to_owned());
        }
        match self.slots.get(slot) {
            None => return Err(format!("{} slots", self.slots.len())),
            Some(Some(holding)) => return Err(format!("the slot has layer {}", holding.layer)),
            Some(None) => {}
        }
        let holding = Holding { loader, pass, layer, stage: Stage::Reserved, uses: 0 };
        self.slots[slot] = Some(holding);
        let held = self.slots.iter().flatten().map(|holding| self.rules.layers[holding.layer].0);
        let bytes = self.rules.fixed + held.sum::<u64>();
        self.account.most_bytes = self.account.most_bytes.max(bytes);
        if self.rules.limit.is_some_and(|limit| bytes > limit) {
            return Err(format!("{bytes} bytes, above the limit"));
        }
        self.reservations += 1;
        self.due = self.behind(pass, layer);
        Ok(())
    }

    /// The reservation that comes after one: of the next layer that is not there for good.
    fn behind(&self, pass: usize, layer: usize) -> Option<(usize, usize)> {
        let later = (layer + 1..self.rules.layers.len()).map(|layer| (pass, layer));
        let next_passes = (pass + 1..self.rules.passes)
            .flat_map(|pass| (0..self.rules.layers.len()).map(move |layer| (pass, layer)));
        let is_loaded = |&(pass, layer): &(usize, usize)| {
            pass == 0 || self.rules.layers[layer].1 != Life::Forever
        };
        // Where all are there for good the search would go on through all passes.
        match self.rules.layers.iter().all(|(_, life)| *life == Life::Forever) {
            true => later.into_iter().find(is_loaded),
            false => later.chain(next_passes).find(is_loaded),
        }
    }

    fn use_began(&mut self, (pass, layer): (usize, usize), slot: usize) -> Result<(), String> {
        if self.ended {
            return Err("after the end".to_owned());
        }
        if let Some(other) = self.in_use {
            return Err(format!("slot {other} is in use"));
        }
        let layers = self.rules.layers.len();
        let due = (self.uses / layers, self.uses % layers);
        if due != (pass, layer) {
            return Err(format!("due is {due:?}"));
        }
        if self.rules.loads_all_first && self.account.fills < layers {
            return Err(format!("{} of {layers} are loaded", self.account.fills));
        }
        let holding = self.holding(slot)?;
        let for_this = match self.rules.layers[layer].1 {
            Life::Forever => holding.layer == layer,
            Life::OneUse | Life::OnePass => {
                (holding.pass, holding.layer) == (pass, layer) && holding.uses == 0
            }
        };
        if !for_this {
            let Holding { pass, layer, uses, .. } = holding;
            return Err(format!("the slot has layer {layer} of pass {pass}, used {uses} times"));
        }
        self.goes(slot, Stage::Full, Stage::BeingUsed)?;
        self.in_use = Some(slot);
        Ok(())
    }

    fn dismissed(&mut self, slot: usize) -> Result<(), String> {
        let Holding { pass, layer, uses, .. } = self.holding(slot)?;
        let is_over = match self.rules.layers[layer].1 {
            Life::OneUse => uses == 1,
            Life::OnePass => uses == 1 && self.uses >= (pass + 1) * self.rules.layers.len(),
            Life::Forever => false,
        };
        if !is_over {
            return Err(format!("layer {layer} is still wanted"));
        }
        self.goes(slot, Stage::Full, Stage::Dismissed)
    }

    fn turned(&mut self, loader: usize, to: bool) -> Result<(), String> {
        let held_up = self.held_up.get_mut(loader).ok_or("no such loader")?;
        if std::mem::replace(held_up, to) == to {
            return Err("it was so already".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Happened::*;

    fn rules() -> Streamed {
        Streamed {
            layers: vec![(4, Life::OneUse), (6, Life::OneUse)],
            passes: 1,
            loaders: 2,
            slots: 2,
            fixed: 10,
            limit: Some(20),
            loads_all_first: false,
        }
    }

    fn reserve(loader: usize, layer: usize, slot: usize) -> Happened {
        Reserved { loader, pass: 0, layer, slot }
    }

    fn use_of(layer: usize, slot: usize) -> Happened {
        UseBegan { pass: 0, layer, slot }
    }

    /// A run that keeps all promises.
    fn run() -> Vec<Happened> {
        vec![
            reserve(0, 0, 1),
            FillBegan(1),
            reserve(1, 1, 0),
            FillBegan(0),
            FillEnded(0),
            FillEnded(1),
            use_of(0, 1),
            UseEnded(1),
            Dismissed(1),
            use_of(1, 0),
            Freed(1),
            UseEnded(0),
            Dismissed(0),
            Freed(0),
        ]
    }

    fn judged(rules: Streamed, events: &[Happened]) -> Result<Account, String> {
        let mut judge = ScheduleJudge::new(rules);
        for (at, &event) in events.iter().enumerate() {
            judge.see(at as u64, event).map_err(|breach| breach.to_string())?;
        }
        judge.finish().map_err(|breach| breach.to_string())
    }

    #[test]
    fn a_run_that_keeps_them_is_accounted_for() {
        let account = judged(rules(), &run()).expect("it keeps them");
        let expected =
            Account { most_bytes: 20, fills: 2, bytes: 10, uses: 2, in_vain: 0, frees: 2, held: 0 };
        assert_eq!(account, expected);
    }

    #[test]
    fn each_event_is_needed() {
        for left_out in 0..run().len() {
            let mut events = run();
            events.remove(left_out);
            let judged = judged(rules(), &events);
            // The last free may be missing: the run is over.
            assert!(judged.is_err(), "without {:?}", run()[left_out]);
        }
    }

    #[test]
    fn no_two_dependent_events_may_change_places() {
        // Neighbours that do not depend on each other.
        let free = [(3, 4), (8, 9), (9, 10), (10, 11), (4, 5), (1, 2)];
        for first in 0..run().len() - 1 {
            let mut events = run();
            events.swap(first, first + 1);
            let is_free = match (run()[first], run()[first + 1]) {
                (FillBegan(a), FillEnded(b)) => a != b,
                _ => free.contains(&(first, first + 1)),
            };
            assert_eq!(judged(rules(), &events).is_ok(), is_free, "{first}");
        }
    }

    #[test]
    fn other_breaches_are_found() {
        let wrong = |rules: Streamed, at: usize, events: &[Happened]| {
            let mut all = run();
            all.splice(at..at + usize::from(events.len() == 1), events.iter().copied());
            judged(rules, &all).expect_err("a breach")
        };
        let small = Streamed { limit: Some(19), ..rules() };
        assert!(judged(small, &run()).expect_err("a breach").contains("20 bytes, above the limit"));
        assert!(wrong(rules(), 2, &[reserve(0, 1, 0)]).contains("another loader's turn"));
        assert!(wrong(rules(), 2, &[reserve(1, 1, 1)]).contains("the slot has layer 0"));
        assert!(wrong(rules(), 0, &[reserve(0, 1, 0)]).contains("due is"));
        assert!(wrong(rules(), 6, &[use_of(1, 0)]).contains("due is"));
        assert!(wrong(rules(), 6, &[use_of(0, 0)]).contains("the slot has layer 1"));
        assert!(wrong(rules(), 6, &[Failed, Ended]).contains("after a failure"));
        assert!(wrong(rules(), 6, &[Ended, Ended]).contains("twice"));
        assert!(wrong(rules(), 2, &[Held(1), Held(1)]).contains("so already"));
        assert!(wrong(rules(), 2, &[Held(1), FillEnded(1)]).contains("held up"));
        let all_first = Streamed { loads_all_first: true, ..rules() };
        let mut events = run();
        let late = events.remove(4);
        events.insert(7, late);
        assert!(judged(rules(), &events).is_ok());
        assert!(judged(all_first, &events).expect_err("a breach").contains("1 of 2 are loaded"));
        let mut judge = ScheduleJudge::new(rules());
        judge.see(5, reserve(0, 0, 0)).expect("the first");
        assert!(judge.see(4, FillBegan(0)).is_err());
    }

    #[test]
    fn what_stays_is_not_freed_nor_loaded_again() {
        let of =
            |life| Streamed { layers: vec![(1, life)], passes: 2, loaders: 1, slots: 1, ..rules() };
        let load =
            |pass| [Reserved { loader: 0, pass, layer: 0, slot: 0 }, FillBegan(0), FillEnded(0)];
        let used = |pass| [UseBegan { pass, layer: 0, slot: 0 }, UseEnded(0)];
        let freed = [Dismissed(0), Freed(0)];
        let forever = [&load(0)[..], &used(0), &used(1)].concat();
        assert!(judged(of(Life::Forever), &forever).is_ok());
        assert!(judged(of(Life::OnePass), &forever).is_err());
        let each = [&load(0)[..], &used(0), &freed, &load(1), &used(1), &freed].concat();
        assert!(judged(of(Life::OnePass), &each).is_ok());
        assert!(judged(of(Life::OneUse), &each).is_ok());
        assert!(judged(of(Life::Forever), &each).is_err());
        // It ends early, with a layer that nobody used.
        let early = [&load(0)[..], &used(0), &freed, &load(1), &[Ended]].concat();
        assert_eq!(judged(of(Life::OneUse), &early).map(|account| account.in_vain), Ok(1));
    }
}
