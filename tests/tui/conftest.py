"""The app on the small matmul capture."""

from __future__ import annotations

import inspect
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests that run the app as slow, except those of the keys: each takes a quarter of a second."""
    for item in items:
        in_app = isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function)
        if in_app and item.path.parent == Path(__file__).parent and item.path.stem != "test_keys":
            item.add_marker(pytest.mark.slow)


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
