"""Advisories: known bugs of compilers and libraries, as data. Each is a file of `advisories/`.

An advisory says what happens, in which versions and on which targets, and what a kernel must have to be
affected: calls in its source, operations of its stages, values of its config, a message of the compiler.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from irscope.lint.diagnostic import Rule
from irscope.model.records import frozen

_COMPARISON = re.compile(r"(<=|>=|==|<|>)\s*([\d.]+)$")
_CUDA = re.compile(r"cuda_(\d+\.\d+)")
_NUMBERS = re.compile(r"\d+")
_COMPARED = 3  # major, minor, patch
_ANY = ("*",)


@frozen
class OperationPattern:
    """An operation that an affected variant has in a stage.

    `opcode` is exact, or ends in `*`. `text` is a regular expression, searched in the operation's first
    line; `inside` is the opcode of an operation around it. `operands` are the opcodes from which one of its
    operands comes, the last one first, leaving out conversions of layouts. The stage has
    at least `count` of them or, if `absent`, fewer.
    """

    stage: str
    opcode: str
    text: re.Pattern[str] | None
    inside: str
    operands: tuple[str, ...]
    absent: bool
    count: int


@frozen
class Advisory(Rule):
    """A known bug; `page` is written from the other fields.

    `effect` is "wrong results", "hang", "crash" or "misleading". `affected` are the versions of Triton
    (">=3.4, <3.7.1"), and `fixed` is the first release without it, "" if there is none. `targets` and
    `kernels` are patterns of names. A variant is affected if it also has all of `config` (the values that
    match, or a comparison such as ">= 2"), of `calls` (regular expressions, matched with a call of the
    kernel's source as `ast.unparse` writes it, without the module's name) and of `operations`, and was
    assembled by one of the versions of `ptxas`. If the compiler printed `failure`, operations do not count.
    """

    effect: str
    description: str
    affected: str
    fixed: str
    source: str
    workaround: str
    targets: tuple[str, ...] = _ANY
    kernels: tuple[str, ...] = _ANY
    config: tuple[tuple[str, tuple[Any, ...] | str], ...] = ()
    calls: tuple[re.Pattern[str], ...] = ()
    operations: tuple[OperationPattern, ...] = ()
    failure: re.Pattern[str] | None = None
    ptxas: str = ""

    @property
    def versions(self) -> str:
        """Return the affected versions and targets, and the first fixed version."""
        fixed = f"fixed in {self.fixed}" if self.fixed else "no fix is known"
        tools = (("Triton", self.affected), ("ptxas", self.ptxas))
        ranges = [f"{tool} {versions}" for tool, versions in tools if versions]
        on_targets = "" if self.targets == _ANY else f" on {', '.join(self.targets)}"
        return f"{' with '.join(ranges) or 'all versions'}{on_targets}, {fixed}"

    @property
    def explanation(self) -> str:
        """Return the page on one line."""
        return f"{self.summary} {self.description} Affected: {self.versions}. Workaround: {self.workaround}."

    def affects(self, triton: str) -> bool:
        """Return True if a version of Triton is affected ("3.8.0+git675c"); False if it is not a version."""
        return _in_range(triton, self.affected)

    def affects_ptxas(self, ptxas: str) -> bool:
        """Return True if a ptxas is affected, by what it prints: "Build cuda_12.9.r12.9/compiler.36"."""
        build = _CUDA.search(ptxas)
        return not self.ptxas or (build is not None and _in_range(build[1], self.ptxas))


def _in_range(version: str, comparisons: str) -> bool:
    numbers = _numbers(version)
    texts = filter(None, map(str.strip, comparisons.split(",")))
    return bool(numbers) and all(_holds(numbers, text, _numbers) for text in texts)


def holds(value: object, expected: tuple[Any, ...] | str) -> bool:
    """Return True if a value of a config is one of those expected, or compares as the text says."""
    if not isinstance(expected, str):
        return value in expected
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and _holds(value, expected, float)


def _holds(value: Any, comparison: str, parse: Any) -> bool:
    match = _COMPARISON.match(comparison)
    if match is None:
        raise ValueError(f"'{comparison}' is not a comparison such as '<3.9'")
    operator, other = match[1], parse(match[2])
    if operator == "==":
        return bool(value == other)
    if operator.startswith("<"):
        return bool(value < other or (operator == "<=" and value == other))
    return bool(value > other or (operator == ">=" and value == other))


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of "3.8.0+git675c" as (3, 8, 0); none if the text does not begin with one."""
    release = re.match(r"[\d.]*", version)
    numbers = [int(number) for number in _NUMBERS.findall(release[0])] if release else []
    return tuple((numbers + [0] * _COMPARED)[:_COMPARED]) if numbers else ()


@lru_cache(maxsize=1)
def advisories() -> tuple[Advisory, ...]:
    """Return all advisories, by code. Raises KeyError, TypeError or ValueError if a file is malformed."""
    files = Path(__file__).with_name("advisories").glob("*.toml")
    parsed = [parse_advisory(file.stem, file.read_text(encoding="utf-8")) for file in files]
    return tuple(sorted(parsed, key=lambda advisory: advisory.code))


def parse_advisory(name: str, text: str) -> Advisory:
    """Return the advisory of a TOML file. Raises KeyError, TypeError or ValueError if it is malformed."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    fields: dict[str, Any] = tomllib.loads(text)
    fields["page"] = f"{fields.pop('title')}."
    fields["calls"] = tuple(map(re.compile, fields.get("calls", ())))
    fields["operations"] = tuple(_operation(**one) for one in fields.get("operations", ()))
    fields["config"] = tuple((key, _frozen(value)) for key, value in fields.get("config", {}).items())
    fields |= {key: tuple(fields[key]) for key in ("targets", "kernels") if key in fields}
    if "failure" in fields:
        fields["failure"] = re.compile(fields["failure"])
    return Advisory(name=name, **fields)


def _frozen(value: list[Any] | str) -> tuple[Any, ...] | str:
    return value if isinstance(value, str) else tuple(value)


def _operation(
    stage: str,
    opcode: str,
    text: str = "",
    inside: str = "",
    operands: Sequence[str] = (),
    absent: bool = False,
    count: int = 1,
) -> OperationPattern:
    pattern = re.compile(text) if text else None
    return OperationPattern(stage, opcode, pattern, inside, tuple(operands), absent, count)
