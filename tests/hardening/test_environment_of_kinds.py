"""Faults of the environment under every kind of command: viewing, compiling, running a program."""

from __future__ import annotations

import shutil
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from irscope.store import CaptureReader
from tests.hardening.test_environment import CAPTURE, shell
from tests.hardening.views import VIEWS, run

VECTOR_ADD = Path(__file__).parents[2] / "samples" / "vector_add.py"
PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    tl.store(at, tl.load(at) * 2)

double[(1,)](torch.zeros(64, device="cuda"), BLOCK=64)
print("done")
"""
SIGNATURE = "--signature '*fp32, *fp32, *fp32, i32' --config BLOCK_SIZE=64 --config num_warps=4"
# The command of each kind; OUT is replaced by the capture that it writes.
KINDS = {
    "view": "I table C && I diff C 1 3 && I show C 1 --stage ttir",
    "compile": f"I compile '{VECTOR_ADD}' {SIGNATURE} -o OUT",
    "run": "I run -o OUT PROGRAM",
}
# Under these every kind of command does its work.
HARMLESS = {
    "32 open files": "ulimit -n 32",
    "no TMPDIR": "export TMPDIR=/none",
    "no HOME": "export HOME=/nonexistent; unset XDG_CACHE_HOME",
    "no folder for caches": "export IRSCOPE_CACHE=/dev/null/x",
    "locale C": "export LC_ALL=C PYTHONIOENCODING=ascii PYTHONUTF8=0",
    "a folder that cannot be written": "cd /proc",
    "no standard input": "exec <&-",
    "no error output": "exec 2>&-",
}
# Under these a command may fail: by one line, and the output is whole or absent.
LIMITS = {
    "files of 1 kB": "trap '' XFSZ; ulimit -f 1",
    "400 MB of memory": "ulimit -v 400000",
    "60 MB of memory": "ulimit -v 60000",
    "a full disk": "exec >/dev/full",
    "no output": "exec >&-",
}


def command(kind: str, folder: Path) -> str:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return KINDS[kind].replace("OUT", f"'{folder / 'out.irscope'}'").replace("PROGRAM", f"'{program}'")


def needed(kind: str) -> None:
    for package in {"view": (), "compile": ("triton",), "run": ("triton", "torch")}[kind]:
        pytest.importorskip(package)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", HARMLESS)
def test_every_kind_of_command_works_without(kind: str, fault: str, tmp_path: Path):
    needed(kind)
    done = shell(f"{HARMLESS[fault]}; {command(kind, tmp_path)}", TRITON_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if kind != "view":
        with CaptureReader(tmp_path / "out.irscope") as capture:
            assert [variant.failure for variant in capture.variants()] == [None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", LIMITS)
def test_a_limit_is_one_line_or_no_matter(kind: str, fault: str, tmp_path: Path):
    needed(kind)
    if kind == "run" and "memory" in fault:
        pytest.skip("torch itself needs more")
    done = shell(f"{LIMITS[fault]}; {command(kind, tmp_path)}", TRITON_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode in (0, 1, 2), done.stderr
    assert "Traceback" not in done.stderr or kind == "run"
    if done.returncode == 2:
        assert done.stderr.splitlines()[-1].startswith("irscope: ")
    if (tmp_path / "out.irscope").exists() and done.returncode == 0:
        with CaptureReader(tmp_path / "out.irscope") as capture:
            assert capture.variants()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has mount namespaces")
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_command_needs_shared_memory(kind: str, tmp_path: Path):
    needed(kind)
    without = "unshare -m bash -c 'umount -l /dev/shm && ! mountpoint -q /dev/shm'"
    if not shutil.which("unshare") or shell(without).returncode:
        pytest.skip("needs the right to unmount")
    script = tmp_path / "script.sh"
    words = (
        command(kind, tmp_path)
        .replace("I ", f"'{sys.executable}' -m irscope ")
        .replace(" C", f" '{CAPTURE}'")
    )
    script.write_text(f"umount -l /dev/shm\n{words}\n")
    done = shell(f"unshare -m bash '{script}'", TRITON_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("step", [-3600.0, 1e9])
def test_a_clock_that_jumps_changes_nothing(step: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    views = [words for words in VIEWS if words[0] in ("list", "show")][:4]
    before = [run(words, CAPTURE, tmp_path) for words in views]
    ticks = count(1)
    monkeypatch.setattr(time, "time", lambda: 1.7e9 + step * next(ticks))
    assert [run(words, CAPTURE, tmp_path) for words in views] == before
