// SPDX-License-Identifier: MIT
//! `pimlico layout check`: an image, converted back element by element and compared with the model.

use super::image;
use super::weights::WeightArguments;
use crate::failure::Failure;
use crate::files;
use crate::output::{self, grouped};
use clap::Args;
use pimlico_host::lp5_image::element;
use std::path::PathBuf;

/// Arguments of `pimlico layout check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout check tiny.lp5
  pimlico layout check model.lp5 model.safetensors --config config.json")]
pub struct CheckArguments {
    /// The image
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    #[command(flatten)]
    weights: WeightArguments,
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let CheckArguments { image: file, weights } = arguments;
    let weights = weights.open()?;
    let bytes = files::map(file)?;
    let image = image::read(file, &bytes)?;
    let matrices = weights.matrices();
    image.has_matrices(file, &matrices, &weights.name)?;
    let (mut compared, mut not_zero) = (0u64, 0u64);
    for (place, (name, layout)) in matrices.iter().zip(image.plan.matrices()) {
        let expected = weights.elements(place, image.elements)?;
        let (_, columns) = layout.shape();
        for (number, &expected) in (0u64..).zip(&expected) {
            let (row, column) = (number / columns, number % columns);
            let found = element(image.memory, layout, row, column);
            if found != expected {
                let file = file.display();
                return Err(Failure::Check(format!(
                    "{file}: {name}, row {row}, column {column}: {found:#06x}, the weights have {expected:#06x}"
                )));
            }
            compared += 1;
            not_zero += u64::from(found != 0);
        }
    }
    // Elements have places of their own, so that what is more than theirs is in padding.
    let words = image.memory.chunks_exact(2).filter(|word| **word != [0, 0]).count() as u64;
    if words != not_zero {
        let (file, more) = (file.display(), words - not_zero);
        return Err(Failure::Check(format!("{file}: {more} numbers of padding are not zero")));
    }
    output::print(&format!(
        "{}: {} elements of {} are those of {} in {}; padding is zero\n",
        file.display(),
        grouped(compared),
        matrices.len(),
        weights.name,
        image.elements.name()
    ))
}
