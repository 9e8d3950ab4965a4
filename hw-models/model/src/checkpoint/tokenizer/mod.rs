// SPDX-License-Identifier: MIT
//! Tokenizers.
//!
//! * [`llama2c`]: those of llama2.c.
//! * `hugging_face`: `tokenizer.json` of Hugging Face, with the feature `hf-tokenizers`.

#[cfg(feature = "hf-tokenizers")]
mod guard;
#[cfg(feature = "hf-tokenizers")]
pub mod hugging_face;
pub mod llama2c;

use super::Malformed;
pub use llama2c::{BEGIN, END, LONGEST_TEXT};

/// A tokenizer.
#[derive(Clone, Debug)]
pub enum Tokenizer {
    /// Of llama2.c.
    Llama2c(llama2c::Llama2cTokenizer),
    /// Of Hugging Face.
    #[cfg(feature = "hf-tokenizers")]
    HuggingFace(Box<hugging_face::HuggingFaceTokenizer>),
}

/// Why a text cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A character of it.
    #[error("character {character:?} at byte {at}: expected one that the tokenizer knows")]
    Character {
        /// The character.
        character: char,
        /// Where it is.
        at: usize,
    },
    /// It is too long.
    #[error("{0} bytes: expected at most {LONGEST_TEXT}")]
    Length(usize),
    /// It is empty, and no token begins a text.
    #[error("no token: expected a text, as the tokenizer has no token that begins one")]
    Empty,
    /// What the tokenizer says.
    #[error("{0}: expected a text that the tokenizer takes")]
    Other(String),
}

impl Tokenizer {
    /// Reads the tokenizer of a model of so many tokens, in llama2.c's format.
    pub fn read(bytes: &[u8], vocab: usize) -> Result<Self, Malformed> {
        llama2c::Llama2cTokenizer::read(bytes, vocab).map(Self::Llama2c)
    }

    /// Tokens that there are.
    pub fn tokens(&self) -> usize {
        match self {
            Self::Llama2c(tokenizer) => tokenizer.tokens(),
            #[cfg(feature = "hf-tokenizers")]
            Self::HuggingFace(tokenizer) => tokenizer.tokens(),
        }
    }

    /// The tokens of a text, with the one that begins it, if there is such a token; there is one token
    /// or more.
    pub fn encode(&self, text: &str) -> Result<Vec<usize>, EncodeError> {
        match self {
            Self::Llama2c(tokenizer) => tokenizer.encode(text),
            #[cfg(feature = "hf-tokenizers")]
            Self::HuggingFace(tokenizer) => tokenizer.encode(text),
        }
    }

    /// The text of tokens of the model. What is no UTF-8 is replaced.
    pub fn decode(&self, tokens: &[usize]) -> String {
        match self {
            Self::Llama2c(tokenizer) => tokenizer.decode(tokens),
            #[cfg(feature = "hf-tokenizers")]
            Self::HuggingFace(tokenizer) => tokenizer.decode(tokens),
        }
    }

    /// The tokens that end a text.
    pub fn ends(&self) -> &[usize] {
        match self {
            Self::Llama2c(_) => &[BEGIN, END],
            #[cfg(feature = "hf-tokenizers")]
            Self::HuggingFace(tokenizer) => tokenizer.ends(),
        }
    }
}
