"""The version of the compiler in a capture: summary, names, table, first pair, timeline."""

import json

import pytest

from irscope.document.json.capture import versions_document
from irscope.document.terminal.document_text import text_lines
from irscope.document.terminal.list_text import list_text
from irscope.document.variant_content import versions_content
from irscope.model import Argument, Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.tui.table_model import matching
from irscope.workspace import Workspace
from irscope.workspace.charts import axes
from irscope.workspace.compiler_version import CompilerVersion, compiler_version
from irscope.workspace.fact_table import FactTable
from irscope.workspace.opening import opening_pair
from irscope.workspace.table import TableSection
from irscope.workspace.timeline import Timeline, version_summaries
from tests.cli.conftest import TTGIR
from tests.tables import columns_of

KERNEL = SourceFunction("add_kernel", "add.py", 3, "def add_kernel(x, BLOCK: tl.constexpr):\n    pass\n")


def library(version):
    """A function of Triton's own library, as one of its versions has it."""
    file = f"/env/{version}/triton/language/standard.py"
    return SourceFunction("sum", file, int(version[2]), f"def sum(x):\n    return x  # {version}\n")


def metadata(shared):
    return {"shared": shared, "num_warps": 4, "name": "add_kernel"}


@pytest.fixture
def capture(tmp_path):
    """Two configs under Triton 3.8.0, 3.9.0 and 3.10.0, and under 3.9.0 with ptxas 12.9.

    From 3.9.0 on, both have wider layouts and more shared memory; 3.10.0 does not compile BLOCK=128.
    """
    path = tmp_path / "v.irscope"
    with CaptureWriter.create(path) as writer:
        for triton, ptxas in (("3.10.0", ""), ("3.8.0", ""), ("3.9.0", ""), ("3.9.0", "12.9.86")):
            toolchain = writer.add_toolchain({"triton": triton}, "irscope versions")
            kernel = writer.add_kernel(KERNEL, (library(triton),), ("x", "BLOCK"))
            for block in (64, 128):
                old = triton == "3.8.0"
                failed = triton == "3.10.0" and block == 128
                new = NewVariant(
                    parse_target("cuda:90"),
                    (Argument("x", "*fp32", "D"), Argument("BLOCK", "constexpr", None, block)),
                    Config((("BLOCK", block), ("num_warps", 4))),
                    failure=Failure("CompilationError", "no such op", "no such op") if failed else None,
                    metadata=metadata(0 if old else 1024 * block),
                    cache_key={"environment ptxas": ptxas} if ptxas else {},
                    artifacts={}
                    if failed
                    else {"ttgir": TTGIR.format(block=block, per=1 if old else 2).encode()},
                )
                writer.add_variant(kernel, toolchain, triton, new)
    with Workspace(path) as workspace:
        yield workspace


def test_versions_sort_by_number(capture):
    versions = sorted({compiler_version(variant) for variant in capture.variants})
    assert [str(version) for version in versions] == [
        "Triton 3.8.0", "Triton 3.9.0", "Triton 3.9.0, ptxas 12.9.86", "Triton 3.10.0",
    ]  # fmt: skip
    assert isinstance(versions[0], CompilerVersion)


def test_the_summary_names_the_version_that_made_a_fact_worse(capture):
    (summary,) = version_summaries(capture)
    steps = {step.heading: step for step in summary.steps}
    assert list(steps) == [
        "Triton 3.8.0 -> 3.9.0",
        "Triton 3.9.0 -> 3.10.0",
        "Triton 3.9.0: ptxas own -> 12.9.86",
    ]
    worse = {each.name: each.text(2) for each in steps["Triton 3.8.0 -> 3.9.0"].movements if each.worse}
    assert worse["shared"].startswith("Shared 0 -> 131,072 bytes at most (#4 -> #6), in 2 of 2 configs")
    assert steps["Triton 3.8.0 -> 3.9.0"].stages == {"ttgir": 2}
    failed = steps["Triton 3.9.0 -> 3.10.0"].movements
    assert [each.text(2) for each in failed] == ["does not compile: no such op in 1 of 2 configs"]
    assert steps["Triton 3.9.0: ptxas own -> 12.9.86"].movements == ()


def test_text_and_json_have_every_step(capture):
    summaries = version_summaries(capture)
    lines = "\n".join(text_lines(versions_content(summaries, [[]])))
    assert "Triton 3.8.0 -> 3.9.0  2 of 2 configs worse" in lines
    assert "first real difference: ttgir in 2" in lines
    document = json.loads(json.dumps(versions_document(summaries, [[]], "v.irscope", ["triton 9: no"])))
    (kernel,) = document["kernels"]
    assert document["unavailable"] == ["triton 9: no"]
    assert [version["triton"] for version in kernel["versions"]] == ["3.8.0", "3.9.0", "3.9.0", "3.10.0"]
    shared = next(each for each in kernel["steps"][0]["worse"] if each["fact"] == "shared")
    assert shared["pairs"][0] == {"old": 4, "new": 6, "from": 0, "to": 131072}


def test_another_version_of_tritons_library_is_no_edit(capture):
    assert {capture.live.age(variant) for variant in capture.variants} == {""}
    lines = "".join(list_text(capture.variants, capture.names, None)).splitlines()
    assert [line for line in lines if line.startswith("add_kernel")] == [
        "add_kernel  8 variants, 1 failed  add.py:3"
    ]


def test_the_version_is_in_names_columns_and_differences(capture):
    assert capture.names[3] == "BLOCK=64,triton=3.8.0"
    assert capture.names[7] == "BLOCK=64,triton=3.9.0,ptxas=12.9.86"
    (section,) = capture.sections(sort="triton")
    assert [column.name for column in section.configs] == ["BLOCK", "triton", "ptxas"]
    assert (
        capture.compare(capture.live.by_id(3), capture.live.by_id(7)).config_text
        == "triton 3.8.0 -> 3.9.0, ptxas unset -> 12.9.86"
    )
    assert capture.table()[0]["triton"] == "3.10.0"


def test_the_first_pair_is_one_config_under_two_versions(capture):
    facts = FactTable()
    for variant in capture.variants:
        facts.add(variant, capture.facts(variant))
    a, b = opening_pair(capture.variants, facts)
    assert a.config == b.config and (compiler_version(a).triton, compiler_version(b).triton) == (
        "3.8.0",
        "3.9.0",
    )


def test_the_timeline_steps_through_versions(capture):
    timeline = Timeline(capture, capture.live.by_id(3))
    step = timeline.step(capture.live.by_id(3), capture.live.by_id(3), 1)
    assert "Shared" in step.changes and "edited" not in step.label


def test_the_filter_of_the_table_finds_a_version(capture):
    facts, variants = FactTable(), capture.variants
    section = TableSection(variants, facts, columns_of(variants, [], facts))
    assert [v.id for v in matching("triton=3.8.0", section, variants)] == [3, 4]
    assert [v.id for v in matching("ptxas=12.9.86 BLOCK=64", section, variants)] == [7]


def test_a_chart_can_have_the_version_as_its_axis(capture):
    assert {"triton", "ptxas"} <= axes(capture.variants).keys()
