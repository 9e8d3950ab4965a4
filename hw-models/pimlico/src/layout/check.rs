// SPDX-License-Identifier: MIT
//! `pimlico layout check`: an image, converted back element by element and compared with the model.

use super::image;
use super::target::TargetName;
use super::weights::WeightArguments;
use crate::failure::Failure;
use crate::files;
use crate::output::{self, grouped};
use clap::Args;
use pimlico_device::lp5::{HostOrder, Lp5Layout};
use pimlico_host::lp5_image::element;
use pimlico_host::swizzle::rows::swizzled_rows;
use pimlico_host::swizzle::{ReadOrder, swizzled_copy};
use pimlico_workload::host_memory;
use std::num::NonZero;
use std::path::PathBuf;

/// Arguments of `pimlico layout check`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout check tiny.lp5
  pimlico layout check model.lp5 model.safetensors --config config.json
  pimlico layout check model.lp5 --model-dir Llama-3.2-1B --target row-major")]
pub struct CheckArguments {
    /// The image
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    #[command(flatten)]
    weights: WeightArguments,
    /// Copy each matrix into this order by the swizzled copy, and compare the copy byte by byte too
    #[arg(long, value_enum)]
    target: Option<TargetName>,
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let CheckArguments { image: file, weights, target } = arguments;
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
        if let Some(target) = target
            && let Some(wrong) = differs(image.memory, layout, target.order(), &expected)?
        {
            let (file, order) = (file.display(), target.order().name());
            return Err(Failure::Check(format!(
                "{file}: {name}, byte {wrong} of its {order} copy"
            )));
        }
    }
    // Elements have places of their own, so that what is more than theirs is in padding.
    let words = image.memory.chunks_exact(2).filter(|word| **word != [0, 0]).count() as u64;
    if words != not_zero {
        let (file, more) = (file.display(), words - not_zero);
        return Err(Failure::Check(format!("{file}: {more} numbers of padding are not zero")));
    }
    let copies = target.map_or(String::new(), |target| {
        format!("; {} copies are the same byte by byte", target.order().name())
    });
    output::print(&format!(
        "{}: {} elements of {} are those of {} in {}; padding is zero{copies}\n",
        file.display(),
        grouped(compared),
        matrices.len(),
        weights.name,
        image.elements.name()
    ))
}

/// The first byte of a swizzled copy that is not that of the elements, row by row.
fn differs(
    memory: &[u8],
    layout: &Lp5Layout,
    order: HostOrder,
    elements: &[u16],
) -> Result<Option<usize>, Failure> {
    let (rows, columns) = layout.shape();
    let bytes = 2 * elements.len();
    host_memory::check("--target", 2 * bytes as u128)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let (mut copy, mut source) = (vec![0; bytes], vec![0; bytes]);
    for (number, element) in (0..).zip(elements) {
        let at = order.offset((rows, columns), (number / columns, number % columns)) as usize;
        source[at..at + 2].copy_from_slice(&element.to_le_bytes());
    }
    let memory = &memory[layout.base_address() as usize..];
    let how = (ReadOrder::RowBuffer, NonZero::<usize>::MIN);
    match order {
        HostOrder::ColumnMajor => swizzled_copy(layout, memory, how.0, how.1, &mut copy),
        HostOrder::RowMajor => swizzled_rows(layout, memory, how.0, how.1, &mut copy),
    }
    Ok(copy.iter().zip(&source).position(|(copy, source)| copy != source))
}
