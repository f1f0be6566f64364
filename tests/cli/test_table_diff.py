"""`irscope table` and `irscope diff` as a user runs them."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest


def test_table_in_a_pipe_has_every_known_fact(irscope, capture):
    done = irscope("table", capture)
    assert done.returncode == 0
    assert "omitted" not in done.stdout and "\x1b" not in done.stdout
    assert "#4 failed: CompilationError: arange's range \u241b[31mbad" in done.stdout
    for heading in ("BLOCK", "Shared", "Layouts", "Threads"):
        assert heading in done.stdout


@pytest.mark.parametrize("width", [40, 80, 200])
def test_table_fits_the_width(irscope, capture, width):
    lines = irscope("table", capture, "--width", width).stdout.splitlines()
    table = [line for line in lines if line.lstrip().startswith("#") or "\u2500" in line]
    assert len(table) >= 5 and max(map(len, table[:5])) <= width


def test_table_columns_and_sort(irscope, capture):
    done = irscope("table", capture, "--columns", "registers,shared", "--sort", "BLOCK", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4"]
    facts = list(rows[0])[list(rows[0]).index("num_stages") + 1 :]
    assert facts == ["registers", "stack", "n_spills", "shared", "problem", "same_code_as"]


def test_a_table_without_estimates_says_why(irscope, capture):
    done = irscope("table", capture, "--estimate")
    assert done.returncode == 0 and "#1" in done.stdout
    assert "no estimates: no launches were recorded" in done.stderr
    assert "no estimates" not in irscope("table", capture).stderr


def test_table_as_json(irscope, capture):
    document = json.loads(irscope("table", capture, "--format", "json").stdout)
    assert document["schema"] == "irscope.table/1"
    assert document["variants"][0]["facts"]["registers"] is None, "no cubin to read: unknown, not 0"
    assert document["variants"][0]["facts"]["shared"] == 0


def test_table_as_markdown(irscope, capture):
    assert irscope("table", capture, "--format", "markdown").stdout.startswith(
        "### `add_kernel` cuda:90\n\n| # |"
    )


def test_diff_shows_findings_before_stages_and_rows(irscope, capture):
    done = irscope("diff", capture, "#1", "#2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "A  #1 BLOCK=64,num_stages=3  add_kernel  cuda:90",
        "B  #2 BLOCK=128,num_stages=3  add_kernel  cuda:90",
        "   BLOCK 64 -> 128",
    ]
    headings = [line for line in lines if line in ("Findings", "Stages") or line.startswith("ttgir: ")]
    assert headings == ["Findings", "Stages", "ttgir: 18 and 18 lines"]
    assert any("0 added, 0 removed" in line for line in lines)
    assert any("#blocked sizePerThread [1] -> [2]" in line for line in lines)


def test_diff_of_two_targets_names_them(irscope, tmp_path):
    pytest.importorskip("triton")
    capture = tmp_path / "add.irscope"
    targets = ["--target", "cuda:80", "--target", "cuda:90", "--target", "hip:gfx942"]
    words = ["--config", "BLOCK_SIZE=256", "--config", "num_warps=2,4"]
    done = irscope("compile", "samples/vector_add", "-o", capture, *words, *targets)
    assert done.returncode == 0, done.stderr
    found = {}
    for line in irscope("list", capture).stdout.splitlines()[1:]:
        name, config, target, _ = line.split(maxsplit=3)
        found[target, "num_warps=2" in config] = name
    for a, b in (("cuda:80", "cuda:90"), ("cuda:90", "hip:gfx942")):
        for warps, config in ((True, "identical configs"), (False, "num_warps 4 -> 2")):
            lines = irscope("diff", capture, found[a, warps], found[b, True], "--stage", "none").stdout
            assert lines.split("\n")[2] == f"   {config}; A and B are for different targets: {a} and {b}"
    same = irscope("diff", capture, found["cuda:90", False], found["cuda:90", True], "--stage", "none")
    assert same.stdout.split("\n")[2] == "   num_warps 4 -> 2"


def test_diff_layouts(irscope, capture):
    narrow = irscope("diff", capture, "#1", "#2", "--width", "139").stdout
    wide = irscope("diff", capture, "#1", "#2", "--width", "140").stdout
    assert "@@" in narrow and "\u2502" not in narrow
    assert "\u2502" in wide and "@@" not in wide
    assert irscope("diff", capture, "#1", "#2", "--format", "unified").stdout.startswith("--- #1 BLOCK=64")
    assert "```diff" in irscope("diff", capture, "#1", "#2", "--format", "markdown").stdout


def test_diff_of_equal_stages(irscope, capture):
    done = irscope("diff", capture, "#2", "#3")
    assert "ttgir  equal" in done.stdout
    assert "@@" not in done.stdout
    assert "equal except for names" in irscope("diff", capture, "#2", "#3", "--stage", "ttgir").stdout


def test_diff_with_a_failure_says_so(irscope, capture):
    done = irscope("diff", capture, "#1", "#4")
    assert done.returncode == 0
    assert "B did not compile: CompilationError" in done.stdout
    assert "A and B have no text stage in common" in done.stdout


def test_diff_as_json(irscope, capture):
    document = json.loads(irscope("diff", capture, "#1", "#2", "--stage", "all", "--format", "json").stdout)
    assert document["schema"] == "irscope.diff/2"
    assert [stage["stage"] for stage in document["stages"]] == ["ttgir"]
    assert document["stages"][0]["rows"]


def test_a_read_only_capture_is_shown(irscope, capture, tmp_path):
    folder = tmp_path / "readonly"
    folder.mkdir()
    copy = shutil.copy(capture, folder / "add.irscope")
    (folder / "add.irscope").chmod(0o444)
    folder.chmod(0o555)
    try:
        assert irscope("table", copy).returncode == 0
        assert irscope("diff", copy, "#1", "#2").returncode == 0
    finally:
        folder.chmod(0o755)


def test_viewing_leaves_no_file_next_to_the_capture(irscope, capture, tmp_path):
    before = capture.read_bytes()
    for words in (["list"], ["table"], ["show", "#1"], ["diff", "#1", "#2"]):
        irscope(words[0], capture, *words[1:])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["add.irscope"]
    assert capture.read_bytes() == before
