"""The campaign's short part: a few seeded cases of every area; `make fuzz` runs the long one."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.diff.stage_diff import diff_stage
from irscope.languages.language import parse
from tests.hardening import texts
from tests.hardening.areas import AREAS, NAMED, Area, generator
from tests.hardening.campaign import campaign
from tests.hardening.texts import LARGE, large_text
from tests.hardening.views import BugError


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name.replace(" ", "-"))
def test_damaged_input_raises_nothing_unexpected(area: Area, tmp_path: Path):
    run_short_part(area, tmp_path)  # a case asserts what must hold for it


# A function that every case of an area calls.
CALLED = {
    "capture bytes": "irscope.store.reader.connect_reader",
    "capture schema": "irscope.store.reader.connect_reader",
    "capture values": "irscope.store.reader.connect_reader",
    "capture stages": "irscope.store.reader.connect_reader",
    "capture lines": "irscope.store.reader.connect_reader",
    "sidecars": "tests.hardening.sidecars.run",
    "warm folders": "tests.hardening.warm_folders._state",
    "invisible text": "tests.hardening.visible.rendered",
    "binaries": "tests.hardening.binaries.ptx_line_table",
    "imports": "irscope.recording.importers.import_capture.recognize",
    "parsers": "tests.hardening.texts.parse",
    "diffs": "tests.hardening.texts.diff_stage",
    "lint": "irscope.workspace.linting._lint_source",
    "warm files": "tests.hardening.warm_files._damaged",
    "history files": "tests.hardening.history_files.damaged",
    "launch counts": "tests.hardening.launches.count_launch",
    "worker faults": "tests.hardening.worker_faults.planned",
    "parent kills": "tests.hardening.parent_kills.kill",
    "run programs": "tests.hardening.run_programs._outcome",
    "serve requests": "irscope.serve.policy.host_name",
    "serve sessions": "irscope.serve.policy.host_name",
}


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name.replace(" ", "-"))
def test_an_unexpected_exception_fails_each_area(area: Area, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def planted(*args: object, **options: object) -> None:
        raise RuntimeError("a planted bug")

    monkeypatch.setattr(CALLED[area.name], planted)
    with pytest.raises((BugError, RuntimeError), match="a planted bug"):
        run_short_part(area, tmp_path)


def test_a_lost_character_fails_the_parsers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(texts, "parse", lambda text, language: parse(text[:-1], language))
    with pytest.raises(AssertionError):
        run_short_part(NAMED["parsers"], tmp_path)


def test_a_lost_row_fails_the_diffs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def without_last_row(*args: object) -> object:
        diff = diff_stage(*args)  # type: ignore[arg-type]
        return replace(diff, rows=diff.rows[:-1])

    monkeypatch.setattr(texts, "diff_stage", without_last_row)
    with pytest.raises(AssertionError):
        run_short_part(NAMED["diffs"], tmp_path)


def run_short_part(area: Area, tmp_path: Path) -> None:
    for number in range(area.short):
        folder = tmp_path / str(number)
        folder.mkdir()
        area.run(generator(area.name, 1, number), folder)


@pytest.mark.slow
def test_many_cases_keep_within_the_limits():
    results = campaign(3000, seed=2, areas=[area.name for area in AREAS], jobs=2)
    assert all(result.sound for result in results.values()), results
    assert sum(result.cases for result in results.values()) >= 3000 - len(AREAS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_parsing_and_diffing_take_linear_time(kind: str):
    short, long = (_seconds(kind, lines) for lines in (5_000, 40_000))
    # Eight times the lines; quadratic would be 64 times.
    assert long < 24 * short + 1


def _seconds(kind: str, lines: int) -> float:
    (left, language), (right, _) = (large_text(kind, lines, seed) for seed in (1, 2))
    begun = time.process_time()
    diff_stage("stage", parse(left, language), parse(right, language))
    return time.process_time() - begun


def test_a_write_outside_of_the_folder_fails_a_case(tmp_path: Path):
    """In a process of its own: an audit hook stays."""
    script = (
        "import sys; from pathlib import Path; from tests.hardening.outside import OutsideWrites\n"
        "inside, outside = map(Path, sys.argv[1:]); writes = OutsideWrites()\n"
        "writes.allowed = (f'{inside.resolve()}/',)\n"
        "(inside / 'a').write_text(''); (inside / 'link').symlink_to(outside); print(writes.take())\n"
        "(inside / '..' / outside.name / 'b').write_text(''); (inside / 'link' / 'c').mkdir()\n"
        "(inside / 'a').rename(outside / 'd'); Path(sys.executable).read_bytes()\n"
        "print(len(writes.take()))"
    )
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    command = [sys.executable, "-c", script, str(inside), str(outside)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert done.stdout == "[]\n3\n"
