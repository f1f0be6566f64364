"""What the terminal app costs on large stages, beside Textual's own TextArea on the same two texts.

Two kinds of large: 54,000 short lines, and lines of 16,000 characters. Each figure is taken in a process of
its own: CPU seconds from the start of the app to its first paint, CPU milliseconds a key press (95th
percentile; with the diff on), peak memory, and the bytes that a PageDown sends to a terminal of 200x50.

    python benchmarks/tui_paint.py
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import resource
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import TextArea

from irscope.model import Config, SourceFunction, parse_target
from irscope.store import Capture, CaptureWriter, NewVariant
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.diff_view import DiffView

SIZE = (200, 50)
KINDS = ("short", "long")
VIEWS = ("irscope", "TextArea")
# Keys of a user who reads: pages, lines, changes, sideways.
KEYS = ["pagedown"] * 40 + ["down"] * 40 + ["right_square_bracket"] * 20 + ["l"] * 10


def text(kind: str, side: int) -> str:
    """LLVM IR of one side. The other has another constant in every 50th line, and 12 lines more."""
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
    """A capture of two variants that have nothing but LLVM IR."""
    with CaptureWriter.create(path, force=True) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "benchmark")
        kernel = writer.add_kernel(SourceFunction("kernel", "kernel.py", 1, "def kernel(): ...\n"), (), ())
        for side in range(2):
            config = Config((("num_stages", 3 + side),))
            content = {"llir": text(kind, side).encode()}
            new = NewVariant(parse_target("cuda:90"), (), config, artifacts=content)
            writer.add_variant(kernel, toolchain, "3.9.0", new)


class TextAreas(App[None]):
    """Two read-only TextAreas beside each other, and nothing else: unwrapped, as wrapping takes minutes."""

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
    """The app under test, with what it needs to read already on the disk."""
    opened = Capture(capture)
    if view == "irscope":
        return IrscopeApp(opened)
    contents = [opened.read(variant, "llir") or b"" for variant in opened.variants()]
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"first": first, "ready": ready, "key": costs[int(0.95 * len(costs))], "peak": peak}


def page_down_bytes(view: str, capture: Path) -> float:
    """Bytes that a real terminal receives for a PageDown, the mean of five."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    command = [sys.executable, __file__, "--run", view, str(capture)]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        _drain(master, 12)
        os.write(master, b"f")  # all lines, so that every page is another
        _drain(master, 2)
        sent = 0
        for _ in range(5):
            os.write(master, b"\x1b[6~")
            sent += _drain(master, 1.5)
        process.kill()
    os.close(master)
    return sent / 5


def _drain(terminal: int, patience: float) -> int:
    """Reads what comes until nothing has come for `patience` seconds; how many bytes that were."""
    count = 0
    while select.select([terminal], [], [], patience)[0]:
        count += len(os.read(terminal, 1 << 16))
    return count


def report() -> None:
    """Runs each view on each kind in a process of its own and prints the table."""
    titles = ("first paint", "diff there", "key p95", "peak", "PageDown")
    print(f"{'text':6} {'view':9}", *(f"{title:>12}" for title in titles))
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            capture = Path(folder) / f"{kind}.irscope"
            write_capture(kind, capture)
            for view in VIEWS:
                command = [sys.executable, __file__, "--measure", view, str(capture)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                figures = json.loads(done.stdout.splitlines()[-1])
                cells = (
                    f"{figures['first']:.2f} s",
                    f"{figures['ready']:.2f} s",
                    f"{figures['key']:.1f} ms",
                    f"{figures['peak']:.0f} MB",
                    f"{page_down_bytes(view, capture) / 1024:.1f} kB",
                )
                print(f"{kind:6} {view:9}", *(f"{cell:>12}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--measure", nargs=2, metavar=("VIEW", "CAPTURE"), help="one measurement, as JSON")
    parser.add_argument("--run", nargs=2, metavar=("VIEW", "CAPTURE"), help="one app, on this terminal")
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(asyncio.run(measure(args.measure[0], Path(args.measure[1])))))
    elif args.run:
        make_app(args.run[0], Path(args.run[1])).run()
    else:
        report()


if __name__ == "__main__":
    main()
