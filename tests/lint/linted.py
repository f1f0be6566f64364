"""Lints text, for the tests."""

from __future__ import annotations

import textwrap

from irscope.lint.source.checks import CHECKS, lint_source

ALL = frozenset(rule.name for rule in CHECKS)
HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"


def lint(text, rules=ALL):
    """The problems of a program that imports torch, triton and tl; its first line is line 5."""
    return lint_source(HEAD + textwrap.dedent(text), "kernels.py", rules)


def names(text):
    """The names of the rules that find something, in order."""
    return [problem.rule.name for problem in lint(text)]
