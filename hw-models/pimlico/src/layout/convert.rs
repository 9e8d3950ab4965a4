// SPDX-License-Identifier: MIT
//! `pimlico layout convert`: the model converter of PIM-SHERPA (Figure 8), which runs ahead of time.

use super::image::{self, Element};
use super::weights::WeightArguments;
use crate::failure::Failure;
use crate::files::Output;
use crate::output::{self, grouped};
use crate::values::size;
use clap::Args;
use pimlico_device::lp5::AddressMap;
use pimlico_host::attribute::NoContiguous;
use pimlico_host::lp5_image::pack_row;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Arguments of `pimlico layout convert`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout convert -o tiny.lp5
  pimlico layout convert model.safetensors --config config.json -o model.lp5
  pimlico layout convert stories15M.bin --elements binary16 -o stories.lp5
  pimlico layout convert --model-dir Llama-3.2-1B --cma 3G -o model.lp5")]
pub struct ConvertArguments {
    #[command(flatten)]
    weights: WeightArguments,
    /// Fields of an address from the top, with their bits
    #[arg(long, default_value = AddressMap::DEFAULT, value_name = "FIELDS")]
    map: AddressMap,
    /// Format of elements
    #[arg(long, value_enum, default_value_t = Element::Bfloat16)]
    elements: Element,
    /// Contiguous memory that is not cacheable, as 1G: K, M and G are powers of 1024. A model that does not fit is refused
    #[arg(long, value_name = "SIZE", value_parser = size)]
    cma: Option<u64>,
    /// The image
    #[arg(short, long, value_name = "IMAGE")]
    output: PathBuf,
}

/// Runs the command.
pub fn run(arguments: &ConvertArguments) -> Result<(), Failure> {
    let ConvertArguments { weights, map, elements, cma, output } = arguments;
    let weights = weights.open()?;
    let matrices = weights.matrices();
    let plan = weights.plan(map)?;
    NoContiguous::check(&weights.name, plan.bytes(), *cma)
        .map_err(|error| Failure::Input(format!("--cma: {error}")))?;
    let to = Output::open(output)?;
    let file = File::options().append(true).open(to.path()).map_err(|error| to.failed(&error))?;
    let mut file = Digested { file: BufWriter::new(file), sha: Sha256::new() };
    file.write(&image::start(&plan, *elements)).map_err(|error| to.failed(&error))?;
    let mut memory = vec![0; plan.map().row_bytes() as usize];
    for (place, (_, layout)) in matrices.iter().zip(plan.matrices()) {
        let of_matrix = weights.elements(place, *elements)?;
        for row in layout.first_row()..layout.first_row() + layout.bank_rows() {
            pack_row(layout, row, &of_matrix, &mut memory);
            file.write(&memory).map_err(|error| to.failed(&error))?;
        }
    }
    weights.check_unchanged()?;
    file.end().map_err(|error| to.failed(&error))?;
    let to_stdout = to.is_stdout();
    to.whole()?;
    let what = format!(
        "{} matrices of {} in {} bytes of memory, {} rows of each bank; {}",
        matrices.len(),
        weights.name,
        grouped(plan.bytes()),
        grouped(plan.rows()),
        weights.rounding(*elements)
    );
    output::tell_written(output, to_stdout, &what)
}

/// A file, and the digest of what was written to it.
struct Digested {
    file: BufWriter<File>,
    sha: Sha256,
}

impl Digested {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.sha.update(bytes);
        self.file.write_all(bytes)
    }

    fn end(mut self) -> std::io::Result<()> {
        self.file.write_all(&self.sha.finalize())?;
        self.file.flush()
    }
}
