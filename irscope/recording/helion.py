"""Records the kernels that Helion generates: the function and config that each came from.

Helion writes a Python file with a Triton kernel per config and imports it, so the file identifies the config.
Its autotuner compiles and measures configs in processes of its own; those are not captured, the kernels that
they compiled are (see helion_search.py).

The source of a Triton kernel that Helion generates: the user's function and a config, as plain data.

Works on Helion's own objects (`helion.Config`, bound kernels), so it needs no import of Helion.
"""

from __future__ import annotations

import copy
import functools
import importlib.metadata
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from irscope.compiling.toolchain.patching import never_raises, patched
from irscope.compiling.toolchain.requested_config import SourceConfig
from irscope.model import Value, format_value, parse_value
from irscope.recording.helion_search import captured_search, simulated_search
from irscope.recording.recorder import Generated, Recorder
from irscope.targets.frontends import HELION

# Helion's name of the constant that has the size of a block (helion/_compiler/device_function.py).
_BLOCK_SIZE = "_BLOCK_SIZE_"
# Values per memory operation, for which Helion accepts one for all.
_BROADCAST = frozenset(["indexing", "atomic_indexing", "load_eviction_policies"])


@dataclass(frozen=True)
class HelionSource:
    """The source of a generated kernel.

    `text` is the user's function under a comment with its place. `config` are the values of Helion's config;
    `constants` are those constants of the generated kernel that follow from it, by name.
    """

    text: str
    config: Mapping[str, Value]
    constants: Mapping[str, Value]


def helion_source(bound: Any, config: Any) -> HelionSource:
    """Return the source of the kernel that a bound kernel of Helion generates under this config."""
    full = full_config(bound, config)
    return HelionSource(function_text(bound.kernel.fn), config_values(full), _block_sizes(bound, full))


def full_config(bound: Any, config: Any) -> dict[str, Any]:
    """Return all values of a config: those that it leaves out are Helion's defaults for this kernel.

    Raises helion.exc.InvalidConfig if the config does not fit the kernel.
    """
    values = copy.deepcopy(dict(config))
    bound.config_spec.normalize(values)
    return values


def function_text(function: Any) -> str:
    """Return the text of a Python function, decorators included.

    It is under a comment with the function's file and first line.
    """
    lines, first = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    return f"# {file}:{first}\n{''.join(lines)}"


def config_values(config: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of a config of Helion; a list becomes its text, `[64,32]`.

    One value for every memory operation is that value, whether the config lists it once or per
    operation.
    """
    return {name: value_text(_once(value) if name in _BROADCAST else value) for name, value in config.items()}


def _once(value: Any) -> Any:
    """Return the item of a list of equal texts, or any other value as it is."""
    alike = isinstance(value, list) and value and value.count(value[0]) == len(value)
    return value[0] if alike and value[0] else value


def value_text(value: Any) -> Value:
    """Return a value of Helion's config as the model's type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return parse_value(f"[{','.join(map(_item_text, value))}]")
    return str(value)


def _item_text(value: Any) -> str:
    text = value_text(value)
    return repr(text) if isinstance(value, str) and not value.isidentifier() else format_value(text)


def _block_sizes(bound: Any, config: Mapping[str, Any]) -> dict[str, Value]:
    sizes = config.get("block_sizes", ())
    specs = bound.config_spec.block_sizes
    return {f"{_BLOCK_SIZE}{spec.block_id}": size for spec, size in zip(specs, sizes, strict=False)}


@contextmanager
def recorded_helion(recorder: Recorder) -> Iterator[None]:
    """Record Helion's kernels within the block; call it when `helion` is imported.

    On a GPU, the benchmarks of its autotuner are recorded too. Without one, the configs that the autotuner
    would measure first are compiled.
    """
    from helion.runtime.kernel import BoundKernel

    generated = GeneratedKernels()
    recorder.add_version("helion", _helion_version())
    search = captured_search if recorder.options.target is None else simulated_search
    with ExitStack() as stack:
        recording = _recording(BoundKernel.compile_config, generated)
        stack.enter_context(recorder.with_frontend(generated.of))
        stack.enter_context(patched(BoundKernel, "compile_config", recording))
        stack.enter_context(search(recorder))
        yield


def _helion_version() -> str:
    try:
        return importlib.metadata.version("helion")
    except importlib.metadata.PackageNotFoundError:  # a checkout of its repository
        return "unknown"


def _recording(original: Callable[..., Any], generated: GeneratedKernels) -> Callable[..., Any]:
    """`BoundKernel.compile_config`, which returns the host function of the generated file."""

    @functools.wraps(original)
    def compile_config(self: Any, config: Any = None, **options: Any) -> Any:
        compiled = original(self, config, **options)
        generated.add(self, config, compiled)
        return compiled

    return compile_config


class GeneratedKernels:
    """The sources of the files that Helion has generated, by path."""

    def __init__(self) -> None:
        self._sources: dict[str, HelionSource] = {}

    @never_raises
    def add(self, bound: Any, config: Any, compiled: Any) -> None:
        """Add what a bound kernel was compiled to under a config: a function of a new file.

        A config of None means the kernel's only one.
        """
        file = compiled.__code__.co_filename
        if file not in self._sources:
            used = config if config is not None else bound._require_implicit_config()
            self._sources[file] = helion_source(bound, used)

    def of(self, function: Any) -> Generated | None:
        """Return the function and config that a kernel (a JITFunction) came from.

        Returns None if Helion did not make the kernel.
        """
        source = self._sources.get(function.fn.__code__.co_filename)
        if source is None:
            return None
        config = SourceConfig(source.config, source.constants, source.text)
        return Generated({HELION.stages[0].name: source.text}, config=config)
