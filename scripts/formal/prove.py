# SPDX-License-Identifier: MIT
"""Proves RTL equal to its reference in golden/rtl: arithmetic for all operands, here, and what has a
state for all runs, in sequential.py.

Yosys turns the two, side by side in miter.sv, into one formula, and Bitwuzla looks for operands for
which they differ. Where the whole is too hard, it is done case by case: one case for each value of
the leading bits of a_i's exponent, so that the cases cover everything.

A proof of nothing succeeds as well. Hence before each proof: the comparison must depend on every
operand bit and on a fair number of gates, and a fault planted in a copy of the RTL must be found.
"""

import argparse
import multiprocessing
import os
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import bitwuzla

import sequential
from common import ROOT, Refused, plant, yosys

PORTS = ("a_i", "b_i", "rtl_o", "reference_o")
CASE_LIMIT_S = 300  # longest that the solver may think about a case

# Rounds every tie down.
ROUNDING_FAULT = ("arith/fp_add.sv", "below || fraction[0]", "below")
# Does not see that b is a NaN.
NAN_FAULT = ("arith/fp_max.sv", "a_nan || b_nan ? NAN", "a_nan ? NAN")


@dataclass(frozen=True)
class Proof:
    """A module in one set of parameters, against golden/rtl/<module>_reference.sv."""

    name: str
    module: str
    exp_bits: int
    man_bits: int
    subnormals: int
    split_bits: int  # of a_i's exponent, from the top
    fewest_gates: int  # in the comparison; fewer, and something was lost
    fault: tuple[str, str, str]  # file, text, what it is replaced by
    fast: bool = False  # with FAST = 1
    minutes: bool = False  # takes minutes, and is done only when asked for by name

    @property
    def width(self):
        return 1 + self.exp_bits + self.man_bits

    def prove(self, rtl):
        """Prints one line; True if the proof holds."""
        return prove(self, rtl)


PROOFS = [
    Proof("fp_add", "fp_add", 5, 10, 1, 5, 2000, ROUNDING_FAULT),
    Proof("fp_add:flush", "fp_add", 5, 10, 0, 5, 2000, ROUNDING_FAULT),
    Proof("fp_add:bfloat16", "fp_add", 8, 7, 1, 5, 2000, ROUNDING_FAULT, minutes=True),
    Proof("fp_add:fast", "fp_add", 5, 10, 1, 5, 2000, ROUNDING_FAULT, fast=True),
    Proof("fp_add:flush_fast", "fp_add", 5, 10, 0, 5, 2000, ROUNDING_FAULT, fast=True),
    Proof("fp_max", "fp_max", 5, 10, 1, 0, 500, NAN_FAULT),
    Proof("fp_max:flush", "fp_max", 5, 10, 0, 0, 500, NAN_FAULT),
    Proof("fp_max:bfloat16", "fp_max", 8, 7, 1, 0, 500, NAN_FAULT),
    *sequential.PROOFS,
]


def arithmetic(rtl):
    """The files of the arithmetic, and the cell outside that it uses."""
    return [rtl / "prim/pipe.sv", *sorted(rtl.glob("arith/*.sv"))]


def formula(proof, rtl, folder):
    """Elaborates the miter: its SMT-LIB text, and the number of gates of the comparison."""
    sources = [ROOT / "scripts/formal/miter.sv", ROOT / "golden/rtl/fp_exact.sv"]
    sources += [ROOT / f"golden/rtl/{proof.module}_reference.sv", *arithmetic(rtl)]
    parameters = f"-G EXP_BITS={proof.exp_bits} -G MAN_BITS={proof.man_bits}"
    parameters += f" -G SUBNORMALS={proof.subnormals}"
    macros = f"-D MODULE={proof.module} -D REFERENCE={proof.module}_reference"
    macros += " -D FAST=1" if proof.fast else ""
    smt2, aiger = folder / "miter.smt2", folder / "miter.aag"
    commands = [
        f"read_slang --top miter {macros} {parameters} {' '.join(map(str, sources))}",
        *("hierarchy -check -top miter", "proc", "flatten", "opt -full", "check -assert"),
        f"write_smt2 {smt2}",
        *("delete -output w:rtl_o w:reference_o", "opt_clean -purge", "techmap", "aigmap"),
        f"write_aiger -ascii {aiger}",
    ]
    yosys(commands)

    inputs, gates = cone(aiger.read_text())
    if inputs != 2 * proof.width or gates < proof.fewest_gates:
        raise Refused(
            f"the comparison depends on {inputs} input bits and {gates} gates; expected were "
            f"{2 * proof.width}, and {proof.fewest_gates} or more"
        )
    return smt2.read_text(), gates


def cone(aiger):
    """How many inputs and gates the only output of an ASCII AIGER file depends on."""
    header, *lines = aiger.splitlines()
    _, inputs, latches, outputs, gates = map(int, header.split()[1:6])
    if latches or outputs != 1:
        raise Refused(f"{latches} registers and {outputs} outputs; expected were 0 and 1")
    numbers = [[int(n) // 2 for n in line.split()] for line in lines[: inputs + 1 + gates]]
    is_input = {n for (n,) in numbers[:inputs]}
    operands = {gate: both for gate, *both in numbers[inputs + 1 :]}
    seen, todo = set(), [numbers[inputs][0]]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += operands.get(node, [])
    return len(seen & is_input), len(seen & operands.keys())


def solve(task):
    """One case: None if the two are equal, else the PORTS of a difference."""
    proof, smt2, case = task
    top = proof.width - 2
    text = f"(set-logic QF_UFBV)\n{smt2}\n(declare-const s |miter_s|)\n"
    text += "(assert (|miter_n differ_o| s))\n"
    if proof.split_bits:
        bits = f"((_ extract {top} {top - proof.split_bits + 1}) (|miter_n a_i| s))"
        text += f"(assert (= {bits} (_ bv{case} {proof.split_bits})))\n"

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000 * CASE_LIMIT_S)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(text, True, False)
    solver = parser.bitwuzla()
    answer = solver.check_sat()
    if answer == bitwuzla.Result.UNSAT:
        return None
    if answer != bitwuzla.Result.SAT:
        raise TimeoutError
    ports = [parser.parse_term(f"(|miter_n {port}| s)") for port in PORTS]
    return [int(solver.get_value(port).value(), 2) for port in ports]


def difference(proof, smt2):
    """The first difference that is found in any case, or None."""
    cases = [(proof, smt2, case) for case in range(1 << proof.split_bits)]
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        return next(filter(None, pool.imap_unordered(solve, cases)), None)


def describe(found, proof):
    a, b, rtl, reference = (f"{x:0{-(-proof.width // 4)}x}" for x in found)
    return f"a_i = {a}, b_i = {b}: RTL {rtl}, reference {reference}"


def prove(proof, rtl):
    """Prints one line; True if the proof holds."""
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            smt2, gates = formula(proof, rtl, folder)
            found = difference(proof, smt2)
            seconds = time.monotonic() - start
            if found:
                print(f"{proof.name}: REFUTED in {seconds:.1f} s: {describe(found, proof)}")
                return False
            faulty, _ = formula(proof, plant(proof.fault, rtl, folder / "rtl"), folder)
            planted = difference(proof, faulty)
    except Refused as reason:
        print(f"{proof.name}: FAILED: {reason}")
        return False
    except TimeoutError:
        print(f"{proof.name}: UNDECIDED: a case takes longer than {CASE_LIMIT_S} s")
        return False
    if not planted:
        print(f"{proof.name}: FAILED: a planted fault was not found")
        return False
    print(
        f"{proof.name}: equal for all 2^{2 * proof.width} pairs of operands, {seconds:.1f} s "
        f"({gates} gates); planted fault found, {describe(planted, proof)}",
        flush=True,
    )
    return True


def main():
    names = [proof.name for proof in PROOFS]
    parser = argparse.ArgumentParser(prog="scripts/prove-formal")
    parser.add_argument("proofs", nargs="*", metavar="PROOF", help=f"one of {', '.join(names)}")
    parser.add_argument("--rtl", type=Path, default=ROOT / "rtl", help="the RTL to judge")
    arguments = parser.parse_args()
    for name in arguments.proofs:
        if name not in names:
            parser.error(f"no proof {name}; expected one of {', '.join(names)}")
    for folder in ("prim", "arith", "bank"):
        if not (arguments.rtl / folder).is_dir():
            parser.error(f"{arguments.rtl}: expected a folder with RTL, with {folder}/ in it")
    if arguments.proofs:
        wanted = [proof for proof in PROOFS if proof.name in arguments.proofs]
    else:
        wanted = [proof for proof in PROOFS if not proof.minutes]
    held = [proof.prove(arguments.rtl) for proof in wanted]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
