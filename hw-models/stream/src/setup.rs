// SPDX-License-Identifier: MIT
//! What is streamed, by how many loaders, through how much memory.

use serde::Serialize;

/// Loaders that a run has, at the most.
pub const MOST_LOADERS: usize = 64;

/// Which layers are in memory, and for how long. The modes are those that Hermes compares (section V-A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "residency")]
pub enum Residency {
    /// All layers are loaded once, one after the other, before the first is used: Hermes' baseline.
    Whole,
    /// One loader, a slot for every layer; a pass destroys nothing before its end and the next pass loads all layers
    /// again. It is PipeSwitch as Table II measures it: its times are a multiple of the passes.
    Pipeline,
    /// Several loaders, few slots; a layer is destroyed when it has been used: PIPELOAD.
    Pipeload {
        /// Loading agents.
        loaders: usize,
        /// Slots for layers that are not pinned: those being filled, full and in use.
        slots: usize,
        /// The first so many layers are loaded once and stay.
        pinned: usize,
    },
}

impl Residency {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Pipeline => "pipeline",
            Self::Pipeload { .. } => "pipeload",
        }
    }
}

/// For how long a layer stays once it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// Until it has been used.
    Use,
    /// Until the pass ends.
    Pass,
    /// Until the run ends.
    Run,
}

/// A run of a model whose layers are streamed.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Bytes of each layer, the first first.
    pub layers: Vec<u64>,
    /// How often all layers are used, one after the other: once for each token.
    pub passes: usize,
    /// Bytes of what stays in memory beside the layers.
    pub fixed: u64,
    /// Bytes that `fixed` and all slots may take together; none for no limit.
    pub limit: Option<u64>,
    /// Which layers are in memory.
    pub residency: Residency,
}

/// Why a setup cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// There is nothing to do.
    #[error("{layers} layers and {passes} passes: expected 1 or more of each")]
    Empty {
        /// Layers.
        layers: usize,
        /// Passes.
        passes: usize,
    },
    /// Too many loaders, or none.
    #[error("{loaders} loaders: expected 1 to {most}{}", of_layers(*.layers))]
    Loaders {
        /// As given.
        loaders: usize,
        /// As many as there may be.
        most: usize,
        /// Layers, where they are why there may be no more.
        layers: Option<usize>,
    },
    /// Not a slot for what is loaded anew.
    #[error("0 slots: expected 1 or more beside the pinned layers")]
    Slots,
    /// More pinned layers than layers.
    #[error("{pinned} pinned layers: expected at most {layers}, those that are streamed")]
    Pinned {
        /// As given.
        pinned: usize,
        /// Layers.
        layers: usize,
    },
    /// The limit is below the least.
    #[error(
        "memory limit {}: this model needs {} (fixed {}, {what} {})",
        mib(*.limit), mib(fixed.saturating_add(*.layers)), mib(*.fixed), mib(*.layers)
    )]
    Limit {
        /// As given, in bytes.
        limit: u64,
        /// Bytes beside the layers.
        fixed: u64,
        /// Bytes of layers that have to be in memory together.
        layers: u64,
        /// Which those are.
        what: &'static str,
    },
}

fn of_layers(layers: Option<usize>) -> String {
    layers.map_or(String::new(), |layers| format!(", as {layers} layers are streamed"))
}

/// Bytes in MiB, with a digit behind the point where it is not a whole number.
pub fn mib(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes.is_multiple_of(MIB) {
        true => format!("{} MiB", bytes / MIB),
        // Rounded up: a limit of as much as is printed is enough.
        false => format!("{:.1} MiB", (bytes as f64 / MIB as f64 * 10.0).ceil() / 10.0),
    }
}

impl Setup {
    /// Checks that it can run to its end. In-order admission ([`crate::order`]) never locks up if this holds.
    pub fn check(&self) -> Result<(), SetupError> {
        let (layers, passes) = (self.layers.len(), self.passes);
        if layers == 0 || passes == 0 {
            return Err(SetupError::Empty { layers, passes });
        }
        if let Residency::Pipeload { loaders, slots, pinned } = self.residency {
            if loaders == 0 || loaders > layers.min(MOST_LOADERS) {
                let (most, by_layers) = (layers.min(MOST_LOADERS), layers <= MOST_LOADERS);
                let layers = by_layers.then_some(layers);
                return Err(SetupError::Loaders { loaders, most, layers });
            }
            if pinned > layers {
                return Err(SetupError::Pinned { pinned, layers });
            }
            if slots == 0 && pinned < layers {
                return Err(SetupError::Slots);
            }
        }
        let (least, what) = self.least();
        match self.limit {
            Some(limit) if self.fixed.saturating_add(least) > limit => {
                Err(SetupError::Limit { limit, fixed: self.fixed, layers: least, what })
            }
            _ => Ok(()),
        }
    }

    /// Bytes of layers that have to be in memory together, and what they are.
    pub fn least(&self) -> (u64, &'static str) {
        let sum =
            |layers: &[u64]| layers.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
        match self.residency {
            Residency::Whole | Residency::Pipeline => (sum(&self.layers), "all layers"),
            Residency::Pipeload { pinned, .. } => {
                let (pinned, others) = self.layers.split_at(pinned.min(self.layers.len()));
                let largest = others.iter().copied().max().unwrap_or(0);
                let what = if pinned.is_empty() { "a layer" } else { "pinned layers and another" };
                (sum(pinned).saturating_add(largest), what)
            }
        }
    }

    /// Takes no more slots than there is room for below the limit; and unless their number `is_said`, no more than a pass
    /// loads layers, as more would hold the same layer twice.
    pub fn within_room(&mut self, is_said: bool) {
        let Residency::Pipeload { loaders, slots, pinned } = self.residency else { return };
        let of_pass = self.layers.len().saturating_sub(pinned).max(1);
        let wanted = if is_said { slots } else { slots.min(of_pass) };
        let room = match self.limit {
            None => usize::MAX,
            // A layer may be there twice, and so may the largest.
            Some(limit) if wanted > of_pass => self.room_of(limit, self.largest(), 0),
            Some(limit) => self.room(limit),
        };
        let slots = wanted.min(room.saturating_sub(pinned).max(1));
        self.residency = Residency::Pipeload { loaders, slots, pinned };
    }

    /// Slots for which a limit has room. One layer may be larger than all others, as a head is that is streamed: it is in
    /// one slot at a time, whose pages are given back when it is destroyed.
    pub fn room(&self, limit: u64) -> usize {
        let largest = self.largest();
        let is_smaller = |bytes: &&u64| **bytes < largest;
        let are_more = self.layers.iter().filter(|bytes| !is_smaller(bytes)).count() > 1;
        let others = self.layers.iter().filter(is_smaller).max().copied().unwrap_or(0);
        match are_more || others == 0 {
            true => self.room_of(limit, largest, 0),
            false => self.room_of(limit, others, largest - others),
        }
    }

    /// Slots of so many bytes for which a limit has room, with some beside them once.
    fn room_of(&self, limit: u64, bytes: u64, once: u64) -> usize {
        let room = limit.saturating_sub(self.fixed).saturating_sub(once) / bytes.max(1);
        usize::try_from(room).unwrap_or(usize::MAX)
    }

    fn largest(&self) -> u64 {
        self.layers.iter().copied().max().unwrap_or(0)
    }

    /// Loading agents.
    pub fn loaders(&self) -> usize {
        match self.residency {
            Residency::Whole | Residency::Pipeline => 1,
            Residency::Pipeload { loaders, .. } => loaders,
        }
    }

    /// Slots in all.
    pub fn slots(&self) -> usize {
        match self.residency {
            Residency::Whole | Residency::Pipeline => self.layers.len(),
            Residency::Pipeload { slots, pinned, .. } => pinned + slots,
        }
    }

    /// For how long a layer stays.
    pub fn stay(&self, layer: usize) -> Stay {
        match self.residency {
            Residency::Whole => Stay::Run,
            Residency::Pipeline => Stay::Pass,
            Residency::Pipeload { pinned, .. } if layer < pinned => Stay::Run,
            Residency::Pipeload { .. } => Stay::Use,
        }
    }

    /// Layers that each pass loads anew: all behind the pinned ones.
    fn anew(&self) -> usize {
        match self.residency {
            Residency::Whole => 0,
            Residency::Pipeline => self.layers.len(),
            Residency::Pipeload { pinned, .. } => self.layers.len() - pinned,
        }
    }

    /// Loads of the whole run.
    pub fn loads(&self) -> usize {
        self.layers.len() + (self.passes - 1) * self.anew()
    }

    /// Pass and layer of a load, by its number in the order of use.
    ///
    /// # Panics
    ///
    /// If there is no such load.
    pub fn load(&self, number: usize) -> (usize, usize) {
        assert!(number < self.loads(), "load {number} of {}", self.loads());
        let (layers, anew) = (self.layers.len(), self.anew());
        match number.checked_sub(layers) {
            None => (0, number),
            Some(behind) => (1 + behind / anew, layers - anew + behind % anew),
        }
    }

    /// Bytes that a run to its end loads.
    pub fn bytes_loaded(&self) -> u64 {
        let of = |layers: &[u64]| layers.iter().sum::<u64>();
        let first_anew = self.layers.len() - self.anew();
        of(&self.layers) + (self.passes as u64 - 1) * of(&self.layers[first_anew..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeload(loaders: usize, slots: usize, pinned: usize) -> Setup {
        Setup {
            layers: vec![10, 30, 20],
            passes: 2,
            fixed: 100,
            limit: None,
            residency: Residency::Pipeload { loaders, slots, pinned },
        }
    }

    #[test]
    fn loads_are_in_the_order_of_use() {
        let of = |setup: &Setup| (0..setup.loads()).map(|n| setup.load(n)).collect::<Vec<_>>();
        let all = of(&pipeload(1, 1, 0));
        assert_eq!(all, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(of(&pipeload(1, 1, 2)), [(0, 0), (0, 1), (0, 2), (1, 2)]);
        assert_eq!(of(&pipeload(1, 0, 3)).len(), 3);
        let whole = Setup { residency: Residency::Whole, ..pipeload(1, 1, 0) };
        assert_eq!((whole.loads(), whole.bytes_loaded()), (3, 60));
        let pipeline = Setup { residency: Residency::Pipeline, ..pipeload(1, 1, 0) };
        assert_eq!((pipeline.loads(), pipeline.bytes_loaded()), (6, 120));
        assert_eq!(pipeload(1, 1, 2).bytes_loaded(), 80);
    }

    #[test]
    fn a_larger_layer_is_in_one_slot_at_a_time() {
        let with = |layers: &[u64], limit| {
            let setup = Setup { layers: layers.to_vec(), ..pipeload(2, 9, 0) };
            let mut limited = Setup { limit: Some(limit), ..setup };
            limited.within_room(false);
            limited.slots()
        };
        // 100 stay. A head of 50 behind layers of 10: it, and layers beside it.
        let head = [10, 10, 10, 10, 50];
        assert_eq!([150, 159, 160, 179, 180].map(|limit| with(&head, limit)), [1, 1, 2, 3, 4]);
        assert_eq!(with(&head, 1000), 5);
        let even = [10; 5];
        assert_eq!([110, 119, 120, 1000].map(|limit| with(&even, limit)), [1, 1, 2, 5]);
        // Two of them may be there together.
        assert_eq!([150, 199, 200].map(|limit| with(&[10, 50, 50], limit)), [1, 1, 2]);
        // More slots than layers, as they are said: of the largest each.
        let mut said = Setup { layers: head.to_vec(), limit: Some(420), ..pipeload(2, 9, 0) };
        said.within_room(true);
        assert_eq!(said.slots(), 6);
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let refused = |setup: Setup| setup.check().expect_err("refused").to_string();
        assert_eq!(
            refused(pipeload(0, 1, 0)),
            "0 loaders: expected 1 to 3, as 3 layers are streamed"
        );
        assert!(refused(pipeload(4, 1, 0)).starts_with("4 loaders: expected 1 to 3"));
        assert!(refused(pipeload(1, 0, 0)).starts_with("0 slots"));
        assert!(refused(pipeload(1, 0, 4)).starts_with("4 pinned layers"));
        assert_eq!(pipeload(3, 1, 0).check(), Ok(()));
        assert_eq!(pipeload(1, 0, 3).check(), Ok(()));
        // Fixed, and the largest layer; with one pinned, that and the largest other one.
        let limited = |setup: Setup, limit| Setup { limit: Some(limit), ..setup }.check();
        assert_eq!(limited(pipeload(3, 4, 0), 130), Ok(()));
        assert!(limited(pipeload(3, 4, 0), 129).is_err());
        assert_eq!(limited(pipeload(3, 4, 1), 140), Ok(()));
        assert!(limited(pipeload(3, 4, 1), 139).is_err());
        let whole = Setup { residency: Residency::Whole, ..pipeload(1, 1, 0) };
        assert_eq!(limited(whole.clone(), 160), Ok(()));
        assert!(limited(whole, 159).is_err());
        let large = Setup { layers: vec![3 << 20], fixed: (9 << 20) + 1, ..pipeload(1, 1, 0) };
        let error = limited(large, 8 << 20).expect_err("refused").to_string();
        assert_eq!(
            error,
            "memory limit 8 MiB: this model needs 12.1 MiB (fixed 9.1 MiB, a layer 3 MiB)"
        );
    }
}
