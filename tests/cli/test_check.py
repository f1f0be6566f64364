"""`irscope check` and its pytest fixture as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def test_what_holds_and_what_does_not(irscope, capture):
    done = irscope("check", capture, "--expect", "threads == 128 and shared == 0", "--variant", "#1")
    assert (done.returncode, done.stdout) == (0, "1 variant, 2 comparisons: all hold\n")
    done = irscope("check", capture, "--expect", "shared >= 1", "--variant", "#1")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "add_kernel #1 BLOCK=64,num_stages=3 cuda:90: expected shared >= 1, shared is 0",
        "1 of 1 variant failed, 1 of 1 comparison did not hold",
    ]


def test_the_unknown_fails_and_says_so(irscope, capture):
    done = irscope("check", capture, "--expect", "registers >= 0")
    assert done.returncode == 1
    assert (
        "#1 BLOCK=64,num_stages=3 cuda:90: expected registers >= 0, registers is unknown: no stage"
        in done.stdout
    )
    assert "it did not compile: arange's range \u241b[31mbad" in done.stdout
    assert "4 of 4 variants failed" in done.stdout


def test_kernels_are_chosen_by_glob(irscope, capture):
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
    )
    done = pytest_in(tmp_path)
    assert "3 failed, 1 passed" in done.stdout, done.stdout
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
