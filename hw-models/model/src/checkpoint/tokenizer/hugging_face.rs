// SPDX-License-Identifier: MIT
//! `tokenizer.json` of Hugging Face, read and run by the crate `tokenizers`.
//!
//! The tokens that begin and end a text stand in other files: [`SpecialTokens`].

use super::super::Malformed;
use super::super::config::{Keys, of_type, short, text_of};
use super::super::json::{self, Once, cut};
use super::EncodeError;
use super::guard::guarded;
use serde::Deserialize;
use serde_json::Value;

/// Tokens that begin and end a text, in one of the files `generation_config.json`, `config.json` and
/// `tokenizer_config.json`: the first two have their numbers, the last one has their texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpecialTokens {
    begin: Option<Special>,
    ends: Vec<Special>,
    /// Whether a text begins so, even if `tokenizer.json` does not say it.
    adds_begin: bool,
}

/// A token, and the key that names it.
#[derive(Clone, Debug, PartialEq)]
struct Special {
    key: &'static str,
    token: Token,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(u64),
    Text(String),
}

impl SpecialTokens {
    /// Reads the text of a file.
    pub fn read(text: &[u8]) -> Result<Self, Malformed> {
        let Once(keys) = json::read(text)?;
        let mut begin = numbers(&keys, "bos_token_id")?;
        begin.extend(text_token(&keys, "bos_token")?);
        let mut ends = numbers(&keys, "eos_token_id")?;
        if ends.is_empty() {
            ends.extend(text_token(&keys, "eos_token")?);
        }
        let adds_begin = of_type::<bool>(&keys, "add_bos_token", "true or false")?;
        let begin = begin.into_iter().next();
        Ok(Self { begin, ends, adds_begin: adds_begin.unwrap_or(false) })
    }

    /// Takes from others what these lack.
    pub fn or(self, others: Self) -> Self {
        Self {
            begin: self.begin.or(others.begin),
            ends: if self.ends.is_empty() { others.ends } else { self.ends },
            adds_begin: self.adds_begin || others.adds_begin,
        }
    }
}

/// A key's token, or a list of them.
fn numbers(keys: &Keys, key: &'static str) -> Result<Vec<Special>, Malformed> {
    let list = match keys.get(key) {
        None | Some(Value::Null) => &[],
        Some(Value::Array(list)) => &list[..],
        Some(one) => std::slice::from_ref(one),
    };
    let number = |value: &Value| {
        let number = value.as_u64();
        let number = number.ok_or_else(|| Malformed::new(key, short(value), "a token's number"))?;
        Ok(Special { key, token: Token::Number(number) })
    };
    list.iter().map(number).collect()
}

/// A key's token, by its text or by an object with its text as `content`.
fn text_token(keys: &Keys, key: &'static str) -> Result<Option<Special>, Malformed> {
    let text = match keys.get(key) {
        Some(Value::Object(_)) => {
            let object: Keys = of_type(keys, key, "an object")?.unwrap_or_default();
            text_of(&object, "content")?.map(str::to_owned)
        }
        _ => text_of(keys, key)?.map(str::to_owned),
    };
    Ok(text.map(|text| Special { key, token: Token::Text(text) }))
}

/// What is read of a `tokenizer.json` before the crate reads it.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
}

/// A text that is always one token.
#[derive(Deserialize)]
struct Added {
    id: u32,
    content: String,
}

/// A tokenizer read from a `tokenizer.json` of Hugging Face.
#[derive(Clone, Debug)]
pub struct HuggingFaceTokenizer {
    tokenizer: tokenizers::Tokenizer,
    tokens: usize,
    begin: Option<usize>,
    ends: Vec<usize>,
    adds_begin: bool,
}

impl HuggingFaceTokenizer {
    /// Reads the text of a `tokenizer.json` for a model of so many tokens. It may have fewer: models pad
    /// their vocabularies.
    pub fn read(text: &[u8], special: &SpecialTokens, vocab: usize) -> Result<Self, Malformed> {
        // The crate numbers added tokens for itself.
        let file: File = json::read(text)?;
        // What parses a text is compiled in the crate, what reads bytes would be here.
        let parse = |text: &str| guarded(|| text.parse::<tokenizers::Tokenizer>());
        let read = str::from_utf8(text).map_err(|error| error.to_string()).and_then(parse);
        let read = read.and_then(|read| read.map_err(|error| error.to_string()));
        let mut tokenizer = read.map_err(|error| {
            let found = cut(&error.replace('\n', " "), 200);
            Malformed::new("tokenizer", found, "one that the crate tokenizers reads")
        })?;
        for Added { id, content } in file.added_tokens {
            if tokenizer.token_to_id(&content) != Some(id) {
                let (place, found) = (format!("added_tokens, {:?}", cut(&content, 40)), id);
                let expected = "the number in model.vocab, or the next one behind it";
                return Err(Malformed::new(place, found.to_string(), expected));
            }
        }
        // The prompt is taken as it is.
        tokenizer.with_padding(None);
        let untruncated = tokenizer.with_truncation(None);
        untruncated.map_err(|e| Malformed::new("truncation", e.to_string(), "none"))?;

        // A template may name a special token that there is not.
        let tried = guarded(|| tokenizer.encode("", true).map_err(|error| error.to_string()));
        tried.and_then(|tried| tried).map_err(|error| {
            Malformed::new("post_processor", cut(&error, 200), "one that the crate tokenizers runs")
        })?;

        let last = tokenizer.get_vocab(true).into_iter().max_by_key(|(_, token)| *token);
        let Some((text, last)) = last else {
            return Err(Malformed::new("model.vocab", "no token", "one or more"));
        };
        let tokens = last as usize + 1;
        if tokens > vocab {
            let found = format!("token {last}, {:?}", cut(&text, 40));
            let expected = format!("less than {vocab}, the tokens that the model has");
            return Err(Malformed::new("model.vocab", found, expected));
        }
        let number = |special: &Special| number(&tokenizer, special, vocab);
        let begin = special.begin.as_ref().map(number).transpose()?;
        let ends = special.ends.iter().map(number).collect::<Result<_, _>>()?;
        Ok(Self { tokens, begin, ends, adds_begin: special.adds_begin, tokenizer })
    }

    /// One more than the number of the last token.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// The tokens that end a text.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// The tokens of a text, with those that `tokenizer.json` puts around it. Where it puts none before
    /// it, a text begins with the token that begins one if `add_bos_token` says so, or if it is empty.
    pub fn encode(&self, text: &str) -> Result<Vec<usize>, EncodeError> {
        let encoded = guarded(|| self.tokenizer.encode(text, true));
        let encoded = encoded.and_then(|encoded| encoded.map_err(|error| error.to_string()));
        let encoding =
            encoded.map_err(|error| EncodeError::Other(cut(&error.replace('\n', " "), 200)))?;
        let mut tokens: Vec<_> = encoding.get_ids().iter().map(|&token| token as usize).collect();
        let first = tokens.first().copied();
        if (self.adds_begin || first.is_none()) && first != self.begin {
            tokens.splice(0..0, self.begin);
        }
        if tokens.is_empty() { Err(EncodeError::Empty) } else { Ok(tokens) }
    }

    /// The text of tokens; special ones, and those that the model has and the tokenizer has not, have
    /// none.
    pub fn decode(&self, tokens: &[usize]) -> String {
        let tokens: Vec<_> = tokens.iter().filter_map(|&token| token.try_into().ok()).collect();
        let decoded = guarded(|| self.tokenizer.decode(&tokens, true).ok()).ok().flatten();
        decoded.unwrap_or_else(|| "\u{FFFD}".to_owned())
    }
}

/// The number of a token that begins or ends a text.
fn number(
    tokenizer: &tokenizers::Tokenizer,
    special: &Special,
    vocab: usize,
) -> Result<usize, Malformed> {
    let Special { key, token } = special;
    match token {
        Token::Number(number) if *number < vocab as u64 => Ok(*number as usize),
        Token::Number(number) => {
            let expected = format!("less than {vocab}, the tokens that the model has");
            Err(Malformed::new(*key, number.to_string(), expected))
        }
        Token::Text(text) => {
            let number = tokenizer.token_to_id(text).map(|number| number as usize);
            let found = || format!("{:?}", cut(text, 40));
            number.ok_or_else(|| Malformed::new(*key, found(), "a token of tokenizer.json"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};

    /// Byte-level BPE of the letters a to c; token 0 is special, 6 merges a and b.
    const SMALL: &str = r#"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 2,
        "strategy": "LongestFirst", "stride": 0}, "padding": null,
        "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true}],
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "(?i:'s)|[a-z]+|\\s+(?!\\S)|\\s+"},
                "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                "use_regex": false}]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
            "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null,
            "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
            "byte_fallback": false, "ignore_merges": false,
            "vocab": {"<s>": 0, "a": 1, "b": 2, "c": 3, "Ġ": 4, "Ã": 5, "ab": 6, "©": 7},
            "merges": ["a b"]}}"#;

    fn tokenizer(special: &str, vocab: usize) -> Result<HuggingFaceTokenizer, Malformed> {
        let special = SpecialTokens::read(special.as_bytes()).expect("special tokens");
        HuggingFaceTokenizer::read(SMALL.as_bytes(), &special, vocab)
    }

    #[test]
    fn bytes_merge_and_come_back() {
        let tokenizer = tokenizer("{}", 8).expect("a tokenizer");
        assert_eq!(tokenizer.tokens(), 8);
        // Beyond the length to which the file would cut a text.
        assert_eq!(tokenizer.encode("abc ba"), Ok(vec![6, 3, 4, 2, 1]));
        assert_eq!(tokenizer.encode("é"), Ok(vec![5, 7]));
        assert_eq!(tokenizer.decode(&[5, 7, 6]), "éab");
        assert_eq!(tokenizer.decode(&[5]), "\u{FFFD}");
        // A special token, and one that the model has and the tokenizer has not.
        assert_eq!(tokenizer.decode(&[0, 1, 99, usize::MAX]), "a");
        assert_eq!(tokenizer.encode(""), Err(EncodeError::Empty));
    }

    #[test]
    fn special_tokens_are_numbers_or_texts() {
        let begins = |special: &str| tokenizer(special, 9).expect("it fits");
        assert_eq!(begins(r#"{"bos_token_id": 0}"#).encode(""), Ok(vec![0]));
        assert_eq!(begins(r#"{"bos_token_id": 0}"#).encode("a"), Ok(vec![1]));
        let adds = r#"{"bos_token": {"content": "<s>"}, "add_bos_token": true}"#;
        assert_eq!(begins(adds).encode("a"), Ok(vec![0, 1]));
        assert_eq!(begins(adds).encode("<s>a"), Ok(vec![0, 1]));
        assert_eq!(begins(r#"{"eos_token_id": [8, 2]}"#).ends(), [8, 2]);
        assert_eq!(begins(r#"{"eos_token": "ab"}"#).ends(), [6]);
        let [first, second] =
            [r#"{"eos_token_id": 2}"#, r#"{"eos_token_id": 3, "bos_token_id": 0}"#]
                .map(|text| SpecialTokens::read(text.as_bytes()).expect("special tokens"));
        let both =
            HuggingFaceTokenizer::read(SMALL.as_bytes(), &first.or(second), 8).expect("it fits");
        assert_eq!((both.ends(), both.begin), (&[2][..], Some(0)));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |special, vocab| tokenizer(special, vocab).expect_err("refused").to_string();
        assert_eq!(
            refused("{}", 7),
            "model.vocab: token 7, \"©\", expected less than 7, the tokens that the model has"
        );
        let other = SMALL.replace("{\"id\": 0,", "{\"id\": 3,");
        let other = HuggingFaceTokenizer::read(other.as_bytes(), &SpecialTokens::default(), 8);
        let other = other.expect_err("refused").to_string();
        assert!(other.starts_with("added_tokens, \"<s>\": 3, expected the number"), "{other}");
        assert!(refused(r#"{"eos_token_id": 8}"#, 8).starts_with("eos_token_id: 8, expected"));
        assert!(refused(r#"{"bos_token": "<none>"}"#, 8).starts_with("bos_token: \"<none>\""));
        for text in [r#"{"eos_token_id": [-1]}"#, r#"{"bos_token": 3}"#, "[", r#"{"a": 1, "a": 2}"#]
        {
            assert!(SpecialTokens::read(text.as_bytes()).is_err(), "{text}");
        }
    }

    /// Files with some characters changed.
    #[test]
    fn what_the_crate_panics_at_is_refused() {
        let template = r#""post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<other>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}}"#;
        let unlisted = SMALL.replace(r#""post_processor": null"#, template);
        let key = r#""add_prefix_space": true"#;
        let surrogate = SMALL.replace(key, r#""add_prefix\ud800": true"#);
        let at = SMALL.find(key).expect("the decoder's") + 4;
        let mut no_text = SMALL.as_bytes().to_vec();
        no_text[at] = 0xFF;
        for (text, place) in [
            (unlisted.as_bytes(), "post_processor: "),
            (surrogate.as_bytes(), "tokenizer: "),
            (&no_text, "tokenizer: "),
        ] {
            let read = HuggingFaceTokenizer::read(text, &SpecialTokens::default(), 8);
            let refused = read.expect_err("refused").to_string();
            assert!(refused.starts_with(place), "{refused}");
            assert!(refused.contains("expected one that the crate tokenizers r"), "{refused}");
        }
    }

    #[test]
    fn malformed_files_do_no_harm() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut refused = 0;
        for _ in 0..3000 {
            let mut bytes = SMALL.as_bytes().to_vec();
            for _ in 0..1 + random.next_u64() % 3 {
                let at = random.next_u64() as usize % bytes.len();
                match random.next_u64() % 4 {
                    0 => bytes[at] = b"0129{}[]\",: ab"[random.next_u64() as usize % 14],
                    1 => drop(bytes.remove(at)),
                    2 => bytes.insert(at, b"09\",[]{}"[random.next_u64() as usize % 8]),
                    _ => bytes.truncate(at.max(1)),
                }
            }
            match HuggingFaceTokenizer::read(&bytes, &SpecialTokens::default(), 8) {
                Ok(tokenizer) => drop(tokenizer.encode("ab cé").map(|t| tokenizer.decode(&t))),
                Err(error) => {
                    refused += 1;
                    let message = error.to_string();
                    assert!(message.lines().count() == 1 && message.len() < 600, "{message}");
                }
            }
        }
        assert!(refused > 1000, "{refused}");
    }
}
