// SPDX-License-Identifier: MIT
//! A model on LPDDR5X-PIM, shared out as PIM-SHERPA does (section 2.2): the PIM blocks multiply the matrices, the host computes attention
//! from K and V in its plain memory, in float32.
//!
//! ```text
//! row 0 ->   Q K V O gate up down of layer 0, of layer 1, ...   head   |  K and V of layer 0, of layer 1, ...   | reserved rows
//!            as PIM blocks want them, one matrix behind the other      |  in the order of addresses
//! ```
//!
//! Every product is held to what was asked for: as many MACs, and no others, have to arrive at the blocks.

use super::host_caches::{HostCaches, Loaded};
use super::{AttentionBy, ElementFormat, Kind, Machine, Matrix, Ran, Resident, Weights};
use crate::error::{DecodeError, WorkloadError};
use crate::in_banks::{BankMatrix, Banked};
use crate::judge::Findings;
use crate::judge::columns::column_product;
use crate::judge::lp5_pins::Lp5PinLog;
use crate::report::lp5::{Lp5Report, RULES};
use crate::report::{APPEND, Load, OperatorReport, Verdict, Written};
use crate::results::{Attention, scale};
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{AddressMap, BurstPlace, Lp5Device, Request, Vector};
use pimlico_device::mapping::Place;
use pimlico_device::{Device, Statistics};
use pimlico_host::attribute::{Attribute, MemoryPath, NoContiguous};
use pimlico_host::cache::{Cache, CacheShape};
use pimlico_host::lp5::Lp5Matrix;
use pimlico_host::lp5_image::ImagePlan;
use pimlico_host::lp5_path::product_by;
use pimlico_host::swizzle::{ChannelPlace, PimLayout, ReadOrder};
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::data::Head;

/// What every report says of the host's share.
const ON_HOST: &str = "norms, attention, activation and choices are the host's, in float32: of them the stores and loads of \
                       K and V are timed";

/// How the host reaches the device.
#[derive(Clone, Copy, Debug)]
pub struct Lp5Host {
    /// How it reaches weights.
    pub attribute: Attribute,
    /// Whether its cache brings the line behind one that missed.
    pub prefetches: bool,
    /// Bytes of contiguous memory for weights that are not cacheable, if they are limited.
    pub contiguous: Option<u64>,
    /// tCK of a fence beside its wait for data.
    pub fence_tck: u64,
}

/// A model on a device.
pub struct OnLp5<'a> {
    device: &'a mut Lp5Device,
    pins: &'a [Lp5PinLog],
    weights: &'a Weights,
    /// Of each layer its matrices, in the order of a layer's operators.
    layers: Vec<Vec<Lp5Matrix>>,
    lm_head: Vec<Lp5Matrix>,
    shape: CheckpointShape,
    caches: HostCaches,
    attribute: Attribute,
    path: MemoryPath,
}

impl<'a> OnLp5<'a> {
    /// Lays out a model on a device that has just been reset.
    pub fn new(
        device: &'a mut Lp5Device,
        pins: &'a [Lp5PinLog],
        map: &AddressMap,
        host: Lp5Host,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        let mut plan = ImagePlan::new(map.clone()).map_err(DecodeError::from)?;
        for layer in weights.layers() {
            for (kind, matrix) in Kind::OF_A_LAYER.into_iter().zip(layer) {
                place(&mut plan, matrix, &kind.rows(shape))?;
            }
        }
        place(&mut plan, weights.lm_head(), &Kind::LmHead.rows(shape))?;
        NoContiguous::check("weights", plan.bytes(), host.contiguous)?;
        let caches = HostCaches::new(map, plan.rows(), shape, tokens)?;
        let matrices = plan.matrices().iter();
        let mut matrices =
            matrices.map(|(_, layout)| Lp5Matrix::new(layout.clone(), host.fence_tck));
        let of_layer: usize = Kind::OF_A_LAYER.map(|kind| kind.rows(shape).len()).iter().sum();
        let layers = weights.layers().iter();
        let layers = layers.map(|_| matrices.by_ref().take(of_layer).collect()).collect();
        let lm_head = matrices.collect();
        let cache = Cache::new(CacheShape { prefetches: host.prefetches, ..Default::default() });
        let (attribute, bytes) = (host.attribute, plan.bytes());
        let path = MemoryPath::new(0..bytes, attribute, cache);
        Ok(Self { device, pins, weights, layers, lm_head, shape: *shape, caches, attribute, path })
    }

    /// The matrices of an operator, which have the rows of its one matrix in turn.
    fn matrices(&self, kind: Kind, layer: Option<usize>) -> &[Lp5Matrix] {
        let Some(layer) = layer else { return &self.lm_head };
        let before = Kind::OF_A_LAYER.into_iter().take(kind.place());
        let first: usize = before.map(|kind| kind.rows(&self.shape).len()).sum();
        &self.layers[layer][first..first + kind.rows(&self.shape).len()]
    }

    /// Writes the matrices of an operator. Returns their bytes, without padding.
    fn write(&mut self, kind: Kind, layer: Option<usize>) -> Result<u64, WorkloadError> {
        let (mut rows, mut bytes) = (&self.weights.matrix(kind, layer).rows[..], 0);
        for matrix in self.matrices(kind, layer).to_vec() {
            let (count, columns) = matrix.layout().shape();
            let (of_matrix, behind) = rows.split_at(count as usize);
            matrix.load(self.device, burst(of_matrix))?;
            (rows, bytes) = (behind, bytes + 2 * count * columns);
        }
        Ok(bytes)
    }

    /// A product, and whether what arrived at the blocks was what it asked for.
    fn multiply(
        &mut self,
        matrix: &Lp5Matrix,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), WorkloadError> {
        self.device.begin();
        let outputs = match self.attribute {
            Attribute::NonCacheable => matrix.multiply(self.device, vector)?,
            Attribute::Cacheable => {
                let requests = product_by(matrix, vector, &mut self.path);
                let of_channel = |channel: usize| requests[channel].iter().copied();
                matrix.multiply_by(self.device, of_channel)?
            }
        };
        let channels = 0..self.device.channels();
        let counts: Vec<_> = channels.map(|channel| self.device.counts(channel)).collect();
        if let Some((channel, what, found, asked)) = Lp5Report::unlike(matrix.asked(), &counts) {
            let (rows, columns) = matrix.layout().shape();
            return Err(WorkloadError::Check(format!(
                "{} weights, matrix of {rows} x {columns}: {what} {channel} are {found}, expected {asked}",
                self.attribute.name()
            )));
        }
        Ok((outputs, self.device.end()))
    }

    /// Plain loads and stores of each channel.
    fn run(
        &mut self,
        requests: &[Vec<Request>],
        read: impl FnMut(usize, BurstPlace, &Vector),
    ) -> Result<Statistics, WorkloadError> {
        self.device.begin();
        self.device.run(|channel| requests[channel].iter().copied(), read)?;
        Ok(self.device.end())
    }

    fn report(
        &self,
        name: &'static str,
        statistics: &Statistics,
        macs: u64,
        judged: Verdict,
    ) -> OperatorReport {
        let (config, channels) = (self.device.config(), self.device.channels());
        OperatorReport::new(name, config, channels, statistics, macs, judged)
    }

    fn elements_of(&self) -> ElementFormat {
        ElementFormat(self.device.options().formats.elements)
    }
}

/// Puts the matrices of an operator behind the others.
fn place(plan: &mut ImagePlan, matrix: &Matrix, rows: &[usize]) -> Result<(), DecodeError> {
    for rows in rows {
        plan.push(&matrix.name, (*rows as u64, matrix.columns as u64))?;
    }
    Ok(())
}

/// 16 rows of a column of a matrix, from a row on; rows beyond the last are zero.
fn burst(rows: &[Vec<u16>]) -> impl Fn(u64, u64) -> Vector + Copy + '_ {
    move |first, column| {
        let mut vector = [0; LANES];
        for (bits, row) in vector.iter_mut().zip(&rows[first as usize..]) {
            *bits = row[column as usize];
        }
        vector
    }
}

impl Machine for OnLp5<'_> {
    fn elements(&self) -> ElementFormat {
        self.elements_of()
    }

    fn judge(&self, matrix: &Matrix, vector: &[u16], outputs: &[u16], threads: usize) -> Verdict {
        let formats = self.device.options().formats;
        column_product(formats, &matrix.rows.concat(), vector, outputs, threads)
    }

    fn attention_by(&self) -> AttentionBy {
        AttentionBy::Host(self.device.options().formats.elements)
    }

    fn load(&mut self) -> Result<Written, WorkloadError> {
        self.device.begin();
        let mut bytes = 0;
        for layer in 0..self.layers.len() {
            for kind in Kind::OF_A_LAYER {
                bytes += self.write(kind, Some(layer))?;
            }
        }
        bytes += self.write(Kind::LmHead, None)?;
        Ok(Written::new(self.device.end(), bytes))
    }

    fn fetch(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        _: &[usize],
    ) -> Result<(Vec<BankMatrix<'static>>, Option<Written>), WorkloadError> {
        let (mut matrices, mut all) = (Vec::new(), Written::default());
        for matrix in self.matrices(kind, layer).to_vec() {
            let layout = matrix.layout();
            let mut requests = vec![Vec::new(); self.device.channels()];
            layout.visit(0..layout.lines(), ReadOrder::RowBuffer, &mut |burst| {
                let ChannelPlace { channel, place: Place { bank, row, column } } = burst.at;
                let place = BurstPlace { bank: bank as u8, row: row as u32, column: column as u8 };
                requests[channel].push(Request::Read(place));
            });
            let mut memory = vec![0; layout.bytes() as usize];
            let mut bytes = 0;
            let cost = self.run(&requests, |channel, BurstPlace { bank, row, column }, data| {
                let place = Place { bank: bank.into(), row: row as usize, column: column.into() };
                let at = layout.offset(ChannelPlace { channel, place }) as usize;
                for (to, element) in memory[at..].chunks_exact_mut(2).zip(data) {
                    to.copy_from_slice(&element.to_le_bytes());
                }
                bytes += layout.burst_bytes();
            })?;
            all = all.and(Written::new(cost, bytes));
            matrices.push(BankMatrix::whole(Banked::new(layout.clone(), memory)));
        }
        Ok((matrices, Some(all)))
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Ran), WorkloadError> {
        let (mut outputs, mut cost) = (Vec::new(), Statistics::default());
        for matrix in self.matrices(kind, layer).to_vec() {
            let (of_matrix, more) = self.multiply(&matrix, vector)?;
            outputs.extend(of_matrix);
            cost = cost.and(more);
        }
        Ok((outputs, cost.into()))
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<Written, WorkloadError> {
        let (stores, bytes) = self.caches.stores(layer, heads);
        Ok(Written::new(self.run(&stores, |_, _, _| {})?, bytes))
    }

    fn attention(
        &mut self,
        layer: usize,
        heads: &[Head],
    ) -> Result<(Vec<Attention>, Ran), WorkloadError> {
        let tokens = heads[0].k.len();
        let requests = self.caches.loads(layer, tokens);
        let mut loaded = self.caches.empty(tokens);
        self.device.begin();
        let Self { device, caches, .. } = self;
        device.run(
            |channel| requests[channel].iter().copied(),
            |channel, place, data| caches.take(&mut loaded, layer, (channel, place), data),
        )?;
        let cost = self.device.end();
        let elements = self.elements_of();
        let of_head = |(number, head): (usize, &Head)| {
            let context = |query: &Vec<u16>| attend(elements, (number, query), &loaded, tokens);
            Attention {
                context: head.queries.iter().map(context).collect(),
                ..Attention::default()
            }
        };
        Ok((heads.iter().enumerate().map(of_head).collect(), cost.into()))
    }

    fn append_operator(&self, written: &Written) -> OperatorReport {
        self.report(APPEND, &written.cost, 0, Verdict::default())
    }

    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, judged: Verdict) -> OperatorReport {
        // None of attention's are the blocks'.
        let macs = if kind == Kind::Attention { 0 } else { macs };
        self.report(kind.name(), &ran.statistics, macs, judged)
    }

    fn load_report(&self, written: &Written) -> Load {
        Load::new(self.device.config(), &written.cost, written.bytes)
    }

    fn findings(&self) -> Findings {
        Lp5PinLog::findings(self.pins, self.device.tck())
    }

    fn notes(&self) -> Vec<String> {
        [ON_HOST, RULES].map(str::to_owned).to_vec()
    }
}

/// Attention of a query over the tokens that were loaded, by its K and V head, in float32; rounded to elements.
fn attend(
    elements: ElementFormat,
    (number, query): (usize, &[u16]),
    loaded: &Loaded,
    tokens: usize,
) -> Vec<u16> {
    let head_dim = query.len();
    let query = elements.numbers(query);
    let factor = scale(head_dim) as f32;
    let score = |token: usize| {
        let [k, _] = loaded.head(token, number, head_dim);
        let products = query.iter().zip(k).map(|(q, k)| q * elements.widen(*k));
        factor * products.sum::<f32>()
    };
    let mut weights: Vec<f32> = (0..tokens).map(score).collect();
    let most = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    weights.iter_mut().for_each(|score| *score = (*score - most).exp());
    let sum: f32 = weights.iter().sum();
    let mut context = vec![0.0f32; head_dim];
    for (token, weight) in weights.into_iter().enumerate() {
        let [_, v] = loaded.head(token, number, head_dim);
        let weight = weight / sum;
        context.iter_mut().zip(v).for_each(|(sum, v)| *sum += weight * elements.widen(*v));
    }
    elements.bits(&context)
}
