// SPDX-License-Identifier: MIT
//! How a system of GPUs, with memory that computes or without, serves requests.

use crate::error::ServingError;

/// A policy of the system `l3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// GPUs alone.
    GpuOnly,
    /// GPUs whose memory computes attention: NeuPIMs and AttAcc.
    HbmPim,
    /// DIMMs whose ranks have a PU each: Hermes.
    RankPim,
    /// Attention of some requests on the host's CPU: NEO and FastDecode.
    CpuOffload,
    /// L3's DIMMs, one batch, no overlap.
    L3Naive,
    /// The same with two sub-batches and prompts in chunks beside them.
    L3Interleave,
    /// The same with ranksets that compute while another one has the channels, evenly used.
    L3,
}

/// Where K and V of requests go among the ranksets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Layers in turn, from the rankset on that holds the fewest tokens.
    Layers,
    /// Layers in turn, all requests from the same rankset on.
    Same,
    /// All layers of a request in one rankset, taken at random among those with room for it.
    Random,
    /// All layers of a request in one rankset that is drawn before it comes, for whose room it waits.
    Drawn,
    /// A part of each layer of each request in every rankset, so that all have equal work: a bound, which no layout of L3 reaches.
    Spread,
}

/// What the two sub-batches of decoding requests have even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubBatches {
    /// The sum of their tokens (L3's section 5.3).
    Tokens,
    /// Their tokens in each rankset.
    Ranksets,
}

/// When memory is reserved for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// At the beginning, for all tokens that it will have.
    Reserve,
    /// As it grows.
    Lazy,
}

impl Policy {
    /// All that there are, with their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::GpuOnly, "gpu-only"),
        (Self::HbmPim, "hbm-pim"),
        (Self::RankPim, "r-pim"),
        (Self::CpuOffload, "cpu-offload"),
        (Self::L3Naive, "l3-naive"),
        (Self::L3Interleave, "l3-interleave"),
        (Self::L3, "l3"),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(policy, _)| *policy == self).map_or("", |(_, name)| name)
    }

    /// The policy of this name.
    pub fn find(name: &str) -> Result<Self, ServingError> {
        Self::ALL
            .into_iter()
            .find(|(_, other)| *other == name)
            .map(|(policy, _)| policy)
            .ok_or_else(|| {
                let names = Self::ALL.map(|(_, name)| name).join(", ");
                ServingError::setup(format!("--policy {name}: l3 has {names}"))
            })
    }

    /// Whether the ranks of L3's DIMMs compute.
    pub fn has_ranks(self) -> bool {
        matches!(self, Self::L3Naive | Self::L3Interleave | Self::L3)
    }

    /// Whether K and V are in ranks of the host's DIMMs, which compute attention.
    pub fn has_ranksets(self) -> bool {
        self.has_ranks() || self == Self::RankPim
    }

    /// Whether decoding requests are in two sub-batches.
    pub fn has_sub_batches(self) -> bool {
        matches!(self, Self::HbmPim | Self::L3Interleave | Self::L3)
    }

    /// Whether prompts run beside decoding requests, in chunks; otherwise they come first, and alone.
    pub fn interleaves(self) -> bool {
        matches!(self, Self::L3Interleave | Self::L3)
    }

    /// Where requests go unless another placement is asked for. Even ranksets are a part of L3 (section 5.1), which its baselines
    /// and its first steps do not have.
    pub fn placement(self) -> Placement {
        match self {
            Self::RankPim | Self::L3Naive | Self::L3Interleave => Placement::Random,
            _ => Placement::Layers,
        }
    }

    /// Whether ranksets compute during transfers unless something else is asked for.
    pub fn overlaps(self) -> bool {
        self == Self::L3
    }
}

impl Placement {
    /// All that there are, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Layers, "layers"),
        (Self::Same, "same"),
        (Self::Random, "random"),
        (Self::Drawn, "drawn"),
        (Self::Spread, "spread"),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(of, _)| *of == self).map_or("", |(_, name)| name)
    }

    /// Whether each rankset has an equal share of a request's layers.
    pub fn is_even(self) -> bool {
        !matches!(self, Self::Random | Self::Drawn)
    }
}

impl SubBatches {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Ranksets => "ranksets",
        }
    }
}

impl Admission {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Lazy => "lazy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_found_by_their_names() {
        for (policy, name) in Policy::ALL {
            assert_eq!(Policy::find(name).expect("one"), policy);
        }
        let error = Policy::find("neupims").expect_err("it is not there").to_string();
        assert!(error.starts_with("--policy neupims: l3 has gpu-only, hbm-pim, "), "{error}");
    }
}
