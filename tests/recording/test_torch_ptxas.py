"""torch.compile's kernels are assembled by torch's ptxas, the program's own by Triton's."""

from __future__ import annotations

import os

import pytest

from irscope.recording.program import _with_ptxas


def used() -> str | None:
    return os.environ.get("TRITON_PTXAS_PATH")


def test_the_variable_is_set_only_while_a_config_is_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/torch/bin/ptxas"
    assert used() is None
    monkeypatch.setenv("TRITON_PTXAS_PATH", "")
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/torch/bin/ptxas"
    assert used() == ""


def test_the_users_own_ptxas_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/mine")
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/mine"
    assert used() == "/mine"
