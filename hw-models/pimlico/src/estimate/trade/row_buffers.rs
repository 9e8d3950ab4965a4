// SPDX-License-Identifier: MIT
//! One row buffer in a bank of NeuPIMs, or two: what the second takes in gates and latches, beside the paper's area.

use crate::estimate::flow::{self, Flow, FlowArguments};
use crate::estimate::parts::{Range, mm2_28nm, range};
use crate::estimate::sheet::{self, FormatArguments, Sheet};
use crate::failure::Failure;
use crate::output::grouped;
use crate::schema::Kind;
use clap::Args;
use pimlico_estimate::{Area, UnitSpec, paper};
use serde::Serialize;

/// Banks of a channel, and bits of a bank's row.
const BANKS: u64 = 32;
const ROW_BITS: u64 = 8 * 1024;
/// Clock of a channel in ns: tCK.
const TCK_NS: f64 = 1.0;

/// Arguments of `pimlico estimate trade row-buffers`.
#[derive(Args)]
pub struct RowBufferOptions {
    #[command(flatten)]
    flow: FlowArguments,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `--json` prints.
#[derive(Serialize)]
struct RowBuffersReport {
    trade: &'static str,
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    /// A bank with one row buffer, and with two.
    single: BankReport,
    dual: BankReport,
    /// What the second adds to a bank, and to the logic around the latches.
    added_ge: f64,
    added_logic_ge: f64,
    banks: u64,
    /// Latches that it adds to the banks of a channel.
    added_latches: u64,
    /// All that it adds to the banks of a channel.
    added_channel_ge: f64,
    /// The logic around the latches of a channel, scaled to 28 nm.
    added_logic_mm2_28nm: Range,
    /// The controller of a channel: with both modes, chosen by an input, and with one of them alone.
    controller: ControllerReport,
    controller_single: ControllerReport,
    controller_dual: ControllerReport,
    /// What two row buffers add to a controller with the one mode alone.
    controller_added_ge: f64,
    /// A bank's open rows and timers in it.
    bank_state_ge: f64,
    paper_percent: f64,
    notes: Vec<String>,
}

/// A controller of a channel.
#[derive(Serialize)]
struct ControllerReport {
    unit: String,
    area_ge: f64,
    flip_flops: u64,
}

impl ControllerReport {
    fn new(unit: &str, area: &Area) -> Self {
        Self { unit: unit.to_owned(), area_ge: area.ge, flip_flops: area.flip_flops }
    }
}

/// The row buffers of a bank.
#[derive(Serialize)]
struct BankReport {
    unit: String,
    area_ge: f64,
    flip_flops: u64,
    /// All cells but the latches of rows, by the mean of all flip-flops.
    logic_ge: f64,
    row_latches: u64,
}

impl BankReport {
    fn new(unit: &str, area: &Area, row_buffers: u64) -> Self {
        let Area { ge, flip_flops, flip_flops_ge, .. } = area;
        let row_latches = row_buffers * ROW_BITS;
        let of_rows = flip_flops_ge * row_latches as f64 / (*flip_flops).max(1) as f64;
        Self {
            unit: unit.to_owned(),
            area_ge: *ge,
            flip_flops: *flip_flops,
            logic_ge: ge - of_rows,
            row_latches,
        }
    }
}

/// Runs the command.
pub(super) fn run(options: &RowBufferOptions) -> Result<(), Failure> {
    let flow = options.flow.flow_at(TCK_NS)?;
    let report = report(&flow)?;
    sheet::print(options.format, (Kind::EstimateTradeRowBuffers, &report), &[sheet(&report)])
}

/// The controller with one mode alone.
fn controller_of(row_buffers: i64) -> Result<UnitSpec, Failure> {
    let mut spec = flow::spec("channel_controller")?;
    spec.unit = format!("channel_controller ROW_BUFFERS={row_buffers}");
    spec.parameters.insert("ROW_BUFFERS".to_owned(), row_buffers);
    Ok(spec)
}

fn report(flow: &Flow) -> Result<RowBuffersReport, Failure> {
    let specs = [
        flow::spec("dual_row_buffer:single")?,
        flow::spec("dual_row_buffer")?,
        flow::spec("channel_controller")?,
        controller_of(1)?,
        controller_of(2)?,
        flow::spec("bank_state")?,
    ];
    let areas = flow.areas(&specs)?;
    let [single, dual] = [0, 1].map(|n| BankReport::new(&specs[n].unit, &areas[n], n as u64 + 1));
    let [controller, controller_single, controller_dual] =
        [2, 3, 4].map(|n| ControllerReport::new(&specs[n].unit, &areas[n]));
    let bank_state = &areas[5];
    for bank in [&single, &dual] {
        // A library, or tool, that makes anything but flip-flops of them would make the figures meaningless.
        if bank.flip_flops < bank.row_latches {
            let BankReport { unit, flip_flops, row_latches, .. } = bank;
            let message =
                format!("{unit}: {flip_flops} flip-flops, expected {row_latches} or more");
            return Err(Failure::Check(message));
        }
    }
    let channel = BANKS as f64;
    let added_logic_ge = dual.logic_ge - single.logic_ge;
    let added_latches = BANKS * (dual.row_latches - single.row_latches);
    Ok(RowBuffersReport {
        trade: "row-buffers",
        liberty: flow.library.name.clone(),
        nand2_um2: flow.library.nand2_um2,
        clock_ns: flow.clock_ns,
        added_ge: dual.area_ge - single.area_ge,
        added_logic_ge,
        banks: BANKS,
        added_latches,
        added_channel_ge: channel * (dual.area_ge - single.area_ge),
        added_logic_mm2_28nm: mm2_28nm(channel * added_logic_ge),
        controller_added_ge: controller_dual.area_ge - controller_single.area_ge,
        controller,
        controller_single,
        controller_dual,
        bank_state_ge: bank_state.ge,
        paper_percent: paper::neupims::ROW_BUFFERS_PERCENT,
        notes: vec![
            format!(
                "{} latches are added to the {BANKS} banks of a channel, a row of {ROW_BITS} bits each; here a latch is a \
                 flip-flop of the library, in a DRAM a sense amplifier's or a latch beside one",
                grouped(added_latches)
            ),
            "no CACTI: the paper's figure is CACTI 7.0's at 22 nm with the row buffer doubled, of the DRAM's area, which is \
             not known here; gates in a logic process are set beside it and not compared with it"
                .to_owned(),
            "controller: channel_controller has dual and blocked mode, chosen by an input; its parameter ROW_BUFFERS leaves one \
             of them. With one row buffer it still has the two open rows and the timers of each bank (bank_state, 32 of them): \
             what is saved is what the mode alone decides"
                .to_owned(),
        ],
        single,
        dual,
    })
}

fn sheet(report: &RowBuffersReport) -> Sheet {
    let whole = |ge: f64| format!("{ge:.0}");
    let bank = |name: &str, bank: &BankReport| {
        let latches = bank.row_latches.to_string();
        vec![name.to_owned(), whole(bank.area_ge), latches, whole(bank.logic_ge), String::new()]
    };
    let of = |name: &str, ge: f64, latches: String, logic: String, paper: String| {
        vec![name.to_owned(), whole(ge), latches, logic, paper]
    };
    let none = String::new;
    let latches = report.added_latches / report.banks;
    let (one, two) = (&report.controller_single, &report.controller_dual);
    let channel_logic = report.banks as f64 * report.added_logic_ge;
    let mut notes = report.notes.clone();
    let logic = range(report.added_logic_mm2_28nm, 4);
    notes.insert(
        0,
        format!("the logic that a channel's second row buffers add: {logic} mm2 at 28 nm"),
    );
    Sheet {
        title: format!("row buffers of NeuPIMs, in {}", report.liberty),
        columns: vec!["what", "GE", "latches of rows", "GE beside them", "paper, %"],
        rows: vec![
            bank("a bank with one row buffer", &report.single),
            bank("a bank with two", &report.dual),
            of(
                "added to a bank",
                report.added_ge,
                latches.to_string(),
                whole(report.added_logic_ge),
                none(),
            ),
            of(
                "added to a channel's banks",
                report.added_channel_ge,
                report.added_latches.to_string(),
                whole(channel_logic),
                report.paper_percent.to_string(),
            ),
            of("controller of a channel, one row buffer", one.area_ge, none(), none(), none()),
            of("controller of a channel, two", two.area_ge, none(), none(), none()),
            of("added to a controller", report.controller_added_ge, none(), none(), none()),
            of(
                "controller of a channel, either mode",
                report.controller.area_ge,
                none(),
                none(),
                none(),
            ),
            of("a bank's state in it", report.bank_state_ge, none(), none(), none()),
        ],
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beside_the_latches_is_all_else() {
        let area = Area {
            um2: 0.0,
            ge: 60_000.0,
            flip_flops: 10_000,
            flip_flops_ge: 50_000.0,
            cells: Default::default(),
            memories: Vec::new(),
            timing: None,
        };
        let bank = BankReport::new("dual_row_buffer:single", &area, 1);
        assert_eq!((bank.row_latches, bank.logic_ge), (8192, 60_000.0 - 5.0 * 8192.0));
        assert_eq!(BANKS * ROW_BITS, 262_144);
    }
}
