"""Runs of the terminal app, in processes of their own: its captures, its figures and its terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ROOT, run
from irscope.facts.measure import FACTS_VERSION
from irscope.facts.registry import kinds_for
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target

SIZE = (200, 50)


def write_table(size: int, path: Path) -> None:
    """Write a capture of `size` variants with all facts and one stage."""
    kinds = [kind for kind in kinds_for("cuda") if kind.name != "launchable"]
    with CaptureWriter.create(path, force=True) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "benchmark")
        kernel = writer.add_kernel(SourceFunction("kernel", "kernel.py", 1, "def kernel(): ...\n"), (), ())
        for number in range(size):
            config = Config(
                (("BLOCK_M", 16 << number % 5), ("BLOCK_N", number), ("num_warps", 1 << number % 4))
            )
            new = NewVariant(parse_target("cuda:90"), (), config, artifacts={"ttir": b"module {\n}\n"})
            id_ = writer.add_variant(kernel, toolchain, "3.9.0", new)
            values = {kind.name: (number * 7919) % 255 if kind.unit else f"x{number % 9}" for kind in kinds}
            writer.add_facts(id_, FACTS_VERSION, {"launchable": "yes", **values})


@contextmanager
def on_terminal(
    command: Sequence[str], size: tuple[int, int]
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a program on a terminal of its own; yield the process and the terminal's file descriptor."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=ROOT
    ) as process:
        os.close(slave)
        try:
            yield process, master
        finally:
            process.kill()
            os.close(master)


def measure_in_process(module: str, *arguments: str) -> dict[str, float]:
    """Return the figures that a benchmark prints as JSON when it is started with `arguments`."""
    used = run([sys.executable, "-m", module, *arguments], cwd=ROOT)
    figures: dict[str, float] = json.loads(used.output.splitlines()[-1])
    return figures


def least(module: str, rounds: int, *runs: tuple[str, ...]) -> list[dict[str, float]]:
    """Return the least figures of several runs of each, taken in turns."""
    all_rounds = [[measure_in_process(module, *arguments) for arguments in runs] for _ in range(rounds)]
    return [
        {name: min(figures[name] for figures in same_runs) for name in same_runs[0]}
        for same_runs in zip(*all_rounds, strict=True)
    ]


def print_verdict(what: str, figure: float, most: float, unit: str) -> None:
    """Print a figure that has a limit."""
    word = "ok " if figure <= most else "OVER"
    print(f"{word} {what}: {figure:.2f}{unit}, at most {most:g}{unit}", flush=True)
