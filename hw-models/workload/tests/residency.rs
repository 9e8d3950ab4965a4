// SPDX-License-Identifier: MIT
//! Layers streamed into the banks of ranks: the logits of weights that stay, rows within the limit, no rule of the pins
//! broken; and planted faults, each of which is found.

use crate::many_ranks::on_ranks;
use pimlico_device::Config;
use pimlico_device::gemv::IoBuffers;
use pimlico_golden::llama;
use pimlico_model::checkpoint::places::Places;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{CheckpointShape, llama2c};
use pimlico_model::synthetic;
use pimlico_stream::setup::Residency;
use pimlico_stream::source::{LayerSource, ReadAt, Reading};
use pimlico_workload::decode::{DecodeJob, Limit, Streaming};
use pimlico_workload::error::{ResidencyError, WorkloadError};
use pimlico_workload::machine::{Kind, LayerBanks, Machine, Matrix, Resident};
use pimlico_workload::operator::execute;
use pimlico_workload::outcome::Outcome;
use pimlico_workload::report::decode::{DecodeReport, ResidencyReport};
use pimlico_workload::report::{Report, ScoreBuffer, SystemDescription, Written};
use pimlico_workload::system::System;
use pimlico_workload::task::{AttentionTask, Progress, SILENT, TaskPlan};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

const SHAPE: CheckpointShape = CheckpointShape {
    dim: 48,
    hidden: 100,
    layers: 5,
    heads: 6,
    kv_heads: 2,
    head_dim: 8,
    vocab: 300,
    context: 40,
};

/// A file in memory, whose n-th read may fail.
struct Memory {
    bytes: Arc<Vec<u8>>,
    fails: Option<usize>,
    reads: AtomicUsize,
}

impl ReadAt for Memory {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.fails == Some(self.reads.fetch_add(1, Ordering::Relaxed)) {
            return Err(io::Error::other("the disk is gone"));
        }
        buffer.copy_from_slice(&self.bytes[offset as usize..][..buffer.len()]);
        Ok(())
    }

    fn forget(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        Ok((self.bytes.len() as u64, None))
    }
}

/// A model whose layers are streamed.
struct Model {
    bytes: Arc<Vec<u8>>,
    places: Places,
    job: DecodeJob,
}

impl Model {
    fn new() -> Self {
        let mut bytes = Vec::new();
        synthetic::llama2c(&SHAPE, 5, &mut bytes).expect("memory");
        let checkpoint = llama2c::read(&bytes).expect("a checkpoint");
        let tokenizer = synthetic::tokenizer(SHAPE.vocab);
        let job = DecodeJob {
            model: "synthetic".to_owned(),
            tokenizer: Tokenizer::read(&tokenizer, SHAPE.vocab).expect("a tokenizer"),
            reference: llama::read(&bytes).expect("a checkpoint").0,
            checkpoint,
            prompt: "ab".to_owned(),
            tokens: 3,
            temperature: 0.0,
            seed: 1,
            io_buffers: IoBuffers::PingPong,
            threads: 1,
            streaming: None,
            prefill: None,
        };
        let places = llama2c::places(&bytes[..llama2c::HEADER_BYTES], bytes.len() as u64);
        Self { bytes: Arc::new(bytes), places: places.expect("places"), job }
    }

    fn source(&self, fails: Option<usize>) -> Arc<LayerSource> {
        let (bytes, reads) = (Arc::clone(&self.bytes), AtomicUsize::new(0));
        let file: Box<dyn ReadAt> = Box::new(Memory { bytes, fails, reads });
        let files = vec![("w.bin".to_owned(), file)];
        let source = LayerSource::new(files, self.places.clone(), Reading::default());
        Arc::new(source.expect("a source"))
    }

    fn streaming(&self, residency: Residency, limit: Option<u64>) -> Streaming {
        let limit = limit.map(Limit::Rows);
        Streaming { source: self.source(None), residency, limit, disk: None }
    }

    fn job(&self, streaming: Streaming) -> DecodeJob {
        DecodeJob { streaming: Some(streaming), ..self.job.clone() }
    }

    fn run(&self, ranks: usize, streaming: Streaming) -> Result<Report, WorkloadError> {
        let job = self.job(streaming);
        on_ranks(ranks, |system| execute(&job, system, SILENT))
    }
}

fn pipeload(loaders: usize, pinned: usize) -> Residency {
    Residency::Pipeload { loaders, slots: loaders + 1, pinned }
}

fn decoded(report: &Report) -> &DecodeReport {
    report.of::<DecodeReport>().expect("text was decoded")
}

fn residency(report: &Report) -> &ResidencyReport {
    decoded(report).residency.as_ref().expect("layers were streamed")
}

/// Rows that stay, and rows of a layer, on two ranks.
fn rows(model: &Model) -> (u64, u64) {
    let report = model.run(2, model.streaming(Residency::Whole, None)).expect("it runs");
    (residency(&report).kept_rows, residency(&report).layer_rows)
}

#[test]
fn every_residency_has_the_logits_of_weights_that_stay() {
    let model = Model::new();
    let stays = on_ranks(1, |system| execute(&model.job, system, SILENT)).expect("it runs");
    let stays = decoded(&stays);
    let (kept, layer) = rows(&model);
    let mut modes = vec![
        (2, Residency::Whole, None),
        (2, Residency::Pipeline, Some(kept + 5 * layer)),
        (2, pipeload(1, 0), Some(kept + layer)),
        (2, pipeload(2, 2), Some(kept + 3 * layer)),
        (3, pipeload(3, 0), None),
    ];
    modes.extend((1..=4).map(|loaders| (2, pipeload(loaders, 0), Some(kept + 2 * layer))));
    for (ranks, mode, limit) in modes {
        let report = model.run(ranks, model.streaming(mode, limit)).expect("it runs");
        let (text, streamed) = (decoded(&report), residency(&report));
        assert_eq!(text.logits_sha256, stays.logits_sha256, "{ranks} {mode:?} {limit:?}");
        assert_eq!(text.text, stays.text);
        assert_eq!(report.pin_violations, 0, "{:?}", report.first_violations);
        assert_eq!(report.host_pins.as_ref().map(|host| host.violations), Some(0));
        assert_eq!(report.judged.wrong(), None);
        assert!(streamed.peak_rows <= limit.unwrap_or(u64::MAX), "{streamed:?}");
        // Nothing is loaded twice: what stays is loaded once, all else once for each pass.
        let stay = match mode {
            Residency::Whole => 5,
            Residency::Pipeline => 0,
            Residency::Pipeload { pinned, .. } => pinned,
        };
        let loads = stay + streamed.passes * (5 - stay);
        assert_eq!((streamed.loads, streamed.layers_unused), (loads, 0), "{mode:?}");
        assert_eq!(streamed.signals.destroy as usize, streamed.passes * (5 - stay), "{mode:?}");
        assert!(streamed.layers.iter().all(|times| times.rank == times.layer % ranks));
    }
}

#[test]
fn times_on_the_clock_add_up() {
    let model = Model::new();
    let run = |mode, disk| {
        let streaming = Streaming { disk, ..model.streaming(mode, None) };
        model.run(2, streaming).expect("it runs")
    };
    for (mode, disk) in [
        (Residency::Whole, None),
        (pipeload(1, 0), None),
        (pipeload(4, 0), None),
        (pipeload(2, 0), Some(1e9)),
    ] {
        let report = run(mode, disk);
        let streamed = residency(&report);
        let tck_ns = 0.625;
        let compute: u64 = streamed.layers.iter().map(|times| times.compute_tck).sum();
        let all = compute as f64 * tck_ns + streamed.stall_ns + streamed.head_ns;
        assert!((all - streamed.wall_ns).abs() < 1e-3, "{all} {streamed:?}");
        // What the rank computed is in the total, adding K and V included.
        let head = report.operators.iter().find(|operator| operator.operator == "lm_head");
        let head = head.expect("the head").cycles;
        assert_eq!(report.total.cycles, compute + head);
        for times in &streamed.layers {
            assert!(times.write_ns >= times.write_tck as f64 * tck_ns - 1e-6, "{times:?}");
            let bytes = model.places.layer_bytes(times.layer) as f64;
            let disk_ns = disk.map_or(0.0, |rate| times.loads as f64 * bytes / rate * 1e9);
            assert!((times.disk_ns - disk_ns).abs() < 1e-6, "{times:?}");
        }
    }
    // A slow disk is what is waited for, and more loaders hide more of it.
    let [one, two, four] =
        [1, 2, 4].map(|loaders| residency(&run(pipeload(loaders, 0), Some(50e6))).wall_ns);
    assert!(two < 0.7 * one && four < 0.7 * two, "{one} {two} {four}");
}

#[test]
fn a_limit_below_the_least_is_refused() {
    let model = Model::new();
    let (kept, layer) = rows(&model);
    let refused = |mode, limit| {
        let error = model.run(2, model.streaming(mode, Some(limit))).expect_err("refused");
        error.to_string()
    };
    let least = kept + layer;
    assert_eq!(
        refused(pipeload(2, 0), least - 1),
        format!(
            "limit of {} rows of the banks: this model needs {least} (K, V and the head {kept}, a layer {layer})",
            least - 1
        )
    );
    assert!(refused(Residency::Whole, kept + 5 * layer - 1).contains("all layers"));
    assert!(refused(pipeload(1, 6), 10_000).contains("6 pinned layers"));
    let alone = on_ranks(1, |system| {
        execute(&model.job(model.streaming(pipeload(1, 0), None)), system, SILENT)
    });
    let error = alone.expect_err("one rank");
    assert!(matches!(error, WorkloadError::Residency(ResidencyError::System)), "{error}");
}

#[test]
fn a_read_that_fails_is_one_message() {
    let model = Model::new();
    for at in [0, 3, 20, 50] {
        let source = model.source(Some(at));
        let streaming = Streaming { source, ..model.streaming(pipeload(2, 0), None) };
        let error = model.run(2, streaming).expect_err("a failure").to_string();
        assert!(error.starts_with("w.bin: ") && error.ends_with("the disk is gone"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

/// What goes wrong with rows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// A layer keeps its rows.
    RowsKept,
    /// A layer is written into the rows of the one before it, which is in use.
    Overwritten,
    /// A layer is given rows of the other rank.
    WrongRank,
    /// A layer's rows are written in part.
    HalfWritten,
    /// A layer is read twice.
    ReadTwice,
}

/// Two ranks on which something goes wrong.
struct Faulty<'s> {
    system: &'s mut dyn System,
    fault: Fault,
    source: Arc<LayerSource>,
}

struct FaultyBanks<'a> {
    banks: Box<dyn LayerBanks + 'a>,
    fault: Fault,
    source: Arc<LayerSource>,
}

impl LayerBanks for FaultyBanks<'_> {
    fn layer_rows(&self) -> u64 {
        self.banks.layer_rows()
    }

    fn kept(&self) -> Vec<Range<usize>> {
        self.banks.kept()
    }

    fn admit(&mut self, layer: usize) -> Result<(usize, Vec<usize>), WorkloadError> {
        match self.fault {
            Fault::WrongRank if layer == 3 => self.banks.admit(4),
            _ => self.banks.admit(layer),
        }
    }

    fn write_layer(
        &mut self,
        layer: usize,
        matrices: &[Matrix; Kind::OF_A_LAYER.len()],
    ) -> Result<Written, WorkloadError> {
        match self.fault {
            Fault::Overwritten if layer == 3 => self.banks.write_layer(2, matrices),
            Fault::HalfWritten if layer == 3 => Ok(Written::default()),
            Fault::ReadTwice if layer == 3 => {
                let bytes = self.source.slot_bytes()[layer] as usize;
                let read = self.source.read_layer(layer, &mut vec![0; bytes], &Default::default());
                read.map_err(ResidencyError::Source)?;
                self.banks.write_layer(layer, matrices)
            }
            _ => self.banks.write_layer(layer, matrices),
        }
    }

    fn give_back(&mut self, layer: usize) -> Result<(), WorkloadError> {
        match self.fault {
            Fault::RowsKept if layer == 1 => Ok(()),
            _ => self.banks.give_back(layer),
        }
    }

    fn in_use(&self) -> u64 {
        self.banks.in_use()
    }

    fn held(&self) -> Option<u64> {
        self.banks.held()
    }

    fn take_opened(&mut self) -> Vec<(usize, usize)> {
        self.banks.take_opened()
    }

    fn take_channel_tck(&mut self) -> u64 {
        self.banks.take_channel_tck()
    }

    fn channel(&self, rank: usize) -> usize {
        self.banks.channel(rank)
    }

    fn as_machine(&mut self) -> &mut dyn Machine {
        self.banks.as_machine()
    }

    fn machine(&self) -> &dyn Machine {
        self.banks.machine()
    }
}

impl System for Faulty<'_> {
    fn about(&self) -> SystemDescription<'_> {
        self.system.about()
    }

    fn config(&self) -> &Config {
        self.system.config()
    }

    fn io_buffers(&self, asked: IoBuffers) -> IoBuffers {
        self.system.io_buffers(asked)
    }

    fn score_buffer(&self, task: &AttentionTask) -> ScoreBuffer {
        self.system.score_buffer(task)
    }

    fn check(&self, plan: &TaskPlan) -> Result<(), WorkloadError> {
        self.system.check(plan)
    }

    fn memory(&self, plan: &TaskPlan) -> Result<u128, WorkloadError> {
        self.system.memory(plan)
    }

    fn run(&mut self, plan: &TaskPlan, progress: Progress<'_>) -> Result<Outcome, WorkloadError> {
        self.system.run(plan, progress)
    }

    fn machine<'a>(
        &'a mut self,
        resident: Resident<'a>,
    ) -> Result<Box<dyn Machine + 'a>, WorkloadError> {
        self.system.machine(resident)
    }

    fn streamed<'a>(
        &'a mut self,
        resident: Resident<'a>,
    ) -> Result<Box<dyn LayerBanks + 'a>, WorkloadError> {
        let (fault, source) = (self.fault, Arc::clone(&self.source));
        let banks = self.system.streamed(resident)?;
        Ok(Box::new(FaultyBanks { banks, fault, source }))
    }
}

/// What is said of a run of two loaders, with room for two layers, in which something goes wrong.
fn found(fault: Fault) -> String {
    let model = Model::new();
    let (kept, layer) = rows(&model);
    let streaming = model.streaming(pipeload(2, 0), Some(kept + 2 * layer));
    let source = Arc::clone(&streaming.source);
    let job = model.job(streaming);
    let error = on_ranks(2, |system| execute(&job, &mut Faulty { system, fault, source }, SILENT));
    let error = error.expect_err("found");
    assert!(matches!(error, WorkloadError::Residency(ResidencyError::Breach(_))), "{error}");
    error.to_string()
}

#[test]
fn rows_that_are_not_given_back_are_found() {
    assert!(found(Fault::RowsKept).contains("rows are in use"));
}

#[test]
fn a_layer_in_rows_still_in_use_is_found() {
    let what = found(Fault::Overwritten);
    assert!(
        what.contains("Layer(3) is written into row") && what.contains("Layer(2) has it"),
        "{what}"
    );
}

#[test]
fn a_layer_on_the_wrong_rank_is_found() {
    assert!(found(Fault::WrongRank).contains("layer 3 is given rows of rank 0, due is 1"));
}

#[test]
fn a_layer_that_was_not_written_is_found() {
    assert!(found(Fault::HalfWritten).contains("layer 3 is used; row"));
}

#[test]
fn a_layer_that_is_read_twice_is_found() {
    assert!(found(Fault::ReadTwice).contains("bytes were read, "));
}
