"""The specialization and the config of a compilation that a program requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from irscope.compiling.constexpr_values import plain_value
from irscope.model import OPTION_NAMES, Argument, Config, Target, Value
from irscope.targets import backend_named

# Options that do not configure the kernel: where the code runs and how it is checked.
NOT_CONFIGURABLE = frozenset(
    [
        "arch", "backend_name", "debug", "sanitize_overflow", "instrumentation_mode",
        "fpsan_homomorphic_casts", "warp_size",
    ]
)  # fmt: skip


@dataclass(frozen=True)
class TunedNames:
    """The names that an autotuner's config or a heuristic has set for a compilation."""

    autotuned: bool = False
    names: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SourceConfig:
    """The config that a front end generated a kernel's text from.

    `values` are those of the front end's own config; `constants` are the constants of the kernel, its
    parameters and globals, that follow from these: they are not an argument of the program. Kernels of one
    `family` are the same kernel to the user, under different configs.
    """

    values: Mapping[str, Value]
    constants: Mapping[str, Value]
    family: str


def requested_target(target: Any) -> Target:
    """Return the target of Triton's GPUTarget."""
    return Target(target.backend, backend_named(target.backend).arch_name(target.arch), target.warp_size)


def specialization(
    source: Any, options: Any, tuned: TunedNames, config: SourceConfig | None
) -> tuple[Argument, ...]:
    """Return the specialization of each parameter that no config sets, and of each global.

    Only the globals that the kernel reads are included.
    """
    function = source.fn
    arguments = []
    for index, parameter in enumerate(function.params):
        type_ = source.signature[parameter.name]
        if type_ == "constexpr":
            value = source.constants.get((index,))
            if not _in_config(parameter, value, options, tuned) and not _follows(
                parameter.name, value, config
            ):
                arguments.append(_constant(parameter.name, value))
        elif isinstance(type_, tuple):
            arguments.append(Argument(parameter.name, _tuple_text(type_, (index,), source)))
        else:
            arguments.append(Argument(parameter.name, type_, _key(source.attrs.get((index,)))))
    for (name, _), (value, _) in function.used_global_vals.items():
        if not _follows(name, value, config):
            arguments.append(_constant(f"global {name}", value))
    return tuple(arguments)


def _follows(name: str, value: Any, config: SourceConfig | None) -> bool:
    """Return True if a constant follows from the config that the kernel was generated from."""
    if config is None or name not in config.constants:
        return False
    return config.constants[name] == plain_value(value)


def _constant(name: str, value: Any) -> Argument:
    return Argument(name, "constexpr", None, plain_value(value))


def _in_config(parameter: Any, value: Any, options: Any, tuned: TunedNames) -> bool:
    """Return True if a constant is part of the config.

    It is if it is tuned, or, if nothing was autotuned, any tl.constexpr. A parameter that has the
    name of an option but another value than it (num_warps) is an argument.
    """
    if vars(options).get(parameter.name, value) != value:
        return False
    return parameter.name in tuned.names or (parameter.is_constexpr and not tuned.autotuned)


def _key(attributes: list[Any] | None) -> str | None:
    """Return the specialization key that the backend's parse_attr turned into these attributes."""
    if attributes is None:
        return None
    names = {name for name, _ in attributes}
    return ("D" if "tt.divisibility" in names else "") + ("S" if "tt.pointer_range" in names else "")


def _tuple_text(types: tuple[Any, ...], path: tuple[int, ...], source: Any) -> str:
    """Write a tuple argument as text: "(*fp16:16, i32, 3)"."""
    parts = []
    for index, type_ in enumerate(types):
        item_path = (*path, index)
        if isinstance(type_, tuple):
            parts.append(_tuple_text(type_, item_path, source))
        elif type_ == "constexpr":
            parts.append(str(plain_value(source.constants.get(item_path))))
        else:
            parts.append(str(Argument("", type_, _key(source.attrs.get(item_path)))))
    return f"({', '.join(parts)})"


def requested_config(
    source: Any, options: Any, target: Any, tuned: TunedNames, config: SourceConfig | None
) -> Config:
    """Return the tuned or declared constants, num_warps, num_stages, and all non-default options.

    If a front end generated the kernel from a config of its own, the values of that replace the
    constants.
    """
    chosen = dict(_option_values(options, target))
    if config is not None:
        front_end_values = ((name, value) for name, value in config.values.items() if name not in chosen)
        return Config((*front_end_values, *chosen.items()))
    constants = [(p, source.constants.get((index,))) for index, p in enumerate(source.fn.params)]
    values: dict[str, Value] = {
        parameter.name: plain_value(value)
        for parameter, value in constants
        if source.signature[parameter.name] == "constexpr" and _in_config(parameter, value, options, tuned)
    }
    return Config((*((name, values[name]) for name in values if name not in chosen), *chosen.items()))


def _option_values(options: Any, target: Any) -> Iterator[tuple[str, Value]]:
    option_values = vars(options)
    for name in ("num_warps", "num_stages"):
        yield name, option_values[name]
    default = vars(_defaults(target))
    other_names = [
        name for name in option_values if name not in OPTION_NAMES[:2] and name not in NOT_CONFIGURABLE
    ]
    for name in sorted(other_names, key=lambda name: name not in OPTION_NAMES):
        if option_values[name] != default.get(name):
            yield (
                name,
                _libraries(option_values[name])
                if name == "extern_libs"
                else plain_value(option_values[name]),
            )


def _libraries(value: Any) -> str:
    """Return the value of the option extern_libs: "libdevice=FILE"."""
    return ", ".join(f"{name}={file}" for name, file in value or ())


@cache
def _defaults(target: Any) -> Any:
    from triton.compiler import make_backend

    return make_backend(target).parse_options({})
