"""Kernels in packages, modules, notebooks, and inside a library's own decorators."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from irscope.compiling.kernels import find_kernel
from irscope.compiling.python_files import import_file, module_file
from irscope.model import UserError
from irscope.store.reader import CaptureReader
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
    assert missing.stderr == (
        "irscope: no.such.module: no such file, module or sample; irscope samples lists the samples\n"
    )


def test_a_module_is_found_without_importing_it() -> None:
    assert module_file("os.path") is None
    assert module_file("json.decoder") == Path(os.__file__).parent / "json" / "decoder.py"


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Removes what a test imports from its folder."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    own = [name for name, module in sys.modules.items() if str(tmp_path) in str(vars(module).get("__file__"))]
    for name in own:
        del sys.modules[name]


@pytest.mark.usefixtures("imports")
def test_statements_that_fail_are_left_out_and_named(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    file = tmp_path / "partial.py"
    file.write_text("import no_such_module\n" + UTILITIES + "SIZE = no_such_module.SIZE\nprint(1 / 0)\n")
    found = find_kernel(file, "twice")
    assert found.function.fn.__name__ == "twice"
    assert import_file(file).skipped == (
        "partial.py:1: ModuleNotFoundError: No module named 'no_such_module'",
        f"partial.py:{UTILITIES.count(chr(10)) + 2}: NameError: name 'no_such_module' is not defined",
    )
    missing = f"{file}: needs the module 'no_such_module', which is not installed; pip install no_such_module"
    with pytest.raises(UserError, match=re.escape(missing)):
        find_kernel(file, "thrice")


@pytest.mark.usefixtures("imports")
def test_a_file_that_replaces_a_missing_module_by_an_empty_one_is_imported_without_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "empty_extension", ModuleType("empty_extension"))
    (tmp_path / "stubbing.py").write_text("import empty_extension.operators\nSIZE = 4\n")
    loaded = import_file(tmp_path / "stubbing.py")
    assert loaded.names["SIZE"] == 4
    assert str(loaded.error).endswith("needs the module 'empty_extension.operators', which is not installed")


@pytest.mark.usefixtures("imports")
def test_a_file_in_another_encoding_is_imported_in_part(tmp_path: Path) -> None:
    text = "# coding: latin-1\nWORD = 'caf\u00e9'\nWRONG = missing\n"
    (tmp_path / "encoded.py").write_bytes(text.encode("latin-1"))
    loaded = import_file(tmp_path / "encoded.py")
    assert loaded.names["WORD"] == "caf\u00e9"
    assert loaded.skipped == ("encoded.py:3: NameError: name 'missing' is not defined",)


@pytest.mark.usefixtures("imports")
def test_a_package_keeps_the_statements_that_work(tmp_path: Path) -> None:
    folder = tmp_path / "half_a_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("SIZE = 4\nimport half_a_package.extension\nWIDTH = 2 * SIZE\n")
    (folder / "user.py").write_text("from . import SIZE, WIDTH\n")
    loaded = import_file(folder / "user.py")
    assert (loaded.names["SIZE"], loaded.names["WIDTH"]) == (4, 8)
    assert loaded.skipped == (
        "half_a_package/__init__.py: ModuleNotFoundError: No module named 'half_a_package.extension'",
    )


@pytest.mark.usefixtures("imports")
def test_a_module_that_its_package_imports_is_executed_once(tmp_path: Path) -> None:
    folder = tmp_path / "registering_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("COUNT = []\nfrom . import operators\n")
    (folder / "operators.py").write_text("from . import COUNT\nCOUNT.append(1)\nassert len(COUNT) == 1\n")
    assert import_file(folder / "operators.py").names["COUNT"] == [1]


@pytest.mark.usefixtures("imports")
def test_a_file_named_like_an_imported_module_does_not_replace_it(tmp_path: Path) -> None:
    (tmp_path / "re.py").write_text("SIZE = 4\n")
    assert import_file(tmp_path / "re.py").names["SIZE"] == 4
    assert sys.modules["re"] is re
