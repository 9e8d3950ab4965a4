// SPDX-License-Identifier: MIT
//! `pimlico spd`: the SPD image of the module, honest and spoofed, and what a host makes of it.

use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::output::{self, FormatArguments, Page};
use crate::schema::Kind;
use clap::{Args, Subcommand};
use pimlico_device::spd::{
    Advertised, Description, MODULE_TYPE, SPD_BYTES, Spd, SpdModule, SpdTiming, Values,
};
use pimlico_device::{Config, SystemKind};
use pimlico_host::memory_controller::Delay;
use pimlico_workload::spd_check::{self, Host, Measured, SpdComparison};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `pimlico spd`.
#[derive(Args)]
pub struct SpdArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write the image of the module: 512 bytes
    #[command(
        after_help = "Examples:\n  pimlico spd write module.spd\n  pimlico spd write honest.spd --honest"
    )]
    Write {
        /// The file; one that is there is replaced, `-` is standard output
        file: PathBuf,
        /// The chips' own timing, in place of the one with which a host makes up for re-layout
        #[arg(long)]
        honest: bool,
        #[command(flatten)]
        device: DeviceFlag,
    },
    /// Check an image and show what it tells a host
    #[command(after_help = "Example:\n  pimlico spd show module.spd")]
    Show {
        /// The file
        file: PathBuf,
        #[command(flatten)]
        format: FormatArguments,
    },
    /// Compare honest and spoofed image on a host that programs itself from it, with the chips' pins
    /// watched: what re-layout costs the host, and whether it breaks the chips' timing
    #[command(
        after_help = "Examples:\n  pimlico spd check\n  pimlico spd check --device ddr4-3200-16gb --json"
    )]
    Check {
        #[command(flatten)]
        device: DeviceFlag,
        /// Seed of the data and of the random stream of writes and reads
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        format: FormatArguments,
    },
}

/// Runs the command.
pub fn run(arguments: &SpdArguments) -> Result<(), Failure> {
    match &arguments.action {
        Action::Write { file, honest, device } => {
            let values = if *honest { Values::Honest } else { Values::Spoofed };
            write(file, values, &device.of(SystemKind::L3)?.config())
        }
        Action::Show { file, format } => show(file, *format),
        Action::Check { seed, format, device } => {
            check(&device.of(SystemKind::L3)?.config(), *seed, *format)
        }
    }
}

fn write(file: &Path, values: Values, config: &Config) -> Result<(), Failure> {
    let image = Description::of(config).image(values);
    let image = image.map_err(|e| Failure::Input(format!("SPD image of {}: {e}", config.name)))?;
    let opened = Output::open(file)?;
    let to_stdout = opened.is_stdout();
    opened.write(image.as_bytes())?;
    output::tell_written(file, to_stdout, &format!("{SPD_BYTES} bytes, {}", name(values)))
}

fn show(file: &Path, format: FormatArguments) -> Result<(), Failure> {
    // No more of it than tells that it is too long.
    let image = files::read_start(file, SPD_BYTES + 1).map_err(|e| Failure::file(file, &e))?;
    let advertised =
        Spd::parse(&image).map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
    let document = Document::new(file, &advertised);
    output::report(format, (Kind::SpdImage, &document), &text(file, &advertised))
}

fn name(values: Values) -> &'static str {
    match values {
        Values::Honest => "honest",
        Values::Spoofed => "spoofed",
    }
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    file: String,
    values: Values,
    /// Clocks by which the values are spoofed.
    relayout_tck: u64,
    crc: CrcDocument,
    /// Byte 3: one buffer chip with all byte lanes.
    module_type: String,
    module: &'a SpdModule,
    density_mbit: u64,
    advertised_tck: &'a SpdTiming,
    true_tck: SpdTiming,
}

/// CRCs of an image that has the right ones.
#[derive(Serialize)]
struct CrcDocument {
    base: String,
    module: String,
    ok: bool,
}

impl<'a> Document<'a> {
    fn new(file: &Path, advertised: &'a Advertised) -> Self {
        let [base, module] = advertised.crc.map(|crc| format!("{crc:#06x}"));
        Self {
            file: file.display().to_string(),
            values: advertised.values(),
            relayout_tck: advertised.relayout_tck,
            crc: CrcDocument { base, module, ok: true },
            module_type: format!("{MODULE_TYPE:#04x}"),
            module: &advertised.module,
            density_mbit: advertised.module.density_mbit(),
            advertised_tck: &advertised.timing,
            true_tck: advertised.true_timing(),
        }
    }
}

/// The report for people.
fn text(file: &Path, advertised: &Advertised) -> Page {
    let Advertised { module, timing, crc, .. } = advertised;
    let SpdModule { ranks, chip_bits, bank_groups, banks_per_group, serial, part_number, .. } =
        module;
    let [base, of_module] = crc;
    let mut text = Page::from(format!(
        "{}: {} values, CRCs {base:#06x} (base) and {of_module:#06x} (module) ok\n{part_number}, \
         serial number {serial}: DDR4 module of type {MODULE_TYPE:#04x}, one buffer chip with all byte lanes\n\
         {ranks} rank(s) of x{chip_bits} chips of {} Mbit, {bank_groups} x {banks_per_group} banks, tCK {} ps\n\n",
        file.display(),
        name(advertised.values()),
        module.density_mbit(),
        timing.tck_ps,
    ));
    let truth = advertised.true_timing();
    let rows = parameters(timing).into_iter().zip(parameters(&truth));
    text += output::table(
        &["parameter", "advertised, tCK", "advertised, ns", "the chips' own, tCK"],
        rows.map(|((name, tck), (_, own_tck))| {
            let ns = (tck * timing.tck_ps) as f64 / 1000.0;
            vec![name.to_owned(), tck.to_string(), format!("{ns:.3}"), own_tck.to_string()]
        }),
    );
    if advertised.values() == Values::Spoofed {
        let tck = advertised.relayout_tck;
        let _ = writeln!(text, "\nnote: spoofed by {tck} tCK, for which re-layout holds the data");
    }
    text
}

fn parameters(timing: &SpdTiming) -> [(&'static str, u64); 17] {
    let SpdTiming { tck_ps: _, cl_tck, wl_tck, rcd_tck, rp_tck, ras_tck, rc_tck, .. } = *timing;
    let SpdTiming { rrd_s_tck, rrd_l_tck, faw_tck, ccd_l_tck, wtr_s_tck, wtr_l_tck, .. } = *timing;
    let SpdTiming { wr_tck, rtp_tck, rfc1_tck, rfc2_tck, rfc4_tck, .. } = *timing;
    [
        ("CL", cl_tck),
        ("WL", wl_tck),
        ("RCD", rcd_tck),
        ("RP", rp_tck),
        ("RAS", ras_tck),
        ("RC", rc_tck),
        ("RRD_S", rrd_s_tck),
        ("RRD_L", rrd_l_tck),
        ("FAW", faw_tck),
        ("CCD_L", ccd_l_tck),
        ("WTR_S", wtr_s_tck),
        ("WTR_L", wtr_l_tck),
        ("WR", wr_tck),
        ("RTP", rtp_tck),
        ("RFC1", rfc1_tck),
        ("RFC2", rfc2_tck),
        ("RFC4", rfc4_tck),
    ]
}

fn check(config: &Config, seed: u64, format: FormatArguments) -> Result<(), Failure> {
    let comparison = spd_check::compare(config, seed).map_err(|e| Failure::Input(e.to_string()))?;
    output::report(format, (Kind::SpdCheck, &comparison), &comparison_text(&comparison))?;
    if comparison.failures.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(comparison.failures.join("; ")))
}

/// The comparison for people.
fn comparison_text(comparison: &SpdComparison) -> Page {
    let SpdComparison { system, seed, tck_ns, configurations, .. } = comparison;
    let mut text = Page::from(format!(
        "re-layout on {system}, tCK {tck_ns} ns, seed {seed}: a host that programs itself from the \
         SPD image\n\n"
    ));
    let rows = measured_rows().into_iter().map(|(name, value)| {
        [name.to_owned()].into_iter().chain(configurations.iter().map(value)).collect()
    });
    let titles = configurations.each_ref().map(|m| {
        let relayout = if m.relayout { "re-layout" } else { "no re-layout" };
        let host = match m.host {
            Host::Own => "",
            Host::Jedec => ", JEDEC's host",
            Host::Trained => ", host trains",
        };
        format!("{}, {relayout}{host}", name(m.spd))
    });
    let titles: Vec<&str> = [""].into_iter().chain(titles.iter().map(String::as_str)).collect();
    text += output::table(&titles, rows);
    let _ = writeln!(
        text,
        "\nnote: a host reads tWL from bytes 353 to 381, our own; JEDEC's host takes the standard's, and one that trains \
         finds when data are due\n\
         note: latencies are from the command to the end of the last beat, in tCK\n\
         note: no latency is added to a write: spoofed, its data are in the chips as long after WR as \
         without re-layout\n\
         note: spoofed, a read reaches the host {} tCK later, and from RD to WR it waits {} tCK more",
        comparison.read_penalty_tck(),
        comparison.turnaround_penalty_tck(),
    );
    text
}

/// What is told of each configuration.
type Row = (&'static str, fn(&Measured) -> String);

fn measured_rows() -> [Row; 18] {
    [
        ("found by training: write, read, tCK", |m| {
            let Delay { write_tck, read_tck } = m.trained;
            format!("{write_tck:+}, {read_tck:+}")
        }),
        ("violations at the chips' pins", |m| violations(&m.chip_violations)),
        ("violations at the host's pins", |m| violations(&m.host_violations)),
        ("data in the chips", |m| right(m.stored_right)),
        ("data read back", |m| right(m.read_right)),
        ("write: WR to data sent by the host, tCK", |m| m.latency_tck.write_at_host.to_string()),
        ("write: WR to data in the chips, tCK", |m| m.latency_tck.write_at_chips.to_string()),
        ("read: RD to data out of the chips, tCK", |m| m.latency_tck.read_at_chips.to_string()),
        ("read: RD to data at the host, tCK", |m| m.latency_tck.read_at_host.to_string()),
        ("WR to RD, same bank group, tCK", |m| m.commands_tck.write_to_read.to_string()),
        ("RD to WR, tCK", |m| m.commands_tck.read_to_write.to_string()),
        ("WR to PRE, tCK", |m| m.commands_tck.write_to_precharge.to_string()),
        ("RD to PRE, tCK", |m| m.commands_tck.read_to_precharge.to_string()),
        ("bus, writes to open rows, %", |m| percent(m.utilisation.write_open_rows)),
        ("bus, reads of open rows, %", |m| percent(m.utilisation.read_open_rows)),
        ("bus, writes of 1 MiB, with REFs, %", |m| percent(m.utilisation.write_long)),
        ("bus, reads of 1 MiB, with REFs, %", |m| percent(m.utilisation.read_long)),
        ("random writes and reads, tCK", |m| output::grouped(m.random_tck)),
    ]
}

fn violations(by_rule: &BTreeMap<&'static str, u64>) -> String {
    if by_rule.is_empty() {
        return "none".to_owned();
    }
    let each = by_rule.iter().map(|(rule, count)| format!("{rule}: {}", output::grouped(*count)));
    each.collect::<Vec<_>>().join(", ")
}

fn right(right: bool) -> String {
    if right { "right" } else { "wrong" }.to_owned()
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}
