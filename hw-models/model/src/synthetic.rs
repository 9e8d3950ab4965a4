// SPDX-License-Identifier: MIT
//! Whole models of seeded random weights, written piece by piece: files of any size in little memory.
//!
//! Weights of norms are 1; those of matrices are uniform with mean 0 and a variance of 1 over the columns, so that
//! vectors keep their size from layer to layer.

use crate::checkpoint::CheckpointShape;
use crate::checkpoint::places::Stored;
use crate::data;
use half::{bf16, f16};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::RngCore;
use std::io::{self, Write};

/// Numbers that are made at once.
const PIECE: usize = 1 << 14;
/// Tokens of the tokenizer: those that begin and end texts, all bytes, and one or more.
pub const LEAST_VOCAB: usize = 3 + 256 + 1;

/// What tensor a layer has.
const OF_LAYER: [(&str, Size); 9] = [
    ("input_layernorm", Size::Norm),
    ("self_attn.q_proj", Size::Q),
    ("self_attn.k_proj", Size::Kv),
    ("self_attn.v_proj", Size::Kv),
    ("self_attn.o_proj", Size::O),
    ("post_attention_layernorm", Size::Norm),
    ("mlp.gate_proj", Size::In),
    ("mlp.down_proj", Size::Out),
    ("mlp.up_proj", Size::In),
];

/// Shapes of tensors.
#[derive(Clone, Copy)]
enum Size {
    Norm,
    Q,
    Kv,
    O,
    In,
    Out,
    Table,
}

impl Size {
    /// Rows and columns of a matrix; of a norm only its elements.
    fn of(self, shape: &CheckpointShape) -> Vec<usize> {
        let CheckpointShape { dim, hidden, vocab, .. } = *shape;
        match self {
            Self::Norm => vec![dim],
            Self::Q => vec![shape.q_width(), dim],
            Self::Kv => vec![shape.kv_width(), dim],
            Self::O => vec![dim, shape.q_width()],
            Self::In => vec![hidden, dim],
            Self::Out => vec![dim, hidden],
            Self::Table => vec![vocab, dim],
        }
    }
}

/// Writes numbers as they are stored.
struct Numbers<'a> {
    to: &'a mut dyn Write,
    stored: Stored,
    random: Xoshiro256PlusPlus,
}

impl Numbers<'_> {
    fn tensor(&mut self, size: Size, shape: &CheckpointShape) -> io::Result<()> {
        let shape = size.of(shape);
        let count: usize = shape.iter().product();
        // A uniform number from -a to a has a variance of a^2 / 3.
        let most = match shape[..] {
            [_, columns] => (3.0 / columns as f64).sqrt(),
            _ => 0.0,
        };
        let mut bytes = Vec::with_capacity(4 * PIECE.min(count));
        for piece in (0..count).step_by(PIECE) {
            bytes.clear();
            for _ in piece..count.min(piece + PIECE) {
                let number = match most > 0.0 {
                    true => {
                        let unit = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                        (most * (2.0 * unit - 1.0)) as f32
                    }
                    false => 1.0,
                };
                match self.stored {
                    Stored::F32 => bytes.extend(number.to_le_bytes()),
                    Stored::F16 => bytes.extend(f16::from_f32(number).to_le_bytes()),
                    Stored::Bf16 => bytes.extend(bf16::from_f32(number).to_le_bytes()),
                }
            }
            self.to.write_all(&bytes)?;
        }
        Ok(())
    }
}

/// Writes a checkpoint of llama2.c, whose classifier is its embedding.
///
/// # Panics
///
/// If a size is above `i32::MAX`, or heads are wider together than the vector between layers.
pub fn llama2c(shape: &CheckpointShape, seed: u64, to: &mut dyn Write) -> io::Result<()> {
    let CheckpointShape { dim, hidden, layers, heads, kv_heads, vocab, context, head_dim } = *shape;
    assert_eq!(shape.q_width(), dim, "heads of llama2.c share the vector");
    for size in [dim, hidden, layers, heads, kv_heads, vocab, context] {
        to.write_all(&i32::try_from(size).expect("a size").to_le_bytes())?;
    }
    let mut numbers = Numbers { to, stored: Stored::F32, random: data::generator(seed) };
    numbers.tensor(Size::Table, shape)?;
    for (_, size) in OF_LAYER {
        (0..layers).try_for_each(|_| numbers.tensor(size, shape))?;
    }
    numbers.tensor(Size::Norm, shape)?;
    // Cosines and sines, which nobody reads.
    numbers.to.write_all(&vec![0; 4 * context * head_dim])
}

/// Writes a safetensors file, whose classifier is its embedding.
pub fn safetensors(
    shape: &CheckpointShape,
    stored: Stored,
    seed: u64,
    to: &mut dyn Write,
) -> io::Result<()> {
    let dtype = match stored {
        Stored::F32 => "F32",
        Stored::F16 => "F16",
        Stored::Bf16 => "BF16",
    };
    let layers = (0..shape.layers).flat_map(|layer| {
        OF_LAYER.map(|(name, size)| (format!("model.layers.{layer}.{name}.weight"), size))
    });
    let table = ("model.embed_tokens.weight".to_owned(), Size::Table);
    let norm = ("model.norm.weight".to_owned(), Size::Norm);
    let tensors: Vec<_> = std::iter::once(table).chain(layers).chain([norm]).collect();
    let mut end = 0;
    let entries = tensors.iter().map(|(name, size)| {
        let (from, size) = (end, size.of(shape));
        end += size.iter().product::<usize>() * stored.bytes();
        let size = format!("{size:?}").replace(' ', "");
        format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{size},\"data_offsets\":[{from},{end}]}}"
        )
    });
    let mut header = format!("{{{}}}", entries.collect::<Vec<_>>().join(","));
    // Numbers begin at a multiple of 8 bytes.
    header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));
    to.write_all(&(header.len() as u64).to_le_bytes())?;
    to.write_all(header.as_bytes())?;
    let mut numbers = Numbers { to, stored, random: data::generator(seed) };
    tensors.iter().try_for_each(|(_, size)| numbers.tensor(*size, shape))
}

/// The `config.json` of such a safetensors file.
pub fn config(shape: &CheckpointShape) -> String {
    let CheckpointShape { dim, hidden, layers, heads, kv_heads, vocab, context, head_dim } = *shape;
    format!(
        "{{\n  \"model_type\": \"llama\",\n  \"hidden_size\": {dim},\n  \"intermediate_size\": {hidden},\n  \
         \"num_hidden_layers\": {layers},\n  \"num_attention_heads\": {heads},\n  \
         \"num_key_value_heads\": {kv_heads},\n  \"head_dim\": {head_dim},\n  \"vocab_size\": {vocab},\n  \
         \"max_position_embeddings\": {context},\n  \"hidden_act\": \"silu\",\n  \"rope_theta\": 10000.0,\n  \
         \"rms_norm_eps\": 1e-05,\n  \"tie_word_embeddings\": true\n}}\n"
    )
}

/// A tokenizer of llama2.c for so many tokens: every byte is one, and tokens from 259 on are words of a letter and a
/// number.
///
/// # Panics
///
/// If there are fewer than [`LEAST_VOCAB`].
pub fn tokenizer(vocab: usize) -> Vec<u8> {
    assert!(vocab >= LEAST_VOCAB, "{vocab} tokens");
    let first = ["<unk>", "<s>", "</s>"].map(str::to_owned).into_iter();
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    // A space is needed as a token: texts begin with it.
    let words = std::iter::once(" ".to_owned()).chain((1..).map(|number| format!(" w{number}")));
    let texts: Vec<_> = first.chain(bytes).chain(words).take(vocab).collect();
    let longest = texts.iter().map(String::len).max().unwrap_or(0);
    let mut file = (longest as u32).to_le_bytes().to_vec();
    for (number, text) in texts.iter().enumerate() {
        file.extend((-(number as f32)).to_le_bytes());
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(text.as_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::config::Config;
    use crate::checkpoint::tokenizer::Tokenizer;
    use crate::checkpoint::{self, llama2c as files};

    const SHAPE: CheckpointShape = CheckpointShape {
        dim: 16,
        hidden: 24,
        layers: 3,
        heads: 4,
        kv_heads: 2,
        head_dim: 4,
        vocab: 300,
        context: 10,
    };

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = Vec::new();
        llama2c(&SHAPE, 7, &mut bytes).expect("memory");
        let model = files::read(&bytes).expect("a checkpoint");
        assert_eq!(model.shape, SHAPE);
        assert!(model.classifier.is_empty() && model.norm == [1.0; 16]);
        let q = &model.layers[2].q;
        let variance = q.iter().map(|w| w * w).sum::<f32>() / q.len() as f32;
        assert!((variance * 16.0 - 1.0).abs() < 0.2, "{variance}");
        let mut again = Vec::new();
        llama2c(&SHAPE, 7, &mut again).expect("memory");
        assert_eq!(again, bytes);
        llama2c(&SHAPE, 8, &mut again).expect("memory");
        assert_ne!(again[bytes.len()..], bytes);

        let config = Config::read(config(&SHAPE).as_bytes()).expect("a config");
        assert_eq!(config.shape, SHAPE);
        for stored in [Stored::F32, Stored::F16, Stored::Bf16] {
            let mut bytes = Vec::new();
            safetensors(&SHAPE, stored, 7, &mut bytes).expect("memory");
            let model = checkpoint::safetensors::read(&bytes, &config).expect("a model");
            assert_eq!(model.layers.len(), 3);
            assert_eq!(model.layers[0].attention_norm, [1.0; 16]);
        }
    }

    #[test]
    fn its_tokenizer_takes_every_text() {
        let tokenizer = Tokenizer::read(&tokenizer(300), 300).expect("a tokenizer");
        let tokens = tokenizer.encode("a text, \u{e4}\u{1F600}").expect("tokens");
        assert_eq!(tokenizer.decode(&tokens), "a text, \u{e4}\u{1F600}");
    }
}
