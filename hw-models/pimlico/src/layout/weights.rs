// SPDX-License-Identifier: MIT
//! The matrices of a model that run in the banks, in numbers of 16 bits.

use super::image::Element;
use crate::failure::Failure;
use crate::files;
use crate::run::checkpoint::{malformed, read_config_with_weights};
use crate::run::{folder, source};
use clap::Args;
use half::{bf16, f16};
use pimlico_device::lp5::AddressMap;
use pimlico_host::lp5_image::ImagePlan;
use pimlico_model::checkpoint::places::{Place, Places, Stored};
use pimlico_model::checkpoint::{llama2c, safetensors, tiny};
use pimlico_stream::source::{LayerSource, ReadAt, Reading};
use pimlico_workload::host_memory;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Which model.
#[derive(Args)]
pub struct WeightArguments {
    /// A llama2.c checkpoint, or a .safetensors file with its --config [default: the built-in tiny model]
    #[arg(value_name = "WEIGHTS")]
    weights: Option<PathBuf>,
    /// Shapes of a .safetensors file: a config.json of Hugging Face
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A model's folder as Hugging Face lays it out: model.safetensors, or the shards of model.safetensors.index.json
    #[arg(long, value_name = "DIR", conflicts_with_all = ["weights", "config"])]
    model_dir: Option<PathBuf>,
}

/// A model whose file is open.
pub struct Weights {
    /// Its name.
    pub name: String,
    source: LayerSource,
}

impl WeightArguments {
    /// Opens the file and finds the matrices in it.
    pub fn open(&self) -> Result<Weights, Failure> {
        let (name, files, places): (String, Files, _) = match (&self.model_dir, &self.weights) {
            (Some(folder), _) => {
                let (files, places) = source::places_in(folder, &folder::config(folder)?)?;
                let files = files.iter().map(|file| opened(file)).collect::<Result<_, _>>()?;
                (folder.display().to_string(), files, places)
            }
            (None, None) if self.config.is_some() => {
                let message = "--config: expected a .safetensors file with it";
                return Err(Failure::Input(message.to_owned()));
            }
            (None, None) => {
                let name = tiny::NAME.to_owned();
                let places = llama2c::places(tiny::WEIGHTS, tiny::WEIGHTS.len() as u64);
                let places = places.map_err(|error| malformed(Path::new(&name), &error))?;
                let file: Box<dyn ReadAt> = Box::new(tiny::WEIGHTS);
                (name.clone(), vec![(name, file)], places)
            }
            (None, Some(file)) => {
                let places = places(file, self.config.as_deref())?;
                (file.display().to_string(), vec![opened(file)?], places)
            }
        };
        let source = LayerSource::new(files, places, Reading::default());
        let source = source.map_err(|error| Failure::Input(error.to_string()))?;
        Ok(Weights::new(name, source))
    }
}

/// Files by their names.
type Files = Vec<(String, Box<dyn ReadAt>)>;

fn opened(file: &Path) -> Result<(String, Box<dyn ReadAt>), Failure> {
    let opened = File::open(file).map_err(|error| Failure::file(file, &error))?;
    Ok((file.display().to_string(), Box::new(opened)))
}

/// Where the tensors of a file are.
fn places(file: &Path, config: Option<&Path>) -> Result<Places, Failure> {
    let is_safetensors = file.extension().is_some_and(|extension| extension == "safetensors");
    let (name, wrong) = (file.display(), |error| malformed(file, &error));
    match config {
        Some(config) if is_safetensors => {
            let config = read_config_with_weights(config)?;
            safetensors::places(&files::map(file)?, &config).map_err(wrong)
        }
        None if is_safetensors => {
            Err(Failure::Input(format!("{name}: expected --config FILE with it")))
        }
        Some(_) => {
            Err(Failure::Input(format!("{name}: with --config, expected a .safetensors file")))
        }
        None => {
            let bytes = files::map(file)?;
            let start = &bytes[..bytes.len().min(llama2c::HEADER_BYTES)];
            llama2c::places(start, bytes.len() as u64).map_err(wrong)
        }
    }
}

impl Weights {
    /// Those of layers in files.
    pub fn new(name: String, source: LayerSource) -> Self {
        Self { name, source }
    }

    /// The files.
    pub fn source(&self) -> &LayerSource {
        &self.source
    }

    /// The matrices, layer by layer, the language-model head last.
    pub fn matrices(&self) -> Vec<Place> {
        let places = self.source.places();
        let of_layers = places.layers.iter().flatten().map(|(_, place)| place);
        let head = places.classifier.as_ref().unwrap_or(&places.embedding);
        of_layers.filter(|place| place.rows > 1).chain([head]).cloned().collect()
    }

    /// Their places in an image with an address map, as `--map` gives it.
    pub fn plan(&self, map: &AddressMap) -> Result<ImagePlan, Failure> {
        let plan = ImagePlan::new(map.clone());
        let mut plan = plan.map_err(|error| Failure::Input(format!("--map: {error}")))?;
        for place in self.matrices() {
            let shape = (place.rows as u64, place.columns as u64);
            plan.push(&place.name, shape)
                .map_err(|error| Failure::Input(format!("{}: {error}", self.name)))?;
        }
        Ok(plan)
    }

    /// The elements of a matrix, row by row.
    pub fn elements(&self, place: &Place, element: Element) -> Result<Vec<u16>, Failure> {
        let input = |error: &dyn std::fmt::Display| Failure::Input(error.to_string());
        let wanted = place.bytes() as u128 + 2 * place.numbers() as u128;
        host_memory::check(&format!("{}: {}", self.name, place.name), wanted)
            .map_err(|error| input(&error))?;
        let bytes = self.source.tensor(place).map_err(|error| input(&error))?;
        let bytes = &bytes[..place.bytes()];
        if place.stored == element.stored_as() {
            let words = bytes.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
            return Ok(words.collect());
        }
        let mut elements = Vec::with_capacity(place.numbers());
        let mut row = vec![0.0; place.columns];
        let row_bytes = place.columns * place.stored.bytes();
        for (number, bytes) in bytes.chunks_exact(row_bytes).enumerate() {
            place.stored.widen(bytes, &mut row);
            for (column, &weight) in row.iter().enumerate() {
                elements.push(element.of(weight).ok_or_else(|| {
                    let (file, matrix, format) = (&self.name, &place.name, element.name());
                    Failure::Input(format!(
                        "{file}: {matrix}, row {number}, column {column}: weight {weight:?}, expected one that \
                         {format} holds"
                    ))
                })?);
            }
        }
        Ok(elements)
    }

    /// Whether the file is the one that was opened.
    pub fn check_unchanged(&self) -> Result<(), Failure> {
        self.source.check_unchanged().map_err(|error| Failure::Input(error.to_string()))
    }

    /// How the elements came about, in words.
    pub fn rounding(&self, element: Element) -> String {
        let stored = self.matrices().first().map_or(Stored::F32, |place| place.stored);
        let format = element.name();
        match stored {
            stored if stored == element.stored_as() => format!("{format}, as stored"),
            Stored::F32 => format!("{format}, rounded from binary32"),
            Stored::F16 => format!("{format}, rounded once from binary16"),
            Stored::Bf16 => format!("{format}, rounded once from bfloat16"),
        }
    }
}

impl Element {
    /// How a tensor is stored that has these elements.
    pub fn stored_as(self) -> Stored {
        match self {
            Self::Bfloat16 => Stored::Bf16,
            Self::Binary16 => Stored::F16,
        }
    }

    /// A number in 16 bits, to the nearest, ties to even; none if it has none.
    fn of(self, weight: f32) -> Option<u16> {
        match self {
            Self::Bfloat16 => {
                let rounded = bf16::from_f32(weight);
                rounded.is_finite().then(|| rounded.to_bits())
            }
            Self::Binary16 => {
                let rounded = f16::from_f32(weight);
                rounded.is_finite().then(|| rounded.to_bits())
            }
        }
    }
}
