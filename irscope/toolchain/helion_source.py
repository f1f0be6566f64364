"""The source of a Triton kernel that Helion generates: the user's function and a config, as plain data.

Works on Helion's own objects (`helion.Config`, bound kernels), so it needs no import of Helion.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irscope.model import Value, format_value, parse_value

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
    """The source of the kernel that a bound kernel of Helion generates under this config."""
    full = full_config(bound, config)
    return HelionSource(function_text(bound.kernel.fn), config_values(full), _block_sizes(bound, full))


def full_config(bound: Any, config: Any) -> dict[str, Any]:
    """All values of a config: those that it leaves out are Helion's defaults for this kernel.

    Raises helion.exc.InvalidConfig if the config does not fit the kernel.
    """
    values = copy.deepcopy(dict(config))
    bound.config_spec.normalize(values)
    return values


def function_text(function: Any) -> str:
    """The text of a Python function, decorators included, under a comment with its file and first line."""
    lines, first = inspect.getsourcelines(function)
    file = inspect.getsourcefile(function) or function.__code__.co_filename
    return f"# {file}:{first}\n{''.join(lines)}"


def config_values(config: Mapping[str, Any]) -> dict[str, Value]:
    """The values of a config of Helion; a list becomes its text, `[64,32]`.

    One value for every memory operation is that value, whether the config lists it once or per operation.
    """
    return {name: value_text(_once(value) if name in _BROADCAST else value) for name, value in config.items()}


def _once(value: Any) -> Any:
    """The item of a list of equal texts; any other value as it is."""
    alike = isinstance(value, list) and value and value.count(value[0]) == len(value)
    return value[0] if alike and value[0] else value


def value_text(value: Any) -> Value:
    """A value of Helion's config as the model's type."""
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
