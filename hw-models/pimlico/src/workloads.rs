// SPDX-License-Identifier: MIT
//! Work by which designs are compared: heads, a matrix, a decoder layer, text.

use crate::failure::Failure;
use crate::models::find_model;
use crate::output::grouped;
use crate::run::tiny_job;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, Mdq, Options, Rank, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_model::data::Distribution;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::decode::DecodeJob;
use pimlico_workload::fc::FcJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::layer::LayerJob;
use pimlico_workload::operator;
use pimlico_workload::report::Report;
use pimlico_workload::report::decode::DecodeReport;
use pimlico_workload::system::How;
use serde::Serialize;
use std::num::NonZero;

/// Whose layer is run for a token, its cost alone.
pub const LAYER_MODEL: &str = "llama-3.1-8b";
/// Tokens whose K and V are in the device then.
pub const LAYER_CONTEXT: usize = 4096;

/// What runs the work: a rank, or several of its kind.
pub struct Machine {
    /// Organisation and timing of the DRAM.
    pub config: Config,
    /// How a rank works.
    pub options: Options,
}

/// What a piece of work takes.
#[derive(Clone, Serialize)]
pub struct Run {
    /// What is run.
    pub workload: String,
    /// tCK, from the first command to the last result.
    pub tck: u64,
    /// The same in ns.
    pub ns: f64,
    /// Share of the bank PUs' bandwidth, between 0 and 1.
    pub share: f64,
    /// Slots lost to bubbles, of a head.
    pub bubbles: Option<u64>,
}

/// What a piece of work takes where the ranks of a DIMM share its data lines.
#[derive(Clone, Serialize)]
pub struct MdqRun {
    /// What is run.
    pub workload: String,
    /// tCK with data lines of each rank's own.
    pub private_tck: u64,
    /// tCK with shared ones, an upper bound.
    pub shared_tck: u64,
    /// tCK that any order of the bursts takes, at the least.
    pub least_tck: u64,
    /// tCK in which data are on the busiest lines, as a share of those in which the work has private ones: over 1,
    /// it is more than they can carry.
    pub wanted: f64,
}

impl MdqRun {
    fn of(workload: String, [private, shared]: [Report; 2]) -> Self {
        let on_ranks = || shared.operators.iter().filter_map(|o| Some((o.ranks?, o.cycles)));
        let busy_tck: f64 = on_ranks().map(|(ranks, tck)| ranks.mdq * tck as f64).sum();
        let private_tck = private.total.cycles;
        Self {
            workload,
            private_tck,
            shared_tck: shared.total.cycles,
            least_tck: on_ranks().map(|(ranks, _)| ranks.mdq_least_tck).sum(),
            wanted: busy_tck / private_tck.max(1) as f64,
        }
    }
}

impl Run {
    fn of(workload: String, report: &Report) -> Self {
        let total = &report.total;
        let share = total.use_share();
        Self { workload, tck: total.cycles, ns: total.ns, share, bubbles: None }
    }
}

/// A report in which all holds that was checked, as of `pimlico run`.
fn checked(report: Report) -> Result<Report, Failure> {
    if let Some(violations) = report.violations() {
        return Err(Failure::Check(violations));
    }
    let exact = report.operators.iter().filter_map(|operator| operator.exact);
    match exact.map(|exact| exact.differing).sum() {
        0u64 => Ok(report),
        differing => Err(Failure::Check(format!("{differing} results differ from golden's"))),
    }
}

fn input(flag: &str, error: &dyn std::error::Error) -> Failure {
    Failure::Input(format!("{flag}: {error}"))
}

impl Machine {
    fn rank(&self) -> Attached<Rank> {
        Attached::engine(&self.config, self.options).expect("an L3 rank")
    }

    /// A head's attention, as `pimlico run` reports it.
    pub fn head_report(
        &self,
        head_dim: usize,
        context: usize,
        seed: u64,
    ) -> Result<Report, Failure> {
        let job = heads(1, head_dim, context, seed);
        let report = operator::on_rank(&mut self.rank(), &job);
        checked(report.map_err(|e| input(&format!("--context {context}"), &e))?)
    }

    /// A head's attention.
    pub fn head(&self, head_dim: usize, context: usize, seed: u64) -> Result<Run, Failure> {
        let report = self.head_report(head_dim, context, seed)?;
        let bubbles = report.operators.iter().map(|operator| operator.slots.lost.bubble).sum();
        let workload = format!("a head, d_h {head_dim}, {} tokens", grouped(context as u64));
        Ok(Run { bubbles: Some(bubbles), ..Run::of(workload, &report) })
    }

    /// A matrix times a vector, as `pimlico run` reports it.
    pub fn matrix_report(&self, rows: usize, columns: usize, seed: u64) -> Result<Report, Failure> {
        let report = operator::on_rank(&mut self.rank(), &matrix(rows, columns, seed));
        checked(report.map_err(|e| input("gemv", &e))?)
    }

    /// A matrix times a vector.
    pub fn matrix(&self, rows: usize, columns: usize, seed: u64) -> Result<Run, Failure> {
        let report = self.matrix_report(rows, columns, seed)?;
        let size = [rows, columns].map(|size| grouped(size as u64));
        Ok(Run::of(format!("a matrix of {} x {}", size[0], size[1]), &report))
    }

    /// A text, as `pimlico run` reports it.
    pub fn text_report(&self, job: &DecodeJob) -> Result<Report, Failure> {
        let report = operator::on_rank(&mut self.rank(), job);
        checked(report.map_err(|e| input(&format!("--tokens {}", job.tokens), &e))?)
    }

    /// A token of a text by the built-in language model, on average.
    pub fn token(&self, tokens: usize, seed: u64) -> Result<Run, Failure> {
        let report = self.text_report(&tiny_job(tokens, seed)?)?;
        let of_text = tokens_of(&report);
        let workload = format!("a decoded token of the built-in Llama, mean of {of_text}");
        let run = Run::of(workload, &report);
        Ok(Run { tck: run.tck / of_text as u64, ns: run.ns / of_text as f64, ..run })
    }

    /// A head's attention on each rank, without its results.
    pub fn heads_report(
        &self,
        ranks: Topology,
        head_dim: usize,
        context: usize,
        seed: u64,
        how: How,
    ) -> Result<Report, Failure> {
        let job = heads(ranks.count(), head_dim, context, seed);
        let report =
            self.on_ranks(ranks, |ranks| operator::on_ranks(ranks, self.options, how, &job));
        checked(report.map_err(|e| input(&format!("--context {context}"), &e))?)
    }

    /// A matrix times a vector on each rank, one vector for all, without the results.
    pub fn matrices_report(
        &self,
        ranks: Topology,
        rows: usize,
        columns: usize,
        seed: u64,
        how: How,
    ) -> Result<Report, Failure> {
        let job = matrix(ranks.count() * rows, columns, seed);
        let report =
            self.on_ranks(ranks, |ranks| operator::on_ranks(ranks, self.options, how, &job));
        checked(report.map_err(|e| input("gemv", &e))?)
    }

    /// A head's attention on each of two ranks of a DIMM, which share its data lines or do not, without its
    /// results.
    pub fn head_on_each(
        &self,
        head_dim: usize,
        context: usize,
        seed: u64,
    ) -> Result<MdqRun, Failure> {
        let two = Topology::new(1, 1, 2).expect("two ranks");
        let run =
            |mdq: Mdq| self.heads_report(two.with_mdq(mdq), head_dim, context, seed, all_cores());
        let context = grouped(context as u64);
        let workload = format!("two heads, d_h {head_dim}, {context} tokens, two ranks of a DIMM");
        Ok(MdqRun::of(workload, [run(Mdq::Private)?, run(Mdq::Shared)?]))
    }

    /// A decoder layer for a token on some ranks, without its results.
    pub fn layer(&self, ranks: Topology, seed: u64) -> Result<Run, Failure> {
        Ok(Run::of(layer_name(ranks), &self.layer_report(ranks, LAYER_CONTEXT, seed, all_cores())?))
    }

    /// The same where the ranks of a DIMM share its data lines, beside private ones.
    pub fn layer_mdq(&self, ranks: Topology, seed: u64) -> Result<MdqRun, Failure> {
        let run =
            |mdq: Mdq| self.layer_report(ranks.with_mdq(mdq), LAYER_CONTEXT, seed, all_cores());
        Ok(MdqRun::of(layer_name(ranks), [run(Mdq::Private)?, run(Mdq::Shared)?]))
    }

    fn on_ranks<T>(&self, topology: Topology, run: impl FnOnce(&Ranks) -> T) -> T {
        let at = |_: Address| Box::new(self.rank()) as Box<dyn RankDevice>;
        run(&Ranks::new(&self.config, topology, &at))
    }

    /// Writing the matrices of a layer into one rank, and each times a vector; the costs alone.
    pub fn matrices_of_layer(&self, model: &str, seed: u64) -> Result<Report, Failure> {
        let job = FcJob::new(model, &find_model(model)?, 1, false, seed);
        let report = self.on_ranks(Topology::ONE, |ranks| {
            operator::on_ranks(ranks, self.options, all_cores(), &job)
        });
        checked(report.map_err(|e| input("--model", &e))?)
    }

    /// The same with so many tokens in the device, as `pimlico run` reports it.
    pub fn layer_report(
        &self,
        ranks: Topology,
        context: usize,
        seed: u64,
        how: How,
    ) -> Result<Report, Failure> {
        self.layer_of(LAYER_MODEL, ranks, (context, seed), how)
    }

    /// A decoder layer of a model for a token.
    pub fn layer_of(
        &self,
        model: &str,
        ranks: Topology,
        (context, seed): (usize, u64),
        how: How,
    ) -> Result<Report, Failure> {
        let shape = find_model(model)?;
        let job = LayerJob {
            model: model.to_owned(),
            shape,
            layers: 1,
            context,
            distribution: Distribution::default(),
            io_buffers: IoBuffers::PingPong,
            seed,
        };
        let report =
            self.on_ranks(ranks, |ranks| operator::on_ranks(ranks, self.options, how, &job));
        checked(report.map_err(|e| input("layer", &e))?)
    }
}

/// Heads of one request, each with a K and V of its own.
fn heads(heads: usize, head_dim: usize, context: usize, seed: u64) -> AttentionJob {
    AttentionJob {
        model: "a head".to_owned(),
        head_dim,
        heads,
        group: 1,
        contexts: vec![context],
        distribution: Distribution::default(),
        seed,
    }
}

/// A matrix whose vector goes into one half of the shared buffers while the other is in use.
fn matrix(rows: usize, columns: usize, seed: u64) -> GemvJob {
    GemvJob { rows, columns, io_buffers: IoBuffers::PingPong, seed }
}

/// Tokens of a text that went through the layers.
pub fn tokens_of(report: &Report) -> usize {
    report.of::<DecodeReport>().map_or(1, |decode| decode.tokens.len().max(1))
}

/// The cost alone, on all cores.
pub fn all_cores() -> How {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    How { timing_only: true, with_data: false, ..How::from(threads) }
}

fn layer_name(ranks: Topology) -> String {
    let on = match ranks.count() {
        1 => "one rank".to_owned(),
        count => format!("{count} ranks"),
    };
    let context = grouped(LAYER_CONTEXT as u64);
    format!("a layer of {LAYER_MODEL} for a token, {on}, {context} tokens")
}
