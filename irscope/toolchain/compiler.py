"""One variant through Triton's own compiler, each stage kept the moment it is made.

Runs in worker processes only: what goes wrong here may end the process, and the stages that were sent
before are not lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from irscope.capturing.compile.request import Job
from irscope.store.writer import NewPass
from irscope.toolchain.coalescing import compiling_anyway, telling
from irscope.toolchain.kernels import find_kernel, triton_value
from irscope.toolchain.pass_instrumentation import PassLog, instrument_stage
from irscope.toolchain.stub_driver import gpu_target

# (field, key, value): one piece of an Outcome, sent as soon as it is there.
Send = Callable[[str, str, Any], None]

# Beside Triton's own files in its cache: what they do not hold, the ptxas log and the stage times.
_SIDECAR = "irscope.json"


@dataclass(slots=True)
class _Remembered:
    """What a stage made, the metadata that it set, and its passes where they are asked for."""

    output: Any
    metadata: dict[str, Any]
    log: str | None
    passes: tuple[NewPass, ...]


class StageMemory:
    """Outputs of the stages after TTGIR, by what went in.

    Variants of one group are often equal at TTGIR; LLVM and ptxas then run for the first alone.
    Forgotten when the next group begins: they come one after the other.
    """

    def __init__(self) -> None:
        self._group: tuple[Any, ...] = ()
        self._made: dict[str, _Remembered] = {}

    def begin(self, *group: Any) -> None:
        """Says which group the next variant belongs to."""
        if group != self._group:
            self._group, self._made = group, {}

    def get(self, key: str) -> _Remembered | None:
        """What was made of this input, if it was."""
        return self._made.get(key)

    def put(self, key: str, made: _Remembered) -> None:
        """Remembers what was made of this input."""
        self._made[key] = made


def compile_job(job: Job, memory: StageMemory, send: Send) -> None:
    """Compiles `job` as Triton's JIT would, sending each piece of its Outcome as it comes.

    Raises whatever Triton raises.
    """
    source, options = source_of(find_kernel(job.file, job.kernel).function, job)
    target = gpu_target(job.target)
    memory.begin(job.file, job.kernel, job.target, job.group)
    compile_source(source, options, target, memory, send, job.reasons, job.passes)


def source_of(function: Any, job: Job) -> tuple[Any, Any]:
    """What the JIT would compile for `job`: an ASTSource of the kernel and the backend's parsed options."""
    from triton.compiler import ASTSource, make_backend

    backend = make_backend(gpu_target(job.target))
    options, signature, constexprs, attrs = _pack(function, job, backend)
    return ASTSource(function, signature, constexprs, attrs), options


def compile_source(
    source: Any,
    options: Any,
    target: Any,
    memory: StageMemory,
    send: Send,
    reasons: bool = False,
    passes: bool = False,
) -> None:
    """Compiles an ASTSource under a backend's parsed options, sending each piece of the Outcome.

    `target` is Triton's. Raises whatever Triton raises.
    """
    import triton

    for name, text in cache_key(source, target, options).items():
        send("cache_key", name, text)
    anyway = compiling_anyway() if reasons or passes else contextlib.nullcontext()
    with anyway, _watching_stages(memory, send, reasons, passes) as watch:
        compiled = triton.compile(source, target=target, options=vars(options))
    for name, value in plain_metadata(compiled.metadata).items():
        send("metadata", name, value)
    if watch.stages:
        _keep_sidecar(compiled.hash, watch.log, watch.stages)
    else:
        log, seconds = _sidecar(compiled.hash)
        send("cached", "", True)
        send("log", "", log)
        for stage, spent in seconds.items():
            send("seconds", stage, spent)
    for stage, content in compiled.asm.items():
        send("artifacts", stage, content if isinstance(content, bytes) else content.encode())


def plain_metadata(metadata: Any) -> dict[str, Any]:
    """Triton's metadata (a named tuple) as JSON has it."""
    plain: dict[str, Any] = json.loads(json.dumps(metadata._asdict(), default=_jsonable))
    return plain


def _pack(function: Any, job: Job, backend: Any) -> tuple[Any, Any, Any, Any]:
    """Options, signature, constants and attributes, put together by the JIT's own `_pack_args`."""
    import triton

    given = {argument.name: argument for argument in job.specialization}
    values = dict(job.config.values)
    bound: dict[str, Any] = {}
    specialization: list[tuple[str, Any]] = []
    for parameter in function.params:
        argument = given.get(parameter.name)
        if argument is not None and argument.type != "constexpr":
            bound[parameter.name] = None
            specialization.append((argument.type, argument.key))
            continue
        if parameter.name in values:
            value = triton_value(values.pop(parameter.name))
        else:
            value = triton_value(argument.value) if argument is not None else parameter.default
        bound[parameter.name] = value
        specialization.append(("constexpr", value))
    options = values | {
        "debug": function.debug or triton.knobs.runtime.debug,
        "instrumentation_mode": triton.knobs.compilation.instrumentation_mode,
    }
    if hasattr(triton.knobs.compilation, "fpsan_homomorphic_casts"):  # 3.9
        options["fpsan_homomorphic_casts"] = triton.knobs.compilation.fpsan_homomorphic_casts
    packed: tuple[Any, Any, Any, Any] = function._pack_args(backend, options, bound, specialization, None)
    return packed


def cache_key(source: Any, target: Any, options: Any) -> dict[str, str]:
    """Every component of Triton's cache key, by name (triton.runtime.cache.get_cache_key)."""
    from triton._C.libtriton import get_cache_invalidating_env_vars
    from triton.compiler import make_backend
    from triton.runtime import cache

    function, backend = source.fn, make_backend(target)
    components = {
        "triton": _digest(cache.triton_key()),
        "source": function.cache_key,
        "backend": backend.hash(),
        "attributes": str(source.attrs),
    }
    components |= {f"type {name}": str(type_) for name, type_ in source.signature.items()}
    names = function.arg_names
    components |= {
        "constant " + ".".join([names[path[0]], *map(str, path[1:])]): str(value)
        for path, value in source.constants.items()
    }
    components |= {f"option {name}": str(value) for name, value in sorted(vars(options).items())}
    components |= {f"environment {k}": v for k, v in get_cache_invalidating_env_vars().items()}
    components |= {
        f"global {name}": repr(value) for (name, _), (value, _) in function.used_global_vals.items()
    }
    return components


class _Watch:
    """What the wrapped stages of one compilation told."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self.log: str | None = None


class _watching_stages:  # noqa: N801 - used as a context manager, like contextlib's own
    """Wraps each stage of the compilations inside: times it, sends its output, remembers it."""

    def __init__(self, memory: StageMemory, send: Send, reasons: bool, passes: bool) -> None:
        self._memory, self._send, self._watch = memory, send, _Watch()
        self._reasons, self._passes = reasons, passes
        self._told = PassLog()

    def __enter__(self) -> _Watch:
        from triton import knobs

        self._previous = knobs.runtime.add_stages_inspection_hook
        knobs.runtime.add_stages_inspection_hook = self._hook
        return self._watch

    def __exit__(self, *_: object) -> None:
        from triton import knobs

        knobs.runtime.add_stages_inspection_hook = self._previous

    def _hook(self, *arguments: Any) -> tuple[str, str] | None:
        if not arguments:  # from 3.7 on Triton asks what the hook adds to the cache key: nothing
            return ("", "")
        backend, stages, options = arguments[:3]
        if self._previous is not None:
            self._previous(*arguments)
        shared = list(stages)[list(stages).index("ttgir") + 1 :] if "ttgir" in stages else []
        if self._reasons and "ttgir" in stages:
            stages["ttgir"] = telling(stages["ttgir"])
        for name, run in list(stages.items()):
            key = _late_options(backend, options) if name in shared else None
            told = instrument_stage(name, run, backend, self._tell) if self._passes else run
            stages[name] = self._wrapped(name, told, key)
        return None

    def _wrapped(self, name: str, run: Callable[..., Any], options: str | None) -> Callable[..., Any]:
        def stage(module: Any, metadata: dict[str, Any]) -> Any:
            key = None if options is None else _digest(name, options, str(module))
            made = None if key is None else self._memory.get(key)
            if made is None:
                made = self._run(name, run, module, metadata)
                if key is not None:
                    self._memory.put(key, made)
            else:
                for each in made.passes:
                    self._tell(each)
            metadata.update(made.metadata)
            if made.log is not None:
                self._watch.log = made.log
                self._send("log", "", made.log)
            output = made.output
            self._send("artifacts", name, output if isinstance(output, bytes) else str(output).encode())
            return output

        return stage

    def _run(self, name: str, run: Callable[..., Any], module: Any, metadata: dict[str, Any]) -> _Remembered:
        before, told = dict(metadata), len(self._told.passes)
        printed = io.StringIO()
        start = time.perf_counter()
        # Triton prints the ptxas log from Python; caught here, it is the log and nothing else.
        with contextlib.redirect_stdout(printed) if name == "cubin" else contextlib.nullcontext():
            output = run(module, metadata)
        self._watch.stages[name] = time.perf_counter() - start
        self._send("seconds", name, self._watch.stages[name])
        changed = {k: v for k, v in metadata.items() if k not in before or before[k] is not v}
        log = printed.getvalue() if name == "cubin" else None
        return _Remembered(output, changed, log, self._told.passes[told:])

    def _tell(self, new: NewPass) -> None:
        self._told.tell(new)
        self._send("passes", "", new)


def _late_options(backend: Any, options: Any) -> str:
    """The options that the stages after TTGIR see, as text.

    num_stages is spent by then: TTGIR's pipeliner is its last reader, but for AMD's scheduling hints
    (triton/backends/*/compiler.py of 3.6 to 3.9).
    """
    seen = dict(vars(options))
    if str(seen.get("schedule_hint") or "none").lower() == "none":
        seen.pop("num_stages", None)
    return f"{backend.target}{sorted(seen.items(), key=lambda item: item[0])}"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _jsonable(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _keep_sidecar(key: str, log: str | None, seconds: dict[str, float]) -> None:
    from triton.runtime.cache import get_cache_manager

    text = json.dumps({"log": log, "seconds": seconds})
    get_cache_manager(key).put(text, _SIDECAR, binary=False)


def _sidecar(key: str) -> tuple[str | None, dict[str, float]]:
    """The ptxas log and the stage times of a cached compilation, where an irscope made it."""
    from triton.runtime.cache import get_cache_manager

    path = get_cache_manager(key).get_file(_SIDECAR)
    if path is None:
        return None, {}
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a plain str from Triton
            kept = json.load(file)
        return kept["log"], kept["seconds"]
    except (OSError, ValueError, KeyError):
        return None, {}
