"""Large captures: variants that read their large columns when they are asked for, and rows of facts."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
from dataclasses import fields, replace
from pathlib import Path

import pytest

from irscope.document.comparison_content import diff_content
from irscope.document.json.records import Records, json_pieces, json_text
from irscope.document.report_content import pair_report
from irscope.document.terminal.document_text import text_lines
from irscope.facts.fact import FactRow
from irscope.facts.measure import measure, to_json
from irscope.model import UserError, Variant
from irscope.model.records import distinct_values, varying_keys
from irscope.store import CaptureReader, CaptureWriter, reader
from irscope.store.stored_variant import StoredVariant
from irscope.workspace import Workspace
from irscope.workspace import first_difference as first_difference_module
from irscope.workspace.first_difference import first_difference, first_differences

CAPTURES = sorted((Path(__file__).parents[1] / "data" / "captures").glob("*.irscope"))


@pytest.fixture(params=CAPTURES, ids=lambda path: path.stem)
def capture(request, tmp_path: Path) -> Path:
    return Path(shutil.copy(request.param, tmp_path / "c.irscope"))


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGE", 0)


def whole(path: Path) -> list[Variant]:
    with CaptureReader(path) as read:
        return read.variants()


def test_variants_of_large_captures_have_all_columns(capture, monkeypatch):
    expected = whole(capture)
    monkeypatch.setattr(reader, "LARGE", 0)
    with CaptureReader(capture) as read:
        found = read.variants()
        assert [type(variant) for variant in found] == [StoredVariant] * len(expected)
        assert found == expected
    for a, b in zip(found, expected, strict=True):
        assert [getattr(a, each.name) for each in fields(Variant)] == [
            getattr(b, each.name) for each in fields(Variant)
        ]
        assert (a.environment, a.origin, a.settings, a.launch_metadata) == (
            b.environment, b.origin, b.settings, b.launch_metadata,
        )  # fmt: skip
        assert repr(a) == repr(b)


@pytest.mark.usefixtures("all_are_large")
def test_columns_are_read_after_the_capture_was_closed(capture):
    first, *_, last = whole(capture)
    assert last.metadata and first.artifacts
    assert pickle.loads(pickle.dumps(last)) == last == copy.deepcopy(last)
    changed = replace(first, output="x")
    assert (type(changed), changed.output, changed.metadata) == (Variant, "x", first.metadata)


@pytest.mark.usefixtures("all_are_large")
def test_a_capture_that_changed_since_is_noticed(capture):
    first, second, *_ = whole(capture)
    with CaptureWriter.create(capture, force=True):
        pass
    with pytest.raises(UserError, match="variant #1 is not in the capture any more"):
        _ = first.metadata
    capture.unlink()
    with pytest.raises(UserError, match="cannot be read"):
        _ = second.metadata


@pytest.mark.usefixtures("all_are_large")
def test_opening_a_large_capture_reads_no_variant(capture, monkeypatch):
    monkeypatch.setattr(CaptureReader, "summaries", lambda self: pytest.fail("read all variants"))
    with Workspace(capture) as workspace:
        assert workspace.variant("#1").id == workspace.live.by_id(1).id == 1
        assert workspace.text(workspace.variant("#1"), "ttir")


@pytest.mark.usefixtures("all_are_large")
def test_metadata_that_only_python_reads_can_be_listed(capture):
    # JSON of Python has NaN; SQLite's functions refuse it.
    with CaptureWriter.resume(capture) as writer:
        writer._db.execute(
            """UPDATE variant SET metadata = '{"origin": {"graph": "g"}, "x": [NaN, -Infinity]}'"""
        )
        writer._db.commit()
    with CaptureReader(capture) as read:
        assert all(each.origin and each.origin.graph == "g" for each in read.summaries())


def test_stored_facts_are_rows_with_the_values_that_were_measured(capture):
    with Workspace(capture) as workspace:
        workspace.store_facts()
    with Workspace(capture) as workspace:
        stored = workspace.contents.facts(workspace.variants)
        for variant in workspace.variants:
            measured = measure(variant, lambda stage, v=variant: workspace.contents.read(v, stage))
            row = stored[variant.id]
            assert isinstance(row, FactRow) and list(row) == list(measured)
            assert to_json(row) == to_json(measured)
            assert {name: str(fact) for name, fact in row.items()} == {
                name: str(fact) for name, fact in measured.items()
            }
            assert row.value("nothing") is None and row.get("nothing") is None and "nothing" not in row


DOCUMENT = {
    "text": "a\x1b\u2028\"\\", "numbers": [1, -2, 0.1, 1e300, True, False, None], "empty": [{}, [], ""],
    "nested": {"a": {"b": [[1], {"c": "d"}]}, "e": {}}, "integer": 10**40, "tuple": (1, (2,)), "none": None,
}  # fmt: skip


def test_streamed_json_is_that_of_the_standard_library():
    expected = json.dumps(DOCUMENT, indent=2)
    assert "".join(json_pieces(DOCUMENT)) == json_text(DOCUMENT) == expected
    streamed = {"rows": Records([1, 2], lambda n: {"n": n, "of": DOCUMENT}), "none": Records([], dict)}
    plain = {"rows": [{"n": n, "of": DOCUMENT} for n in (1, 2)], "none": []}
    assert "".join(json_pieces(streamed)) == json_text(streamed) == json.dumps(plain, indent=2)
    assert json_text([float("inf"), float("nan")]) == json.dumps(["inf", "nan"], indent=2)
    with pytest.raises(TypeError, match="not a JSON value"):
        json_text({"x": b"bytes"})


def test_what_varies_is_what_has_several_values():
    rows = [
        {"a": 1, "b": True, "c": "x", "n": float("nan")},
        {"a": 1, "b": 1, "c": "x", "d": 2, "n": float("nan")},
    ]
    assert (
        varying_keys(rows)
        == [key for key, number in distinct_values(rows).items() if number > 1]
        == ["b", "d"]
    )
    assert varying_keys([]) == varying_keys([{"a": 1}]) == []


@pytest.mark.usefixtures("all_are_large")
def test_the_stage_in_which_many_variants_differ_is_that_of_one_by_one(capture, monkeypatch):
    monkeypatch.setattr(first_difference_module, "_MANY", 0)
    with Workspace(capture) as workspace:
        for a in workspace.variants:
            found = first_differences(workspace, a, workspace.variants)
            assert found == [first_difference(a, variant) for variant in workspace.variants]


@pytest.mark.usefixtures("all_are_large")
def test_a_pair_of_a_large_capture_is_printed_after_it_was_closed(capture):
    with Workspace(capture) as workspace:
        a, *_, b = workspace.variants
        report = pair_report(workspace.compare(a, b), "none")
    lines = list(text_lines(diff_content(report, rows=10)))
    assert lines[0].startswith(f"A  #{a.id} ")
