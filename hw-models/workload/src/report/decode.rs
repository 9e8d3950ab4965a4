// SPDX-License-Identifier: MIT
//! Report of a text that was decoded.

use super::{Error, Load};
use pimlico_model::checkpoint::CheckpointShape;
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
    /// Temperature of sampling; 0 chooses the largest logit.
    pub temperature: f64,
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
