# SPDX-License-Identifier: MIT
"""Checks golden's add, mul and max against NumPy's float16 and the bfloat16 of ml_dtypes.

Both compute in float32 and round once more, which is exact for these formats. Two things they leave
open, and they are not compared: the payload of a NaN (any NaN equals any NaN), and the sign of the
maximum of +0 and -0 (NumPy returns the first operand; IEEE 754-2019 says +0). How many pairs of
zeros were left out is printed.
"""

import subprocess
import sys

import ml_dtypes
import numpy as np

SEED = 1
RANDOM_PAIRS = 4_000_000
FEWEST_PAIRS = 4_000_000
SHOWN = 8  # differences printed

FORMATS = {"binary16": (np.float16, 5, 10), "bfloat16": (ml_dtypes.bfloat16, 8, 7)}
OPERATIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum}
GOLDEN = "cargo run --release --locked --quiet --package pimlico-golden --example operations --"


def stratified(exp_bits, man_bits):
    """All pairs of sign and exponent, each with the ends and the middle of the binade."""
    last, middle = (1 << man_bits) - 1, 1 << (man_bits - 1)
    mantissas = np.array([0, 1, middle - 1, middle, middle + 1, last - 1, last])
    operands = ((np.arange(2 << exp_bits) << man_bits)[:, None] | mantissas).ravel()
    return np.stack(np.meshgrid(operands, operands), axis=-1).reshape(-1, 2)


def random(exp_bits, man_bits):
    """Random pairs; half of them of exponents so near each other that the significands meet."""
    generator = np.random.default_rng(SEED)
    pairs = generator.integers(0, 1 << 16, (RANDOM_PAIRS, 2))
    near, top, reach = pairs[::2], (1 << exp_bits) - 1, man_bits + 3
    exponent = (near[:, 0] >> man_bits & top) + generator.integers(-reach, reach + 1, len(near))
    near[:, 1] = near[:, 1] & ~(top << man_bits) | exponent.clip(0, top) << man_bits
    return pairs


def is_nan(bits, exp_bits, man_bits):
    return bits & 0x7FFF > ((1 << exp_bits) - 1) << man_bits


def golden(operation, name, pairs):
    """What golden makes of the pairs."""
    command = [*GOLDEN.split(), operation, name]
    run = subprocess.run(command, input=pairs.tobytes(), stdout=subprocess.PIPE)
    if run.returncode:
        sys.exit(2)  # it has said why
    return np.frombuffer(run.stdout, "<u2")


def agree(operation, name, pairs):
    """Prints one line; True if golden and NumPy agree on all pairs."""
    dtype, exp_bits, man_bits = FORMATS[name]
    got = golden(operation, name, pairs)
    values = pairs.view(dtype)
    with np.errstate(all="ignore"):  # overflows and NaNs belong to it
        want = OPERATIONS[operation](values[:, 0], values[:, 1])
    if len(got) != len(pairs) or len(pairs) < FEWEST_PAIRS:
        print(f"{name} {operation}: FAILED: {len(got)} results for {len(pairs)} pairs")
        return False

    both_nan = is_nan(got, exp_bits, man_bits) & is_nan(want.view("<u2"), exp_bits, man_bits)
    left_out = np.zeros(len(pairs), bool)
    if operation == "max":
        left_out = (pairs[:, 0] ^ pairs[:, 1] == 0x8000) & (pairs[:, 0] & 0x7FFF == 0)
    differ = np.flatnonzero((got != want.view("<u2")) & ~both_nan & ~left_out)
    compared = len(pairs) - left_out.sum()
    if len(differ):
        print(f"{name} {operation}: {len(differ)} of {compared} pairs DIFFER from {dtype.__name__}")
        for i in differ[:SHOWN]:
            (a, b), result = pairs[i], want.view("<u2")[i]
            print(f"  a = {a:04x}, b = {b:04x}: golden {got[i]:04x}, {dtype.__name__} {result:04x}")
        return False
    print(
        f"{name} {operation}: {compared} pairs equal to {dtype.__name__} ({both_nan.sum()} are NaN, "
        f"{left_out.sum()} of +0 and -0 left out)",
        flush=True,
    )
    return True


def main():
    held = []
    for name, (_, exp_bits, man_bits) in FORMATS.items():
        pairs = np.concatenate([stratified(exp_bits, man_bits), random(exp_bits, man_bits)])
        pairs = pairs.astype("<u2")
        held += [agree(operation, name, pairs) for operation in OPERATIONS]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
