"""Edits of the compiler's pass pipelines: passes that do not run, and lists of passes that run instead.

Triton's backends add passes through functions of libtriton (`passes.ttgpuir.add_pipeline(pm, 3, False)`).
Within `edited_passes` a pass manager remembers these calls, and runs those that an edit keeps. A pass has the
name that `irscope passes` prints, which is MLIR's ("tritongpu-pipeline"); a name with a number
("canonicalize#2") is only its second run in a stage.

This module also runs in Pythons that have Triton and none of the packages that irscope needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from irscope.compiling.toolchain.pass_instrumentation import (
    AddedPass,
    compiler_modules,
    of_libtriton,
    pipeline_text,
    recording_manager,
    recording_module,
    with_names,
)
from irscope.compiling.toolchain.patching import patched
from irscope.model.records import frozen
from irscope.model.stage import pass_name

_ENTRY = re.compile(r"\s*([\w-]+(?:\(.*\))?(?:\{[^{}]*\})?)\s*(?:,|$)")
_OPTION = re.compile(r"([\w-]+)=([^\s}]+)")


class PassEditError(ValueError):
    """A pass that an edit names cannot be found or built: one line that says which, and which there are."""


@dataclass(slots=True)
class AppliedEdits:
    """The passes of a stage as they were named while it ran, and those that the edit left out."""

    ran: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def keeps(self, name: str, skip: frozenset[str]) -> bool:
        """Record the next pass; whether it runs, if those in `skip` do not."""
        number = self.ran.count(name) + self.skipped.count(name) + 1
        left_out = not {name, f"{name}#{number}"}.isdisjoint(skip)
        (self.skipped if left_out else self.ran).append(name)
        return not left_out


@frozen
class _Named:
    """A pass that a backend adds, and what MLIR calls it with its options."""

    added: AddedPass
    pipeline: str

    @classmethod
    def of(cls, real: Any, context: Any, added: AddedPass) -> _Named:
        manager = real(context)
        added(manager)
        return cls(added, pipeline_text(manager))

    @property
    def name(self) -> str:
        return pass_name(self.pipeline)

    @property
    def options(self) -> dict[str, str]:
        return dict(_OPTION.findall(self.pipeline))


def split_passes(text: str) -> tuple[str, ...]:
    """Return the passes of a list in MLIR's notation: "cse,tritongpu-pipeline{num-stages=2}".

    Raises PassEditError.
    """
    passes, position = [], 0
    while position < len(text):
        match = _ENTRY.match(text, position)
        if match is None:
            raise PassEditError(f"not a list of passes: {text[position : position + 40].strip()!r}")
        passes.append(match[1])
        position = match.end()
    return tuple(passes)


@contextmanager
def edited_passes(
    backend: Any, skip: Sequence[str], replacement: Sequence[str] | None
) -> Iterator[AppliedEdits]:
    """Pass managers of Triton's `backend` run without the passes `skip` within the block.

    If there is a `replacement`, they run those passes instead of all others; of several managers, the first.
    Raises PassEditError if a pass of the replacement is unknown.
    """
    applied = AppliedEdits()
    compilers = compiler_modules(backend)
    with ExitStack() as stack:
        if compilers and (skip or replacement is not None):
            manager = _manager_class(compilers[0].ir.pass_manager, frozenset(skip), replacement, applied)
            for compiler in compilers:
                _install(stack, compiler, manager)
        yield applied


def _install(stack: ExitStack, compiler: ModuleType, manager: Any) -> None:
    stack.enter_context(patched(compiler, "ir", with_names(compiler.ir, pass_manager=manager)))
    for name, module in list(vars(compiler).items()):
        if of_libtriton(module) and (name == "passes" or hasattr(module, "passes")):
            stack.enter_context(patched(compiler, name, recording_module(module, manager)))


def _manager_class(
    real: Any, skip: frozenset[str], replacement: Sequence[str] | None, applied: AppliedEdits
) -> Any:
    """Create a subclass of libtriton's pass manager whose `run` runs the edited list of its passes."""
    replacing = [replacement] if replacement is not None else []

    class EditedPassManager(recording_manager(real)):  # type: ignore[misc] # libtriton's class has no types
        def run(self, module: Any, *rest: Any) -> None:
            passes = [_Named.of(real, module.context, added) for added in self.added]
            if replacing:
                passes = _replaced(real, module.context, passes, replacing.pop())
            manager = real(module.context)
            if self.debugged:
                manager.enable_debug()
            kept_passes = [named_pass for named_pass in passes if applied.keeps(named_pass.name, skip)]
            for named_pass in kept_passes:
                named_pass.added(manager)
            if kept_passes:
                manager.run(module, *rest)

    return EditedPassManager


def _replaced(real: Any, context: Any, own: Sequence[_Named], names: Sequence[str]) -> list[_Named]:
    passes_by_name = {named_pass.name: named_pass for named_pass in reversed(own)}
    return [_requested(real, context, passes_by_name, text) for text in names]


def _requested(real: Any, context: Any, known: Mapping[str, _Named], text: str) -> _Named:
    """Return a pass given in MLIR's notation: as the backend adds it, or with other options."""
    name = pass_name(text)
    named_pass = known.get(name) or _without_arguments(real, context, name)
    if named_pass is None:
        raise PassEditError(f"no pass '{name}' can be added here; known: {', '.join(sorted(known))}")
    for option, value in _OPTION.findall(text):
        if named_pass.options.get(option) != value:
            named_pass = _with_option(real, context, named_pass, option, value)
    return named_pass


def _with_option(real: Any, context: Any, named: _Named, option: str, value: str) -> _Named:
    """Return the pass with the one argument changed that gives it this option."""
    options_wanted, arguments = named.options | {option: value}, named.added.arguments
    for index, argument in enumerate(arguments if option in named.options else ()):
        changed = _parsed(value, argument)
        if changed is None:
            continue
        edited = (*arguments[:index], changed, *arguments[index + 1 :])
        candidate = _Named.of(real, context, AddedPass(named.added.function, edited, named.added.keywords))
        if candidate.options == options_wanted:
            return candidate
    options = ", ".join(named.options) or "none"
    raise PassEditError(f"pass '{named.name}' cannot have the option {option}={value}; options: {options}")


def _parsed(text: str, like: Any) -> Any:
    """`text` as a value of the type of `like`; None if it is not one."""
    if isinstance(like, bool):
        return {"true": True, "false": False}.get(text)
    if isinstance(like, int):
        return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None
    return text if isinstance(like, str) else None


def _without_arguments(real: Any, context: Any, name: str) -> _Named | None:
    """Find a pass of libtriton that this pipeline does not have and that needs no arguments."""
    from triton._C import libtriton

    for function in _adders(libtriton):
        try:
            candidate = _Named.of(real, context, AddedPass(function))
        except TypeError:  # it needs arguments
            continue
        if candidate.name == name:
            return candidate
    return None


def _adders(module: ModuleType) -> Iterator[Callable[..., Any]]:
    for name, value in vars(module).items():
        if of_libtriton(value):
            yield from _adders(value)
        elif name.startswith("add_") and callable(value) and "passes" in module.__name__:
            yield value
