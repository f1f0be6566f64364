"""What an MLIR stage says of its kernel: name, arguments, place in the Python file, sizes of its ranges.

Only the lines that Triton's front end always writes in one form are looked at; nothing is parsed whole.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from irscope.capturing.importers.untrusted import BadEntryError, clean
from irscope.model import Argument

_FUNCTION = re.compile(r'^ *tt\.func public @(?:"([^"\n]*)"|([\w.$-]+))\(([^\n]*)$', re.MULTILINE)
_ALIAS = re.compile(r"^(#loc\d*) = loc\(([^\n]*)\)$", re.MULTILINE)
_PLACE = re.compile(r'"((?:[^"\\\n]|\\.)*)":(\d{1,9}):(\d{1,9})')
_RANGE = re.compile(r"tt\.make_range \{end = (\d{1,9}) : i32, start = \d{1,9} : i32\}([^\n]{0,400})")
_ESCAPED = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")
_POINTER = re.compile(r"!tt\.ptr<([^<>,]*)(?:, \d+)?>")
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)([^<>,]*)")
# Triton's short names (triton.language.core.dtype) of MLIR's element types, where they differ.
_ELEMENTS = {
    "f16": "fp16", "f32": "fp32", "f64": "fp64", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5",
    "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16",
}  # fmt: skip
# A location may name another that names another: value name, call site, file.
_MAX_HOPS = 8
# No kernel can have so many arguments: a launch passes them in 4 kB (32 kB from sm_70 on).
_MAX_SIGNATURE = 1 << 20


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A position in a Python file; lines count from 1, columns from 0 or 1 (by Triton's version)."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class KernelHeader:
    """A kernel as its IR knows it.

    `arguments` are those left at run time; `named` says whether they have the names of the Python
    parameters. `ranges` are the `tl.arange` calls in the kernel's own body: end and place.
    """

    name: str
    arguments: tuple[Argument, ...]
    named: bool
    place: SourcePlace | None
    ranges: tuple[tuple[int, SourcePlace | None], ...]


def read_header(text: str) -> KernelHeader:
    """The header of the public function in an MLIR stage. Raises BadEntryError where there is none."""
    found = _FUNCTION.search(text)
    if found is None:
        raise BadEntryError("no kernel in its IR")
    if len(found[3]) > _MAX_SIGNATURE:
        raise BadEntryError("a signature over 1 MB")
    aliases = dict(_ALIAS.findall(text))
    pieces = _argument_texts(found[3])
    arguments = tuple(map(_argument, pieces))
    locations = [piece.partition(" loc(")[2] for piece in pieces]
    places = [_resolve(location, aliases) for location in locations]
    end = text.find("\n  }", found.end())
    body = text[found.end() : end if end >= 0 else len(text)]
    return KernelHeader(
        name=clean(found[1] or found[2]),
        arguments=_without_parts(arguments),
        # Before 3.6 arguments are %arg0, %arg1, ...
        named=not any(re.fullmatch(r"arg\d+", argument.name) for argument in arguments),
        place=next(filter(None, places), None) or _resolve("#loc", aliases),
        ranges=tuple(
            (int(made[1]), _resolve(made[2].partition(" loc(")[2], aliases)) for made in _RANGE.finditer(body)
        ),
    )


def _argument_texts(line: str) -> list[str]:
    """The arguments in what follows the function's name on its line, each `NAME: TYPE {...} loc(...)`."""
    end = line.find(") attributes {")
    if end < 0:
        end = line.rfind(") {")
    inside = line[: end if end >= 0 else len(line)]
    return inside.removeprefix("%").split(", %") if inside.strip(" )") else []


def _argument(text: str) -> Argument:
    """One argument; integers and pointers have a key, as far as the IR shows it."""
    name, _, rest = text.partition(": ")
    type_, _, attributes = rest.partition(" loc(")[0].partition(" {")
    spelled = _type(type_.strip())
    if not spelled.startswith("*") and not re.fullmatch(r"i(?:8|16|32|64)", spelled):
        return Argument(clean(name), spelled)
    key = "D" if "tt.divisibility = 16" in attributes else ""
    return Argument(clean(name), spelled, key + ("S" if "tt.pointer_range = 32" in attributes else ""))


def _type(text: str) -> str:
    """Triton's spelling of an argument's MLIR type; one that it does not have stays as it is."""
    if pointer := _POINTER.fullmatch(text):
        return "*" + _ELEMENTS.get(pointer[1], pointer[1])
    if descriptor := _DESCRIPTOR.match(text):
        shape = descriptor[1].rstrip("x").replace("x", ", ")
        return f"tensordesc<{_ELEMENTS.get(descriptor[2], descriptor[2])}[{shape}]>"
    return clean(_ELEMENTS.get(text, text))


def _without_parts(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """The arguments less the shape and strides (`a_desc.shape.0`) that stand beside a descriptor."""
    whole = {argument.name for argument in arguments}
    return tuple(a for a in arguments if "." not in a.name or a.name.partition(".")[0] not in whole)


def _resolve(location: str, aliases: dict[str, str]) -> SourcePlace | None:
    """The innermost file position of a location's text."""
    for _ in range(_MAX_HOPS):
        if match := _PLACE.match(location):
            return SourcePlace(_unescaped(match[1]), int(match[2]), int(match[3]))
        alias = re.search(r"#loc\d*", location)
        if alias is None or alias[0] not in aliases:
            return None
        location = aliases[alias[0]]
    return None


def _unescaped(text: str) -> str:
    r"""A string of MLIR's: bytes that are not printable stand as `\XX`."""
    content = _ESCAPED.sub(
        lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1], 16)]),
        text.encode("utf-8", "replace"),
    )
    return clean(content.decode("utf-8", "replace"))
