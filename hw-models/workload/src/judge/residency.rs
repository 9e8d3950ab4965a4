// SPDX-License-Identifier: MIT
//! Runs that stream layers: `golden::schedule` on their events, as they come, and `golden::bank_rows` on the rows of the
//! banks. Both keep accounts of their own.

pub use pimlico_golden::bank_rows::{Holder, Row, RowJudge};
pub use pimlico_golden::schedule::Account;
use pimlico_golden::schedule::{Happened, Life, ScheduleJudge, Streamed};
use pimlico_stream::event::{Event, Load, Use, What};
use pimlico_stream::setup::{Residency, Setup, Stay};

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

/// Judges a run while it goes on.
pub struct Watch {
    judge: ScheduleJudge,
    breach: Option<String>,
}

impl Watch {
    /// Of a run that has not begun.
    pub fn new(setup: &Setup) -> Self {
        Self { judge: ScheduleJudge::new(rules(setup)), breach: None }
    }

    /// Sees the next event.
    pub fn see(&mut self, event: Event) {
        if self.breach.is_none()
            && let Err(breach) = self.judge.see(event.at_ns, happened(event.what))
        {
            self.breach = Some(breach.to_string());
        }
    }

    /// What the run came to, or the first promise that it did not keep.
    pub fn finish(self) -> Result<Account, String> {
        match self.breach {
            Some(breach) => Err(breach),
            None => self.judge.finish().map_err(|breach| breach.to_string()),
        }
    }
}
