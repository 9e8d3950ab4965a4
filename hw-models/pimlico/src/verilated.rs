// SPDX-License-Identifier: MIT
//! The RTL that a command wants, made before it begins.

use crate::failure::Failure;
use crate::output;
use pimlico_ports::UnitInfo;
use pimlico_testbenches::build::{self, BuildError, Waves};
use rayon::prelude::*;

/// Makes the RTL of units that has not been made before, on all cores.
pub fn prepare(units: &[&UnitInfo], waves: Waves) -> Result<(), Failure> {
    let wanted: Vec<_> = units.iter().filter(|unit| !build::is_made(unit, waves)).collect();
    let bar = output::progress(wanted.len() as u64, "Verilating, once for this RTL:");
    // The designs, which take longest, stand last: the others fill the cores beside them.
    let made = wanted.into_iter().rev().par_bridge().try_for_each(|unit| {
        bar.set_message(format!("Verilating {}, once for this RTL:", unit.name));
        build::prepare(unit, waves).map(|()| bar.inc(1))
    });
    bar.finish_and_clear();
    // What is there has to be loaded.
    made.and_then(|()| units.iter().try_for_each(|unit| build::prepare(unit, waves)))?;
    Ok(())
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        Self::Input(error.to_string())
    }
}
