// SPDX-License-Identifier: MIT
//! The model that is built in: 38 thousand parameters that tell short stories about a memory.
//! `scripts/train` has made it; `hw-models/model/models/tiny/README.md` says how.

/// Its weights, a llama2.c checkpoint.
pub const WEIGHTS: &[u8] = include_bytes!("../../models/tiny/weights.bin");
/// Its tokenizer.
pub const TOKENIZER: &[u8] = include_bytes!("../../models/tiny/tokenizer.bin");
/// Its name in reports.
pub const NAME: &str = "tiny";
/// The default prompt.
pub const PROMPT: &str = "in a small town";
