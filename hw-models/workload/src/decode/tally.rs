// SPDX-License-Identifier: MIT
//! What decoding cost: by operator, by layer, by token.

use super::machine::Machine;
use super::report::{LayerReport, TokenReport};
use crate::report::{Error, Operator, ns};
use pimlico_device::{Config, Statistics};

/// An operator of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// q, k and v of a layer.
    Qkv,
    /// Score, softmax and context of a layer's heads.
    Attention,
    /// The heads' outputs back to the layer's vector.
    Projection,
    /// The feed-forward network's first matrices.
    Ffn1,
    /// Its last.
    Ffn2,
    /// The logits.
    LmHead,
}

impl Kind {
    /// All of them, in the order in which they run.
    pub const ALL: [Self; 6] =
        [Self::Qkv, Self::Attention, Self::Projection, Self::Ffn1, Self::Ffn2, Self::LmHead];

    /// Those that are a matrix of a layer.
    pub const OF_A_LAYER: [Self; 4] = [Self::Qkv, Self::Projection, Self::Ffn1, Self::Ffn2];

    /// Its place among these.
    ///
    /// # Panics
    ///
    /// If it is none of them: attention has no weights, and the language-model head is in no layer.
    pub fn place(self) -> usize {
        let place = Self::OF_A_LAYER.iter().position(|&kind| kind == self);
        place.unwrap_or_else(|| panic!("{} is no matrix of a layer", self.name()))
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qkv => "qkv",
            Self::Attention => "attention",
            Self::Projection => "projection",
            Self::Ffn1 => "ffn1",
            Self::Ffn2 => "ffn2",
            Self::LmHead => "lm_head",
        }
    }
}

/// What an operator cost, and how far it was from float64 of what it was given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// On the device.
    pub statistics: Statistics,
    /// Multiply-accumulates that it asks for, without padding.
    pub macs: u64,
    /// Its error.
    pub error: Error,
}

impl Cost {
    /// Of two operators, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            statistics: self.statistics.and(other.statistics),
            macs: self.macs + other.macs,
            error: self.error.worse(other.error),
        }
    }
}

/// A token that went through the layers.
#[derive(Clone, Copy, Debug, Default)]
struct Token {
    position: usize,
    token: usize,
    cost: Cost,
    append_cycles: u64,
}

/// The account.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Of each layer its operators, and behind the layers those of none.
    layers: Vec<[Cost; Kind::ALL.len()]>,
    tokens: Vec<Token>,
    append: Statistics,
    append_bytes: u64,
}

impl Tally {
    /// Of a model of so many layers.
    pub fn new(layers: usize) -> Self {
        let layers = vec![[Cost::default(); Kind::ALL.len()]; layers + 1];
        let (append, append_bytes) = (Statistics::default(), 0);
        Self { layers, tokens: Vec::new(), append, append_bytes }
    }

    /// What follows is for this token.
    pub fn begin_token(&mut self, position: usize, token: usize) {
        self.tokens.push(Token { position, token, ..Default::default() });
    }

    /// An operator has run, for a layer or for none.
    pub fn add(&mut self, kind: Kind, layer: Option<usize>, cost: Cost) {
        let of_none = self.layers.len() - 1;
        let sum = &mut self.layers[layer.unwrap_or(of_none)][kind as usize];
        *sum = sum.and(cost);
        if let Some(token) = self.tokens.last_mut() {
            token.cost = token.cost.and(cost);
        }
    }

    /// K and V of a layer have been written.
    pub fn add_append(&mut self, statistics: Statistics, bytes: u64) {
        self.append = self.append.and(statistics);
        self.append_bytes += bytes;
        if let Some(token) = self.tokens.last_mut() {
            token.append_cycles += statistics.cycles;
        }
    }

    /// What writing K and V cost, and its bytes.
    pub fn append(&self) -> (Statistics, u64) {
        (self.append, self.append_bytes)
    }

    /// Each operator, summed up over layers and tokens.
    pub fn operators(&self, machine: &impl Machine) -> Vec<Operator> {
        let operator = |kind: Kind| {
            let of_kind = self.layers.iter().map(|layer| layer[kind as usize]);
            let Cost { statistics, macs, error } = of_kind.fold(Cost::default(), Cost::and);
            machine.operator(kind, &statistics, macs, error)
        };
        Kind::ALL.map(operator).to_vec()
    }

    /// Each layer, summed up over tokens.
    pub fn layers(&self, config: &Config) -> Vec<LayerReport> {
        let layers = &self.layers[..self.layers.len() - 1];
        let report = |(layer, costs): (usize, &[Cost; Kind::ALL.len()])| {
            let all = costs.iter().copied().fold(Cost::default(), Cost::and);
            let with_cycles = Kind::ALL.into_iter().filter(|&kind| kind != Kind::LmHead);
            LayerReport {
                layer,
                cycles: all.statistics.cycles,
                ns: ns(config, all.statistics.cycles),
                macs: all.macs,
                operator_cycles: with_cycles
                    .map(|kind| (kind.name(), costs[kind as usize].statistics.cycles))
                    .collect(),
                error: all.error,
            }
        };
        layers.iter().enumerate().map(report).collect()
    }

    /// Each token, its text by `text`.
    pub fn tokens(&self, config: &Config, text: impl Fn(usize) -> String) -> Vec<TokenReport> {
        let report = |token: &Token| TokenReport {
            position: token.position,
            token: token.token,
            text: text(token.token),
            cycles: token.cost.statistics.cycles,
            ns: ns(config, token.cost.statistics.cycles),
            macs: token.cost.macs,
            append_cycles: token.append_cycles,
        };
        self.tokens.iter().map(report).collect()
    }
}
