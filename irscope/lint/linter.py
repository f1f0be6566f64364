"""Runs the rules on a Python file or on the kernels of a capture.

Selects the rules that run (`--select`, `--ignore`), and reads `# irscope: ignore[rule]` comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic, Rule, SourceRule
from irscope.lint.rules import CAPTURE_RULES, LAUNCH_RULES, SOURCE_RULES
from irscope.lint.source.python_module import PythonModule

# `# irscope: ignore[one-config, key-missing]`, or `# irscope: ignore` for all rules.
_COMMENT = re.compile(r"#[ \t]*irscope:[ \t]*ignore(?:\[([^\]\n]*)\])?")


def is_suppressed(diagnostic: Diagnostic, lines: Sequence[str], first: int = 1) -> bool:
    """Check whether a comment suppresses a diagnostic, on its line or at the kernel's declaration.

    `lines` are the lines of its file from line `first` on.
    """
    candidate_lines = {diagnostic.line, *diagnostic.suppression_lines}
    return any(
        _ignores(lines[line - first], diagnostic.rule)
        for line in candidate_lines
        if 0 <= line - first < len(lines)
    )


def selected_rules(rules: Iterable[Rule], select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """Return the names of the rules to run. `select` (empty: all) and `ignore` hold names or codes."""
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


def lint_source(text: str, path: str, rules: frozenset[str]) -> list[Diagnostic]:
    """Return the diagnostics of a Python file, by line. `rules` are the names of the rules to run.

    Raises SyntaxError or ValueError if `text` is not valid Python.
    """
    module = PythonModule(text, path)
    if "triton" not in text:
        return []
    diagnostics = [one for rule in SOURCE_RULES if rule.name in rules for one in _found(rule, module)]
    reported = [one for one in dict.fromkeys(diagnostics) if not is_suppressed(one, module.lines)]
    return sorted(reported, key=lambda one: (one.line, one.column, one.rule.code))


def _found(rule: SourceRule, module: PythonModule) -> list[Diagnostic]:
    """Run a rule; return nothing if an expression is nested too deeply for it."""
    try:
        return list(rule.check(module))
    except RecursionError:
        return []


def lint_compiled(kernels: Sequence[CompiledKernel], rules: frozenset[str]) -> list[Diagnostic]:
    """Return the diagnostics of compiled kernels, by file and line.

    `rules` are the names of the rules to run.
    """
    diagnostics = [
        diagnostic
        for compiled in kernels
        for diagnostic in (*_of_variants(compiled, rules), *_of_launches(compiled, rules))
        if not is_suppressed(diagnostic, compiled.lines, compiled.kernel.source.line)
    ]
    return sorted(diagnostics, key=lambda one: (one.file, one.line, one.column, one.rule.code, one.message))


def _of_variants(compiled: CompiledKernel, rules: frozenset[str]) -> Iterator[Diagnostic]:
    for rule in CAPTURE_RULES:
        if rule.name in rules:
            yield from rule.check(compiled)


def _of_launches(compiled: CompiledKernel, rules: frozenset[str]) -> Iterator[Diagnostic]:
    """Yield what rules find in launches: the first problem of each rule at a line."""
    selected = [rule for rule in LAUNCH_RULES if rule.name in rules]
    reported: set[tuple[str, int]] = set()
    for launch in compiled.launched(compiled.variants) if selected else ():
        for rule in selected:
            for diagnostic in rule.check(compiled, launch):
                if (rule.code, diagnostic.line) not in reported:
                    reported.add((rule.code, diagnostic.line))
                    yield diagnostic
