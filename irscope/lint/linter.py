"""Runs the rules on a Python file or on the kernels of a capture."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.rules import CAPTURE_RULES, SOURCE_RULES
from irscope.lint.source.python_module import PythonModule
from irscope.lint.suppressions import is_suppressed


def lint_source(text: str, path: str, rules: frozenset[str]) -> list[Diagnostic]:
    """The diagnostics of a Python file, by line. `rules` are the names of the rules to run.

    Raises SyntaxError or ValueError if `text` is not valid Python.
    """
    module = PythonModule(text, path)
    if "triton" not in text:
        return []
    found = [one for rule in SOURCE_RULES if rule.name in rules for one in _found(rule, module)]
    kept = [one for one in dict.fromkeys(found) if not is_suppressed(one, module.lines)]
    return sorted(kept, key=lambda one: (one.line, one.column, one.rule.code))


def _found(rule: SourceRule, module: PythonModule) -> list[Diagnostic]:
    """The findings of a rule; none if an expression is nested too deeply for it."""
    try:
        return list(rule.check(module))
    except RecursionError:
        return []


def lint_compiled(kernels: Sequence[CompiledKernel], rules: frozenset[str]) -> list[Diagnostic]:
    """The diagnostics of compiled kernels, by file and line. `rules` are the names of the rules to run."""
    found = [
        diagnostic
        for compiled in kernels
        for rule in CAPTURE_RULES
        if rule.name in rules
        for diagnostic in rule.check(compiled)
        if not is_suppressed(diagnostic, compiled.lines, compiled.kernel.source.line)
    ]
    return sorted(found, key=lambda one: (one.file, one.line, one.column, one.rule.code, one.message))
