// SPDX-License-Identifier: MIT
//! RTL of the user's own for `pimlico cosim`.

use clap::Args;
use std::path::PathBuf;

/// Which RTL is compared.
#[derive(Args)]
#[command(next_help_heading = "RTL of your own")]
#[cfg_attr(not(feature = "cosim"), allow(dead_code))]
pub struct OwnArguments {
    /// Folder with SystemVerilog in place of the built-in RTL: modules that replace those of their name, or a whole
    /// tree with a list `pimlico.f`. Ports are those of the unit; `--list` shows them
    #[arg(long, value_name = "DIR", conflicts_with = "coverage")]
    rtl: Option<PathBuf>,
    /// Module in that folder that is compared with the one unit given, if it has another name
    #[arg(long, value_name = "NAME", requires = "rtl", value_parser = name)]
    module: Option<String>,
    /// Parameter of the module [default: those of the unit; with --module none]
    #[arg(long = "parameter", value_name = "NAME=VALUE", requires = "rtl", value_parser = parameter)]
    parameters: Vec<(String, i64)>,
}

fn name(text: &str) -> Result<String, String> {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name =
        text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    if is_name { Ok(text.to_owned()) } else { Err("expected a name of SystemVerilog".to_owned()) }
}

fn parameter(text: &str) -> Result<(String, i64), String> {
    let (left, right) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = right.parse().map_err(|_| format!("{right}: expected a whole number"))?;
    Ok((name(left)?, value))
}

#[cfg(feature = "cosim")]
impl OwnArguments {
    /// The words that choose it again, with a space before each.
    pub fn words(&self) -> String {
        let rtl = self.rtl.iter().map(|folder| format!(" --rtl {}", folder.display()));
        let module = self.module.iter().map(|module| format!(" --module {module}"));
        let parameters =
            self.parameters.iter().map(|(name, value)| format!(" --parameter {name}={value}"));
        rtl.chain(module).chain(parameters).collect()
    }

    /// The RTL that they choose.
    fn own(&self) -> Option<pimlico_testbenches::build::Own> {
        let (module, parameters) = (self.module.clone(), self.parameters.clone());
        let folder = self.rtl.clone()?;
        Some(pimlico_testbenches::build::Own { folder, module, parameters })
    }

    /// What is simulated in place of the built-in RTL: the digest of its sources, module and parameters.
    pub fn inputs(&self) -> Result<impl serde::Serialize, crate::failure::Failure> {
        let of = |own: pimlico_testbenches::build::Own| {
            Ok::<_, crate::failure::Failure>((own.sha256()?, own.module, own.parameters))
        };
        self.own().map(of).transpose()
    }

    /// Lets the units, so many of them, be made of it.
    pub fn choose(&self, units: usize) -> Result<(), crate::failure::Failure> {
        use crate::failure::Failure;
        let Some(own) = self.own() else { return Ok(()) };
        if self.module.is_some() && units != 1 {
            let message = "--module: expected one unit in one set of parameters, such as `fp_mul:`";
            return Err(Failure::Input(message.to_owned()));
        }
        Ok(pimlico_testbenches::build::use_own(own)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_a_name_and_a_whole_number() {
        assert_eq!(parameter("WIDTH=8"), Ok(("WIDTH".to_owned(), 8)));
        assert_eq!(parameter("A_1=-3"), Ok(("A_1".to_owned(), -3)));
        for wrong in ["WIDTH", "=1", "1A=1", "A=", "A=x", "A b=1", "-GA=1", "A=1=2"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }
}
