// SPDX-License-Identifier: MIT
//! What programs of the dispatcher save: their bytes, and the host's work for each token, against static
//! programs of the same operators.
//!
//! A *static* program has every command spelled out, eight bytes each, the tokens of a partial chunk
//! among them. All figures are of programs that have been built: those of the dispatcher as they are
//! loaded, static ones by spelling the same description.
//!
//! How long a static program is depends on what a command does. It is spelled twice: with a command for each column, and
//! with the *operation size* of AiM's commands, of which one goes over up to 64 columns of a row, or words of a buffer.

use crate::l3::attention::{AttentionError, Part, Requests};
use pimlico_device::aim::{AimLayout, AimOptions};
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{HeadLayout, HeadLayoutError};
use pimlico_device::{Config, LANES, Options, SumFormat};
use pimlico_dpa::{COMMANDS, Dispatch, ENTRIES, Opcode, REQUESTS};
use pimlico_host::allocator::{Allocator, AllocatorError, Policy, RequestId};
use pimlico_host::attached::Attached;
use pimlico_host::driver::{Driver, DriverError, KvRows, Writes};
use pimlico_host::program::aim;
use pimlico_host::program::attention::{self as program, Passes};
use pimlico_host::program::gemv::gemv;
use pimlico_host::program::{Program, ProgramError, static_word};
use pimlico_model::Model;
use serde::{Deserialize, Serialize};

/// Tokens over which the host's work is averaged: whole rows of K and V of every head dimension that is a
/// power of two, and no more than the context.
const WINDOW: usize = 2048;
/// Tokens over which the rewriting of a static program is averaged: a chunk.
const STATIC_WINDOW: usize = 16;
/// Columns or words that a command of AiM goes over, at most.
const OPERATION_SIZE: usize = 64;
/// Channels of the AiM module that FC is spelled for.
const CHANNELS: usize = 32;
/// The number of the request that is looked at.
const REQUEST: usize = 0;

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A head does not fit.
    #[error(transparent)]
    Layout(#[from] HeadLayoutError),
    /// A matrix does not fit.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A program cannot be written.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The dispatcher cannot be set up.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The request cannot be set up.
    #[error(transparent)]
    Attention(#[from] AttentionError),
    /// There are not enough rows.
    #[error(transparent)]
    Rows(#[from] AllocatorError),
}

/// The attention of query heads that share K and V, in a context.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AttentionCost {
    /// Tokens.
    pub context: usize,
    /// Query heads that are computed at once.
    pub heads: usize,
    /// Passes over the tokens.
    pub passes: usize,
    /// Commands that are dispatched.
    pub commands: u64,
    /// Bytes of the dispatcher's program.
    pub program_bytes: u64,
    /// Bytes of the static program for this context.
    pub static_bytes: u64,
    /// The static program fits the command buffer.
    pub static_fits: bool,
    /// Bytes that the host writes to the configuration for a token more: T_cur.
    pub configuration_bytes_per_token: f64,
    /// Bytes that it writes to the Va2Pa table, of the rows that become needed.
    pub va2pa_bytes_per_token: f64,
    /// Bytes that it writes to the command buffer.
    pub command_bytes_per_token: f64,
    /// Bytes of the static program that are others with a token more, at their places.
    pub static_bytes_per_token: f64,
    /// A token in all layers; none where the rank has no room for those of one KV head.
    pub all_layers: Option<LayersCost>,
}

/// What the host does for one more token of a request in all its layers, except for new rows.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct LayersCost {
    /// Layers of the model.
    pub layers: usize,
    /// KV heads of each that the rank holds, as many as there is room for.
    pub kv_heads: usize,
    /// Runs that it starts, with or without layers in the configuration: each has operands of its own.
    pub starts: u64,
    /// Writes to the configuration and the Va2Pa table: T_cur.
    pub writes: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Writes if the configuration had no layers: T_cur, and a segment of the table for each layer and KV head.
    pub writes_without: u64,
    /// Bytes of them.
    pub bytes_without: u64,
}

/// A fully-connected operator.
#[derive(Clone, Debug, Serialize)]
pub struct MatrixCost {
    /// Its name.
    pub operator: &'static str,
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Bytes of the dispatcher's program.
    pub program_bytes: u64,
    /// Bytes of the static program.
    pub static_bytes: u64,
    /// The static program fits the command buffer.
    pub static_fits: bool,
    /// Bytes of the static program whose commands go over up to 64 columns or words each.
    pub static_sized_bytes: u64,
    /// The same on a module of 32 AiM channels, if the matrix fits.
    pub on_aim: Option<AimCost>,
}

/// A fully-connected operator on AiM channels.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AimCost {
    /// Bytes of the dispatcher's program.
    pub program_bytes: u64,
    /// Bytes of the static program, with a command for each column or word.
    pub static_bytes: u64,
    /// Bytes of the static program whose commands go over up to 64 of them, as AiM's do.
    pub static_sized_bytes: u64,
}

/// Studies the matrices of a layer and the language-model head.
pub fn matrices(config: &Config, model: &Model) -> Result<Vec<MatrixCost>, StudyError> {
    let q = model.heads * model.head_dim;
    let kv = q / model.group();
    let of = |(operator, rows, columns)| {
        let layout = MatrixLayout::new(config, rows, columns)?;
        let program = gemv(&layout, IoBuffers::PingPong);
        let (mut commands, mut sized) = (0_u64, Sized::default());
        program.spell(&[0; REQUESTS], 0, |command| {
            commands += 1;
            sized.take(command);
        });
        Ok(MatrixCost {
            operator,
            rows,
            columns,
            program_bytes: 8 * program.words()?.len() as u64,
            static_bytes: bytes_of(commands),
            static_fits: commands < COMMANDS as u64,
            static_sized_bytes: bytes_of(sized.commands),
            on_aim: on_aim(rows, columns)?,
        })
    };
    let first = if model.gated { 2 * model.ffn } else { model.ffn };
    let operators = [
        ("qkv", q + 2 * kv, model.hidden),
        ("projection", model.hidden, q),
        ("ffn1", first, model.hidden),
        ("ffn2", model.hidden, model.ffn),
        ("lm_head", model.vocab, model.hidden),
    ];
    operators.into_iter().map(of).collect()
}

/// Bytes of a static program of so many commands, and an END.
fn bytes_of(commands: u64) -> u64 {
    8 * (commands + 1)
}

/// Counts commands where one may go over several columns of a row, or words of a buffer.
#[derive(Default)]
struct Sized {
    commands: u64,
    /// The last command, and how many it goes over.
    last: Option<(Dispatch, usize)>,
}

impl Sized {
    fn take(&mut self, command: Dispatch) {
        let joins = |(last, size): &(Dispatch, usize)| {
            let next = Dispatch {
                column: last.column.wrapping_add(command.kind.has_row().into()),
                word: last.word.wrapping_add(1),
                last: command.last,
                first: false,
                opens: false,
                ..*last
            };
            let is_sized = command.kind.has_row() || command.kind == Opcode::WrShared;
            is_sized && !last.last && *size < OPERATION_SIZE && next == command
        };
        let size = self.last.as_ref().filter(|last| joins(last)).map_or(0, |(_, size)| *size);
        self.commands += u64::from(size == 0);
        self.last = Some((command, size + 1));
    }
}

/// A matrix on a module of AiM channels.
fn on_aim(rows: usize, columns: usize) -> Result<Option<AimCost>, StudyError> {
    let options = AimOptions { channels: CHANNELS, ..AimOptions::default() };
    let Ok(layout) = AimLayout::new(&Config::gddr6_aim(), &options, rows, columns, 0) else {
        return Ok(None);
    };
    let fillings = aim::fillings(&layout, &options);
    let program = aim::product(&layout, &options, &fillings);
    let (mut commands, mut single) = (0, 0);
    program.spell(&[0; REQUESTS], 0, |command| {
        let is_sized = matches!(command.kind, Opcode::MacScore | Opcode::WrShared);
        commands += 1;
        single += if is_sized { command.word.into() } else { 1 };
    });
    Ok(Some(AimCost {
        program_bytes: 8 * program.words()?.len() as u64,
        static_bytes: bytes_of(single),
        static_sized_bytes: bytes_of(commands),
    }))
}

/// Studies attention in a context.
pub fn attention(
    config: &Config,
    model: &Model,
    context: usize,
) -> Result<AttentionCost, StudyError> {
    let heads = model.group().min(program::heads_at_once(context));
    let longest = HeadLayout::new(config, model.head_dim, context, 0)?;
    let used = program::score_buffer_use(&longest, heads);
    let described = program::attention(&longest, heads, SumFormat::Binary16, used.kind);
    let work = work(config, &longest, heads)?;

    let tokens_of = |context: usize| tokens(context, used.kind, used.block);
    let mut commands = 0_u64;
    described.spell(&tokens_of(context), REQUEST as u8, |_| commands += 1);
    // Within the passes that there are.
    let least = if used.kind == Passes::Several { used.block } else { 0 };
    let from = context.saturating_sub(STATIC_WINDOW).max(least + 1);
    let mut changed = 0;
    let mut before = static_program(&described, &tokens_of(from));
    for context in from + 1..=context {
        let now = static_program(&described, &tokens_of(context));
        let others = now.iter().zip(&before).filter(|(now, before)| now != before).count();
        changed += others + now.len().saturating_sub(before.len());
        before = now;
    }
    Ok(AttentionCost {
        context,
        heads,
        passes: used.passes,
        commands,
        program_bytes: 8 * described.words()?.len() as u64,
        static_bytes: bytes_of(commands),
        static_fits: commands < COMMANDS as u64,
        configuration_bytes_per_token: work.configuration,
        va2pa_bytes_per_token: work.va2pa,
        command_bytes_per_token: work.commands,
        static_bytes_per_token: 8.0 * changed as f64 / (context - from).max(1) as f64,
        all_layers: all_layers(config, model, &longest)?,
    })
}

/// Counts what the driver writes for the last token of a context, in all layers of as many KV heads as fit.
fn all_layers(
    config: &Config,
    model: &Model,
    longest: &HeadLayout,
) -> Result<Option<LayersCost>, StudyError> {
    let (k, v) = KvRows::wanted(longest);
    let room = ENTRIES.min(config.organisation.rows - 1) / (k + v);
    let of_model = model.heads / model.group();
    let fits = |heads: &usize| of_model.is_multiple_of(*heads) && model.layers * heads <= room;
    let Some(kv_heads) = (1..=of_model).rev().find(fits) else { return Ok(None) };
    let parts = (0..model.layers * kv_heads).map(|part| {
        let mut rows = KvRows::default();
        rows.grow(longest, part * (k + v)..)?;
        Ok(rows)
    });
    let parts = parts.collect::<Result<Vec<_>, DriverError>>()?;
    let of_run = program::heads_at_once(longest.context);
    let (with, without) =
        (with_layers(config, longest, &parts, model.group())?, without(config, longest, &parts)?);
    Ok(Some(LayersCost {
        layers: model.layers,
        kv_heads,
        starts: (parts.len() * model.group().div_ceil(of_run)) as u64,
        writes: with.count(),
        bytes: with.bytes(),
        writes_without: without.count(),
        bytes_without: without.bytes(),
    }))
}

/// What is written for the last token of a context of a request with so many layers.
fn with_layers(
    config: &Config,
    longest: &HeadLayout,
    parts: &[KvRows],
    group: usize,
) -> Result<Writes, StudyError> {
    let mut rank = Attached::engine(config, Options::default()).expect("an L3 rank");
    let mut requests = Requests::with_layers(*longest, parts.len())?;
    let of_run = program::heads_at_once(longest.context);
    let mut before = Writes::default();
    for context in [longest.context.saturating_sub(1).max(1), longest.context] {
        before = requests.driver().writes();
        let layout = HeadLayout::new(config, longest.head_dim, context, 0)?;
        for (layer, rows) in parts.iter().enumerate() {
            let part = Part { request: REQUEST, layer };
            for first in (0..group).step_by(of_run) {
                let (heads, is_last) = ((group - first).min(of_run), first + of_run >= group);
                requests.configure(&mut rank, part, &layout, rows, (heads, is_last))?;
            }
        }
    }
    Ok(requests.driver().writes().since(&before))
}

/// The same without layers in the configuration: all rows are in the table, and each layer takes a segment.
fn without(config: &Config, longest: &HeadLayout, parts: &[KvRows]) -> Result<Writes, StudyError> {
    let mut rank = Attached::engine(config, Options::default()).expect("an L3 rank");
    let mut driver = Driver::new();
    let mut before = Writes::default();
    for context in [longest.context.saturating_sub(1).max(1), longest.context] {
        before = driver.writes();
        for (part, rows) in parts.iter().enumerate() {
            let rows = rows.virtual_rows(longest);
            driver.rows(&mut rank, REQUEST as u8, part * rows.len(), &rows)?;
            driver.tokens(&mut rank, REQUEST as u8, context as u32).map_err(DriverError::from)?;
        }
    }
    Ok(driver.writes().since(&before))
}

/// The tokens of each request's configuration.
fn tokens(context: usize, kind: Passes, block: usize) -> [u32; REQUESTS] {
    let mut tokens = [0; REQUESTS];
    tokens[REQUEST] = context as u32;
    if kind == Passes::Several {
        tokens[usize::from(program::BLOCK_REQUEST)] = block as u32;
        tokens[REQUEST] = (context - block) as u32;
    }
    tokens
}

/// The words of a static program, each with the tokens of what it works on.
fn static_program(program: &Program, tokens: &[u32; REQUESTS]) -> Vec<(u64, u8)> {
    let mut words = Vec::new();
    program.spell(tokens, REQUEST as u8, |command: Dispatch| {
        let tokens = command.tokens.get();
        let lanes = match command.kind {
            Opcode::Weigh => tokens,
            Opcode::RdResult => tokens.saturating_sub(u64::from(command.word) * LANES as u64),
            _ => 0,
        };
        words.push((static_word(&command), lanes.min(LANES as u64) as u8));
    });
    words
}

/// What the host writes for one more token, in bytes.
struct Work {
    configuration: f64,
    va2pa: f64,
    commands: f64,
}

/// Has a request grow to its longest context, and counts what the driver writes.
fn work(config: &Config, longest: &HeadLayout, heads: usize) -> Result<Work, StudyError> {
    let options = Options::default();
    let mut rank = Attached::engine(config, options).expect("an L3 rank");
    let mut allocator = Allocator::new(config.organisation.rows as u32 - 1, 1, Policy::Lazy)?;
    let mut requests = Requests::new(*longest)?;
    let mut rows = KvRows::default();
    let request = RequestId(REQUEST as u32);
    let from = longest.context.saturating_sub(WINDOW).max(1);
    let mut before = None;
    for context in from..=longest.context {
        let layout = HeadLayout::new(config, longest.head_dim, context, 0)?;
        let (k, v) = KvRows::wanted(&layout);
        let wanted = (k + v) as u32;
        match context == from {
            true => allocator.admit(request, wanted)?,
            false => allocator.grow(request, wanted)?,
        };
        let held = rows.len();
        let new = allocator.rows_of(request).into_iter().flatten().skip(held);
        rows.grow(&layout, new.map(|row| row as usize))?;
        requests.configure(&mut rank, REQUEST, &layout, &rows, (heads, true))?;
        before.get_or_insert(requests.driver().writes());
    }
    let (before, after) = (before.unwrap_or_default(), requests.driver().writes());
    let per_token = |bytes: u64| bytes as f64 / (longest.context - from).max(1) as f64;
    Ok(Work {
        configuration: per_token(
            4 * (after.tokens + after.segments - before.tokens - before.segments),
        ),
        va2pa: per_token(2 * (after.entries - before.entries)),
        commands: per_token(8 * (after.commands - before.commands)),
    })
}
