"""Captures that another process is writing: readers never disturb it, and see what it added."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import irscope
from irscope.cli.main import main
from irscope.model import UserError
from irscope.store import connection
from irscope.workspace import Workspace
from irscope.workspace.growth import Growth, GrowthWatch
from tests.growing import OtherWriter

_STAGES = Path(__file__).parent.parent / "data" / "stages"
_TTIR = next(_STAGES.glob("matmul_kernel.*.ttir"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "k.irscope"


def _journal_mode(path: Path) -> int:
    """1: rollback journal, 2: write-ahead log (SQLite file format, 1.3), read by another process."""
    reads = f"print(open({str(path)!r}, 'rb').read(20)[18])"
    return int(subprocess.run([sys.executable, "-c", reads], capture_output=True, check=True).stdout)


def test_the_writer_cannot_change_the_file_under_a_reader(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Closing another descriptor of the file would drop this process's locks, and the reader then fails."""
    with OtherWriter(path, 12, {"ttir": _TTIR}) as writer:
        writer.add(1)
        with Workspace(path) as app:
            for block in range(2, 12):
                writer.add(block)
                with irscope.open(path) as opened:
                    assert len(opened.variants) == block
                assert main(["list", str(path)]) == main(["table", str(path)]) == 0
                assert main(["show", str(path), "#1", "--stage", "ttir"]) == 0
                # The error that a failed attempt to open it raises.
                assert isinstance(connection._unreadable(path, None), UserError)
                assert app.live.reread(whole=False) == {block}
                assert app.content(app.live.by_id(block), "ttir").startswith(_TTIR.read_bytes())
            writer.close()
            assert _journal_mode(path) == 2, "the reader's locks are still held"
            with OtherWriter(path, 1, {"ttir": _TTIR}) as second:
                second.add(12)
                second.close()
            assert app.live.reread(whole=False) == {12}
            assert app.live.reread() == set()
            assert {app.content(variant, "ttir")[:9] for variant in app.variants} == {_TTIR.read_bytes()[:9]}
    assert capsys.readouterr().err == ""


def test_nothing_is_only_in_the_log_once_the_writer_has_closed(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.irscope"
    with OtherWriter(path, 1) as writer:
        writer.add(1)
        with Workspace(path):
            writer.add(2)
            writer.close()
        copy.write_bytes(path.read_bytes())
    with Workspace(copy) as copied:
        assert len(copied.variants) == 2


def test_who_writes_a_capture(path: Path) -> None:
    with OtherWriter(path, 3) as writer:
        writer.add(1)
        watch = GrowthWatch(path)
        growth, changed = watch.look()
        assert (growth.running, changed) == (True, False)
        assert growth.progress(1) == "1 of 3, still compiling"
        writer.add(2)
        growth, changed = watch.look()
        assert (growth.progress(2), changed) == ("2 of 3, still compiling", True)
        assert watch.look()[1] is False
        writer.kill()
    growth, _ = watch.look()
    assert (growth.running, growth.progress(2)) == (False, "2 of 3, incomplete")
    assert growth.ended(2) == "The writer has ended, 2 of 3; `irscope compile --resume` compiles the rest"
    with OtherWriter(path, 1) as second:
        assert watch.look()[0].running
        assert watch.look()[0].count(2) == "2 of 3 variants"
        second.add(3)
        second.close()
    growth, changed = watch.look()
    assert (growth, changed) == (Growth(), True)
    assert growth.ended(3) == growth.progress(3) == ""


@pytest.mark.slow
def test_looking_never_stops_a_writer(path: Path) -> None:
    with OtherWriter(path, 1) as writer:
        writer.add(1)
        writer.close()
    watch = GrowthWatch(path)
    for _ in range(2):
        with OtherWriter(path, 0) as writer:
            for _ in range(200):
                assert watch.look()[0].running
            writer.close()
