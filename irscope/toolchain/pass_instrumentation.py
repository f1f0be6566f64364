"""The compiler's passes one by one, in process: each runs in a pass manager of its own.

Triton's backends reach `ir.pass_manager` and `passes.*.add_*` through names of their own modules. While a
stage runs these names are stand-ins that note each call and hand it on; the pipeline stays what it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import ModuleType, SimpleNamespace
from typing import Any

from irscope.capturing.record.patching import replaced
from irscope.model import Failure
from irscope.model.stage import OPTIMIZE, TO_LLVM, pass_name
from irscope.store.encoding import Blob, pack
from irscope.store.writer import NewPass
from irscope.toolchain.coalescing import compiling_anyway

Run = Callable[[Any, dict[str, Any]], Any]

# Told of each pass when it begins, with no seconds yet, and again when it has ended.
Tell = Callable[[NewPass], None]

# Five MB of text a variant: zstd's level 6 would take 60 ms, and save a tenth.
_LEVEL = 1

# libtriton's modules whose functions add passes, by the names under which the backends import them.
_ADDING = ("passes", "nvidia", "amd")


def instrument_stage(stage: str, run: Run, backend: Any, tell: Tell) -> Run:
    """The stage `run` of Triton's `backend`, its pipelines running pass by pass, each told of.

    An entry without a name is a module that no pass made: the first is what the stage received, a later
    one what Triton changed between two pipelines.
    """
    compiler = sys.modules[type(backend).__module__]

    def stage_apart(module: Any, metadata: dict[str, Any]) -> Any:
        recorder = PassInstrumentation(stage, tell)
        with ExitStack() as stack:
            for name, value in _stand_ins(compiler, recorder).items():
                stack.enter_context(replaced(compiler, name, value))
            output = run(module, metadata)
        recorder.done(output)
        return output

    return stage_apart


@contextmanager
def reporting_passes(tell: Tell) -> Iterator[None]:
    """The compilations inside tell of their passes, which run even where Triton's cache has the kernel."""
    from triton import knobs

    before = knobs.runtime.add_stages_inspection_hook

    def hook(*arguments: Any) -> Any:
        given = None if before is None else before(*arguments)
        if not arguments:  # from 3.7 on Triton asks what the hook adds to the cache key: nothing
            return given or ("", "")
        backend, stages = arguments[:2]
        for name, run in list(stages.items()):
            stages[name] = instrument_stage(name, run, backend, tell)
        return given

    with compiling_anyway(), replaced(knobs.runtime, "add_stages_inspection_hook", hook):
        yield


@dataclass(slots=True)
class PassLog:
    """The passes of one compilation that were told of so far."""

    passes: tuple[NewPass, ...] = ()

    def tell(self, new: NewPass) -> None:
        """Takes in a pass that begins, or the one that began last and has ended."""
        before = self.passes[:-1] if self.running else self.passes
        self.passes = (*before, new)

    @property
    def running(self) -> str | None:
        """The pass that has begun and not ended: the one that failed, where the compilation has."""
        last = self.passes[-1] if self.passes else None
        return last.name if last is not None and last.name and not last.seconds else None


def naming_pass(failure: Failure, passes: PassLog) -> Failure:
    """The failure with the pass that it happened in."""
    if passes.running is None:
        return failure
    return replace(failure, summary=f"in pass {pass_name(passes.running)}: {failure.summary}")


@dataclass(slots=True)
class _Running:
    """A pass that runs, and its seconds once it has."""

    name: str
    seconds: float = 0.0


class PassInstrumentation:
    """The passes of one stage. It knows the module's text, so that only what changes it is kept."""

    def __init__(self, stage: str, tell: Tell) -> None:
        self._stage, self._tell = stage, tell
        self._text = ""
        self._last: _Running | None = None

    def received(self, module: Any) -> None:
        """Tells of a module that no pass made, where it is another one than the last."""
        if (content := self._changed(module)) is not None:
            self._tell(NewPass(self._stage, "", 0.0, content))

    @contextmanager
    def timed(self, name: str) -> Iterator[_Running]:
        """Tells of a pass that begins, and takes its time."""
        self._tell(NewPass(self._stage, name, 0.0, None))
        pass_ = _Running(name)
        start = time.perf_counter()
        yield pass_
        pass_.seconds = time.perf_counter() - start

    def ended(self, pass_: _Running, module: Any) -> None:
        """Tells of a pass that has ended, with `module` where it changed that."""
        self._tell(NewPass(self._stage, pass_.name, pass_.seconds, self._changed(module)))

    def left(self, pass_: _Running) -> None:
        """Says that what the stage returns is what this pass leaves."""
        self._last = pass_

    def done(self, output: Any) -> None:
        """Tells of the pass whose module the stage returned."""
        if self._last is not None:
            self.ended(self._last, output)

    def _changed(self, module: Any) -> Blob | None:
        text = str(module)
        if text == self._text:
            return None
        self._text = text
        return pack(text.encode(), _LEVEL)


def _stand_ins(compiler: ModuleType, recorder: PassInstrumentation) -> dict[str, Any]:
    """What stands in for the names of a backend's module."""
    manager = _manager_class(compiler.ir.pass_manager, recorder)
    found = {"ir": _with(compiler.ir, pass_manager=manager), "llvm": _llvm(compiler.llvm, recorder)}
    for name in _ADDING:
        if isinstance(module := vars(compiler).get(name), ModuleType):
            found[name] = _noting_module(module, manager)
    return found


def _with(module: ModuleType, **others: Any) -> SimpleNamespace:
    return SimpleNamespace(**vars(module) | others)


def _manager_class(real: Any, recorder: PassInstrumentation) -> Any:
    """A kind of libtriton's pass manager whose `run` runs each pass in a manager of its own."""

    class PassManager(real):  # type: ignore[misc] # libtriton's class has no types
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.added: list[Callable[[Any], Any]] = []
            self.debugged = False

        def enable_debug(self) -> Any:
            self.debugged = True
            return super().enable_debug()

        def run(self, module: Any, *rest: Any) -> None:
            recorder.received(module)
            instrument_stage = self._apart(module.context)
            # Somebody added a pass past the stand-ins: all run as one.
            if ",".join(map(_pipeline, instrument_stage)) != _pipeline(self):
                instrument_stage = [super()]
            for manager in instrument_stage:
                with recorder.timed(_pipeline(manager)) as pass_:
                    manager.run(module, *rest)
                recorder.ended(pass_, module)

        def _apart(self, context: Any) -> list[Any]:
            managers = [real(context) for _ in self.added]
            for manager, add in zip(managers, self.added, strict=True):
                if self.debugged:
                    manager.enable_debug()
                add(manager)
            return managers

    return PassManager


def _pipeline(manager: Any) -> str:
    """The passes of a manager as MLIR writes them, without the anchor: "cse,canonicalize{...}"."""
    text: str = manager.get_pipeline_str()
    return text.partition("(")[2].removesuffix(")")


def _noting_module(module: ModuleType, manager: Any) -> SimpleNamespace:
    """A module of libtriton and those in it, with functions that note what they add to a `manager`."""
    names: dict[str, Any] = {}
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            names[name] = _noting_module(value, manager)
        elif callable(value) and not isinstance(value, type):
            names[name] = _noting(value, manager)
    return _with(module, **names)


def _noting(function: Callable[..., Any], manager: Any) -> Callable[..., Any]:
    def add(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], manager):
            args[0].added.append(lambda alone: function(alone, *args[1:], **kwargs))
        return function(*args, **kwargs)

    return add


def _llvm(llvm: ModuleType, recorder: PassInstrumentation) -> SimpleNamespace:
    """Triton's `llvm` module, which tells of the translation and of the optimiser.

    The translation ends where the optimiser begins: in between the backends set attributes and link
    libraries. What the optimiser left is what the stage returns: AMD's backend sets attributes after it.
    """
    translated: list[_Running] = []

    def to_module(*args: Any, **kwargs: Any) -> Any:
        with recorder.timed(TO_LLVM) as pass_:
            made = llvm.to_module(*args, **kwargs)
        translated.append(pass_)
        return made

    def optimize_module(module: Any, *args: Any, **kwargs: Any) -> None:
        while translated:
            recorder.ended(translated.pop(), module)
        with recorder.timed(OPTIMIZE) as pass_:
            llvm.optimize_module(module, *args, **kwargs)
        recorder.left(pass_)

    return _with(llvm, to_module=to_module, optimize_module=optimize_module)
