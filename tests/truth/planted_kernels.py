"""The kernels that edits are planted in, compiled to TTIR in this process from a text that is in no file."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import Constants
from irscope.compiling.job import Job
from irscope.compiling.kernels import FoundKernel, called_functions, find_kernel, source_function, unwrap
from irscope.compiling.messages import SweepRequest
from irscope.compiling.plan import plan_for
from irscope.compiling.toolchain.compiler import source_of
from irscope.compiling.toolchain.stub_driver import gpu_target
from irscope.model import Config, Kernel, SourceFunction, Target, Toolchain, Value, Variant
from tests.truth import edited_kernels
from tests.truth.corpus import Case

# The target that TTIR is made for. It hardly depends on it.
TARGET = Target("cuda", "90", 32)


@dataclass(frozen=True)
class Compiled:
    """A kernel's text and its TTIR."""

    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    ttir: str

    @property
    def variant(self) -> Variant:
        """A variant of a capture with only what comparing sources needs."""
        kernel = Kernel(1, self.source.name, self.source, self.helpers, ())
        return Variant(1, kernel, TARGET, (), Config(), Toolchain(1, {}, ""))


@dataclass
class EditedFile:
    """A kernel in a file, of which edited texts are compiled without writing them.

    `source` is the kernel as it is in the file, and `job` how it is compiled.
    """

    case: Case
    text: str = field(init=False)
    job: Job = field(init=False)
    source: SourceFunction = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.case.file.read_text()
        self._show(self.text)
        found = find_kernel(self.case.file, self.case.kernel)
        axes: dict[str, tuple[Value, ...]] = {name: (value,) for name, value in self.case.config.items()}
        request = SweepRequest(self.case.file, self.case.kernel, self.case.signature, {}, axes, (TARGET,))
        self.job = plan_for(found, request).jobs[0]
        self.source = source_function(found.function)

    def compile(self, kernel: str) -> Compiled:
        """The TTIR of the kernel with its text replaced by `kernel`; raises what Triton raises."""
        function = self._function(self.text.replace(self.source.text.rstrip("\n"), kernel.rstrip("\n"), 1))
        helpers = tuple(source_function(helper) for helper in called_functions(function))
        return Compiled(source_function(function), helpers, ttir(function, self.job))

    def _function(self, text: str) -> Any:
        """The kernel in a text of its file."""
        self._show(text)
        scope: dict[str, Any] = {"__name__": "planted", "__file__": str(self.case.file)}
        with _importing_from(self.case.file.parent):
            exec(compile(text, str(self.case.file), "exec"), scope)
        found = unwrap(scope[self.case.kernel])
        assert found is not None
        return found.function

    def _show(self, text: str) -> None:
        """Makes `inspect` see a text as the file's."""
        lines = text.splitlines(keepends=True)
        linecache.cache[str(self.case.file)] = (len(text), None, lines, str(self.case.file))


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def ttir(function: Any, job: Job) -> str:
    """The TTIR of a JITFunction; raises what Triton raises."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    target: GPUTarget = gpu_target(job.target)
    backend = make_backend(target)
    source, options = source_of(FoundKernel(function, Constants(function)), job)
    options = backend.parse_options(vars(options) if not isinstance(options, dict) else options)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    make_ir: Callable[..., Any] = source.make_ir
    arguments = [
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    ]
    if "target" in inspect.signature(make_ir).parameters:  # from Triton 3.4 on
        arguments.insert(0, target)
    module = make_ir(*arguments)
    return str(backend.make_ttir(module, {}, options, int(job.target.arch)))


@contextmanager
def quiet() -> Iterator[None]:
    """Without what MLIR prints about kernels that do not compile."""
    sys.stdout.flush()
    saved, sink = (os.dup(1), os.dup(2)), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        yield
    finally:
        sys.stdout.flush()
        for number, own in zip((1, 2), saved, strict=True):
            os.dup2(own, number)
            os.close(own)
        os.close(sink)


def tuned_cases(pattern: str = "*") -> list[Case]:
    """The kernels of `edited_kernels.py`, on which the diff and the sentences were developed."""
    file = Path(edited_kernels.__file__)
    return [
        Case(file, name, ", ".join(types.split()), dict(constants))
        for name, (types, constants) in edited_kernels.SPECS.items()
        if fnmatchcase(name, pattern) or fnmatchcase(f"{file.stem}.{name}", pattern)
    ]
