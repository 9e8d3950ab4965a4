# SPDX-License-Identifier: MIT
"""Trains the tiny model that Pimlico has built in, and writes it and its tokenizer in llama2.c's formats.

    scripts/train/run [FOLDER]

A Llama of 38 thousand parameters on stories of `text.py`. Everything follows from SEED; the last
bits of the weights may depend on the processor.
"""

import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np

import text
import tokenizer

SEED = 1
DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, VOCABULARY, CONTEXT = 32, 88, 3, 4, 2, 96, 192
HEAD = DIM // HEADS
STEPS, BATCH, RATE = 2000, 32, 4e-3
BEGIN = 1


def initial(key):
    def matrix(rows, columns):
        nonlocal key
        key, part = jax.random.split(key)
        return jax.random.normal(part, (LAYERS, rows, columns)) / np.sqrt(columns)

    key, part = jax.random.split(key)
    return {
        "embedding": 0.2 * jax.random.normal(part, (VOCABULARY, DIM)),
        "attention_norm": jnp.ones((LAYERS, DIM)),
        "q": matrix(DIM, DIM),
        "k": matrix(KV_HEADS * HEAD, DIM),
        "v": matrix(KV_HEADS * HEAD, DIM),
        "o": matrix(DIM, DIM) / np.sqrt(2 * LAYERS),
        "ffn_norm": jnp.ones((LAYERS, DIM)),
        "gate": matrix(HIDDEN, DIM),
        "down": matrix(DIM, HIDDEN) / np.sqrt(2 * LAYERS),
        "up": matrix(HIDDEN, DIM),
        "norm": jnp.ones(DIM),
    }


def angles():
    rates = 10000.0 ** (-np.arange(0, HEAD, 2) / HEAD)
    return np.outer(np.arange(CONTEXT), rates).astype(np.float32)


def normed(x, weight):
    return weight * x / jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def turned(x, angle):
    """RoPE on neighbouring pairs; x is [token, head, element]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def logits(weights, tokens):
    """Of one sequence, at each of its tokens."""
    length = len(tokens)
    angle = angles()[:length]
    mask = jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -jnp.inf)
    x = weights["embedding"][tokens]
    for layer in range(LAYERS):
        h = normed(x, weights["attention_norm"][layer])
        q = turned((h @ weights["q"][layer].T).reshape(length, HEADS, HEAD), angle)
        k = turned((h @ weights["k"][layer].T).reshape(length, KV_HEADS, HEAD), angle)
        v = (h @ weights["v"][layer].T).reshape(length, KV_HEADS, HEAD)
        k, v = (jnp.repeat(a, HEADS // KV_HEADS, 1) for a in (k, v))
        scores = jnp.einsum("qhe,khe->hqk", q, k) / np.sqrt(HEAD) + mask
        context = jnp.einsum("hqk,khe->qhe", jax.nn.softmax(scores), v).reshape(length, DIM)
        x = x + context @ weights["o"][layer].T
        h = normed(x, weights["ffn_norm"][layer])
        gated = jax.nn.silu(h @ weights["gate"][layer].T) * (h @ weights["up"][layer].T)
        x = x + gated @ weights["down"][layer].T
    return normed(x, weights["norm"]) @ weights["embedding"].T


def loss(weights, batch):
    inputs, targets = batch[:, :-1], batch[:, 1:]
    chances = jax.nn.log_softmax(jax.vmap(logits, (None, 0))(weights, inputs))
    of_target = jnp.take_along_axis(chances, jnp.maximum(targets, 0)[..., None], -1)[..., 0]
    return -jnp.sum(of_target * (targets >= 0)) / jnp.sum(targets >= 0)


@jax.jit
def step(weights, momenta, squares, number, batch):
    """A step of Adam, the rate falling to nothing along a cosine."""
    rate = RATE * 0.5 * (1 + jnp.cos(jnp.pi * number / STEPS)) * jnp.minimum(1, number / 100)
    error, slopes = jax.value_and_grad(loss)(weights, batch)
    tree = jax.tree_util.tree_map
    momenta = tree(lambda m, g: 0.9 * m + 0.1 * g, momenta, slopes)
    squares = tree(lambda s, g: 0.98 * s + 0.02 * g * g, squares, slopes)
    moved = lambda w, m, s: w - rate * (m / (1 - 0.9**number)) / (
        jnp.sqrt(s / (1 - 0.98**number)) + 1e-8
    )
    return tree(moved, weights, momenta, squares), momenta, squares, error


def rows(tokens):
    """Each story as one row, -1 behind its end; a story begins with BEGIN and ends with it."""
    coded = [[BEGIN, *tokenizer.encode(" " + story, tokens), BEGIN] for story in STORIES]
    print("tokens of the longest story:", max(map(len, coded)))
    coded = [c[: CONTEXT + 1] for c in coded]
    length = max(map(len, coded))
    return np.array([c + [-1] * (length - len(c)) for c in coded])


def write(path, weights):
    """llama2.c's layout: seven numbers, then float32."""
    order = ["embedding", "attention_norm", "q", "k", "v", "o", "ffn_norm", "gate", "down", "up", "norm"]
    angle = angles()
    with open(path, "wb") as file:
        header = DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, VOCABULARY, CONTEXT
        file.write(struct.pack("<7i", *header))
        for name in order:
            file.write(np.asarray(weights[name], "<f4").tobytes())
        file.write(np.cos(angle).astype("<f4").tobytes() + np.sin(angle).astype("<f4").tobytes())


def main(folder):
    tokens = tokenizer.vocabulary(STORIES, VOCABULARY)
    data = rows(tokens)
    random = np.random.default_rng(SEED)
    weights = initial(jax.random.PRNGKey(SEED))
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    momenta, squares = zeros, zeros
    for number in range(1, STEPS + 1):
        batch = jnp.asarray(data[random.integers(0, len(data), BATCH)])
        weights, momenta, squares, error = step(weights, momenta, squares, number, batch)
        if number % 500 == 0:
            print(f"step {number}: loss {error:.4f}", flush=True)
    write(f"{folder}/weights.bin", weights)
    tokenizer.write(f"{folder}/tokenizer.bin", tokens)
    sample(weights, tokens)


def sample(weights, tokens):
    sequence = [BEGIN]
    while len(sequence) < CONTEXT and (len(sequence) == 1 or sequence[-1] != BEGIN):
        padded = jnp.array(sequence + [0] * (CONTEXT - len(sequence)))
        sequence.append(int(jnp.argmax(logits(weights, padded)[len(sequence) - 1])))
    print("".join(tokens[t] for t in sequence[1:]))


STORIES = text.stories(4000, SEED)

if __name__ == "__main__":
    main(sys.argv[1])
