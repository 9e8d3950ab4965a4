# SPDX-License-Identifier: MIT
"""What proofs of all kinds share: running Yosys, and planting faults."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_RUN_YOSYS = """
import sys
from pyosys import libyosys
design = libyosys.Design()
for command in sys.argv[1:]:
    libyosys.run_pass(command, design)
"""


class Refused(Exception):
    """There is nothing to prove, for this reason."""


def yosys(commands):
    """Runs commands of Yosys in a process of their own: an error there ends the process."""
    run = subprocess.run([sys.executable, "-c", _RUN_YOSYS, *commands], capture_output=True, text=True)
    if run.returncode:
        raise Refused(f"Yosys cannot elaborate it:\n{(run.stdout + run.stderr)[-3000:]}")


def plant(fault, rtl, folder):
    """A copy of the RTL with a fault in it."""
    file, right, wrong = fault
    shutil.copytree(rtl, folder)
    text = (folder / file).read_text()
    if text.count(right) != 1:
        raise Refused(f"{file} does not hold `{right}` once: the fault to plant fits no more")
    (folder / file).write_text(text.replace(right, wrong))
    return folder
