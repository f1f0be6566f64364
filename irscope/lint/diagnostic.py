"""A lint rule, and a diagnostic that a rule reports: a location, the problem, and how to fix it.

The documentation of the rules, without importing them: `irscope explain` would take twice as long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model.records import frozen

if TYPE_CHECKING:
    from irscope.lint.compiled import CompiledKernel
    from irscope.lint.executed import ExecutedLaunch
    from irscope.lint.source.python_module import PythonModule


_REASON = "**Why is this bad?** "
_BLOCK = re.compile(r"^```.*?^```$|^\S.*?(?=\n\n|\Z)", re.M | re.S)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@frozen
class Diagnostic:
    """One mistake. `line` and `column` count from 1; `fix` says what to do, in one sentence.

    A comment on `line` or on one of `suppression_lines`, such as the kernel's `def`, suppresses it.
    """

    rule: Rule
    file: str
    line: int
    column: int
    message: str
    fix: str
    suppression_lines: tuple[int, ...]


@frozen
class Rule:
    """A kind of mistake. `code` ("IRS101": 1xx from source, 2xx from a capture, 3xx from its
    launches) and `name` never change.

    `page` is its documentation, next to it or the docstring of its module: one line that sums it up, then
    Markdown paragraphs that open with **What it does.**, **Why is this bad?** and so on.
    """

    code: str
    name: str
    page: str

    @property
    def summary(self) -> str:
        """Return the first line of the page: what the rule reports."""
        return self.page.partition("\n")[0].strip()

    @property
    def body(self) -> str:
        """Return the page without its first line, as Markdown."""
        return cleandoc(self.page).partition("\n")[2].strip()

    @property
    def blocks(self) -> list[str]:
        """Return the blocks of the body: code, and paragraphs, each on one line."""
        matches = _BLOCK.findall(self.body)
        return [block if block.startswith("```") else " ".join(block.split("\n")) for block in matches]

    @property
    def explanation(self) -> str:
        """Return the summary and the reason for it, without links."""
        reasons = [block.removeprefix(_REASON) for block in self.blocks if block.startswith(_REASON)]
        return _LINK.sub(r"\1", " ".join([self.summary, *reasons]))


def lines_text(lines: Collection[int]) -> str:
    """Return line numbers as a message shows them: "line 4" or "lines 4, 5"."""
    return f"line{'' if len(lines) == 1 else 's'} {', '.join(map(str, sorted(lines)))}"


@frozen
class SourceRule(Rule):
    """A rule that reads one Python file."""

    check: Callable[[PythonModule], Iterator[Diagnostic]]


@frozen
class CaptureRule(Rule):
    """A rule that reads the variants of one kernel, compiled for one target."""

    check: Callable[[CompiledKernel], Iterator[Diagnostic]]


@frozen
class LaunchRule(Rule):
    """A rule that executes launches of one kernel, compiled for one target; the launches come one by one."""

    check: Callable[[CompiledKernel, ExecutedLaunch], Iterator[Diagnostic]]


_RULE = re.compile(r'^\w+ = \w+Rule\(\s*"(\w+)",\s*"([\w-]+)",\s*(?:__doc__|"""\\\n(.*?)""")', re.M | re.S)
_MODULE_PAGE = re.compile(r'"""(.*?)^"""$', re.M | re.S)


def documented_rules() -> Iterator[Rule]:
    """Yield each rule of `rules/` by code: its code, name and page; nothing that can be run.

    The page of a rule that has a module of its own is the docstring of the module.
    """
    rules: list[Rule] = []
    for path in Path(__file__).with_name("rules").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        own_page = _MODULE_PAGE.match(text)
        page = own_page[1] if own_page else ""
        rules += [Rule(match[1], match[2], match[3] or page) for match in _RULE.finditer(text)]
    yield from sorted(rules, key=lambda rule: rule.code)
