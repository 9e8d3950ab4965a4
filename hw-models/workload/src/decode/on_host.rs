// SPDX-License-Identifier: MIT
//! The prompt on the host, with weights out of the device's banks: PIM-SHERPA's division of a text.
//!
//! ```text
//! host     load weights out of the banks,    logits ->  first token      norms, choices ...
//!          copy, GEMM, attention                |
//! device                                  K, V of all tokens into the banks    matrices (and attention) of token after token
//! ```
//!
//! Each matrix is loaded once, whatever the policy: a copy to GEMM, or GEMM itself, reads each burst once. The loads stand before the
//! first product here, so that threads need not share the device.

use super::DecodeJob;
use crate::error::{DecodeError, WorkloadError};
use crate::machine::{Kind, Machine};
use crate::prefill::weights::ModelInBanks;
use crate::prefill::{self, PrefillError, PrefillJob, PrefillPolicy, Prefilled, Threads};
use crate::report::Written;
use crate::report::decode::PrefillReport;
use pimlico_stream::host::MATRICES;
use pimlico_stream::source::LayerSource;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// How the host takes a prompt.
#[derive(Clone, Debug)]
pub struct HostPrefill {
    /// The model's file, for what is not in the banks.
    pub source: Arc<LayerSource>,
    /// How weights come to GEMM.
    pub policy: PrefillPolicy,
    /// Threads.
    pub threads: Threads,
    /// Bytes of a buffer; those of the largest group if it is not said.
    pub buffer: Option<u64>,
}

/// Takes a prompt through all layers of the model in a device's banks. The text of the report is that of the prompt.
pub(super) fn run(
    job: &DecodeJob,
    how: &HostPrefill,
    machine: &mut dyn Machine,
    prompt: &[usize],
) -> Result<(Prefilled, PrefillReport), WorkloadError> {
    let HostPrefill { source, policy, threads, buffer } = how;
    let (model, loaded) = model(job, machine)?;
    let prefill_job = PrefillJob {
        source,
        model: &model,
        prompt,
        policy: *policy,
        threads: *threads,
        buffer: *buffer,
    };
    let prefilled = prefill::prefill(&prefill_job).map_err(refused)?;
    source.check_unchanged().map_err(|error| DecodeError::Prefill(error.to_string()))?;
    let report = PrefillReport {
        policy: policy.name(),
        copy_threads: threads.copy.get(),
        compute_threads: threads.compute.get(),
        groups: prefilled.groups,
        buffers: policy.buffers(),
        buffer_bytes: prefilled.buffer_bytes,
        weight_bytes: model.bytes(),
        extra_bytes: prefilled.extra_bytes,
        copied_bytes: prefilled.copied_bytes,
        loaded: loaded.map(|loaded| machine.load_report(&loaded)),
        logits_sha256: sha256(prefilled.logits.iter().flat_map(|logit| logit.to_le_bytes())),
        text_sha256: sha256(job.prompt.bytes()),
    };
    Ok((prefilled, report))
}

/// The model's matrices as the host loads them out of the banks, and what that costs, where it is known.
fn model(
    job: &DecodeJob,
    machine: &mut dyn Machine,
) -> Result<(ModelInBanks<'static>, Option<Written>), WorkloadError> {
    let shape = &job.checkpoint.shape;
    let mut loaded = Some(Written::default());
    let mut fetch = |kind: Kind, layer| {
        let (matrices, cost) = machine.fetch(kind, layer, &kind.rows(shape))?;
        loaded = loaded.zip(cost).map(|(all, more)| all.and(more));
        Ok::<_, WorkloadError>(matrices)
    };
    let mut layers = Vec::with_capacity(shape.layers);
    for layer in 0..shape.layers {
        let mut of_layer = Vec::with_capacity(MATRICES.len());
        for kind in Kind::OF_A_LAYER {
            of_layer.extend(fetch(kind, Some(layer))?);
        }
        let of_layer = of_layer.try_into();
        layers.push(of_layer.unwrap_or_else(|_| panic!("a matrix of each kind")));
    }
    let head = fetch(Kind::LmHead, None)?.pop().expect("the head");
    let elements = machine.elements().stored();
    Ok((ModelInBanks { elements, layers, head }, loaded))
}

/// What a prefill says.
fn refused(error: PrefillError) -> WorkloadError {
    match error {
        PrefillError::Judged(_) => WorkloadError::Check(error.to_string()),
        error => DecodeError::Prefill(error.to_string()).into(),
    }
}

/// SHA-256 of bytes.
pub(super) fn sha256(bytes: impl IntoIterator<Item = u8>) -> String {
    let bytes: Vec<u8> = bytes.into_iter().collect();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
