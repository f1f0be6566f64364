"""Stored estimates are for one version of the model."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import irscope.estimating
from irscope.workspace.estimate_cache import code_digest


@pytest.mark.parametrize("module", ["model.py", "counting/footprints.py"])
def test_a_change_of_any_module_of_the_model_changes_its_digest(tmp_path: Path, module: str) -> None:
    model = Path(irscope.estimating.__file__).parent
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    assert code_digest(copy) == code_digest(model)
    with (copy / module).open("a") as file:
        file.write("# changed\n")
    assert code_digest(copy) != code_digest(model)
