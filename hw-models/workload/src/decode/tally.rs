// SPDX-License-Identifier: MIT
//! What decoding cost: by operator, by layer, by token.

use crate::machine::{Kind, Machine, Ran};
use crate::report::decode::{LayerReport, TokenReport};
use crate::report::{APPEND, Load, OperatorReport, Verdict, Written, ns};
use pimlico_device::{Config, Organisation};

/// What an operator cost, and how far it was from float64 of what it was given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// On the device.
    pub ran: Ran,
    /// Multiply-accumulates that it asks for, without padding.
    pub macs: u64,
    /// Its results.
    pub judged: Verdict,
}

impl Cost {
    /// Of two operators, one after the other.
    pub fn and(self, other: Self) -> Self {
        Self {
            ran: self.ran.and(other.ran),
            macs: self.macs + other.macs,
            judged: self.judged.and(other.judged),
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
    /// The place of the token that goes through layers now.
    current: usize,
    append: Written,
    /// Of each layer tCK of adding K and V.
    append_cycles: Vec<u64>,
}

impl Tally {
    /// Of a model of so many layers.
    pub fn new(layers: usize) -> Self {
        let layers = vec![[Cost::default(); Kind::ALL.len()]; layers + 1];
        let append_cycles = vec![0; layers.len() - 1];
        Self { layers, tokens: Vec::new(), current: 0, append: Written::default(), append_cycles }
    }

    /// What follows is for this token.
    pub fn begin_token(&mut self, position: usize, token: usize) {
        self.current = self.tokens.len();
        self.tokens.push(Token { position, token, ..Default::default() });
    }

    /// What follows is for the token at this position, which was begun.
    pub fn at(&mut self, position: usize) {
        let place = self.tokens.iter().rposition(|token| token.position == position);
        self.current = place.expect("a token that was begun");
    }

    /// tCK of a layer so far, or of what is of none.
    pub fn cycles(&self, layer: Option<usize>) -> u64 {
        let of_none = self.layers.len() - 1;
        let costs = &self.layers[layer.unwrap_or(of_none)];
        let append = layer.map_or(0, |layer| self.append_cycles[layer]);
        append + costs.iter().map(|cost| cost.ran.cycles()).sum::<u64>()
    }

    /// An operator has run, for a layer or for none.
    pub fn add(&mut self, kind: Kind, layer: Option<usize>, cost: Cost) {
        let of_none = self.layers.len() - 1;
        let sum = &mut self.layers[layer.unwrap_or(of_none)][kind as usize];
        *sum = sum.and(cost);
        if let Some(token) = self.tokens.get_mut(self.current) {
            token.cost = token.cost.and(cost);
        }
    }

    /// K and V of a layer have been written.
    pub fn add_append(&mut self, layer: usize, written: Written) {
        self.append = self.append.and(written);
        self.append_cycles[layer] += written.cost.cycles;
        if let Some(token) = self.tokens.get_mut(self.current) {
            token.append_cycles += written.cost.cycles;
        }
    }

    /// What writing K and V cost.
    pub fn append(&self, machine: &dyn Machine) -> Load {
        machine.load_report(&self.append)
    }

    /// Columns of banks that this wrote.
    pub fn append_columns(&self, config: &Config) -> u64 {
        let Organisation { chips, column_bytes, .. } = config.organisation;
        self.append.bytes / (chips * column_bytes) as u64
    }

    /// Each operator, summed up over layers and tokens, in the order in which they run.
    pub fn operators(&self, machine: &dyn Machine) -> Vec<OperatorReport> {
        let operator = |kind: Kind| {
            let of_kind = self.layers.iter().map(|layer| layer[kind as usize]);
            let Cost { ran, macs, judged } = of_kind.fold(Cost::default(), Cost::and);
            machine.operator(kind, &ran, macs, judged)
        };
        let mut operators = Kind::ALL.map(operator).to_vec();
        operators.insert(1, machine.append_operator(&self.append));
        operators
    }

    /// Each layer, summed up over tokens.
    pub fn layers(&self, config: &Config) -> Vec<LayerReport> {
        let layers = &self.layers[..self.layers.len() - 1];
        let report = |(layer, costs): (usize, &[Cost; Kind::ALL.len()])| {
            let all = costs.iter().copied().fold(Cost::default(), Cost::and);
            let with_cycles = Kind::ALL.into_iter().filter(|&kind| kind != Kind::LmHead);
            let append = self.append_cycles[layer];
            let cycles = all.ran.cycles() + append;
            LayerReport {
                layer,
                cycles,
                ns: ns(config, cycles),
                macs: all.macs,
                operator_cycles: with_cycles
                    .map(|kind| (kind.name(), costs[kind as usize].ran.cycles()))
                    .chain([(APPEND, append)])
                    .collect(),
                error: all.judged.error,
            }
        };
        layers.iter().enumerate().map(report).collect()
    }

    /// Each token, its text by `text`.
    pub fn tokens(&self, config: &Config, text: impl Fn(usize) -> String) -> Vec<TokenReport> {
        let report = |token: &Token| {
            let cycles = token.cost.ran.cycles() + token.append_cycles;
            TokenReport {
                position: token.position,
                token: token.token,
                text: text(token.token),
                cycles,
                ns: ns(config, cycles),
                macs: token.cost.macs,
                append_cycles: token.append_cycles,
            }
        };
        self.tokens.iter().map(report).collect()
    }
}
