// SPDX-License-Identifier: MIT
//! What programs of the dispatcher save: their bytes, and the host's work for each token, against static
//! programs of the same operators.
//!
//! A *static* program has every command spelled out, eight bytes each, the tokens of a partial chunk
//! among them. All figures are of programs that have been built: those of the dispatcher as they are
//! loaded, static ones by spelling the same description.

use crate::l3::attention::{AttentionError, Requests};
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{HeadLayout, LayoutError};
use pimlico_device::{Config, LANES, Options, SumFormat};
use pimlico_dpa::{COMMANDS, Dispatch, Opcode, REQUESTS};
use pimlico_host::allocator::{Allocator, AllocatorError, Policy, RequestId};
use pimlico_host::attached::Attached;
use pimlico_host::driver::{DriverError, KvRows};
use pimlico_host::program::attention::{self as program, Passes};
use pimlico_host::program::gemv::gemv;
use pimlico_host::program::{Program, ProgramError, static_word};
use pimlico_model::Model;
use serde::Serialize;

/// Tokens over which the host's work is averaged: whole rows of K and V of every head dimension that is a
/// power of two, and no more than the context.
const WINDOW: usize = 2048;
/// Tokens over which the rewriting of a static program is averaged: a chunk.
const STATIC_WINDOW: usize = 16;
/// The number of the request that is looked at.
const REQUEST: usize = 0;

/// Why there is no study.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A head does not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
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
#[derive(Clone, Debug, Serialize)]
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
}

/// Studies attention in each of the contexts. `progress` is told after each.
pub fn attention(
    config: &Config,
    model: &Model,
    contexts: &[usize],
    mut progress: impl FnMut(),
) -> Result<Vec<AttentionCost>, StudyError> {
    let mut costs = Vec::new();
    for &context in contexts {
        costs.push(attention_in(config, model, context)?);
        progress();
    }
    Ok(costs)
}

/// Studies the matrices of a layer and the language-model head.
pub fn matrices(config: &Config, model: &Model) -> Result<Vec<MatrixCost>, StudyError> {
    let q = model.heads * model.head_dim;
    let kv = q / model.group();
    let of = |(operator, rows, columns)| {
        let layout = MatrixLayout::new(config, rows, columns)?;
        let program = gemv(&layout, IoBuffers::PingPong);
        let mut commands = 0_u64;
        program.spell(&[0; REQUESTS], 0, |_| commands += 1);
        let (program_bytes, static_bytes) = (8 * program.words()?.len() as u64, 8 * (commands + 1));
        let static_fits = commands < COMMANDS as u64;
        Ok(MatrixCost { operator, rows, columns, program_bytes, static_bytes, static_fits })
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

fn attention_in(
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
        static_bytes: 8 * (commands + 1), // and an END
        static_fits: commands < COMMANDS as u64,
        configuration_bytes_per_token: work.configuration,
        va2pa_bytes_per_token: work.va2pa,
        command_bytes_per_token: work.commands,
        static_bytes_per_token: 8.0 * changed as f64 / (context - from).max(1) as f64,
    })
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

/// What the host writes for a token more, in bytes.
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
        requests.configure(&mut rank, REQUEST, &layout, &rows, heads)?;
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
