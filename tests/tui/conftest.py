"""The app on the small matmul capture."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import _wait

from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace
from tests.tui import captures

SASS = "\t.text\n        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"


def disassemble(cubin: bytes) -> str:
    """Stands for the disassembler."""
    return SASS


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Textual waits for 20 ms without CPU use twice per key; tests/tui/driving.py asks the app instead."""
    monkeypatch.setattr(_wait, "SLEEP_GRANULARITY", 0.001)
    monkeypatch.setattr(_wait, "SLEEP_IDLE", 0.0005)


@pytest.fixture
def matmul(tmp_path: Path) -> Path:
    return captures.matmul(tmp_path / "matmul.irscope")


@pytest.fixture
def app(matmul: Path) -> IrscopeApp:
    return IrscopeApp(Workspace(matmul, disassemble))
