# SPDX-License-Identifier: MIT
"""check.py LIBERTY FOLDER: switching energy and leakage from a library's text, a netlist and the
transitions that another simulator counted, by a reader of its own, against what
`pimlico estimate power --json` says in FOLDER/power.json. Exit status: 0 near; 1 not."""

import json
import re
import sys
from pathlib import Path

TOLERANCE = 1e-6


def library(text):
    """Capacitances of pins in fF, leakage of cells in nW, supply in V."""
    volts = float(re.search(r"nom_voltage\s*:\s*([\d.]+)", text)[1])
    scale, unit = re.search(r"capacitive_load_unit\s*\(\s*([\d.]+)\s*,\s*(\w)f", text).groups()
    to_ff = float(scale) * {"p": 1e3, "f": 1.0}[unit.lower()]
    number, prefix = re.search(r'leakage_power_unit\s*:\s*"([\d.]+)(\w)W"', text).groups()
    to_nw = float(number) * {"n": 1.0, "p": 1e-3, "u": 1e3}[prefix]
    cells = {}
    for part in re.split(r"\n\s*cell\s*\(", text)[1:]:
        name = part[: part.index(")")].strip().strip('"')
        pins = {}
        for pin in re.split(r"\bpin\s*\(", part)[1:]:
            found = re.search(r"\bcapacitance\s*:\s*([-\d.e]+)", pin)
            is_input = re.search(r"direction\s*:\s*input", pin)
            if found and is_input:
                pins[pin[: pin.index(")")].strip()] = float(found[1]) * to_ff
        leakage = re.search(r"cell_leakage_power\s*:\s*([-\d.e]+)", part)
        cells[name] = (pins, float(leakage[1]) * to_nw if leakage else 0.0)
    return volts, cells


def loads(text, cells):
    """Load of each net in fF, leakage of all cells in nW."""
    loads, leakage = {}, 0.0
    for cell, body in re.findall(r"\n +(\w+) (?:\w+|\\\S+ ) ?\((.*?)\);", text, re.S):
        pins, nw = cells[cell]
        leakage += nw
        for pin, net in re.findall(r"\.(\w+)\(([^()]*)\)", body):
            net = net.strip()
            loads[net] = loads.get(net, 0.0) + pins.get(pin, 0.0)
    for left, right in re.findall(r"\n\s+assign (\S+)\s*=\s*(\S+)\s*;", text):
        loads[right] = loads.get(right, 0.0) + loads.get(left, 0.0)
    return loads, leakage


def main(liberty, folder):
    volts, cells = library(Path(liberty).read_text())
    folder = Path(folder)
    [unit] = json.loads((folder / "power.json").read_text())["units"]
    clock_ns = json.loads((folder / "power.json").read_text())["clock_ns"]
    load, leakage = loads((folder / "netlist.v").read_text(), cells)
    names = (folder / "nets").read_text().split("\n")
    counts = (folder / "counted").read_text().split()
    toggles = dict(zip(names, map(int, counts)))
    own_pj = sum(0.5e-3 * n * load.get(net, 0.0) * volts**2 for net, n in toggles.items())
    said_pj = sum(
        phase["power_mw"]["switching"] * clock_ns * phase["counted_clocks"]
        for phase in unit["phases"]
    )
    said_nw = 1e6 * unit["power_mw"]["leakage"]
    print(f"  switching {said_pj:.1f} pJ, by check.py {own_pj:.1f}; ", end="")
    print(f"leakage {said_nw:.2f} nW, by check.py {leakage:.2f}")
    near = lambda a, b: abs(a - b) <= TOLERANCE * abs(b)
    return 0 if near(said_pj, own_pj) and near(said_nw, leakage) else 1


sys.exit(main(*sys.argv[1:]))
