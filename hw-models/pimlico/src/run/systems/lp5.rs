// SPDX-License-Identifier: MIT
//! `pimlico run lp5`: matrices times vectors, and text, on LPDDR5X-PIM.

use super::{Ended, Face};
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::run::arguments::{RunArguments, flags};
use crate::run::backend::prepare_all;
use crate::run::groups::Common;
use crate::run::{Job, ended};
use crate::values::{Switch, size};
use clap::{Args, ValueEnum};
use pimlico_backends::lp5;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::lp5::{BlockElements, BlockFormats, Lp5Options, Lp5Spec};
use pimlico_device::{Mismatch, SystemKind};
use pimlico_host::attribute::Attribute;
use pimlico_workload::system::{Lp5 as System, Lp5Memory};
use std::path::Path;
#[cfg(feature = "rtl")]
use {
    crate::run::{again, shown},
    pimlico_backends::watch::Watch,
    pimlico_testbenches::Waveforms,
};

/// The default device.
const DEVICE: &str = "lpddr5x-8533-pim";
/// Bytes of a device's file, at the most.
const LARGEST_FILE: usize = 1 << 16;

/// LPDDR5X with a PIM block at each bank.
#[derive(Args)]
#[command(next_help_heading = "Device")]
pub(super) struct Lp5 {
    /// Format of weights and inputs
    #[arg(long, value_enum, default_value_t = ElementsFormat::Bfloat16)]
    elements: ElementsFormat,
    /// Format of sums: that of the elements, or binary32 [default: that of the elements; of decode binary32]
    #[arg(long, value_enum)]
    sums: Option<Sums>,
    /// ns that a fence takes the host beside its wait for data; there are two for each tile of outputs
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    fence_ns: u64,
    /// How the host reaches weights. Cacheable, a product is run twice and fails, as other reads arrive at the blocks than
    /// those of its MACs
    #[arg(long, value_enum, default_value_t = OfMemory::NonCacheable)]
    attribute: OfMemory,
    /// Whether the host's cache brings the line behind one that missed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    prefetch: Switch,
    /// Contiguous memory for weights that are not cacheable, as 1G: K, M and G are powers of 1024. Weights that do not fit are
    /// refused [default: all of the device's]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    cma: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OfMemory {
    /// Each load is a read, in the order of the program
    NonCacheable,
    /// Through a cache of 8 MiB in 16 ways
    Cacheable,
}

#[derive(Clone, Copy, ValueEnum)]
enum ElementsFormat {
    /// PIM-SHERPA's
    Bfloat16,
    /// Three more bits of precision, three fewer of range
    Binary16,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sums {
    /// PIM-SHERPA's
    Bfloat16,
    /// Of elements of binary16
    Binary16,
    /// A wider one
    Binary32,
}

impl Face for Lp5 {
    const NAME: &'static str = "lp5";
    const KIND: Option<SystemKind> = None;
    const DEVICE: &'static str = DEVICE;
    const ABOUT: &'static str = "PIM-SHERPA's LPDDR5X-PIM, four channels with a block at each bank";
    const OPERATORS: Option<&'static [&'static str]> = Some(&["gemv", "decode"]);
    const OPTIONS: &'static [Common] =
        &[Common::OnHost, Common::Judging, Common::References, Common::Waveform, Common::Picture];
    const HEAD_DIM: usize = 0;

    fn io_buffers(&self) -> Option<IoBuffers> {
        Some(IoBuffers::Single)
    }

    fn words(&self, _: &RunArguments) -> String {
        let Self { elements, sums, fence_ns, attribute, prefetch, cma } = self;
        let cached = (*attribute == OfMemory::Cacheable).then_some(());
        let name = |value: clap::builder::PossibleValue| value.get_name().to_owned();
        flags([
            ("elements", elements.to_possible_value().map(name)),
            ("sums", sums.and_then(|sums| sums.to_possible_value()).map(name)),
            ("fence-ns", Some(fence_ns.to_string())),
            ("attribute", cached.and(attribute.to_possible_value()).map(name)),
            ("prefetch", cached.and(prefetch.to_possible_value()).map(name)),
            ("cma", cma.map(|bytes| format!("{}K", bytes >> 10))),
        ])
    }

    fn run(&self, job: &Job, arguments: &RunArguments, vcd: Option<Output>) -> Ended {
        if arguments.faw_banks.is_some() {
            let message = "--faw-banks: not with `run lp5`, where an ACT opens all banks";
            return Err(Failure::Input(message.to_owned()));
        }
        if self.cma.is_some() && self.attribute == OfMemory::Cacheable {
            let message = "--cma: it goes with --attribute non-cacheable";
            return Err(Failure::Input(message.to_owned()));
        }
        let spec = spec(arguments.device.as_deref().unwrap_or(DEVICE))?;
        let refresh = arguments.refresh == Switch::On;
        let options = Lp5Options { formats: self.formats(arguments.op)?, refresh, plain: false };
        let memory = Lp5Memory {
            attribute: match self.attribute {
                OfMemory::NonCacheable => Attribute::NonCacheable,
                OfMemory::Cacheable => Attribute::Cacheable,
            },
            prefetches: self.prefetch == Switch::On,
            contiguous: self.cma,
        };
        let backend = arguments.backend;
        prepare_all(backend, || Ok(lp5::units(options)))?;
        let device = lp5::device(backend, &spec, options, arguments.seed)?;
        let system = System::of(device, spec.clone(), self.fence_ns);
        let mut system = system.memory(memory).threads(arguments.threads());
        if let Some(vcd) = &vcd {
            system.trace(vcd.path()).map_err(|e| vcd.failed(&e))?;
        }
        let report = job.run(&mut system);
        let report = ended(report, job, arguments, |mismatch| {
            self.show(mismatch, job, arguments, (&spec, options, memory))
        })?;
        if let Some(vcd) = vcd {
            system.finish_trace().map_err(|e| vcd.failed(&e))?;
            vcd.whole()?;
        }
        Ok((report, None))
    }
}

impl Lp5 {
    /// Runs the job again to write the waveforms around a mismatch; returns their names.
    #[cfg(feature = "rtl")]
    fn show(
        &self,
        mismatch: &Mismatch,
        job: &Job,
        arguments: &RunArguments,
        (spec, options, memory): (&Lp5Spec, Lp5Options, Lp5Memory),
    ) -> String {
        let again = again(job, arguments);
        let written = Waveforms::write(&mismatch.unit, &arguments.report, |files| {
            let watch = Watch { mismatch, command: &again, files };
            let device = lp5::watched(spec, options, arguments.seed, watch)?;
            let mut system = System::of(device, spec.clone(), self.fence_ns).memory(memory);
            let _ = job.run(&mut system); // ends in the same mismatch
            Ok(())
        });
        shown(written, arguments)
    }

    /// Without the RTL there is no mismatch.
    #[cfg(not(feature = "rtl"))]
    fn show(
        &self,
        _: &Mismatch,
        _: &Job,
        _: &RunArguments,
        _: (&Lp5Spec, Lp5Options, Lp5Memory),
    ) -> String {
        String::new()
    }

    /// Formats of the blocks. Text has wide sums unless it is said: a sum of bfloat16 stands still where it is 256 times an addend.
    fn formats(&self, op: &str) -> Result<BlockFormats, Failure> {
        let (elements, own) = match self.elements {
            ElementsFormat::Bfloat16 => (BlockElements::Bfloat16, Sums::Bfloat16),
            ElementsFormat::Binary16 => (BlockElements::Binary16, Sums::Binary16),
        };
        let default = if op == "decode" { Sums::Binary32 } else { own };
        match self.sums.unwrap_or(default) {
            Sums::Binary32 => Ok(BlockFormats { elements, wide: true }),
            sums if sums == own => Ok(BlockFormats { elements, wide: false }),
            _ => {
                let name = elements.name();
                let message = format!("--sums: with --elements {name} expected {name} or binary32");
                Err(Failure::Input(message))
            }
        }
    }
}

/// A built-in device by its name, or else that of a file.
pub fn spec(device: &str) -> Result<Lp5Spec, Failure> {
    if let Some(spec) = Lp5Spec::built_in(device) {
        return Ok(spec);
    }
    if !Path::new(device).exists() {
        let names: Vec<_> = Lp5Spec::names().collect();
        let names = names.join(", ");
        let message = format!("--device {device}: no such file, and no device of {names}");
        return Err(Failure::Input(message));
    }
    let bytes = files::read(Path::new(device), LARGEST_FILE)?;
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{device}: not UTF-8")))?;
    Lp5Spec::parse(&text).map_err(|error| Failure::Input(format!("{device}: {error}")))
}
