"""Captures that earlier versions of irscope wrote still open and give the same output.

tests/data/captures has one per version of the format: v1 of the first release (cuda:90 and hip:gfx942), v2
with passes and the log of the coalescing pass, v3 with passes and with the blocks that large captures have.
All hold vector_add.py under three block sizes, one of which fails. `--snapshot-update` records the output
again; look at what changed.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from irscope.cli.main import main
from irscope.store.schema import SCHEMA_VERSION

CAPTURES = Path(__file__).parent.parent / "data" / "captures"
VERSIONS = range(1, SCHEMA_VERSION + 1)
COMMANDS = {
    "list": ["list"],
    "table": ["table", "--format", "csv"],
    "diff": ["diff", "#1", "#3", "--stage", "ttgir"],
}


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_capture_of_each_version_is_kept(version: int) -> None:
    assert version_of(CAPTURES / f"v{version}.irscope") == version


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_output_matches_the_snapshot(
    version: int,
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    name, *options = COMMANDS[command]
    shutil.copy(CAPTURES / f"v{version}.irscope", "old.irscope")
    assert main([name, "old.irscope", *options]) == 0
    assert capsys.readouterr().out == snapshot
    assert version_of(tmp_path / "old.irscope") == version
