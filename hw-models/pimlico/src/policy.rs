// SPDX-License-Identifier: MIT
//! How weights come to the host's GEMM, as commands have it.

use clap::ValueEnum;
use pimlico_workload::prefill::PrefillPolicy;

/// Threads of each kind, at the most.
const MOST_THREADS: usize = 64;

/// How weights come to GEMM.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// From a copy of all weights, made before (WD)
    Duplicate,
    /// From the banks, by a memory controller that knows the layout (FACIL-O)
    Facil,
    /// Through two buffers: the next group is copied beside GEMM (DDB)
    Ddb,
    /// Through one buffer: each matrix is copied, then multiplied (OWR)
    Owr,
}

impl PolicyName {
    /// The policy.
    pub fn policy(self) -> PrefillPolicy {
        match self {
            Self::Duplicate => PrefillPolicy::Duplicate,
            Self::Facil => PrefillPolicy::Facil,
            Self::Ddb => PrefillPolicy::Ddb,
            Self::Owr => PrefillPolicy::Owr,
        }
    }
}

/// A number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_THREADS} threads"))
}
