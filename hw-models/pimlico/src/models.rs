// SPDX-License-Identifier: MIT
//! Names of language models on the command line: one set, whatever the command.

use crate::failure::Failure;
use crate::names;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pimlico_model::{Model, presets};
use std::sync::LazyLock;

/// Names of the language models.
static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| presets().into_keys().collect());

/// Takes the name of a language model.
pub fn model_name() -> impl TypedValueParser<Value = String> {
    PossibleValuesParser::new(NAMES.iter().map(String::as_str)).map(|name| name.to_lowercase())
}

/// The model with this name.
pub fn find_model(name: &str) -> Result<Model, Failure> {
    presets().remove(name).ok_or_else(|| {
        let list = "pimlico run l3 attention --help";
        let instead = names::instead(name, NAMES.iter().map(String::as_str), list);
        Failure::Input(format!("--model {name}: no such model; {instead}"))
    })
}
