// SPDX-License-Identifier: MIT
//! The files of a model whose layers are read one by one.

use super::{checkpoint, folder};
use crate::failure::Failure;
use crate::files;
use clap::Args;
use pimlico_golden::llama::Llama;
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::index::Index;
use pimlico_model::checkpoint::places::Places;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, safetensors, tiny};
use pimlico_stream::source::{LayerSource, ReadAt, Reading};
use pimlico_workload::decode;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Bytes of an index, at the most.
const LARGEST_INDEX: usize = 64 << 20;

/// Which model.
#[derive(Args, Clone)]
#[command(next_help_heading = "Model")]
pub struct ModelArguments {
    /// Weights: a llama2.c checkpoint, or a .safetensors file with its --config; a tiny model is built in
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Their tokenizer, in llama2.c's format
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<PathBuf>,
    /// A model's folder as Hugging Face lays it out, with its tokenizer.json or --tokenizer
    #[arg(long, value_name = "DIR")]
    model_dir: Option<PathBuf>,
    /// Shapes of a .safetensors file: a config.json of Hugging Face
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// A model whose files are open.
pub struct Opened {
    /// Its name.
    pub name: String,
    /// Its layers.
    pub source: LayerSource,
    /// Its tokenizer.
    pub tokenizer: Tokenizer,
    /// The prompt, unless it is given.
    pub prompt: &'static str,
}

impl ModelArguments {
    /// The model of files: weights with their tokenizer and perhaps shapes, or a folder.
    pub fn of([weights, tokenizer, model_dir, config]: [&Option<PathBuf>; 4]) -> Self {
        Self {
            weights: weights.clone(),
            tokenizer: tokenizer.clone(),
            model_dir: model_dir.clone(),
            config: config.clone(),
        }
    }

    /// The words that name the same model.
    pub fn words(&self) -> Vec<OsString> {
        let Self { weights, tokenizer, model_dir, config } = self;
        let files = [
            ("--weights", weights),
            ("--tokenizer", tokenizer),
            ("--model-dir", model_dir),
            ("--config", config),
        ];
        let given = files.into_iter().filter_map(|(flag, file)| Some((flag, file.as_ref()?)));
        given.flat_map(|(flag, file)| [flag.into(), file.clone().into_os_string()]).collect()
    }

    /// Opens the files and finds the layers in them.
    pub fn open(&self, reading: Reading) -> Result<Opened, Failure> {
        let Self { weights, tokenizer, model_dir, config } = self;
        let (name, files, places, tokenizer) = match (model_dir, weights, tokenizer, config) {
            (None, None, None, None) => return built_in(reading),
            (None, Some(weights), Some(tokenizer), config) => {
                let places = places(weights, config.as_deref())?;
                let tokenizer = checkpoint::read_tokenizer(tokenizer, places.shape.vocab)?;
                (weights.display().to_string(), vec![weights.clone()], places, tokenizer)
            }
            (Some(folder), None, tokenizer, None) => {
                let config = folder::config(folder)?;
                let vocab = config.shape.vocab;
                let tokenizer = match tokenizer {
                    Some(tokenizer) => checkpoint::read_tokenizer(tokenizer, vocab)?,
                    None => folder::tokenizer(folder, vocab)?,
                };
                let (files, places) = places_in(folder, &config)?;
                (folder.display().to_string(), files, places, tokenizer)
            }
            _ => {
                let expected = "model: expected --model-dir DIR, or --weights FILE and --tokenizer FILE, or none \
                                of them nor --config";
                return Err(Failure::Input(expected.to_owned()));
            }
        };
        let open = |file: PathBuf| -> Result<(String, Box<dyn ReadAt>), Failure> {
            let opened = File::open(&file).map_err(|error| Failure::file(&file, &error))?;
            Ok((file.display().to_string(), Box::new(opened)))
        };
        let files = files.into_iter().map(open).collect::<Result<_, _>>()?;
        let source = LayerSource::new(files, places, reading).map_err(failure)?;
        Ok(Opened { name, source, tokenizer, prompt: "" })
    }

    /// The model in float64, for which all of it is read.
    pub fn reference(&self) -> Result<Llama, Failure> {
        match (&self.model_dir, &self.weights) {
            (Some(folder), _) => {
                Ok(decode::reference(&folder::model(folder, &folder::config(folder)?)?))
            }
            (None, Some(weights)) => {
                Ok(checkpoint::read_weights(weights, self.config.as_deref())?.1)
            }
            (None, None) => Ok(checkpoint::tiny_job(1, 1)?.reference),
        }
    }
}

/// The model that is built in.
fn built_in(reading: Reading) -> Result<Opened, Failure> {
    let wrong = |error| checkpoint::malformed(Path::new(tiny::NAME), &error);
    let places = llama2c::places(tiny::WEIGHTS, tiny::WEIGHTS.len() as u64).map_err(wrong)?;
    let tokenizer = Tokenizer::read(tiny::TOKENIZER, places.shape.vocab).map_err(wrong)?;
    let file: Box<dyn ReadAt> = Box::new(tiny::WEIGHTS);
    let files = vec![(tiny::NAME.to_owned(), file)];
    let source = LayerSource::new(files, places, reading).map_err(failure)?;
    Ok(Opened { name: tiny::NAME.to_owned(), source, tokenizer, prompt: tiny::PROMPT })
}

/// What goes wrong with files.
pub fn failure(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

/// Where the layers are in one file.
fn places(file: &Path, config: Option<&Path>) -> Result<Places, Failure> {
    let is_safetensors = file.extension().is_some_and(|extension| extension == "safetensors");
    let wrong = |error| checkpoint::malformed(file, &error);
    let name = file.display();
    match config {
        Some(config) if is_safetensors => {
            let config = checkpoint::read_config_with_weights(config)?;
            // Of the map only pages of the header are touched, and it is gone before layers are loaded.
            safetensors::places(&files::map(file)?, &config).map_err(wrong)
        }
        None if is_safetensors => {
            Err(Failure::Input(format!("--weights {name}: expected --config FILE with it")))
        }
        Some(_) => {
            let message = format!("--weights {name}: with --config, expected a .safetensors file");
            Err(Failure::Input(message))
        }
        None => {
            let io = |error| Failure::file(file, &error);
            let metadata = std::fs::metadata(file).map_err(io)?;
            if !metadata.is_file() {
                return Err(io(std::io::Error::other("not a regular file")));
            }
            let start = files::read_start(file, llama2c::HEADER_BYTES).map_err(io)?;
            llama2c::places(&start, metadata.len()).map_err(wrong)
        }
    }
}

/// The files of a folder, and where the layers are in them.
pub fn places_in(folder: &Path, config: &Config) -> Result<(Vec<PathBuf>, Places), Failure> {
    let [single, index] =
        ["model.safetensors", "model.safetensors.index.json"].map(|name| folder.join(name));
    if single.exists() || !index.exists() {
        let wrong = |error| checkpoint::malformed(&single, &error);
        let places = safetensors::places(&files::map(&single)?, config).map_err(wrong)?;
        return Ok((vec![single], places));
    }
    let wrong = |error| checkpoint::malformed(&index, &error);
    let read = Index::read(&files::read(&index, LARGEST_INDEX)?).map_err(wrong)?;
    let files: Vec<_> = read.shards().iter().map(|shard| folder.join(shard)).collect();
    let map = |(shard, file): (&String, &PathBuf)| {
        files::try_map(file).map_err(|error| wrong(read.unreadable(shard, &error.to_string())))
    };
    let maps = read.shards().iter().zip(&files).map(map).collect::<Result<Vec<_>, _>>()?;
    let places = safetensors::places_in_shards(&maps, &read, config).map_err(wrong)?;
    Ok((files, places))
}
