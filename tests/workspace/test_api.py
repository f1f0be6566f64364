"""The public Python API: the names of `import irscope`, and queries of an open capture."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import irscope
from irscope import api
from tests.document.reports import hostile, sweep

# Names for production come from a module of their own, without the rest of the API.
NAMES = sorted([*api.__all__, "ColdStart", "ColdStartError", "expect_warm"])
STAGES = Path(__file__).parents[1] / "data" / "stages"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("api") / "matmul.irscope")


def test_the_module_shows_the_public_names_only():
    assert dir(irscope) == NAMES == sorted(irscope.__all__)
    for name in NAMES:
        assert getattr(irscope, name).__doc__, f"{name} has no docstring"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = irscope.nonsense


def test_public_functions_have_typed_signatures():
    for function in (irscope.open, irscope.capture, irscope.compile):
        hints = typing.get_type_hints(function, vars(sys.modules["irscope.api"]) | vars(typing))
        assert set(inspect.signature(function).parameters) <= set(hints)
        assert typing.Any not in hints.values()


def test_importing_irscope_imports_nothing_heavy():
    code = (
        "import sys, irscope; dir(irscope); "
        "print([m for m in ('sqlite3', 'triton', 'torch', 'textual', 'rich') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_capture_answers_what_the_readme_shows(path: Path):
    with irscope.open(path) as capture:
        a, b = capture.variant("#1"), capture.variant("BLOCK_M=128,num_warps=8")
        assert isinstance(a, irscope.Variant)
        assert [variant.id for variant in capture.variants] == [1, 2, 3, 4, 5]
        assert capture.facts(b)["load_width"].value == capture.facts(capture.variant(3))["load_width"].value
        assert capture.text(a, "ttgir").startswith("#blocked")
        pair = capture.compare(a, b)
        assert pair.findings
        assert all(isinstance(finding, irscope.Finding) for finding in pair.findings)
        assert list(pair.stages) == ["ttir", "ttgir", "ptx"]
        assert pair.stages["ttgir"].counts
        assert pair.divergence is None, "the passes were not recorded"
        assert pair.config_changes == [("BLOCK_M", "64", "128"), ("num_warps", "4", "8")]


def test_wrong_names_are_one_line(path: Path, tmp_path: Path):
    with irscope.open(path) as capture:
        with pytest.raises(irscope.UserError, match="no variant #9"):
            capture.variant(9)
        with pytest.raises(irscope.UserError, match="it has: matmul_kernel"):
            capture.table(kernel="nonsense")
        with pytest.raises(irscope.UserError, match="has no sass"):
            capture.text(capture.variant(1), "sass")
    with pytest.raises(irscope.UserError, match="cannot be read"):
        irscope.open(tmp_path / "missing.irscope")


def test_the_table_is_plain_rows(path: Path):
    with irscope.open(path) as capture:
        rows = capture.table()
        facts = capture.all_facts()
    assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["BLOCK_M"] for row in rows] == [64, 128, 128, 256, 96]
    assert rows[0]["shared"] == facts[1]["shared"].value == 24_576
    assert rows[3]["problem"]
    assert rows[4]["problem"]
    assert all(isinstance(value, int | float | str | None) for row in rows for value in row.values())
    assert list(rows[0]) == list(rows[1]), "equal columns in every row of a kernel"


def test_a_config_value_with_a_facts_name_keeps_both(tmp_path: Path):
    from irscope.model import Config, SourceFunction
    from irscope.store import CaptureWriter, NewVariant
    from irscope.targets import parse_target

    with CaptureWriter.create(tmp_path / "x.irscope") as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "")
        kernel = writer.add_kernel(SourceFunction("k", "k.py", 1, "def k(): ..."), (), ())
        config = Config((("shared", 7), ("id", 8)))
        new = NewVariant(parse_target("cuda:90"), (), config, metadata={"shared": 64, "num_warps": 4})
        writer.add_variant(kernel, toolchain, "3.9.0", new)
    with irscope.open(tmp_path / "x.irscope") as capture:
        (row,) = capture.table()
    assert (row["shared"], row["config.shared"], row["id"], row["config.id"]) == (64, 7, 1, 8)


def test_a_notebook_shows_the_table(path: Path):
    with irscope.open(path) as capture:
        html = capture._repr_html_()
        assert repr(capture) == f"<irscope.Capture '{path}': 5 variants>"
        assert "#1 BLOCK_M=64" in repr(capture.compare(capture.variant(1), capture.variant(2)))
    assert html.count("<tr>") == 6
    assert "<td><b>" in html, "the best values are bold"
    assert "matmul_kernel" in html


def test_results_are_computed_once(path: Path):
    with irscope.open(path) as capture:
        a, b = capture.variants[:2]
        assert capture.document(a, "ttgir") is capture.document(a, "ttgir")
        assert capture.compare(a, b).stages["ttgir"] is capture.compare(a, b).stages["ttgir"]
        assert capture.facts(a) is capture.facts(a)


def test_type_checkers_see_the_types(tmp_path: Path):
    pytest.importorskip("mypy")
    file = tmp_path / "user.py"
    file.write_text(
        "import irscope\n"
        "with irscope.open('x.irscope') as capture:\n"
        "    reveal_type(capture)\n"
        "    pair = capture.compare(capture.variants[0], capture.variant('#2'))\n"
        "    reveal_type(pair.findings)\n"
        "    reveal_type(capture.table())\n"
        "    reveal_type(capture.text(pair.a, 'ttgir'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "--no-error-summary", file],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    revealed = [line.split("Revealed type is ")[1] for line in done.stdout.splitlines() if "Revealed" in line]
    assert revealed == [
        '"irscope.api.Capture"',
        '"tuple[irscope.findings.finding.Finding, ...]"',
        '"list[dict[str, int | float | str | None]]"',
        '"str"',
    ], done.stdout


def test_stages_with_equal_texts_stay_distinct(tmp_path: Path):
    with irscope.open(hostile(tmp_path / "x.irscope")) as capture:
        a, b = capture.variants[:2]
        assert a.artifacts["ttgir"].digest == a.artifacts["llir"].digest
        pair = capture.compare(a, b)
        assert [diff.stage for diff in pair.stages.values()] == ["ttgir", "llir"]
        assert capture.document(a, "llir").language != capture.document(a, "ttgir").language


def test_the_diff_of_a_large_stage_has_its_operations(tmp_path: Path):
    from irscope.model import Config, SourceFunction
    from irscope.store import CaptureWriter, NewVariant
    from irscope.targets import parse_target

    path = tmp_path / "add.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "")
        kernel = writer.add_kernel(SourceFunction("add_kernel", "add.py", 1, "def add_kernel(): ..."), (), ())
        for block in (256, 1024):
            name = f"add_kernel.cuda-90.BLOCK_SIZE={block},num_warps=4.triton-3.9.0.llir"
            artifacts = {"llir": (STAGES / name).read_bytes()}
            config = Config((("BLOCK_SIZE", block),))
            new = NewVariant(parse_target("cuda:90"), (), config, artifacts=artifacts)
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    with irscope.open(path) as capture:
        pair = capture.compare(*capture.variants)
        assert pair.first_difference, "held without the operations"
        diff = pair.stages["llir"]
        assert diff.left.operations
        assert diff.right.operations
