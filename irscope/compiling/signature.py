"""Triton's ahead-of-time signature notation: `*fp16:16, i32:16, i32, 1`, and what the JIT makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from irscope.model import Argument, Target, Value, parse_value
from irscope.model.errors import ArgumentError
from irscope.model.records import frozen
from irscope.model.text import pluralize, split_entries
from irscope.targets import backend_of

_SCALAR = re.compile(r"i(?:1|8|16|32|64)|u(?:1|8|16|32|64)|(?:fp|bf)(?:16|32|64)|fp8\w+")
_DESCRIPTOR = re.compile(r"tensordesc(?:_im2col)?<.+>")
# NAME=ENTRY in a signature.
NAMED = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.+)", re.DOTALL)


@frozen
class SignatureItem:
    """A parameter of a kernel.

    `specialized` is false if the kernel lists it in `do_not_specialize`, `aligned` is false if it lists
    it in `do_not_specialize_on_alignment`.
    """

    name: str
    constexpr: bool
    has_default: bool
    default: Value = None
    specialized: bool = True
    aligned: bool = True


def split_named(text: str, names: frozenset[str]) -> tuple[str, dict[str, Value]]:
    """Return the signature without its entries `NAME=VALUE` for these names, and their values."""
    entries = [(entry, NAMED.fullmatch(entry)) for entry in split_entries(text)]
    rest = [entry for entry, match in entries if match is None or match[1] not in names]
    return ", ".join(rest), {m[1]: parse_value(m[2]) for _, m in entries if m is not None and m[1] in names}


def bind_signature(
    text: str, parameters: Sequence[SignatureItem], given: frozenset[str]
) -> dict[str, tuple[str, str]]:
    """Binds each entry of the signature to a parameter: name -> (type or literal, hint).

    Entries are positional, or `NAME=ENTRY`. Positional entries cover every parameter, or every one except
    the constexprs, or every one not in `given` (those have values from elsewhere). Raises ArgumentError.
    """
    entries = split_entries(text)
    named = {match[1]: match[2] for entry in entries if (match := NAMED.fullmatch(entry))}
    names = [parameter.name for parameter in parameters]
    if unknown := [name for name in named if name not in names]:
        raise ArgumentError("signature", f"no parameter '{unknown[0]}'; the kernel has {', '.join(names)}")
    positional = [entry for entry in entries if not NAMED.fullmatch(entry)]
    rest = [parameter for parameter in parameters if parameter.name not in named]
    for candidates in (
        rest,
        [parameter for parameter in rest if not parameter.constexpr],
        [parameter for parameter in rest if parameter.name not in given],
    ):
        if len(candidates) == len(positional):
            bound = dict(zip((parameter.name for parameter in candidates), positional, strict=True))
            return {name: _split_hint(name, entry) for name, entry in (bound | named).items()}
    runtime = ", ".join(parameter.name for parameter in parameters if not parameter.constexpr)
    raise ArgumentError(
        "signature",
        f"{pluralize(len(entries), 'type')} given; the kernel has {pluralize(len(names), 'parameter')} "
        f"({', '.join(names)}), and needs types for {runtime or 'none of them'}",
    )


def specialize(
    entries: Mapping[str, tuple[str, str]],
    constants: Mapping[str, Value],
    parameters: Sequence[SignatureItem],
    target: Target,
) -> tuple[Argument, ...]:
    """Return the specialization that the JIT would compile for, in the order of the parameters.

    `constants` are constexpr values from elsewhere. Parameters that a config sets are in neither
    and are omitted. A pointer on hip is assumed to be within 2 GiB, which holds for nearly every
    tensor ("S", `tt.pointer_range`). Raises ArgumentError.
    """
    arguments = []
    for parameter in parameters:
        if parameter.name in entries:
            arguments.append(_argument(parameter, *entries[parameter.name], target))
        elif parameter.name in constants:
            arguments.append(Argument(parameter.name, "constexpr", None, constants[parameter.name]))
    return tuple(arguments)


def _split_hint(name: str, entry: str) -> tuple[str, str]:
    if entry[:1] in "'\"" and entry[-1:] == entry[:1]:
        return entry, ""
    type_, _, hint = entry.partition(":")
    type_, hint = type_.strip(), hint.strip()
    if hint not in ("", "1", "16"):
        raise ArgumentError("signature", f"argument '{name}': hint ':{hint}' is neither :16 nor :1")
    return type_, hint


def _argument(parameter: SignatureItem, text: str, hint: str, target: Target) -> Argument:
    name, pointer = parameter.name, text.startswith("*")
    if parameter.constexpr or not (_is_type(text) or text == "constexpr"):
        return Argument(name, "constexpr", None, _constant(parameter, text))
    if hint == "1":
        return Argument(name, "constexpr", None, 1)
    if _DESCRIPTOR.fullmatch(text) or (not pointer and text[0] not in "iu") or text in ("i1", "u1"):
        return Argument(name, text)
    if not parameter.specialized:
        return Argument(name, text, "" if pointer else None)
    key = "D" if hint == "16" and parameter.aligned else ""
    return Argument(name, text, key + (backend_of(target).pointer_key if pointer else ""))


def _constant(parameter: SignatureItem, text: str) -> Value:
    value = parse_value(text)
    if parameter.constexpr:
        return value
    if value == 1 and isinstance(value, int):
        return 1
    if value is None:
        return None
    raise ArgumentError(
        "signature",
        f"argument '{parameter.name}': '{text}' is not a type such as *fp16:16, i32 or fp32, and the "
        f"parameter is not a tl.constexpr",
    )


def _is_type(text: str) -> bool:
    bare = text.removeprefix("*k") if text.startswith("*k") else text.lstrip("*")
    return bool(_SCALAR.fullmatch(bare) or _DESCRIPTOR.fullmatch(text))
