// SPDX-License-Identifier: MIT
//! `pimlico sweep groups`: the channels of an AiM module in groups, with a head of attention in each.

use super::Threads;
use crate::device::DeviceFlag;
use crate::failure::Failure;
use crate::models::{find_model, model_name};
use crate::output::{self, FormatArguments, Page, grouped};
use crate::schema::Kind;
use crate::values::{Switch, channels};
use clap::Args;
use pimlico_device::SystemKind;
use pimlico_workload::channel_groups::{self, GroupComparison, GroupCost, GroupRow, GroupStudy};

/// Arguments of `pimlico sweep groups`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep groups --contexts 4096 --groups 1,4,16
  pimlico sweep groups --model llama-3.1-8b --channels 8 --groups 1,2,4,8")]
pub struct GroupsArguments {
    #[command(flatten)]
    device: DeviceFlag,
    /// The language model, by name
    #[arg(long, default_value = "qwen1.5-7b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Tokens of each head
    #[arg(long, value_delimiter = ',', value_name = "N,...", default_values_t = [4096, 16_384])]
    contexts: Vec<usize>,
    /// Channels of the module [default: the device's, 16]
    #[arg(long, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// Groups of channels
    #[arg(long, value_delimiter = ',', value_name = "G,...", default_values_t = [1, 2, 4, 8, 16])]
    groups: Vec<usize>,
    /// Whether single buffers pay MODCH between words or results and columns, as in the public AiM simulator
    #[arg(long, value_enum, default_value_t = Switch::On)]
    mode_change: Switch,
    /// Seed of the data
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    format: FormatArguments,
}

/// Runs the command.
pub fn run(arguments: &GroupsArguments) -> Result<(), Failure> {
    let GroupsArguments { model, contexts, groups, mode_change, seed, format, .. } = arguments;
    let spec = arguments.device.of(SystemKind::Aim)?;
    let channels = arguments.channels.unwrap_or(spec.topology.channels);
    if let Some(wrong) = groups.iter().find(|groups| !channels.is_multiple_of(**groups)) {
        let message =
            format!("--groups {wrong}: expected a number that divides {channels} channels");
        return Err(Failure::Input(message));
    }
    let study = GroupStudy {
        config: spec.config(),
        model: model.clone(),
        shapes: find_model(model)?,
        contexts: contexts.clone(),
        channels,
        groups: groups.clone(),
        mode_change: *mode_change == Switch::On,
        seed: *seed,
    };
    let bar = output::progress(study.len() as u64, "cases");
    let comparison =
        channel_groups::compare(&study, arguments.threads.count(), |done| bar.set_position(done));
    bar.finish_and_clear();
    let comparison = comparison?;
    output::report(*format, (Kind::SweepGroups, &comparison), &text(&comparison))?;
    let costs = || comparison.rows.iter().filter_map(|row| row.cost.as_ref());
    let violations: u64 = costs().map(|cost| cost.pin_violations).sum();
    let differing: u64 = costs().map(|cost| cost.differing).sum();
    match (violations, differing) {
        (0, 0) => Ok(()),
        _ => Err(Failure::Check(format!(
            "{violations} violations at the DRAM's pins, {differing} results differ from golden's"
        ))),
    }
}

const NOTE: &str = "
A softmax unit takes two scores in 4 tCK, twice, with either buffers: it is what their gain has to be seen beside. A
dash: a head's scores are more than a group's part of the GPR.
";

fn text(comparison: &GroupComparison) -> Page {
    let GroupComparison { system, model, channels, heads, kv_heads, head_dim, seed, rows, .. } =
        comparison;
    let title = format!(
        "{model} on a module of {channels} channels of {system}, refresh off, seed {seed}\n\
         attention of a layer: {heads} heads of {head_dim}, {kv_heads} of K and V, one in each group at a time\n\n"
    );
    let heading = [
        "tokens",
        "groups",
        "score, tCK",
        "softmax, tCK",
        "context, tCK",
        "turns",
        "layer, tCK",
        "softmax, %",
        "single, tCK",
        "less, %",
    ];
    let memory = ["tokens", "groups", "PUs busy in SV, %", "rows of V", "of them V, %"];
    Page::from(title)
        + output::table(&heading, rows.iter().map(time))
        + "\nPUs, and rows of each bank that V of a head takes\n\n"
        + output::table(&memory, rows.iter().map(banks))
        + NOTE
}

/// What a row begins with, and what it has where a head has room.
fn cells<const N: usize>(
    row: &GroupRow,
    of_cost: impl Fn(&GroupCost) -> [String; N],
) -> Vec<String> {
    let begins = [grouped(row.context as u64), row.groups.to_string()];
    let none = || std::array::from_fn(|_| "-".to_owned());
    begins.into_iter().chain(row.cost.as_ref().map_or_else(none, of_cost)).collect()
}

fn time(row: &GroupRow) -> Vec<String> {
    cells(row, |cost| {
        [
            grouped(cost.score),
            grouped(cost.softmax),
            grouped(cost.context),
            grouped(cost.turns as u64),
            grouped(cost.layer),
            format!("{:.1}", cost.softmax_percent),
            grouped(cost.layer_single),
            format!("{:.1}", cost.reduction_percent),
        ]
    })
}

fn banks(row: &GroupRow) -> Vec<String> {
    cells(row, |cost| {
        [
            format!("{:.0}", cost.sv_pus_percent),
            grouped(cost.v_rows as u64),
            format!("{:.0}", cost.v_percent),
        ]
    })
}
