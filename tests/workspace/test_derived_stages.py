"""Derived stages: made on first use, then stored in the capture if it is writable."""

from __future__ import annotations

import pytest

from irscope.model import UserError
from irscope.store import CaptureReader, CaptureWriter
from irscope.workspace import Workspace


@pytest.fixture
def made(monkeypatch) -> list[bytes]:
    """The cubins that were disassembled."""
    seen: list[bytes] = []

    def disassemble(cubin: bytes) -> str:
        seen.append(cubin)
        return f"MOV R{len(seen)} ;\n"

    monkeypatch.setattr("irscope.toolchain.disassembler.disassemble", disassemble)
    return seen


def test_sass_is_made_once_and_kept(capture, made, tmp_path):
    with Workspace(capture) as workspace:
        first = workspace.variants[0]
        assert workspace.text(first, "sass") == workspace.text(first, "sass") == "MOV R1 ;\n"
    with Workspace(capture) as workspace:
        first, second, *_ = workspace.variants
        assert workspace.text(first, "sass") == "MOV R1 ;\n"
        assert "sass" in first.artifacts and "sass" not in second.artifacts
    assert len(made) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["add.irscope"], "no log is left next to it"


def test_a_capture_that_cannot_be_written_stays_as_it_is(capture, made, monkeypatch):
    def resume(path: object) -> CaptureWriter:
        raise UserError(f"{path}: cannot be written")

    monkeypatch.setattr(CaptureWriter, "resume", resume)
    with Workspace(capture) as workspace:
        assert workspace.find_content(workspace.variants[0], "sass") == b"MOV R1 ;\n"
    with CaptureReader(capture) as reader:
        assert "sass" not in reader.variants()[0].artifacts


def test_no_disassembler_is_one_line(capture, monkeypatch):
    def disassemble(cubin: bytes) -> str:
        raise UserError("SASS needs nvdisasm")

    monkeypatch.setattr("irscope.toolchain.disassembler.disassemble", disassemble)
    with Workspace(capture) as workspace, pytest.raises(UserError, match="nvdisasm"):
        workspace.text(workspace.variants[0], "sass")


def test_a_missing_stage_is_an_error(capture):
    with Workspace(capture) as workspace:
        first, *_, failed = workspace.variants
        assert workspace.find_content(first, "ptx") is None
        assert workspace.find_content(failed, "sass") is None
        with pytest.raises(UserError, match="binary"):
            workspace.text(first, "cubin")
        with pytest.raises(ValueError, match="ptxx"):
            workspace.find_content(first, "ptxx")
