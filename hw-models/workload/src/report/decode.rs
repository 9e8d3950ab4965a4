// SPDX-License-Identifier: MIT
//! Report of a text that was decoded.

use super::{Error, Load};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_stream::event::Signals;
use serde::Serialize;
use std::collections::BTreeMap;

/// A text that was decoded.
#[derive(Clone, Debug, Serialize)]
pub struct DecodeReport {
    /// Name of the language model.
    pub model: String,
    /// Its sizes.
    pub shape: CheckpointShape,
    /// What it went on from.
    pub prompt: String,
    /// The prompt and what was decoded.
    pub text: String,
    /// Tokens of the prompt, with the one that begins a text.
    pub prompt_tokens: usize,
    /// Tokens that were decoded.
    pub decoded_tokens: Vec<usize>,
    /// SHA-256 of the logits of all choices, as little-endian binary32.
    pub logits_sha256: String,
    /// Temperature of sampling; 0 chooses the largest logit.
    pub temperature: f64,
    /// Format of the device's elements: `binary16` or `bfloat16`.
    pub elements: &'static str,
    /// How the vector comes to the shared buffers: `ping-pong` or `single`.
    pub io_buffers: &'static str,
    /// Writing K and V of the tokens, one by one: whole columns, of those banks alone that hold a part of the token. It is
    /// in the tokens' time, and an operator of its own.
    pub append: Load,
    /// Columns that this wrote.
    pub append_columns: u64,
    /// What the reference says.
    pub agreement: Agreement,
    /// Each layer, summed up over the tokens; without the language-model head.
    pub layers: Vec<LayerReport>,
    /// Each token that went through the layers; the last one decoded did not.
    pub tokens: Vec<TokenReport>,
    /// How layers came into the banks, where they were streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residency: Option<ResidencyReport>,
    /// How the host took the prompt, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefill: Option<PrefillReport>,
}

/// A prompt that the host took, with weights out of the banks.
#[derive(Clone, Debug, Serialize)]
pub struct PrefillReport {
    /// How weights come to GEMM: `duplicate`, `facil`, `ddb` or `owr`.
    pub policy: &'static str,
    /// Threads that copy beside GEMM, of `ddb`.
    pub copy_threads: usize,
    /// Threads of GEMM, which copy where nothing goes beside it.
    pub compute_threads: usize,
    /// Groups of matrices that are copied together.
    pub groups: usize,
    /// Buffers.
    pub buffers: usize,
    /// Bytes of each; 0 where there is none.
    pub buffer_bytes: u64,
    /// Bytes of all matrices, without padding.
    pub weight_bytes: u64,
    /// Cacheable bytes beside the banks: all weights, two buffers, one or none.
    pub extra_bytes: u64,
    /// Bytes that were copied into buffers.
    pub copied_bytes: u64,
    /// Loading each matrix once out of the banks; null on AiM channels, which have no path for it. It is in no total.
    pub loaded: Option<Load>,
    /// SHA-256 of the logits of the token behind the prompt, as little-endian binary32.
    pub logits_sha256: String,
    /// SHA-256 of the text, with the prompt, in UTF-8.
    pub text_sha256: String,
}

/// Layers that were streamed into the banks. Rows are those of all banks of a rank, times are on the computed clock.
#[derive(Clone, Debug, Serialize)]
pub struct ResidencyReport {
    /// `whole`, `pipeline` or `pipeload`.
    pub residency: &'static str,
    /// Loaders.
    pub loaders: usize,
    /// Places for layers in the banks.
    pub slots: usize,
    /// The first layers, which stay.
    pub pinned: usize,
    /// Bytes per second that each loader reads; null for a disk that takes no time.
    pub disk_bytes_per_s: Option<f64>,
    /// Bytes of a row.
    pub row_bytes: u64,
    /// Rows that may be in use, if that is limited.
    pub limit_rows: Option<u64>,
    /// Rows of K, V and the head, which stay.
    pub kept_rows: u64,
    /// Rows of a layer.
    pub layer_rows: u64,
    /// Rows that were in use, at the most.
    pub peak_rows: u64,
    /// Passes through all layers.
    pub passes: usize,
    /// Layers that were loaded.
    pub loads: usize,
    /// Of these, those that were not used.
    pub layers_unused: usize,
    /// Bytes that were read from the files.
    pub bytes_read: u64,
    /// Signals between the agents.
    pub signals: Signals,
    /// From the first load to the last token.
    pub wall_ns: f64,
    /// Of that, waiting for layers.
    pub stall_ns: f64,
    /// Its share.
    pub stall_share: f64,
    /// Of the whole time, that of the language-model head.
    pub head_ns: f64,
    /// Each layer, summed up over its loads and uses.
    pub layers: Vec<LayerTimes>,
}

/// Times of a layer, summed up over its loads and uses.
#[derive(Clone, Debug, Serialize)]
pub struct LayerTimes {
    /// Its number.
    pub layer: usize,
    /// The rank that it is written into.
    pub rank: usize,
    /// How often it was loaded.
    pub loads: usize,
    /// How often it was used: once for each pass.
    pub uses: usize,
    /// Reading it from the disk.
    pub disk_ns: f64,
    /// Writing it into the banks, in tCK.
    pub write_tck: u64,
    /// The same, with what else was on the channel.
    pub write_ns: f64,
    /// Computing with it, in tCK.
    pub compute_tck: u64,
    /// What waited for it: from the end of the layer or head before.
    pub stall_ns: f64,
}

impl LayerTimes {
    /// Of a layer of a rank that has not been loaded.
    pub(crate) fn new(layer: usize, rank: usize) -> Self {
        Self {
            layer,
            rank,
            loads: 0,
            uses: 0,
            disk_ns: 0.0,
            write_tck: 0,
            write_ns: 0.0,
            compute_tck: 0,
            stall_ns: 0.0,
        }
    }
}

/// A layer.
#[derive(Clone, Debug, Serialize)]
pub struct LayerReport {
    /// Its number.
    pub layer: usize,
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Duration of its operators in tCK.
    pub operator_cycles: BTreeMap<&'static str, u64>,
    /// The worst of its operators.
    pub error: Error,
}

/// A token.
#[derive(Clone, Debug, Serialize)]
pub struct TokenReport {
    /// Tokens before it.
    pub position: usize,
    /// Its number.
    pub token: usize,
    /// Its text.
    pub text: String,
    /// Duration in tCK of all operators, with that of writing its K and V.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Multiply-accumulates.
    pub macs: u64,
    /// Duration in tCK of writing its K and V.
    pub append_cycles: u64,
}

/// The device's choices and logits beside those of float64 after the same tokens.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Agreement {
    /// Choices that were compared: the decoded tokens, and the end if it was chosen.
    pub compared: usize,
    /// Of these, from the first on, those that are the reference's.
    pub equal: usize,
    /// Where the first other one is.
    pub parted: Option<Parted>,
    /// What the reference decodes by itself, where the two part at temperature 0.
    pub reference_text: Option<String>,
    /// The largest distance of a logit from the reference's, over all choices.
    pub max_logit_error: f64,
    /// The same relative to the largest of the reference's logits then.
    pub max_relative_logit_error: f64,
    /// Root mean square of all distances.
    pub rms_logit_error: f64,
}

/// The place where the device chose another token than the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Parted {
    /// Tokens before it.
    pub position: usize,
    /// The device's choice.
    pub device: Choice,
    /// The reference's.
    pub reference: Choice,
    /// The largest distance of a logit from the reference's, here.
    pub max_logit_error: f64,
    /// By how much the reference has its own choice before the device's.
    pub reference_gap: f64,
    /// By how much the device has its own choice before the reference's.
    pub device_gap: f64,
}

/// A token that was chosen.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Its number.
    pub token: usize,
    /// Its text.
    pub text: String,
}
