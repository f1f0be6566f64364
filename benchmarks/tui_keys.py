"""Measures the terminal app against an empty Textual app, and its keys in every panel.

First paint: the CPU seconds of the whole process, from its start until the main screen is on a real terminal
(120x40), of the app with 20 variants and of a Textual app that shows one word. Keys: the CPU
milliseconds of a key press, 95th percentile per panel, with PTX of 54,000 lines in A and B at 200x50. Other
work on the machine also increases CPU times, so what is compared is measured alternately, and the least of
--rounds runs counts; both on a real terminal (a pty). Findings: whether `!` shows the lines that they name,
in SASS of 5,811 instructions. Linux only.

    python -m benchmarks.tui_keys [--rounds N]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import select
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.app_runs import SIZE, on_terminal, print_verdict, write_table
from benchmarks.processes import IRSCOPE, ROOT
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.store.new_variant import NewPass
from irscope.targets import parse_target
from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace
from tests.tui.captures import large_sass
from tests.tui.driving import Jump, idle, jump_to_findings

STAGES = ROOT / "tests" / "data" / "stages"
PAINT_SIZE = (120, 40)
LINES = 54_000
PYTHON_LINES = 40
# The limits: first paint relative to an empty app, ms per key press.
MOST_FIRST, MOST_KEY = 2.0, 20.0
EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("painted")
Empty().run()
"""
# A key has had its effect if the app neither writes nor computes for so long: a cursor blinks twice a second.
# A diff of two such stages takes seconds, on a loaded machine minutes.
_QUIET_SECONDS, _LONG_QUIET_SECONDS, _PATIENCE_SECONDS = 0.15, 0.4, 300.0
# How often the app is looked at, and what it computes meanwhile if nothing happens.
_LOOK_SECONDS, _NOTHING_MILLISECONDS = 0.02, 0.8
# What a terminal sends for keys that have a name. The last one is no key.
_BYTES = {
    "pagedown": "\x1b[6~", "pageup": "\x1b[5~", "down": "\x1b[B", "up": "\x1b[A", "shift+tab": "\x1b[Z",
    "tab": "\t", "enter": "\r", "nothing": "\x1b[57376u",
}  # fmt: skip
# The stage, after Python, TTIR and TTGIR.
_PTX = "4"
_TICKS = os.sysconf("SC_CLK_TCK")
_KERNEL = "matmul_kernel.cuda-90.{0},BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
_TEXTS = [_KERNEL.format(f"BLOCK_M={size},BLOCK_N={size}") for size in (64, 128)]


@dataclass(frozen=True)
class Panel:
    """How to reach a panel from the main screen, and the keys that are measured there."""

    name: str
    reach: Sequence[str]
    keys: Sequence[str]


READ = (*["pagedown"] * 15, *["down"] * 25, *["pageup"] * 5, "G", "g")
PANELS = (
    Panel("texts", (), (*READ, *["]"] * 20, *["l"] * 5, "u", "u", "f", "f", "t", "t", "t")),
    Panel("search", ("/", *"add", "enter"), ("n",) * 20),
    Panel("table", ("shift+tab",), (*["down"] * 3, *["up"] * 3, "l", "s", "l", "s")),
    Panel("findings", ("i", "i"), ("j", "k") * 10),
    Panel("Python source", ("S", "tab"), ("j",) * 20 + ("k",) * 20),
    Panel("source outcomes", ("S", "tab", "tab"), ("j", "k") * 10),
    Panel("layouts", ("T",), (*["l"] * 10, *["j"] * 10, "n", "N", "z", "z", "c", "j", "l", "c", "c", "c")),
    Panel("chart", ("C",), ("l", "h", "j", "k") * 5),
    Panel("reasons", ("W",), ("j", "k") * 10),
    Panel("passes", ("p",), ("j", "k", "}", "{", "d") * 4),
    Panel("help", ("?",), ("j", "pagedown", "k") * 7),
)


def ptx(side: int) -> bytes:
    """PTX of 54,000 lines with locations. B has another constant in every 50th line, and 12 more lines."""
    lines = [".version 8.4", ".target sm_90a", ".visible .entry matmul_kernel()", "{"]
    lines.append('.file 1 "matmul.py"')
    for number in range(LINES - 8):
        if number % 9 == 0:
            lines.append(f"\t.loc\t1 {24 + number // 9 % PYTHON_LINES} 4")
        constant = number + (side if number % 50 == 0 else 0)
        lines.append(f"\tadd.s32 \t%r{number + 1}, %r{number}, {constant};")
    lines += ["\tbar.sync \t0;"] * (12 * side)
    return "\n".join([*lines, "\tret;", "}", ""]).encode()


def write_pair(path: Path) -> None:
    """Two variants with all that the panels show: real TTIR, TTGIR and passes, and long PTX."""
    body = "".join(f"    x{number} = tl.load(a_ptr + {number})\n" for number in range(PYTHON_LINES - 1))
    source = SourceFunction("matmul_kernel", "matmul.py", 24, f"def matmul_kernel(a_ptr):\n{body}")
    with CaptureWriter.create(path, force=True) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "benchmark")
        kernel = writer.add_kernel(source, (), ("a_ptr",))
        for side, name in enumerate(_TEXTS):
            texts = {kind: (STAGES / f"{name}.{kind}").read_bytes() for kind in ("ttir", "ttgir")}
            passes = (
                NewPass("ttgir", "", 0.0, texts["ttir"]),
                NewPass("ttgir", "convert-triton-to-tritongpu", 0.001, texts["ttgir"]),
                NewPass("ttgir", "canonicalize", 0.001, None),
            )
            config = Config((("BLOCK_M", 64 << side), ("num_warps", 4)))
            artifacts = texts | {"ptx": ptx(side)}
            new = NewVariant(parse_target("cuda:90"), (), config, artifacts=artifacts, passes=passes)
            writer.add_variant(kernel, toolchain, "3.9.0", new)


# First paint.


def first_paint(command: Sequence[str], mark: bytes) -> float:
    """Return the CPU seconds of a program until `mark` is on its terminal."""
    with on_terminal(command, PAINT_SIZE) as (process, terminal):
        painted = b""
        while mark not in painted:
            if not select.select([terminal], [], [], 60)[0]:
                raise RuntimeError(f"{command} painted nothing")
            painted += os.read(terminal, 1 << 16)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


# Keys.


def key_costs(capture: Path, panel: Panel) -> dict[str, float]:
    """CPU ms of the keys of a panel: the 95th percentile, the median and the slowest; and of no key.

    `idle` is the median of a key that no program knows.
    """
    with on_terminal([*IRSCOPE, str(capture)], SIZE) as (process, terminal):
        _used_until_quiet(process.pid, terminal, _LONG_QUIET_SECONDS)
        for key in (_PTX, *panel.reach):
            os.write(terminal, _BYTES.get(key, key).encode())
            _used_until_quiet(process.pid, terminal, _LONG_QUIET_SECONDS)

        def cost(key: str) -> float:
            before = _cpu_milliseconds(process.pid)
            os.write(terminal, _BYTES.get(key, key).encode())
            return _used_until_quiet(process.pid, terminal, _QUIET_SECONDS) - before

        nothing = sorted([cost("nothing") for _ in range(10)])
        costs = sorted([cost(key) for key in panel.keys])
    return {
        "p95": costs[int(0.95 * len(costs))],
        "median": costs[len(costs) // 2],
        "most": costs[-1],
        "idle": nothing[len(nothing) // 2],
    }


def _used_until_quiet(process: int, terminal: int, seconds: float) -> float:
    """The CPU ms of a process once it has neither written nor computed for so long."""
    start = since = time.monotonic()
    used = _cpu_milliseconds(process)
    while time.monotonic() - since < seconds and time.monotonic() - start < _PATIENCE_SECONDS:
        if select.select([terminal], [], [], _LOOK_SECONDS)[0]:
            os.read(terminal, 1 << 16)
            since = time.monotonic()
        before, used = used, _cpu_milliseconds(process)
        if used - before > _NOTHING_MILLISECONDS:
            since = time.monotonic()
    return used


def _cpu_milliseconds(process: int) -> float:
    """The CPU ms that the threads of a process have used."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e6


# Findings, without a terminal.


async def finding_jumps(capture: Path) -> list[Jump]:
    """Press `!` at every finding about a line, in a terminal of 80x24."""
    app = IrscopeApp(Workspace(capture))
    async with app.run_test(size=(80, 24)) as pilot:
        await idle(pilot, _PATIENCE_SECONDS)
        return await jump_to_findings(pilot, _PATIENCE_SECONDS)


# The report.


def report_paint(folder: Path, rounds: int) -> None:
    """The app's first paint relative to that of an empty app."""
    capture = folder / "20.irscope"
    write_table(20, capture)
    ours, empty = [], []
    for _ in range(rounds + 1):  # the first one writes the bytecode
        empty.append(first_paint([sys.executable, "-c", EMPTY], b"painted"))
        ours.append(first_paint([*IRSCOPE, str(capture)], b"BLOCK_N"))
    title = f"first paint, {min(ours):.2f} CPU s, relative to an empty app, {min(empty):.2f} CPU s"
    print_verdict(title, min(ours) / min(empty), MOST_FIRST, "x")


def report_keys(folder: Path, rounds: int) -> None:
    """The keys of every panel."""
    capture = folder / "pair.irscope"
    write_pair(capture)
    for panel in PANELS:
        runs = [key_costs(capture, panel) for _ in range(rounds)]
        best = min(runs, key=lambda run: run["p95"])
        rest = f"median {best['median']:.1f}, slowest {best['most']:.0f}, no binding {best['idle']:.1f} ms"
        print_verdict(f"key in {panel.name} ({rest})", best["p95"], MOST_KEY, " ms")


def report_findings(folder: Path) -> None:
    """The lines that findings about SASS of 5,811 instructions name and `!` does not show."""
    jumps = asyncio.run(finding_jumps(large_sass(folder / "attention.irscope", folder / "triton-cache")))
    hidden = sum(not jump.shown for jump in jumps)
    first, *rest = (jump.seconds for jump in jumps)
    title = f"lines that ! does not show, of {len(jumps)} findings about 5,811 instructions of SASS and PTX"
    print_verdict(f"{title} (first jump {first:.1f} s, others {max(rest):.1f} s)", hidden, 0, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="runs of each, of which the least counts (3)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["IRSCOPE_STATE"] = os.environ["IRSCOPE_CACHE"] = name
        # As pip leaves an installed package: with the bytecode of all modules, ours and Textual's.
        os.environ["PYTHONPYCACHEPREFIX"], os.environ["PYTHONDONTWRITEBYTECODE"] = f"{name}/bytecode", ""
        report_paint(folder, args.rounds)
        report_keys(folder, args.rounds)
        report_findings(folder)


if __name__ == "__main__":
    main()
