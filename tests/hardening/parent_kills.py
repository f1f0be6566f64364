"""Ends `irscope compile` and `irscope run` at random moments: nothing is lost, nothing keeps running."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from irscope.store import CaptureReader
from tests.hardening.leftovers import nothing_left

TARGETS = {"cuda:90": "cubin", "hip:gfx942": "hsaco"}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_VARIANTS = 6
# A moment is the time after the start, or the time after a number of variants was written, in seconds.
_STARTING, _COMPILING = 3.0, 0.4
_LONGEST = 120

_FILE = """
import triton
import triton.language as tl

@triton.jit
def product(a, b, c, K, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        x = tl.load(a + rows[:, None] * K + (k + columns)[None, :])
        y = tl.load(b + (k + rows)[:, None] * BLOCK + columns[None, :])
        total += tl.dot(x, y)
    tl.store(c + rows[:, None] * BLOCK + columns[None, :], total)

if __name__ == "__main__":
    import torch
    half = torch.empty(1 << 16, dtype=torch.float16, device="cuda")
    for block in (16, 32, 64):
        for warps in (2, 4):
            product[(1,)](half, half, half.float(), 1024, BLOCK=block, num_warps=warps)
    print("launched", flush=True)
"""
_CONFIG = ("--config", "BLOCK=16,32,64", "--config", "num_warps=2,4")


@dataclass
class Killed:
    """How a capture was ended, and how many of its variants were in the file then."""

    command: str
    target: str
    signal: str
    written: int
    seconds: float
    kept: int = 0


def commands(folder: Path, target: str) -> dict[str, list[str]]:
    """The ways to make the capture: compile, and run."""
    capture = str(folder / "product.irscope")
    file = folder / "product.py"
    file.write_text(_FILE)
    words = ("-o", capture, "--target", target, "-j", "2")
    return {
        "compile": [
            "compile",
            str(file),
            "--signature",
            "*fp16:16, *fp16:16, *fp32:16, i32:16",
            *_CONFIG,
            *words,
        ],
        "run": ["run", *words, str(file)],
    }


def killed(rng: random.Random, folder: Path) -> Killed:
    """Ends a capture at a random moment, checks what is left, and completes it by --resume."""
    target = rng.choice(sorted(TARGETS))
    name = rng.choice(("compile", "compile", "run"))
    number, written = rng.choice(SIGNALS), rng.randrange(_VARIANTS) if rng.random() < 0.7 else 0
    seconds = rng.uniform(0, _COMPILING if written else _STARTING)
    command = commands(folder, target)[name]
    return kill(Killed(name, target, number.name, written, seconds), command, folder)


def kill(case: Killed, words: list[str], folder: Path) -> Killed:
    """Ends `irscope WORDS` and resumes it."""
    capture = folder / "product.irscope"
    command = [sys.executable, "-m", "irscope", *words]
    with nothing_left(folder) as environment:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no terminal: the signal reaches only irscope
            preexec_fn=heed_signals,  # noqa: PLW1509 - no threads here
        )
        while case.written and process.poll() is None and _written(capture) < case.written:
            time.sleep(0.02)
        time.sleep(case.seconds)
        process.send_signal(signal.Signals[case.signal])
        process.wait(_LONGEST)
    case.kept = len(_sound_variants(capture, TARGETS[case.target])) if capture.exists() else 0
    shutil.rmtree(folder / "tmp")
    with nothing_left(folder) as environment:
        done = subprocess.run(
            [*command, "--resume"] if words[0] == "compile" else [*command[:-1], "--resume", command[-1]],
            env=environment, cwd=folder, capture_output=True, text=True, timeout=_LONGEST * 5, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(_sound_variants(capture, TARGETS[case.target])) == _VARIANTS
    names = {path.name for path in folder.iterdir()}
    assert names <= {"product.irscope", "product.py", "tmp", "cache", "__pycache__"}, names
    return case


def heed_signals() -> None:
    """Undoes what nohup and shells do to background jobs."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _written(path: Path) -> int:
    """The number of variants in a capture that is being written."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT count(*) FROM variant").fetchone()[0])
    except sqlite3.Error:  # it is not there yet
        return 0


def _sound_variants(path: Path, binary: str) -> set[str]:
    """The configs of the variants in a capture; each must be whole."""
    with CaptureReader(path) as capture:
        variants = capture.variants()
        for variant in variants:
            assert variant.failure is None, variant.failure
            assert binary in variant.artifacts
            assert all(capture.read(variant, stage) for stage in variant.artifacts)
    return {str(variant.config) for variant in variants}


def main() -> int:
    """Ends captures at 100 random moments, or as many as the first argument says, and prints figures."""
    import tempfile
    import traceback

    from tests.hardening.areas import generator

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    cases, failed = [], 0
    for number in range(count):
        with tempfile.TemporaryDirectory(prefix="irscope-kills-", ignore_cleanup_errors=True) as folder:
            try:
                cases.append(killed(generator("parent kills", 0, number), Path(folder)))
                print(number, cases[-1], flush=True)
            except Exception:  # noqa: BLE001 - counted
                failed += 1
                print(number, traceback.format_exc(), flush=True)
    for target in TARGETS:
        of_target = [case for case in cases if case.target == target]
        kept = [case.kept for case in of_target]
        partly = sum(0 < case.kept < _VARIANTS for case in of_target)
        print(f"{target}: {len(of_target)} kills, {sum(kept)} variants kept, {partly} with some but not all")
    print(f"{failed} failed of {count}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
