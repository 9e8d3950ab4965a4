// SPDX-License-Identifier: MIT
//! What the bench of `pim_dimm` is to reach, where the two halves meet: the benches of `host_port` and `pim_module` have
//! what each of them does.

use crate::coverage::Bins;

pub(super) const END: &str = "a run ends";
pub(super) const START: &str = "a START is executed";
pub(super) const REST: &str = "the end of a run waits for";
pub(super) const REF: &str = "REF";
pub(super) const DRIVES: &str = "the host drives its data bus in";
pub(super) const READ: &str = "a burst of results is read";
const RUNS: &str = "runs of an episode";
const RESULTS: &str = "results of an episode that golden judges";

/// Declares the bins.
pub(super) fn plan(bins: &mut Bins) {
    bins.declare(END, ["done", "with another status", "with a fault"]);
    bins.declare(START, ["behind a PREA", "behind a run"]);
    bins.declare(REST, ["an unfinished burst", "tRFC"]);
    bins.declare(REF, ["of the host", "of the module"]);
    bins.declare(DRIVES, ["PinsHost", "PinsLeft", "PinsRun"]);
    bins.declare(READ, ["of the context", "of the outputs"]);
    bins.declare(RUNS, ["none", "one", "several"]);
    bins.declare(RESULTS, ["none", "some"]);
}

/// Marks what an episode has reached: so many runs and results, and bins.
pub(super) fn cover(runs: u64, results: u64, seen: &[(&'static str, usize)], bins: &mut Bins) {
    bins.hit(RUNS, runs.min(2) as usize);
    bins.hit(RESULTS, results.min(1) as usize);
    seen.iter().for_each(|(point, bin)| bins.hit(point, *bin));
}
