"""The named inputs of Triton's cache key, which a compilation depends on.

Triton's key (runtime/cache.py, get_cache_key, 3.6 to 3.9) is made of the compiler, the source with what
it calls and reads, the types, constants and attributes of the arguments, the backend with its options,
and environment variables. The capture has each by name (`Variant.cache_key`); imported ones may have none.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from irscope.facts.source.tokens import function_node
from irscope.model import (
    OPTION_NAMES,
    Argument,
    ListValue,
    ObjectValue,
    SourceFunction,
    Value,
    Variant,
    format_value,
)
from irscope.model.config import literal
from irscope.model.records import grouped
from irscope.model.variant import ENVIRONMENT, OPTION
from irscope.targets import backend_of

# The kinds of input, in the order in which views list them.
KINDS = (
    "triton", "backend", "target", "source", "helper", "line", "global", "argument", "constexpr", "range",
    "option", "environment", "component", "hash",
)  # fmt: skip
# The names in an imported config that are not the kernel's, and the kinds of these inputs: the lengths of
# tl.arange, which depend on constants without a name, and the start of Triton's hash of what is unknown.
INVENTED = {"arange": "range", "cache": "hash"}
# Without these a key is not whole: what a capture made by irscope always has.
_WHOLE = ("triton", "source", "backend", "attributes")
_ATTRIBUTES = {("tt.divisibility", 16): "divisible by 16", ("tt.pointer_range", 32): "within 2 GiB"}


class CacheKeyInput(NamedTuple):
    """One input of a compilation: `kind` is one of KINDS, `name` that of the argument, option, function.

    A named tuple, because a capture of 100,000 variants has millions to hash.
    """

    kind: str
    name: str = ""


def has_key(variant: Variant) -> bool:
    """Whether the capture has every component of the variant's cache key."""
    key = variant.cache_key
    return all(name in key for name in _WHOLE)


def cache_key_inputs(variant: Variant, whole: bool) -> dict[CacheKeyInput, str]:
    """Every input of a compilation with its value as text; without `whole`, what the variant itself says."""
    kernel = variant.kernel
    values = {
        CacheKeyInput("target"): str(variant.target),
        CacheKeyInput("triton"): _compiler(variant, whole),
    }
    if kernel.source.text:
        values[CacheKeyInput("source", kernel.name)] = _digest(kernel.source)
    values |= {CacheKeyInput("helper", helper.name): _digest(helper) for helper in kernel.helpers}
    return values | (_from_key(variant) if whole else _from_variant(variant))


@lru_cache(maxsize=256)
def constexpr_parameters(source: str) -> frozenset[str]:
    """Return the parameters that a kernel annotates as constexpr; none if its text cannot be parsed."""
    function = function_node(source)
    arguments = (
        [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs] if function else []
    )
    return frozenset(
        argument.arg
        for argument in arguments
        if argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)
    )


@lru_cache(maxsize=1024)
def _digest(function: SourceFunction) -> str:
    return hashlib.sha256(function.text.encode("utf-8", "replace")).hexdigest()[:12]


def _compiler(variant: Variant, whole: bool) -> str:
    version = variant.toolchain.versions.get("triton", "unknown")
    return f"{version} (build {variant.cache_key['triton'][:12]})" if whole else version


def _from_key(variant: Variant) -> dict[CacheKeyInput, str]:
    """Return the inputs that Triton's key names."""
    key, kernel = variant.cache_key, variant.kernel
    values = {CacheKeyInput("backend"): key["backend"]}
    functions = (kernel.source, *kernel.helpers)
    values |= {CacheKeyInput("line", function.name): str(function.line) for function in functions}
    for component, text in key.items():
        kind, _, name = component.partition(" ")
        if kind in ("global", "option", "environment") and name:
            values[CacheKeyInput(kind, name)] = text
    return values | _parameters_of_key(variant)


def _parameters_of_key(variant: Variant) -> dict[CacheKeyInput, str]:
    """Each parameter by its type, its constants and its attributes in the key."""
    key = variant.cache_key
    attributes = _attributes(key["attributes"], variant.kernel.parameters)
    constants = {name[len("constant ") :]: text for name, text in key.items() if name.startswith("constant ")}
    types = {name[len("type ") :]: text for name, text in key.items() if name.startswith("type ")}
    chosen, objects = _constexprs(variant), _objects(variant)
    values = {}
    names = dict.fromkeys([*types, *(path.partition(".")[0] for path in [*constants, *attributes])])
    own_constants, own_attributes = _by_parameter(names, constants), _by_parameter(names, attributes)
    for name in names:
        fixed = [_fixed(path, name, constants[path]) for path in own_constants.get(name, ())]
        listed = [text for path in own_attributes.get(name, ()) for text in attributes[path]]
        type_ = "" if fixed and types.get(name) == "constexpr" else types.get(name, "")
        kind = "constexpr" if name in chosen else "argument"
        text = objects.get(name) or " ".join(filter(None, [type_, *fixed, *listed]))
        values[CacheKeyInput(kind, name)] = text
    return values


def _by_parameter(names: Iterable[str], paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths in a key that belong to each of `names`, in order."""
    if any("." in name for name in names):
        return {name: [path for path in paths if belongs(path, name)] for name in names}
    return grouped(paths, lambda path: path.partition(".")[0])


def constexpr_values(variant: Variant) -> dict[str, Value]:
    """Return the value of each constexpr that the variant records."""
    given = {each.name: each.value for each in variant.specialization if each.type == "constexpr"}
    return given | dict(variant.config.values)


def _objects(variant: Variant) -> dict[str, str]:
    """Return the layouts and tuples among the constexprs as text, by name."""
    return {
        name: format_value(value)
        for name, value in constexpr_values(variant).items()
        if isinstance(value, ObjectValue | ListValue | tuple)
    }


def _fixed(path: str, name: str, text: str) -> str:
    """Return a constant as text, with its index if the parameter is a tuple."""
    return text if path == name else f"{path[len(name) + 1 :]} = {text}"


def belongs(path: str, name: str) -> bool:
    """Whether a path in a key ("args.0") is a parameter or lies in it."""
    return path == name or path.startswith(f"{name}.")


@lru_cache(maxsize=1024)
def _attributes(text: str, parameters: tuple[str, ...]) -> Mapping[str, list[str]]:
    """Return the attributes in words by parameter ("x", "x.0" in a tuple); empty if unreadable."""
    try:
        known = ast.literal_eval(text)
        return {
            ".".join([parameters[path[0]], *map(str, path[1:])]): [
                _ATTRIBUTES.get((name, value), f"{name} = {value}") for name, value in pairs
            ]
            for path, pairs in known.items()
            if pairs
        }
    except (ValueError, TypeError, LookupError, AttributeError, SyntaxError, MemoryError, RecursionError):
        return {}


def _from_variant(variant: Variant) -> dict[CacheKeyInput, str]:
    """Return the inputs that the variant itself records, if it has no cache key."""
    chosen = _constexprs(variant)
    values: dict[CacheKeyInput, str] = {}
    for argument in variant.specialization:
        kind = "constexpr" if argument.name in chosen else "argument"
        values[CacheKeyInput(kind, argument.name)] = _words(argument)
    declared = constexpr_parameters(variant.kernel.source.text)
    # An import has the defaults of the options, other configs do not.
    defaults = backend_of(variant.target).option_defaults
    values |= {CacheKeyInput("option", name): str(v) for name, v in defaults.items() if v is not None}
    for name, value in variant.config.values:
        option = name in defaults or name in OPTION_NAMES
        if option:
            values[CacheKeyInput("option", name)] = str(value)
        if name in declared or not (option or name in INVENTED):
            values[CacheKeyInput("constexpr", name)] = _text(value)
        elif name in INVENTED:
            values[CacheKeyInput(INVENTED[name], name)] = str(value)
    return values | {CacheKeyInput("environment", name): value for name, value in variant.environment.items()}


def environment_known(variant: Variant) -> bool:
    """Whether the capture has the environment of a variant, even if nothing is set."""
    return any(name.startswith((ENVIRONMENT, OPTION)) for name in variant.cache_key)


def _text(value: Value) -> str:
    return literal(value) if isinstance(value, tuple) else str(value)


def _words(argument: Argument) -> str:
    if argument.type == "constexpr":
        return _text(argument.value)
    words = {"D": "divisible by 16", "S": "within 2 GiB"}
    return " ".join([argument.type, *(words[letter] for letter in argument.key or "" if letter in words)])


def _constexprs(variant: Variant) -> frozenset[str]:
    """Return the parameters that are constexpr by declaration, not because of their value."""
    return constexpr_parameters(variant.kernel.source.text) | variant.config.meta.keys()
