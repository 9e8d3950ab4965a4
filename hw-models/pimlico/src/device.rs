// SPDX-License-Identifier: MIT
//! `pimlico device`: what a device is made of and how fast it is, built in or from a file.

use crate::failure::Failure;
use crate::files;
use crate::output::{self, FormatArguments};
use crate::schema::Kind;
use clap::{Args, Subcommand};
use pimlico_device::lp5::Lp5Spec;
use pimlico_device::neupims::NeupimsSpec;
use pimlico_device::spec::{TopologyTable, UnitTable};
use pimlico_device::{DeviceSpec, Organisation, SystemKind};
use serde::Serialize;
use std::path::Path;

/// Bytes of a device's file, at the most.
const LARGEST_FILE: usize = 1 << 16;

/// Arguments of `pimlico device`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct DeviceArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the built-in devices
    #[command(after_help = "Example:\n  pimlico device list --json")]
    List {
        #[command(flatten)]
        format: FormatArguments,
    },
    /// Print a device as a whole file: given back by `--device`, it is the same
    #[command(after_help = "\
Examples:
  pimlico device show gddr6-aim
  pimlico device show lpddr5x-8533-pim
  pimlico device show ddr4-3200 > mine.toml        a file to change, for --device mine.toml")]
    Show {
        /// A built-in device by its name, or a file
        #[arg(value_name = "NAME|FILE.toml")]
        device: String,
        /// Print one JSON document in place of TOML, of l3 and aim
        #[arg(long)]
        json: bool,
    },
    /// Check that there is such a device: status 2, file and key where there is not
    #[command(after_help = "Example:\n  pimlico device check mine.toml")]
    Check {
        /// The file
        #[arg(value_name = "FILE.toml")]
        file: String,
    },
}

/// The flag `--device` of commands other than `run`.
#[derive(Args)]
pub struct DeviceFlag {
    /// The device: a built-in one by its name, or a file; see `pimlico device` [default: ddr4-3200, or gddr6-aim of
    /// AiM channels]
    #[arg(long, value_name = "NAME|FILE.toml")]
    device: Option<String>,
}

impl DeviceFlag {
    /// As if it were given.
    pub fn named(device: Option<String>) -> Self {
        Self { device }
    }

    /// The device, if it is named.
    pub fn given(&self) -> Result<Option<DeviceSpec>, Failure> {
        self.device.as_deref().map(find).transpose()
    }

    /// The device, which is to be of a kind.
    pub fn of(&self, system: SystemKind) -> Result<DeviceSpec, Failure> {
        let spec = self.given()?.unwrap_or_else(|| of_system(system));
        if spec.system == system {
            return Ok(spec);
        }
        let (device, is) = (self.device.as_deref().unwrap_or_default(), spec.system.name());
        let expected = system.name();
        let message = format!("--device {device}: system = \"{is}\", expected \"{expected}\"");
        Err(Failure::Input(message))
    }
}

/// What `pimlico device list --json` prints.
#[derive(Serialize)]
struct Devices {
    devices: Vec<Listed>,
}

/// A built-in device, as the list tells it.
#[derive(Serialize)]
struct Listed {
    name: String,
    system: &'static str,
    organisation: String,
    mt_per_s: u64,
    peak_gb_per_s: f64,
    source: String,
}

/// Runs the command.
pub fn run(arguments: &DeviceArguments) -> Result<(), Failure> {
    match &arguments.action {
        Action::List { format } => list(*format),
        Action::Show { device, json } => {
            let found = Found::find(device)?;
            match (&found, json) {
                (Found::Common(spec), true) => output::print_json(Kind::Device, &**spec),
                (_, true) => {
                    let system = found.listed().system;
                    let message = format!("--json: a device of {system} is shown as TOML alone");
                    Err(Failure::Input(message))
                }
                (_, false) => output::print(&found.to_toml()),
            }
        }
        Action::Check { file } => {
            let Listed { name, system, organisation, mt_per_s, .. } = Found::read(file)?.listed();
            let what = format!("{name}, {system}: {organisation}, {mt_per_s} MT/s");
            output::print(&format!("{file}: {what}\n"))
        }
    }
}

/// A device of any system.
enum Found {
    /// Of L3 or AiM.
    Common(Box<DeviceSpec>),
    /// LPDDR5X-PIM.
    Lp5(Box<Lp5Spec>),
    /// Of `NeuPIMs`.
    Neupims(Box<NeupimsSpec>),
}

impl Found {
    /// The built-in ones.
    fn built_in() -> impl Iterator<Item = Self> {
        let common = DeviceSpec::names().filter_map(DeviceSpec::built_in);
        let lp5 = Lp5Spec::names().filter_map(Lp5Spec::built_in);
        let neupims = NeupimsSpec::names().filter_map(NeupimsSpec::built_in);
        let common = common.map(|spec| Self::Common(Box::new(spec)));
        let lp5 = lp5.map(|spec| Self::Lp5(Box::new(spec)));
        common.chain(lp5).chain(neupims.map(|spec| Self::Neupims(Box::new(spec))))
    }

    /// A built-in device by its name, or else that of a file.
    fn find(device: &str) -> Result<Self, Failure> {
        if let Some(found) = Self::built_in().find(|found| found.listed().name == device) {
            return Ok(found);
        }
        if Path::new(device).exists() {
            return Self::read(device);
        }
        let names: Vec<_> = Self::built_in().map(|found| found.listed().name).collect();
        let names = names.join(", ");
        Err(Failure::Input(format!("{device}: no such file, and no device of {names}")))
    }

    /// That of a file: PIM blocks are LPDDR5X-PIM's, commands of PIM are of `NeuPIMs`.
    fn read(file: &str) -> Result<Self, Failure> {
        let text = text(file)?;
        let wrong = |error| Failure::Input(format!("{file}: {error}"));
        let is_there = |table: &str| text.lines().any(|line| line.trim_start().starts_with(table));
        Ok(if is_there("[blocks]") {
            Self::Lp5(Box::new(Lp5Spec::parse(&text).map_err(wrong)?))
        } else if is_there("[pim]") {
            Self::Neupims(Box::new(NeupimsSpec::parse(&text).map_err(wrong)?))
        } else {
            Self::Common(Box::new(DeviceSpec::parse(&text).map_err(wrong)?))
        })
    }

    /// Its whole file.
    fn to_toml(&self) -> String {
        match self {
            Self::Common(spec) => spec.to_toml(),
            Self::Lp5(spec) => spec.to_toml(),
            Self::Neupims(spec) => spec.to_toml(),
        }
    }

    /// As the list tells it.
    fn listed(&self) -> Listed {
        match self {
            Self::Common(spec) => listed(spec),
            Self::Lp5(spec) => listed_lp5(spec),
            Self::Neupims(spec) => listed_neupims(spec),
        }
    }
}

/// A built-in device by its name, or else that of a file.
pub fn find(device: &str) -> Result<DeviceSpec, Failure> {
    match DeviceSpec::built_in(device) {
        Some(spec) => Ok(spec),
        None if !Path::new(device).exists() => {
            let names: Vec<_> = DeviceSpec::names().collect();
            let names = names.join(", ");
            Err(Failure::Input(format!("{device}: no such file, and no device of {names}")))
        }
        None => read(device),
    }
}

/// The built-in device of a kind that is taken where none is named.
pub fn of_system(system: SystemKind) -> DeviceSpec {
    DeviceSpec::built_in(system.default_device()).expect("it is built in")
}

fn read(file: &str) -> Result<DeviceSpec, Failure> {
    DeviceSpec::parse(&text(file)?).map_err(|error| Failure::Input(format!("{file}: {error}")))
}

fn text(file: &str) -> Result<String, Failure> {
    let bytes = files::read(Path::new(file), LARGEST_FILE)?;
    String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{file}: not UTF-8")))
}

fn listed(spec: &DeviceSpec) -> Listed {
    let config = spec.config();
    let Organisation { chips, bank_groups, banks_per_group, page_bytes, rows, .. } =
        spec.organisation;
    let TopologyTable { channels, dimms, ranks, .. } = spec.topology;
    let UnitTable { multipliers, .. } = spec.units;
    let several = channels * dimms * ranks;
    let several = if several > 1 { format!("{several} x ") } else { String::new() };
    let of_bank = format!("{rows} rows of {page_bytes} B");
    let banks = format!("{bank_groups} x {banks_per_group} banks");
    let pus = format!("PUs of {multipliers} multipliers");
    Listed {
        name: spec.name.clone(),
        system: spec.system.name(),
        organisation: format!(
            "{several}{chips} {} of {banks}, {of_bank}, {pus}",
            if chips == 1 { "chip" } else { "chips" }
        ),
        mt_per_s: 1_000_000 * data_rate(spec) / spec.tck_ps,
        peak_gb_per_s: config.peak_gb_per_s(),
        source: spec.source.clone(),
    }
}

fn listed_lp5(spec: &Lp5Spec) -> Listed {
    let Organisation { bank_groups, banks_per_group, page_bytes, rows, column_bytes, .. } =
        spec.organisation;
    let (channels, lanes) = (spec.channels.count, spec.blocks.lanes);
    // 16 data lines.
    let beats = column_bytes as u64 / 2;
    Listed {
        name: spec.name.clone(),
        system: "lp5",
        organisation: format!(
            "{channels} x 1 chip of {bank_groups} x {banks_per_group} banks, {rows} rows of {page_bytes} B, PIM blocks of \
             {lanes} lanes"
        ),
        mt_per_s: 1_000_000 * beats / (spec.timing.burst_tck * spec.tck_ps),
        peak_gb_per_s: spec.config().peak_gb_per_s(),
        source: spec.source.clone(),
    }
}

fn listed_neupims(spec: &NeupimsSpec) -> Listed {
    let o = &spec.organisation;
    let groups = o.pseudo_ranks * o.groups_per_rank;
    let (channels, multipliers) = (spec.channels.count, spec.pim.multipliers);
    // 128 data lines.
    let beats = o.burst_bytes / 16;
    Listed {
        name: spec.name.clone(),
        system: "neupims",
        organisation: format!(
            "{channels} x 1 channel of {groups} x {} banks, {} rows of {} B, two row buffers, PUs of {multipliers} \
             multipliers",
            o.banks_per_group, o.rows, o.page_bytes
        ),
        mt_per_s: 1_000_000 * beats / (spec.timing.bl * spec.tck_ps),
        peak_gb_per_s: spec.peak_gb_per_s(),
        source: spec.source.clone(),
    }
}

/// Beats on a data line in a tCK: those of a column in a burst of BL.
fn data_rate(spec: &DeviceSpec) -> u64 {
    8 * spec.organisation.column_bytes as u64 / spec.system.lines() / spec.timing.burst_tck
}

fn list(format: FormatArguments) -> Result<(), Failure> {
    let devices = Devices { devices: Found::built_in().map(|found| found.listed()).collect() };
    let rows = devices.devices.iter().map(|device| {
        let system = device.system.to_owned();
        let rates = [device.mt_per_s.to_string(), format!("{:.1}", device.peak_gb_per_s)];
        let [mt_per_s, peak] = rates;
        let [name, organisation, source] =
            [&device.name, &device.organisation, &device.source].map(String::clone);
        vec![name, system, organisation, mt_per_s, peak, source]
    });
    let header =
        ["device", "system", "organisation", "rate, MT/s", "peak of a rank, GB/s", "source"];
    let table = output::table(&header, rows);
    output::report(format, (Kind::DeviceList, &devices), &table.into())
}
