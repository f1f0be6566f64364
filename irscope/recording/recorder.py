"""Turns each compilation that a program requests into a variant; numbers and sends kernels and variants.

Starts the recorders of the front ends that a program uses, each when its package is first imported.
"""

from __future__ import annotations

import fnmatch
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pkgutil import resolve_name
from typing import Any
from weakref import WeakKeyDictionary

from irscope.compiling.kernels import called_functions, source_function
from irscope.compiling.messages import KernelRecorded, Note, Record, RunOptions, ToolchainUsed, VariantDone
from irscope.compiling.plan import versions
from irscope.compiling.standalone import standalone
from irscope.compiling.toolchain.patching import once_imported
from irscope.compiling.toolchain.requested_config import (
    SourceConfig,
    TunedNames,
    requested_config,
    requested_target,
    specialization,
)
from irscope.compiling.toolchain.triton_cache import environment_components
from irscope.model import SourceFunction, Target
from irscope.model.plugins import guarded, problems
from irscope.model.text import pluralize
from irscope.recording.importers.compilation import ImportedCompilation
from irscope.recording.program_link import INTERPRETED, NO_KERNEL_LAUNCHED
from irscope.store.new_variant import NewVariant
from irscope.targets.frontends import Frontend, all_frontends


@dataclass(frozen=True)
class Generated:
    """A front end's description of a kernel that it generated.

    `stages` are the texts of its source stages by name, `files` the paths of those that are files.
    `complete` adds everything else that is known to a new variant of it.
    """

    stages: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    config: SourceConfig | None = None
    complete: Callable[[NewVariant], NewVariant] = lambda variant: variant


# The most kernels that a line about the limit of variants names.
_MOST_NAMED = 5

# A kernel (a JITFunction) -> its front end's description; None if another front end generated it.
FindGenerated = Callable[[Any], Generated | None]


@dataclass
class RecordedCompilation:
    """A compilation: Triton's source, options and target, and the variant that results.

    `sent` is true once the outcome was sent to the capture. `files` are artifacts that exist before the
    compilation: stage -> path.
    """

    number: int
    kernel: int
    source: Any
    options: Any
    target: Any
    variant: NewVariant
    tuned: TunedNames
    sent: bool = False
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Recorder:
    """Numbers and records the kernels and variants of a program.

    `send` takes each record; `known` are the compilations so far by Triton's source hash and options,
    `by_kernel` those done in this process by Triton's CompiledKernel.
    """

    options: RunOptions
    send: Callable[[Record], None]
    known: dict[tuple[str, str], RecordedCompilation] = field(default_factory=dict)
    by_kernel: WeakKeyDictionary[Any, RecordedCompilation] = field(default_factory=WeakKeyDictionary)
    _kernels: dict[str, int] = field(default_factory=dict)
    _sources: dict[SourceFunction, int] = field(default_factory=dict)
    _kernel_count: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    excluded: set[str] = field(default_factory=set)
    _finished: dict[str, int] = field(default_factory=dict)
    _frontends: list[FindGenerated] = field(default_factory=list)
    _generated: dict[tuple[SourceFunction, tuple[SourceFunction, ...]], int] = field(default_factory=dict)
    _versions: dict[str, str] = field(default_factory=dict)
    _loaded: int = 0
    # The variants of each kernel, by its number or its family, and those that the limit leaves out.
    _captured: Counter[int | str | None] = field(default_factory=Counter)
    _left_out: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)

    def request(
        self, source: Any, target: Any, options: Any, tuned: TunedNames
    ) -> tuple[RecordedCompilation | None, bool]:
        """`record` with a target and options as triton.compile takes them. None for a file of IR."""
        from triton.compiler import make_backend
        from triton.runtime import driver

        if not hasattr(source, "fn"):  # a file of IR, which has no kernel
            return None, False
        target = target or driver.active.get_current_target()
        parsed = make_backend(target).parse_options(dict(options or {}))
        return self.record(source, parsed, target, tuned)

    def record(
        self, source: Any, options: Any, target: Any, tuned: TunedNames
    ) -> tuple[RecordedCompilation | None, bool]:
        """Record the compilation of `source`; return it, and True if it is new.

        Returns None instead of the compilation if it is not to be captured.
        """
        name = source.fn.fn.__name__
        if not fnmatch.fnmatchcase(name, self.options.kernels):
            self.excluded.add(name)
            return None, False
        environment = environment_components(options)
        parsed = sorted(vars(options).items(), key=lambda item: item[0])
        key = (source.hash(), f"{target}{parsed}{sorted(environment.items())}")
        with self._lock:
            if key in self.known:
                return self.known[key], False
            generated = self._generated_from(source.fn)
            front_end_config = next(
                (description.config for description in generated if description.config is not None), None
            )
            counted_as = (
                front_end_config.family
                if front_end_config is not None and front_end_config.family
                else self._known_kernel(source.fn)
            )
            if self._is_left_out(counted_as, name, key):
                return None, False
            tuned = tuned if front_end_config is None else TunedNames(autotuned=True)
            variant = NewVariant(
                requested_target(target),
                specialization(source, options, tuned, front_end_config),
                requested_config(source, options, target, tuned, front_end_config),
                cache_key=environment,
                artifacts={
                    stage: text.encode("utf-8", "replace")
                    for description in generated
                    for stage, text in description.stages.items()
                },
                attachments=standalone(source, options, target),
            )
            for description in generated:
                variant = description.complete(variant)
            self._send_toolchain(variant.target)
            files = {stage: path for description in generated for stage, path in description.files.items()}
            number, kernel = self._count(), self._kernel(source.fn, front_end_config)
            self._captured[kernel if counted_as is None else counted_as] += 1
            compilation = RecordedCompilation(
                number, kernel, source, options, target, variant, tuned, files=files
            )
            self.known[key] = compilation
        return compilation, True

    @contextmanager
    def with_frontend(self, find: FindGenerated) -> Iterator[None]:
        """Within the block, a front end is asked about each kernel that is recorded."""
        self._frontends.append(find)
        try:
            yield
        finally:
            self._frontends.remove(find)

    def add_version(self, name: str, text: str) -> None:
        """Add a version, or a limit of the capture, to the toolchain of the variants from now on."""
        self._versions[name] = text
        if self._count():
            self.send(ToolchainUsed(dict(self._versions)))

    def _generated_from(self, function: Any) -> list[Generated]:
        descriptions = (find(function) for find in self._frontends)
        return [description for description in descriptions if description is not None]

    def is_recorded(self, hash_: str) -> bool:
        """Return True if this process has compiled or loaded the kernel with this hash of Triton's."""
        return hash_ in self._finished

    def numbers(self) -> Mapping[str, int]:
        """Return the numbers of the finished variants by their hash of Triton's."""
        return dict(self._finished)

    def numbers_by_file(self) -> Mapping[str, int]:
        """Map each kernel's file to the number of its last variant that was compiled in this process."""
        recorded = list(self.known.values())
        return {compilation.source.fn.fn.__code__.co_filename: compilation.number for compilation in recorded}

    def finished(self, hash_: str, number: int) -> None:
        """Remember that the kernel with this hash is recorded as the variant with this number."""
        self._finished[hash_] = number

    def record_finished(self, found: ImportedCompilation, files: Mapping[str, str]) -> None:
        """Record a kernel that was loaded from a cache; `files` are further artifacts: stage -> path."""
        name = found.source.name
        if not fnmatch.fnmatchcase(name, self.options.kernels):
            self.excluded.add(name)
            return
        with self._lock:
            kernel = self._sources.get(found.source)
            if self.is_recorded(found.key) or self._is_left_out(kernel, name, (found.key,)):
                return
            self._send_toolchain(found.new.target)
            if kernel is None:
                kernel = self._new_kernel(found.source, (), found.parameters)
            self._captured[kernel] += 1
            number = self._count()
            self.send(VariantDone(number, kernel, found.new, files))
            self._loaded += 1
            self.finished(found.key, number)

    def _count(self) -> int:
        """Return the number of variants so far, which is the next one's number."""
        return len(self.known) + self._loaded

    def _is_left_out(self, counted_as: int | str | None, name: str, key: tuple[str, ...]) -> bool:
        """Return True if the kernel has as many variants as may be captured, and remember this one.

        `counted_as` is the kernel's number or family, None if it has no variant yet.
        """
        if self.options.most is None or self._captured[counted_as] < self.options.most:
            return False
        self._left_out.setdefault(name, set()).add(key)
        return True

    def left_out(self) -> str:
        """Return a line that says how many variants of which kernels the limit left out; "" if none."""
        if not self._left_out or self.options.most is None:
            return ""
        counts = [f"{len(keys):,} of {name}" for name, keys in self._left_out.items()]
        more = [pluralize(len(counts) - _MOST_NAMED, "other kernel")] if len(counts) > _MOST_NAMED else []
        limit = f"the limit of {pluralize(self.options.most, 'variant')} per kernel"
        return f"{limit} (--max-variants) left out {', '.join([*counts[:_MOST_NAMED], *more])}"

    def _send_toolchain(self, target: Target) -> None:
        if not self._count():
            self._versions = {**versions((target,)), **_assumed(self.options), **self._versions}
            self.send(ToolchainUsed(dict(self._versions)))

    def why_empty(self) -> str:
        """Explain why nothing was recorded; "" if something was."""
        if self._count():
            return ""
        if self.excluded:
            return f"no kernel matches '{self.options.kernels}', only {', '.join(sorted(self.excluded))}"
        interpreted = os.environ.get("TRITON_INTERPRET", "").lower() in ("1", "true", "yes", "on", "y")
        return INTERPRETED if interpreted else NO_KERNEL_LAUNCHED

    def clear(self) -> None:
        """Forgets all kernels and variants; numbers start over."""
        self.known.clear()
        self.by_kernel.clear()
        self._kernels.clear()
        self._sources.clear()
        self._generated.clear()
        self._kernel_count = 0
        self.excluded.clear()
        self._finished.clear()
        self._loaded = 0
        self._captured.clear()
        self._left_out.clear()

    def _known_kernel(self, function: Any) -> int | None:
        """Return the number of a kernel, or None if it was not sent yet."""
        return self._kernels.get(_kernel_key(function))

    def _kernel(self, function: Any, config: SourceConfig | None) -> int:
        """Return the number of a kernel.

        The kernel is sent only once: reading its text takes as long as a small compilation.
        """
        key = _kernel_key(function)
        if key not in self._kernels:
            helpers = tuple(source_function(helper) for helper in called_functions(function))
            names = tuple(parameter.name for parameter in function.params)
            source = source_function(function)
            if config is None:
                self._kernels[key] = self._new_kernel(source, helpers, names)
            else:
                self._kernels[key] = self._generated_kernel(source, helpers, names, config)
        return self._kernels[key]

    def _generated_kernel(
        self,
        source: SourceFunction,
        helpers: tuple[SourceFunction, ...],
        parameters: tuple[str, ...],
        config: SourceConfig,
    ) -> int:
        """Return the number of a generated kernel: equal texts in different files are the same kernel."""
        same = (replace(source, file="", line=0), helpers)
        if same not in self._generated:
            self._generated[same] = self._new_kernel(source, helpers, parameters, config.family)
        return self._generated[same]

    def _new_kernel(
        self,
        source: SourceFunction,
        helpers: tuple[SourceFunction, ...],
        parameters: tuple[str, ...],
        family: str = "",
    ) -> int:
        number = self._kernel_count
        self._kernel_count += 1
        # A kernel from a cache comes without its helpers: it joins the last one with its source.
        self._sources[source] = number
        self.send(KernelRecorded(number, source, helpers, parameters, family))
        return number


def _kernel_key(function: Any) -> str:
    """Return the text that tells a kernel of the program from the others."""
    return f"{function.cache_key} {function.fn.__qualname__}"


def _assumed(options: RunOptions) -> dict[str, str]:
    """Return the user's assumptions as part of the toolchain.

    With them, the kernels may be others than on a GPU.
    """
    texts = [f"{line or 'any item'}={value}" for line, value in options.assumed.items()]
    return {"assumed": ", ".join(texts)} if texts else {}


@contextmanager
def recorded_frontends(recorder: Recorder) -> Iterator[None]:
    """Record the front ends within the block, whether they are imported before it or in it."""
    recorders = _Recorders(recorder)
    before, frontends = problems(), all_frontends()
    for problem in problems()[len(before) :]:
        recorder.send(Note(problem))
    with recorders.stack:
        for frontend in frontends:
            if frontend.record or frontend.sources:
                recorders.start_with(frontend)
        try:
            yield
        finally:
            recorders.ended = True


class _Recorders:
    """The recorders that run; `stack` ends them."""

    def __init__(self, recorder: Recorder) -> None:
        self.stack = ExitStack()
        self.ended = False
        self._recorder = recorder

    def start_with(self, frontend: Frontend) -> None:
        """Start the recorder of a front end now or as soon as its package is imported."""
        if frontend.package:
            once_imported(frontend.package, lambda: self._start(frontend))
        else:
            self._start(frontend)

    def _start(self, frontend: Frontend) -> None:
        if self.ended:
            return
        try:
            if frontend.sources:
                whose = f"{frontend.sources} of the front end '{frontend.name}'"
                find = guarded(resolve_name(frontend.sources), lambda _: {}, whose)
                self.stack.enter_context(self._recorder.with_frontend(lambda of: Generated(find(of))))
            if frontend.record:
                record: AbstractContextManager[None] = resolve_name(frontend.record)(self._recorder)
                self.stack.enter_context(record)
        except Exception as error:  # noqa: BLE001 - the program goes on without the recorder
            problem = f"{type(error).__name__}: {error}"
            self._recorder.send(Note(f"kernels of {frontend.name} may be missing: {problem}"))
