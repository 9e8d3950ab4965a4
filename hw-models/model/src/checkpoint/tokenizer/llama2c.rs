// SPDX-License-Identifier: MIT
//! Tokenizers of llama2.c (`tokenizer.py` of github.com/karpathy/llama2.c, `export`), all numbers
//! little-endian:
//!
//! ```text
//! uint32                           bytes of the longest token
//! float32, uint32, bytes of that   score and text of each token; there is no count
//! ```
//!
//! Token 1 begins a text, 1 or 2 end it. Where tokens 3 to 258 are `<0x00>` to `<0xFF>`, characters that
//! are no token are taken byte by byte.

use super::super::Malformed;
use super::EncodeError;

/// The token that begins a text, and ends it too.
pub const BEGIN: usize = 1;
/// The token that ends a text, where it is not [`BEGIN`].
pub const END: usize = 2;
/// The first of the 256 tokens of one byte.
const FIRST_BYTE: usize = 3;
/// Bytes of a text that is encoded, at most: each step looks at all of them.
pub const LONGEST_TEXT: usize = 16 * 1024;

/// A tokenizer of llama2.c.
#[derive(Clone, Debug, PartialEq)]
pub struct Llama2cTokenizer {
    /// Texts of the tokens, one after the other.
    texts: Vec<u8>,
    /// Where the text of each token ends.
    ends: Vec<usize>,
    scores: Vec<f32>,
    /// Tokens in the order of their texts; equal ones in their own.
    sorted: Vec<u32>,
    has_bytes: bool,
}

impl Llama2cTokenizer {
    /// Reads the tokenizer of a model of so many tokens.
    pub fn read(bytes: &[u8], vocab: usize) -> Result<Self, Malformed> {
        let mut file = Bytes { bytes, at: 0 };
        let longest = file.word("the bytes of the longest token")?;
        let longest = u32::from_le_bytes(longest) as usize;
        let mut tokenizer = Self {
            texts: Vec::new(),
            ends: Vec::new(),
            scores: Vec::new(),
            sorted: Vec::new(),
            has_bytes: false,
        };
        while file.at < bytes.len() {
            let token = tokenizer.ends.len();
            if token == vocab {
                let found = format!("{} bytes more", bytes.len() - file.at);
                return Err(Malformed::new(
                    format!("byte {}", file.at),
                    found,
                    format!("the end behind {vocab} tokens, as the weights have"),
                ));
            }
            let score = f32::from_le_bytes(file.word(&format!("the score of token {token}"))?);
            let at = file.at;
            let length = file.word(&format!("the length of token {token}"))?;
            let length = u32::from_le_bytes(length) as usize;
            if length > longest {
                let found = format!("token {token} of {length} bytes");
                let expected = format!("at most {longest}, as byte 0 says");
                return Err(Malformed::new(format!("byte {at}"), found, expected));
            }
            let text = file.take(length, &format!("{length} bytes of token {token}"))?;
            tokenizer.texts.extend_from_slice(text);
            tokenizer.ends.push(tokenizer.texts.len());
            tokenizer.scores.push(score);
        }
        let tokens = tokenizer.ends.len();
        if tokens != vocab {
            let expected = format!("{vocab} tokens, as the weights have");
            return Err(Malformed::new("the end", format!("{tokens} tokens"), expected));
        }
        let mut sorted: Vec<u32> = (0..tokens as u32).collect();
        sorted.sort_by_key(|&token| (tokenizer.text(token as usize), token));
        tokenizer.sorted = sorted;
        tokenizer.has_bytes = tokens >= FIRST_BYTE + 256
            && (0..=255).all(|byte| tokenizer.text(FIRST_BYTE + byte) == byte_token(byte as u8));
        Ok(tokenizer)
    }

    /// Tokens that there are.
    pub fn tokens(&self) -> usize {
        self.ends.len()
    }

    /// A token's text.
    ///
    /// # Panics
    ///
    /// If there is no such token.
    fn text(&self, token: usize) -> &[u8] {
        let from = token.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.texts[from..self.ends[token]]
    }

    /// The token with this text.
    fn find(&self, text: &[u8]) -> Option<usize> {
        let at = self.sorted.partition_point(|&token| self.text(token as usize) < text);
        let token = *self.sorted.get(at)? as usize;
        (self.text(token) == text).then_some(token)
    }

    /// The tokens of a text: [`BEGIN`], then a space where the text is not empty, then the text's
    /// characters, of which neighbours become one token as long as there is one of them both, that of
    /// the highest score first.
    pub fn encode(&self, text: &str) -> Result<Vec<usize>, EncodeError> {
        if text.len() > LONGEST_TEXT {
            return Err(EncodeError::Length(text.len()));
        }
        let mut tokens = Vec::with_capacity(text.len() + 2);
        tokens.extend((!text.is_empty()).then(|| self.find(b" ")).flatten());
        let mut buffer = [0; 4];
        for (at, character) in text.char_indices() {
            let coded = character.encode_utf8(&mut buffer).as_bytes();
            match self.find(coded) {
                Some(token) => tokens.push(token),
                None if self.has_bytes => {
                    tokens.extend(coded.iter().map(|&byte| FIRST_BYTE + usize::from(byte)));
                }
                None => return Err(EncodeError::Character { character, at }),
            }
        }
        self.merge(&mut tokens);
        tokens.insert(0, BEGIN);
        Ok(tokens)
    }

    fn merge(&self, tokens: &mut Vec<usize>) {
        let both = |a: usize, b: usize| self.find(&[self.text(a), self.text(b)].concat());
        // What each token and its neighbour become.
        let mut merged: Vec<Option<usize>> = tokens.windows(2).map(|w| both(w[0], w[1])).collect();
        loop {
            let mut best: Option<(usize, usize)> = None;
            for (at, token) in merged.iter().enumerate() {
                let Some(token) = *token else { continue };
                if best.is_none_or(|(_, before)| self.scores[token] > self.scores[before]) {
                    best = Some((at, token));
                }
            }
            let Some((at, token)) = best else { break };
            tokens[at] = token;
            tokens.remove(at + 1);
            merged.remove(at);
            if at > 0 {
                merged[at - 1] = both(tokens[at - 1], token);
            }
            if let Some(after) = merged.get_mut(at) {
                *after = both(token, tokens[at + 1]);
            }
        }
    }

    /// The text of tokens. [`BEGIN`] and [`END`] have none; a space behind [`BEGIN`] is that of
    /// [`Llama2cTokenizer::encode`]. What is no UTF-8 is replaced.
    ///
    /// # Panics
    ///
    /// If there is no such token.
    pub fn decode(&self, tokens: &[usize]) -> String {
        let mut text = Vec::new();
        let mut before = None;
        for &token in tokens {
            let of_token = self.text(token);
            match token {
                BEGIN | END => {}
                _ if self.has_bytes && (FIRST_BYTE..FIRST_BYTE + 256).contains(&token) => {
                    text.push((token - FIRST_BYTE) as u8);
                }
                _ if before == Some(BEGIN) => {
                    text.extend(of_token.strip_prefix(b" ").unwrap_or(of_token));
                }
                _ => text.extend(of_token),
            }
            before = Some(token);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The text of the token of one byte.
fn byte_token(byte: u8) -> Vec<u8> {
    format!("<0x{byte:02X}>").into_bytes()
}

/// Bytes of a file that are read one after the other.
struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize, what: &str) -> Result<&'a [u8], Malformed> {
        let rest = &self.bytes[self.at..];
        let Some(taken) = rest.get(..count) else {
            let found = format!("{} bytes up to the end", rest.len());
            return Err(Malformed::new(format!("byte {}", self.at), found, what));
        };
        self.at += count;
        Ok(taken)
    }

    fn word(&mut self, what: &str) -> Result<[u8; 4], Malformed> {
        let word = self.take(4, what)?;
        Ok([word[0], word[1], word[2], word[3]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tokens: &[(&str, f32)]) -> Vec<u8> {
        let longest = tokens.iter().map(|(text, _)| text.len()).max().unwrap_or(0);
        let mut bytes = (longest as u32).to_le_bytes().to_vec();
        for (text, score) in tokens {
            bytes.extend(score.to_le_bytes());
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    fn tokenizer(more: &[(&str, f32)]) -> Llama2cTokenizer {
        let tokens = [&[("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)], more].concat();
        Llama2cTokenizer::read(&file(&tokens), tokens.len()).expect("a tokenizer")
    }

    #[test]
    fn neighbours_of_the_highest_score_merge_first() {
        let letters = [(" ", -9.0), ("a", -9.0), ("b", -9.0), ("c", -9.0)]; // 3 to 6
        let pairs = [("ab", -3.0), ("bc", -1.0), ("abc", -5.0), (" a", -4.0)]; // 7 to 10
        let tokenizer = tokenizer(&[letters, pairs].concat());
        assert_eq!(tokenizer.encode(""), Ok(vec![BEGIN]));
        assert_eq!(tokenizer.encode("a"), Ok(vec![BEGIN, 10]));
        // bc, then " a": not abc, of a lower score.
        assert_eq!(tokenizer.encode("abc"), Ok(vec![BEGIN, 10, 8]));
        assert_eq!(tokenizer.encode("cabc"), Ok(vec![BEGIN, 3, 6, 9]));
        assert_eq!(tokenizer.encode("bab"), Ok(vec![BEGIN, 3, 5, 7]));
        for text in ["cabc", "a b", "abcabc", " a"] {
            let tokens = tokenizer.encode(text).expect("known characters");
            assert_eq!(tokenizer.decode(&tokens), text);
        }
        let unknown = EncodeError::Character { character: 'é', at: 1 };
        assert_eq!(tokenizer.encode("aé"), Err(unknown));
        assert!(tokenizer.encode(&"a".repeat(LONGEST_TEXT + 1)).is_err());
    }

    #[test]
    fn unknown_characters_are_taken_byte_by_byte() {
        let bytes: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
        let mut tokens: Vec<(&str, f32)> = bytes.iter().map(|text| (text.as_str(), 0.0)).collect();
        tokens.extend([(" ", 0.0), ("a", 0.0)]);
        let tokenizer = tokenizer(&tokens);
        let encoded = tokenizer.encode("aé").expect("bytes are there");
        assert_eq!(encoded, [BEGIN, 259, 260, 3 + 0xC3, 3 + 0xA9]);
        assert_eq!(tokenizer.decode(&encoded), "aé");
        assert_eq!(tokenizer.decode(&encoded[..4]), "a\u{FFFD}");
    }

    #[test]
    fn what_is_no_tokenizer_is_refused() {
        let good = file(&[("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("a", 0.0)]);
        assert!(Llama2cTokenizer::read(&good, 4).is_ok());
        let refused = |bytes: &[u8], vocab| {
            Llama2cTokenizer::read(bytes, vocab).expect_err("refused").to_string()
        };
        assert!(refused(&good, 5).contains("4 tokens, expected 5 tokens"));
        assert!(refused(&good, 3).contains("expected the end behind 3 tokens"));
        assert!(refused(&good[..3], 4).starts_with("byte 0: 3 bytes up to the end"));
        assert!(refused(&good[..good.len() - 1], 4).contains("expected 1 bytes of token 3"));
        let mut long = good.clone();
        long[8] = 6; // the first token's length
        assert!(refused(&long, 4).contains("token 0 of 6 bytes, expected at most 5"));
        assert!(refused(&[], 4).contains("the bytes of the longest token"));
    }
}
