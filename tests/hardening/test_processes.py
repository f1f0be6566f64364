"""Processes that irscope starts: they end with it, and one of them costs no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irscope.recording.shadowed_modules import ShadowedModules
from tests.conftest import Irscope
from tests.hardening.leftovers import nothing_left
from tests.hardening.parent_kills import heed_signals
from tests.hardening.run_programs import check_program
from tests.hardening.worker_faults import check_mix, kernel_file


def test_the_import_of_a_kernel_file_has_a_time_limit(irscope: Irscope, tmp_path: Path):
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(3600)\n")
    with nothing_left(tmp_path):
        done = irscope("compile", "slow.py", "--timeout", "1", "-j", "1")
    assert done.returncode == 2
    assert done.stderr == "irscope: slow.py: importing it takes more than 1 s (--timeout)\n"


def test_a_program_has_its_own_modules_and_so_has_irscope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "colorsys.py").write_text("MINE = 1\n")
    (tmp_path / "sys.py").write_text("MINE = 1\n")
    (tmp_path / "unrelated.py").write_text("MINE = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import_colorsys = "import colorsys; found.append(hasattr(colorsys, 'MINE'))"
    found: list[bool] = []
    shadowed = ShadowedModules(str(tmp_path))
    assert shadowed.names == {"colorsys"}
    shadowed.give_to_program()
    with shadowed.set_aside():
        exec(import_colorsys, {"found": found})
    exec(import_colorsys, {"found": found})
    with shadowed.set_aside():
        exec(import_colorsys, {"found": found})
    exec(import_colorsys, {"found": found})
    del sys.modules["colorsys"]
    assert found == [False, True, False, True]


def test_a_module_that_took_functions_of_a_shadowed_one_is_the_programs_too(tmp_path: Path):
    check_program(["pickle"], "falls off", ["struct"], "script", (), "", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_hanging_ptxas_ends_with_irscope(tmp_path: Path, number: signal.Signals):
    ptxas, started = tmp_path / "ptxas", tmp_path / "started"
    version = "Cuda compilation tools, release 12.9, V12.9.86"
    ptxas.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\ntouch {started}\nsleep 3600\n'
    )
    ptxas.chmod(0o755)
    file = tmp_path / "kernels.py"
    file.write_text(kernel_file([]))
    words = ["compile", str(file), "--signature", "*fp32:16", "--config", "HOW=fine", "--config", "BLOCK=64"]
    with nothing_left(tmp_path) as environment:
        process = subprocess.Popen(
            [sys.executable, "-m", "irscope", *words, "-o", str(tmp_path / "k.irscope"), "-j", "1"],
            env=environment | {f"TRITON_{name}_PATH": str(ptxas) for name in ("PTXAS", "PTXAS_BLACKWELL")},
            start_new_session=True, preexec_fn=heed_signals,  # noqa: PLW1509
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not started.exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        process.wait(60)


@pytest.mark.slow
def test_the_program_of_a_killed_run_ends(tmp_path: Path):
    (tmp_path / "waits.py").write_text("import time\nprint('started', flush=True)\ntime.sleep(3600)\n")
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        folder = tmp_path / number.name
        folder.mkdir()
        with nothing_left(folder) as environment:
            process = subprocess.Popen(
                [sys.executable, "-m", "irscope", "run", "--target", "cuda:90", str(tmp_path / "waits.py")],
                env=environment, cwd=folder, start_new_session=True, preexec_fn=heed_signals,  # noqa: PLW1509
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == b"started\n"
            os.kill(process.pid, number)
            process.communicate(timeout=60)


@pytest.mark.slow
def test_a_variant_that_prints_100_mb_is_captured_in_part(tmp_path: Path):
    check_mix(["fine", "prints_100_mb"], [], tmp_path, 1)
    assert (tmp_path / "mix.irscope").stat().st_size < 8 << 20


@pytest.mark.slow
def test_a_daemon_does_not_keep_irscope_waiting(tmp_path: Path):
    check_program(["arguments"], "daemonizes", ["glob", "zstandard"], "script", (), "", tmp_path)


SHADOWED = """
import glob, json, random
import torch, triton
import triton.language as tl

@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)

add[(1,)](torch.zeros(64, device="cuda"), 64, BLOCK=64)
print(glob.MINE)
"""


@pytest.mark.slow
def test_kernels_of_a_program_with_shadowing_modules_are_captured(irscope: Irscope, tmp_path: Path):
    (tmp_path / "program.py").write_text(SHADOWED)
    for name in ("sqlite3", "zstandard", "rich", "platformdirs", "rapidfuzz"):
        (tmp_path / f"{name}.py").write_text("print('of the program')\n")
    (tmp_path / "glob.py").write_text("MINE = 'own glob'\ndef glob(*_, **__): return []\niglob = glob\n")
    done = irscope("run", "--target", "cuda:90", "program.py")
    assert "program.irscope: 1 variant of 1 kernel, 0 failed" in done.stderr, done.stderr
    assert done.stdout.endswith("own glob\n")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the children of a killed process")
def test_a_hanging_tool_ends_with_irscope(tmp_path: Path):
    tool, started = tmp_path / "nvdisasm", tmp_path / "started"
    tool.write_text(f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep 3600\n")
    tool.chmod(0o755)
    program = f"from irscope.compiling.processes.run_tool import run_tool\nrun_tool([{str(tool)!r}])"
    process = subprocess.Popen([sys.executable, "-c", program])
    while not started.exists():
        time.sleep(0.01)
    process.kill()
    process.wait()
    with pytest.raises(ProcessLookupError):
        for _ in range(500):
            os.kill(int(started.read_text()), 0)
            time.sleep(0.01)
