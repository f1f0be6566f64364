"""A pair of variants has the same findings in every view: same words, same numbers, same order."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from textual import _wait

import irscope
from irscope.cli.main import main
from irscope.facts.fact import Evidence
from irscope.findings import registry
from irscope.findings.finding import Finding
from irscope.model import Failure
from irscope.model.text import one_line
from irscope.tui.app import IrscopeApp
from irscope.tui.widgets.document_view import DocumentView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from irscope.workspace.why_lines import pair_lines, without_rest
from tests import recorded_passes
from tests.tui.captures import LARGE, SMALL, stage, write
from tests.tui.driving import drawn, press, settled

STAGES = ("ttir", "ttgir", "ptx")
FOUR_STAGES = LARGE.replace("num_stages=3", "num_stages=4")
EIGHT_WARPS = LARGE.replace("num_warps=4", "num_warps=8")
FAILURE = Failure("CompilationError", "arange's *range* <must> be\x1b a power of 2", "at 13:39")


def matmul(config: str, *stages: str) -> dict[str, bytes]:
    return {kind: stage("matmul_kernel", config, kind) for kind in stages}


def two_variants(a: dict[str, bytes] | Failure, b: dict[str, bytes] | Failure) -> Callable[[Path], Path]:
    return lambda path: write(path, [({"BLOCK_M": 64}, a), ({"BLOCK_M": 128, "num_warps": 8}, b)])


def other_loads(config: str) -> dict[str, bytes]:
    stages = matmul(config, *STAGES)
    return {**stages, "ptx": stages["ptx"].replace(b"m64n64k16", b"m64n128k16").replace(b".v4.", b".v2.")}


PAIRS: dict[str, Callable[[Path], Path]] = {
    "block size": two_variants(matmul(SMALL, "ttir", "ttgir"), matmul(LARGE, "ttir", "ttgir")),
    "num_stages": two_variants(matmul(LARGE, "ttgir"), matmul(FOUR_STAGES, "ttgir")),
    "num_warps": two_variants(matmul(LARGE, "ttgir"), matmul(EIGHT_WARPS, "ttgir")),
    "assembly": two_variants(matmul(SMALL, *STAGES), other_loads(SMALL)),
    "failure": two_variants(matmul(SMALL, *STAGES), FAILURE),
    "passes": recorded_passes.write,
}

Shown = dict[str, list[str]]


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", 0.001)
    monkeypatch.setattr(_wait, "SLEEP_IDLE", 0.0005)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def call(*words: object) -> str:
        assert main([str(word) for word in words]) == 0
        return capsys.readouterr().out

    return call


async def shown_everywhere(path: Path, printed: Callable[..., str]) -> Shown:
    """The findings about #1 and #2 in each view, as one-line texts; some views show only the main ones."""
    with irscope.open(path) as capture:
        pair = capture.compare(*capture.variants[:2])
        in_python, main = ([one_line(f.text) for f in found] for found in (pair.findings, pair.main_findings))
    text = printed("diff", path, "#1", "#2", "--stage", "none")
    whole_text = printed("diff", path, "#1", "#2", "--stage", "none", "--all-findings")
    document = json.loads(printed("diff", path, "#1", "#2", "--stage", "none", "--format", "json"))
    markdown = printed("diff", path, "#1", "#2", "--stage", "none", "--format", "markdown")
    comment = printed("report", path, "--pair", "#1", "#2", "--format", "markdown")
    page = printed("report", path, "--pair", "#1", "#2", "-o", "-")
    app = IrscopeApp(Workspace(path))
    async with app.run_test(size=(400, 100)) as pilot:
        await settled(pilot)
        # The app opens with #1 and the first variant after it that compiled.
        app.screen.query_one(VariantTable).focus()
        await press(pilot, "g", "a", "j", "b")
        view = app.screen.query_one(FindingsView)
        panel = drawn(view)
        view.focus()
        await press(pilot, "a")
        whole_panel = drawn(view)
    return {
        "Python": in_python,
        "main": main,
        "main text": re.findall(r"^ *\d+\. (.*)$", text, re.M),
        "text": re.findall(r"^ *\d+\. (.*)$", whole_text, re.M),
        "main JSON": [one_line(finding["text"]) for finding in document["findings"] if finding["shown"]],
        "JSON": [one_line(finding["text"]) for finding in document["findings"]],
        "Markdown": unescaped(markdown),
        "comment": unescaped(comment),
        "page": [
            html.unescape(item)
            for found in re.findall(r'<ol class="findings"[^>]*>(.*?)</ol>', page, re.S)
            for item in re.findall(r"<li>([^<]*)(?: <a class=\"proof|</li>| <a )", found)
        ],
        "main app": in_panel(panel),
        "app": in_panel(whole_panel),
    }


def in_panel(panel: str) -> list[str]:
    """The findings in the app: what, A, B and where, in columns."""
    return [line[3:] for line in panel.splitlines()[1:] if re.match(r"[ >][x=!•·] ", line)]


def unescaped(markdown: str) -> list[str]:
    found = re.findall(r"^\d+\. (.*)$", markdown, re.M)
    return [without_escapes(text) for text in found]


def without_escapes(markdown: str) -> str:
    return re.sub(r"\\([\\`*_\[\]<|~$])", r"\1", markdown)


def assert_same(shown: Shown) -> None:
    for view, texts in shown.items():
        expected = shown["main" if view.startswith("main") else "Python"]
        if view.endswith("app"):
            assert len(texts) == len(expected), view
            for row, text in zip(texts, expected, strict=True):
                assert letters(row).startswith(letters(text)), view  # the place follows
        else:
            assert texts == expected, view
    assert len(shown["main"]) <= 10 and shown["main"] == shown["Python"][: len(shown["main"])]


def letters(text: str) -> str:
    """Without the colon, blank or arrow that a column replaces."""
    return re.sub(r"\W", "", text)


@pytest.mark.parametrize("pair", PAIRS)
async def test_every_view_has_the_same_findings(
    pair: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    shown = await shown_everywhere(PAIRS[pair](tmp_path / "pair.irscope"), printed)
    assert shown["Python"], "the pair has findings to compare"
    assert_same(shown)


def test_json_has_the_evidence_and_weights_of_python(tmp_path: Path, printed: Callable[..., str]) -> None:
    path = PAIRS["assembly"](tmp_path / "pair.irscope")
    documents = [json.loads(printed(name, path, "#1", "#2", "--format", "json")) for name in ("diff", "why")]
    with irscope.open(path) as capture:
        pair = capture.compare(*capture.variants[:2])
        found, main = pair.findings, pair.main_findings
    expected = [
        {
            "kind": finding.kind,
            "subject": finding.subject,
            "text": finding.text,
            "severity": finding.severity.name.lower(),
            "weight": finding.weight,
            "shown": finding in main,
            "evidence_a": [{"stage": line.stage, "line": line.line + 1} for line in finding.evidence_a],
            "evidence_b": [{"stage": line.stage, "line": line.line + 1} for line in finding.evidence_b],
        }
        for finding in found
    ]
    assert [document["findings"] for document in documents] == [expected, expected]


async def test_a_new_finding_appears_in_every_view(
    tmp_path: Path, printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    added = Finding("B has a brand-new finding: 1 -> 2", 999.0, "new", (Evidence("ttgir", 3),))
    monkeypatch.setattr(registry, "FINDINGS", (*registry.FINDINGS, lambda pair: [added]))
    shown = await shown_everywhere(PAIRS["num_stages"](tmp_path / "pair.irscope"), printed)
    for view, texts in shown.items():
        assert letters(texts[0]).startswith(letters(added.text)), view
    assert_same(shown)


@pytest.mark.parametrize("pair", PAIRS)
async def test_why_has_the_same_lines_in_every_view(
    pair: str, tmp_path: Path, printed: Callable[..., str]
) -> None:
    path = PAIRS[pair](tmp_path / "pair.irscope")
    with irscope.open(path) as capture:
        comparison = capture.compare(*capture.variants[:2])
        every = pair_lines(comparison)
    text = printed("why", path, "#1", "#2").splitlines()[2:]
    markdown = printed("why", path, "#1", "#2", "--format", "markdown").splitlines()[2:]
    app = IrscopeApp(Workspace(path))
    async with app.run_test(size=(400, 100)) as pilot:
        await settled(pilot)
        app.screen.query_one(VariantTable).focus()
        await press(pilot, "g", "a", "j", "b", "W", "a")
        drawn_lines = drawn(app.screen.query_one(DocumentView)).splitlines()[1:]
    expected = [one_line(line.text) for line in every]
    assert [line.strip(" →") for line in drawn_lines if line.strip()][: len(expected)] == expected
    shortened = [one_line(line.text) for line in without_rest(every, ": --all-findings")]
    # Only the command line can be told a launch.
    shortened += filter(None, [comparison.bits_hint])
    assert [re.sub(r"^ *(\d+\. )?", "", line) for line in text if line] == shortened
    plain = [re.sub(r"^ *- |^\*\*|\*\*$", "", line) for line in markdown if line]
    assert [without_escapes(line) for line in plain] == shortened
