"""Plan files: the kernels to compile, their launches and what to vary of these, as TOML in a repository.

    version = 1
    [[kernel]]
    name = "matmul"
    file = "kernels/matmul.py"
    target = "cuda:90"
    vary = ["M=1..8192", "bias=None,*fp32:16"]
    [[kernel.launch]]
    arguments = { a = "float16[512, 64]", M = 512, bias = "None" }
    constants = { ACTIVATION = "relu" }

Pin files (pins.py) are written and read with the same functions.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from irscope.compiling.launch_grid import LaunchCase, parse_axes
from irscope.jobs.warm.launch_plans import KernelLaunches
from irscope.model import UserError, format_value, parse_argument
from irscope.model.files import check_regular
from irscope.model.records import frozen
from irscope.model.text import printable
from irscope.targets import parse_target

VERSION = 1
_BARE = re.compile(r"[A-Za-z0-9_-]+")
# The largest file that is read: 100,000 pins are about half of it.
_MAX_BYTES = 200_000_000


def text_value(value: str) -> str:
    """Return a TOML string.

    Characters that are not printable are escaped, as JSON escapes some of them.
    """
    text = json.dumps(value, ensure_ascii=False)
    if printable(text) == text:
        return text
    return "".join(part if printable(part) == part else f"\\U{ord(part):08x}" for part in text)


def key_value(name: str) -> str:
    """Return a TOML key."""
    return name if _BARE.fullmatch(name) else text_value(name)


@frozen
class KeyKind:
    """What the value of a key must be: in words, and as a test. A key without a default is needed."""

    words: str
    fits: Callable[[Any], bool]
    default: Any = None


def is_list_of(kind: type, value: Any) -> bool:
    """Return True for a list of such values."""
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def read_tables(path: Path, what: str, name: str, keys: Mapping[str, KeyKind]) -> Iterator[dict[str, Any]]:
    """Yield the values of each [[name]] table of a TOML file with a version. Raises UserError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        if check_regular(path).st_size > _MAX_BYTES:
            raise UserError(f"{path}: larger than {_MAX_BYTES:,} bytes")
        document: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML: {error}") from error
    if document.get("version") != VERSION:
        version = document.get("version", "no version")
        raise UserError(f"{path}: not a {what} of version {VERSION}: {version}")
    tables = document.get(name, [])
    if not is_list_of(Mapping, tables):
        raise UserError(f"{path}: '{name}' must be [[{name}]] tables")
    for number, table in enumerate(tables, 1):
        yield table_values(f"{path}: {name} {number}", table, keys)


def table_values(where: str, table: Mapping[str, Any], keys: Mapping[str, KeyKind]) -> dict[str, Any]:
    """Return the values of all `keys` in a table. Raises UserError that names the one that is wrong."""
    if unknown := [key for key in table if key not in keys]:
        raise UserError(f"{where}: unknown key '{unknown[0]}'; known: {', '.join(keys)}")
    for key, kind in keys.items():
        if key in table and not kind.fits(table[key]):
            raise UserError(f"{where}: {key} must be {kind.words}")
    if missing := [key for key, kind in keys.items() if kind.default is None and not table.get(key)]:
        raise UserError(f"{where}: {missing[0]} is missing")
    return {key: table.get(key, kind.default) for key, kind in keys.items()}


_HEADER = """\
# The kernels that irscope warm --plan compiles. `vary` adds launches: see irscope warm --help.
# `arguments` are those of a recorded launch; files are relative to this one.
"""
_INTEGER = re.compile(r"-?\d{1,18}")


def plan_text(kernels: Sequence[KernelLaunches], folder: Path) -> str:
    """Return the text of a plan file in `folder`."""
    ordered = sorted(kernels, key=lambda each: (each.kernel, str(each.file), str(each.target)))
    return "\n".join([f"{_HEADER}version = {VERSION}", *("\n".join(_lines(k, folder)) for k in ordered), ""])


def _lines(kernel: KernelLaunches, folder: Path) -> Iterator[str]:
    yield "\n[[kernel]]"
    yield f"name = {text_value(kernel.kernel)}"
    yield f"file = {text_value(os.path.relpath(kernel.file, folder))}"
    yield f"target = {text_value(str(kernel.target))}"
    yield f"vary = [{', '.join(text_value(f'{axis.name}={axis.text}') for axis in kernel.axes)}]"
    for case in kernel.cases:
        yield "[[kernel.launch]]"
        yield f"arguments = {_table(dict(case.arguments))}"
        if case.constants:
            values = {name: str(v) if isinstance(v, int) else _text(v) for name, v in case.constants}
            yield f"constants = {_table(values)}"
        if case.unaligned:
            yield f"unaligned = [{', '.join(map(text_value, sorted(case.unaligned)))}]"


def _text(value: Any) -> str:
    """Return a constant as text that is read back as the same.

    A string that is not a plain word is in quotes.
    """
    return repr(value) if isinstance(value, str) else format_value(value)


def _table(values: Mapping[str, str]) -> str:
    pairs = (
        f"{key_value(name)} = {text if _INTEGER.fullmatch(text) else text_value(text)}"
        for name, text in values.items()
    )
    return f"{{ {', '.join(pairs)} }}"


def _is_table_of_values(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(item, str | int | float) for item in value.values())


TEXT = KeyKind("a string", lambda value: isinstance(value, str))
_VALUES = KeyKind("a table of strings or numbers", _is_table_of_values, {})
_KERNEL = {
    "name": TEXT,
    "file": TEXT,
    "target": TEXT,
    "vary": KeyKind('a list such as ["M=1..8192"]', partial(is_list_of, str), []),
    "launch": KeyKind("[[kernel.launch]] tables", partial(is_list_of, Mapping), []),
}
_LAUNCH = {
    "arguments": _VALUES,
    "constants": _VALUES,
    "unaligned": KeyKind("a list of names", partial(is_list_of, str), []),
}


def read_plan(path: Path) -> tuple[KernelLaunches, ...]:
    """Read the kernels in a plan file.

    Raises UserError that names the kernel and what is wrong with it.
    """
    return tuple(_kernel(path, table) for table in read_tables(path, "plan", "kernel", _KERNEL))


def _kernel(path: Path, table: Mapping[str, Any]) -> KernelLaunches:
    name = table["name"]
    where = f"{path}: kernel {name}"
    try:
        target = parse_target(table["target"])
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
    return KernelLaunches(
        kernel=name,
        file=path.parent / table["file"],
        target=target,
        cases=tuple(_case(table_values(f"{where}: launch", launch, _LAUNCH)) for launch in table["launch"]),
        axes=tuple(axis for entry in table["vary"] for axis in parse_axes(f"{name}:{entry}")),
    )


def _case(launch: Mapping[str, Any]) -> LaunchCase:
    return LaunchCase(
        tuple((name, str(value)) for name, value in launch["arguments"].items()),
        tuple((name, parse_argument(str(value))) for name, value in launch["constants"].items()),
        frozenset(launch["unaligned"]),
    )
