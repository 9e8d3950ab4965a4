// SPDX-License-Identifier: MIT
//! Prefill on the host with weights that lie as a device's PUs want them, by each policy of *PIM-SHERPA: Software Method for On-device
//! LLM Inference*. It runs on real threads; [`crate::sherpa`] has the times of a phone in closed form.
//!
//! | policy | what GEMM reads | cacheable bytes beside the banks |
//! | --- | --- | --- |
//! | duplicate (WD) | a copy of all weights that was made before | all weights |
//! | facil (FACIL-O) | the banks themselves, through a memory controller that knows the layout | 0 |
//! | ddb | two buffers in turns; one is copied into while GEMM reads the other | twice the largest group |
//! | owr | one buffer: a matrix is copied by all threads, then multiplied by all | the largest group |
//!
//! All tokens of the prompt go through a layer before the next. GEMM ([`gemm`]) takes the elements as the banks hold them, so
//! the logits have the same bits under every policy. The language-model head, of the last token alone, fits no buffer and is read in
//! the banks unless there is a copy of it: on a phone it is a GEMV of the PIM blocks.
//!
//! * [`weights`]: matrices in the banks, and groups of them.
//! * `buffers`: copies into buffers, on the slot pool of `pimlico_stream`.
//! * `stages`: the barriers.
//! * `times`: what took how long.

mod buffers;
pub mod gemm;
mod stages;
mod times;
pub mod weights;

pub use times::PrefillTimes;

use crate::host_memory::{self, NoMemory};
use crate::in_banks::BankMatrix;
use crate::judge::prefill::{Copied, Step, judge};
use buffers::Buffers;
use gemm::{Operand, product};
use memmap2::MmapMut;
use pimlico_model::checkpoint::places::Part;
use pimlico_stream::host::{Decoder, MATRICES};
use pimlico_stream::setup::Setup;
use pimlico_stream::slots;
use pimlico_stream::source::{LayerSource, SourceError};
use pimlico_stream::trace::Trace;
use serde::Serialize;
use stages::Stages;
use std::num::NonZero;
use std::time::Instant;
use times::{spans, times};
use weights::{Group, ModelInBanks};

/// How weights come to the host's GEMM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PrefillPolicy {
    /// From a copy of all of them (WD).
    Duplicate,
    /// From the banks, by a memory controller that knows the layout (FACIL-O).
    Facil,
    /// Through two buffers (DDB).
    Ddb,
    /// Through one (OWR).
    Owr,
}

impl PrefillPolicy {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Duplicate, Self::Facil, Self::Ddb, Self::Owr];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Facil => "facil",
            Self::Ddb => "ddb",
            Self::Owr => "owr",
        }
    }

    /// Buffers that it takes.
    pub fn buffers(self) -> usize {
        match self {
            Self::Duplicate | Self::Facil => 0,
            Self::Owr => 1,
            Self::Ddb => 2,
        }
    }
}

/// Threads of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Those that copy beside GEMM, of [`PrefillPolicy::Ddb`].
    pub copy: NonZero<usize>,
    /// Those of GEMM; where nothing goes beside it, they copy too.
    pub compute: NonZero<usize>,
}

/// A prompt, and how it is taken.
pub struct PrefillJob<'a> {
    /// The model's file, of which norms, biases and the embedding are read.
    pub source: &'a LayerSource,
    /// Its matrices.
    pub model: &'a ModelInBanks<'a>,
    /// Tokens of the prompt.
    pub prompt: &'a [usize],
    /// How weights come to GEMM.
    pub policy: PrefillPolicy,
    /// Threads.
    pub threads: Threads,
    /// Bytes of a buffer; those of the largest group if it is not said.
    pub buffer: Option<u64>,
}

/// Why there is no prefill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrefillError {
    /// The prompt has no place.
    #[error("prompt of {tokens} tokens: expected 1 to {context}, the model's context")]
    Prompt {
        /// Its tokens.
        tokens: usize,
        /// Tokens that the model takes.
        context: usize,
    },
    /// A group has no room.
    #[error("buffer of {buffer} bytes: {group} takes {bytes}, expected at least as many")]
    Buffer {
        /// Bytes of the buffer.
        buffer: u64,
        /// The largest group.
        group: String,
        /// Its bytes.
        bytes: u64,
    },
    /// A matrix is not among those of the banks.
    #[error("layer {layer} has no matrix {part} in the banks, expected one of 2 rows or more")]
    NoMatrix {
        /// Of which layer.
        layer: usize,
        /// Which.
        part: &'static str,
    },
    /// There is no memory for copies.
    #[error("memory for copies: {0}")]
    Memory(String),
    /// The same, as this machine says.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The model's file cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What threads say.
    #[error("{0}")]
    Threads(String),
    /// Threads that copy have failed.
    #[error("the copy of weights stopped")]
    Stopped,
    /// A rule was broken: that of a check, not of the input.
    #[error("the prefill's steps: {0}")]
    Judged(String),
}

/// What a prefill was.
pub struct Prefilled {
    /// Of the token that follows the prompt.
    pub logits: Vec<f32>,
    /// Of each layer K and V of the prompt's tokens: token by token, all heads of one behind each other.
    pub caches: Vec<(Vec<f32>, Vec<f32>)>,
    /// Cacheable bytes that the policy takes beside the banks.
    pub extra_bytes: u64,
    /// Bytes of each buffer; 0 where there is none.
    pub buffer_bytes: u64,
    /// Groups of matrices.
    pub groups: usize,
    /// What took how long.
    pub times: PrefillTimes,
    /// Bytes that were copied from the first step to the last.
    pub copied_bytes: u64,
    /// What threads did: those that copy are loader 0, and its layers are groups.
    pub trace: Trace,
    /// What the pool of buffers was asked for, if there are any.
    pub setup: Option<Setup>,
}

/// The tensors of one row of a layer.
type Vectors = Vec<(Part, Vec<f32>)>;

/// The host: what it computes beside and between products.
struct Host<'a> {
    decoder: Decoder,
    /// Of each layer.
    vectors: &'a [Vectors],
    threads: NonZero<usize>,
}

impl Host<'_> {
    /// The product with the next matrix, which is `part` of a layer.
    fn multiply(&self, stages: &Stages, began: Step, operand: Operand<'_>) -> Vec<f32> {
        stages.tell(began);
        let products = product(operand, self.decoder.input(), self.threads);
        stages.tell(Step::ProductEnded);
        products
    }

    /// What comes behind a product, up to the next one.
    fn take(&mut self, layer: usize, part: Part, products: Vec<f32>) {
        let vector = of_layer(&self.vectors[layer]);
        self.decoder.take(layer, part, products, &vector);
        if part == Part::Down && layer + 1 < self.vectors.len() {
            self.decoder.begin_layer(&of_layer(&self.vectors[layer + 1]));
        }
    }
}

/// The tensors of one row of a layer.
fn of_layer(vectors: &[(Part, Vec<f32>)]) -> impl Fn(Part) -> Vec<f32> {
    |wanted| {
        let found = vectors.iter().find(|(part, _)| *part == wanted);
        found.map_or(Vec::new(), |(_, numbers)| numbers.clone())
    }
}

/// Takes a prompt through all layers; what threads did is judged by `golden`.
pub fn prefill(job: &PrefillJob<'_>) -> Result<Prefilled, PrefillError> {
    let PrefillJob { source, model, prompt, policy, threads, .. } = *job;
    let shape = source.places().shape;
    if prompt.is_empty() || prompt.len() > shape.context {
        let (tokens, context) = (prompt.len(), shape.context);
        return Err(PrefillError::Prompt { tokens, context });
    }
    let buffers = job.buffers()?;
    let extra_bytes = match policy {
        PrefillPolicy::Duplicate => model.bytes(),
        _ => buffers.count as u64 * buffers.bytes,
    };
    let beside = Decoder::bytes_beside(&shape, prompt.len(), prompt.len());
    host_memory::check("prefill", u128::from(extra_bytes) + u128::from(beside))?;
    let vectors = vectors(source)?;
    let begun = Instant::now();
    let copy = (policy == PrefillPolicy::Duplicate).then(|| Duplicate::new(model, threads.compute));
    let copy = copy.transpose()?;
    let duplicate = begun.elapsed();

    let start = Instant::now();
    let stages = Stages::new(start);
    let mut decoder = Decoder::new(source, prompt.len())?;
    decoder.begin(source, prompt)?;
    decoder.begin_layer(&of_layer(&vectors[0]));
    let mut host = Host { decoder, vectors: &vectors, threads: threads.compute };
    let events = match (&copy, buffers.count) {
        (_, 1..) => buffers.run(model, &mut host, &stages)?,
        (copy, 0) => {
            in_place(model, copy.as_ref(), &mut host, &stages);
            Vec::new()
        }
    };
    let begun = Instant::now();
    let of_head = match &copy {
        Some(copy) => model.copied(&model.head, &copy.head),
        None => model.in_place(&model.head),
    };
    let logits = product(of_head, &host.decoder.last_normed(), threads.compute);
    let head = begun.elapsed();
    let to_first_token = start.elapsed();

    let caches = host.decoder.into_caches();
    let steps = stages.into_steps();
    let groups = buffers.groups.iter().map(Group::shapes).collect();
    judge(Copied { groups, buffers: buffers.count }, &steps).map_err(PrefillError::Judged)?;
    let spans = spans(&steps);
    let mut times = PrefillTimes { duplicate, to_first_token, head, ..times(&spans) };
    let busy = times.gemm + times.copy - times.copy_under_gemm + head;
    times.between = to_first_token.saturating_sub(busy);
    let copied = |step: &(u64, Step)| match step {
        (_, Step::CopyBegan { bytes, .. }) => *bytes,
        _ => 0,
    };
    Ok(Prefilled {
        logits,
        caches,
        extra_bytes,
        buffer_bytes: if buffers.count == 0 { 0 } else { buffers.bytes },
        groups: buffers.groups.len(),
        times,
        copied_bytes: steps.iter().map(copied).sum(),
        trace: Trace { spans, ..Trace::new(events) },
        setup: (buffers.count > 0).then(|| buffers.setup()),
    })
}

impl<'a> PrefillJob<'a> {
    /// The buffers of the policy, and groups that have room in them.
    fn buffers(&self) -> Result<Buffers<'a>, PrefillError> {
        let Self { model, policy, threads, .. } = *self;
        // The first of the largest.
        let largest = Group::of_layers(model).into_iter().rev().max_by_key(Group::bytes);
        let least = largest.as_ref().map_or(0, Group::bytes);
        let bytes = self.buffer.unwrap_or(least);
        if let Some(group) = largest.filter(|group| group.bytes() > bytes) {
            let (buffer, bytes, group) = (bytes, group.bytes(), group.name());
            return Err(PrefillError::Buffer { buffer, group, bytes });
        }
        let groups = match policy {
            PrefillPolicy::Owr => Group::one_by_one(model),
            _ => Group::of_layers(model),
        };
        let copy_threads =
            if policy == PrefillPolicy::Ddb { threads.copy } else { threads.compute };
        Ok(Buffers { groups, count: policy.buffers(), bytes, copy_threads })
    }
}

/// The tensors of one row of each layer.
fn vectors(source: &LayerSource) -> Result<Vec<Vectors>, PrefillError> {
    let of_layer = |parts: &Vec<(Part, _)>| {
        let vectors = parts.iter().filter(|(part, _)| !MATRICES.contains(part));
        vectors.map(|(part, place)| Ok((*part, source.row(place, 0)?))).collect()
    };
    source.places().layers.iter().map(of_layer).collect()
}

/// A copy of all matrices in the host's order.
struct Duplicate {
    layers: Vec<Vec<MmapMut>>,
    head: MmapMut,
}

impl Duplicate {
    fn new(model: &ModelInBanks<'_>, threads: NonZero<usize>) -> Result<Self, PrefillError> {
        let copy = |matrix: &BankMatrix<'_>| {
            let to = slots::map(matrix.bytes() as u64);
            let mut to = to.map_err(|error| PrefillError::Memory(error.to_string()))?;
            matrix.copy(0..matrix.lines(), threads, &mut to[..matrix.bytes()]);
            Ok(to)
        };
        let of_layer = |layer: &[BankMatrix<'_>; MATRICES.len()]| layer.iter().map(copy).collect();
        let layers = model.layers.iter().map(of_layer).collect::<Result<_, PrefillError>>()?;
        Ok(Self { layers, head: copy(&model.head)? })
    }
}

/// Takes all matrices through the host that need not be copied any more.
fn in_place(
    model: &ModelInBanks<'_>,
    copy: Option<&Duplicate>,
    host: &mut Host<'_>,
    stages: &Stages,
) {
    for (layer, matrices) in model.layers.iter().enumerate() {
        for (number, (part, matrix)) in MATRICES.into_iter().zip(matrices).enumerate() {
            let operand = match copy {
                Some(copy) => model.copied(matrix, &copy.layers[layer][number]),
                None => model.in_place(matrix),
            };
            // Q, K, V and O are a group, and each of the others is one.
            let (group, matrix) = if number < 4 { (0, number) } else { (number - 3, 0) };
            let group = 4 * layer + group;
            let began = Step::ProductBegan { group, matrix, buffer: None };
            let products = host.multiply(stages, began, operand);
            host.take(layer, part, products);
        }
    }
}
