"""Programs with a planted error: what lint reports of them as they are, and corrected.

The line with the error ends in a comment, `# bug: RULE -> the corrected line`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from irscope.lint.linter import lint_source
from tests.lint.linted import ALL

PROGRAMS = Path(__file__).parent.parent / "data" / "planted"
_BUG = re.compile(r"^(?P<indent> *)(?P<wrong>.*?)  # bug: (?P<rule>[\w-]+) -> (?P<right>.*)$", re.M)


@dataclass(frozen=True)
class Planted:
    """A program, the rule that should report it, and the line."""

    name: str
    wrong: str
    right: str
    rule: str
    line: int

    def found(self) -> list[tuple[str, int]]:
        """The rules that report the program, with their lines."""
        return [(one.rule.name, one.line) for one in lint_source(self.wrong, self.name, ALL)]

    def found_if_corrected(self) -> list[tuple[str, int]]:
        """The rules that report the corrected program."""
        return [(one.rule.name, one.line) for one in lint_source(self.right, self.name, ALL)]


def planted(folder: str) -> Iterator[Planted]:
    """The programs of a folder."""
    for path in sorted((PROGRAMS / folder).glob("*.py")):
        text = path.read_text(encoding="utf-8")
        match = _BUG.search(text)
        assert match is not None, path
        wrong = _BUG.sub(r"\g<indent>\g<wrong>", text)
        right = _BUG.sub(r"\g<indent>\g<right>", text)
        yield Planted(path.stem, wrong, right, match["rule"], text[: match.start()].count("\n") + 1)
