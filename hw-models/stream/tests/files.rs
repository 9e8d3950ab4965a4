// SPDX-License-Identifier: MIT
//! Texts decoded from files while layers are streamed: the same bits in every mode, close to float64, and nothing but one
//! message where a file is not what it was.

use pimlico_golden::llama::{self, Gate, Llama, Pairs, Past, Scaling, Size};
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::places::{Places, Stored};
use pimlico_model::checkpoint::{
    self, Checkpoint, CheckpointShape, RopeScaling, llama2c, safetensors,
};
use pimlico_model::{small, synthetic};
use pimlico_stream::agents::{Outcome, RunError, Supply, run};
use pimlico_stream::host::Decoder;
use pimlico_stream::setup::{Residency, Setup};
use pimlico_stream::slots;
use pimlico_stream::source::{LayerSource, ReadAt, Reading, SourceError};
use pimlico_stream::text::Text;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

const SHAPE: CheckpointShape = CheckpointShape {
    dim: 48,
    hidden: 100,
    layers: 7,
    heads: 6,
    kv_heads: 2,
    head_dim: 8,
    vocab: 300,
    context: 40,
};

/// Reads of what stays: the embedding and the last norm.
const RESIDENT: usize = 2;

/// What goes wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// It ends here from the time on when what stays has been read.
    Ends(usize),
    /// The n-th read fails.
    Fails(usize),
    /// The n-th read panics.
    Panics(usize),
    /// It is touched while it is read.
    Touched,
}

/// A file in memory.
struct Memory {
    bytes: Arc<Vec<u8>>,
    fault: Fault,
    reads: AtomicUsize,
}

impl ReadAt for Memory {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let number = self.reads.fetch_add(1, Ordering::Relaxed);
        match self.fault {
            Fault::Fails(at) if at == number => return Err(io::Error::other("the disk is gone")),
            Fault::Panics(at) if at == number => {
                std::panic::resume_unwind(Box::new("a read that panics"));
            }
            _ => {}
        }
        let end = match self.fault {
            Fault::Ends(end) if number >= RESIDENT => end,
            _ => self.bytes.len(),
        };
        let from =
            self.bytes[..end].get(offset as usize..).and_then(|from| from.get(..buffer.len()));
        buffer.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn forget(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn state(&self) -> io::Result<(u64, Option<SystemTime>)> {
        let touched = self.fault == Fault::Touched && self.reads.load(Ordering::Relaxed) > 0;
        Ok((self.bytes.len() as u64 + u64::from(touched), None))
    }
}

/// A model: its file, and where its tensors are.
struct Model {
    bytes: Arc<Vec<u8>>,
    places: Places,
    checkpoint: Checkpoint,
}

impl Model {
    fn llama2c(bytes: Vec<u8>) -> Self {
        let places = llama2c::places(&bytes[..llama2c::HEADER_BYTES], bytes.len() as u64);
        let checkpoint = llama2c::read(&bytes).expect("a checkpoint");
        Self { bytes: Arc::new(bytes), places: places.expect("places"), checkpoint }
    }

    fn safetensors(bytes: Vec<u8>, config: &str) -> Self {
        let config = Config::read(config.as_bytes()).expect("a config");
        let places = safetensors::places(&bytes, &config).expect("places");
        let checkpoint = safetensors::read(&bytes, &config).expect("a model");
        Self { bytes: Arc::new(bytes), places, checkpoint }
    }

    fn synthetic() -> Self {
        let mut bytes = Vec::new();
        synthetic::llama2c(&SHAPE, 5, &mut bytes).expect("memory");
        Self::llama2c(bytes)
    }

    fn source(&self, fault: Fault) -> Result<LayerSource, SourceError> {
        let (bytes, reads) = (Arc::clone(&self.bytes), AtomicUsize::new(0));
        let file: Box<dyn ReadAt> = Box::new(Memory { bytes, fault, reads });
        LayerSource::new(vec![("w".to_owned(), file)], self.places.clone(), Reading::default())
    }
}

/// A text that was decoded.
#[derive(Debug, PartialEq)]
struct Decoded {
    tokens: Vec<usize>,
    logits: Vec<Vec<u32>>,
    bytes_read: u64,
    passes: usize,
}

fn decode(
    model: &Model,
    residency: Residency,
    limit: Option<u64>,
    fault: Fault,
    text: (&[usize], usize),
) -> Result<(Decoded, Outcome), RunError<SourceError>> {
    decode_from(model.source(fault).map_err(RunError::Agent)?, residency, limit, text)
}

fn decode_from(
    source: LayerSource,
    residency: Residency,
    limit: Option<u64>,
    (prompt, wanted): (&[usize], usize),
) -> Result<(Decoded, Outcome), RunError<SourceError>> {
    let decoder = Decoder::new(&source, prompt.len() + wanted).map_err(RunError::Agent)?;
    let layers = source.slot_bytes();
    let largest = *layers.iter().max().expect("a layer");
    let setup = Setup { layers, passes: wanted, fixed: 0, limit, residency };
    let slots = slots::slots(setup.slots(), largest).expect("memory");
    let mut logits = Vec::new();
    let mut see = |of: &[f32]| logits.push(of.iter().map(|logit| logit.to_bits()).collect());
    let text = Text::new((&source, decoder), prompt.to_vec(), (wanted, &[]), &mut see);
    let mut text = text.map_err(RunError::Agent)?;
    let outcome = run(&setup, &slots, &source, &mut text, &mut |_| ())?;
    source.check_unchanged().map_err(RunError::Agent)?;
    let tokens = text.tokens().1.to_vec();
    drop(text);
    let decoded =
        Decoded { tokens, logits, bytes_read: source.bytes_read(), passes: outcome.passes };
    Ok((decoded, outcome))
}

/// The same model as the reference has it.
fn reference(model: &Checkpoint) -> Llama {
    let CheckpointShape { dim, hidden, layers, heads, kv_heads, head_dim, vocab, .. } = model.shape;
    let layer = |layer: &checkpoint::Layer| {
        let layer = layer.clone();
        llama::Layer {
            attention_norm: layer.attention_norm,
            q: layer.q,
            k: layer.k,
            v: layer.v,
            bias: layer.bias,
            q_norm: layer.q_norm,
            k_norm: layer.k_norm,
            o: layer.o,
            ffn_norm: layer.ffn_norm,
            gate: layer.gate,
            up: layer.up,
            down: layer.down,
        }
    };
    Llama {
        size: Size { dim, hidden, layers, heads, kv_heads, head_dim, vocab },
        theta: model.arithmetic.theta,
        scaling: match model.arithmetic.scaling {
            RopeScaling::None => Scaling::None,
            RopeScaling::Linear { factor } => Scaling::Linear(factor),
            RopeScaling::Llama3 { factor, low, high, context } => {
                Scaling::ByTurns { factor, all_below: low, none_above: high, context }
            }
        },
        pairs: match model.arithmetic.pairs {
            checkpoint::Pairs::Neighbours => Pairs::Neighbours,
            checkpoint::Pairs::Halves => Pairs::Halves,
        },
        epsilon: model.arithmetic.epsilon,
        gate: match model.arithmetic.gate {
            checkpoint::Gate::Silu => Gate::Silu,
            checkpoint::Gate::GeluTanh => Gate::GeluTanh,
        },
        embedding: model.embedding.clone(),
        layers: model.layers.iter().map(layer).collect(),
        norm: model.norm.clone(),
        classifier: model.classifier.clone(),
    }
}

fn pipeload(loaders: usize, slots: usize, pinned: usize) -> Residency {
    Residency::Pipeload { loaders, slots, pinned }
}

/// Formats and families: llama2.c, safetensors in three types, RoPE of halves, norms of heads, own classifier.
fn models() -> Vec<(&'static str, Model)> {
    let of = |stored| {
        let mut bytes = Vec::new();
        synthetic::safetensors(&SHAPE, stored, 5, &mut bytes).expect("memory");
        Model::safetensors(bytes, &synthetic::config(&SHAPE))
    };
    let qwen3 = small::file(&small::qwen3_tensors(), "BF16");
    vec![
        ("llama2.c", Model::synthetic()),
        ("own classifier", Model::llama2c(small::llama2c(true))),
        ("F32", of(Stored::F32)),
        ("F16", of(Stored::F16)),
        ("BF16", of(Stored::Bf16)),
        ("llama", Model::safetensors(small::safetensors("F16"), small::CONFIG)),
        ("qwen3", Model::safetensors(qwen3, small::QWEN3)),
    ]
}

#[test]
fn every_mode_has_the_same_bits_and_they_are_close_to_float64() {
    for (name, model) in models() {
        let (prompt, wanted) = match model.places.shape.context {
            5 => (vec![1, 5], 3),
            12 => (vec![1, 5, 3], 6),
            _ => (vec![1, 44, 103, 7, 299], 12),
        };
        let text = (&prompt[..], wanted);
        let (whole, _) = decode(&model, Residency::Whole, None, Fault::None, text).expect(name);
        assert_eq!((whole.passes, whole.tokens.len()), (wanted, wanted), "{name}");
        let layers = model.places.shape.layers;
        let largest =
            *model.source(Fault::None).expect(name).slot_bytes().iter().max().expect("one");
        let mut modes = vec![(Residency::Pipeline, None)];
        for loaders in 1..=layers {
            modes.push((pipeload(loaders, loaders + 1, 0), None));
            modes.push((pipeload(loaders, loaders, loaders % 3), None));
            for room in 1..=3 {
                modes.push((pipeload(loaders, loaders + 1, 0), Some(room * largest)));
            }
        }
        for (residency, limit) in modes {
            let (other, outcome) =
                decode(&model, residency, limit, Fault::None, text).expect("it runs");
            assert_eq!(
                (&other.tokens, &other.logits),
                (&whole.tokens, &whole.logits),
                "{residency:?}"
            );
            assert!(limit.is_none_or(|limit| outcome.peak_bytes <= limit));
            let pinned = match residency {
                Residency::Pipeload { pinned, .. } => pinned,
                _ => 0,
            };
            let bytes = |layer| model.places.layer_bytes(layer);
            let anew: u64 = (pinned..layers).map(bytes).sum();
            let once: u64 = (0..pinned).map(bytes).sum();
            let expected = model.places.fixed_bytes() + once + wanted as u64 * anew;
            assert_eq!(other.bytes_read, expected, "{name} {residency:?}");
        }

        heads_that_are_streamed(name, &model, &whole, text);

        let golden = reference(&model.checkpoint);
        let (mut past, mut choices) = (Past::default(), whole.logits.iter());
        for (position, token) in prompt.iter().chain(&whole.tokens).enumerate() {
            let expected = golden.step(&mut past, *token);
            if position + 1 < prompt.len() {
                continue;
            }
            let Some(logits) = choices.next() else { break };
            for (logit, expected) in logits.iter().zip(&expected) {
                let off = (f64::from(f32::from_bits(*logit)) - expected).abs();
                assert!(off < 2e-5 * expected.abs().max(1.0), "{name} at {position}: {off:e}");
            }
        }
        assert_eq!(choices.next(), None, "{name}");
    }
}

/// The head as one more layer: the same logits, and of each pass its bytes once more in place of once in all.
fn heads_that_are_streamed(name: &str, model: &Model, stays: &Decoded, text: (&[usize], usize)) {
    let (prompt, wanted) = text;
    let places = &model.places;
    let layers = places.shape.layers;
    let head = places.classifier.as_ref().unwrap_or(&places.embedding).bytes() as u64;
    let of_layers: u64 = (0..layers).map(|layer| places.layer_bytes(layer)).sum();
    // Where the embedding is the head, each token's row of it is read as the token is taken.
    let row = (places.embedding.bytes() / places.shape.vocab) as u64;
    let row = if places.classifier.is_some() { 0 } else { row };
    let taken = (prompt.len() + wanted - 1) as u64;
    let source = || model.source(Fault::None).expect(name).with_head_streamed();
    let largest = *source().slot_bytes().iter().max().expect("one");
    let mut modes = vec![(Residency::Whole, None), (Residency::Pipeline, None)];
    for loaders in 1..=layers + 1 {
        modes.push((pipeload(loaders, loaders + 1, 0), None));
        modes.push((pipeload(loaders, loaders + 1, 0), Some(largest)));
        modes.push((pipeload(loaders, 1, layers + 1), None));
    }
    for (residency, limit) in modes {
        let (other, outcome) = decode_from(source(), residency, limit, text).expect("it runs");
        assert_eq!((&other.tokens, &other.logits), (&stays.tokens, &stays.logits), "{residency:?}");
        assert!(limit.is_none_or(|limit| outcome.peak_bytes <= limit));
        let stay = matches!(residency, Residency::Whole | Residency::Pipeload { pinned: 1.., .. });
        let times = if stay { 1 } else { wanted as u64 };
        let expected = places.fixed_bytes() - head + times * (of_layers + head) + taken * row;
        assert_eq!(other.bytes_read, expected, "{name} {residency:?}");
        assert_eq!(outcome.loads as u64, times * (layers + 1) as u64);
    }
}

/// A slot keeps what it has but for a head that is larger than all layers.
#[test]
fn pages_of_a_large_head_are_given_back() {
    for (vocab, is_larger) in [(300, false), (2000, true)] {
        let mut bytes = Vec::new();
        let shape = CheckpointShape { vocab, ..SHAPE };
        synthetic::llama2c(&shape, 5, &mut bytes).expect("memory");
        let source = Model::llama2c(bytes).source(Fault::None).expect("a source");
        let source = source.with_head_streamed();
        let largest = *source.slot_bytes().iter().max().expect("one");
        let mut slot = slots::map(largest).expect("memory");
        slot.fill(7);
        source.destroy(SHAPE.layers - 1, &mut slot).expect("nothing to do");
        assert!(slot.iter().all(|byte| *byte == 7));
        source.destroy(SHAPE.layers, &mut slot).expect("memory");
        let left = if is_larger { 0 } else { 7 };
        assert!(slot.len() as u64 == largest && slot.iter().all(|byte| *byte == left), "{vocab}");
    }
}

/// Runs something that must not take 10 s.
fn within_10_s<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let (to, from) = channel();
    std::thread::spawn(move || to.send(run()));
    from.recv_timeout(Duration::from_secs(10)).expect("an end within 10 s")
}

#[test]
fn a_file_that_ends_early_is_one_message() {
    let model = Arc::new(Model::synthetic());
    let length = model.bytes.len();
    let mut state = 1u64;
    for case in 0..1000 {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let end = (state >> 33) as usize % length;
        // As it is opened, it is seen at once.
        let start = &model.bytes[..end.min(llama2c::HEADER_BYTES)];
        assert!(llama2c::places(start, end as u64).is_err(), "{end}");
        let of = Arc::clone(&model);
        let decoded = within_10_s(move || {
            let residency = pipeload(1 + case % 4, 3, case % 2);
            decode(&of, residency, None, Fault::Ends(end), (&[1, 30], 2)).map(|_| ())
        });
        // Behind the layers nothing is read any more.
        let behind = model.places.norm.offset as usize;
        match decoded {
            Ok(()) => assert!(end >= behind, "{end}"),
            Err(error) => {
                let text = error.to_string();
                assert!(end < behind && text.starts_with("w: "), "{end}: {text}");
                assert!(
                    text.ends_with(": the file ends in it") && text.lines().count() == 1,
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn a_read_that_fails_stops_the_run() {
    let model = Arc::new(Model::synthetic());
    for at in 0..150 {
        for fault in [Fault::Fails(at), Fault::Panics(at)] {
            // What stays is read before there are agents.
            if matches!(fault, Fault::Panics(0 | 1)) {
                continue;
            }
            let of = Arc::clone(&model);
            let decoded = within_10_s(move || {
                decode(&of, pipeload(3, 4, 0), None, fault, (&[1, 30], 4)).map(|_| ())
            });
            let text = decoded.expect_err("a failure").to_string();
            match fault {
                Fault::Fails(_) => {
                    assert!(
                        text.starts_with("w: ") && text.ends_with(": the disk is gone"),
                        "{text}"
                    );
                }
                _ => {
                    let says = text.starts_with("loader ")
                        && text.ends_with("panicked: a read that panics");
                    assert!(says, "{text}");
                }
            }
        }
    }
}

#[test]
fn a_file_that_is_touched_is_refused() {
    let model = Model::synthetic();
    let touched = decode(&model, Residency::Whole, None, Fault::Touched, (&[1, 30], 2));
    let text = touched.expect_err("a change").to_string();
    assert_eq!(text, "w: it was changed while it was read");
}

#[test]
fn a_weight_that_is_no_number_has_its_place() {
    let mut model = Model::synthetic();
    let place = model.places.layers[4].iter().find(|(_, place)| place.name == "w1 of layer 4");
    let place = place.expect("a tensor").1.clone();
    let at = place.offset as usize + 4 * (3 * place.columns + 7);
    let mut bytes = model.bytes.to_vec();
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    model.bytes = Arc::new(bytes);
    let refused = decode(&model, pipeload(2, 3, 0), None, Fault::None, (&[1, 30], 2));
    let text = refused.expect_err("no number").to_string();
    assert_eq!(text, "w: w1 of layer 4, row 3, column 7: weight NaN, expected a finite number");
}
