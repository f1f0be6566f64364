"""What is not to be told: rules that are left out, and `# irscope: ignore[rule]` in the source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from irscope.lint.diagnostic import Diagnostic, Rule

# In a line: `# irscope: ignore[one-config, key-missing]`, or `# irscope: ignore` for all rules.
_COMMENT = re.compile(r"#[ \t]*irscope:[ \t]*ignore(?:\[([^\]\n]*)\])?")


def silenced(problem: Diagnostic, lines: Sequence[str], first: int = 1) -> bool:
    """Whether a comment silences a problem: on its line, or where the decorated function is declared.

    `lines` are those of its file from line `first` on.
    """
    places = {problem.line, *problem.silenced_at}
    return any(_names(lines[line - first], problem.rule) for line in places if 0 <= line - first < len(lines))


def chosen(rules: Iterable[Rule], select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """The names of the rules to look for; `select` (empty: all) and `ignore` have names or codes."""
    wanted, unwanted = set(select), set(ignore)
    return frozenset(
        rule.name
        for rule in rules
        if (not wanted or {rule.name, rule.code} & wanted) and not {rule.name, rule.code} & unwanted
    )


def _names(line: str, rule: Rule) -> bool:
    for match in _COMMENT.finditer(line):
        listed = match[1]
        if listed is None or {rule.name, rule.code} & {name.strip() for name in listed.split(",")}:
            return True
    return False
