// SPDX-License-Identifier: MIT
//! `pimlico layout copy`: a matrix out of its layout for PIM into the host's order, timed on the device.

use super::target::TargetName;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, decimal, grouped};
use crate::run::lp5_spec;
use crate::schema::Kind;
use crate::values::Switch;
use clap::{Args, ValueEnum};
use pimlico_device::lp5::Lp5Options;
use pimlico_device::{Options, SystemKind};
use pimlico_host::lp5_copy::{CopyOptions, Stores};
use pimlico_host::swizzle::ReadOrder;
use pimlico_workload::copy::l3::L3CopyJob;
use pimlico_workload::copy::lp5::Lp5CopyJob;
use pimlico_workload::copy::{BusShares, CopiedMatrix, CopyReport, Pass};
use pimlico_workload::sherpa::weights::ModelWeights;

/// The default device of LPDDR5X-PIM.
const LP5: &str = "lpddr5x-8533-pim";
/// Rows and columns of a matrix, at the most.
const LARGEST: u64 = 1 << 20;

/// Arguments of `pimlico layout copy`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico layout copy --rows 8192 --cols 2048
  pimlico layout copy --rows 8192 --cols 2048 --stores non-temporal
  pimlico layout copy --rows 8192 --cols 2048 --target row-major
  pimlico layout copy --rows 1024 --cols 256 --order bank-major --threads 1 --loads 16 --json
  pimlico layout copy --system l3 --model llama-3.2-1b")]
pub struct CopyArguments {
    /// Where the matrices lie
    #[arg(long, value_enum, default_value_t = SystemName::Lp5)]
    system: SystemName,
    #[command(flatten)]
    device: DeviceName,
    /// Rows of the matrix: outputs
    #[arg(long, value_name = "R", value_parser = size(), required_unless_present = "model")]
    rows: Option<u64>,
    /// Columns of the matrix: inputs
    #[arg(long, value_name = "C", value_parser = size(), required_unless_present = "model")]
    cols: Option<u64>,
    /// The matrices of a layer of this language model
    #[arg(long, value_name = "NAME", value_parser = model_name(), conflicts_with_all = ["rows", "cols"])]
    model: Option<String>,
    /// In which order bursts are read
    #[arg(long, value_enum, default_value_t = OrderName::RowBuffer)]
    order: OrderName,
    /// In which order the copy has the elements, of lp5 [default: column-major]
    #[arg(long, value_enum)]
    target: Option<TargetName>,
    /// What the host's threads do with what they have loaded, of lp5 [default: write-allocate]
    #[arg(long, value_enum)]
    stores: Option<StoresName>,
    /// Threads of the host that is simulated, of lp5 [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: Option<u16>,
    /// Loads of 32 bytes that a thread has under way, of lp5 [default: 128]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    loads: Option<u16>,
    /// Lines of 64 bytes that are being filled for a thread, of lp5 [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    fills: Option<u16>,
    /// Whether rows are refreshed
    #[arg(long, value_enum, default_value_t = Switch::On)]
    refresh: Switch,
    /// Seed of the data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    format: FormatArguments,
}

/// The flag `--device`.
#[derive(Args)]
struct DeviceName {
    /// The device: a built-in one by its name, or a file [default: lpddr5x-8533-pim, or ddr4-3200 of l3]
    #[arg(long, value_name = "NAME|FILE.toml")]
    device: Option<String>,
}

/// Rows or columns.
fn size() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=LARGEST)
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SystemName {
    /// In LPDDR5X-PIM, with the copy in other rows of the same banks
    Lp5,
    /// On a rank of L3, which is read through re-layout
    L3,
}

#[derive(Clone, Copy, ValueEnum)]
enum OrderName {
    /// Each read goes to another channel or bank group, and hits an open row
    RowBuffer,
    /// Bank after bank
    BankMajor,
}

#[derive(Clone, Copy, ValueEnum)]
enum StoresName {
    /// To memory that is cacheable: a line is filled before it is stored to, and written back
    WriteAllocate,
    /// Past the cache
    NonTemporal,
}

/// Runs the command.
pub fn run(arguments: &CopyArguments) -> Result<(), Failure> {
    let matrices = matrices(arguments)?;
    let bar = output::progress(1, "bytes");
    let progress = |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    };
    let order = match arguments.order {
        OrderName::RowBuffer => ReadOrder::RowBuffer,
        OrderName::BankMajor => ReadOrder::BankMajor,
    };
    let refresh = arguments.refresh == Switch::On;
    let seed = arguments.seed;
    let report = match arguments.system {
        SystemName::Lp5 => {
            let spec = lp5_spec(arguments.device.device.as_deref().unwrap_or(LP5))?;
            let options = Lp5Options { refresh, ..Lp5Options::default() };
            let copy = CopyOptions { order, ..arguments.host() };
            Lp5CopyJob { spec, options, copy, matrices, seed }.run(&progress)
        }
        SystemName::L3 => {
            arguments.refuse_threads()?;
            let device = DeviceFlag::named(arguments.device.device.clone());
            let config = device.of(SystemKind::L3)?.config();
            let options = Options { refresh, ..Options::default() };
            L3CopyJob { config, options, order, matrices, seed }.run(&progress)
        }
    };
    bar.finish_and_clear();
    let report = report?;
    output::report(arguments.format, (Kind::LayoutCopy, &report), &page(&report))?;
    report.wrong().map_or(Ok(()), |wrong| Err(Failure::Check(wrong)))
}

impl CopyArguments {
    /// The host of LPDDR5X-PIM, but for the order.
    fn host(&self) -> CopyOptions {
        let default = CopyOptions::default();
        let stores = match self.stores {
            None => default.stores,
            Some(StoresName::WriteAllocate) => Stores::WriteAllocate,
            Some(StoresName::NonTemporal) => Stores::NonTemporal,
        };
        let given = |number: Option<u16>, default: usize| number.map_or(default, usize::from);
        CopyOptions {
            target: self.target.map_or(default.target, TargetName::order),
            stores,
            threads: given(self.threads, default.threads),
            loads: given(self.loads, default.loads),
            fills: given(self.fills, default.fills),
            ..default
        }
    }

    /// Flags of a host whose copy is in the same memory.
    fn refuse_threads(&self) -> Result<(), Failure> {
        let flags = [
            ("target", self.target.is_some()),
            ("stores", self.stores.is_some()),
            ("threads", self.threads.is_some()),
            ("loads", self.loads.is_some()),
            ("fills", self.fills.is_some()),
        ];
        let refuse = |flag: &str| {
            Failure::Input(format!("--{flag}: not with --system l3, where the copy is elsewhere"))
        };
        let given = flags.into_iter().find(|(_, is_given)| *is_given);
        given.map_or(Ok(()), |(flag, _)| Err(refuse(flag)))
    }
}

/// What is copied.
fn matrices(arguments: &CopyArguments) -> Result<Vec<CopiedMatrix>, Failure> {
    let CopyArguments { rows, cols, model, .. } = arguments;
    if let Some(model) = model {
        let weights = ModelWeights::new(&find_model(model)?);
        let shapes = weights.groups.into_iter().flatten();
        let matrix = |(number, (rows, columns))| {
            let name = format!("matrix {number} of a layer");
            CopiedMatrix { name, rows, columns }
        };
        return Ok((1..).zip(shapes).map(matrix).collect());
    }
    let (rows, columns) = (rows.unwrap_or(1), cols.unwrap_or(1));
    Ok(vec![CopiedMatrix { name: "matrix".to_owned(), rows, columns }])
}

/// For people.
fn page(report: &CopyReport) -> Page {
    let CopyReport { system, dram, matrices, bytes, order, target, host, .. } = report;
    let what = match &matrices[..] {
        [CopiedMatrix { rows, columns, .. }] => format!("a matrix of {rows} x {columns}"),
        _ => format!("the {} matrices of a layer", matrices.len()),
    };
    let how = match host {
        Some(host) => format!(
            "threads {}; under way for each: loads {}, fills of lines {}; stores {}",
            host.threads, host.loads, host.fills, host.stores
        ),
        None => "through the host's memory controller and re-layout".to_owned(),
    };
    let to = target.map_or(String::new(), |target| format!(" to {target}"));
    let title = format!(
        "copy of {what} on {system}, {} bytes, {order} order{to}\n{dram}, refresh {}; {how}\n\n",
        grouped(*bytes),
        if report.refresh { "on" } else { "off" },
    );
    let passes = || {
        std::iter::once(("reads", &report.reads))
            .chain(report.copy.iter().map(|copy| ("copy", copy)))
    };
    let rates = output::table(
        &["pass", "tCK", "ms", "matrices GB/s", "moved GB/s", "% of peak"],
        passes().map(|(name, pass)| {
            vec![
                name.to_owned(),
                grouped(pass.tck),
                decimal(pass.ns / 1e6, 3),
                decimal(pass.gb_per_s, 2),
                decimal(pass.moved_gb_per_s, 2),
                decimal(100.0 * pass.moved_share, 1),
            ]
        }),
    );
    let shares = output::table(
        &[
            "pass",
            "loads %",
            "fills %",
            "writes %",
            "refresh %",
            "turnarounds %",
            "nothing asked %",
            "rows %",
        ],
        passes().map(|(name, Pass { shares, .. })| {
            let BusShares { loads, fills, writes, refresh, turnarounds, host, other } = *shares;
            let shares = [loads, fills, writes, refresh, turnarounds, host, other];
            let shares = shares.map(|share| decimal(100.0 * share, 1));
            std::iter::once(name.to_owned()).chain(shares).collect()
        }),
    );
    let times = report.passes.map_or(String::new(), |passes| {
        format!("the copy takes {} passes of reads\n", decimal(passes, 2))
    });
    let end = format!(
        "\npeak of the data lines: {} GB/s\n{times}elements that differ: {}; violations at the DRAM's pins: {}\n",
        decimal(report.peak_gb_per_s, 2),
        grouped(report.differing),
        grouped(report.pin_violations),
    );
    Page::from(title) + rates + "\nWhat the data lines are used for\n\n" + shares + end
}
