"""Missing extension modules: named after a program that failed, and replaced by stubs on request."""

from __future__ import annotations

import importlib
import subprocess
from contextlib import suppress

import pytest

from irscope.compiling.fake_cuda.libraries import (
    noticed_driver_queries,
    print_driver_queries,
    print_missing,
    stub_modules,
)
from irscope.compiling.toolchain.stub_driver import NeedsGpuError


def test_a_stub_can_be_imported_but_calling_its_functions_stops_the_program():
    with stub_modules(("no_such_2_cuda",)):
        stub = importlib.import_module("no_such_2_cuda")
        assert importlib.import_module("no_such_2_cuda.ops").__name__ == "no_such_2_cuda.ops"
        with pytest.raises(NeedsGpuError, match="--stub-module replaces"):
            stub.fwd(1)
        assert not hasattr(stub, "__version__")
    assert importlib.util.find_spec("json") is not None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_3_cuda")


def test_extension_modules_that_are_missing_are_named_with_what_to_do(capsys: pytest.CaptureFixture[str]):
    with stub_modules(()):
        for name in ("no_such_4_cuda", "no_such_4_cuda", "no_such_package", "json"):
            with suppress(ModuleNotFoundError):
                importlib.import_module(name)
        print_missing()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "irscope: the extension module no_such_4_cuda is missing: install it, or --stub-module"
    )


def test_questions_to_the_driver_are_named_with_what_to_do(capsys: pytest.CaptureFixture[str]):
    with noticed_driver_queries():
        for command in (["nvidia-smi", "-L"], "nvidia-smi", ["no-such-program"]):
            with suppress(OSError):
                subprocess.run(command, check=False, capture_output=True)
        try:
            try:
                raise ModuleNotFoundError("No module named 'pynvml'")
            except ModuleNotFoundError as missing:
                raise RuntimeError("no clock rate") from missing
        except RuntimeError as error:
            print_driver_queries(error)
    smi, nvml = capsys.readouterr().err.splitlines()
    assert smi.startswith("irscope: the program ran nvidia-smi, which finds no GPU here: ")
    assert "GEMS_VENDOR=nvidia" in smi
    assert nvml.startswith("irscope: the program asked NVML, which answers nothing without a GPU: ")
    assert "nvidia-ml-py" in nvml
    with noticed_driver_queries():
        print_driver_queries(ValueError("something else"))
    assert capsys.readouterr().err == ""
