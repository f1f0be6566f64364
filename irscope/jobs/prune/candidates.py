"""The candidates of an autotuner: what Triton would compile and launch for each of its configs.

Triton calls `early_config_prune(configs, named_args, **kwargs)` with everything that the launch was given,
`grid` and `warmup` included, but not with the kernel: the autotuner is found on the call stack. The jobs of
the processes that compile candidates, and their results, are plain data.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.compiling.job import Job, job_group
from irscope.compiling.standalone.source_text import GeneratedTexts, SourceText
from irscope.compiling.toolchain.compiler import launch_options, source_class
from irscope.compiling.toolchain.requested_config import (
    TunedNames,
    requested_config,
    requested_target,
    specialization,
)
from irscope.compiling.worker import failure_of
from irscope.model import Config, Failure, Launch, UserError, Variant
from irscope.model.records import frozen
from irscope.recording.launch_records import described, integer_values

if TYPE_CHECKING:
    from irscope.interpreting.bits.classes import Evaluation

# The kinds of reasons to drop a config, in the order in which they are reported.
CANNOT_LAUNCH, NOT_COMPILED, DUPLICATE, SLOWER = "cannot launch", "not compiled", "duplicate", "slower"
OTHER_BITS, UNKNOWN_BITS = "other bits", "unknown bits"
# Keyword arguments of a launch that are none of the kernel.
_OF_LAUNCH = ("grid", "warmup")
# Frames between the prune function and the autotuner: those of the user's own prune function.
_MOST_FRAMES = 50


@dataclass(frozen=True)
class AutotunerCall:
    """An autotuned launch: `function` is Triton's JITFunction; `grid` a tuple or a function, None if unknown.

    `heuristics` are those between the autotuner and the function, in the order in which they apply.
    `hook` is the autotuner's own pre_hook if the user wrote it.
    """

    function: Any
    heuristics: tuple[Mapping[str, Any], ...]
    arguments: Mapping[str, Any]
    grid: Any
    target: Any
    hook: Any = None

    def values(self, config: Any) -> dict[str, Any]:
        """Return the keyword arguments of the launch with a `triton.Config`.

        They are as the autotuner would pass them. A pre_hook runs only if it can change what is
        compiled: on copies of the tensor descriptors.
        """
        named = {name: _copied(value) for name, value in self.arguments.items()}
        current = {**named, **config.all_kwargs()}
        if any(_is_descriptor(value) for value in named.values()):
            for hook in (config.pre_hook, self.hook):
                if hook is not None:
                    hook(current)
        for heuristics in self.heuristics:
            for name, heuristic in heuristics.items():
                current[name] = heuristic(dict(current))
        return current


def _is_descriptor(value: Any) -> bool:
    return hasattr(value, "block_shape") and hasattr(value, "base")


def _copied(value: Any) -> Any:
    """Return a copy of a tensor descriptor, with its own block shape; anything else itself."""
    if not _is_descriptor(value):
        return value
    copied = copy.copy(value)
    if isinstance(copied.block_shape, list):
        object.__setattr__(copied, "block_shape", list(copied.block_shape))
    return copied


def call_of_autotuner(named_args: Mapping[str, Any], kwargs: Mapping[str, Any]) -> AutotunerCall:
    """Return the call of the autotuner on the stack.

    Raises UserError if there is none, or an unknown decorator.
    """
    from triton.runtime import driver

    autotuner = _autotuner_on_stack()
    if autotuner is None:
        raise UserError("it was not called by @triton.autotune, so the kernel is not known")
    function, heuristics = unwrapped(autotuner.fn)
    arguments = {**named_args, **{k: v for k, v in kwargs.items() if k not in _OF_LAUNCH}}
    hook = autotuner.pre_hook if getattr(autotuner, "user_defined_pre_hook", False) else None
    target = driver.active.get_current_target()
    return AutotunerCall(function, heuristics, arguments, kwargs.get("grid"), target, hook)


def unwrapped(decorated: Any) -> tuple[Any, tuple[Mapping[str, Any], ...]]:
    """Return the JITFunction in a decorated kernel, and its heuristics.

    Raises UserError for another decorator.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    heuristics: list[Mapping[str, Any]] = []
    while not isinstance(decorated, JITFunction):
        if isinstance(decorated, Heuristics):
            heuristics.append(decorated.values)
        elif not isinstance(decorated, Autotuner):
            raise UserError(f"the decorator {type(decorated).__name__} may change the kernel's arguments")
        decorated = decorated.fn
    return decorated, tuple(heuristics)


def _autotuner_on_stack() -> Any:
    from triton.runtime.autotuner import Autotuner

    frame = sys._getframe(1).f_back
    for _ in range(_MOST_FRAMES):
        caller = frame.f_locals.get("self") if frame is not None else None
        if isinstance(caller, Autotuner):
            return caller
        frame = frame.f_back if frame is not None else None
    return None


def call_with(kernel: Any, arguments: Sequence[Any], named: Mapping[str, Any], target: Any) -> AutotunerCall:
    """Return a launch of `kernel` with these arguments.

    Raises UserError if they do not fit the kernel.
    """
    function, heuristics = unwrapped(kernel)
    try:
        bound = inspect.signature(function.fn).bind_partial(
            *arguments, **{name: value for name, value in named.items() if name in function.arg_names}
        )
    except TypeError as error:
        raise UserError(f"{function.__name__}: {error}") from error
    options = {k: v for k, v in named.items() if k not in function.arg_names and k not in _OF_LAUNCH}
    return AutotunerCall(function, heuristics, {**bound.arguments, **options}, named.get("grid"), target)


class DeferredText:
    """The text of a candidate, generated when its job is sent: workers compile while others are generated."""

    def __init__(self, generate: Callable[[], SourceText]) -> None:
        self._generate = generate

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the SourceText, or as the Failure of generating it."""
        try:
            return _same, (self._generate(),)
        except Exception as error:  # noqa: BLE001 - the kernel's own code
            return _same, (failure_of(error),)


def _same(value: SourceText | Failure) -> SourceText | Failure:
    return value


@frozen
class CandidateJob(Job):
    """One candidate of an autotuner: allocates its memory or, if `launch` is given, compiles it.

    `number` is its place among the candidates. `options` are the backend's parsed options, `most_shared`
    the bytes of shared memory that a block may have. `bits`: it also evaluates what the launch computes.
    """

    number: int = 0
    text: DeferredText | SourceText | Failure = field(default_factory=lambda: Failure("", "", ""))
    options: Any = None
    most_shared: int | None = None
    launch: Launch | None = None
    bits: bool = False


@frozen
class Drop:
    """Why a config is dropped: the kind, and a line. `failure` is the kind of a failed compilation."""

    kind: str
    reason: str
    failure: str = ""


@frozen
class CompiledCandidate:
    """A compiled candidate: the variant, its facts (`facts.measure.to_json`), and the estimated time.

    `microseconds` is None if the candidate could not be estimated; `note` says why. `bound` is what limits
    it ("memory"). `evaluation` is what it computes, if that was asked for. `error` is how many times larger
    than usual the error of the estimate may be.
    """

    variant: Variant
    facts: Mapping[str, Any]
    microseconds: float | None = None
    bound: str = ""
    note: str = ""
    evaluation: Evaluation | None = None
    error: float = 1.0


# What is known of a candidate; None: nothing against it.
CandidateResult = Drop | CompiledCandidate | None


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
    def key(self) -> str:
        """Return the hash by which Triton's cache names the compilation (`triton.compile`)."""
        from triton._C.libtriton import get_cache_invalidating_env_vars
        from triton.compiler import make_backend
        from triton.runtime.cache import get_cache_key

        backend, variables = make_backend(self.gpu), get_cache_invalidating_env_vars()
        text = get_cache_key(self.source, backend, self.options, variables)
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def values(self) -> Config:
        """Return the config as a variant has it."""
        return requested_config(self.source, self.options, self.gpu, self._names, None)

    @property
    def _names(self) -> TunedNames:
        return TunedNames(True, frozenset(self.config.kwargs))

    def job(
        self, group: int, texts: GeneratedTexts, most_shared: int | None, full: bool, bits: bool = False
    ) -> CandidateJob:
        """Return the job that allocates the candidate's memory, or, if `full`, compiles it.

        `bits`: it also evaluates what the launch computes.
        """
        function = self.source.fn
        return CandidateJob(
            Path(function.fn.__code__.co_filename),
            function.fn.__name__,
            requested_target(self.gpu),
            specialization(self.source, self.options, self._names, None),
            self.values,
            group,
            number=self.number,
            text=DeferredText(partial(self._text, texts, full)),
            options=self.options,
            most_shared=most_shared,
            launch=self.launch or Launch((), ()) if full else None,
            bits=bits,
        )

    def _text(self, texts: GeneratedTexts, full: bool) -> SourceText:
        """Return the text of the source.

        It is empty if Triton's cache has the compilation and nothing else is needed.
        """
        from triton.runtime.cache import get_cache_manager

        source, file = self.source, f"{self.source.name[:150]}.json"
        is_cached = full and (get_cache_manager(self.key).get_group(file) or {}).get(file)
        text = "" if is_cached else texts.text(source, self.options, self.gpu)
        return SourceText(source.name, source.hash(), source.ext, source.language.name, text)


def candidates_of(call: AutotunerCall, configs: Sequence[Any]) -> list[Candidate]:
    """Return the candidate of each config.

    Raises whatever the kernel's heuristics, hooks and grid raise; UserError if the program changes
    the compiler.
    """
    from triton import knobs
    from triton.compiler import make_backend
    from triton.runtime.jit import create_function_from_signature

    if knobs.runtime.add_stages_inspection_hook is not None:
        raise UserError("the program changes the compiler's stages (add_stages_inspection_hook)")
    if any(getattr(config, "ir_override", None) for config in configs):
        raise UserError("a config replaces the compiler's output (ir_override)")
    backend, function = make_backend(call.target), call.function
    bind = create_function_from_signature(function.signature, function.params, backend)
    candidates = []
    for number, config in enumerate(configs):
        keywords = launch_options(function, call.values(config))
        bound, specialized, options = bind(**keywords)
        packed = function._pack_args(backend, keywords, bound, specialized, options)
        parsed, signature, constants, attributes = packed
        source = source_class(function)(function, signature, constants, attributes)
        candidates.append(Candidate(number, config, source, parsed, call.target, _launch(call, bound)))
    return candidates


def _launch(call: AutotunerCall, bound: dict[str, Any]) -> Launch | None:
    grid = call.grid(bound) if callable(call.grid) else call.grid
    if grid is None:
        return None
    sizes = tuple(int(size) for size in grid)
    parameters = [parameter for parameter in call.function.params if not parameter.is_constexpr]
    arguments = tuple((p.name, described(bound[p.name])) for p in parameters)
    values = integer_values(call.function, [(p.name, bound[p.name]) for p in parameters])
    return Launch((*sizes, *(1,) * (3 - len(sizes))), arguments, values=tuple(values))


def groups(candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, int]]:
    """Yield the candidates with their groups.

    Those of one group differ only in num_stages (see `Job.group`).
    """
    numbers: dict[object, int] = {}
    for candidate in candidates:
        yield candidate, job_group(numbers, candidate.values, candidate.source.hash())
