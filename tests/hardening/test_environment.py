"""Faults of the environment: each is one line and an exit code, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.cli import last_resort
from irscope.model import UserError
from irscope.model.files import write_output
from irscope.store import CaptureReader, CaptureWriter
from tests.hardening.views import run

CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "v2.irscope"
FULL = "irscope: the output: No space left on device\n"
IRSCOPE = f"'{sys.executable}' -m irscope"


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs irscope in a shell; I is replaced by irscope, C by a capture."""
    words = command.replace("I ", f"{IRSCOPE} ").replace(" C", f" '{CAPTURE}'")
    environ = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])} | environment
    return subprocess.run(
        ["bash", "-c", words],
        env=environ,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return Path(shutil.copy(CAPTURE, tmp_path / "own.irscope"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("I list C >&-", "irscope: the output: Bad file descriptor\n"),
        ("I table C >/dev/full", FULL),
        pytest.param("I --help >/dev/full", FULL, marks=pytest.mark.slow),
        pytest.param("I list nowhere 2>&- >&- <&-", "", marks=pytest.mark.slow),
        pytest.param("I list nowhere 2>/dev/full", "", marks=pytest.mark.slow),
        pytest.param("(ulimit -f 1; trap '' XFSZ; I report C -o /tmp/irscope-big.html)", "File too large\n",
                     marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_an_output_that_cannot_be_written_is_one_line(command: str, line: str):
    done = shell(command)
    assert done.returncode == 2
    assert done.stderr.endswith(line) and done.stderr.count("\n") == (1 if line else 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/nonexistent"}, {"HOME": "", "XDG_CACHE_HOME": "/proc/none", "IRSCOPE_CACHE": ""},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"IRSCOPE_CACHE": "/dev/null/x"}, {"TMPDIR": "/none"},
        {"TERM": "nonsense"}, {"COLUMNS": "-5"}, {"PYTHONUTF8": "0", "LANG": "xx_YY"}, {"NO_COLOR": "\udcff"},
    ],
)  # fmt: skip
def test_viewing_needs_nothing_of_the_environment(environment: dict[str, str]):
    done = shell("I list C && I diff C 1 3 && I show C 1 --stage sass | tail -1", **environment)
    assert done.returncode == 0, done.stderr
    assert "add_kernel" in done.stdout


def test_names_that_are_not_utf8_are_opened_and_printed(tmp_path: Path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 %41?#.irscope"))
    try:
        shutil.copy(CAPTURE, path)
    except OSError:
        pytest.skip("the file system does not allow such names")
    assert run(("list", "C"), path, tmp_path)[0] == 0
    assert run(("list", "C", "--format", "json"), path, tmp_path)[0] == 0
    with CaptureWriter.resume(path) as writer:
        writer.add_facts(1, 1, {})


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize("make", [make_pipe, link_to_device, Path.mkdir])
def test_only_regular_files_are_opened_and_replaced(tmp_path: Path, make):
    path = tmp_path / "x"
    make(path)
    with pytest.raises(UserError, match=r"named pipe|device|folder"):
        CaptureReader(path)
    for replace in (
        lambda: CaptureWriter.create(path, force=True),
        lambda: CaptureWriter.resume(path),
        lambda: write_output(path, b"", force=True),
    ):
        with pytest.raises(UserError, match=r"cannot be replaced: it is a"):
            replace()
    assert Path("/dev/null").is_char_device()
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_the_target_of_a_link_is_written(tmp_path: Path, capture: Path):
    link = tmp_path / "link"
    link.symlink_to(capture.name)
    with CaptureWriter.create(link, force=True):
        assert sorted(path.name for path in tmp_path.iterdir())[:2] == ["link", "own.irscope"]
    write_output(link, b"text", force=True)
    assert link.is_symlink() and capture.read_bytes() == b"text"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "own.irscope"]


def test_an_output_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch):
    path = tmp_path / "page.html"
    write_output(path, b"old", force=False)
    path.chmod(0o640)
    with pytest.raises(UserError, match="--force"):
        write_output(path, b"new", force=False)

    def fails(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fails)
        with pytest.raises(UserError, match="No space left"):
            write_output(path, b"new", force=True)
    assert path.read_bytes() == b"old"
    write_output(path, b"new", force=True)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert list(tmp_path.iterdir()) == [path]


WRITES = """
import sys
from pathlib import Path
from irscope.store import CaptureWriter
with CaptureWriter.create(Path(sys.argv[1]), force=True) as writer:
    writer.add_toolchain({"triton": "3.9.0"}, "first")
    print("writing", flush=True)
    sys.stdin.readline()
"""


def test_a_capture_that_is_being_written_is_not_replaced(tmp_path: Path):
    path = tmp_path / "x.irscope"
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None and first.stdin is not None
        assert first.stdout.readline() == "writing\n"
        for open_ in (lambda: CaptureWriter.create(path, force=True), lambda: CaptureWriter.resume(path)):
            with pytest.raises(UserError, match=rf"is being written by process {first.pid} \(") as raised:
                open_()
            assert "\n" not in str(raised.value)
        first.stdin.write("\n")
        first.stdin.close()
        assert first.wait() == 0
    with CaptureWriter.create(path, force=True), pytest.raises(UserError, match="this one"):
        CaptureWriter.resume(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_was_killed_holds_nothing(tmp_path: Path):
    path = tmp_path / "x.irscope"
    with subprocess.Popen(
        [sys.executable, "-c", WRITES, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        first.stdout.readline()
        first.kill()
    with CaptureWriter.resume(path) as writer:
        assert writer.add_toolchain({"triton": "3.9.0"}, "first") == 1, "what it wrote is there"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="errors have no code")
def test_a_wrong_statement_is_a_bug_and_a_full_disk_is_not(monkeypatch, capsys):
    monkeypatch.setattr(last_resort, "_saved", lambda error, command: "")
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE t (x)")
        db.execute("PRAGMA max_page_count = 2")
        for statement, code, line in (
            ("SELECT missing FROM t", 70, "internal error: OperationalError: no such column: missing"),
            ("INSERT INTO t VALUES (zeroblob(100000))", 2, "the capture cannot be written: database or disk"),
        ):
            with pytest.raises(sqlite3.OperationalError) as raised:
                db.execute(statement)
            assert last_resort.report(raised.value, "list") == code
            assert line in capsys.readouterr().err


def test_a_bug_is_one_line_and_a_file(tmp_path: Path, capture: Path, monkeypatch, capsys):
    from irscope.cli.main import main

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("irscope.document.terminal.list_text._status", lambda variant: int("x"))
    assert main(["list", str(capture)]) == 70
    error = capsys.readouterr().err
    (file,) = tmp_path.glob("irscope-error-*.txt")
    assert error.startswith(
        "irscope: internal error: ValueError: invalid literal for int() with base 10: 'x'; "
    )
    assert error.endswith(f"please report it with {file}, which has the details\n")
    assert error.count("\n") == 1
    assert "Traceback" in file.read_text() and "list_text.py" in file.read_text()
