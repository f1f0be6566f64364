"""irscope bisect with the installed Triton, and with copies of it that were changed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.jobs.bisect import changes
from irscope.jobs.versions.environments import own_triton
from tests.bisect.test_git import git

pytest.importorskip("triton")

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
ADD = [f"{SAMPLES}/vector_add.py::add_kernel", "--guess", "--config", "BLOCK_SIZE=1024"]
KERNEL = """
import triton
import triton.language as tl
from helpers import scale

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 1024):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, scale(tl.load(x_ptr + i, mask=i < n)), mask=i < n)
"""
PRODUCTS = """
import triton
import triton.language as tl

@triton.jit
def products(x, y, z, n, B: tl.constexpr = 1024):
    o = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for i in range(n):
        total += tl.load(x + o + i * B) * tl.load(y + o + i * B)
    tl.store(z + o, total)
"""
HELPERS = """
import triton
import triton.language as tl

@triton.jit
def scale(x):
    return x * 2.0
"""


def bisect(*words):
    return main(["bisect", *map(str, words)])


def without_pass(folder: Path, line: str) -> Path:
    """A copy of the installed Triton (links, but for one file) without a line of the NVIDIA backend."""
    copy = folder / "edited" / "triton"
    shutil.copytree(own_triton()[1] / "triton", copy, copy_function=os.symlink)
    file = copy / "backends" / "nvidia" / "compiler.py"
    text = file.read_text()
    assert line in text
    file.unlink()
    file.write_text(text.replace(line, "pass"))
    return copy.parent


@pytest.mark.slow
def test_a_skipped_pass_is_named_with_its_evidence(tmp_path, capsys):
    edited = without_pass(tmp_path, "passes.ttgpuir.add_coalesce(pm)")
    words = [*ADD, "--triton", f"{own_triton()[0]},{edited}", "--fact", "load_width"]
    assert bisect(*words, "--format", "json") == 0
    cause = json.loads(capsys.readouterr().out)["cause"]
    assert cause["bad"] == str(edited)
    assert cause["values"] == [16, 2]
    assert (cause["layer"], cause["step"]) == ("middle", "ttir -> ttgir")
    assert cause["pass"]["name"] == "tritongpu-coalesce"
    assert cause["pass"]["options"][1] == "not run"
    swaps = {
        cut["stage"]: (cut["good_to_bad"]["value"], cut["bad_to_good"]["value"]) for cut in cause["swaps"]
    }
    assert swaps["ttir"] == ("2", "16")
    assert swaps["ttgir"] == ("16", "2")
    assert any("tl.load" in line["text"] for line in cause["changes"]["python"])

    report = tmp_path / "issue.md"
    assert bisect(*words, "--format", "markdown", "-o", report) == 0
    assert "everything from the cache" in report.read_text()
    assert "| ttgir | 16 | 2 |" in report.read_text()
    assert "tritongpu-coalesce" in report.read_text()


@pytest.mark.slow
def test_a_flag_of_llvm_is_attributed_to_llvm(capsys, monkeypatch):
    assert bisect(*ADD, "--env-bad", "DISABLE_LLVM_OPT=1", "--fact", "instructions") == 0
    text = capsys.readouterr().out
    assert "Layer: LLVM" in text
    assert "DISABLE_LLVM_OPT=1 is the first bad one" in text
    assert "Lines of llir that changed" in text
    monkeypatch.setattr(changes, "_MOST_LINES", 1)
    assert bisect(*ADD, "--env-bad", "DISABLE_LLVM_OPT=1", "--fact", "instructions") == 0
    text = capsys.readouterr().out
    assert "The changed lines are not shown: the llir of both sides is too large to compare." in text
    assert "that changed" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "fact", "step"),
    [
        ("TRITON_DEFAULT_FP_FUSION=0", "instructions", ("LLVM", "llir -> ptx")),
        ("PTXAS_OPTIONS=-O0", "registers", ("ptxas", "ptx -> cubin")),
    ],
)
def test_a_variable_that_triton_reads_as_an_option_stays_on_its_side(tmp_path, capsys, variable, fact, step):
    file = tmp_path / "products.py"
    file.write_text(PRODUCTS)
    words = [f"{file}::products", "--signature", "*fp32:16, *fp32:16, *fp32:16, i32", "--format", "json"]
    assert bisect(*words, "--env-bad", variable, "--fact", fact) == 0
    cause = json.loads(capsys.readouterr().out)["cause"]
    assert (cause["layer"], cause["step"]) == step
    good, bad = map(str, cause["values"])
    values = [(cut["good_to_bad"]["value"], cut["bad_to_good"]["value"]) for cut in cause["swaps"]]
    assert values[:4] == [(bad, good)] * 4  # from the source to LLVM IR
    assert values[-1] == (good, bad)


@pytest.mark.slow
def test_a_bisection_that_is_ended_prints_what_it_has_found(tmp_path):
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "IRSCOPE_CACHE": str(cache), "TMPDIR": str(temporary)}
    words = ["bisect", *ADD, "--env-bad", "DISABLE_LLVM_OPT=1", "--fact", "instructions", "--format", "json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert process.stderr is not None
    assert any("swapping" in line for line in process.stderr)
    for _ in range(2):  # as timeout(1) does
        process.send_signal(signal.SIGTERM)
    found = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 128 + signal.SIGTERM
    assert found["interrupted"] == "SIGTERM"
    assert found["conclusion"][0].startswith("Interrupted by SIGTERM")
    assert [version["problem"] for version in found["versions"]] == [None, None]
    assert len(found["worse"]) == 1
    until = time.monotonic() + 30
    while list(temporary.glob("irscope-*")) and time.monotonic() < until:
        time.sleep(0.1)
    assert list(temporary.glob("irscope-*")) == []
    assert list(cache.rglob("*.part*")) == []


def test_nothing_worse_is_said_and_has_its_exit_code(capsys):
    assert bisect(*ADD, "--env-bad", "UNUSED=1", "--check", "n_spills == 0") == 1
    assert "did not get worse" in capsys.readouterr().out


BROKEN = KERNEL.replace("scale(tl", "scale((tl")
MORE = HELPERS.replace("x * 2.0", "tl.exp(x) * tl.sin(x)")


def make_project(folder, *commits):
    """A repository with a commit per (message, text of the kernel, text of its helpers)."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for message, kernel, helpers in commits:
        (folder / "kernel.py").write_text(kernel)
        (folder / "helpers.py").write_text(helpers)
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", message)
    return folder


def over_commits(project, count, capsys):
    """Bisects the last commits of a project, whose files and worktrees must stay as they are."""
    (project / "kernel.py").write_text("edited, not committed\n")
    before = git(project, "status", "--porcelain"), git(project, "worktree", "list")
    words = [project / "kernel.py::scale_kernel", "--signature", "*fp32:16,*fp32:16,i32"]
    words += ["--git", f"HEAD~{count}..HEAD", "--fact", "instructions", "--format", "json"]
    assert bisect(*words) == 0
    assert (git(project, "status", "--porcelain"), git(project, "worktree", "list")) == before
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_the_first_bad_commit_and_its_edit_are_named(tmp_path, capsys):
    project = make_project(
        tmp_path / "project",
        ("Add a kernel", KERNEL, HELPERS),
        ("Break it", BROKEN, HELPERS),
        ("Mend it", KERNEL, HELPERS),
        ("Scale by more", KERNEL, MORE),
        ("Note", KERNEL + "# note\n", MORE),
    )
    found = over_commits(project, 4, capsys)
    assert found["commits"]["first_bad"]["subject"] == "Scale by more"
    assert found["commits"]["good"]["subject"] == "Mend it"
    (edit,) = found["source"]["edits"]
    assert (edit["function"], edit["file"]) == ("scale", "helpers.py")
    assert "tl.exp(x)" in edit["text"]


@pytest.mark.slow
def test_commits_that_do_not_compile_leave_candidates(tmp_path, capsys):
    project = make_project(
        tmp_path / "project",
        ("Add a kernel", KERNEL, HELPERS),
        ("Break it", BROKEN, HELPERS),
        ("Scale by more", KERNEL, MORE),
    )
    found = over_commits(project, 2, capsys)
    assert found["commits"]["first_bad"] is None
    assert {commit["subject"] for commit in found["commits"]["candidates"]} == {"Break it", "Scale by more"}
    assert [one["problem"] is None for one in found["commits"]["tested"]] == [True, True, False]
    assert any("unknown, one of" in line for line in found["conclusion"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--fact", "registers"], "--triton GOOD..BAD or --git GOOD..BAD"),
        (["--fact", "speed", "--triton", "3.8.0..3.9.0"], "no fact 'speed'"),
        (["--triton", "3.8.0..3.9.0"], "either --fact or --check"),
        (["--fact", "registers", "--triton", "/nowhere,/nowhere"], "/nowhere: neither a Python"),
        (["--fact", "registers", "--git", "HEAD"], "write GOOD..BAD"),
    ],
)
def test_wrong_use_is_one_line(words, problem, capsys):
    assert bisect(*ADD, *words) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert problem in error
