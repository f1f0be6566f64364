"""Compilations as variants: what is known of each at the moment that the JIT asks for it."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from irscope.capturing.compile.plan import versions
from irscope.capturing.messages import KernelSeen, Message, Note, RunOptions, Versions
from irscope.model import OPTION_NAMES, Argument, Config, Target, Value
from irscope.store.writer import NewVariant
from irscope.toolchain.kernels import called_functions, plain_value, source_function, triton_value

# Options that say where the code runs or how it is checked, not how the kernel is configured.
_NO_CONFIG = frozenset(
    [
        "arch", "backend_name", "debug", "sanitize_overflow", "extern_libs", "instrumentation_mode",
        "fpsan_homomorphic_casts", "warp_size",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Tuning:
    """Which names of a compilation an autotuner's config or a heuristic has set."""

    tuned: bool = False
    names: frozenset[str] = frozenset()


@dataclass
class Recorded:
    """A compilation: Triton's own source, options and target, and the variant that it is.

    `told` says whether its outcome is on its way to the capture.
    """

    number: int
    kernel: int
    source: Any
    options: Any
    target: Any
    variant: NewVariant
    tuning: Tuning
    told: bool = False


@dataclass
class Recorder:
    """Numbers the kernels and variants of a program and tells of them.

    `send` takes each message; `known` are the compilations so far by Triton's source hash and options,
    `by_kernel` those that were made in this process by Triton's CompiledKernel.
    """

    options: RunOptions
    send: Callable[[Message], None]
    known: dict[tuple[str, str], Recorded] = field(default_factory=dict)
    by_kernel: WeakKeyDictionary[Any, Recorded] = field(default_factory=WeakKeyDictionary)
    _kernels: dict[str, int] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _full: bool = False

    def record(self, source: Any, options: Any, target: Any, tuning: Tuning) -> tuple[Recorded | None, bool]:
        """The compilation of `source`, and whether it is new; None where it is not to be captured."""
        name = source.fn.fn.__name__
        if not fnmatch.fnmatchcase(name, self.options.kernels):
            return None, False
        key = (source.hash(), f"{target}{sorted(vars(options).items(), key=lambda item: item[0])}")
        with self._lock:
            if key in self.known:
                return self.known[key], False
            if self.options.most is not None and len(self.known) >= self.options.most:
                if not self._full:
                    self._full = True
                    self.send(Note(f"--max-variants {self.options.most} reached: the rest is not captured"))
                return None, False
            variant = NewVariant(
                _target(target), _specialization(source, tuning), _config(source, options, target, tuning)
            )
            if not self.known:
                self.send(Versions(versions((variant.target,))))
            number, kernel = len(self.known), self._kernel(source.fn)
            found = Recorded(number, kernel, source, options, target, variant, tuning)
            self.known[key] = found
        return found, True

    def forget(self) -> None:
        """Numbers and tells of everything anew."""
        self.known.clear()
        self.by_kernel.clear()
        self._kernels.clear()
        self._full = False

    def _kernel(self, function: Any) -> int:
        """The number of a kernel, told of once: reading its text takes as long as a small compilation."""
        key = f"{function.cache_key} {function.fn.__qualname__}"
        if key not in self._kernels:
            self._kernels[key] = len(self._kernels)
            helpers = tuple(source_function(helper) for helper in called_functions(function))
            names = tuple(parameter.name for parameter in function.params)
            self.send(KernelSeen(self._kernels[key], source_function(function), helpers, names))
        return self._kernels[key]


def _target(target: Any) -> Target:
    return Target(target.backend, str(target.arch), target.warp_size)


def _specialization(source: Any, tuning: Tuning) -> tuple[Argument, ...]:
    """What the JIT compiled for in each parameter that no config sets, and in each global that it read."""
    function = source.fn
    arguments = []
    for index, parameter in enumerate(function.params):
        type_ = source.signature[parameter.name]
        if type_ == "constexpr":
            if not _in_config(parameter, tuning):
                arguments.append(_constant(parameter.name, source.constants.get((index,))))
        elif isinstance(type_, tuple):
            arguments.append(Argument(parameter.name, _tuple_text(type_, (index,), source)))
        else:
            arguments.append(Argument(parameter.name, type_, _key(source.attrs.get((index,)))))
    for (name, _), (value, _) in function.used_global_vals.items():
        arguments.append(_constant(f"global {name}", value))
    return tuple(arguments)


def _constant(name: str, value: Any) -> Argument:
    return Argument(name, "constexpr", None, plain_value(value))


def _in_config(parameter: Any, tuning: Tuning) -> bool:
    """Whether a constant is part of the config: what was tuned, or every tl.constexpr where nothing was."""
    return parameter.name in tuning.names or (parameter.is_constexpr and not tuning.tuned)


def _key(attributes: list[Any] | None) -> str | None:
    """The specialization key of which the backend's parse_attr made these attributes."""
    if attributes is None:
        return None
    names = {name for name, _ in attributes}
    return ("D" if "tt.divisibility" in names else "") + ("S" if "tt.pointer_range" in names else "")


def _tuple_text(types: tuple[Any, ...], path: tuple[int, ...], source: Any) -> str:
    """A tuple argument as text: "(*fp16:16, i32, 3)"."""
    parts = []
    for index, type_ in enumerate(types):
        at = (*path, index)
        if isinstance(type_, tuple):
            parts.append(_tuple_text(type_, at, source))
        elif type_ == "constexpr":
            parts.append(str(plain_value(source.constants.get(at))))
        else:
            parts.append(str(Argument("", type_, _key(source.attrs.get(at)))))
    return f"({', '.join(parts)})"


def _config(source: Any, options: Any, target: Any, tuning: Tuning) -> Config:
    """The tuned or declared constants, num_warps and num_stages, and every option that is no default."""
    values: dict[str, Value] = {
        parameter.name: plain_value(source.constants.get((index,)))
        for index, parameter in enumerate(source.fn.params)
        if source.signature[parameter.name] == "constexpr" and _in_config(parameter, tuning)
    }
    return Config((*values.items(), *_option_values(options, target)))


def _option_values(options: Any, target: Any) -> Iterator[tuple[str, Value]]:
    given = vars(options)
    for name in ("num_warps", "num_stages"):
        yield name, given[name]
    default = vars(_defaults(target))
    others = [name for name in given if name not in OPTION_NAMES[:2] and name not in _NO_CONFIG]
    for name in sorted(others, key=lambda name: name not in OPTION_NAMES):
        if given[name] != default.get(name):
            yield name, plain_value(given[name])


@cache
def _defaults(target: Any) -> Any:
    from triton.compiler import make_backend

    return make_backend(target).parse_options({})


def unknown_names(recorded: Recorded, sweep: Mapping[tuple[str, str], tuple[Value, ...]]) -> Iterator[str]:
    """A line for each name of a sweep of this kernel that is neither its `tl.constexpr` nor an option."""
    name = recorded.source.fn.fn.__name__
    constants = [parameter.name for parameter in recorded.source.fn.params if parameter.is_constexpr]
    for kernel, of in sweep:
        if kernel == name and of not in constants and of not in vars(recorded.options):
            there = ", ".join([*constants, *OPTION_NAMES])
            yield f"--sweep {kernel}:{of}: neither a tl.constexpr nor an option of it; there is: {there}"


def swept(
    recorded: Recorded, sweep: Mapping[tuple[str, str], tuple[Value, ...]]
) -> Iterator[tuple[Any, Any, Tuning]]:
    """The source, options and tuning of a compilation under each combination of its kernel's values."""
    from itertools import product

    from triton.compiler import make_backend

    source, options = recorded.source, vars(recorded.options)
    name = source.fn.fn.__name__
    axes = {of: values for (kernel, of), values in sweep.items() if kernel == name}
    indexes = {parameter.name: parameter.num for parameter in source.fn.params if parameter.is_constexpr}
    for values in product(*axes.values()) if axes else ():
        constants, changed = dict(source.constants), dict(options)
        for of, value in zip(axes, values, strict=True):
            if of in indexes:
                constants[(indexes[of],)] = triton_value(value)
            else:
                changed[of] = value
        again = type(source)(source.fn, source.signature, constants, source.attrs)
        tuning = Tuning(recorded.tuning.tuned, recorded.tuning.names | set(axes))
        yield again, make_backend(recorded.target).parse_options(changed), tuning
