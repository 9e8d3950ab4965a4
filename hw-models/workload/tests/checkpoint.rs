// SPDX-License-Identifier: MIT
//! Models from files: equal to what the reference reads, and no harm from files that are none.

use pimlico_golden::llama;
use pimlico_model::checkpoint::config::Config;
use pimlico_model::checkpoint::index::Index;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{Checkpoint, Malformed, llama2c, safetensors, tiny};
use pimlico_model::small;
use pimlico_workload::decode;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, keeping account of the bytes that a thread holds.
struct Counting;

// SAFETY: it does what the system's allocator does.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get().wrapping_add(layout.size()));
        MOST.set(MOST.get().max(HELD.get()));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.set(HELD.get().wrapping_sub(layout.size()));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The most bytes that `f` holds beyond what is held before it.
fn most_held<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = f();
    (result, MOST.get() - before)
}

#[test]
fn checkpoints_are_what_the_reference_reads() {
    for own_classifier in [false, true] {
        let bytes = small::llama2c(own_classifier);
        let checkpoint = llama2c::read(&bytes).expect("a checkpoint");
        let (reference, context) = llama::read(&bytes).expect("a checkpoint");
        assert_eq!(decode::reference(&checkpoint), reference);
        assert_eq!((checkpoint.shape.context, context), (small::CONTEXT, small::CONTEXT));
    }
}

#[test]
fn the_tiny_model_is_one() {
    let checkpoint = llama2c::read(tiny::WEIGHTS).expect("a checkpoint");
    let tokenizer = Tokenizer::read(tiny::TOKENIZER, checkpoint.shape.vocab).expect("a tokenizer");
    let tokens = tokenizer.encode(tiny::PROMPT).expect("known characters");
    assert_eq!(tokenizer.decode(&tokens), tiny::PROMPT);
    assert!(tiny::WEIGHTS.len() < 200_000);
}

/// The same weights in another format are the same model, but for rounding.
#[test]
fn safetensors_hold_the_same_weights() {
    let expected = llama2c::read(&small::llama2c(true)).expect("a checkpoint");
    let config = Config::read(small::CONFIG.as_bytes()).expect("a config");
    for (dtype, precision) in [("F32", 0.0), ("F16", 1e-3), ("BF16", 1e-2)] {
        let got = safetensors::read(&small::safetensors(dtype), &config).expect("a model");
        assert_eq!(got.shape, expected.shape);
        for (got, expected) in tensors(&got).zip(tensors(&expected)) {
            assert_eq!(got.len(), expected.len());
            for (got, expected) in got.iter().zip(expected) {
                assert!((got - expected).abs() <= precision * expected.abs(), "{got} {expected}");
            }
        }
    }
}

/// Two shards are the model that one file is.
#[test]
fn shards_hold_the_same_weights() {
    for (config, tensors) in
        [(small::CONFIG, small::tensors()), (small::QWEN3, small::qwen3_tensors())]
    {
        let config = Config::read(config.as_bytes()).expect("a config");
        let whole = safetensors::read(&small::file(&tensors, "BF16"), &config).expect("a model");
        let (index, shards) = small::shards(&tensors, "BF16");
        let index = Index::read(index.as_bytes()).expect("an index");
        assert_eq!(index.shards(), small::SHARDS);
        assert_eq!(safetensors::read_shards(&shards, &index, &config), Ok(whole));
    }
}

/// Each layer's heads have a norm of their own, and are wider together than a token's vector.
#[test]
fn qwen3_has_norms_of_heads() {
    let config = Config::read(small::QWEN3.as_bytes()).expect("a config");
    let model =
        safetensors::read(&small::file(&small::qwen3_tensors(), "F32"), &config).expect("a model");
    assert_eq!((model.shape.head_dim, model.shape.q_width(), model.shape.dim), (4, 16, 8));
    assert_eq!(model.arithmetic.theta, 100.0);
    for layer in &model.layers {
        assert_eq!((layer.q_norm.len(), layer.k_norm.len(), layer.bias.len()), (4, 4, 0));
        assert_ne!(layer.q_norm, layer.k_norm);
    }
    let bytes = small::replaced(
        &small::file(&small::qwen3_tensors(), "F32"),
        "layers.1.self_attn.k_norm",
        "layers.1.self_attn.k_none",
    );
    let absent = safetensors::read(&bytes, &config).expect_err("refused").to_string();
    let expected = "tensor model.layers.1.self_attn.k_norm.weight: absent, expected shape [4]";
    assert_eq!(absent, expected);
}

#[test]
fn what_are_no_shards_is_refused() {
    let config = Config::read(small::CONFIG.as_bytes()).expect("a config");
    let (good, shards) = small::shards(&small::tensors(), "F16");
    let [first, second] = small::SHARDS;
    let refused = |index: &str, shards: &[Vec<u8>; 2]| {
        let index = Index::read(index.as_bytes()).expect("an index");
        let result = safetensors::read_shards(shards, &index, &config);
        result.expect_err("refused").to_string()
    };
    let index = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    let norm = "model.norm.weight";
    // Not in the index; in the other shard; in none; in both.
    let absent = refused(&index(norm, "model.norm.none"), &shards);
    assert_eq!(absent, format!("weight_map.{norm}: absent, expected shape [8]"));
    let of_norm = |shard: &str| format!("\"{norm}\": \"{shard}\"");
    let elsewhere = refused(&index(&of_norm(second), &of_norm(first)), &shards);
    assert_eq!(elsewhere, format!("weight_map.{norm}: in {second}, expected in {first} only"));
    let without = [shards[0].clone(), small::replaced(&shards[1], norm, "model.norm.none__")];
    let absent = refused(&good, &without);
    assert_eq!(absent, format!("{second}: tensor {norm}: absent, expected shape [8]"));
    let other = "model.embed_tokens.weight";
    let twice = [small::replaced(&shards[0], other, norm), shards[1].clone()];
    let twice = refused(&good, &twice);
    assert_eq!(twice, format!("weight_map.{norm}: in {first}, expected in {second} only"));
    // What is in both, and not in the index.
    let unused = |shard: &Vec<u8>, tensor| small::replaced(shard, tensor, "unused");
    let both = [unused(&shards[0], other), unused(&shards[1], norm)];
    let both = refused(&good, &both);
    assert_eq!(both, format!("weight_map.unused: in {second}, expected in {first} only"));
    let shape = [shards[0].clone(), small::replaced(&shards[1], "[8]", "[2,4]")];
    let shape = refused(&good, &shape);
    assert!(shape.starts_with(second), "{shape}");
    assert!(shape.contains("shape [2, 4], expected [8], as the config says"), "{shape}");
    let cut = [shards[0].clone(), shards[1][..99].to_vec()];
    let cut = refused(&good, &cut);
    assert!(cut.starts_with(&format!("{second}: header: ")), "{cut}");
}

fn tensors(model: &Checkpoint) -> impl Iterator<Item = &Vec<f32>> {
    let of_layers = model.layers.iter().flat_map(|layer| {
        let attention = [&layer.attention_norm, &layer.q, &layer.k, &layer.v, &layer.o];
        let ffn = [&layer.ffn_norm, &layer.gate, &layer.up, &layer.down];
        attention.into_iter().chain(ffn)
    });
    of_layers.chain([&model.embedding, &model.norm, &model.classifier])
}

#[test]
fn what_is_no_safetensors_file_is_refused() {
    let config = Config::read(small::CONFIG.as_bytes()).expect("a config");
    let good = small::safetensors("F16");
    let refused = |from: &str, to: &str| {
        let bytes = small::replaced(&good, from, to);
        safetensors::read(&bytes, &config).expect_err("refused").to_string()
    };
    let absent = refused("model.norm.weight", "model.norm.heavier");
    assert!(absent.starts_with("tensor model.norm.weight: absent, expected shape"), "{absent}");
    assert!(refused("\"F16\"", "\"I16\"").contains("I16, expected F16, BF16 or F32"));
    let shape = refused("[8]", "[2,4]");
    assert!(shape.contains("shape [2, 4], expected [8], as the config says"), "{shape}");
    assert!(refused("\"F16\"", "\"F64\"").starts_with("header: "));
    let many = small::CONFIG.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 9999999");
    let config = Config::read(many.as_bytes()).expect("a config");
    let refused = safetensors::read(&good, &config).expect_err("refused").to_string();
    assert!(refused.contains("layers.9999998."), "{refused}");
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let good = small::llama2c(false);
    let refused = |bytes: &[u8]| llama2c::read(bytes).expect_err("refused").to_string();
    assert_eq!(refused(&[]), "byte 0: 0 bytes in all, expected dim, an int32");
    assert!(refused(&good[..9]).starts_with("byte 8: 9 bytes in all, expected n_layers"));
    assert!(refused(&good[..good.len() - 1]).contains("bytes of weights, expected"));
    let with = |byte: usize, value: i32| {
        let mut bytes = good.clone();
        bytes[byte..byte + 4].copy_from_slice(&value.to_le_bytes());
        refused(&bytes)
    };
    assert_eq!(with(4, -3), "byte 4: hidden_dim -3, expected 1 or more");
    assert_eq!(with(20, 0), "byte 20: vocab_size 0, expected 1 or more");
    assert!(with(12, 3).contains("dim a multiple of n_heads"));
    assert!(with(12, 8).contains("1 elements of a head, expected an even number"));
    assert!(with(8, i32::MAX).contains("bytes of weights"));
    // No size overflows.
    let huge = [1 << 30, i32::MAX, i32::MAX, 2, 1, i32::MIN, i32::MAX].map(i32::to_le_bytes);
    assert!(refused(&huge.concat()).contains("0 bytes of weights, expected"));
}

/// Files of all formats with a few bytes changed, cut off, put in or taken out.
#[test]
fn malformed_files_do_no_harm() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let config = Config::read(small::CONFIG.as_bytes()).expect("a config");
    let checkpoint = |bytes: &[u8]| llama2c::read(bytes).map(drop);
    let tokenizer = |bytes: &[u8]| Tokenizer::read(bytes, small::VOCAB).map(drop);
    let shapes = |bytes: &[u8]| {
        let config = Config::read(bytes)?;
        config.arithmetic().map(drop)
    };
    let weights = |bytes: &[u8]| safetensors::read(bytes, &config).map(drop);
    let (good_index, shards) = small::shards(&small::tensors(), "BF16");
    let index = |bytes: &[u8]| Index::read(bytes).map(drop);
    let second_shard = |bytes: &[u8]| {
        let index = Index::read(good_index.as_bytes())?;
        safetensors::read_shards(&[&shards[0], bytes], &index, &config).map(drop)
    };
    type Reader<'a> = &'a dyn Fn(&[u8]) -> Result<(), Malformed>;
    let formats: [(Vec<u8>, Reader); 7] = [
        (small::llama2c(true), &checkpoint),
        (small::tokenizer(), &tokenizer),
        (small::CONFIG.as_bytes().to_vec(), &shapes),
        (small::QWEN3.as_bytes().to_vec(), &shapes),
        (good_index.as_bytes().to_vec(), &index),
        (shards[1].clone(), &second_shard),
        (small::safetensors("BF16"), &weights),
    ];
    for (good, read) in formats {
        assert_eq!(read(&good), Ok(()));
        let mut refused = 0;
        for _ in 0..25_000 {
            let bad = changed(&good, &mut random);
            let (result, most) = most_held(|| read(&bad));
            assert!(most <= 8 * bad.len() + 64 * 1024, "{most} bytes for a file of {}", bad.len());
            if let Err(error) = result {
                refused += 1;
                let message = error.to_string();
                assert_eq!(message.lines().count(), 1, "{message}");
                assert!(message.len() < 1000, "{message}");
            }
        }
        // A weight may have any bits.
        assert!(refused > 5_000, "{refused}");
    }
}

fn changed(good: &[u8], random: &mut Xoshiro256PlusPlus) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.next_u64() % 3 {
        let mut below = |limit: usize| random.next_u64() as usize % limit.max(1);
        // The beginning is where sizes are.
        let reach = if below(2) == 0 { bytes.len() } else { bytes.len().min(40) };
        let at = below(reach);
        let some = below(16).min(bytes.len() - at);
        match below(8) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] ^= 1 << below(8),
            2 if at < bytes.len() => bytes[at] = below(256) as u8,
            3 => bytes[at..at + some].fill(0xFF),
            4 => bytes[at..at + some].fill(0),
            5 => drop(bytes.drain(at..at + some)),
            6 => bytes.insert(at, b"{}[]\",:019-e"[below(12)]),
            _ => {
                let part = bytes[at..at + some].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}
