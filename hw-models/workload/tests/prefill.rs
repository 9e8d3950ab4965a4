// SPDX-License-Identifier: MIT
//! A prompt on the host under every policy: the same bits, those of float64 but for rounding, and the memory that each takes.

use pimlico_device::lp5::AddressMap;
use pimlico_golden::llama::{self, Past, largest};
use pimlico_host::lp5_image::{ImagePlan, pack_row};
use pimlico_model::checkpoint::places::{Places, Stored};
use pimlico_model::checkpoint::{CheckpointShape, llama2c};
use pimlico_model::synthetic;
use pimlico_stream::source::{LayerSource, ReadAt, Reading};
use pimlico_stream::trace::Span;
use pimlico_workload::prefill::weights::ModelInBanks;
use pimlico_workload::prefill::{
    PrefillError, PrefillJob, PrefillPolicy, Prefilled, Threads, prefill,
};
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::time::SystemTime;

const SHAPE: CheckpointShape = CheckpointShape {
    dim: 48,
    hidden: 1100,
    layers: 3,
    heads: 6,
    kv_heads: 2,
    head_dim: 8,
    vocab: 300,
    context: 12,
};
const PROMPT: [usize; 7] = [1, 40, 260, 17, 4, 299, 40];
/// Elements of Q, K, V and O, of a matrix of the feed-forward network, and of the head.
const GROUPS: [usize; 3] = [2 * 48 * 48 + 2 * 16 * 48, 1100 * 48, 300 * 48];

/// A file in memory.
struct Memory(Arc<Vec<u8>>);

impl ReadAt for Memory {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        buffer.copy_from_slice(&self.0[offset as usize..][..buffer.len()]);
        Ok(())
    }

    fn forget(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        Ok((self.0.len() as u64, None))
    }
}

/// A model, whose weights bfloat16 holds, and the memory of the banks with its matrices.
struct Model {
    bytes: Arc<Vec<u8>>,
    places: Places,
    plan: ImagePlan,
    memory: Vec<u8>,
}

impl Model {
    fn new(map: &str) -> Self {
        let mut bytes = Vec::new();
        synthetic::llama2c(&SHAPE, 11, &mut bytes).expect("memory");
        for weight in bytes[llama2c::HEADER_BYTES..].chunks_exact_mut(4) {
            weight[..2].fill(0);
        }
        let places = llama2c::places(&bytes, bytes.len() as u64).expect("a checkpoint");
        let mut plan = ImagePlan::new(map.parse().expect("a map")).expect("rows on top");
        let head = places.classifier.as_ref().unwrap_or(&places.embedding);
        let of_layers = places.layers.iter().flatten().map(|(_, place)| place);
        let matrices: Vec<_> = of_layers.filter(|place| place.rows > 1).chain([head]).collect();
        for place in &matrices {
            plan.push(&place.name, (place.rows as u64, place.columns as u64)).expect("it fits");
        }
        let mut memory = vec![0; plan.bytes() as usize];
        let row_bytes = plan.map().row_bytes() as usize;
        for (place, (_, layout)) in matrices.iter().zip(plan.matrices()) {
            let weights = bytes[place.offset as usize..][..place.bytes()].chunks_exact(4);
            let elements: Vec<_> = weights.map(|b| u16::from_le_bytes([b[2], b[3]])).collect();
            for row in layout.first_row()..layout.first_row() + layout.bank_rows() {
                let to = &mut memory[row as usize * row_bytes..][..row_bytes];
                pack_row(layout, row, &elements, to);
            }
        }
        Self { bytes: Arc::new(bytes), places, plan, memory }
    }

    fn run(
        &self,
        (policy, buffer): (PrefillPolicy, Option<u64>),
        prompt: &[usize],
        [copy, compute]: [usize; 2],
    ) -> Result<Prefilled, PrefillError> {
        let file: Box<dyn ReadAt> = Box::new(Memory(Arc::clone(&self.bytes)));
        let files = vec![("synthetic".to_owned(), file)];
        let source = LayerSource::new(files, self.places.clone(), Reading::default());
        let source = source.expect("a model").with_head_streamed();
        let banks = (Stored::Bf16, &self.memory[..]);
        let model = ModelInBanks::new(&self.places, self.plan.matrices(), banks)?;
        let [copy, compute] = [copy, compute].map(|count| NonZero::new(count).expect("some"));
        let threads = Threads { copy, compute };
        prefill(&PrefillJob { source: &source, model: &model, prompt, policy, threads, buffer })
    }
}

#[test]
fn every_policy_has_the_logits_of_float64_but_for_rounding() {
    let model = Model::new(AddressMap::DEFAULT);
    let (reference, _) = llama::read(&model.bytes).expect("a checkpoint");
    let mut past = Past::default();
    let [.., expected] = PROMPT.map(|token| reference.step(&mut past, token));
    let [attention, matrix, head] = GROUPS.map(|elements| 2 * elements as u64);
    let of_layers = SHAPE.layers as u64 * (attention + 3 * matrix);
    let mut bits = None;
    for (policy, extra, copied) in [
        (PrefillPolicy::Duplicate, of_layers + head, 0),
        (PrefillPolicy::Facil, 0, 0),
        (PrefillPolicy::Ddb, 2 * matrix, of_layers),
        (PrefillPolicy::Owr, matrix, of_layers),
    ] {
        for threads in [[1, 1], [2, 3], [7, 64]] {
            let found = model.run((policy, None), &PROMPT, threads).expect("it runs");
            assert_eq!((found.extra_bytes, found.copied_bytes), (extra, copied), "{policy:?}");
            let logits = found.logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>();
            let first = bits.get_or_insert_with(|| logits.clone());
            assert_eq!(*first, logits, "{policy:?}, {threads:?} threads");
            let wide: Vec<f64> = found.logits.iter().map(|&logit| logit.into()).collect();
            assert_eq!(largest(&wide), largest(&expected));
            for (logit, expected) in wide.iter().zip(&expected) {
                assert!((logit - expected).abs() < 2e-5, "{policy:?}: {logit} {expected}");
            }
        }
    }
    // Another map is another order of the same elements.
    let other = Model::new("row:12 bank:1 col:6 rank:1 ch:1 byte:5");
    for policy in PrefillPolicy::ALL {
        let found = other.run((policy, None), &PROMPT, [1, 2]).expect("it runs");
        let logits = found.logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits.as_ref(), Some(&logits), "{policy:?}");
    }
}

#[test]
fn two_buffers_take_turns_and_all_copies_but_the_first_go_beside_products() {
    let model = Model::new(AddressMap::DEFAULT);
    let trace = model.run((PrefillPolicy::Ddb, None), &PROMPT, [1, 1]).expect("it runs").trace;
    let (copies, products): (Vec<&Span>, Vec<_>) =
        trace.spans.iter().partition(|span| span.loader.is_some());
    // Of each layer four groups; the second is copied in four parts.
    assert_eq!((copies.len(), products.len()), (3 * 7, 3 * 7));
    let mut order: Vec<usize> = copies.iter().map(|span| span.layer).collect();
    assert!(order.is_sorted());
    order.dedup();
    assert_eq!(order, (0..12).collect::<Vec<_>>());
    assert!(trace.spans.iter().all(|span| span.slot == span.layer % 2));
    let [first, rest @ ..] = &copies[..] else { panic!("copies") };
    assert!(first.to_ns <= products[0].from_ns);
    // Part n is behind the beginning of product n, and before that of the next.
    for ((copy, product), next) in rest.iter().zip(&products).zip(&products[1..]) {
        assert!(product.from_ns <= copy.from_ns && copy.to_ns <= next.from_ns);
        assert_eq!(copy.layer, product.layer + 1);
    }
    let trace = model.run((PrefillPolicy::Owr, None), &PROMPT, [1, 2]).expect("it runs").trace;
    assert!(trace.spans.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns));
    assert!(trace.spans.iter().all(|span| span.slot == 0));
    assert_eq!(trace.held.iter().map(|held| held.bytes).max(), Some(2 * GROUPS[1] as u64));
}

#[test]
fn buffers_and_prompts_that_do_not_fit_are_refused() {
    let model = Model::new(AddressMap::DEFAULT);
    let refused = |policy, buffer, prompt: &[usize]| {
        let refused = model.run((policy, buffer), prompt, [1, 1]);
        refused.map(|_| ()).expect_err("refused").to_string()
    };
    let most = 2 * GROUPS[1] as u64;
    for policy in [PrefillPolicy::Ddb, PrefillPolicy::Owr] {
        assert!(model.run((policy, Some(most)), &PROMPT, [1, 1]).is_ok());
        let message = refused(policy, Some(most - 1), &PROMPT);
        let expected =
            "buffer of 105599 bytes: gate of layer 0 takes 105600, expected at least as many";
        assert_eq!(message, expected);
    }
    for policy in PrefillPolicy::ALL {
        for tokens in [0, 13] {
            let expected =
                format!("prompt of {tokens} tokens: expected 1 to 12, the model's context");
            assert_eq!(refused(policy, None, &vec![1; tokens]), expected);
        }
        assert!(model.run((policy, None), &[1; 12], [1, 1]).is_ok());
    }
}
