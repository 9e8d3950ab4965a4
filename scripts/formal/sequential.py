# SPDX-License-Identifier: MIT
"""Proves that pingpong_buffer does in every clock what its reference in golden/rtl does, data and all,
and that none of its assertions fails: for runs of any length, whatever the inputs.

Yosys turns the two, side by side in lockstep.sv, into an AIGER circuit, and abc's pdr (property
directed reachability) looks for a run in which they differ, or for an invariant that excludes one. abc
checks the invariant by itself.

Nothing is bounded or assumed: every input, a reset at any time and what a RAM holds at first are free
inputs of the circuit. A design of which little is left proves everything, hence its flip-flops are
counted, and each one must be there. Faults planted in a copy of the RTL must be found, first of all.
"""

import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pyosys

from common import ROOT, Refused, plant, yosys

ABC = Path(pyosys.__file__).parent / "yosys-abc"
LIMIT_S = 1800  # longest that abc may think

RTL_FILES = (
    *("bank/pingpong_buffer.sv", "prim/ram_1p.sv"),
    *("bank/pingpong_buffer_checks.sv", "prim/ram_1p_checks.sv"),
)
FAULTS = [
    # A side is filled while it is in use.
    (RTL_FILES[0], "|(write_select & ~full_q)", "1'b1"),
    # The word behind the last can be read: one that an earlier filling has left.
    (RTL_FILES[0], "count_t'(read_address_i) < read_words_o", "count_t'(read_address_i) <= read_words_o"),
]
# Data alone: the lowest bit of each word is lost, on its way to a RAM or to a register.
RAM_FAULT = (RTL_FILES[0], ".data_i    (write_data_i)", ".data_i    (write_data_i & ~WIDTH'(1))")
REGISTER_FAULT = (RTL_FILES[0], "word_q <= write_data_i", "word_q <= write_data_i & ~WIDTH'(1)")


@dataclass(frozen=True)
class SequentialProof:
    """pingpong_buffer in one set of parameters."""

    name: str
    width: int
    depth: int
    address_bits: int
    ping_pong: int
    minutes: bool = False  # takes minutes, and is done only when asked for by name

    @property
    def sides(self):
        return 2 if self.ping_pong else 1

    @property
    def is_register(self):
        """A side is a register, and no RAM."""
        return self.depth == 1

    @property
    def faults(self):
        return [*FAULTS, REGISTER_FAULT if self.is_register else RAM_FAULT]

    @property
    def flip_flops(self):
        """How many there must be."""
        count = self.address_bits + 1
        control = 3 + self.sides * (2 + count)
        words = self.sides * self.width * (1 if self.is_register else self.depth + 1)
        reference = self.sides * (count + self.width * self.depth) + 3 + self.width
        sampled = 2 * self.assertions
        first_clock = 2  # in the miter, and for words, which have no reset
        return control + words + reference + sampled + first_clock

    @property
    def assertions(self):
        return 4 + self.sides + (0 if self.is_register else self.sides)  # of its RAMs

    @property
    def port_bits(self):
        return self.width + self.address_bits + 6

    def prove(self, rtl):
        """Prints one line; True if the proof holds."""
        start = time.monotonic()
        try:
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                clocks = []
                for number, fault in enumerate(self.faults):
                    faulty = plant(fault, rtl, folder / f"rtl{number}")
                    clocks.append(self._first_difference(faulty, folder))
                if None in clocks:
                    fault = self.faults[clocks.index(None)]
                    raise Refused(f"a planted fault was not found: `{fault[2]}` for `{fault[1]}`")
                found = self._first_difference(rtl, folder)
        except Refused as reason:
            print(f"{self.name}: FAILED: {reason}")
            return False
        except TimeoutError as answer:
            print(f"{self.name}: UNDECIDED: {answer}")
            return False
        seconds = time.monotonic() - start
        if found is not None:
            print(f"{self.name}: REFUTED in {seconds:.1f} s: differs in clock {found}")
            return False
        print(
            f"{self.name}: equal in every clock of every run, and its {self.assertions} assertions "
            f"hold, {seconds:.1f} s ({self.depth} words of {self.width} bits a side, {self.flip_flops} "
            f"flip-flops); planted faults found in clocks {', '.join(map(str, clocks))}",
            flush=True,
        )
        return True

    def _first_difference(self, rtl, folder):
        """The clock of a difference or a failing assertion, or None if it is proven that there is none."""
        text, circuit, names = (folder / file for file in ("m.aag", "m.aig", "m.map"))
        sources = [ROOT / "scripts/formal/lockstep.sv", *(rtl / file for file in RTL_FILES)]
        sources.append(ROOT / "golden/rtl/pingpong_buffer_reference.sv")
        parameters = f"-G WIDTH={self.width} -G DEPTH={self.depth} -G PING_PONG={self.ping_pong}"
        parameters += f" -G ADDRESS_BITS={self.address_bits}"
        yosys([
            # Its assertions are checked, as in simulation.
            f"read_slang --no-synthesis-define -I {rtl} --top lockstep {parameters} {' '.join(map(str, sources))}",
            *("hierarchy -check -top lockstep", "proc", "flatten", "check -assert"),
            # Assertions become outputs, RAMs flip-flops, and what nobody cares about free inputs.
            *("async2sync", "chformal -lower", "memory_map", "opt_clean -purge", "setundef -anyseq"),
            *("techmap", "dfflegalize -cell $_DFF_P_ 01", "aigmap"),
            f"write_aiger -ascii -zinit -map {names} {text}",
            f"write_aiger -zinit {circuit}",
        ])
        self._is_whole(text.read_text(), names.read_text())
        return pdr(circuit)

    def _is_whole(self, aiger, names):
        """Sees that nothing has been lost on the way."""
        header = list(map(int, aiger.split("\n", 1)[0].split()[1:]))
        _, _, flip_flops, outputs, _, assertions = header[:6]
        ports = len(re.findall(r"^input ", names, re.MULTILINE))
        found = (ports, flip_flops, outputs, assertions)
        expected = (self.port_bits, self.flip_flops, 1, self.assertions)
        if found != expected:
            what = "bits of input ports, flip-flops, outputs and assertions"
            raise Refused(f"{found} {what}; expected were {expected}")


def pdr(circuit):
    """What abc makes of a circuit whose outputs shall never be 1: None, or the clock in which one is."""
    run = subprocess.run(
        [ABC, "-c", f"read_aiger {circuit}; pdr -T {LIMIT_S}"], capture_output=True, text=True
    )
    difference = re.search(r"was asserted in frame (\d+)", run.stdout)
    if difference:
        return int(difference[1])
    if "Property proved." in run.stdout and re.search(
        r"Verification of invariant with \d+ clauses was successful", run.stdout
    ):
        return None
    raise TimeoutError(f"abc says\n{(run.stdout + run.stderr)[-1000:]}")


PROOFS = [
    SequentialProof("pingpong_buffer", 8, 16, 8, 1),
    SequentialProof("pingpong_buffer:odd", 8, 5, 3, 1),
    SequentialProof("pingpong_buffer:single", 8, 16, 8, 0),
    SequentialProof("pingpong_buffer:depth1", 64, 1, 8, 1),
    SequentialProof("pingpong_buffer:default", 64, 16, 8, 1, minutes=True),
]
