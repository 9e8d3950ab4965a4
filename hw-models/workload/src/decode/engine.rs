// SPDX-License-Identifier: MIT
//! One token through all layers: matrices and attention on the device, the rest on the host.
//!
//! ```text
//! host    embedding, norm      bias, norms, RoPE      add, norm           gate           add ... norm
//! device                  qkv             K, V, attention, projection ffn1      ffn2               lm_head
//! ```
//!
//! What goes to the device is rounded to its elements once, binary16 but on LPDDR5X-PIM; what comes from it is in these too.
//! There attention is the host's as well.

use super::tally::{Cost, Tally};
use crate::error::WorkloadError;
use crate::judge::heads::{self, HeadJudgement};
use crate::judge::host_attention;
use crate::machine::{AttentionBy, Kind, Machine, Weights};
use crate::parallel;
use crate::results::Attention;
use pimlico_model::Vectors;
use pimlico_model::between;
use pimlico_model::checkpoint::{Arithmetic, Checkpoint, CheckpointShape};
use pimlico_model::data::Head;

/// Elements of K and V that make threads worth their start.
const FOR_THREADS: usize = 1 << 18;

/// A model that runs on a device.
pub struct Engine<'a> {
    model: &'a Checkpoint,
    weights: &'a Weights,
    /// K and V so far, as they are in the banks: of each layer and K and V head.
    past: Vec<Vec<Head>>,
    tally: Tally,
    /// Threads that judge what the device computes.
    threads: usize,
}

impl<'a> Engine<'a> {
    /// Of a model, with its matrices as the banks have them.
    pub fn new((model, weights): (&'a Checkpoint, &'a Weights), threads: usize) -> Self {
        let CheckpointShape { layers, kv_heads, .. } = model.shape;
        let none = Head { k: Vectors::default(), v: Vectors::default(), queries: Vec::new() };
        let past = vec![vec![none; kv_heads]; layers];
        Self { model, weights, past, tally: Tally::new(layers), threads }
    }

    /// What it has cost so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The same, for the report.
    pub fn finish(self) -> Tally {
        self.tally
    }

    /// Takes a token at the position behind the last through a device that has all weights. Returns the logits of the
    /// next one, if they are wanted.
    ///
    /// # Panics
    ///
    /// If there is no such token, or no room for its K and V.
    pub fn token(
        &mut self,
        machine: &mut dyn Machine,
        (token, position): (usize, usize),
        wants_logits: bool,
    ) -> Result<Option<Vec<f32>>, WorkloadError> {
        let mut x = self.begin(token, position);
        for number in 0..self.model.shape.layers {
            self.layer(machine, number, position, &mut x)?;
        }
        wants_logits.then(|| self.logits(machine, &x)).transpose()
    }

    /// Adds K and V of a prompt's tokens that the host has taken through all layers: of each layer, token by token.
    ///
    /// # Panics
    ///
    /// If there is no room for them.
    pub fn prefilled(
        &mut self,
        machine: &mut dyn Machine,
        prompt: &[usize],
        caches: &[(Vec<f32>, Vec<f32>)],
    ) -> Result<(), WorkloadError> {
        let width = self.model.shape.kv_width();
        for (position, token) in prompt.iter().enumerate() {
            self.tally.begin_token(position, *token);
            for (number, (keys, values)) in caches.iter().enumerate() {
                let [k, v] = [keys, values].map(|of| &of[position * width..][..width]);
                self.append(machine, number, (k, v))?;
            }
        }
        Ok(())
    }

    /// Begins a token: its vector.
    pub fn begin(&mut self, token: usize, position: usize) -> Vec<f32> {
        self.tally.begin_token(position, token);
        let dim = self.model.shape.dim;
        self.model.embedding[token * dim..][..dim].to_vec()
    }

    /// The logits of the token behind one that went through all layers.
    pub fn logits(
        &mut self,
        machine: &mut dyn Machine,
        x: &[f32],
    ) -> Result<Vec<f32>, WorkloadError> {
        let h = between::normed(x, &self.model.norm, self.model.arithmetic.epsilon);
        self.product(machine, Kind::LmHead, None, &h)
    }

    /// Takes a token through a layer that is in the banks, behind the tokens before it.
    pub fn layer(
        &mut self,
        machine: &mut dyn Machine,
        number: usize,
        position: usize,
        x: &mut [f32],
    ) -> Result<(), WorkloadError> {
        self.tally.at(position);
        let Arithmetic { epsilon, gate, .. } = self.model.arithmetic;
        let shape = self.model.shape;
        let (weights, here) = (&self.model.layers[number], Some(number));

        let h = between::normed(x, &weights.attention_norm, epsilon);
        let mut vectors = self.product(machine, Kind::Qkv, here, &h)?;
        between::add(&mut vectors, &weights.bias);
        let (q_and_k, v) = vectors.split_at_mut(shape.q_width() + shape.kv_width());
        let (q, k) = q_and_k.split_at_mut(shape.q_width());
        for (heads, weight) in [(q, &weights.q_norm), (k, &weights.k_norm)] {
            between::norm_heads(heads, weight, epsilon);
        }
        for head in q_and_k.chunks_mut(shape.head_dim) {
            between::turn(head, position, &self.model.arithmetic);
        }
        let (q, k) = q_and_k.split_at(shape.q_width());
        let context = self.attention(machine, number, (q, k, v))?;
        between::add(x, &self.product(machine, Kind::Projection, here, &context)?);

        let h = between::normed(x, &weights.ffn_norm, epsilon);
        let both = self.product(machine, Kind::Ffn1, here, &h)?;
        let (of_gate, up) = both.split_at(shape.hidden);
        let gated = between::gated(of_gate, up, gate);
        between::add(x, &self.product(machine, Kind::Ffn2, here, &gated)?);
        Ok(())
    }

    /// A matrix of a layer, or of none, times a vector on the device.
    fn product(
        &mut self,
        machine: &mut dyn Machine,
        kind: Kind,
        layer: Option<usize>,
        input: &[f32],
    ) -> Result<Vec<f32>, WorkloadError> {
        let matrix = self.weights.matrix(kind, layer);
        let vector = machine.elements().bits(input);
        let (outputs, ran) = machine.product(kind, layer, &vector)?;
        let judged = machine.judge(matrix, &vector, &outputs, self.threads);
        let macs = (matrix.rows.len() * matrix.columns) as u64;
        self.tally.add(kind, layer, Cost { ran, macs, judged });
        Ok(machine.elements().numbers(&outputs))
    }

    /// Adds K and V of a token to those of a layer.
    fn append(
        &mut self,
        machine: &mut dyn Machine,
        number: usize,
        (k, v): (&[f32], &[f32]),
    ) -> Result<(), WorkloadError> {
        let head_dim = self.model.shape.head_dim;
        let elements = machine.elements();
        let heads = &mut self.past[number];
        let vectors = k.chunks(head_dim).zip(v.chunks(head_dim));
        for (head, (k, v)) in heads.iter_mut().zip(vectors) {
            head.k.push(&elements.bits(k));
            head.v.push(&elements.bits(v));
        }
        self.tally.add_append(number, machine.append(number, heads)?);
        Ok(())
    }

    /// Attention of all heads of a layer, to whose caches K and V are added first.
    fn attention(
        &mut self,
        machine: &mut dyn Machine,
        number: usize,
        (q, k, v): (&[f32], &[f32], &[f32]),
    ) -> Result<Vec<f32>, WorkloadError> {
        let head_dim = self.model.shape.head_dim;
        let group = self.model.shape.group();
        let elements = machine.elements();
        for (head, queries) in self.past[number].iter_mut().zip(q.chunks(group * head_dim)) {
            head.queries = queries.chunks(head_dim).map(|query| elements.bits(query)).collect();
        }
        self.append(machine, number, (k, v))?;

        let heads = &self.past[number];
        let (results, ran) = machine.attention(number, heads)?;
        let mut judged = HeadJudgement::default();
        let mut context = Vec::with_capacity(q.len());
        let pairs: Vec<_> = heads.iter().zip(&results).collect();
        let numbers =
            2 * group * head_dim * pairs.iter().map(|(head, _)| head.k.len()).sum::<usize>();
        let threads = if numbers < FOR_THREADS { 1 } else { self.threads };
        let by = machine.attention_by();
        let of_head = |(head, result): &(&Head, &Attention)| match by {
            AttentionBy::Device => heads::judge(head, result),
            AttentionBy::Host(elements) => host_attention::judge(elements, head, result),
        };
        for of_head in parallel::each(&pairs, threads, of_head) {
            judged = judged.and(of_head);
        }
        for result in &results {
            context.extend(result.context.iter().flatten().map(|bits| elements.widen(*bits)));
        }
        let tokens: usize = heads.iter().map(|head| head.k.len()).sum();
        let macs = (2 * group * tokens * head_dim) as u64;
        let judged = judged.whole();
        self.tally.add(Kind::Attention, Some(number), Cost { ran, macs, judged });
        Ok(context)
    }
}
