# SPDX-License-Identifier: MIT
"""What scripts/speed prints: figures of Criterion's benches, the baseline, targets and other simulators."""

import argparse
import datetime
import json
import math
import pathlib
import platform
import subprocess
import sys
from typing import NamedTuple, Optional

BASELINE = pathlib.Path(__file__).with_name("baseline.json")
# Multiply-accumulates and channel-cycles in a second, as published or as measured, of the fastest open simulators of
# processing-in-memory: one with data, one without.
PEERS = {"with data": (10.5e6, "MAC/s"), "without data": (271e6, "MAC/s"), "channel-cycles": (3.9e6, "cycles/s")}


class Figure(NamedTuple):
    """A row of the table."""

    name: str
    # Criterion's name of what is measured, or of the group of a model and its RTL; none: all units and their RTL.
    bench: Optional[str]
    # Of rates and of "times" the larger is better, of seconds the smaller.
    unit: str
    target: float
    # Peers that it stands beside.
    peers: Optional[str] = None


FIGURES = [
    Figure(
        "engine, attention of 16K with data",
        "attention of 16384 tokens/rank, cost and results, multiply-accumulates",
        "MAC/s",
        600e6,
        "with data",
    ),
    Figure(
        "the same, data in what is stepped",
        "attention of 16384 tokens/rank, multiply-accumulates",
        "MAC/s",
        400e6,
        "with data",
    ),
    Figure("24 heads of 16K, whole process", "figures/attention, 24 heads of 16K", "MAC/s", 150e6, "with data"),
    Figure("the same on two ranks", "figures/attention, 24 heads of 16K on two ranks", "MAC/s", 150e6, "with data"),
    Figure("GEMV of 4096 x 4096 on l3, whole process", "figures/gemv on l3", "MAC/s", 150e6, "with data"),
    Figure("the same on an AiM channel", "figures/gemv on an AiM channel", "MAC/s", 100e6, "with data"),
    Figure("a head of 128K with data", "figures/attention, a head of 128K", "s", 0.4),
    Figure("GPT-175B layer at 16K with data, one rank", "figures/layer on a rank", "s", 8),
    # That of both cores together: 8 s on two.
    Figure("the same, 64 ranks", "figures/layer on 64 ranks", "s", 16),
    Figure("the same, one rank, timing only", "figures/layer on a rank, timing", "s", 0.3),
    Figure("the same, as a rate", "figures/layer on a rank, timing", "MAC/s", 5e9, "without data"),
    Figure(
        "the same, heads that all differ: no piece used twice",
        "figures/layer of different pieces, timing",
        "MAC/s",
        5e9,
        "without data",
    ),
    Figure("five heads that all differ, timing only", "figures/attention, timing", "MAC/s", 5e9, "without data"),
    Figure("the same, channel-cycles", "figures/attention, timing, channel-cycles", "cycles/s", 40e6, "channel-cycles"),
    Figure(
        "the same, a head of 128K on 16 AiM channels",
        "figures/attention on AiM channels, timing, channel-cycles",
        "cycles/s",
        40e6,
        "channel-cycles",
    ),
    Figure("the same, a matrix of 49152 x 12288", "figures/gemv, timing", "MAC/s", 5e9, "without data"),
    Figure("NeuPIMs' channel, MEM saturated", "figures/row buffers, channel-tCK", "tCK/s", 10e6),
    Figure("units against their Verilated twins", None, "times", 10),
    Figure("engine against the Verilated module", "engine and module", "times", 100),
]


class Benches:
    """What Criterion has measured from a time on, by group and function."""

    def __init__(self, folder, since=0):
        self.seconds, self.count = {}, {}
        for file in pathlib.Path(folder).glob("*/*/new/benchmark.json"):
            measured = file.with_name("estimates.json")
            if measured.stat().st_mtime < since:
                continue
            about = json.loads(file.read_text())
            name = f"{about['group_id']}/{about['function_id']}"
            self.seconds[name] = json.loads(measured.read_text())["mean"]["point_estimate"] / 1e9
            self.count[name] = (about["throughput"] or {}).get("Elements")

    def twin(self, group):
        """How many times as fast as the RTL the model is."""
        model, rtl = (self.seconds.get(f"{group}/{which}") for which in ("model", "rtl"))
        return rtl / model if model and rtl else None

    def twins(self):
        """The same of each unit."""
        groups = {name.rpartition("/")[0] for name in self.seconds if name.startswith("twin ")}
        return {group[5:]: ratio for group in groups if (ratio := self.twin(group))}

    def value(self, figure):
        """A figure, if what it is made of was measured."""
        if figure.bench is None:
            ratios = self.twins().values()
            return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None
        if figure.unit == "times":
            return self.twin(figure.bench)
        if figure.bench not in self.seconds:
            return None
        seconds = self.seconds[figure.bench]
        return seconds if figure.unit == "s" else self.count[figure.bench] / seconds


def shown(value, unit):
    """Three digits and a unit, rates with a prefix."""
    if value is None:
        return "-"
    prefixes = ((1e9, "G"), (1e6, "M"), (1e3, "k")) if unit.endswith("/s") else ()
    scale, prefix = next((step for step in prefixes if value >= step[0]), (1, ""))
    value /= scale
    return f"{value:.0f} {prefix}{unit}" if value >= 100 else f"{value:.3g} {prefix}{unit}"


def ratio(value):
    if value is None:
        return "-"
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def better(figure, value, than):
    """How many times as good as another a value is; 2 is twice as fast."""
    if value is None or than is None:
        return None
    return than / value if figure.unit == "s" else value / than


def table(benches, baseline):
    """The lines of the table."""
    rows = [["figure", "baseline", "now", "of baseline", "target", "of target", "of peers"]]
    for figure in FIGURES:
        before = baseline["figures"].get(figure.name, {}).get("value")
        value = benches.value(figure)
        peer = PEERS[figure.peers][0] if figure.peers else None
        rows.append(
            [
                figure.name,
                shown(before, figure.unit),
                shown(value, figure.unit),
                ratio(better(figure, value, before)),
                shown(figure.target, figure.unit),
                ratio(better(figure, value, figure.target)),
                ratio(better(figure, value, peer)),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    twins = sorted(benches.twins().items(), key=lambda twin: twin[1])
    if twins:
        lines += ["", "units, from the slowest beside its twin: " + ", ".join(f"{u} {ratio(x)}" for u, x in twins)]
    return lines


def machine():
    with open("/proc/cpuinfo") as file:
        cpu = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{cpu[0] if cpu else platform.machine()}, {len(cpu)} cores"


def kept(benches, baseline, machine, commit, date):
    """The baseline with what was measured. Figures of another machine are not kept beside those of this one."""
    figures = dict(baseline["figures"]) if baseline["machine"] == machine else {}
    for figure in FIGURES:
        value = benches.value(figure)
        if value is not None:
            figures[figure.name] = {"value": float(f"{value:.4g}"), "unit": figure.unit, "commit": commit, "date": date}
    return {"machine": machine, "figures": figures}


def main():
    parser = argparse.ArgumentParser(prog="scripts/figures/table.py")
    parser.add_argument("--keep", type=float, metavar="SINCE", help="write what was measured since into the baseline")
    parser.add_argument("folder", help="Criterion's results")
    arguments = parser.parse_args()
    benches = Benches(arguments.folder)
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"machine": "none", "figures": {}}
    if all(benches.value(figure) is None for figure in FIGURES):
        sys.exit(f"scripts/speed: {arguments.folder}: nothing was measured")
    print(f"processor time; larger ratios are better; the baseline's machine: {baseline['machine']}")
    print("peers:", "; ".join(f"{name} {shown(*rate)}" for name, rate in PEERS.items()))
    print("", *table(benches, baseline), sep="\n")
    if arguments.keep is not None:
        commit = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(commit, capture_output=True, text=True, check=True).stdout.strip()
        date = datetime.date.today().isoformat()
        measured = Benches(arguments.folder, arguments.keep)
        document = kept(measured, baseline, machine(), commit, date)
        BASELINE.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
