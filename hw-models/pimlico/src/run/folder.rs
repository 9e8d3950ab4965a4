// SPDX-License-Identifier: MIT
//! A language model in a folder, as Hugging Face lays it out: `config.json`, `model.safetensors` or its
//! index with shards, `tokenizer.json` and what says which tokens begin and end a text.

use super::checkpoint::{fits, malformed, read_config_with_weights, read_safetensors};
use crate::failure::Failure;
use crate::files;
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::index::Index;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Checkpoint, safetensors};
use std::path::Path;

/// Bytes of an index, at the most.
const LARGEST_INDEX: usize = 64 << 20;

/// What the model is.
pub fn config(folder: &Path) -> Result<Config, Failure> {
    read_config_with_weights(&folder.join("config.json"))
}

/// The model.
pub fn model(folder: &Path, config: &Config) -> Result<Checkpoint, Failure> {
    let [single, index] =
        ["model.safetensors", "model.safetensors.index.json"].map(|name| folder.join(name));
    match (single.exists(), index.exists()) {
        (true, _) => read_safetensors(&single, config),
        (false, true) => shards(folder, &index, config),
        (false, false) => {
            let folder = folder.display();
            Err(Failure::Input(format!(
                "{folder}: expected model.safetensors or model.safetensors.index.json in it"
            )))
        }
    }
}

fn shards(folder: &Path, file: &Path, config: &Config) -> Result<Checkpoint, Failure> {
    let index = Index::read(&files::read(file, LARGEST_INDEX)?).map_err(|e| malformed(file, &e))?;
    let map = |shard: &String| {
        let unreadable = |why: &str| malformed(file, &index.unreadable(shard, why));
        let file = folder.join(shard);
        let bytes = files::try_map(&file).map_err(|error| unreadable(&error.to_string()))?;
        fits(&file, &bytes)?;
        Ok(bytes)
    };
    let shards = index.shards().iter().map(map).collect::<Result<Vec<_>, Failure>>()?;
    safetensors::read_shards(&shards, &index, config).map_err(|e| malformed(file, &e))
}

/// The tokenizer of a model of so many tokens.
#[cfg(feature = "hf-tokenizers")]
pub fn tokenizer(folder: &Path, vocab: usize) -> Result<Tokenizer, Failure> {
    use super::checkpoint::LARGEST_TOKENIZER;
    use crate::output;
    use pimlico_model::checkpoint::tokenizer::hugging_face::{HuggingFaceTokenizer, SpecialTokens};

    let mut special = SpecialTokens::default();
    for name in ["generation_config.json", "config.json", "tokenizer_config.json"] {
        let file = folder.join(name);
        if file.exists() {
            let text = files::read(&file, LARGEST_TOKENIZER)?;
            special = special.or(SpecialTokens::read(&text).map_err(|e| malformed(&file, &e))?);
        }
    }
    let file = folder.join("tokenizer.json");
    let text = files::read(&file, LARGEST_TOKENIZER)?;
    let tokenizer = HuggingFaceTokenizer::read(&text, &special, vocab);
    let tokenizer = tokenizer.map_err(|e| malformed(&file, &e))?;
    if tokenizer.tokens() < vocab {
        let (file, tokens) = (file.display(), tokenizer.tokens());
        output::complain(&format!("note: {file}: {tokens} tokens, the model has {vocab}"));
    }
    Ok(Tokenizer::HuggingFace(Box::new(tokenizer)))
}

/// What it takes to read the tokenizer, in a build that does not.
#[cfg(not(feature = "hf-tokenizers"))]
pub fn tokenizer(folder: &Path, _vocab: usize) -> Result<Tokenizer, Failure> {
    let file = folder.join("tokenizer.json");
    Err(Failure::Input(format!(
        "{}: to read it, build with `cargo build --release --features pimlico/hf-tokenizers`, or give a \
         llama2.c tokenizer by --tokenizer FILE",
        file.display()
    )))
}
