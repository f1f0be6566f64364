"""Selects the rules that run (`--select`, `--ignore`), and reads `# irscope: ignore[rule]` comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from irscope.lint.diagnostic import Diagnostic, Rule

# `# irscope: ignore[one-config, key-missing]`, or `# irscope: ignore` for all rules.
_COMMENT = re.compile(r"#[ \t]*irscope:[ \t]*ignore(?:\[([^\]\n]*)\])?")


def is_suppressed(diagnostic: Diagnostic, lines: Sequence[str], first: int = 1) -> bool:
    """Whether a comment suppresses a diagnostic, on its line or at the kernel's declaration.

    `lines` are the lines of its file from line `first` on.
    """
    places = {diagnostic.line, *diagnostic.suppression_lines}
    return any(
        _ignores(lines[line - first], diagnostic.rule) for line in places if 0 <= line - first < len(lines)
    )


def selected_rules(rules: Iterable[Rule], select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """The names of the rules to run. `select` (empty: all) and `ignore` hold names or codes."""
    included, excluded = set(select), set(ignore)
    return frozenset(
        rule.name
        for rule in rules
        if (not included or {rule.name, rule.code} & included) and not {rule.name, rule.code} & excluded
    )


def _ignores(line: str, rule: Rule) -> bool:
    for match in _COMMENT.finditer(line):
        listed = match[1]
        if listed is None or {rule.name, rule.code} & {name.strip() for name in listed.split(",")}:
            return True
    return False
