"""Helpers that lint text."""

from __future__ import annotations

import textwrap

from irscope.lint.linter import lint_source
from irscope.lint.rules import SOURCE_RULES

ALL = frozenset(rule.name for rule in SOURCE_RULES)
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"


def lint(text, rules=ALL):
    """The diagnostics of a program after imports of torch, triton and tl; its first line is line 5."""
    return lint_source(HEAD + textwrap.dedent(text), "kernels.py", rules)


def names(text):
    """The names of the rules that report something, in order."""
    return [diagnostic.rule.name for diagnostic in lint(text)]
