// SPDX-License-Identifier: MIT
//! A model on a module of AiM channels: matrices one after the other, layer after layer, and K and V of each layer's
//! heads behind its matrices. Head `h` is in group `h mod G` of the channels' `G`, with those of the other groups beside
//! it.

use super::{Kind, Machine, Matrix, Ran, Resident, Weights};
use crate::aim::attention::{Piped, SideBySide, append_operator, check_room, run_sets, summed};
use crate::aim::{Groups, idle_note};
use crate::error::WorkloadError;
use crate::error::{DecodeError, Room};
use crate::in_banks::{BankMatrix, Banked, Lines};
use crate::judge::pins::PinLog;
use crate::judge::{Findings, ProductOrder, product};
use crate::placement::NoRows;
use crate::report::link::Crossing;
use crate::report::{Load, OperatorReport, Verdict, Written};
use crate::results::Attention;
use pimlico_device::Config;
use pimlico_device::aim::{AimHead, AimLayout, RowWrites, Word, word_of};
use pimlico_device::mapping::Place;
use pimlico_host::swizzle::{ChannelPlace, PimLayout, ReadOrder};
use pimlico_model::data::Head;
use std::cell::Cell;
use std::sync::Arc;

/// More rows than any model takes.
const ENDLESS_ROWS: usize = 1 << 40;

/// A model on a module.
pub struct OnModule<'a> {
    module: Groups<'a>,
    pins: &'a PinLog,
    weights: &'a Weights,
    layers: Vec<ResidentLayer>,
    /// Of a layer.
    kv_heads: usize,
    lm_head: AimLayout,
    /// What the head pipeline came to so far, if there is one.
    piped: Option<Piped>,
}

/// What runs next finds the rows free.
impl Drop for OnModule<'_> {
    fn drop(&mut self) {
        let of_layer = |layer: &ResidentLayer| {
            let caches = layer.caches.iter().flat_map(AimHead::matrices);
            layer.matrices.into_iter().chain(caches).collect::<Vec<_>>()
        };
        let layers = self.layers.iter().flat_map(of_layer);
        self.module.release(&layers.chain([self.lm_head]).collect::<Vec<_>>());
    }
}

/// Where a layer lies.
struct ResidentLayer {
    matrices: [AimLayout; Kind::OF_A_LAYER.len()],
    /// For each set of K and V heads side by side, the virtual rows for as many tokens as there may be. It has rows of the
    /// banks for those that there are.
    caches: Vec<AimHead>,
}

impl<'a> OnModule<'a> {
    /// Lays out a model on a module that has just been reset.
    pub fn new(
        module: Groups<'a>,
        pins: &'a PinLog,
        resident: Resident<'a>,
    ) -> Result<Self, WorkloadError> {
        let Resident { weights, shape, tokens, .. } = resident;
        // All is laid out before it is held against what there is, so that a refusal can name the sum.
        let config = &endless(module.config());
        let mut row = 0;
        let mut layers = Vec::with_capacity(weights.layers().len());
        for [qkv, projection, ffn1, ffn2] in weights.layers() {
            let matrices = [
                place(config, &module, &mut row, qkv)?,
                place(config, &module, &mut row, projection)?,
                place(config, &module, &mut row, ffn1)?,
                place(config, &module, &mut row, ffn2)?,
            ];
            let mut caches = Vec::with_capacity(shape.kv_heads);
            for _ in 0..shape.kv_heads.div_ceil(module.count()) {
                let cache = module
                    .head_on(config, shape.head_dim, tokens, row)
                    .map_err(|error| DecodeError::Layout(Room::Module(error)))?;
                row = cache.v.end_row();
                caches.push(cache);
            }
            check_room(&module, &caches, shape.group())
                .map_err(|error| DecodeError::Layout(Room::Module(error)))?;
            layers.push(ResidentLayer { matrices, caches });
        }
        let lm_head = place(config, &module, &mut row, weights.lm_head())?;
        // Rows are given out as contexts grow. With all tokens they are these, for which a run has to have room before it
        // starts.
        NoRows::check(module.config(), weights.layers().len(), row as u64)?;
        let piped = module.options().head_pipeline.then(Piped::default);
        Ok(Self { module, pins, weights, layers, kv_heads: shape.kv_heads, lm_head, piped })
    }

    /// Where the matrix of an operator lies.
    fn layout(&self, kind: Kind, layer: Option<usize>) -> AimLayout {
        match layer {
            Some(layer) => self.layers[layer].matrices[kind.place()],
            None => self.lm_head,
        }
    }

    /// Writes columns, of each group its own, or, to keep step with the others, what counts for no bytes.
    fn write<'b, W: Iterator<Item = (bool, RowWrites<'b>)>>(
        &mut self,
        writes: impl Fn(usize) -> W,
    ) -> Result<Written, WorkloadError> {
        self.module.begin();
        let words = Cell::new(0);
        let count = |(own, writes): &(bool, RowWrites<'_>)| {
            words.set(words.get() + if *own { writes.words() } else { 0 });
        };
        self.module.write(|group| writes(group).inspect(count).map(|(_, write)| write))?;
        Ok(Written::new(self.module.end(), (words.get() * size_of::<Word>()) as u64))
    }
}

/// A channel like another, with rows for all that is laid out.
fn endless(channel: &Config) -> Config {
    let mut config = channel.clone();
    config.organisation.rows = ENDLESS_ROWS;
    config
}

/// Lays out a matrix from `row` on, which is then the row behind it.
fn place(
    config: &Config,
    module: &Groups<'_>,
    row: &mut usize,
    matrix: &Matrix,
) -> Result<AimLayout, DecodeError> {
    let Matrix { name, rows, columns } = matrix;
    let layout = module
        .matrix_on(config, rows.len(), *columns, *row)
        .map_err(|error| DecodeError::Matrix { name: name.clone(), error: Room::Module(error) })?;
    *row = layout.end_row();
    Ok(layout)
}

impl Machine for OnModule<'_> {
    fn judge(&self, matrix: &Matrix, vector: &[u16], outputs: &[u16], threads: usize) -> Verdict {
        let order = ProductOrder::on_module(&self.module.module_options(), matrix.rows.len());
        product(order, &matrix.rows, vector, outputs, threads)
    }

    /// What the channels hold is looked up: there is no path for it but that of results, and so no time.
    fn fetch(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        rows: &[usize],
    ) -> Result<(Vec<BankMatrix<'static>>, Option<Written>), WorkloadError> {
        let layout = self.layout(kind, layer);
        let all = self.weights.matrix(kind, layer).rows.len();
        let dealt = self.module.rows();
        let of_group = |group| {
            let mut memory = vec![0; layout.bytes() as usize];
            layout.visit(0..layout.lines(), ReadOrder::RowBuffer, &mut |burst| {
                let ChannelPlace { channel, place: Place { bank, row, column } } = burst.at;
                let word = self.module.stored(group, (channel, bank), (row, column));
                let to = memory[burst.offset as usize..].chunks_exact_mut(2);
                to.zip(word).for_each(|(to, element)| to.copy_from_slice(&element.to_le_bytes()));
            });
            Banked::new(layout, memory)
        };
        let groups: Vec<_> = (0..self.module.count()).map(of_group).collect();
        let lines = (0..all).step_by(layout.pus()).map(|row| {
            let (group, first) = dealt.place(row);
            let lines = first..first + layout.pus().min(all - row);
            Lines { of: Arc::clone(&groups[group]), lines }
        });
        Ok((BankMatrix::cut(lines, rows), None))
    }

    fn load(&mut self) -> Result<Written, WorkloadError> {
        let of_layers = self.layers.iter().flat_map(|layer| layer.matrices);
        let layouts: Vec<AimLayout> = of_layers.chain([self.lm_head]).collect();
        let weights = self.weights;
        let matrices = weights.layers().iter().flatten().chain([weights.lm_head()]);
        let mut all = Written::default();
        self.module.hold(&layouts)?;
        for (layout, matrix) in layouts.into_iter().zip(matrices) {
            let (layout, rows) = (&layout, self.module.rows());
            let word = |row: usize, word| {
                matrix.rows.get(row).map_or(Word::default(), |row| word_of(row, word))
            };
            all = all.and(self.write(|group| {
                let writes = (0..layout.groups()).flat_map(move |number| {
                    let first = rows.first(group, number);
                    layout.word_writes(number, move |row, number| word(first + row, number))
                });
                writes.map(|write| (true, write))
            })?);
        }
        Ok(all)
    }

    fn product(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Ran), WorkloadError> {
        let layout = self.layout(kind, layer);
        let rows = self.weights.matrix(kind, layer).rows.len();
        let (outputs, together) = self.module.product(&layout, rows, vector)?;
        let link = Crossing::elements(vector.len(), outputs.len());
        Ok((outputs, Ran { link, ..together.into() }))
    }

    fn append(&mut self, layer: usize, heads: &[Head]) -> Result<Written, WorkloadError> {
        let parts = self.layers[layer].caches.iter().zip(heads.chunks(self.module.count()));
        let parts: Vec<(AimHead, &[Head])> =
            parts.map(|(cache, heads)| (cache.part(heads[0].k.len()), heads)).collect();
        let matrices: Vec<_> = parts.iter().flat_map(|(cache, _)| cache.matrices()).collect();
        self.module.hold(&matrices)?;
        self.write(|group| {
            parts.iter().flat_map(move |(AimHead { k, v }, heads)| {
                let head = heads.get(group).unwrap_or(&heads[0]);
                let last = head.k.len() - 1;
                let of_k = k.row_writes(last, |token, element| head.k[token][element]);
                let of_v = v.column_writes(last, |element, token| head.v[token][element]);
                of_k.chain(of_v).map(move |write| (group < heads.len(), write))
            })
        })
    }

    fn attention(
        &mut self,
        layer: usize,
        heads: &[Head],
    ) -> Result<(Vec<Attention>, Ran), WorkloadError> {
        let caches = self.layers[layer].caches.iter().zip(heads.chunks(self.module.count()));
        let sets: Vec<_> = caches.map(|(cache, of)| (cache.part(of[0].k.len()), of)).collect();
        let (of_sets, piped) = run_sets(&mut self.module, &sets)?;
        self.piped = self.piped.map(|all| all.and(piped.unwrap_or_default()));
        let mut results = Vec::with_capacity(heads.len());
        let mut cost = Ran::default();
        for ((layout, heads), of_set) in sets.into_iter().zip(of_sets) {
            let queries = of_set.len();
            let mut of_heads = vec![Attention::default(); heads.len()];
            for SideBySide { results, costs } in of_set {
                cost = costs.into_iter().fold(cost, |all, step| all.and(step.into()));
                for (head, result) in of_heads.iter_mut().zip(results) {
                    for step in [&result.score, &result.softmax, &result.context] {
                        head.statistics = head.statistics.and(step.statistics);
                    }
                    let elements = layout.head_dim();
                    cost.link = cost.link.and(Crossing::elements(elements, elements));
                    head.summed.push(summed(&self.module.options(), &layout, queries));
                    head.scores.push(result.score.values);
                    head.weights.push(result.softmax.values);
                    head.context.push(result.context.values);
                }
            }
            results.extend(of_heads);
        }
        Ok((results, cost))
    }

    fn append_operator(&self, written: &Written) -> OperatorReport {
        append_operator(&self.module, written)
    }

    fn operator(&self, kind: Kind, ran: &Ran, macs: u64, judged: Verdict) -> OperatorReport {
        let together = ran.together.unwrap_or_default();
        let operator = self.module.operator(kind.name(), &together, macs, judged);
        operator.on_link(self.module.config(), ran.link)
    }

    fn load_report(&self, written: &Written) -> Load {
        Load::new(self.module.config(), &written.cost, written.bytes)
    }

    fn findings(&self) -> Findings {
        self.pins.findings(self.module.tck())
    }

    fn notes(&self) -> Vec<String> {
        let of_layer = self.layers.first().map_or(0, |layer| layer.caches.len());
        let places = of_layer * self.module.count();
        let idle = idle_note(places - self.kv_heads, places, "K and V heads of a layer");
        idle.into_iter().chain(self.piped.map(Piped::note)).collect()
    }
}
