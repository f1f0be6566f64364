"""`irscope check` and its pytest fixture as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from irscope.workspace import CheckRule, Workspace
from irscope.workspace.conditions import check


def test_expectations_that_hold_and_that_do_not(irscope, capture):
    done = irscope("check", capture, "--expect", "threads == 128 and shared == 0", "--variant", "#1")
    assert (done.returncode, done.stdout) == (0, "1 variant, 2 comparisons: all hold\n")
    done = irscope("check", capture, "--expect", "shared >= 1", "--variant", "#1")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "add_kernel #1 BLOCK=64,num_stages=3 cuda:90: expected shared >= 1, shared is 0",
        "1 of 1 variant failed, 1 of 1 comparison did not hold",
    ]


def test_an_expectation_on_an_unknown_fact_fails(irscope, capture):
    done = irscope("check", capture, "--expect", "registers >= 0")
    assert done.returncode == 1
    assert (
        "#1 BLOCK=64,num_stages=3 cuda:90: expected registers >= 0, registers is unknown: no stage"
        in done.stdout
    )
    assert "it did not compile: arange's range \u241b[31mbad" in done.stdout
    assert "4 of 4 variants failed" in done.stdout


def test_kernel_is_a_glob(irscope, capture):
    words = ("check", capture, "--expect", "threads > 0")
    assert "4 variants" in irscope(*words, "--kernel", "add_*").stdout
    done = irscope(*words, "--kernel", "mul_*")
    assert done.returncode == 2 and "the capture has: add_kernel cuda:90" in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "specify expectations with --expect or --file"),
        (["--expect", "spils == 0"], "no fact 'spils'; the facts are: "),
        (["--expect", "spills"], "is malformed at"),
        (["--file", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_wrong_use_is_one_line(irscope, capture, words, message):
    done = irscope("check", capture, *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_as_json(irscope, capture):
    done = irscope("check", capture, "--expect", "threads == 64", "--variant", "#1", "--format", "json")
    document = json.loads(done.stdout)
    assert document["schema"] == "irscope.check/1" and done.returncode == 1
    (failure,) = document["failures"]
    assert (failure["fact"], failure["value"], failure["variant"]["id"]) == ("threads", 128, 1)


def test_a_file_of_expectations(irscope, capture, tmp_path):
    (tmp_path / "e.toml").write_text(
        '[[expect]]\nkernel = "add_*"\nvariant = "#1"\nthat = ["threads == 128", "shared == 0"]\n'
        '[[expect]]\nthat = "threads == 1"\nvariant = "#2"\n'
    )
    done = irscope("check", capture, "--file", "e.toml")
    assert done.stdout.endswith("1 of 2 variants failed, 1 of 3 comparisons did not hold\n")


BAD_FILES = (
    "[[expect",
    "x = 1",
    "expect = 1",
    "expect = [1]",
    "[[expect]]\nthat = []",
    "[[expect]]\nthat = [1]",
    "[[expect]]\nthat = 'spills == 0'\nkernal = 'x'",
    "[[expect]]\nthat = 'spills == 0'\nkernel = 3",
)


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_bad_file_is_one_line(irscope, capture, tmp_path, text):
    (tmp_path / "e.toml").write_text(text)
    done = irscope("check", capture, "--file", "e.toml")
    assert (
        done.returncode == 2 and done.stderr.startswith("irscope: e.toml: ") and done.stderr.count("\n") == 1
    )


# The same bits.


def test_bits_of_a_matmul_are_those_of_any_config(irscope, bits_capture):
    words = ("check", bits_capture, "--kernel", "matmul", "--expect")
    done = irscope(*words, "bits == #1 and spills == 0")
    assert (done.returncode, done.stdout) == (0, "3 variants, 6 comparisons: all hold\n")
    done = irscope(*words, "bits = BM=128,BN=64,BK=64,num_warps=4")
    assert done.returncode == 0


def test_other_bits_fail_with_the_line_that_decides(irscope, bits_capture):
    words = ("check", bits_capture, "--kernel", "row_sum", "--expect", "bits == #4")
    done = irscope(*words)
    assert done.returncode == 1
    first, *_, total = done.stdout.splitlines()
    assert first.startswith(
        "row_sum #5 BLOCK=512,num_warps=8 cuda:90: expected bits == #4, the bits differ: at N=3000, A = #4, "
        "B = #5: line 38 (total += tl.sum(values, axis=0)): A adds "
    )
    assert total == "3 of 4 variants failed, 3 of 4 comparisons did not hold"
    failures = json.loads(irscope(*words, "--format", "json").stdout)["failures"]
    assert [(item["fact"], item["value"]) for item in failures] == [("bits", "other")] * 3
    assert "line 38" in failures[0]["reason"]
    assert "title=row_sum%3A bits == #4::#5 " in irscope(*words, "--format", "github").stdout


def test_bits_at_a_launch_that_a_user_writes(irscope, bits_capture, tmp_path):
    launch = "grid=(16,), N=16, x=[16, N]"
    words = ("check", bits_capture, "--kernel", "row_sum", "--expect", "bits == #4", "--launch", launch)
    assert irscope(*words).returncode == 0
    rule = f"[[expect]]\nthat = 'bits == #4'\nkernel = 'row_sum'\nlaunch = '{launch}'\n"
    (tmp_path / "e.toml").write_text(rule)
    assert irscope("check", bits_capture, "--file", "e.toml").returncode == 0


def test_unknown_and_unrepeatable_bits_fail_with_the_reason(irscope, bits_capture):
    done = irscope("check", bits_capture, "--kernel", "sum_below", "--expect", "bits == #10")
    assert (
        done.returncode == 1
        and "the bits are unknown: at x=int32[1], out=int32[1], the length of" in done.stdout
    )
    done = irscope("check", bits_capture, "--kernel", "add_all", "--expect", "bits == #12")
    assert (
        done.returncode == 1 and done.stdout.count("not even two launches of #12 compute the same bits") == 2
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bits != #4", "'bits != #4': write 'bits == #3', the same bits as a variant"),
        ("bits == #99", "no variant #99"),
    ],
)
def test_wrong_use_of_bits_is_one_line(irscope, bits_capture, text, message):
    done = irscope("check", bits_capture, "--kernel", "row_sum", "--expect", text)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_each_specialization_needs_a_variant_to_compare_with(bits_capture, monkeypatch):
    with Workspace(bits_capture) as workspace:
        first, second, *_ = workspace.select("row_sum")
        plain = tuple(replace(argument, key="") for argument in first.specialization)
        variants = (first, replace(second, specialization=plain))
        monkeypatch.setattr(Workspace, "variants", variants)
        monkeypatch.setattr(workspace.live, "by_id", {v.id: v for v in variants}.__getitem__)
        result = check(workspace, [CheckRule(("bits == #4",))])
        assert "the bits are unknown: no launch has both it and #4, since its" in result.lines[0]
        result = check(workspace, [CheckRule(("bits == #4", "bits == #5"))])
        assert result.lines == ["2 variants, 2 comparisons: all hold"]


def pytest_in(folder, *words):
    """Runs pytest with the plugin by name, whether or not this irscope's entry point is installed."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "irscope.pytest_plugin",
        "-p",
        "no:cacheprovider",
        *words,
    ]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip


def test_the_fixture(capture, tmp_path):
    (tmp_path / "test_kernels.py").write_text(
        "def test_good(irscope_check):\n"
        "    irscope_check('add.irscope', 'threads == 128', 'shared == 0', variant='#1')\n"
        "def test_bad(irscope_check):\n"
        "    irscope_check('add.irscope', 'threads == 64', kernel='add_*', variant='#1')\n"
        "def test_wrong(irscope_check):\n"
        "    irscope_check('add.irscope', 'spils == 0')\n"
        "def test_none(irscope_check):\n"
        "    irscope_check('add.irscope')\n"
        "def test_bits(irscope_check):\n"
        "    irscope_check('add.irscope', 'bits == #1', variant='#1', launch='grid=(1,)')\n"
    )
    done = pytest_in(tmp_path)
    assert "3 failed, 2 passed" in done.stdout, done.stdout
    assert "expected threads == 64, threads is 128" in done.stdout
    assert "no fact 'spils'" in done.stdout and "needs at least one expectation" in done.stdout


def test_the_plugin_loads_nothing_heavy(tmp_path):
    (tmp_path / "test_modules.py").write_text(
        "import sys\n"
        "def test_modules():\n"
        "    loaded = {name for name in sys.modules if name.startswith('irscope')}\n"
        "    assert loaded == {'irscope', 'irscope.pytest_plugin'}, loaded\n"
    )
    done = pytest_in(tmp_path)
    assert "1 passed" in done.stdout, done.stdout
