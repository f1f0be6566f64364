"""The app on the small matmul capture."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.model import Variant
from irscope.store import CaptureReader
from irscope.tui.app import IrscopeApp
from tests.tui import captures

SASS = "\t.text\n        /*0000*/                   MOV R1, c[0x0][0x28] ;\n"


def disassemble(variant: Variant) -> str:
    """Stands for the disassembler."""
    return SASS


@pytest.fixture
def matmul(tmp_path: Path) -> Path:
    return captures.matmul(tmp_path / "matmul.irscope")


@pytest.fixture
def app(matmul: Path) -> IrscopeApp:
    return IrscopeApp(CaptureReader(matmul), disassemble)
