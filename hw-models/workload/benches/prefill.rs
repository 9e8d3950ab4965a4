// SPDX-License-Identifier: MIT
//! Two buffers (DDB) beside one (OWR) on this machine: 200 MB of weights in two layers, and a prompt so long that GEMM takes about
//! as long as the copies.
//!
//! One thread copies and one multiplies under DDB; under OWR one thread does both in turns. The shortest of some runs, one policy after
//! the other, stands for each. It ends with status 1 unless DDB takes 0.85 of OWR's time or less and 60 % of its copies are beside
//! products: a machine with two processors to spare does both.

use pimlico_device::lp5::AddressMap;
use pimlico_host::lp5_image::ImagePlan;
use pimlico_model::checkpoint::CheckpointShape;
use pimlico_model::checkpoint::llama2c;
use pimlico_model::checkpoint::places::{Places, Stored};
use pimlico_stream::source::{LayerSource, ReadAt, Reading};
use pimlico_workload::prefill::weights::ModelInBanks;
use pimlico_workload::prefill::{PrefillJob, PrefillPolicy, Prefilled, Threads, prefill};
use std::io;
use std::num::NonZero;
use std::process::ExitCode;
use std::time::SystemTime;

const SHAPE: CheckpointShape = CheckpointShape {
    dim: 2048,
    hidden: 6464,
    layers: 2,
    heads: 32,
    kv_heads: 8,
    head_dim: 64,
    vocab: 300,
    context: 1024,
};
const RUNS: usize = 5;
const PROBES: usize = 4;
const MOST_SHARE_OF_TIME: f64 = 0.85;
const LEAST_HIDDEN: f64 = 0.6;

/// A file whose numbers are all 1/64.
struct Even(u64);

impl ReadAt for Even {
    fn read_exact_at(&self, buffer: &mut [u8], _: u64) -> io::Result<()> {
        buffer.chunks_exact_mut(4).for_each(|to| to.copy_from_slice(&0.015625f32.to_le_bytes()));
        Ok(())
    }

    fn forget(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        Ok((self.0, None))
    }
}

/// Where the tensors of a file of this shape are.
fn places() -> (Places, u64) {
    let CheckpointShape { dim, hidden, layers, heads, kv_heads, vocab, context, head_dim } = SHAPE;
    let sizes = [dim, hidden, layers, heads, kv_heads, vocab, context];
    let header: Vec<u8> = sizes.iter().flat_map(|size| (*size as i32).to_le_bytes()).collect();
    let kv = kv_heads * head_dim;
    let layer = 2 * dim * dim + 2 * kv * dim + 3 * dim * hidden + 2 * dim;
    let numbers = vocab * dim + layers * layer + dim + context * head_dim;
    let bytes = (header.len() + 4 * numbers) as u64;
    (llama2c::places(&header, bytes).expect("a checkpoint"), bytes)
}

/// Elements of bfloat16 between 2^-8 and 2^-6, of any sign: as wide as weights of 2048 columns are.
fn elements(memory: &mut [u8]) {
    let mut state = 1u64;
    for element in memory.chunks_exact_mut(2) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let word = (0x3B80 + (state >> 56) as u16) | (((state >> 40) as u16 & 1) << 15);
        element.copy_from_slice(&word.to_le_bytes());
    }
}

fn main() -> ExitCode {
    let (places, file_bytes) = places();
    let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
    let mut plan = ImagePlan::new(map).expect("rows on top");
    let of_layers = places.layers.iter().flatten().map(|(_, place)| place);
    for place in of_layers.filter(|place| place.rows > 1).chain([&places.embedding]) {
        plan.push(&place.name, (place.rows as u64, place.columns as u64)).expect("it fits");
    }
    let mut memory = vec![0; plan.bytes() as usize];
    elements(&mut memory);
    let files: Vec<(String, Box<dyn ReadAt>)> =
        vec![("even".to_owned(), Box::new(Even(file_bytes)))];
    let source = LayerSource::new(files, places.clone(), Reading::default());
    let source = source.expect("a model").with_head_streamed();
    let banks = (Stored::Bf16, &memory[..]);
    let model = ModelInBanks::new(&places, plan.matrices(), banks).expect("its matrices");
    let one = NonZero::<usize>::MIN;
    let run = |policy, tokens: usize| -> Prefilled {
        let prompt: Vec<usize> = (0..tokens).map(|token| token % SHAPE.vocab).collect();
        let threads = Threads { copy: one, compute: one };
        let job = PrefillJob {
            source: &source,
            model: &model,
            prompt: &prompt,
            policy,
            threads,
            buffer: None,
        };
        prefill(&job).expect("it runs")
    };
    // So many tokens that GEMM takes as long as the copies. A part of GEMM does not grow with them: each turn comes nearer.
    let mut tokens = 16;
    for _ in 0..PROBES {
        let probe = run(PrefillPolicy::Owr, tokens).times;
        let even = tokens as f64 * probe.copy.as_secs_f64() / probe.gemm.as_secs_f64();
        tokens = (even.round() as usize).clamp(1, SHAPE.context);
    }
    let mut shortest: [Option<Prefilled>; 2] = [None, None];
    for _ in 0..RUNS {
        for (policy, shortest) in
            [PrefillPolicy::Owr, PrefillPolicy::Ddb].into_iter().zip(&mut shortest)
        {
            let ran = run(policy, tokens);
            let time = ran.times.to_first_token;
            if shortest.as_ref().is_none_or(|other| time < other.times.to_first_token) {
                *shortest = Some(ran);
            }
        }
    }
    let [owr, ddb] = shortest.map(|ran| ran.expect("runs"));
    assert!(owr.logits.iter().map(|l| l.to_bits()).eq(ddb.logits.iter().map(|l| l.to_bits())));
    for (name, ran) in [("owr", &owr), ("ddb", &ddb)] {
        let times = ran.times;
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        println!(
            "{name}: {tokens} tokens, {} bytes copied, TTFT {:.1} ms, GEMM {:.1} ms, copies {:.1} ms, {:.1} % under GEMM",
            ran.copied_bytes,
            ms(times.to_first_token),
            ms(times.gemm),
            ms(times.copy),
            100.0 * times.hidden_share()
        );
    }
    let share = ddb.times.to_first_token.as_secs_f64() / owr.times.to_first_token.as_secs_f64();
    println!("ddb / owr {share:.3}");
    match share <= MOST_SHARE_OF_TIME && ddb.times.hidden_share() >= LEAST_HIDDEN {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
