"""The diff of a kernel with two nested loops and the same kernel with both flattened into one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import irscope
from irscope.document.terminal.row_text import unified
from irscope.tui.page import Page
from irscope.tui.pair_state import PairState
from irscope.workspace import Comparison, Detail

FILE = Path(__file__).with_name("nested_loop_kernels.py")
SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16"
CONFIG = {"BLOCK_M": [128], "BLOCK_N": [128], "BLOCK_K": [64], "FLATTEN": [True, False], "num_stages": [3]}


def line_of(start: str) -> int:
    lines = FILE.read_text().split("\n")
    return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(start))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Comparison]:
    pytest.importorskip("triton")
    from tests.findings.nested_loop_kernels import persistent

    path = tmp_path_factory.mktemp("flattened") / "persistent.irscope"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        capture = irscope.compile(persistent, path, SIGNATURE, config=CONFIG)
    with capture:
        yield capture.compare(*capture.variants)


def test_the_products_are_in_the_loop_that_each_side_has(comparison):
    outer, inner, dot = (line_of(start) for start in ("for tile", "for k", "acc = tl.dot"))
    (text,) = (one.text for one in comparison.findings if f"line {dot} " in one.text and "wgmma" in one.text)
    a, b = text.split(" -> ")
    assert re.search(rf"\d+ x wgmma.\w+ per iteration of the (\d+ loops|loop) of line {outer}$", a), text
    assert re.search(rf"^\d+ x wgmma.\w+ per iteration of the (\d+ loops|loop) of line {inner}$", b), text


def test_no_finding_says_that_nothing_became_nothing(comparison):
    texts = [one.text for one in comparison.findings]
    assert not [text for text in texts if re.search(r"none[^:;]* -> none|none per|none without", text)]


FLATTENED = ("} {tt.flatten, tt.warp_specialize}", "} {tt.warp_specialize}")


def changed_lines(page: Page) -> list[tuple[str, str]]:
    """The lines of a page that are marked as changed, of A and of B, without locations."""
    pairs = [(page.text(row, False) or "", page.text(row, True) or "") for row in page.rows if row.change]
    return [(a.partition(" loc(")[0].strip(), b.partition(" loc(")[0].strip()) for a, b in pairs]


def test_an_attribute_after_the_region_is_a_change_of_its_line_only(comparison):
    diff = comparison.stages["ttir"]
    assert len([row for row in diff.rows if row.change]) == 2, "findings locate the edit by the first line"
    _ = comparison.workspace.diff(comparison.a, comparison.b, "ttir")
    pair = PairState(comparison.workspace, comparison.a, comparison.b)
    for detail in (Detail.REAL, Detail.SHAPES):
        assert changed_lines(pair.page("ttir", detail)) == [FLATTENED]
    lines = list(unified(diff, 3))
    assert [line for line in lines if line[0] in "+-~"] == [
        f"-    {FLATTENED[0]}",
        f"+    {FLATTENED[1]}",
    ]
