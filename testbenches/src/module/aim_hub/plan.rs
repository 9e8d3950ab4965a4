// SPDX-License-Identifier: MIT
//! What the bench of `aim_hub` is to reach: every fault, every use of the GPR, and words of host and GPR.

use crate::coverage::Bins;
use pimlico_dpa::types::Fault;
use pimlico_units::module::{AimHubIn, AimHubOut};

const FAULTS: [Fault; 6] = [
    Fault::UnknownCommand,
    Fault::NoRow,
    Fault::NoColumn,
    Fault::NoPlace,
    Fault::NoTokens,
    Fault::NoOperand,
];

/// Declares the bins.
pub(super) fn plan(bins: &mut Bins) {
    bins.declare("fault", FAULTS.map(|fault| format!("{fault:?}")));
    bins.declare("read of the GPR", ["memory 0", "memory 1", "two words", "a line to add to"]);
    bins.declare("write to the GPR", ["memory 0", "memory 1", "a line"]);
    bins.declare("read and write in a cycle", ["yes"]);
    bins.declare("word of the host", ["accepted", "held up"]);
    bins.declare("WR of the host", ["accepted", "held up"]);
    bins.declare("state", ["busy", "idle", "over", "settled"]);
}

/// Marks what an episode has reached.
pub(super) fn cover(inputs: &[AimHubIn], outputs: &[AimHubOut], bins: &mut Bins) {
    let mut failed = false;
    for (input, output) in inputs.iter().zip(outputs) {
        if let Some(fault) = FAULTS.iter().position(|fault| *fault == output.fault_o)
            && !std::mem::replace(&mut failed, true)
        {
            bins.hit("fault", fault);
        }
        let (read, write) = (output.gpr_read_o.get(), output.gpr_write_o.get());
        if read > 0 {
            bins.hit("read of the GPR", read as usize - usize::from(!output.gpr_adds_o));
        }
        if write > 0 {
            bins.hit("write to the GPR", write as usize - 1);
        }
        if read > 0 && write > 0 {
            bins.hit("read and write in a cycle", 0);
        }
        if input.operand_valid_i {
            bins.hit("word of the host", usize::from(!output.operand_ready_o));
        }
        if input.write_valid_i {
            bins.hit("WR of the host", usize::from(!output.write_ready_o));
        }
        let state = [output.idle_o, output.over_o, output.settled_o];
        bins.hit("state", state.iter().rposition(|set| *set).map_or(0, |bin| bin + 1));
    }
}
