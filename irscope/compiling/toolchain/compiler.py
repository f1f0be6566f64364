"""Compiles one variant with Triton's own compiler and emits each stage as soon as it is done.

Runs only in worker processes: a crash ends the process, but the stages emitted before are not lost.
"""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irscope.compiling.constexpr_values import Constants
from irscope.compiling.job import Emit, Job, Outcome, PassLog
from irscope.compiling.kernels import FoundKernel, find_kernel
from irscope.compiling.standalone import standalone
from irscope.compiling.toolchain.pass_instrumentation import (
    RunStage,
    always_compile,
    instrument_stage,
    with_coalescing_output,
)
from irscope.compiling.toolchain.patching import patched
from irscope.compiling.toolchain.stub_driver import gpu_target
from irscope.compiling.toolchain.triton_cache import cache_key, digest, read_sidecar, write_sidecar
from irscope.model import UserError
from irscope.store.new_variant import NewPass
from irscope.targets import backend_named


@dataclass(slots=True)
class _StageResult:
    """A stage's output, the metadata that it set, the ptxas log, and its passes if they are recorded."""

    output: Any
    metadata: dict[str, Any]
    log: str | None
    passes: tuple[NewPass, ...]


class StageMemory:
    """Results of the stages after TTGIR, by their input.

    Variants of one group often have identical TTGIR; LLVM and ptxas then run only for the first. Groups
    are compiled one after the other, so the results are dropped when the next group begins.
    """

    def __init__(self) -> None:
        self._group: tuple[Any, ...] = ()
        self._results: dict[str, _StageResult] = {}

    def begin(self, *group: Any) -> None:
        """Set the group that the next variant belongs to."""
        if group != self._group:
            self._group, self._results = group, {}

    def get(self, key: str) -> _StageResult | None:
        """Return the result for this input, if there is one."""
        return self._results.get(key)

    def put(self, key: str, result: _StageResult) -> None:
        """Remembers the result for this input."""
        self._results[key] = result


def compile_job(job: Job, memory: StageMemory, emit: Emit) -> None:
    """Compiles `job` as Triton's JIT would. Raises whatever Triton raises, UserError for a known problem."""
    if job.problem:
        raise UserError(job.problem)
    kernel = find_kernel(job.file, job.kernel)
    for text in job.expressions:
        kernel.constants.evaluate(text)
    for stage, text in kernel.source_stages.items():
        emit(Outcome({stage: text.encode("utf-8", "replace")}))
    source, options = source_of(kernel, job)
    target = gpu_target(job.target)
    emit(Outcome(attachments=dict(standalone(source, options, target))))
    memory.begin(job.file, job.kernel, job.target, job.group)
    emit(Outcome(cache_key=cache_key(source, target, options)))
    compile_stages(source, options, target, memory, emit, job.reasons, job.passes)


def source_of(found: FoundKernel, job: Job) -> tuple[Any, Any]:
    """Return the JIT's input for `job`: an ASTSource of the kernel and the backend's parsed options."""
    from triton.compiler import make_backend

    function, backend = found.function, make_backend(gpu_target(job.target))
    options, signature, constexprs, attrs = pack_arguments(function, found.constants, job, backend)
    return source_class(function)(function, signature, constexprs, attrs), options


def source_class(function: Any) -> Any:
    """Return the class of the sources of Triton's kernels, or of Gluon's."""
    if function.is_gluon():
        from triton.experimental.gluon._runtime import GluonASTSource

        return GluonASTSource
    from triton.compiler import ASTSource

    return ASTSource


def compile_stages(
    source: Any,
    options: Any,
    target: Any,
    memory: StageMemory,
    emit: Emit,
    reasons: bool = False,
    passes: bool = False,
) -> None:
    """Compile a source with a backend's parsed options; `target` is Triton's.

    Raises whatever Triton raises.
    """
    import triton

    watch = _StageWatch(memory, emit, backend_named(target.backend).log_stage, reasons, passes)
    with always_compile() if reasons or passes else contextlib.nullcontext(), watch.installed():
        compiled = triton.compile(source, target=target, options=vars(options))
    emit(Outcome(metadata=plain_metadata(compiled.metadata)))
    seconds: dict[str, float] = {}
    if watch.seconds:
        write_sidecar(compiled.hash, watch.log, watch.seconds)
    else:
        log, seconds = read_sidecar(compiled.hash)
        emit(Outcome(cached=True, log=log))
    for stage, content in compiled.asm.items():
        times = {stage: seconds[stage]} if stage in seconds else {}
        emit(Outcome({stage: _to_bytes(content)}, times))


def plain_metadata(metadata: Any) -> dict[str, Any]:
    """Triton's metadata (a named tuple) as JSON values."""
    plain: dict[str, Any] = json.loads(json.dumps(metadata._asdict(), default=_jsonable))
    return plain


def pack_arguments(function: Any, constants: Constants, job: Job, backend: Any) -> tuple[Any, Any, Any, Any]:
    """Options, signature, constants and attributes, assembled by the JIT's own `_pack_args`."""
    arguments_by_name = {argument.name: argument for argument in job.specialization}
    values = dict(job.config.values)
    bound: dict[str, Any] = {}
    specialization: list[tuple[str, Any]] = []
    for parameter in function.params:
        argument = arguments_by_name.get(parameter.name)
        if argument is not None and argument.type != "constexpr":
            bound[parameter.name] = None
            specialization.append((argument.type, argument.key))
            continue
        if parameter.name in values:
            value = constants.real(values[parameter.name])
        else:
            value = constants.real(argument.value) if argument is not None else parameter.default
        bound[parameter.name] = value
        specialization.append(("constexpr", value))
    # The JIT passes all keyword arguments of a launch on: `num_warps` sets the option, and a parameter of
    # that name too.
    options = launch_options(function, values)
    packed: tuple[Any, Any, Any, Any] = function._pack_args(backend, options, bound, specialization, None)
    return packed


def launch_options(function: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a launch's keyword arguments `values` those that the JIT adds (`JITFunction.run`)."""
    from triton import knobs

    debug = values.get("debug", function.debug) or knobs.runtime.debug
    added = {"debug": debug, "instrumentation_mode": knobs.compilation.instrumentation_mode}
    if hasattr(knobs.compilation, "fpsan_homomorphic_casts"):  # 3.9
        added["fpsan_homomorphic_casts"] = knobs.compilation.fpsan_homomorphic_casts
    return {**values, **added}


class _StageWatch:
    """Wraps each stage of a compilation: times it, emits its output, remembers its result."""

    def __init__(self, memory: StageMemory, emit: Emit, log_stage: str, reasons: bool, passes: bool) -> None:
        self._memory, self._emit, self._log_stage = memory, emit, log_stage
        self._reasons, self._record_passes = reasons, passes
        self._passes = PassLog()
        self._hook_before: Callable[..., Any] | None = None
        self.seconds: dict[str, float] = {}
        self.log: str | None = None

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Triton calls the watch for each compilation within the block."""
        from triton import knobs

        self._hook_before = knobs.runtime.add_stages_inspection_hook
        with patched(knobs.runtime, "add_stages_inspection_hook", self._hook):
            yield

    def _hook(self, *arguments: Any) -> tuple[str, str] | None:
        if not arguments:  # from 3.7 on, Triton asks what the hook adds to the cache key: nothing
            return ("", "")
        backend, stages, options = arguments[:3]
        if self._hook_before is not None:
            self._hook_before(*arguments)
        late = list(stages)[list(stages).index("ttgir") + 1 :] if "ttgir" in stages else []
        if self._reasons and "ttgir" in stages:
            stages["ttgir"] = with_coalescing_output(stages["ttgir"])
        for name, run in list(stages.items()):
            key = _late_options(backend, options) if name in late else None
            instrumented = instrument_stage(name, run, backend, self._report) if self._record_passes else run
            stages[name] = self._wrapped(name, instrumented, key)
        return None

    def _wrapped(self, name: str, run: RunStage, options: str | None) -> RunStage:
        def stage(module: Any, metadata: dict[str, Any]) -> Any:
            key = None if options is None else digest(name, options, str(module))
            result = None if key is None else self._memory.get(key)
            seconds = None
            if result is None:
                result, seconds = self._run(name, run, module, metadata)
                if key is not None:
                    self._memory.put(key, result)
            else:
                for entry in result.passes:
                    self._report(entry)
            metadata.update(result.metadata)
            if result.log is not None:
                self.log = result.log
            times = {} if seconds is None else {name: seconds}
            self._emit(Outcome({name: _to_bytes(result.output)}, times, log=result.log))
            return result.output

        return stage

    def _run(
        self, name: str, run: RunStage, module: Any, metadata: dict[str, Any]
    ) -> tuple[_StageResult, float]:
        before, first_pass = dict(metadata), len(self._passes.passes)
        printed = io.StringIO()
        start = time.perf_counter()
        # Triton prints the ptxas log from Python; nothing else prints to stdout during that stage.
        logged = name == self._log_stage
        with contextlib.redirect_stdout(printed) if logged else contextlib.nullcontext():
            output = run(module, metadata)
        seconds = self.seconds[name] = time.perf_counter() - start
        changed = {k: v for k, v in metadata.items() if k not in before or before[k] is not v}
        log = printed.getvalue() if logged else None
        return _StageResult(output, changed, log, self._passes.passes[first_pass:]), seconds

    def _report(self, entry: NewPass) -> None:
        self._passes.add(entry)
        self._emit(Outcome(passes=(entry,)))


def _late_options(backend: Any, options: Any) -> str:
    """Return the options that the stages after TTGIR read, as text.

    num_stages is not one of them: TTGIR's pipeliner reads it last, except for AMD's scheduling
    hints (triton/backends/*/compiler.py of 3.6 to 3.9).
    """
    values = dict(vars(options))
    if str(values.get("schedule_hint") or "none").lower() == "none":
        values.pop("num_stages", None)
    return f"{backend.target}{sorted(values.items(), key=lambda item: item[0])}"


def _to_bytes(output: Any) -> bytes:
    return output if isinstance(output, bytes) else str(output).encode()


def _jsonable(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else str(value)
