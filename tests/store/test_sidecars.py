"""What lies next to a capture: the names that SQLite and the lock open there, and what a viewer leaves."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from irscope.store import CaptureReader, CaptureWriter
from irscope.store.capture_file import find_writer

SAMPLE = Path(__file__).parents[1] / "data" / "captures" / "v3.irscope"
OF_SQLITE = ("-journal", "-wal", "-shm")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(str(path))


OTHERS: dict[str, Callable[[Path], object]] = {
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a symbolic link": lambda path: path.symlink_to("/dev/zero"),
    "a socket": make_socket,
}


@pytest.fixture
def capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    shutil.copy(SAMPLE, "n.irscope")
    return Path("n.irscope")


def list_(capture: Path) -> subprocess.CompletedProcess[str]:
    """List a capture in a process of its own, which a named pipe may block."""
    words = [sys.executable, "-m", "irscope", "list", str(capture)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)


def keep_log(capture: Path) -> None:
    """Leave the capture as a writer does that closes while others read."""
    db = sqlite3.connect(capture)
    assert db.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    db.close()


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("suffix", OF_SQLITE)
@pytest.mark.parametrize("kind", OTHERS)
def test_a_name_that_sqlite_opens_is_a_regular_file(capture: Path, kind: str, suffix: str, mode: str) -> None:
    if mode == "wal":
        keep_log(capture)
    OTHERS[kind](Path(f"{capture}{suffix}"))
    done = list_(capture) if kind == "a named pipe" else None
    if done is not None:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"irscope: n.irscope: n.irscope{suffix} next to it is {kind}; remove it\n"
        return
    for opened in (CaptureReader, CaptureWriter.resume):
        with pytest.raises(Exception, match=f"n.irscope{suffix} next to it is {kind}; remove it"):
            opened(capture)


@pytest.mark.parametrize("kind", OTHERS)
def test_a_lock_that_is_no_regular_file_holds_nobody_up(capture: Path, kind: str) -> None:
    OTHERS[kind](Path(f"{capture}-lock"))
    assert find_writer(capture) is None
    with CaptureReader(capture) as reader:
        assert not reader.empty
    with pytest.raises(Exception, match=f"n.irscope-lock next to it is {kind}; remove it"):
        CaptureWriter.resume(capture)


def test_a_viewer_leaves_no_files_next_to_a_capture(capture: Path) -> None:
    keep_log(capture)
    content, time = capture.read_bytes(), capture.stat().st_mtime_ns
    with CaptureReader(capture) as reader:
        assert list(reader.variants())
        with CaptureReader(capture) as another:
            assert list(another.variants())
    assert [path.name for path in Path().iterdir()] == ["n.irscope"]
    assert (capture.read_bytes(), capture.stat().st_mtime_ns) == (content, time)


def test_a_viewer_leaves_the_log_of_a_killed_writer(capture: Path) -> None:
    db = sqlite3.connect(capture)
    db.execute("PRAGMA journal_mode = WAL")
    with db:
        db.execute("INSERT INTO toolchain (versions, command) VALUES ('{}', 'killed')")
    for suffix in ("", "-wal"):
        shutil.copy(f"n.irscope{suffix}", f"killed.irscope{suffix}")
    db.close()
    killed = Path("killed.irscope")
    before = killed.read_bytes(), Path("killed.irscope-wal").read_bytes()
    with CaptureReader(killed) as reader:
        assert "killed" in [toolchain.command for toolchain in reader.toolchains().values()]
    assert (killed.read_bytes(), Path("killed.irscope-wal").read_bytes()) == before
