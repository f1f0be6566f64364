"""Measures the terminal app on large stages, and Textual's TextArea on the same two texts.

The stages have 54,000 short lines, or lines of 16,000 characters. Each figure is measured in a separate
process: CPU seconds from the start of the app to its first paint, CPU milliseconds per key press (95th
percentile, with the diff on), peak memory, and the bytes that a PageDown sends to a terminal of 200x50.
Then the times to open, scroll and sort a table of 1,000 variants and one of 20. Last, the figures that have
a limit. Other work on the machine also increases CPU times, so compared figures are measured alternately,
and the minimum of --rounds runs counts.

    python -m benchmarks.tui_paint [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import sys
import tempfile
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import TextArea

from benchmarks.app_runs import SIZE, least, on_terminal, print_verdict, write_table
from benchmarks.processes import peak_megabytes
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from tests.tui.driving import idle

_PATIENCE_SECONDS = 300.0
MODULE = "benchmarks.tui_paint"
KINDS = ("short", "long")
VIEWS = ("irscope", "TextArea")
TABLE_SIZES = (20, 1000)
# The limits: first paint relative to TextArea, ms per key press, MB, kB per PageDown.
MOST = {"first": 1.5, "key": 30.0, "peak": 150.0, "page": 50.0}
# The limits of what 1,000 variants take relative to 20.
MOST_OF_TABLE = {"open": 1.5, "scroll": 2.0, "sort": 2.0}
# The keys of a user who reads: pages, lines, changes, sideways.
KEYS = ["pagedown"] * 40 + ["down"] * 40 + ["right_square_bracket"] * 20 + ["l"] * 10


def text(kind: str, side: int) -> str:
    """The LLVM IR of A. B has another constant in every 50th line, and 12 more lines."""
    lines = ["define ptx_kernel void @kernel(ptr addrspace(1) %0) {"]
    fields = ", ".join(["float"] * 1140)
    for number in range(54_000 if kind == "short" else 1_500):
        offset = number * 16 + (side if number % 50 == 0 else 0)
        if kind == "long" and number % 3 == 0:
            values = ", ".join(f"%{number + place}" for place in range(1140))
            lines.append(f"  %v{number} = tail call {{ {fields} }} @wgmma({values}), !dbg !{side}")
        else:
            lines.append(
                f"  %{number} = getelementptr i8, ptr addrspace(1) %{number - 1}, i64 {offset}, !dbg !46"
            )
    lines += ["  tail call void @llvm.nvvm.barrier0(), !dbg !47"] * (12 * side)
    return "\n".join([*lines, "}", ""])


def write_capture(kind: str, path: Path) -> None:
    """A capture of two variants that have only LLVM IR."""
    with CaptureWriter.create(path, force=True) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "benchmark")
        kernel = writer.add_kernel(SourceFunction("kernel", "kernel.py", 1, "def kernel(): ...\n"), (), ())
        for side in range(2):
            config = Config((("num_stages", 3 + side),))
            content = {"llir": text(kind, side).encode()}
            new = NewVariant(parse_target("cuda:90"), (), config, artifacts=content)
            writer.add_variant(kernel, toolchain, "3.9.0", new)


class TextAreas(App[None]):
    """Two read-only TextAreas next to each other, unwrapped, because wrapping takes minutes."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        self.animation_level = "none"
        self._texts = texts

    def compose(self) -> ComposeResult:
        """Both texts."""
        with Horizontal():
            for content in self._texts:
                area = TextArea(content, read_only=True, soft_wrap=False, show_line_numbers=True)
                area.cursor_blink = False  # it would never stop to send
                yield area


def make_app(view: str, capture: Path) -> App[None]:
    """The app under test; the capture is already written."""
    opened = Workspace(capture)
    if view == "irscope":
        return IrscopeApp(opened)
    contents = [opened.contents.read(variant, "llir") or b"" for variant in opened.variants]
    return TextAreas([content.decode() for content in contents])


async def measure(view: str, capture: Path) -> dict[str, float]:
    """First paint, key presses and memory, without a terminal."""
    start = time.process_time()
    app = make_app(view, capture)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        first = time.process_time() - start
        while any(not worker.is_finished for worker in app.workers):
            await asyncio.sleep(0.01)
        ready = time.process_time() - start
        if view == "irscope":
            assert app.screen.query_one(DiffView).page.compared
        costs = []
        for key in KEYS:
            before = time.process_time()
            await pilot.press(key)
            await pilot.pause()
            costs.append(1000 * (time.process_time() - before))
    costs.sort()
    return {"first": first, "ready": ready, "key": costs[int(0.95 * len(costs))], "peak": peak_megabytes()}


async def measure_table(capture: Path) -> dict[str, float]:
    """CPU ms until the app is idle, and the median of a key that scrolls or sorts the table."""
    start = time.process_time()
    app = IrscopeApp(Workspace(capture))
    async with app.run_test(size=SIZE) as pilot:
        await idle(pilot, _PATIENCE_SECONDS)
        figures = {"open": 1000 * (time.process_time() - start)}
        app.screen.query_one(VariantTable).focus()
        for what, keys in (
            ("scroll", ["down"] * 19 + ["up"] * 19),
            ("sort", ["l", "s"] * 10),
        ):
            costs = []
            for key in keys:
                before = time.process_time()
                await pilot.press(key)
                await pilot.pause()
                if key != "l":
                    costs.append(1000 * (time.process_time() - before))
            figures[what] = sorted(costs)[len(costs) // 2]
    return figures


def page_down_bytes(view: str, capture: Path) -> float:
    """Return the bytes that a real terminal receives for a PageDown, the mean of five."""
    command = [sys.executable, "-m", MODULE, "--run", view, str(capture)]
    with on_terminal(command, SIZE) as (_, terminal):
        _drain(terminal, 12)
        os.write(terminal, b"f")  # all lines, so that every page is another
        _drain(terminal, 2)
        sent = 0
        for _ in range(5):
            os.write(terminal, b"\x1b[6~")
            sent += _drain(terminal, 1.5)
    return sent / 5


def _drain(terminal: int, patience: float) -> int:
    """Reads until no output comes for `patience` seconds; returns the number of bytes."""
    count = 0
    while select.select([terminal], [], [], patience)[0]:
        count += len(os.read(terminal, 1 << 16))
    return count


def report_texts(folder: Path, rounds: int) -> None:
    """Both views of both kinds of text."""
    titles = ("first paint", "diff there", "key p95", "peak", "PageDown")
    print(f"{'text':6} {'view':9}", *(f"{title:>12}" for title in titles))
    limited = []
    for kind in KINDS:
        capture = folder / f"{kind}.irscope"
        write_capture(kind, capture)
        both = least(MODULE, rounds, *(("--measure", view, str(capture)) for view in VIEWS))
        for view, figures in zip(VIEWS, both, strict=True):
            figures["page"] = page_down_bytes(view, capture) / 1024
            cells = (
                f"{figures['first']:.2f} s", f"{figures['ready']:.2f} s", f"{figures['key']:.1f} ms",
                f"{figures['peak']:.0f} MB", f"{figures['page']:.1f} kB",
            )  # fmt: skip
            print(f"{kind:6} {view:9}", *(f"{cell:>12}" for cell in cells), flush=True)
        ours, theirs = both
        limited += [
            (
                f"{kind}: first paint relative to TextArea",
                ours["first"] / theirs["first"],
                MOST["first"],
                "x",
            ),
            (f"{kind}: key press, 95th percentile", ours["key"], MOST["key"], " ms"),
            (f"{kind}: memory", ours["peak"], MOST["peak"], " MB"),
            (f"{kind}: PageDown", ours["page"], MOST["page"], " kB"),
        ]
    print()
    for line in limited:
        print_verdict(*line)


def report_table(folder: Path, rounds: int) -> None:
    """Compares 1,000 variants with 20."""
    captures = [folder / f"{size}.irscope" for size in TABLE_SIZES]
    for size, capture in zip(TABLE_SIZES, captures, strict=True):
        write_table(size, capture)
    few, many = least(MODULE, rounds, *(("--measure-table", str(capture)) for capture in captures))
    print()
    for what in few:
        title = f"{what}: {many[what]:.0f} ms with 1,000 variants, {few[what]:.0f} ms with 20"
        print_verdict(title, many[what] / few[what], MOST_OF_TABLE[what], "x")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the least counts (3)")
    parser.add_argument("--measure", nargs=2, metavar=("VIEW", "CAPTURE"), help="one measurement, as JSON")
    parser.add_argument("--measure-table", metavar="CAPTURE", help="one of the table, as JSON")
    parser.add_argument("--run", nargs=2, metavar=("VIEW", "CAPTURE"), help="one app, on this terminal")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(asyncio.run(measure(args.measure[0], Path(args.measure[1])))))
    elif args.measure_table:
        print(json.dumps(asyncio.run(measure_table(Path(args.measure_table)))))
    elif args.run:
        make_app(args.run[0], Path(args.run[1])).run()
    else:
        with tempfile.TemporaryDirectory() as folder:
            report_texts(Path(folder), args.rounds)
            report_table(Path(folder), args.rounds)


if __name__ == "__main__":
    main()
