// SPDX-License-Identifier: MIT
//! Text decoded on the device, against the reference.

use pimlico_device::aim::AimOptions;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{
    Address, Config, Mdq, Normalise, Options, RankDevice, Ranks, SumFormat, Topology,
};
use pimlico_golden::llama;
use pimlico_host::aim::AimHost;
use pimlico_host::attached::Attached;
use pimlico_model::checkpoint::config::Config as ModelConfig;
use pimlico_model::checkpoint::index::Index;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Gate, Pairs, RopeScaling, llama2c, safetensors, tiny};
use pimlico_model::small;
use pimlico_workload::decode::{self, DecodeJob};
use pimlico_workload::error::WorkloadError;
use pimlico_workload::operator;
use pimlico_workload::report::Report;
use pimlico_workload::report::decode::{DecodeReport, LayerReport};
use std::path::{Path, PathBuf};

fn job(weights: &[u8], tokenizer: &[u8], prompt: &str, tokens: usize) -> DecodeJob {
    let checkpoint = llama2c::read(weights).expect("a checkpoint");
    DecodeJob {
        model: "tiny".to_owned(),
        tokenizer: Tokenizer::read(tokenizer, checkpoint.shape.vocab).expect("a tokenizer"),
        reference: llama::read(weights).expect("a checkpoint").0,
        checkpoint,
        prompt: prompt.to_owned(),
        tokens,
        temperature: 0.0,
        seed: 1,
        io_buffers: IoBuffers::PingPong,
        threads: 1,
        streaming: None,
        prefill: None,
    }
}

fn run(job: &DecodeJob, options: Options) -> Result<Report, WorkloadError> {
    let config = Config::ddr4_3200();
    let mut rank = Attached::engine(&config, options).expect("an L3 rank");
    operator::on_rank(&mut rank, job)
}

fn decoded(report: &Report) -> &pimlico_workload::report::decode::DecodeReport {
    report.of::<DecodeReport>().expect("text was decoded")
}

#[test]
fn the_tiny_model_tells_the_reference_s_story() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 40);
    let report = run(&job, Options::default()).expect("it runs");
    let decode = decoded(&report);
    println!("{:?} {:#?}", decode.text, decode.agreement);
    assert_eq!((decode.agreement.equal, decode.agreement.compared), (40, 40));
    let prompt = job.tokenizer.encode(tiny::PROMPT).expect("known characters");
    assert_eq!(decode.decoded_tokens, job.reference.greedy(&prompt, 40, &[1, 2]));
    assert!(decode.agreement.max_relative_logit_error < 0.02);
    assert!(decode.agreement.max_logit_error > 0.0, "binary16 is not float64");
    assert_eq!(report.pin_violations, 0);
}

/// Blocks of each matrix's rows in all ranks, each K and V head in one: the same text, at the same logits.
#[test]
fn the_ranks_of_a_device_tell_it_together() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 12);
    let one = run(&job, Options::default()).expect("it runs");
    let config = Config::ddr4_3200();
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        Box::new(Attached::engine(&config, Options::default()).expect("an L3 rank"))
    };
    let on = |topology: Topology| {
        let ranks = Ranks::new(&config, topology, &new_rank);
        operator::on_ranks(&ranks, Options::default(), 1, &job).expect("it runs")
    };
    let four = on(Topology::new(2, 1, 2).expect("four ranks"));
    assert_eq!(decoded(&four).decoded_tokens, decoded(&one).decoded_tokens);
    let [of_one, of_four] = [&one, &four].map(|report| decoded(report).agreement.clone());
    assert_eq!((of_four.equal, of_four.compared), (12, 12));
    assert_eq!(of_four.rms_logit_error, of_one.rms_logit_error);
    assert_eq!(four.pin_violations, 0);
    assert_eq!(four.host_pins.as_ref().map(|host| host.violations), Some(0));
    assert!(four.total.cycles < one.total.cycles);
    assert_eq!(decoded(&four).append.bytes, decoded(&one).append.bytes);
    assert_eq!(four.load.bytes, one.load.bytes);
    assert!(four.load.cycles < one.load.cycles, "{} {}", four.load.cycles, one.load.cycles);
    let spread = |report: &Report, name: &str| {
        let operator = report.operators.iter().find(|operator| operator.operator == name);
        operator.expect(name).ranks.expect("there are several")
    };
    // 2 K and V heads, and 64 rows of 48 in units of 16.
    assert_eq!((spread(&four, "attention").used, spread(&four, "ffn1").used), (2, 4));
    // Tokens and layers add up to the operators.
    let operators: u64 = four.operators.iter().map(|operator| operator.cycles).sum();
    let tokens: u64 = decoded(&four).tokens.iter().map(|token| token.cycles).sum();
    assert_eq!(operators, tokens);
    // Private data lines or shared ones: as soon, or later.
    let shared = on(Topology::new(2, 1, 2).expect("four ranks").with_mdq(Mdq::Shared));
    assert!(shared.total.cycles >= four.total.cycles);
    assert_eq!(decoded(&shared).decoded_tokens, decoded(&one).decoded_tokens);
}

/// K, and V transposed, grow token by token, over several groups of K's rows and words of V's columns.
#[test]
fn a_module_of_aim_channels_tells_it_too() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 40);
    let config = Config::gddr6_aim();
    let [single, ping_pong] = [IoBuffers::Single, IoBuffers::PingPong].map(|io_buffers| {
        let options = AimOptions { channels: 1, io_buffers, ..AimOptions::default() };
        let mut module = AimHost::engine(&config, options);
        let report = operator::on_module(&mut module, &job).expect("it runs");
        assert_eq!((report.system.as_str(), report.pin_violations), ("aim", 0));
        report
    });
    let agreement = &decoded(&ping_pong).agreement;
    assert_eq!((agreement.equal, agreement.compared), (40, 40));
    assert!(agreement.max_relative_logit_error < 0.02, "{agreement:?}");
    assert_eq!(decoded(&single).agreement.rms_logit_error, agreement.rms_logit_error);
    assert!(ping_pong.total.cycles < single.total.cycles);
    // Of each layer and K and V head, in words of 16 elements of 32 bytes: K has one for each token,
    // V one for each of 8 elements.
    let appended = decoded(&ping_pong).append.bytes;
    let steps = decoded(&ping_pong).tokens.len() as u64;
    assert_eq!(appended, 3 * 2 * steps * (1 + 8) * 32);
}

fn on_module(job: &DecodeJob, config: &Config, channels: usize) -> Result<Report, WorkloadError> {
    let options = AimOptions { channels, ..AimOptions::default() };
    operator::on_module(&mut AimHost::engine(config, options), job)
}

/// K and V of a token are written in the banks that hold it: as many bytes on any number of channels, and in the time of
/// the token.
#[test]
fn adding_a_token_counts_and_touches_no_other_channel() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 12);
    let config = Config::gddr6_aim();
    let [one, all] = [1, 16].map(|channels| on_module(&job, &config, channels).expect("it runs"));
    assert_eq!(decoded(&all).decoded_tokens, decoded(&one).decoded_tokens);
    assert_eq!(decoded(&all).agreement.rms_logit_error, decoded(&one).agreement.rms_logit_error);
    for report in [&one, &all] {
        let decode = decoded(report);
        let steps = decode.tokens.len() as u64;
        assert_eq!(decode.append_columns, 3 * 2 * steps * (1 + 8));
        assert_eq!(decode.append.bytes, 32 * decode.append_columns);
        let names: Vec<_> = report.operators.iter().map(|operator| operator.operator).collect();
        assert_eq!(names[..3], ["qkv", "append", "attention"]);
        let append = &report.operators[1];
        assert!(append.cycles > 0 && append.cycles == decode.append.cycles);
        assert_eq!(append.commands["WR"], decode.append_columns);
        let link = append.link.as_ref().expect("the preset has one");
        assert_eq!((link.to_hub_bytes, link.to_host_bytes), (decode.append.bytes, 0));
        // All that there is is in the total, token by token and layer by layer.
        let total = report.total.cycles;
        assert_eq!(report.operators.iter().map(|o| o.cycles).sum::<u64>(), total);
        assert_eq!(decode.tokens.iter().map(|t| t.cycles).sum::<u64>(), total);
        let lm_head = report.operators.last().map_or(0, |operator| operator.cycles);
        assert_eq!(decode.layers.iter().map(|l| l.cycles).sum::<u64>() + lm_head, total);
        let appended = |layer: &LayerReport| layer.operator_cycles["append"];
        assert_eq!(decode.layers.iter().map(appended).sum::<u64>(), append.cycles);
    }
    let qkv = all.operators[0].link.as_ref().expect("the preset has one");
    let steps = decoded(&all).tokens.len() as u64;
    assert_eq!(qkv.to_hub_bytes, 2 * 3 * 32 * steps);
    assert_eq!(qkv.to_host_bytes, 2 * 3 * 64 * steps);
}

#[test]
fn a_model_that_a_module_has_no_room_for_is_refused_with_its_rows() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, "a", 5);
    let mut config = Config::gddr6_aim();
    let wanted = (1..).find(|rows| {
        config.organisation.rows = *rows;
        on_module(&job, &config, 1).is_ok()
    });
    let wanted = wanted.expect("there is room");
    config.organisation.rows = wanted - 1;
    let error = on_module(&job, &config, 1).expect_err("it has no room").to_string();
    assert_eq!(
        error,
        format!(
            "weights, K and V of 3 layer(s) take {wanted} rows of each bank of the module, a bank has {}",
            wanted - 1
        )
    );
}

#[test]
fn costs_add_up() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, "a", 5);
    let report = run(&job, Options::default()).expect("it runs");
    let decode = decoded(&report);
    let operators = &report.operators;
    let names: Vec<_> = operators.iter().map(|operator| operator.operator).collect();
    assert_eq!(names, ["qkv", "append", "attention", "projection", "ffn1", "ffn2", "lm_head"]);

    // A prompt of two tokens; the fifth decoded one goes through no layer.
    let (dim, kv, hidden, layers, vocab) = (32, 16, 88, 3, 96);
    let (steps, choices) = (6, 5);
    let macs: Vec<_> = operators.iter().map(|operator| operator.macs).collect();
    let attended: u64 = (1..=steps).map(|tokens| 2 * layers * 4 * 8 * tokens).sum();
    let of_matrix = |rows: u64, columns: u64| layers * steps * rows * columns;
    assert_eq!(
        macs,
        [
            of_matrix(dim + 2 * kv, dim),
            0,
            attended,
            of_matrix(dim, dim),
            of_matrix(2 * hidden, dim),
            of_matrix(dim, hidden),
            choices * vocab * dim
        ]
    );
    assert_eq!((decode.tokens.len(), decode.layers.len()), (6, 3));
    let lm_head = operators[6].cycles;
    assert_eq!(decode.tokens.iter().map(|t| t.cycles).sum::<u64>(), report.total.cycles);
    assert_eq!(decode.layers.iter().map(|l| l.cycles).sum::<u64>() + lm_head, report.total.cycles);
    assert_eq!(operators.iter().map(|o| o.cycles).sum::<u64>(), report.total.cycles);
    assert_eq!(decode.tokens.iter().map(|t| t.macs).sum::<u64>(), macs.iter().sum::<u64>());
    let appended: u64 = decode.tokens.iter().map(|token| token.append_cycles).sum();
    assert_eq!(appended, decode.append.cycles);
    assert_eq!((appended, operators[1].slots.used), (operators[1].cycles, 0));
    // A token is a few columns of each layer: no tRFC is waited for where no REF was.
    let rfc_tck = Config::ddr4_3200().timing.rfc_tck;
    assert!(appended > 0 && appended < layers * 6 * rfc_tck / 2, "{appended}");
    // K: one burst of 64 bytes. V: the same, and four at tokens 0 and 4.
    assert_eq!(decode.append.bytes, layers * 2 * 64 * (6 + 4 + 2 * 4));
    for (name, operator) in names.iter().zip(operators).filter(|(name, _)| **name != "append") {
        let error = operator.error.max_relative;
        assert!(error > 0.0 && error < 0.01, "{name} {error}");
    }
}

#[test]
fn wider_sums_come_closer() {
    let job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 20);
    let late =
        Options { normalise: Normalise::Late, sums: SumFormat::Binary32, ..Options::default() };
    let [paper, wide] = [Options::default(), late].map(|options| {
        let report = run(&job, options).expect("it runs");
        decoded(&report).agreement.rms_logit_error
    });
    assert!(wide < paper, "{wide} {paper}");
}

#[test]
fn a_seed_reproduces_a_sample() {
    let sample = |seed| {
        let mut job = job(tiny::WEIGHTS, tiny::TOKENIZER, "the", 20);
        (job.temperature, job.seed) = (1.5, seed);
        let report = run(&job, Options::default()).expect("it runs");
        decoded(&report).text.clone()
    };
    assert_eq!(sample(1), sample(1));
    assert_ne!(sample(1), sample(2));
}

/// What llama2.c's format does not have: pairs of halves, scaled RoPE, biases, norms of
/// heads, another gate, a classifier of its own.
#[test]
fn other_arithmetic_is_that_of_the_reference() {
    let mut job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 10);
    let plain = decoded(&run(&job, Options::default()).expect("it runs")).text.clone();
    let checkpoint = &mut job.checkpoint;
    checkpoint.arithmetic.pairs = Pairs::Halves;
    checkpoint.arithmetic.gate = Gate::GeluTanh;
    checkpoint.arithmetic.theta = 500.0;
    checkpoint.arithmetic.scaling =
        RopeScaling::Llama3 { factor: 4.0, low: 1.0, high: 4.0, context: 32.0 };
    checkpoint.classifier = checkpoint.embedding.iter().map(|weight| -weight).collect();
    for layer in &mut checkpoint.layers {
        layer.bias = (0..64).map(|i| (i as f32).sin()).collect();
        layer.q_norm = (0..8).map(|i| 1.0 + (i as f32).sin() / 2.0).collect();
        layer.k_norm = (0..8).map(|i| 1.0 + (i as f32).cos() / 2.0).collect();
    }
    job.reference = decode::reference(&job.checkpoint);
    let report = run(&job, Options::default()).expect("it runs");
    let decode = decoded(&report);
    assert!(decode.agreement.max_relative_logit_error < 0.02, "{:?}", decode.agreement);
    assert_ne!(decode.text, plain);
}

/// A Qwen3 in two shards: norms of heads, scaled RoPE, and q wider than a token's vector.
#[test]
fn a_qwen3_in_shards_is_that_of_the_reference() {
    let config = ModelConfig::read(small::QWEN3.as_bytes()).expect("a config");
    let (index, shards) = small::shards(&small::qwen3_tensors(), "F32");
    let index = Index::read(index.as_bytes()).expect("an index");
    let checkpoint = safetensors::read_shards(&shards, &index, &config).expect("a model");
    let reference = decode::reference(&checkpoint);
    let tokenizer = Tokenizer::read(&small::tokenizer(), small::VOCAB).expect("a tokenizer");
    let job = DecodeJob {
        model: "qwen3".to_owned(),
        tokenizer,
        reference,
        checkpoint,
        prompt: "bb".to_owned(),
        tokens: 7,
        temperature: 0.0,
        seed: 1,
        io_buffers: IoBuffers::PingPong,
        threads: 1,
        streaming: None,
        prefill: None,
    };
    let report = run(&job, Options::default()).expect("it runs");
    let decode = decoded(&report);
    println!("{:?} {:#?}", decode.decoded_tokens, decode.agreement);
    let prompt = job.tokenizer.encode(&job.prompt).expect("known characters");
    assert_eq!(decode.decoded_tokens, job.reference.greedy(&prompt, 7, &[1, 2]));
    assert_eq!(decode.decoded_tokens.len(), 3, "then it ends");
    assert_eq!(decode.agreement.equal, decode.agreement.compared);
    assert!(decode.agreement.max_logit_error < 0.02, "{:?}", decode.agreement);
    // Without the norms it is another model.
    let mut plain = job.reference.clone();
    plain.layers.iter_mut().for_each(|layer| layer.k_norm.clear());
    let logits = |model: &llama::Llama| {
        let mut past = llama::Past::default();
        prompt.iter().map(|&token| model.step(&mut past, token)).last()
    };
    assert_ne!(logits(&plain), logits(&job.reference));
}

#[test]
fn other_weights_part_from_the_reference() {
    let mut job = job(tiny::WEIGHTS, tiny::TOKENIZER, tiny::PROMPT, 20);
    job.checkpoint.layers[1].o.iter_mut().for_each(|weight| *weight *= -1.0);
    let report = run(&job, Options::default()).expect("it runs");
    let agreement = &decoded(&report).agreement;
    let parted = agreement.parted.as_ref().expect("they part");
    assert_ne!(parted.device.token, parted.reference.token);
    assert_eq!(
        parted.position,
        job.tokenizer.encode(tiny::PROMPT).unwrap().len() + agreement.equal
    );
    // Why: the two choices are nearer to each other than the logits are to the reference.
    assert!(parted.reference_gap + parted.device_gap <= 2.0 * parted.max_logit_error);
    assert!(agreement.reference_text.as_ref().is_some_and(|text| text.starts_with(tiny::PROMPT)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |prompt: &str, tokens, spoil: fn(&mut DecodeJob)| {
        let mut job = job(tiny::WEIGHTS, tiny::TOKENIZER, prompt, tokens);
        spoil(&mut job);
        run(&job, Options::default()).expect_err("refused").to_string()
    };
    let none: fn(&mut DecodeJob) = |_| {};
    assert!(refused("a", 191, none).contains("at most 192 together"));
    assert!(refused("a", 0, none).contains("1 or more to decode"));
    assert!(refused("a", usize::MAX, none).contains("at most 192"));
    assert!(refused("an Umlaut", 5, none).contains("character 'U' at byte 3"));
    let infinite = refused("a", 5, |job| job.checkpoint.layers[2].up[33] = f32::INFINITY);
    assert!(infinite.starts_with("layer 2, ffn1, row 89, column 1: weight inf"), "{infinite}");
}

/// Where the weights of others are, if they are there.
fn weights(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/weights");
    let folder = std::env::var_os("PIMLICO_WEIGHTS").map_or(beside, PathBuf::from);
    Some(folder.join(name)).filter(|file| file.exists())
}

/// 260 thousand parameters that tell stories (huggingface.co/karpathy/tinyllamas).
#[test]
fn stories_are_those_of_the_reference() {
    let (Some(model), Some(tokenizer)) = (weights("stories260K.bin"), weights("tok512.bin")) else {
        return eprintln!("left out: no stories260K.bin and tok512.bin in PIMLICO_WEIGHTS");
    };
    let [model, tokenizer] = [model, tokenizer].map(|file| std::fs::read(file).expect("readable"));
    let job = job(&model, &tokenizer, "Once upon a time", 40);
    let report = run(&job, Options::default()).expect("it runs");
    let decode = decoded(&report);
    println!("{:?} {:#?}", decode.text, decode.agreement);
    assert!(decode.agreement.equal >= 20);
    assert_eq!(report.pin_violations, 0);
}
