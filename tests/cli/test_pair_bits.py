"""diff, why and verdict say whether two variants compute the same bits, and --fail-on bits fails if not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.model import Failure
from irscope.workspace import Workspace
from irscope.workspace.gate import gate_pair
from tests.cli.conftest import Run

SAME = "A and B compute the same bits for M=256, N=256, K=256"
FUSED = "Results of line 47 (result = left * a + tl.load(y + offsets, mask=mask)): "
LAUNCH = "grid=(cdiv(n, BLOCK),), n=4096"


def pair_of(capture: Path, kernel: str) -> tuple[str, str]:
    with Workspace(capture) as workspace:
        a, b, *_ = workspace.select(kernel)
    return f"#{a.id}", f"#{b.id}"


def test_diff_begins_with_the_results_that_change(irscope: Run, bits_capture: Path):
    text = irscope("diff", bits_capture, *pair_of(bits_capture, "axpy"), "--stage", "none").stdout
    findings = text.partition("Findings\n")[2].partition("\n\n")[0].splitlines()
    assert findings[0].strip().startswith(f"1. {FUSED}")
    assert not any("Products and sums" in line for line in findings), "the first one explains it"
    same = irscope("diff", bits_capture, *pair_of(bits_capture, "matmul"), "--stage", "none").stdout
    assert f"   {SAME}\n\nFindings" in same and "Results" not in same


def test_why_says_that_a_constant_changes_results(irscope: Run, bits_capture: Path):
    text = irscope("why", bits_capture, *pair_of(bits_capture, "axpy")).stdout
    assert "enable_fp_fusion: True -> False" in text and f"\n  1. {FUSED}" in text
    assert f"\n  {SAME}\n" in irscope("why", bits_capture, *pair_of(bits_capture, "matmul")).stdout


def test_a_verdict_has_a_point_for_it(irscope: Run, bits_capture: Path):
    a, b = pair_of(bits_capture, "axpy")
    assert f"\n  1. {FUSED}" in irscope("verdict", bits_capture, b, "--against", a).stdout
    a, b = pair_of(bits_capture, "matmul")
    assert f"\n  {SAME}\n  1. " in irscope("verdict", bits_capture, b, "--against", a).stdout


def test_json_has_the_reasons(irscope: Run, bits_capture: Path):
    a, b = pair_of(bits_capture, "axpy")
    verdict = json.loads(irscope("verdict", bits_capture, b, "--against", a, "--format", "json").stdout)
    documents = [
        json.loads(irscope("diff", bits_capture, a, b, "--format", "json").stdout),
        json.loads(irscope("why", bits_capture, a, b, "--format", "json").stdout),
        verdict["verdicts"][0]["against"],
    ]
    for bits in (document["bits"] for document in documents):
        (reason,) = bits["reasons"]
        assert (bits["same"], bits["launch"], bits["repeatable"]) == (False, "n=1000, a=2.5", [True, True])
        assert (reason["kind"], reason["stage"], reason["source_line"]) == ("fusion", "ttgir", 47)
        assert reason["line"] == documents[0]["findings"][0]["evidence_a"][0]["line"] and reason["text"]
    assert documents[0]["findings"][0]["kind"] == "bits"


def test_a_launch_on_the_command_line(irscope: Run, bits_capture: Path):
    a, b = pair_of(bits_capture, "row_sum")
    launch = "grid=(4,), N=256, x=[4, N], out=[4]"
    done = irscope("why", bits_capture, a, b, "--launch", launch, "--format", "json")
    assert json.loads(done.stdout)["bits"]["launch"] == "N=256"
    wrong = irscope("diff", bits_capture, a, b, "--launch", "grid=(4,)")
    assert wrong.returncode == 2 and "give the value of N" in wrong.stderr


def test_what_nobody_asked_or_knows(bits_capture: Path):
    with Workspace(bits_capture) as workspace:
        first, second, *_ = workspace.select("row_sum")
        assert workspace.compare(first, first).bits is None
        unlaunched = workspace.compare(first, replace(second, launches=()))
        assert unlaunched.bits is None and "--launch" in unlaunched.bits_hint
        assert not unlaunched.bits_text and all(finding.kind != "bits" for finding in unlaunched.findings)
        assert gate_pair(unlaunched, ["bits"]).violations[0].text.startswith("unknown: NEW was not launched")
        failed = workspace.compare(first, replace(second, failure=Failure("CompilationError", "bad", "")))
        assert failed.bits is None and not failed.bits_hint
        lost = workspace.compare(first, replace(second, artifacts={}))
        assert lost.bits is not None and lost.bits.same is None
        assert "is unknown: B: the capture has no ttgir of it" in lost.bits_text
        assert gate_pair(lost, ["bits"]).violations[0].text == f"unknown: {lost.bits.unknown}"
        unknown = workspace.compare(replace(first, artifacts={}), replace(second, artifacts={}))
        gate = gate_pair(unknown, ["bits"])
        assert not gate.violations and gate.failed
        assert gate.problems == ("bits: unknown for 1 variant, as in OLD: the capture has no ttgir of it",)
        renamed = [replace(a, name="M") if a.name == "N" else a for a in second.specialization]
        other = workspace.compare(first, replace(second, specialization=tuple(renamed)))
        assert other.bits is not None and other.bits.unknown == "their arguments at run time differ: M, N"


def test_only_pairs_with_launches_import_the_interpreter(bits_capture: Path):
    script = (
        "import sys; from irscope.cli.main import main; code = main(sys.argv[1:]); "
        "sys.exit(code or 10 + any(name.startswith('irscope.interpreting') for name in sys.modules))"
    )

    def imports(*words: object) -> int:
        command = [sys.executable, "-c", script, *map(str, words)]
        return subprocess.run(command, check=False, capture_output=True).returncode

    assert imports("diff", bits_capture, *pair_of(bits_capture, "matmul")) == 11
    assert imports("diff", bits_capture, "#1", "#1") == 10


SOURCE = """
import triton
import triton.language as tl


@triton.jit
def add_root(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    root = tl.sqrt(tl.load(x + offsets))
    tl.store(out + offsets, root + tl.load(y + offsets))
"""


@pytest.mark.slow
def test_a_gate_of_two_captures(irscope: Run, tmp_path: Path):
    edits = {
        "old": SOURCE,
        "same": SOURCE.replace("root + tl.load(y + offsets)", "tl.load(y + offsets) + root"),
        "other": SOURCE.replace("tl.sqrt(", "tl.sqrt_rn("),
        "fused": SOURCE.replace("    tl.store", "    root = root * 1.7 + offsets\n    tl.store"),
    }
    for name, source in edits.items():
        (tmp_path / "kernels.py").write_text(source)
        words = ["--signature", "*fp32:16, *fp32:16, *fp32:16, i32", "--config", "BLOCK=512,1024"]
        done = irscope("compile", "kernels.py", *words, "-o", f"{name}.irscope", process=True)
        assert done.returncode == 0, done.stderr
    done = irscope("diff", "old.irscope", "other.irscope", "--fail-on", "bits")
    assert done.returncode == 1
    assert "bits: unknown for 2 variants, as in OLD: no launch is known" in done.stdout
    gate = ("--fail-on", "bits", "--launch", LAUNCH)
    assert irscope("diff", "old.irscope", "same.irscope", *gate).returncode == 0
    # NEW has another statement in the line of OLD that decides.
    done = irscope("diff", "fused.irscope", "old.irscope", *gate)
    assert "Results of line 10 of A (root = root * 1.7 + offsets): A fuses a * b + c" in done.stdout
    for form in ("text", "json", "github", "junit", "sarif", "markdown"):
        done = irscope("diff", "old.irscope", "other.irscope", *gate, "--format", form)
        assert done.returncode == 1, form
        assert "Results of line 9 (root = tl.sqrt_rn(" in done.stdout.replace("\\", ""), form
