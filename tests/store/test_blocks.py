"""Blocks of large captures give the same variants and facts as the rows that they are made of."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.cli.main import main
from irscope.facts.measure import FACTS_VERSION
from irscope.model import Config, UserError, Variant
from irscope.store import CaptureReader, CaptureWriter, NewVariant, blocks, encoding, reader
from irscope.store.blocks import FactBlock, facts_by_column
from irscope.store.schema import FACTS, NAMES
from irscope.workspace import Workspace
from tests.store.stored_facts import by_variant

CAPTURES = sorted((Path(__file__).parents[1] / "data" / "captures").glob("*.irscope"))


@pytest.fixture(params=CAPTURES, ids=lambda path: path.stem)
def capture(request, tmp_path: Path) -> Path:
    path = Path(shutil.copy(request.param, tmp_path / "c.irscope"))
    with Workspace(path) as workspace:
        workspace.store_facts()
    return path


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGE", 0)
    monkeypatch.setattr(blocks, "LARGE", 0)
    monkeypatch.setattr(blocks, "_VARIANTS", 2)


def written_again(path: Path) -> None:
    with CaptureWriter.resume(path):
        pass


def kinds(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [kind for (kind,) in db.execute("SELECT kind FROM block ORDER BY first, kind")]


def content(path: Path) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """What a view of many variants reads."""
    with CaptureReader(path) as read:
        variants = read.variants()
        facts = by_variant(read.fact_blocks())
    names = [each.name for each in fields(Variant)]
    derived = ("environment", "origin", "edit", "launch_metadata", "settings")
    return [{name: getattr(v, name) for name in (*names, *derived)} for v in variants], facts


def test_a_small_capture_has_no_blocks(capture):
    written_again(capture)
    assert kinds(capture) == []


@pytest.mark.usefixtures("all_are_large")
def test_variants_and_facts_of_blocks_are_those_of_rows(capture):
    written_again(capture)
    assert set(kinds(capture)) == {FACTS, NAMES}
    found = content(capture)
    with closing(sqlite3.connect(capture)) as db, db:
        db.execute("DELETE FROM block")
    assert found == content(capture)
    assert found[1]


@pytest.mark.usefixtures("all_are_large")
def test_views_print_the_same_with_blocks(capture, capsys, monkeypatch):
    monkeypatch.chdir(capture.parent)
    outputs = []
    for _ in range(2):
        for command in (["list", capture.name], ["table", capture.name], ["why", capture.name]):
            assert main(command) == 0
        outputs.append(capsys.readouterr().out)
        written_again(capture)
    assert outputs[0] == outputs[1]


@pytest.mark.usefixtures("all_are_large")
def test_a_writer_removes_blocks_until_it_closes(capture):
    written_again(capture)
    with CaptureReader(capture) as read:
        old = read.variants()[0]
    with CaptureWriter.resume(capture) as writer:
        assert kinds(capture) == []
        kernel = writer.add_kernel(old.kernel.source, old.kernel.helpers, old.kernel.parameters)
        toolchain = writer.add_toolchain(old.toolchain.versions, old.toolchain.command)
        new = NewVariant(old.target, old.specialization, Config((("BLOCK", True), ("NEW", 1.5))))
        added = writer.add_variant(kernel, toolchain, "3.9.0", new)
        writer.add_facts(added, FACTS_VERSION, {"registers": 7})
        with CaptureReader(capture) as read:
            assert read.variants()[-1].config == new.config
    with CaptureReader(capture) as read:
        assert repr(read.variants()[-1].config) == repr(new.config)
        assert by_variant(read.fact_blocks())[added] == (FACTS_VERSION, {"registers": 7})


@pytest.mark.usefixtures("all_are_large")
def test_captures_with_blocks_are_read_as_one(capture, tmp_path):
    other = Path(shutil.copy(capture, tmp_path / "other.irscope"))
    written_again(capture)
    with Workspace(capture, also=[other]) as joined, Workspace(other) as alone:
        stored = alone.contents.facts(alone.variants)
        assert list(joined.contents.facts(joined.variants).values()) == [*stored.values(), *stored.values()]
        assert len(joined.variants) == 2 * len(stored)


@pytest.mark.usefixtures("all_are_large")
@pytest.mark.parametrize(
    "damaged",
    [
        b"[]", b"{}", b"{", b"\xff", b'{"id": ["1"]}',
        b'{"id": [1], "config": {"values": [], "at": "AAAA", "lengths": "x"}}',
        b'[{"id": [1, 2], "version": 4, "columns": {"registers": [1]}}]',
        b'[{"id": [1], "version": 4, "columns": {"registers": {"values": [1], "at": "AQAAAA=="}}}]',
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [NAMES, FACTS])
def test_a_damaged_block_is_an_error(capture, kind, damaged):
    written_again(capture)
    blob = encoding.pack(damaged)
    with closing(sqlite3.connect(capture)) as db, db:
        db.execute("UPDATE block SET size = ?, data = ? WHERE kind = ?", (blob.size, blob.frame, kind))
    with CaptureReader(capture) as read:
        if kind == FACTS and damaged in (b"[]", b"{}"):
            assert by_variant(read.fact_blocks()) == {}  # they are measured again
            return
        with pytest.raises(UserError, match="damaged"):
            _ = read.variants() if kind == NAMES else by_variant(read.fact_blocks())


@pytest.mark.usefixtures("all_are_large")
def test_a_capture_with_a_damaged_row_gets_no_blocks(capture):
    with closing(sqlite3.connect(capture)) as db, db:
        db.execute("UPDATE variant SET config = '[[' WHERE id = 1")
    written_again(capture)
    assert kinds(capture) == []
    with CaptureReader(capture) as read, pytest.raises(UserError, match="damaged"):
        read.variants()


values = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3)
documents = st.dictionaries(st.sampled_from("abc"), values, max_size=3)


@given(st.lists(st.tuples(st.integers(1, 2), documents), max_size=20))
def test_columns_have_the_facts_of_each_variant(rows):
    numbered = [(place, version, facts) for place, (version, facts) in enumerate(rows)]
    found: list[FactBlock] = facts_by_column(numbered)
    coded = [
        {
            "id": block.ids,
            "version": block.version,
            "columns": {n: blocks._coded(v) for n, v in block.columns.items()},
        }
        for block in found
    ]
    again = blocks.read_fact_blocks(encoding.loads(encoding.dumps(coded)))
    kept = [(id_, version, facts) for id_, (version, facts) in by_variant(again).items()]
    assert sorted(map(repr, kept)) == sorted(
        repr((id_, version, dict(sorted(facts.items())))) for id_, version, facts in numbered
    )
