// SPDX-License-Identifier: MIT
//! The decoder against NumPy's float64 (`scripts/numpy/llama.py` prints the values), and its reading of
//! checkpoints.

use pimlico_golden::llama::{self, Gate, Layer, Llama, Pairs, Past, Scaling, Size};

const SIZE: Size =
    Size { dim: 12, hidden: 10, layers: 2, heads: 3, kv_heads: 1, head_dim: 4, vocab: 7 };

/// The script's numbers.
fn weight(name: u64, count: usize, plus: f32) -> Vec<f32> {
    let mut state = name;
    let mut next = || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        plus + ((state >> 16) % 64) as f32 / 64.0 - 0.5
    };
    (0..count).map(|_| next()).collect()
}

fn model(pairs: Pairs, biased: bool, gate: Gate) -> Llama {
    let Size { dim, hidden, layers, head_dim, vocab, .. } = SIZE;
    let layer = |n: u64| Layer {
        attention_norm: weight(n, dim, 1.0),
        q: weight(n + 1, dim * dim, 0.0),
        k: weight(n + 2, head_dim * dim, 0.0),
        v: weight(n + 3, head_dim * dim, 0.0),
        bias: if biased { weight(n + 9, dim + 2 * head_dim, 0.0) } else { vec![] },
        q_norm: Vec::new(),
        k_norm: Vec::new(),
        o: weight(n + 4, dim * dim, 0.0),
        ffn_norm: weight(n + 5, dim, 1.0),
        gate: weight(n + 6, hidden * dim, 0.0),
        up: weight(n + 8, hidden * dim, 0.0),
        down: weight(n + 7, dim * hidden, 0.0),
    };
    Llama {
        size: SIZE,
        theta: 10000.0,
        scaling: Scaling::None,
        pairs,
        epsilon: 1e-5,
        gate,
        embedding: weight(1, vocab * dim, 0.0),
        layers: (1..=layers as u64).map(|n| layer(100 * n)).collect(),
        norm: weight(2, dim, 1.0),
        classifier: vec![],
    }
}

#[test]
fn logits_are_those_of_numpy() {
    let recorded = [
        (
            model(Pairs::Neighbours, false, Gate::Silu),
            [
                0.4750384720308598,
                0.3724007349899765,
                -1.4702169609261944,
                0.15650960249847085,
                -0.12328569200677547,
                0.7904102623307308,
                -1.1712282314936329,
            ],
        ),
        (
            model(Pairs::Halves, true, Gate::GeluTanh),
            [
                -1.2058856934484092,
                -0.24550458142680365,
                0.9035003391694033,
                0.30560790593347564,
                -1.4111035253871518,
                -0.05139731589065227,
                0.5174431671810659,
            ],
        ),
    ];
    for (model, expected) in recorded {
        let mut past = Past::default();
        let logits = [1, 5, 0, 6].map(|token| model.step(&mut past, token));
        for (got, expected) in logits[3].iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
    }
}

#[test]
fn greedy_decoding_ends_at_an_end() {
    let model = model(Pairs::Neighbours, false, Gate::Silu);
    let tokens = model.greedy(&[1, 5, 0, 6], 6, &[]);
    assert_eq!((tokens.len(), tokens[0]), (6, 5)); // 0.79 is the largest
    assert_eq!(model.greedy(&[1, 5, 0, 6], 6, &[5]), []);
    let until = model.greedy(&[1, 5, 0, 6], 6, &tokens[3..4]);
    let first = tokens.iter().position(|token| *token == tokens[3]);
    assert_eq!(Some(until.len()), first);
}

/// The model as llama2.c writes it.
fn checkpoint(model: &Llama, context: usize) -> Vec<u8> {
    let Size { dim, hidden, layers, heads, kv_heads, vocab, .. } = model.size;
    let sign = if model.classifier.is_empty() { 1 } else { -1 };
    let header = [dim, hidden, layers, heads, kv_heads, vocab, context].map(|size| size as i32);
    let header = header.map(|size| if size == vocab as i32 { sign * size } else { size });
    let mut numbers = model.embedding.clone();
    let tensors: [fn(&Layer) -> &Vec<f32>; 9] = [
        |layer| &layer.attention_norm,
        |layer| &layer.q,
        |layer| &layer.k,
        |layer| &layer.v,
        |layer| &layer.o,
        |layer| &layer.ffn_norm,
        |layer| &layer.gate,
        |layer| &layer.down,
        |layer| &layer.up,
    ];
    for tensor in tensors {
        model.layers.iter().for_each(|layer| numbers.extend(tensor(layer)));
    }
    numbers.extend(&model.norm);
    numbers.extend(std::iter::repeat_n(f32::NAN, context * model.size.head_dim));
    numbers.extend(&model.classifier);
    let header = header.into_iter().flat_map(i32::to_le_bytes);
    header.chain(numbers.into_iter().flat_map(f32::to_le_bytes)).collect()
}

#[test]
fn a_checkpoint_is_read() {
    let mut model = model(Pairs::Neighbours, false, Gate::Silu);
    assert_eq!(llama::read(&checkpoint(&model, 9)), Some((model.clone(), 9)));
    model.classifier = weight(3, 7 * 12, 0.0);
    let bytes = checkpoint(&model, 9);
    assert_eq!(llama::read(&bytes), Some((model, 9)));
    assert_eq!(llama::read(&bytes[..bytes.len() - 4]), None);
    assert_eq!(llama::read(&[bytes.as_slice(), &[0; 4]].concat()), None);
    assert_eq!(llama::read(&bytes[..27]), None);
    assert_eq!(llama::read(&[0xFF; 64]), None);
    assert_eq!(llama::read(&[0x7F; 64]), None);
}
