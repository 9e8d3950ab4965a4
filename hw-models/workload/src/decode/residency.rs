// SPDX-License-Identifier: MIT
//! A text whose layers are streamed into the banks of ranks: Hermes' PIPELOAD with the banks as the memory that is short.
//!
//! ```text
//! loader   read layer k from the file ->  round, lay out  ->  rows of rank k mod R  ->  write through the host's port
//! order    reserve rows of layer k ...................................... ready k ... use k ... destroy k: rows go back
//! rank                                                                              matrices, K, V and attention of k
//! ```
//!
//! **One state machine.** [`Order`](pimlico_stream::order::Order) says which loader may load what, and which layer is
//! used next, as in runs on threads; here it runs on a clock that is computed ([`pimlico_stream::clock`]), whose agents are in this file.
//! A *slot* of the order is a place for a layer in the banks, and what the order counts are rows. That all
//! weights are in the banks before the first token is the residency `whole`.
//!
//! **What is real.** A load reads the layer from the file into the loader's buffer, rounds it to binary16, takes rows from
//! the allocator of the layer's rank, and writes them with the host's memory controller through the buffer chip; a use runs
//! its programs on that rank. The devices do this when the order says so, so a layer that was overwritten, or was not
//! there, would give other logits. The tokens of a prompt are one pass: each goes through a layer before the next layer.
//!
//! **Time.** Writing and computing take the tCK that the cycle models count, reading takes the layer's bytes over a rate of
//! the disk for each loader. A load takes the longer of its reading and its write. A write has the rank and its channel for itself: it waits for the rank's
//! PU, and for another write on the channel. A use waits for a write into its rank. Operands, results, K and V of a layer
//! that computes cross the channel beside a write, which takes as much longer as these are on the pins: an upper bound, as
//! `channel` of the device crate has it for operands. The head is written before the clock starts.
//!
//! **Checkers.** `golden::schedule` judges the events, `golden::bank_rows` the rows: those that the allocators give, and
//! those that were opened at the chips' pins while a layer was written or used.

use super::engine::Engine;
use super::{DecodeJob, DecodePlan, Decoded, Text};
use crate::error::{ResidencyError, WorkloadError};
use crate::judge::residency::{Account, Holder, Row, RowJudge, Watch};
use crate::machine::{ElementFormat, LayerBanks, Resident, of_layer};
use crate::placement::row_bytes;
use crate::report::Written;
use crate::report::decode::{LayerTimes, ResidencyReport};
use crate::system::System;
use crate::task::Progress;
use pimlico_model::checkpoint::places::Part;
use pimlico_stream::agents::Halt;
use pimlico_stream::clock::{self, ClockError, Ended, Timed};
use pimlico_stream::event::{Event, Load, Use};
use pimlico_stream::setup::{Residency, Setup, SetupError, Stay};
use pimlico_stream::slots::{self, Slot};
use pimlico_stream::source::{InSlot, LayerSource, SourceError};
use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

/// How layers are streamed into the banks.
#[derive(Clone, Debug)]
pub struct Streaming {
    /// Where they come from.
    pub source: Arc<LayerSource>,
    /// Which are in the banks, and for how long.
    pub residency: Residency,
    /// Rows, or bytes of them, that K, V, the head and layers may take together; none for no limit.
    pub limit: Option<Limit>,
    /// Bytes per second that each loader reads; none for a disk that takes no time.
    pub disk: Option<f64>,
}

/// A limit of memory in the banks of all ranks together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Rows of all banks of a rank.
    Rows(u64),
    /// Bytes, of which whole rows are used.
    Bytes(u64),
}

/// Decodes a text while its layers are streamed.
pub(super) fn run(
    job: &DecodeJob,
    streaming: &Streaming,
    plan: DecodePlan,
    system: &mut dyn System,
    progress: Progress<'_>,
) -> Result<Decoded, WorkloadError> {
    let DecodePlan { prompt, weights } = plan;
    let all = prompt.len() + job.tokens;
    let io_buffers = system.io_buffers(job.io_buffers);
    let config = system.config().clone();
    let shape = &job.checkpoint.shape;
    let resident = Resident { weights: &weights, shape, tokens: all, io_buffers };
    let mut banks = system.streamed(resident)?;
    let setup = setup(streaming, &*banks, job, row_bytes(&config))?;

    let kept = banks.kept();
    let mut rows = RowJudge::new(kept.len(), setup.limit);
    for (rank, rows_of_rank) in kept.iter().enumerate() {
        rows.given(Holder::Kept, rank, rows_of_rank.clone()).map_err(ResidencyError::Breach)?;
    }
    let load = banks.as_machine().load()?;
    rows.opened(Holder::Kept, banks.take_opened()).map_err(ResidencyError::Breach)?;
    let largest = streaming.source.slot_bytes().into_iter().max().unwrap_or(0);
    let buffers = slots::slots(setup.loaders(), largest);
    let buffers = buffers.map_err(|error| SourceError::Memory(error.to_string()));
    let layers = (0..shape.layers).map(|layer| LayerTimes::new(layer, layer % kept.len()));
    let before = streaming.source.bytes_read();
    let mut agents = Agents {
        streaming,
        setup: &setup,
        buffers: buffers.map_err(ResidencyError::Source)?,
        engine: Engine::new((&job.checkpoint, &weights), job.threads),
        text: Text::new(job, prompt),
        tck_ns: config.tck_ps as f64 / 1000.0,
        head_rank: shape.layers % kept.len(),
        banks: &mut *banks,
        watch: Watch::new(&setup),
        rows,
        written: load,
        vectors: Vec::new(),
        first: 0,
        loading: vec![None; setup.loaders()],
        using: None,
        rank_free_ns: vec![0.0; kept.len()],
        idle_ns: 0.0,
        head_ns: 0.0,
        layers: layers.collect(),
        progress,
    };
    agents.begin(0);
    let outcome = clock::run(&setup, &mut agents).map_err(|error| match error {
        ClockError::Setup(error) => ResidencyError::Setup(error).into(),
        ClockError::Agent(error) => error,
    })?;
    let Agents { engine, text, watch, rows, written, layers, idle_ns, head_ns, .. } = agents;

    let source = &streaming.source;
    source.check_unchanged().map_err(ResidencyError::Source)?;
    let account = watch.finish().map_err(ResidencyError::Breach)?;
    // What was loaded for a pass that never came is left where it is.
    let may_stay = |layer| setup.stay(layer) == Stay::Run || account.in_vain > 0;
    rows.finish(may_stay).map_err(ResidencyError::Breach)?;
    let bytes_read = source.bytes_read() - before;
    let of_loads = (0..outcome.loads).map(|load| source.layer_bytes(setup.load(load).1));
    let expected: u64 = of_loads.sum();
    if bytes_read != expected {
        let loads = outcome.loads;
        let breach = format!("{bytes_read} bytes were read, {expected} are those of {loads} loads");
        return Err(ResidencyError::Breach(breach).into());
    }
    let stall_ns: f64 = layers.iter().map(|layer| layer.stall_ns).sum();
    let Account { in_vain, .. } = account;
    let residency = ResidencyReport {
        residency: setup.residency.name(),
        loaders: setup.loaders(),
        slots: setup.slots(),
        pinned: pinned(setup.residency),
        disk_bytes_per_s: streaming.disk,
        row_bytes: row_bytes(&config),
        limit_rows: setup.limit,
        kept_rows: setup.fixed,
        layer_rows: banks.layer_rows(),
        peak_rows: rows.most(),
        passes: outcome.passes,
        loads: outcome.loads,
        layers_unused: in_vain,
        bytes_read,
        signals: outcome.signals,
        wall_ns: idle_ns,
        stall_ns,
        stall_share: stall_ns / idle_ns.max(1e-9),
        head_ns,
        layers,
    };
    let report = (job, engine.finish(), text, written);
    Ok(Decoded::new(report, (&config, io_buffers), banks.machine(), (Some(residency), None)))
}

/// What the order is told: rows in place of bytes.
fn setup(
    streaming: &Streaming,
    banks: &dyn LayerBanks,
    job: &DecodeJob,
    row_bytes: u64,
) -> Result<Setup, ResidencyError> {
    let limit = streaming.limit.map(|limit| match limit {
        Limit::Rows(rows) => rows,
        Limit::Bytes(bytes) => bytes / row_bytes,
    });
    let mut setup = Setup {
        layers: vec![banks.layer_rows(); job.checkpoint.shape.layers],
        passes: job.tokens,
        fixed: banks.in_use(),
        limit,
        residency: streaming.residency,
    };
    let refused = |error: SetupError| match error {
        SetupError::Limit { limit, fixed, layers, what } => {
            ResidencyError::Rows { limit, kept: fixed, layers, what }
        }
        error => ResidencyError::Setup(error),
    };
    setup.check().map_err(refused)?;
    setup.within_room(false);
    setup.check().map_err(refused)?;
    Ok(setup)
}

fn pinned(residency: Residency) -> usize {
    match residency {
        Residency::Pipeload { pinned, .. } => pinned,
        Residency::Whole | Residency::Pipeline => 0,
    }
}

/// A load under way: when its reading ends, and when its write begins and ends.
#[derive(Clone, Copy, Debug)]
struct Loading {
    load: Load,
    rank: usize,
    read_ns: f64,
    from_ns: f64,
    to_ns: f64,
}

impl Loading {
    fn end_ns(&self) -> f64 {
        self.read_ns.max(self.to_ns)
    }
}

/// A layer that computes: until when, and for how long something of it is on the channel.
#[derive(Clone, Copy, Debug)]
struct Using {
    used: Use,
    rank: usize,
    to_ns: f64,
    channel_ns: f64,
}

/// Loaders, the inference agent and the daemon, with the device.
struct Agents<'a, 'b> {
    streaming: &'a Streaming,
    setup: &'a Setup,
    /// Of each loader the memory that it reads into.
    buffers: Vec<Slot>,
    banks: &'b mut dyn LayerBanks,
    engine: Engine<'a>,
    text: Text<'a>,
    watch: Watch,
    rows: RowJudge,
    /// All that was written into the banks.
    written: Written,
    tck_ns: f64,
    head_rank: usize,
    /// Vectors of the tokens of the pass, and the position of the first.
    vectors: Vec<Vec<f32>>,
    first: usize,
    loading: Vec<Option<Loading>>,
    using: Option<Using>,
    /// When the host, or the rank PU, is done with a rank.
    rank_free_ns: Vec<f64>,
    /// Since when the inference agent has nothing to do.
    idle_ns: f64,
    head_ns: f64,
    layers: Vec<LayerTimes>,
    progress: Progress<'a>,
}

impl Agents<'_, '_> {
    /// Begins a pass with all tokens from a position on.
    fn begin(&mut self, first: usize) {
        let Self { engine, text, .. } = self;
        let tokens = text.tokens[first..].iter().enumerate();
        self.vectors = tokens.map(|(n, token)| engine.begin(*token, first + n)).collect();
        self.first = first;
    }

    /// Reads and rounds a layer, and writes it into the rows that it has been given. Returns tCK of the write.
    fn fill(&mut self, load: Load) -> Result<u64, WorkloadError> {
        let source = &self.streaming.source;
        let buffer = &self.buffers[load.loader];
        let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
        source
            .read_layer(load.layer, &mut buffer, &Halt::default())
            .map_err(ResidencyError::from)?;
        let parts = source.layer(load.layer);
        let matrices =
            of_layer(ElementFormat::BINARY16, load.layer, &source.places().shape, |part| {
                Cow::Owned(numbers(parts, part, &buffer))
            })?;
        let written = self.banks.write_layer(load.layer, &matrices)?;
        self.written = self.written.and(written);
        Ok(written.cost.cycles)
    }

    /// Takes the tokens of the pass through a layer. Returns its tCK.
    fn compute(&mut self, layer: usize) -> Result<u64, WorkloadError> {
        let Self { engine, banks, vectors, first, .. } = self;
        let before = engine.tally().cycles(Some(layer));
        for (n, x) in vectors.iter_mut().enumerate() {
            engine.layer(banks.as_machine(), layer, *first + n, x)?;
        }
        Ok(engine.tally().cycles(Some(layer)) - before)
    }

    /// Computes the logits of the pass's last token. Returns them, and tCK.
    fn logits(&mut self) -> Result<(Vec<f32>, u64), WorkloadError> {
        let Self { engine, banks, vectors, .. } = self;
        let before = engine.tally().cycles(None);
        let last = vectors.last().expect("a token of the pass");
        let logits = engine.logits(banks.as_machine(), last)?;
        Ok((logits, engine.tally().cycles(None) - before))
    }

    /// A layer, or the head, uses the channel of its rank until a moment: writes beside it take longer, and those that wait
    /// for them begin later.
    fn delay_writes(&mut self, rank: usize, (from_ns, to_ns): (f64, f64), channel_ns: f64) {
        let channel = self.banks.channel(rank);
        let mut writes: Vec<_> = self.loading.iter_mut().flatten().collect();
        writes.retain(|write| self.banks.channel(write.rank) == channel && write.to_ns > from_ns);
        writes.sort_by(|a, b| a.from_ns.total_cmp(&b.from_ns));
        let mut late_ns = 0.0;
        for write in writes {
            if write.from_ns > from_ns {
                write.from_ns += late_ns;
            }
            if write.from_ns < to_ns {
                late_ns += channel_ns;
            }
            write.to_ns += late_ns;
            let free_ns = &mut self.rank_free_ns[write.rank];
            *free_ns = free_ns.max(write.to_ns);
        }
    }

    /// When the writes on a channel that were begun are over.
    fn channel_free_ns(&self, channel: usize) -> f64 {
        let writes = self.loading.iter().flatten();
        let here = writes.filter(|write| self.banks.channel(write.rank) == channel);
        here.map(|write| write.to_ns).fold(0.0, f64::max)
    }

    /// The rows that were opened at the pins.
    fn opened(&mut self) -> Vec<Row> {
        self.banks.take_opened()
    }
}

/// The numbers of a tensor in a buffer; none if the layer has no such tensor.
fn numbers(parts: &[InSlot], wanted: Part, buffer: &[u8]) -> Vec<f32> {
    let Some(part) = parts.iter().find(|part| part.part == wanted) else { return Vec::new() };
    let mut numbers = vec![0.0; part.place.numbers()];
    part.place.stored.widen(&buffer[part.at..][..part.place.bytes()], &mut numbers);
    numbers
}

/// What a checker of rows says.
fn sound(found: Result<(), String>) -> Result<(), WorkloadError> {
    found.map_err(|breach| ResidencyError::Breach(breach).into())
}

impl Timed for Agents<'_, '_> {
    type Error = WorkloadError;

    fn load(&mut self, load: Load, now_ns: f64) -> Result<(), WorkloadError> {
        let layer = load.layer;
        let (rank, rows) = self.banks.admit(layer)?;
        sound(self.rows.given(Holder::Layer(layer), rank, rows))?;
        let write_tck = self.fill(load)?;
        let opened = self.opened();
        sound(self.rows.written(Holder::Layer(layer), opened))?;

        let bytes = self.streaming.source.layer_bytes(layer) as f64;
        let disk_ns = self.streaming.disk.map_or(0.0, |rate| bytes / rate * 1e9);
        let channel = self.banks.channel(rank);
        let free_ns = self.rank_free_ns[rank].max(self.channel_free_ns(channel));
        let from_ns = now_ns.max(free_ns);
        let beside = self
            .using
            .filter(|using| self.banks.channel(using.rank) == channel && from_ns < using.to_ns);
        let write_ns =
            write_tck as f64 * self.tck_ns + beside.map_or(0.0, |using| using.channel_ns);
        let to_ns = from_ns + write_ns;
        self.rank_free_ns[rank] = to_ns;
        let read_ns = now_ns + disk_ns;
        self.loading[load.loader] = Some(Loading { load, rank, read_ns, from_ns, to_ns });
        let times = &mut self.layers[layer];
        times.loads += 1;
        times.disk_ns += disk_ns;
        times.write_tck += write_tck;
        Ok(())
    }

    fn layer(&mut self, used: Use, now_ns: f64) -> Result<(), WorkloadError> {
        let layer = used.layer;
        sound(self.rows.used(layer))?;
        let compute_tck = self.compute(layer)?;
        let opened = self.opened();
        sound(self.rows.opened(Holder::Layer(layer), opened))?;

        let rank = self.layers[layer].rank;
        let channel_ns = self.banks.take_channel_tck() as f64 * self.tck_ns;
        let from_ns = now_ns.max(self.rank_free_ns[rank]);
        let to_ns = from_ns + compute_tck as f64 * self.tck_ns;
        self.rank_free_ns[rank] = to_ns;
        self.delay_writes(rank, (from_ns, to_ns), channel_ns);
        self.using = Some(Using { used, rank, to_ns, channel_ns });
        let times = &mut self.layers[layer];
        times.uses += 1;
        times.compute_tck += compute_tck;
        times.stall_ns += from_ns - self.idle_ns;
        self.idle_ns = to_ns;
        Ok(())
    }

    fn next_ns(&mut self) -> Option<f64> {
        let loads = self.loading.iter().flatten().map(Loading::end_ns);
        loads.chain(self.using.map(|using| using.to_ns)).min_by(f64::total_cmp)
    }

    fn advance(&mut self, to_ns: f64) -> Ended {
        let is_over = |loading: &mut Loading| loading.end_ns() <= to_ns;
        let over = self.loading.iter_mut().filter_map(|loading| loading.take_if(is_over));
        let loads: Vec<_> = over.collect();
        for Loading { load, from_ns, to_ns, .. } in &loads {
            self.layers[load.layer].write_ns += to_ns - from_ns;
        }
        let used = self.using.take_if(|using| using.to_ns <= to_ns).map(|using| using.used);
        Ended { loads: loads.into_iter().map(|loading| loading.load).collect(), used }
    }

    fn destroy(&mut self, load: Load) -> Result<(), WorkloadError> {
        self.banks.give_back(load.layer)?;
        sound(self.rows.taken_back(load.layer))
    }

    fn pass(&mut self, _: usize, now_ns: f64) -> Result<Option<f64>, WorkloadError> {
        let (logits, tck) = self.logits()?;
        let opened = self.opened();
        sound(self.rows.opened(Holder::Kept, opened))?;
        let rank = self.head_rank;
        let channel_ns = self.banks.take_channel_tck() as f64 * self.tck_ns;
        let from_ns = now_ns.max(self.rank_free_ns[rank]);
        let to_ns = from_ns + tck as f64 * self.tck_ns;
        self.rank_free_ns[rank] = to_ns;
        self.delay_writes(rank, (from_ns, to_ns), channel_ns);
        self.head_ns += to_ns - now_ns;
        self.idle_ns = to_ns;

        let last = self.first + self.vectors.len() - 1;
        for position in self.first..last {
            self.text.see(position, None);
        }
        let is_over = self.text.see(last, Some(logits));
        let all = self.text.prompt + self.text.job.tokens - 1;
        (self.progress)(last as u64 + 1, all as u64);
        if is_over {
            return Ok(None);
        }
        self.begin(last + 1);
        Ok(Some(to_ns))
    }

    fn see(&mut self, event: Event) -> Result<(), WorkloadError> {
        self.watch.see(event);
        let (in_use, held) = (self.banks.in_use(), self.banks.held());
        let limit = self.setup.limit.unwrap_or(u64::MAX);
        if in_use > limit || held.is_some_and(|held| held > in_use) {
            let held = held.map_or(String::new(), |held| format!(", {held} hold data"));
            let breach = format!("{in_use} rows are in use{held}; the limit is {limit}");
            return Err(ResidencyError::Breach(breach).into());
        }
        Ok(())
    }
}
