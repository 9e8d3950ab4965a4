// SPDX-License-Identifier: MIT
//! `pimlico sweep serving`: studies of serving systems, beside the papers' figures.

pub(super) mod picture;

use crate::failure::Failure;
use crate::files;
use crate::models::model_name;
use crate::output::{self, FormatArguments, Page, decimal};
use crate::schema::Kind;
use crate::serve::{Constants, threads};
use clap::{Args, ValueEnum};
use pimlico_device::SystemKind;
use pimlico_serving::costs::memo::Memo;
use pimlico_serving::studies::lab::{Lab, llm};
use pimlico_serving::studies::lol::{LolLab, parallel, scaling, utilisation};
use pimlico_serving::studies::{Cell, Study, StudyTable, costs, gpus, l3, predictor, throughput};
use std::num::NonZero;
use std::path::PathBuf;

/// Bytes of a table of measured kernels, at the most.
const LARGEST_FILE: usize = 1 << 27;

/// Arguments of `pimlico sweep serving`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico sweep serving --study costs
  pimlico sweep serving --study gpu-validation --kernels kernels.csv
  pimlico sweep serving --study l3-throughput --requests 1000")]
pub struct ServingArguments {
    /// The study
    #[arg(long, value_enum)]
    study: ServingStudy,
    /// Requests of a trace, where requests are served [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    requests: Option<u64>,
    /// Contexts that are compared by `costs` [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    contexts: Option<u64>,
    /// The model whose heads `costs` compares on a rank [default: gpt-175b]
    #[arg(long, value_name = "NAME", value_parser = model_name())]
    model: Option<String>,
    /// Measure costs anew, without those that are built in or on disk
    #[arg(long)]
    cold: bool,
    /// Measured kernels for `gpu-validation`, which needs them
    #[arg(long, value_name = "FILE.csv")]
    kernels: Option<PathBuf>,
    /// Constants of the GPUs' rooflines, where requests are served
    #[arg(long, value_enum)]
    gpu_model: Option<Constants>,
    /// Seed of requests and contexts
    #[arg(long, default_value_t = 1, value_name = "S")]
    seed: u64,
    /// Threads; the tables do not depend on them [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Write the tables of costs that were used, in the form in which they are built in
    #[arg(long, value_name = "FILE.csv")]
    costs_out: Option<PathBuf>,
    /// Write a picture of the figures beside the paper's
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArguments,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ServingStudy {
    /// Tables of costs beside the cycle models
    Costs,
    /// Rooflines beside kernels measured on an A100
    GpuValidation,
    /// L3 and its baselines: four data sets, three models
    L3Throughput,
    /// Memory reserved, or given as requests grow
    L3Admission,
    /// L3 with more ranksets and larger ranks
    L3Scaling,
    /// What each part of L3 gains
    L3Ablation,
    /// Time between tokens by ranksets
    L3Latency,
    /// How far L3's learned predictors are off
    L3Predictor,
    /// What ranksets do during transfers
    L3Overlap,
    /// LoL-PIM's throughput and utilisation, with the time by cause
    LolUtilisation,
    /// LoL-PIM and its baselines from 128 to 1024 GB
    LolScaling,
    /// LoL-PIM's tensor and pipeline parallelism, and lanes of its softmax unit
    LolParallel,
    /// Time of a token with LoL-PIM's techniques
    LolLatency,
}

impl ServingStudy {
    /// Whether requests of a trace are served.
    fn serves(self) -> bool {
        let of_l3 = [
            Self::L3Throughput,
            Self::L3Admission,
            Self::L3Scaling,
            Self::L3Ablation,
            Self::L3Predictor,
        ];
        of_l3.contains(&self) || self.is_of_modules()
    }

    /// Whether it is of LoL-PIM's modules.
    fn is_of_modules(self) -> bool {
        [Self::LolUtilisation, Self::LolScaling, Self::LolParallel, Self::LolLatency]
            .contains(&self)
    }
}

/// Runs the command.
pub fn run(arguments: &ServingArguments) -> Result<(), Failure> {
    arguments.refuse_what_does_nothing()?;
    let costs_out = arguments.costs_out.as_deref().map(files::Output::beside_report).transpose()?;
    let plot = arguments.plot.as_deref().map(files::Output::beside_report).transpose()?;
    let threads = threads(arguments.threads);
    let memo = if arguments.cold { Memo::cold(threads) } else { Memo::new(threads) };
    let rank = crate::device::of_system(SystemKind::L3);
    let channel = crate::device::of_system(SystemKind::Aim);
    let lab = Lab {
        memo: &memo,
        rank: &rank,
        gpu_model: arguments.gpu_model.unwrap_or(Constants::Attacc).into(),
        requests: arguments.requests.unwrap_or(1000) as usize,
        seed: arguments.seed,
    };
    let modules =
        LolLab { memo: &memo, channel: &channel, requests: lab.requests, seed: arguments.seed };
    let study = match arguments.study {
        ServingStudy::Costs => {
            let rank_llm = llm(arguments.model.as_deref().unwrap_or("gpt-175b"))?;
            let module_llm = llm("qwen1.5-7b")?;
            let settings = costs::Settings {
                rank: &rank,
                channel: &channel,
                rank_llm: &rank_llm,
                module_llm: &module_llm,
                contexts: arguments.contexts.unwrap_or(200) as usize,
                seed: arguments.seed,
            };
            costs::run(&memo, &settings)?
        }
        ServingStudy::GpuValidation => arguments.gpu_validation()?,
        ServingStudy::L3Throughput => throughput::run(&lab)?,
        ServingStudy::L3Admission => throughput::admission(&lab)?,
        ServingStudy::L3Scaling => l3::scaling(&lab)?,
        ServingStudy::L3Ablation => l3::ablation(&lab)?,
        ServingStudy::L3Latency => l3::latency(&lab)?,
        ServingStudy::L3Predictor => predictor::run(&lab)?,
        ServingStudy::L3Overlap => l3::overlap(&lab)?,
        ServingStudy::LolUtilisation => utilisation::run(&modules)?,
        ServingStudy::LolScaling => scaling::run(&modules)?,
        ServingStudy::LolParallel => parallel::run(&modules)?,
        ServingStudy::LolLatency => parallel::latency(&modules)?,
    };
    if let Some(output) = costs_out {
        output.write(memo.written().as_bytes())?;
    }
    if let Some(output) = plot {
        if study.figures.is_empty() {
            return Err(Failure::Input("--plot: this study has no figures of a paper".to_owned()));
        }
        picture::write(output, &study)?;
    }
    output::report(arguments.format, (Kind::SweepServing, &study), &page(&study))?;
    match study.violations {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations of the timeline"))),
    }
}

impl ServingArguments {
    /// What has no effect on a study is refused.
    fn refuse_what_does_nothing(&self) -> Result<(), Failure> {
        let refuse = |flag: &str, is_given: bool| match is_given {
            true => Err(Failure::Input(format!("--{flag}: it does nothing in this study"))),
            false => Ok(()),
        };
        let study = self.study;
        refuse("requests", self.requests.is_some() && !study.serves())?;
        refuse("contexts", self.contexts.is_some() && study != ServingStudy::Costs)?;
        refuse("model", self.model.is_some() && study != ServingStudy::Costs)?;
        refuse("kernels", self.kernels.is_some() && study != ServingStudy::GpuValidation)?;
        let has_gpus = !study.is_of_modules()
            && !matches!(study, ServingStudy::Costs | ServingStudy::GpuValidation);
        refuse("gpu-model", self.gpu_model.is_some() && !has_gpus)?;
        let has_costs = study != ServingStudy::GpuValidation;
        refuse("cold", self.cold && !has_costs)?;
        refuse("costs-out", self.costs_out.is_some() && !has_costs)
    }

    fn gpu_validation(&self) -> Result<Study, Failure> {
        let Some(file) = &self.kernels else {
            let needs =
                "--study gpu-validation needs --kernels FILE.csv, a table of measured kernels";
            return Err(Failure::Input(needs.to_owned()));
        };
        let name = file.display().to_string();
        let bytes = files::read(file, LARGEST_FILE)?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::Input(format!("{name}: not UTF-8")))?;
        Ok(gpus::run(&name, &text)?)
    }
}

/// The report for people.
pub(super) fn page(study: &Study) -> Page {
    let mut page = Page::from(format!("{}\n", study.title));
    for table in &study.tables {
        page += format!("\n{}\n\n", table.title);
        page += of_table(table);
    }
    if !study.figures.is_empty() {
        page += "\nBeside the paper\n\n";
        let rows = study.figures.iter().map(|figure| {
            vec![
                figure.what.clone(),
                figure.paper.clone(),
                decimal(figure.ours, 3),
                format!(
                    "{} to {}",
                    output::as_given(figure.band[0]),
                    output::as_given(figure.band[1])
                ),
                if figure.holds { "yes".to_owned() } else { "no".to_owned() },
            ]
        });
        page += output::table(&["figure", "paper", "ours", "expected", "within"], rows);
        let causes =
            study.figures.iter().filter_map(|figure| Some((&figure.what, figure.cause.as_ref()?)));
        for (what, cause) in causes {
            page += format!("{what}: {cause}\n");
        }
    }
    page += format!("violations of the timeline: {}\n", study.violations);
    for note in &study.notes {
        page += format!("note: {note}\n");
    }
    page
}

fn of_table(table: &StudyTable) -> crate::output::Table {
    let cell = |cell: &Cell| match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => decimal(number.value, number.digits),
    };
    let rows = table.rows.iter().map(|row| row.iter().map(cell).collect());
    output::table(&table.columns, rows)
}
