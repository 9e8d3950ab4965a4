# SPDX-License-Identifier: MIT
"""Prints the logits that golden/tests/llama.rs has recorded: a small Llama in NumPy's float64.

    $(scripts/venv numpy numpy==2.4.6 ml_dtypes==0.6.0) scripts/numpy/llama.py
"""

import numpy as np

DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, VOCAB = 12, 10, 2, 3, 1, 7
HEAD = DIM // HEADS
TOKENS = [1, 5, 0, 6]


def weight(name, *shape):
    """Numbers that are exact in float32: k / 64 with k from -32 to 31, from a linear congruence."""
    count = int(np.prod(shape))
    state, numbers = name, []
    for _ in range(count):
        state = (state * 1103515245 + 12345) % 2**31
        numbers.append(((state >> 16) % 64 - 32) / 64)
    return np.array(numbers).reshape(shape)


def normed(x, w):
    return w * x / np.sqrt(np.mean(x**2) + 1e-5)


def turned(x, position, halves):
    """As complex numbers: the pair is one, and the angle a factor."""
    angle = position * 10000.0 ** (-np.arange(HEAD // 2) * 2 / HEAD)
    if halves:
        z = (x[: HEAD // 2] + 1j * x[HEAD // 2 :]) * np.exp(1j * angle)
        return np.concatenate([z.real, z.imag])
    z = (x[0::2] + 1j * x[1::2]) * np.exp(1j * angle)
    return np.stack([z.real, z.imag], 1).ravel()


def logits(halves, biased, gelu):
    embedding = weight(1, VOCAB, DIM)
    keys = [[] for _ in range(LAYERS)]
    values = [[] for _ in range(LAYERS)]
    for position, token in enumerate(TOKENS):
        x = embedding[token]
        for layer in range(LAYERS):
            n = 100 * (layer + 1)
            h = normed(x, 1 + weight(n, DIM))
            q = weight(n + 1, DIM, DIM) @ h
            k = weight(n + 2, KV_HEADS * HEAD, DIM) @ h
            v = weight(n + 3, KV_HEADS * HEAD, DIM) @ h
            if biased:
                bias = weight(n + 9, DIM + 2 * KV_HEADS * HEAD)
                q, k, v = q + bias[:DIM], k + bias[DIM : DIM + HEAD], v + bias[DIM + HEAD :]
            keys[layer].append(turned(k, position, halves))
            values[layer].append(v)
            context = []
            for head in range(HEADS):
                turned_q = turned(q[head * HEAD :][:HEAD], position, halves)
                power = np.exp(np.array(keys[layer]) @ turned_q / np.sqrt(HEAD))
                context.append(power / power.sum() @ np.array(values[layer]))
            x = x + weight(n + 4, DIM, DIM) @ np.concatenate(context)
            h = normed(x, 1 + weight(n + 5, DIM))
            gate, up = weight(n + 6, HIDDEN, DIM) @ h, weight(n + 8, HIDDEN, DIM) @ h
            if gelu:
                through = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
            else:
                through = gate / (1 + np.exp(-gate))
            x = x + weight(n + 7, DIM, HIDDEN) @ (through * up)
        result = embedding @ normed(x, 1 + weight(2, DIM))
    return result


print("neighbours, silu:", logits(False, False, False).tolist())
print("halves, biases, gelu:", logits(True, True, True).tolist())
