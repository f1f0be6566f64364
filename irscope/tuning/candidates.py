"""The candidates of an autotuner: what Triton would compile and launch for each of its configs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from irscope.capturing.record.launches import described
from irscope.capturing.record.requested_config import (
    TunedNames,
    requested_config,
    requested_target,
    specialization,
)
from irscope.model import Config, Launch, Target, UserError
from irscope.toolchain.compiler import launch_options, source_class
from irscope.toolchain.source_text import GeneratedTexts, SourceText
from irscope.tuning.autotuner_call import AutotunerCall
from irscope.tuning.jobs import CandidateJob, DeferredText


@dataclass(frozen=True)
class Candidate:
    """One config of an autotuner: `config` is the `triton.Config`, `source` and `options` Triton's.

    `launch` is None if the grid is not known.
    """

    number: int
    config: Any
    source: Any
    options: Any
    gpu: Any
    launch: Launch | None

    @cached_property
    def target(self) -> Target:
        """The target."""
        return requested_target(self.gpu)

    @cached_property
    def key(self) -> str:
        """The hash by which Triton's cache names the compilation."""
        return compilation_key(self.source, self.options, self.gpu)

    @cached_property
    def values(self) -> Config:
        """The config as a variant has it."""
        return requested_config(self.source, self.options, self.gpu, self._names, None)

    @property
    def _names(self) -> TunedNames:
        return TunedNames(True, frozenset(self.config.kwargs))

    def job(self, group: int, texts: GeneratedTexts, most_shared: int | None, full: bool) -> CandidateJob:
        """The job that allocates the candidate's memory, or, if `full`, compiles it."""
        function = self.source.fn
        return CandidateJob(
            Path(function.fn.__code__.co_filename),
            function.fn.__name__,
            self.target,
            specialization(self.source, self.options, self._names, None),
            self.values,
            group,
            number=self.number,
            text=DeferredText(partial(self._text, texts, full)),
            options=self.options,
            most_shared=most_shared,
            launch=self.launch or Launch((), ()) if full else None,
        )

    def _text(self, texts: GeneratedTexts, full: bool) -> SourceText:
        """The text of the source; empty if Triton's cache has the compilation and nothing else is needed."""
        source = self.source
        text = "" if full and is_cached(self.key, source.name) else texts.text(source, self.options, self.gpu)
        return SourceText(source.name, source.hash(), source.ext, source.language.name, text)


def compilation_key(source: Any, options: Any, target: Any) -> str:
    """The hash by which Triton's cache names a compilation (`triton.compile`)."""
    import hashlib

    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import make_backend
    from triton.runtime.cache import get_cache_key

    text = get_cache_key(source, make_backend(target), options, get_cache_invalidating_env_vars())
    return hashlib.sha256(text.encode()).hexdigest()


def is_cached(key: str, name: str) -> bool:
    """Whether Triton's cache has a compilation by its key, and the name of the kernel."""
    from triton.runtime.cache import get_cache_manager

    file = f"{name[:150]}.json"
    return bool((get_cache_manager(key).get_group(file) or {}).get(file))


def candidates_of(call: AutotunerCall, configs: Sequence[Any]) -> list[Candidate]:
    """The candidate of each config.

    Raises whatever the kernel's heuristics, hooks and grid raise; UserError if the program changes the
    compiler.
    """
    from triton import knobs

    if knobs.runtime.add_stages_inspection_hook is not None:
        raise UserError("the program changes the compiler's stages (add_stages_inspection_hook)")
    if any(getattr(config, "ir_override", None) for config in configs):
        raise UserError("a config replaces the compiler's output (ir_override)")
    bind = _binder(call)
    return [_candidate(call, number, config, bind) for number, config in enumerate(configs)]


# Binds the keyword arguments of a launch as Triton's JIT does.
_Bind = Callable[..., tuple[dict[str, Any], list[Any], dict[str, Any]]]


def _binder(call: AutotunerCall) -> _Bind:
    from triton.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    function = call.function
    bind: _Bind = create_function_from_signature(
        function.signature, function.params, make_backend(call.target)
    )
    return bind


def _candidate(call: AutotunerCall, number: int, config: Any, bind: _Bind) -> Candidate:
    from triton.compiler import make_backend

    function = call.function
    given = launch_options(function, call.values(config))
    bound, specialized, options = bind(**given)
    packed = function._pack_args(make_backend(call.target), given, bound, specialized, options)
    parsed, signature, constants, attributes = packed
    source = source_class(function)(function, signature, constants, attributes)
    return Candidate(number, config, source, parsed, call.target, _launch(call, bound))


def _launch(call: AutotunerCall, bound: dict[str, Any]) -> Launch | None:
    grid = call.grid(bound) if callable(call.grid) else call.grid
    if grid is None:
        return None
    sizes = tuple(int(size) for size in grid)
    parameters = [parameter for parameter in call.function.params if not parameter.is_constexpr]
    arguments = tuple((p.name, described(bound[p.name])) for p in parameters)
    return Launch((*sizes, *(1,) * (3 - len(sizes))), arguments)


def groups(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """The candidates with their groups; those of one differ only in num_stages (see `Job.group`)."""
    numbers: dict[tuple[object, ...], int] = {}
    for candidate in candidates:
        rest = tuple(pair for pair in candidate.values.values if pair[0] != "num_stages")
        yield candidate, numbers.setdefault((candidate.source.hash(), str(rest)), len(numbers))
