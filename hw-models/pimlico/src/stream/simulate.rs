// SPDX-License-Identifier: MIT
//! `pimlico stream simulate`: the models of Hermes, by times that were fitted to them, beside what the paper measured
//! (Table II, Figure 7).

use crate::failure::Failure;
use crate::names;
use crate::output::{self, FormatArguments, Page, decimal};
use crate::schema::Kind;
use clap::Args;
use pimlico_stream::paper::{PaperModel, models};
use pimlico_stream::planner::{self, Choice};
use pimlico_stream::setup::{MOST_LOADERS, Residency};
use serde::Serialize;

/// Bytes of a MB of the paper.
const MB: f64 = 1e6;

/// Arguments of `pimlico stream simulate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico stream simulate
  pimlico stream simulate --model gpt-j --loaders 2,4,6 --limits 2000,7000")]
pub struct SimulateArguments {
    /// The model: vit-large, gpt-2, bert-large or gpt-j [default: all]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Loading agents
    #[arg(long, value_name = "M", value_delimiter = ',', default_values_t = [2, 4, 6])]
    loaders: Vec<usize>,
    /// Slots beside one for each loader [default: as fitted to the paper]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=64))]
    slots_beyond_loaders: Option<u64>,
    /// Limits of memory in MB (10^6 bytes), for the planner [default: the ends of Figure 7]
    #[arg(long, value_name = "MB", value_delimiter = ',')]
    limits: Vec<f64>,
    #[command(flatten)]
    format: FormatArguments,
}

/// What `stream simulate --json` prints.
#[derive(Serialize)]
struct Report {
    loads: Vec<Row>,
    limits: Vec<LimitRow>,
    /// What the paper says that cannot be.
    notes: Vec<String>,
}

/// A mode of a model.
#[derive(Serialize)]
struct Row {
    model: String,
    residency: &'static str,
    loaders: usize,
    slots: usize,
    ms: f64,
    paper_ms: Option<f64>,
    mb: f64,
    paper_mb: Option<f64>,
    /// The pipeline's time over this one's.
    speedup: f64,
    paper_speedup: Option<f64>,
}

/// What the planner chooses for a limit; nothing where two layers do not fit.
#[derive(Serialize)]
struct LimitRow {
    model: String,
    limit_mb: f64,
    paper_ms: Option<f64>,
    #[serde(flatten)]
    chosen: Option<Chosen>,
    refused: Option<String>,
}

#[derive(Serialize)]
struct Chosen {
    loaders: usize,
    slots: usize,
    ms: f64,
    mb: f64,
}

/// Runs the command.
pub fn run(arguments: &SimulateArguments) -> Result<(), Failure> {
    let models = models();
    let chosen: Vec<_> = match &arguments.model {
        None => models.iter().collect(),
        Some(name) => {
            let name = name.to_lowercase();
            let found = models.get_key_value(&name).ok_or_else(|| {
                let list = "pimlico stream simulate --help";
                let instead = names::instead(&name, models.keys().map(String::as_str), list);
                Failure::Input(format!("--model {name}: no such model; {instead}"))
            })?;
            vec![found]
        }
    };
    let mut report = Report { loads: Vec::new(), limits: Vec::new(), notes: notes(&models) };
    for (name, model) in chosen {
        rows(arguments, name, model, &mut report)?;
    }
    output::report(arguments.format, (Kind::StreamSimulate, &report), &page(&report))
}

fn rows(
    arguments: &SimulateArguments,
    name: &str,
    model: &PaperModel,
    report: &mut Report,
) -> Result<(), Failure> {
    let wrong = |flag: &str, what: String| Failure::Input(format!("{flag}: {name}: {what}"));
    let simulated = |residency: Residency| {
        let setup = model.setup(residency, None);
        let found = model.simulate(&setup);
        found.map(|found| (setup.slots(), found)).map_err(|e| wrong("--loaders", e.to_string()))
    };
    let beyond = arguments.slots_beyond_loaders.map_or(model.slots_beyond_loaders, |n| n as usize);
    let (slots, (pipeline_ms, mb)) = simulated(Residency::Pipeline)?;
    report.loads.push(Row {
        model: name.to_owned(),
        residency: Residency::Pipeline.name(),
        loaders: 1,
        slots,
        ms: pipeline_ms,
        paper_ms: Some(model.pipeline_ms),
        mb,
        paper_mb: Some(model.pipeline_mb),
        speedup: 1.0,
        paper_speedup: Some(1.0),
    });
    for &loaders in &arguments.loaders {
        if loaders > MOST_LOADERS {
            return Err(wrong("--loaders", format!("{loaders}: expected at most {MOST_LOADERS}")));
        }
        let choice = Choice { loaders, slots: loaders + beyond };
        let (slots, (ms, mb)) = simulated(choice.residency(0))?;
        let measured = model.pipeload.iter().find(|(of, ..)| *of == loaders);
        report.loads.push(Row {
            model: name.to_owned(),
            residency: choice.residency(0).name(),
            loaders,
            slots,
            ms,
            paper_ms: measured.map(|(_, ms, _)| *ms),
            mb,
            paper_mb: measured.map(|(.., mb)| *mb),
            speedup: pipeline_ms / ms,
            paper_speedup: measured.map(|(_, ms, _)| model.pipeline_ms / ms),
        });
    }
    let ends = model.limits.iter().map(|(mb, _)| *mb);
    let limits =
        if arguments.limits.is_empty() { ends.collect() } else { arguments.limits.clone() };
    for limit_mb in limits {
        if !(limit_mb > 0.0 && limit_mb < 1e9) {
            return Err(wrong("--limits", format!("{limit_mb}: expected MB, above 0")));
        }
        let setup = model.setup(Choice { loaders: 1, slots: 1 }.residency(0), Some(limit_mb));
        setup.check().map_err(|error| wrong("--limits", error.to_string()))?;
        let refused = model.check_overlap(limit_mb).err();
        if let (Some(refused), false) = (&refused, arguments.limits.is_empty()) {
            return Err(wrong("--limits", refused.to_string()));
        }
        let chosen = match refused {
            Some(_) => None,
            None => {
                let candidates = planner::candidates(&setup, (limit_mb * MB) as u64, beyond);
                let time = |choice: &Choice| simulated(choice.residency(0)).map(|(_, (ms, _))| ms);
                let (Choice { loaders, slots }, ms) = planner::best(&candidates, time)?;
                let (_, (_, mb)) = simulated(Choice { loaders, slots }.residency(0))?;
                Some(Chosen { loaders, slots, ms, mb })
            }
        };
        let paper = model.limits.iter().find(|(mb, _)| *mb == limit_mb);
        report.limits.push(LimitRow {
            model: name.to_owned(),
            limit_mb,
            paper_ms: paper.map(|(_, ms)| *ms),
            chosen,
            refused: refused.map(|refused| refused.to_string()),
        });
    }
    Ok(())
}

/// Where the paper contradicts itself, by its own numbers.
fn notes(models: &std::collections::BTreeMap<String, PaperModel>) -> Vec<String> {
    let saved = |name: &str| {
        let model = &models[name];
        100.0 * (1.0 - model.pipeload[0].2 / model.pipeline_mb)
    };
    vec![
        "times of loading and computing a layer, and of loaders beside each other, are fitted to Table II".to_owned(),
        format!(
            "the paper's claims of memory are exchanged: it says 90.3 % for GPT-style models and 86.7 % for the \
             others; by Table II ViT-Large saves {:.1} % and GPT-J {:.1} %",
            saved("vit-large"),
            saved("gpt-j")
        ),
        "ViT-Large at 60 MB: the paper's 81 ms are below its own time with 2 loaders and 60.8 MB".to_owned(),
    ]
}

fn page(report: &Report) -> Page {
    let or_none = |number: Option<f64>, digits| {
        number.map_or_else(|| "-".to_owned(), |number| decimal(number, digits))
    };
    let off =
        |ms: f64, paper: Option<f64>| or_none(paper.map(|paper| 100.0 * (ms / paper - 1.0)), 1);
    let row = |row: &Row| {
        vec![
            row.model.clone(),
            row.residency.to_owned(),
            row.loaders.to_string(),
            row.slots.to_string(),
            decimal(row.ms, 1),
            or_none(row.paper_ms, 1),
            off(row.ms, row.paper_ms),
            decimal(row.speedup, 2),
            or_none(row.paper_speedup, 2),
            decimal(row.mb, 1),
            or_none(row.paper_mb, 1),
        ]
    };
    let limit = |row: &LimitRow| {
        let LimitRow { model, limit_mb, paper_ms, chosen, .. } = row;
        let of = |text: &dyn Fn(&Chosen) -> String| {
            chosen.as_ref().map_or_else(|| "refused".to_owned(), text)
        };
        vec![
            model.clone(),
            decimal(*limit_mb, 0),
            of(&|chosen| chosen.loaders.to_string()),
            of(&|chosen| chosen.slots.to_string()),
            of(&|chosen| decimal(chosen.ms, 1)),
            or_none(*paper_ms, 1),
            chosen.as_ref().map_or_else(|| "-".to_owned(), |chosen| off(chosen.ms, *paper_ms)),
            of(&|chosen| decimal(chosen.mb, 1)),
        ]
    };
    let heads = [
        "model",
        "residency",
        "loaders",
        "slots",
        "ms",
        "paper",
        "off %",
        "speed-up",
        "paper",
        "MB",
        "paper",
    ];
    let loads = output::table(&heads, report.loads.iter().map(row));
    let heads = ["model", "limit MB", "loaders", "slots", "ms", "paper", "off %", "MB"];
    let limits = output::table(&heads, report.limits.iter().map(limit));
    let refused = report.limits.iter().filter_map(|row| {
        let refused = row.refused.as_ref()?;
        Some(format!("{}: {refused}\n", row.model))
    });
    let notes = report.notes.iter().map(|note| format!("{note}\n"));
    let notes: String = refused.chain(notes).collect();
    Page::from("Hermes, Table II and Figure 7, simulated\n\n".to_owned())
        + loads
        + "\n"
        + limits
        + format!("\n{notes}")
}
