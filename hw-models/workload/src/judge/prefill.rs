// SPDX-License-Identifier: MIT
//! Prefill with weights that are copied before they are multiplied: `golden::group_copies` on what threads did.

pub use pimlico_golden::group_copies::{Copied, CopyJudge, Step};

/// Judges all steps of a prefill, each with its time in ns.
pub fn judge(rules: Copied, steps: &[(u64, Step)]) -> Result<(), String> {
    let mut judge = CopyJudge::new(rules);
    for (at_ns, step) in steps {
        judge.see(*at_ns, *step).map_err(|wrong| wrong.to_string())?;
    }
    judge.finish().map_err(|wrong| wrong.to_string())
}
