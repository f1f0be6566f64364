"""Derived stages: made on first use, then kept in the user's cache folder, or in the user's own capture."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from irscope.model import UserError
from irscope.store import CaptureReader, CaptureWriter
from irscope.workspace import Workspace
from irscope.workspace.stage_contents import DerivedCache


@pytest.fixture
def made(monkeypatch) -> list[bytes]:
    """The cubins that were disassembled."""
    seen: list[bytes] = []

    def disassemble(cubin: bytes) -> str:
        seen.append(cubin)
        return f"MOV R{len(seen)} ;\n"

    monkeypatch.setattr("irscope.compiling.processes.disassembler.disassemble", disassemble)
    return seen


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory, monkeypatch) -> Path:
    """The user's cache folder, empty."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("IRSCOPE_CACHE", str(folder))
    return folder


def test_sass_is_made_once_and_the_capture_stays_as_it_is(capture, made, tmp_path):
    before = capture.read_bytes()
    for _ in range(2):
        with Workspace(capture) as workspace:
            assert workspace.text(workspace.variants[0], "sass") == "MOV R1 ;\n"
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["add.irscope"]
    assert capture.read_bytes() == before


def test_a_damaged_cache_is_made_again(capture, made, cache_folder):
    for _ in range(2):
        with Workspace(capture) as workspace:
            assert workspace.text(workspace.variants[0], "sass").startswith("MOV R")
        for file in cache_folder.rglob("*.zst"):
            file.write_bytes(b"")
    assert len(made) == 2


def test_the_oldest_files_leave_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("irscope.workspace.stage_contents._MAX_BYTES", 3000)
    cache = DerivedCache(tmp_path / "derived")
    contents = {f"sass-{number}": os.urandom(1000) for number in range(4)}
    for age, (key, content) in enumerate(contents.items()):
        cache.write({key: content})
        if (file := tmp_path / "derived" / f"{key}.zst").exists():
            os.utime(file, (age, age))
    assert [cache.read(key) is not None for key in contents] == [False, False, True, True]


def test_a_cache_folder_that_cannot_be_used_costs_nothing(capture, made, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("IRSCOPE_CACHE", str(blocked))
    with Workspace(capture) as workspace:
        assert workspace.text(workspace.variants[0], "sass") == "MOV R1 ;\n"


def test_sass_is_stored_in_the_capture_of_the_users_own_command(capture, made, tmp_path):
    with Workspace(capture, writable=True) as workspace:
        first = workspace.variants[0]
        assert workspace.text(first, "sass") == workspace.text(first, "sass") == "MOV R1 ;\n"
    with Workspace(capture) as workspace:
        first, second, *_ = workspace.variants
        assert workspace.text(first, "sass") == "MOV R1 ;\n"
        assert "sass" in first.artifacts and "sass" not in second.artifacts
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["add.irscope"], "no log is left next to it"


def test_a_capture_that_cannot_be_written_stays_as_it_is(capture, made, monkeypatch):
    def resume(path: object, amends: bool = False) -> CaptureWriter:
        raise UserError(f"{path}: cannot be written")

    monkeypatch.setattr(CaptureWriter, "resume", resume)
    with Workspace(capture, writable=True) as workspace:
        assert workspace.contents.find(workspace.variants[0], "sass") == b"MOV R1 ;\n"
    with CaptureReader(capture) as reader:
        assert "sass" not in reader.variants()[0].artifacts


def test_no_disassembler_is_one_line(capture, monkeypatch):
    def disassemble(cubin: bytes) -> str:
        raise UserError("SASS needs nvdisasm")

    monkeypatch.setattr("irscope.compiling.processes.disassembler.disassemble", disassemble)
    with Workspace(capture) as workspace, pytest.raises(UserError, match="nvdisasm"):
        workspace.text(workspace.variants[0], "sass")


def test_a_missing_stage_is_an_error(capture):
    with Workspace(capture) as workspace:
        first, *_, failed = workspace.variants
        assert workspace.contents.find(first, "ptx") is None
        assert workspace.contents.find(failed, "sass") is None
        with pytest.raises(UserError, match="binary"):
            workspace.text(first, "cubin")
        with pytest.raises(ValueError, match="ptxx"):
            workspace.contents.find(first, "ptxx")
