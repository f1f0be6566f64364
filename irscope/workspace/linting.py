"""Lints Python files and captures: which files, with which rules, and what was found."""

from __future__ import annotations

import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.lint.advisory import advisories
from irscope.lint.compiled import ChangedResults
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.rules import RULES
from irscope.model import UserError, Variant
from irscope.model.files import python_files
from irscope.model.records import frozen, varying_keys
from irscope.workspace.problem_sizes import problems

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace

_KEYS = ("select", "ignore")


@dataclass(frozen=True)
class LintResult:
    """The number of `files` read (a capture counts as one) and the `problems`, in order.

    `unread` are the files that could not be read, with the reason; `paths` are the files that were. `notes`
    say which launches were not executed, and what could not be decided about the others.
    """

    files: int
    problems: Sequence[Diagnostic]
    unread: Sequence[tuple[str, str]] = ()
    paths: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def rules(self) -> Sequence[Rule]:
        """Return all rules and advisories, those that were not selected included."""
        return _all_rules()

    @staticmethod
    def of_source(text: str, file: str) -> list[Diagnostic]:
        """Return the problems of a Python file with this text, by all rules.

        Raises SyntaxError or ValueError if `text` is not valid Python.
        """
        from irscope.lint.linter import lint_source

        return lint_source(text, file, frozenset(rule.name for rule in RULES))


@frozen
class LintSettings:
    """`[tool.irscope.lint]` of a pyproject.toml: the rules to select (empty: all) and to ignore."""

    file: Path | None = None
    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)


def lint(
    paths: Sequence[Path],
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    launches: Sequence[str] = (),
) -> LintResult:
    """Lint files, folders and captures; `select` (empty: all) and `ignore` are rules' names or codes.

    `launches`, as `--launch` takes them, are executed instead of the recorded ones of a capture. A file's
    pyproject.toml applies as well. Raises UserError if a path or rule does not exist, or a launch fits no
    variant.
    """
    _settings.cache_clear()  # a pyproject.toml can change between calls
    _check_names([*select, *ignore], "--select and --ignore")
    problems: list[Diagnostic] = []
    unread: list[tuple[str, str]] = []
    files: list[str] = []
    notes: list[str] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file")
        if path.is_file() and path.suffix != ".py":
            files.append(str(path))
            diagnostics, undecided = _lint_capture(path, select, ignore, launches)
            problems += diagnostics
            notes += undecided
            continue
        for file in python_files(path):
            files.append(str(file))
            settings = settings_for(file)
            _check_names([*settings.select, *settings.ignore], str(settings.file))
            try:
                problems += _lint_source(file, select or settings.select, [*ignore, *settings.ignore])
            except (SyntaxError, ValueError, OSError, LookupError, RecursionError, MemoryError) as error:
                unread.append((str(file), _reason(error)))
    skipped = {file for file, _ in unread}
    return LintResult(len(files), problems, unread, [file for file in files if file not in skipped], notes)


def settings_for(file: Path) -> LintSettings:
    """Return the settings of the nearest pyproject.toml above a file.

    Raises UserError if they are invalid.
    """
    return _settings(file.resolve().parent)


def advisory_names() -> list[str]:
    """Return the names of all advisories."""
    return [advisory.name for advisory in advisories()]


def advisories_of(workspace: Workspace, variant: Variant) -> list[Diagnostic]:
    """Return the advisories that affect one variant of a capture."""
    from irscope.lint.compiled import CompiledKernel
    from irscope.lint.linter import lint_compiled

    compiled = CompiledKernel(
        [variant], workspace.names, {variant.id: {}}, workspace.contents.find, workspace.document
    )
    return lint_compiled([compiled], frozenset(advisory_names()))


def _all_rules() -> Sequence[Rule]:
    return (*RULES, *advisories())


def _check_names(names: Sequence[str], where: str) -> None:
    rule_names = {name for rule in _all_rules() for name in (rule.name, rule.code)}
    if unknown := [name for name in names if name not in rule_names]:
        rules = ", ".join(rule.name for rule in RULES)
        raise UserError(f"{where}: no rule '{unknown[0]}'; known rules: {rules}")


def _lint_source(file: Path, select: Sequence[str], ignore: Sequence[str]) -> list[Diagnostic]:
    from irscope.lint.linter import lint_source, selected_rules

    with tokenize.open(file) as stream:
        text = stream.read()
    return lint_source(text, str(file), selected_rules(_all_rules(), select, ignore))


def _lint_capture(
    path: Path, select: Sequence[str], ignore: Sequence[str], launches: Sequence[str]
) -> tuple[list[Diagnostic], list[str]]:
    """Return the problems of a capture, and what was not executed or decided."""
    from irscope.lint.compiled import CompiledKernel
    from irscope.lint.linter import lint_compiled, selected_rules
    from irscope.workspace.executed_launches import ExecutedLaunches
    from irscope.workspace.workspace import Workspace

    with Workspace(path) as workspace:
        # An edit is no config that an autotuner could leave out.
        variants = [variant for variant in workspace.variants if variant.edit is None]
        names, facts = workspace.names, workspace.all_facts(variants)
        changes = ResultChanges(workspace)
        executed = ExecutedLaunches(workspace, launches)
        executed.check_texts(variants)
        groups = dict.fromkeys((variant.kernel.id, variant.target) for variant in variants)
        kernels = [
            CompiledKernel(
                [v for v in variants if (v.kernel.id, v.target) == group],
                names,
                facts,
                workspace.contents.find,
                workspace.document,
                changes.find,
                executed.find,
            )
            for group in groups
        ]
        problems = lint_compiled(kernels, selected_rules(_all_rules(), select, ignore))
        notes = [
            f"{kernel.kernel.name}: {note}" for kernel in kernels for note in dict.fromkeys(kernel.notes)
        ]
        return problems, [*notes, *executed.notes]


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    if isinstance(error, RecursionError | MemoryError):
        return "not valid Python: nested too deeply"
    line = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"not valid Python{line}: {message}"


@lru_cache(maxsize=1024)
def _settings(folder: Path) -> LintSettings:
    file = folder / "pyproject.toml"
    if file.is_file():
        return _read(file)
    return LintSettings() if folder.parent == folder else _settings(folder.parent)


def _read(file: Path) -> LintSettings:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: Any = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from error
    for key in ("tool", "irscope", "lint"):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict) or not all(
        key in _KEYS and isinstance(value, list) and all(isinstance(name, str) for name in value)
        for key, value in table.items()
    ):
        raise UserError(f"{file}: [tool.irscope.lint] may only have {' and '.join(_KEYS)}, lists of rules")
    return LintSettings(file, table.get("select", []), table.get("ignore", []))


if TYPE_CHECKING:
    from irscope.workspace.bits import ProblemBits
    from irscope.workspace.workspace import Workspace

# How many configs of a capture are executed. Nearly all take 0.3 s at most.
_MOST_EXECUTED = 24


class ResultChanges:
    """The configs of the kernels of a capture that compute other bits, kernel after kernel."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._left = _MOST_EXECUTED

    def find(self, variants: Sequence[Variant]) -> ChangedResults | None:
        """Compare configs of one kernel at the launch that most have; None if their bits are the same.

        Executes the first and the last. If their bits differ, it executes, for each value of a config, one
        that differs from the first in that and in few others.
        """
        from irscope.workspace.bits import bits_at, value_texts

        problem = max(problems(variants), key=lambda problem: len(problem.variants), default=None)
        if problem is None or self._left <= 0:
            return None
        first = problem.variants[0]
        # Another compiler may compute other bits, whatever the config.
        versions = first.toolchain.versions
        others = [v for v in problem.variants[1:] if v.toolchain.versions == versions]
        names = varying_keys(variant.settings for variant in (first, *others))
        values = value_texts(first, names).items()
        differing = {v.id: dict(value_texts(v, names).items() - values) for v in others}
        # Blocks and warps are listed in ascending order: the last of equally many differ most from the first.
        last_first = others[::-1]
        nearest = sorted(last_first, key=lambda variant: len(differing[variant.id]))
        chosen = [next((v for v in nearest if name in differing[v.id]), first) for name in names]
        for sample in ([first, *last_first[:1]], [first, *last_first[:1], *chosen]):
            launches = {variant.id: problem.launches[variant.id] for variant in sample}
            members = tuple(variant for variant in problem.variants if variant.id in launches)
            self._left -= len(members)
            part = replace(problem, variants=members, launches=launches, unlaunched=())
            bits = bits_at(self._workspace, part, first)
            if not bits.deciding:
                return None
        return _changed(bits)


def _changed(bits: ProblemBits) -> ChangedResults:
    """Return what decides."""
    difference = min(bits.from_first, key=lambda difference: len(difference.reasons))
    reason = difference.reasons[0] if difference.reasons else None
    a, b = (next(c.variants[0] for c in bits.classes if c.name == name) for name in ("a", difference.b))
    return ChangedResults(
        bits.problem.text,
        bits.deciding,
        sum(len(item.variants) for item in bits.classes),
        [name for name, value in bits.problem.arguments if value.lstrip("-").isdigit()],
        f"A = #{a}, B = #{b}: {bits.reason_texts(difference)[0]}",
        reason.source_line or None if reason else None,
    )
