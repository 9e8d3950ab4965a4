// SPDX-License-Identifier: MIT
//! Runs with random delays, and `golden::schedule` on their events.

use pimlico_golden::schedule::{Account, Happened, Life, ScheduleJudge, Streamed};
use pimlico_stream::agents::{Halt, Outcome, RunError, Supply, Work, run};
use pimlico_stream::event::{Event, Load, Use, What};
use pimlico_stream::setup::{Residency, Setup, Stay};
use std::sync::Mutex;
use std::time::Duration;

/// What the reference is told of a setup.
fn rules(setup: &Setup) -> Streamed {
    let life = |layer| match setup.stay(layer) {
        Stay::Use => Life::OneUse,
        Stay::Pass => Life::OnePass,
        Stay::Run => Life::Forever,
    };
    Streamed {
        layers: setup.layers.iter().enumerate().map(|(n, &bytes)| (bytes, life(n))).collect(),
        passes: setup.passes,
        loaders: setup.loaders(),
        slots: setup.slots(),
        fixed: setup.fixed,
        limit: setup.limit,
        loads_all_first: setup.residency == Residency::Whole,
    }
}

/// An event as the reference names it.
fn happened(what: What) -> Happened {
    match what {
        What::Granted(Load { loader, pass, layer, slot, .. }) => {
            Happened::Reserved { loader, pass, layer, slot }
        }
        What::Filling(load) => Happened::FillBegan(load.slot),
        What::Ready(load) => Happened::FillEnded(load.slot),
        What::Computing(Use { pass, layer, slot }) => Happened::UseBegan { pass, layer, slot },
        What::Computed(used) => Happened::UseEnded(used.slot),
        What::Destroy { slot } => Happened::Dismissed(slot),
        What::Destroyed { slot } => Happened::Freed(slot),
        What::Stop { loader } => Happened::Held(loader),
        What::Go { loader } => Happened::Released(loader),
        What::Ended => Happened::Ended,
        What::Failed => Happened::Failed,
    }
}

/// What the reference says of a run.
pub fn judge(setup: &Setup, events: &[Event]) -> Result<Account, String> {
    let mut judge = ScheduleJudge::new(rules(setup));
    for event in events {
        judge.see(event.at_ns, happened(event.what)).map_err(|breach| breach.to_string())?;
    }
    judge.finish().map_err(|breach| breach.to_string())
}

/// Numbers by SplitMix64.
pub fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// Delays, and when a run ends.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    pub seed: u64,
    /// The longest delay.
    pub nap_us: u64,
    /// Passes after which nothing more is wanted.
    pub ends_after: Option<usize>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)]
pub enum Faulty {
    Load { number: usize },
    Panic { number: usize },
    Compute { number: usize },
    ComputePanic { number: usize },
}

/// What a layer's slot holds: the number of the load, written at the beginning and at the end of it.
type Slot = [usize; 2];

/// Agents with delays.
struct Agents<'a> {
    case: &'a Case,
    setup: &'a Setup,
    faulty: Option<Faulty>,
    used: usize,
}

impl Agents<'_> {
    /// A delay: of every third none.
    fn nap(&self, number: usize, which: u64) {
        let mut random = random(self.case.seed ^ (number as u64) << 8 ^ which);
        if !random().is_multiple_of(3) {
            std::thread::sleep(Duration::from_micros(random() % self.case.nap_us));
        }
    }
}

impl Supply<Slot> for Agents<'_> {
    type Error = String;

    fn load(&self, load: Load, slot: &mut Slot, _: &Halt) -> Result<(), String> {
        slot[0] = load.number;
        self.nap(load.number, 0);
        match self.faulty {
            Some(Faulty::Load { number }) if number == load.number => {
                return Err(format!("load {number} fails"));
            }
            Some(Faulty::Panic { number }) if number == load.number => {
                std::panic::resume_unwind(Box::new(format!("load {number}\nand more")));
            }
            _ => {}
        }
        slot[1] = load.number;
        Ok(())
    }

    fn destroy(&self, layer: usize, slot: &mut Slot) -> Result<(), String> {
        assert_eq!(self.setup.load(slot[0]).1, layer, "the layer that was used");
        self.nap(slot[0], 1);
        *slot = [usize::MAX; 2];
        Ok(())
    }
}

impl Work<Slot> for Agents<'_> {
    type Error = String;

    fn layer(&mut self, used: Use, slot: &Slot) -> Result<(), String> {
        let number = slot[0];
        assert_eq!(slot[1], number, "a slot that is full");
        let (pass, layer) = self.setup.load(number);
        assert_eq!(layer, used.layer, "the layer that is wanted");
        assert!(pass == used.pass || self.setup.stay(layer) == Stay::Run, "of this pass");
        self.nap(number, 2);
        match self.faulty {
            Some(Faulty::Compute { number }) if number == self.used => {
                return Err(format!("layer {number} fails"));
            }
            Some(Faulty::ComputePanic { number }) if number == self.used => {
                std::panic::resume_unwind(Box::new(format!("layer {number}")));
            }
            _ => {}
        }
        self.used += 1;
        assert_eq!(slot[1], number, "a slot that nobody else has");
        Ok(())
    }

    fn pass(&mut self, pass: usize) -> Result<bool, String> {
        Ok(self.case.ends_after != Some(pass + 1))
    }
}

impl Case {
    /// Runs a setup.
    pub fn run(&self, setup: &Setup) -> Result<(Vec<Event>, Outcome), RunError<String>> {
        let mut events = Vec::new();
        let outcome = self.run_with(setup, None, &mut events)?;
        Ok((events, outcome))
    }

    /// Runs a setup in which something goes wrong.
    pub fn run_with(
        &self,
        setup: &Setup,
        faulty: Option<Faulty>,
        events: &mut Vec<Event>,
    ) -> Result<Outcome, RunError<String>> {
        let slots: Vec<_> = (0..setup.slots()).map(|_| Mutex::new([usize::MAX; 2])).collect();
        let agents = || Agents { case: self, setup, faulty, used: 0 };
        run(setup, &slots, &agents(), &mut agents(), &mut |event| events.push(event))
    }
}
