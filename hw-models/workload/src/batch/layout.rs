// SPDX-License-Identifier: MIT
//! Where the rows of a rank, a channel or a module go.

use super::{BatchError, ELEMENT_BYTES, Footprint, LongBenchTask, Settings};
use pimlico_device::Config;
use pimlico_device::aim::AimHead;
use pimlico_device::aim::AimOptions;

/// Where K and V of requests lie.
#[derive(Clone, Copy, Debug)]
pub enum KvSpread {
    /// A *stream* is K or V of one KV head of one layer. A stream stays in its rank or channel, in rows of its own that go
    /// through all banks, without gaps: what runs on ranks, and LoL-PIM's layout by heads.
    Streams,
    /// K and V of a KV head of one layer lie over all channels of a module, as [`AimHead`] has them: what runs on a
    /// module.
    Module(AimOptions),
}

/// How K and V take rows.
enum Rows {
    /// Streams of the fullest rank, and tokens of one in a row.
    Streams { streams: u64, tokens_per_row: u64 },
    /// Heads of the fullest module, each with room for the longest request.
    Heads { heads: u64, head: AimHead },
}

/// Where the rows go.
pub(super) struct Layout {
    /// Rows of a bank that the weights leave.
    pub rows: u32,
    /// Bytes of a row that goes through all banks of the rank or module.
    pub row_bytes: u64,
    /// Bytes of K and V of a token there.
    pub token_bytes: u64,
    taken: Rows,
}

impl Layout {
    pub fn new(settings: &Settings<'_>) -> Result<Self, BatchError> {
        check(settings)?;
        let Settings { rank, ranks, model, max_context, chunk_rows, .. } = *settings;
        let vector_bytes = model.head_dim * ELEMENT_BYTES;
        let (row_bytes, units, token_bytes, taken) = match settings.spread {
            KvSpread::Streams => {
                let (row_bytes, streams) = (row_bytes(rank), model.streams().div_ceil(ranks));
                let tokens_per_row = row_bytes / vector_bytes;
                if tokens_per_row == 0 {
                    return Err(BatchError::HeadDim { head_dim: model.head_dim, row_bytes });
                }
                let taken = Rows::Streams { streams, tokens_per_row };
                (row_bytes, ranks, streams * vector_bytes, taken)
            }
            KvSpread::Module(options) => {
                let module = options.channels as u64;
                if !ranks.is_multiple_of(module) {
                    return Err(BatchError::Modules { channels: ranks, module });
                }
                let modules = ranks / module;
                let heads = (model.layers * model.kv_heads).div_ceil(modules);
                let [head_dim, context] = [model.head_dim, max_context].map(|n| n as usize);
                let head = AimHead::new(rank, &options, head_dim, context, 0)?;
                let token_bytes = 2 * heads * vector_bytes;
                (module * row_bytes(rank), modules, token_bytes, Rows::Heads { heads, head })
            }
        };
        let weights = model.weight_bytes().div_ceil(units).div_ceil(row_bytes);
        let rows = rank.organisation.rows as u64;
        let left = rows.checked_sub(weights).filter(|left| *left > 0);
        let left = left.ok_or(BatchError::Weights { weights, rows })?;
        let wanted = taken.of(max_context);
        let chunk_rows = u64::from(chunk_rows.max(1));
        let wanted = wanted.div_ceil(chunk_rows).saturating_mul(chunk_rows);
        if wanted > left {
            return Err(BatchError::Request { max_context, wanted, rows: left });
        }
        Ok(Self { rows: left as u32, row_bytes, token_bytes, taken })
    }

    /// Rows of a request in a rank or module.
    pub fn rows_for(&self, tokens: u64) -> u32 {
        // For no request more than there are: that was checked for the longest.
        self.taken.of(tokens) as u32
    }
}

impl Rows {
    /// Those of so many tokens.
    fn of(&self, tokens: u64) -> u64 {
        match self {
            Self::Streams { streams, tokens_per_row } => {
                streams.saturating_mul(tokens.div_ceil(*tokens_per_row))
            }
            Self::Heads { heads, head } => {
                let AimHead { k, v } = head.part(tokens as usize);
                heads * (k.rows_in_use() + v.rows_in_use()) as u64
            }
        }
    }
}

/// Whether the numbers go together.
fn check(settings: &Settings<'_>) -> Result<(), BatchError> {
    let Settings { ranks, model, task, max_context, generate, requests, .. } = *settings;
    let Footprint { layers, kv_heads, head_dim, .. } = *model;
    for (what, number) in [
        ("ranks", ranks),
        ("tokens generated", generate),
        ("requests", requests.into()),
        ("layers", layers),
        ("KV heads", kv_heads),
        ("head dimension", head_dim),
    ] {
        if number == 0 {
            return Err(BatchError::Zero(what));
        }
    }
    if generate > max_context {
        return Err(BatchError::Generate { generate, max_context });
    }
    if task.max >= max_context {
        let LongBenchTask { name, max: longest, .. } = task;
        return Err(BatchError::Prompts { task: name, longest, max_context });
    }
    Ok(())
}

/// Bytes of a row that goes through all banks of a rank.
fn row_bytes(rank: &Config) -> u64 {
    let organisation = &rank.organisation;
    (rank.banks() * organisation.chips * organisation.page_bytes) as u64
}

/// Bytes of a rank.
pub fn rank_bytes(rank: &Config) -> u64 {
    row_bytes(rank) * rank.organisation.rows as u64
}
