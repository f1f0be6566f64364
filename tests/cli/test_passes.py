"""`irscope passes`, and passes in `diff` and `why`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irscope.cli.main import main
from tests import recorded_passes


@pytest.fixture
def scale(tmp_path: Path) -> str:
    return str(recorded_passes.write(tmp_path / "scale.irscope"))


@pytest.fixture
def irscope(capsys: pytest.CaptureFixture[str]):
    """The exit code, the lines on stdout, and stderr."""

    def call(*words: str) -> tuple[int, list[str], str]:
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out.splitlines(), err

    return call


def test_each_pass_is_a_line_in_order(irscope, scale):
    code, lines, _ = irscope("passes", scale, "#1")
    assert code == 0
    assert lines[0].startswith("A  #1 ")
    assert lines[1] == "   10 passes, 8 changed the module, 0.06 s"
    table = [line.split(maxsplit=4) for line in lines[4:]]
    assert [row[0] for row in table] == [str(number) for number in range(1, 11)]
    assert table[0] == ["1", "ttir", "inline", "1.00", "-1 tt.call"]
    assert table[1] == ["2", "ttir", "canonicalize", "2.00", "="]
    assert table[3][4] == "#blocked sizePerThread [1] -> [4]"


def test_passes_are_selected_by_change_name_and_source_line(irscope, scale):
    def names(*words: str) -> list[str]:
        _, lines, _ = irscope("passes", scale, "#1", *words)
        return [line.split()[2] for line in lines[4:]]

    assert "canonicalize" not in names("--changed")
    assert names("--name", "tritongpu-*") == [
        "tritongpu-coalesce", "tritongpu-assign-latencies", "tritongpu-pipeline",
    ]  # fmt: skip
    assert "tritongpu-pipeline" in names("--line", "5")
    assert "tritongpu-pipeline" not in names("--line", "6")
    _, lines, _ = irscope("passes", scale, "#1", "--line", "999")
    assert lines[-1].strip() == "none"


def test_two_variants_diverge_in_the_pass_that_num_stages_affects(irscope, scale):
    code, lines, _ = irscope("passes", scale, "#1", "#2")
    assert code == 0
    start = lines.index("Where they diverge")
    assert lines[start + 1].startswith("  operations  in pass tritongpu-pipeline (ttgir): 2 added")
    assert lines[start + 2].endswith(
        "A  tritongpu-pipeline (num-stages=2): +2 ttg.async_copy_global_to_local"
    )
    assert lines[start + 3].endswith(
        "B  tritongpu-pipeline (num-stages=4): +4 ttg.async_copy_global_to_local"
    )
    assert lines[start + 4] == "  layouts     equal in both"
    assert any("ms A" in line and "ms B" in line for line in lines)


def test_a_pass_is_shown_as_a_diff(irscope, scale):
    for name in ("tritongpu-coalesce", "4"):
        code, lines, _ = irscope("passes", scale, "#1", "--show", name)
        assert code == 0
        assert lines[0].startswith("4 tritongpu-coalesce (ttgir): 0 added, 0 removed, 1 layout")
        assert any(line.startswith("+#blocked") and "[4]" in line for line in lines)
    _, lines, _ = irscope("passes", scale, "#1", "--show", "canonicalize")
    assert lines == [
        "2 canonicalize (ttir): changed nothing", "7 canonicalize (ttgir): changed nothing",
    ]  # fmt: skip
    _, lines, _ = irscope("passes", scale, "#1", "--show", "llvm.to_module")
    assert lines == ["9 llvm.to_module (llir): no diff between mlir and llvm"]
    _, lines, _ = irscope("passes", scale, "#1", "#2", "--show", "tritongpu-pipeline")
    assert lines[0].startswith("6 tritongpu-pipeline (ttgir), A and B after it: 2 added")
    assert sum(line.startswith("+") for line in lines) == 2


def test_the_history_of_an_operation(irscope, scale):
    place = next(
        number
        for number, line in enumerate(recorded_passes.recorded()[7].content.decode().splitlines(), 1)
        if "async_copy" in line
    )
    _, lines, _ = irscope("passes", scale, "#1", "--operation", f"ttgir:{place}")
    assert len(lines) == 1
    assert lines[0].startswith("  6  ttgir  tritongpu-pipeline: added  %c0 = ttg.async_copy_global_to_local")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("#5",), "#5 has no passes"),
        (("#1", "#5"), "#5 has no passes"),
        (("#1", "--show", "coalesce"), "no pass 'coalesce'"),
        (("#1", "--show", "11"), "no pass '11'"),
        (("#1", "--operation", "ttgir"), "not STAGE:LINE"),
        (("#1", "--operation", "ptx:3"), "stages with passes: ttir, ttgir, llir"),
        (("#1", "--operation", "ttgir:9999"), "no pass created or changed an operation there"),
        (("#9",), "#9"),
    ],
)
def test_wrong_use_is_one_line(irscope, scale, words, message):
    code, lines, err = irscope("passes", scale, *words)
    assert (code, lines) == (2, [])
    assert message in err
    assert err.count("\n") == 1


def test_the_pass_that_failed_is_marked(irscope, scale):
    _, lines, _ = irscope("passes", scale, "#4")
    assert lines[-1].split() == ["6", "ttgir", "tritongpu-pipeline", "0.00", "failed"]


def test_json_has_everything(irscope, scale):
    _, lines, _ = irscope("passes", scale, "#1", "#2", "--format", "json")
    document = json.loads("\n".join(lines))
    assert document["schema"] == "irscope.passes/2"
    assert document["divergences"]["operations"]["name"] == "tritongpu-pipeline"
    assert document["divergences"]["operations"]["a"] == [6]
    assert document["divergences"]["layouts"] is None
    pipeline = document["passes"][5]["b"]
    assert pipeline == {
        "number": 6, "stage": "ttgir", "name": "tritongpu-pipeline", "options": "num-stages=4",
        "seconds": 0.006, "changed": True, "failed": False,
        "summary": "+4 ttg.async_copy_global_to_local",
    }  # fmt: skip
    _, lines, _ = irscope("passes", scale, "#1", "--line", "5", "--format", "json")
    document = json.loads("\n".join(lines))
    assert (document["b"], document["divergences"]) == (None, None)
    touched = {row["a"]["name"]: row["a"]["touched"] for row in document["passes"]}
    assert touched["tritongpu-pipeline"]["added"] == 2


def test_diff_and_why_name_the_pass(irscope, scale):
    where = "A and B first diverge in pass tritongpu-pipeline (ttgir): 2 added"
    for words in (("diff", scale, "#1", "#2", "--stage", "none"), ("why", scale, "#1", "#2")):
        _, lines, _ = irscope(*words)
        assert any(where in line for line in lines)
    _, lines, _ = irscope("diff", scale, "#1", "#5", "--stage", "none")
    assert not any("in pass" in line for line in lines)


def test_hostile_names_do_not_reach_the_terminal(irscope, tmp_path, monkeypatch):
    from irscope.store.new_variant import NewPass

    monkeypatch.setattr(
        recorded_passes,
        "recorded",
        lambda *_: (NewPass("ttgir", "\x1b[31mred\x9b2J", 0.1, b"\x1b[2J \xff"),) * 8,
    )
    path = str(recorded_passes.write(tmp_path / "hostile.irscope"))
    for words in ((), ("#2",), ("--show", "1")):
        _, lines, _ = irscope("passes", path, "#1", *words)
        assert "\x1b" not in "".join(lines)
        assert "\x9b" not in "".join(lines)
