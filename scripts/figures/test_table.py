# SPDX-License-Identifier: MIT
"""The table of scripts/speed, of results made up in Criterion's form."""

import json
import os
import pathlib
import tempfile
import unittest

import table

WORKSPACE = pathlib.Path(__file__).parents[2]
EMPTY = {"machine": "none", "figures": {}}


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def result(self, group, function, seconds, elements=None, at=None):
        new = self.folder / group.replace("/", "_") / function / "new"
        new.mkdir(parents=True)
        throughput = {"Elements": elements} if elements else None
        about = {"group_id": group, "function_id": function, "throughput": throughput}
        (new / "benchmark.json").write_text(json.dumps(about))
        estimates = {"mean": {"point_estimate": seconds * 1e9}, "median": {"point_estimate": 1.0}}
        (new / "estimates.json").write_text(json.dumps(estimates))
        if at is not None:
            os.utime(new / "estimates.json", (at, at))

    def row(self, name, baseline=EMPTY):
        lines = table.table(table.Benches(self.folder), baseline)
        [line] = [line for line in lines if line.startswith(name + "  ")]
        return [cell.strip() for cell in line.split("  ") if cell.strip()]

    def test_a_rate_stands_beside_baseline_target_and_peers(self):
        self.result("figures", "gemv on l3", 0.25, 4096 * 4096)
        name = "GEMV of 4096 x 4096 on l3, whole process"
        baseline = {"machine": "m", "figures": {name: {"value": 2**24}}}
        cells = ["16.8 MMAC/s", "67.1 MMAC/s", "4", "150 MMAC/s", "0.45", "6.4"]
        self.assertEqual(self.row(name, baseline), [name, *cells])

    def test_less_time_is_better(self):
        self.result("figures", "attention, a head of 128K", 0.2)
        name = "a head of 128K with data"
        baseline = {"machine": "m", "figures": {name: {"value": 1.0}}}
        self.assertEqual(self.row(name, baseline), [name, "1 s", "0.2 s", "5", "0.4 s", "2", "-"])

    def test_twins_have_a_geometric_mean(self):
        for unit, ratio in (("a", 2), ("b", 32)):
            self.result(f"twin {unit}", "model", 1e-3, 1000)
            self.result(f"twin {unit}", "rtl", ratio * 1e-3, 1000)
        self.result("twin c", "model", 1e-3, 1000)  # its RTL was not measured
        name = "units against their Verilated twins"
        self.assertEqual(self.row(name), [name, "-", "8 times", "-", "10 times", "0.8", "-"])
        last = table.table(table.Benches(self.folder), EMPTY)[-1]
        self.assertEqual(last, "units, from the slowest beside its twin: a 2, b 32")

    def test_values_have_three_digits(self):
        self.assertEqual(table.shown(999.96e6, "MAC/s"), "1000 MMAC/s")
        self.assertEqual(table.shown(1234.5, "times"), "1234 times")
        self.assertEqual(table.shown(0.01234, "s"), "0.0123 s")

    def test_what_was_not_measured_is_a_dash(self):
        self.result("engine and module", "model", 1e-3)
        name = "engine against the Verilated module"
        self.assertEqual(self.row(name), [name, "-", "-", "-", "100 times", "-", "-"])

    def test_the_baseline_keeps_what_was_measured_now(self):
        self.result("figures", "layer on a rank", 9.0, at=50)
        self.result("figures", "attention, a head of 128K", 0.123456, at=200)
        old = {"value": 7.0, "unit": "s", "commit": "a", "date": "d"}
        name = "GPT-175B layer at 16K with data, one rank"
        baseline = {"machine": "m", "figures": {name: old}}
        new = {"value": 0.1235, "unit": "s", "commit": "b", "date": "e"}
        benches = table.Benches(self.folder, 100)
        document = table.kept(benches, baseline, "m", "b", "e")
        self.assertEqual(document["figures"], {name: old, "a head of 128K with data": new})
        document = table.kept(benches, baseline, "another", "b", "e")
        self.assertEqual(document, {"machine": "another", "figures": {"a head of 128K with data": new}})

    def test_each_figure_has_its_bench(self):
        benches = [*WORKSPACE.glob("hw-models/*/benches/*.rs"), *WORKSPACE.glob("testbenches/benches/*.rs")]
        text = "".join(file.read_text() for file in benches)
        for figure in table.FIGURES:
            if figure.bench and figure.bench.startswith("figures/"):
                self.assertIn(f'"{figure.bench[len("figures/"):]}"', text)
        for name in ('"engine and module"', '"twin {}"', '"attention of {context} tokens"', '"{name}, multiply-accumulates"'):
            self.assertIn(name, text)

    def test_the_baseline_in_store_has_the_table_s_figures(self):
        figures = json.loads(table.BASELINE.read_text())["figures"]
        self.assertLessEqual(set(figures), {figure.name for figure in table.FIGURES})
        self.assertTrue(all(figure["value"] > 0 for figure in figures.values()))


if __name__ == "__main__":
    unittest.main()
