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

The TOML that irscope writes and reads: strings, numbers and tables.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irscope.compiling.launch_grid import LaunchCase, parse_axes
from irscope.jobs.warm.launch_plans import KernelLaunches
from irscope.model import Target, UserError, format_value, parse_argument
from irscope.model.files import check_regular
from irscope.model.text import printable
from irscope.targets import parse_target

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


def read_toml(path: Path) -> dict[str, Any]:
    """Read the document in a file. Raises UserError if it cannot be read or is not TOML."""
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
    return document


VERSION = 1
_HEADER = """\
# The kernels that irscope warm --plan compiles. `vary` adds launches: see irscope warm --help.
# `arguments` are those of a recorded launch; files are relative to this one.
"""
_INTEGER = re.compile(r"-?\d{1,18}")
_LAUNCH_KEYS = ("arguments", "constants", "unaligned")
_KERNEL_KEYS = ("name", "file", "target", "vary", "launch")


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


def read_plan(path: Path) -> tuple[KernelLaunches, ...]:
    """Read the kernels in a plan file.

    Raises UserError that names the kernel and what is wrong with it.
    """
    document = read_toml(path)
    if document.get("version") != VERSION:
        raise UserError(f"{path}: not a plan of version {VERSION}: {document.get('version', 'no version')}")
    tables = document.get("kernel", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise UserError(f"{path}: 'kernel' must be [[kernel]] tables")
    return tuple(_kernel(path, number, table) for number, table in enumerate(tables, 1))


def _kernel(path: Path, number: int, table: Mapping[str, Any]) -> KernelLaunches:
    where = f"{path}: kernel {number}"
    _check_keys(where, table, _KERNEL_KEYS)
    name, file, target = (table.get(key) for key in ("name", "file", "target"))
    if not (isinstance(name, str) and isinstance(file, str) and isinstance(target, str)):
        raise UserError(f"{where}: name, file and target must be strings")
    where = f"{path}: kernel {name}"
    entries, launches = table.get("vary", []), table.get("launch", [])
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise UserError(f'{where}: vary must be a list such as ["M=1..8192"]')
    if not isinstance(launches, list) or not all(isinstance(launch, Mapping) for launch in launches):
        raise UserError(f"{where}: 'launch' must be [[kernel.launch]] tables")
    return KernelLaunches(
        kernel=name,
        file=path.parent / file,
        target=_target(where, target),
        cases=tuple(_case(where, launch) for launch in launches),
        axes=tuple(axis for entry in entries for axis in parse_axes(f"{name}:{entry}")),
    )


def _target(where: str, text: str) -> Target:
    try:
        return parse_target(text)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _case(where: str, table: Mapping[str, Any]) -> LaunchCase:
    _check_keys(f"{where}: launch", table, _LAUNCH_KEYS)
    arguments, constants, unaligned = (table.get(key, {}) for key in _LAUNCH_KEYS)
    if not (isinstance(arguments, Mapping) and isinstance(constants, Mapping)):
        raise UserError(f"{where}: arguments and constants must be tables")
    if not all(isinstance(value, str | int | float) for value in (*arguments.values(), *constants.values())):
        raise UserError(f"{where}: the values of arguments and constants must be strings or numbers")
    return LaunchCase(
        tuple((name, str(value)) for name, value in arguments.items()),
        tuple((name, parse_argument(str(value))) for name, value in constants.items()),
        frozenset(map(str, unaligned)) if isinstance(unaligned, list) else frozenset(),
    )


def _check_keys(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    if unknown := [key for key in table if key not in known]:
        raise UserError(f"{where}: unknown key '{unknown[0]}'; known: {', '.join(known)}")
