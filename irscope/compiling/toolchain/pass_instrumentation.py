"""Runs the compiler's passes one at a time, each in its own pass manager, and reports each.

While a stage runs, the names through which Triton's backends add passes are proxies (see `pass_proxies`).

Proxies of libtriton's modules that remember which passes a backend adds to a pass manager.

Triton's backends reach `ir.pass_manager` and `passes.*.add_*` through names in their own modules. Patched
with these proxies, each call is recorded and forwarded; the pipeline does not change.

The coalescing pass's debug output: which pointers it knew to be contiguous and aligned, and its choice.
Triton prints it to fd 2, on separate lines, if TRITON_LLVM_DEBUG_ONLY names the pass.

This module also runs in Pythons that have Triton and none of the packages that irscope needs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

from irscope.compiling.toolchain.patching import patched, variable_set
from irscope.model.records import frozen
from irscope.model.stage import OPTIMIZE, TO_LLVM
from irscope.store.encoding import Blob, pack
from irscope.store.new_variant import NewPass

_COALESCE = "tritongpu-coalesce"
_DEBUG_VARIABLE = "TRITON_LLVM_DEBUG_ONLY"
_COALESCE_PREFIX = f"[{_COALESCE}]:"

# A stage of a Triton backend: takes the module and the metadata, returns the module.
RunStage = Callable[[Any, dict[str, Any]], Any]


@contextmanager
def always_compile() -> Iterator[None]:
    """Compilations within the block run every pass even if Triton's cache has the result."""
    from triton import knobs

    with knobs.compilation.scope():
        knobs.compilation.always_compile = True
        yield


def with_coalescing_output(run: RunStage) -> RunStage:
    """Wrap the TTGIR stage `run` so that its coalescing pass prints its reasons.

    The variable is part of Triton's cache key, so it is set only while this stage runs, after the
    key was computed.
    """

    def stage(module: Any, metadata: dict[str, Any]) -> Any:
        with variable_set(_DEBUG_VARIABLE, _COALESCE):
            return run(module, metadata)

    return stage


def split_coalescing_output(text: str) -> tuple[str, str]:
    """Split a worker's output into everything else and the lines of the coalescing pass."""
    lines = text.splitlines(keepends=True)
    reasons = [line for line in lines if line.startswith(_COALESCE_PREFIX)]
    return "".join(line for line in lines if not line.startswith(_COALESCE_PREFIX)), "".join(reasons)


_LIBTRITON = "triton._C.libtriton"


@frozen
class AddedPass:
    """A call of libtriton that added a pass, without the pass manager; called with one, it adds the pass."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, manager: Any) -> None:
        """Add the pass to a pass manager."""
        self.function(manager, *self.arguments, **self.keywords)


def compiler_modules(backend: Any) -> list[ModuleType]:
    """Return the modules of a backend that use libtriton: of its class, its bases and its imports."""
    class_modules = [sys.modules[base.__module__] for base in type(backend).__mro__]
    borrowed = [
        value for module in class_modules for value in vars(module).values() if isinstance(value, ModuleType)
    ]
    by_id = {
        id(module): module for module in (*class_modules, *borrowed) if of_libtriton(vars(module).get("ir"))
    }
    return list(by_id.values())


def of_libtriton(value: object) -> bool:
    """Return True if a value is a module within libtriton."""
    return isinstance(value, ModuleType) and value.__name__.startswith(f"{_LIBTRITON}.")


def with_names(module: ModuleType, **others: Any) -> SimpleNamespace:
    """Return the names of a module, some of them with another value."""
    return SimpleNamespace(**vars(module) | others)


def recording_manager(real: Any) -> Any:
    """Create a subclass of libtriton's pass manager that records.

    It has the list `added` of `recording_module`, and `debugged`.
    """

    class RecordingManager(real):  # type: ignore[misc] # libtriton's class has no types
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.added: list[AddedPass] = []
            self.debugged = False

        def enable_debug(self) -> Any:
            self.debugged = True
            return super().enable_debug()

    return RecordingManager


def recording_module(module: ModuleType, manager: Any) -> SimpleNamespace:
    """Copy a module of libtriton and its submodules; the functions record the passes that they add.

    Instances of the class `manager` have a list `added`, to which an AddedPass is appended per
    pass.
    """
    names: dict[str, Any] = {}
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            names[name] = recording_module(value, manager)
        elif callable(value) and not isinstance(value, type):
            names[name] = _recording(value, manager)
    return with_names(module, **names)


def _recording(function: Callable[..., Any], manager: Any) -> Callable[..., Any]:
    def add(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], manager):
            args[0].added.append(AddedPass(function, args[1:], kwargs))
        return function(*args, **kwargs)

    return add


def pipeline_text(manager: Any) -> str:
    """Return a manager's passes in MLIR's notation, without the anchor: "cse,canonicalize{...}"."""
    text: str = manager.get_pipeline_str()
    return text.partition("(")[2].removesuffix(")")


# Called when a pass begins (no seconds yet) and again when it has ended.
ReportPass = Callable[[NewPass], None]

# A variant has about 5 MB of pass text: zstd's level 6 would take 60 ms longer and save 10 %.
_LEVEL = 1


def instrument_stage(stage: str, run: RunStage, backend: Any, report: ReportPass) -> RunStage:
    """Wrap the stage `run` of Triton's `backend` to run and report its passes one by one.

    An entry without a name is a module that no pass produced: the first is the stage's input, a
    later one is the module after Triton changed it between two pipelines.
    """
    compilers = compiler_modules(backend)

    def instrumented(module: Any, metadata: dict[str, Any]) -> Any:
        instrumentation = PassInstrumentation(stage, report)
        with ExitStack() as stack:
            for compiler, name, proxy in _proxies(compilers, instrumentation):
                stack.enter_context(patched(compiler, name, proxy))
            output = run(module, metadata)
        instrumentation.finish(output)
        return output

    return instrumented


@contextmanager
def reporting_passes(report: ReportPass) -> Iterator[None]:
    """Report the passes of the compilations within the block, which run even if Triton's cache has them."""
    from triton import knobs

    before = knobs.runtime.add_stages_inspection_hook

    def hook(*arguments: Any) -> Any:
        hook_result = None if before is None else before(*arguments)
        if not arguments:  # from 3.7 on, Triton asks what the hook adds to the cache key: nothing
            return hook_result or ("", "")
        backend, stages = arguments[:2]
        for name, run in list(stages.items()):
            stages[name] = instrument_stage(name, run, backend, report)
        return hook_result

    with always_compile(), patched(knobs.runtime, "add_stages_inspection_hook", hook):
        yield


@dataclass(slots=True)
class _TimedPass:
    """A pass and, once it has ended, its seconds."""

    name: str
    seconds: float = 0.0


class PassInstrumentation:
    """Reports the passes of one stage, with the module's text only if the pass changed it."""

    def __init__(self, stage: str, report: ReportPass) -> None:
        self._stage, self._report = stage, report
        self._text = ""
        self._last: _TimedPass | None = None

    def report_input(self, module: Any) -> None:
        """Report a module that no pass produced, if it differs from the last one."""
        if (content := self._changed(module)) is not None:
            self._report(NewPass(self._stage, "", 0.0, content))

    @contextmanager
    def timed(self, name: str) -> Iterator[_TimedPass]:
        """Report that a pass begins and measures its time."""
        self._report(NewPass(self._stage, name, 0.0, None))
        pass_ = _TimedPass(name)
        start = time.perf_counter()
        yield pass_
        pass_.seconds = time.perf_counter() - start

    def report_end(self, pass_: _TimedPass, module: Any) -> None:
        """Report that a pass has ended, with `module` if it changed."""
        self._report(NewPass(self._stage, pass_.name, pass_.seconds, self._changed(module)))

    def ends_with_stage(self, pass_: _TimedPass) -> None:
        """Postpones the report of a pass until the stage returns its module."""
        self._last = pass_

    def finish(self, output: Any) -> None:
        """Report the postponed pass; `output` is what the stage returned."""
        if self._last is not None:
            self.report_end(self._last, output)

    def _changed(self, module: Any) -> Blob | None:
        text = str(module)
        if text == self._text:
            return None
        self._text = text
        return pack(text.encode(), _LEVEL)


def _proxies(
    compilers: list[ModuleType], instrumentation: PassInstrumentation
) -> Iterator[tuple[ModuleType, str, Any]]:
    """Yield the proxies of the names in a backend's modules: the module, the name and the proxy."""
    if not compilers:
        return
    manager = _manager_class(compilers[0].ir.pass_manager, instrumentation)
    for compiler in compilers:
        yield compiler, "ir", with_names(compiler.ir, pass_manager=manager)
        for name, module in list(vars(compiler).items()):
            if name == "llvm" and of_libtriton(module):
                yield compiler, name, _llvm(module, instrumentation)
            elif of_libtriton(module) and (name == "passes" or hasattr(module, "passes")):
                yield compiler, name, recording_module(module, manager)


def _manager_class(real: Any, instrumentation: PassInstrumentation) -> Any:
    """Create a subclass of libtriton's pass manager whose `run` runs each pass in its own manager."""

    class InstrumentedPassManager(recording_manager(real)):  # type: ignore[misc] # libtriton's class has no types
        def run(self, module: Any, *rest: Any) -> None:
            instrumentation.report_input(module)
            managers = self._one_per_pass(module.context)
            # A pass was added past the proxies: run all of them together.
            if ",".join(map(pipeline_text, managers)) != pipeline_text(self):
                managers = [super()]
            for manager in managers:
                with instrumentation.timed(pipeline_text(manager)) as pass_:
                    manager.run(module, *rest)
                instrumentation.report_end(pass_, module)

        def _one_per_pass(self, context: Any) -> list[Any]:
            managers = [real(context) for _ in self.added]
            for manager, add in zip(managers, self.added, strict=True):
                if self.debugged:
                    manager.enable_debug()
                add(manager)
            return managers

    return InstrumentedPassManager


def _llvm(llvm: ModuleType, instrumentation: PassInstrumentation) -> SimpleNamespace:
    """Triton's `llvm` module, reporting the translation to LLVM and the optimizer as passes.

    The module after the translation is the optimizer's input: between the two, the backends set
    attributes and link libraries. The module after the optimizer is what the stage returns, because
    AMD's backend sets attributes after it.
    """
    translated: list[_TimedPass] = []

    def to_module(*args: Any, **kwargs: Any) -> Any:
        with instrumentation.timed(TO_LLVM) as pass_:
            module = llvm.to_module(*args, **kwargs)
        translated.append(pass_)
        return module

    def optimize_module(module: Any, *args: Any, **kwargs: Any) -> None:
        while translated:
            instrumentation.report_end(translated.pop(), module)
        with instrumentation.timed(OPTIMIZE) as pass_:
            llvm.optimize_module(module, *args, **kwargs)
        instrumentation.ends_with_stage(pass_)

    return with_names(llvm, to_module=to_module, optimize_module=optimize_module)
