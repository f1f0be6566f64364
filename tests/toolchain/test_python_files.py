"""Kernels in packages, modules, notebooks, and inside a library's own decorators."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from irscope.store.reader import CaptureReader
from irscope.toolchain.python_files import module_file
from tests.conftest import Irscope

UTILITIES = """
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x * 2

class Registered(triton.KernelInterface):
    def __init__(self, fn):
        self.fn = fn

    def run(self, *args, **kwargs):
        return self.fn.run(*args, **kwargs)
"""
IMPORTS = """
import triton
import triton.language as tl
from ..utilities import Registered, twice
"""
KERNEL = """
@Registered
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, twice(tl.load(x + offsets, mask=offsets < n)), mask=offsets < n)
"""
# A library that only defines its kernels on a GPU.
ON_A_GPU = """
import torch
assert torch.version.cuda and torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
"""
SIGNATURE = ("--signature", "*fp32:16, i32")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package whose own `__init__` fails, as without an optional dependency."""
    folder = tmp_path / "library"
    (folder / "operators").mkdir(parents=True)
    (folder / "__init__.py").write_text("import a_module_that_is_not_installed")
    (folder / "utilities.py").write_text(UTILITIES)
    (folder / "operators" / "scale.py").write_text(IMPORTS + KERNEL)
    return folder


def names(path: Path) -> list[str]:
    with CaptureReader(path) as capture:
        return [f"{variant.kernel.name} {variant.config.get('BLOCK')}" for variant in capture.variants()]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["library/operators/scale.py::scale", "library.operators.scale::scale"])
def test_a_file_of_a_package_by_path_or_module_name(irscope: Irscope, package: Path, name: str) -> None:
    done = irscope("compile", name, *SIGNATURE, "-o", "scale.irscope")
    assert done.returncode == 0, done.stderr
    assert names(package.parent / "scale.irscope") == ["scale 64", "scale 128"]


@pytest.mark.slow
def test_a_file_that_asks_for_a_gpu_when_it_is_imported(irscope: Irscope, package: Path) -> None:
    pytest.importorskip("torch")
    (package / "operators" / "scale.py").write_text(ON_A_GPU + IMPORTS + KERNEL)
    done = irscope("compile", "library/operators/scale.py::scale", *SIGNATURE, "-o", "scale.irscope")
    assert done.returncode == 0, done.stderr
    assert len(names(package.parent / "scale.irscope")) == 2


@pytest.mark.slow
def test_a_notebook_runs_its_definitions_only(irscope: Irscope, tmp_path: Path) -> None:
    cells = ["%load_ext autoreload\n!pip list", UTILITIES, KERNEL, "raise SystemExit(scale[(1,)](1, 2))"]
    document = {"cells": [{"cell_type": "markdown", "source": ["# Title"]}]}
    document["cells"] += [{"cell_type": "code", "source": text.splitlines(keepends=True)} for text in cells]
    (tmp_path / "scale.ipynb").write_text(json.dumps(document))
    done = irscope("compile", "scale.ipynb::scale", *SIGNATURE, "-o", "scale.irscope")
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "scale.irscope") as capture:
        variant = capture.variants()[0]
        assert variant.kernel.source.file.endswith("scale.ipynb")
        assert variant.kernel.source.text.startswith("@Registered")


def test_a_file_that_cannot_be_imported_is_reported_with_another_way(
    irscope: Irscope, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import triton\nraise RuntimeError('no config file')")
    done = irscope("compile", "broken.py", *SIGNATURE)
    assert done.returncode == 2
    assert "importing it fails: RuntimeError: no config file" in done.stderr
    assert "irscope run PROGRAM.py" in done.stderr
    missing = irscope("compile", "no.such.module::kernel", *SIGNATURE)
    assert missing.stderr == "irscope: no.such.module: no such file or module\n"


def test_a_module_is_found_without_importing_it() -> None:
    assert module_file("os.path") is None
    assert module_file("json.decoder") == Path(os.__file__).parent / "json" / "decoder.py"
