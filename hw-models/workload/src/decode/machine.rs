// SPDX-License-Identifier: MIT
//! What a model runs on.

use super::DecodeError;
use super::tally::Kind;
use crate::attention::Attention;
use crate::report::{Error, JobReport, Load, Operator, Report};
use pimlico_device::{Config, Normalise, Statistics};
use pimlico_model::data::Head;

/// A device that has room for a model's matrices, and for K and V of its tokens.
pub trait Machine {
    /// Its DRAM.
    fn config(&self) -> &Config;

    /// Whether it normalises weights or the context.
    fn normalise(&self) -> Normalise;

    /// Writes the matrices into the banks. Returns the cost, and the bytes.
    fn load(&mut self) -> Result<(Statistics, u64), DecodeError>;

    /// Multiplies a matrix of a layer, or of none, with a vector. Returns the products, and the cost.
    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DecodeError>;

    /// Writes K and V of a layer's last token, of each K and V head. Returns the cost, and the bytes.
    ///
    /// # Panics
    ///
    /// If there is no room for another token.
    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<(Statistics, u64), DecodeError>;

    /// Computes the attention of the queries of a layer's K and V head.
    fn attention(
        &mut self,
        layer: usize,
        number: usize,
        head: &Head,
    ) -> Result<Attention, DecodeError>;

    /// What is to know of an operator that ran here.
    fn operator(&self, kind: Kind, statistics: &Statistics, macs: u64, error: Error) -> Operator;

    /// The report of operators that ran here.
    fn report(&self, job: JobReport, seed: u64, load: Load, operators: Vec<Operator>) -> Report;
}
