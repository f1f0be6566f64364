"""Lints Python files and captures: which files, with which rules, and what was found."""

from __future__ import annotations

import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.lint.advisory import advisories
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.rules import RULES
from irscope.model import UserError, Variant
from irscope.model.files import python_files

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


@dataclass(frozen=True, slots=True)
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
    from irscope.workspace.result_changes import ResultChanges
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
