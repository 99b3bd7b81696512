"""Tables, what notebooks show, and the libraries that read what comes out."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import pickle
import unittest
from typing import Any

import hsaco

from support import KERNEL_ONE, LINES, fixture

LIBRARIES = ("pyarrow", "pandas", "polars", "duckdb")


def library(name: str) -> Any:
    """A library that the package does not need."""
    return importlib.import_module(name)


class Tables(unittest.TestCase):
    def test_rows_are_those_of_the_command(self) -> None:
        table = hsaco.table([LINES, fixture("plain.bundle")], mix=True)
        self.assertEqual(repr(table), f"<Table resources: {len(table)} rows, {len(table.columns)} columns>")
        self.assertEqual(len(table), 6)
        lines = table.to_bytes("jsonl").decode().splitlines()
        self.assertEqual([json.loads(it) for it in lines], table.to_pylist())
        row = table.to_pylist()[0]
        self.assertEqual((row["name"], row["vgprs"], row["occupancy"], row["spills"]), (KERNEL_ONE, 7, 8, 0))
        self.assertEqual(row["instructions"], len(hsaco.open(LINES).kernel(KERNEL_ONE).instructions))
        self.assertEqual(table["name"][0], KERNEL_ONE)
        self.assertEqual(table.problems, [])

    def test_rows_are_chosen_and_sorted(self) -> None:
        table = hsaco.table(fixture("plain.bundle"), "ls", target="gfx1100")
        self.assertEqual(table["target"], ["gfx1100"])
        table = hsaco.table(LINES, "ls", where="vgprs > 2", sort="-vgprs,name")
        self.assertEqual(table["vgprs"], [7, 3, 3])
        self.assertEqual(table.where("name ~ 'kernel_one'")["vgprs"], [7])
        self.assertEqual(hsaco.table(LINES, "ls", kernels=["kernel_one"])["name"], [KERNEL_ONE])
        self.assertEqual(hsaco.table(LINES, what_if="vgprs=132")["what_if_occupancy"], [3] * 4)

    def test_what_is_wrong_is_said(self) -> None:
        with self.assertRaisesRegex(ValueError, "there is no column 'vgpr'; did you mean 'vgprs'"):
            hsaco.table(LINES, where="vgpr > 1")
        with self.assertRaisesRegex(ValueError, "no table 'kernels'; there are ls, resources, symbols, args"):
            hsaco.table(LINES, "kernels")
        with self.assertRaisesRegex(ValueError, "none of vgprs"):
            hsaco.table(LINES, what_if="waves=1")
        with self.assertRaises(KeyError):
            hsaco.table(LINES)["missing"]
        with self.assertRaises(FileNotFoundError):
            hsaco.table("no-such-file")

    def test_a_pickled_table_is_the_same(self) -> None:
        for of in ("ls", "resources", "symbols", "args"):
            table = hsaco.table([LINES, fixture("s1.gfx1100.co")], of)
            again = pickle.loads(pickle.dumps(table))
            self.assertEqual((again.name, again.columns), (of, table.columns))
            self.assertEqual(again.to_pylist(), table.to_pylist())


class Kernels(unittest.TestCase):
    def test_a_kernel_knows_what_it_needs(self) -> None:
        kernel = hsaco.open(LINES).kernel(KERNEL_ONE)
        needs = kernel.needs(what_if="vgprs=132", curve=True, peak=True, mix=True)
        self.assertEqual(needs["vgprs"]["needed"], 7)
        self.assertEqual(needs["spills"], {"vgprs": 0, "sgprs": 0})
        self.assertEqual(needs["occupancy"]["waves_per_simd"], 8)
        self.assertEqual(needs["what_if"]["occupancy"]["limiter"], "vgprs")
        self.assertEqual(needs["curve"]["vgprs"][0], {"first": 0, "last": 64, "waves_per_simd": 8, "limiter": None})
        self.assertEqual(needs["mix"]["instructions"], len(kernel.instructions))
        (loop,) = kernel.loops()
        self.assertEqual((loop["depth"], loop["line"], loop["mix"]["instructions"]), (1, 16, 15))

    def test_notebooks_show_tables_and_pictures(self) -> None:
        database = hsaco.open(LINES)
        kernel = database.kernel(KERNEL_ONE)
        svg = kernel.graph._repr_svg_()
        assert svg is not None
        self.assertIn("<svg", svg)
        self.assertTrue(kernel.graph.dot.startswith("digraph "))
        for shown in (database._repr_html_(), kernel._repr_html_(), hsaco.table(LINES)._repr_html_()):
            # Names have brackets, which are no tags.
            self.assertIn("vec::Pair&lt;float&gt;", shown)
            self.assertNotIn("Pair<float>", shown)
        found = hsaco.check(fixture("short.co"), code=True)
        self.assertIn("resource-closure", found._repr_html_())
        self.assertIn(found[0].rule, found[0]._repr_html_())


@unittest.skipIf(any(importlib.util.find_spec(it) is None for it in LIBRARIES), "needs pyarrow, pandas, polars and duckdb")
class Libraries(unittest.TestCase):
    def setUp(self) -> None:
        self.table = hsaco.table([LINES, fixture("plain.bundle"), fixture("flow.co")], mix=True, peak=True)
        self.rows = self.table.to_pylist()

    def test_arrow_reads_every_value(self) -> None:
        arrow = self.table.to_arrow()
        self.assertEqual(arrow.to_pylist(), self.rows)
        self.assertEqual(str(arrow.schema.field("vgprs").type), "int64")
        self.assertEqual(str(arrow.schema.field("live_address").type), "uint64")
        arrow.validate(full=True)
        # A stream can be asked for again, and left unread.
        self.table.__arrow_c_stream__()
        self.assertEqual(library("pyarrow").table(self.table).num_rows, len(self.rows))

    def test_pandas_and_polars_read_every_value(self) -> None:
        self.assertEqual(self.table.to_polars().to_dicts(), self.rows)
        frame = self.table.to_pandas()
        self.assertEqual(list(frame["name"]), [it["name"] for it in self.rows])
        self.assertEqual(int(frame["instructions"].sum()), sum(it["instructions"] for it in self.rows))

    def test_parquet_is_read_by_all(self) -> None:
        data = self.table.to_bytes("parquet")
        self.assertEqual(library("pyarrow.parquet").read_table(io.BytesIO(data)).to_pylist(), self.rows)
        self.assertEqual(library("polars").read_parquet(io.BytesIO(data)).to_dicts(), self.rows)
        self.assertEqual(len(library("pandas").read_parquet(io.BytesIO(data))), len(self.rows))

    def test_duckdb_asks_arrow_and_parquet(self) -> None:
        duckdb, arrow = library("duckdb"), self.table.to_arrow()
        question = "select target, count(*), sum(instructions) from {} group by target order by target"
        connection = duckdb.connect()
        connection.register("kernels", arrow)
        answer = connection.execute(question.format("kernels")).fetchall()
        self.assertEqual([it[:2] for it in answer], [("gfx1100", 1), ("gfx942", len(self.rows) - 1)])

    def test_empty_and_long_tables_are_tables(self) -> None:
        empty = self.table.where("vgprs > 9999")
        self.assertEqual(empty.to_arrow().num_rows, 0)
        self.assertEqual(empty.to_polars().height, 0)
        symbols = hsaco.table([fixture("s1.gfx942.co")] * 40, "symbols")
        self.assertEqual(symbols.to_arrow().to_pylist(), symbols.to_pylist())


if __name__ == "__main__":
    unittest.main()
