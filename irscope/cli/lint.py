"""Find the mistakes that people make with kernels: in Python files, without running them, or in a capture.

Each rule has a name and a code, which --select and --ignore take, and a page: irscope explain NAME. A
comment `# irscope: ignore[NAME]` on the line, or on the kernel's def or decorators, silences it. Exit code
1 where something is found, 2 where a file cannot be read.

example: irscope lint samples/ --ignore one-config
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.lint.diagnostic import Diagnostic
    from irscope.report.terminal.lint_report import Linted

NAME = "lint"
SUMMARY = "find the mistakes that people make, in kernels' source or in a capture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="a Python file, a folder of them, or a capture"
    )
    parser.add_argument("--select", metavar="RULES", action="append", help="only these, by name or code")
    parser.add_argument("--ignore", metavar="RULES", action="append", help="all but these")
    options.add_format(parser, "text", "json", "sarif")


def run(args: argparse.Namespace) -> int:
    """Prints what is found; 1 where there is something. Raises UserError for wrong use."""
    from irscope.lint.rules import RULES
    from irscope.report.json.records import to_json
    from irscope.report.terminal.lint_report import lint_document, lint_text, sarif_document

    select, ignore = (options.split_names(names) or [] for names in (args.select, args.ignore))
    linted = lint(args.paths, select, ignore)
    if args.format == "text":
        from irscope.model.text import one_line

        sys.stdout.writelines(line + "\n" for line in lint_text(linted, options.paint()))
        sys.stdout.flush()
        for file, reason in linted.unread:
            print(one_line(f"irscope: {file}: {reason}"), file=sys.stderr)
    else:
        document = lint_document(linted) if args.format == "json" else sarif_document(linted, RULES)
        sys.stdout.write(to_json(document))
    return 2 if linted.unread else int(bool(linted.problems))


def lint(paths: list[Path], select: list[str], ignore: list[str]) -> Linted:
    """Lints files, folders and captures. Raises UserError for a path or rule that is not there."""
    from irscope.cli.lint_files import python_files, settings_for
    from irscope.report.terminal.lint_report import Linted

    check_rules(select + ignore, "--select and --ignore")
    problems: list[Diagnostic] = []
    unread: list[tuple[str, str]] = []
    files = 0
    for path in paths:
        if not path.exists():
            raise UserError(f"{path}: no such file")
        if path.is_file() and path.suffix != ".py":
            files += 1
            problems += _capture(path, select, ignore)
            continue
        for file in python_files(path):
            files += 1
            theirs = settings_for(file)
            check_rules([*theirs.select, *theirs.ignore], str(theirs.file))
            try:
                problems += _source(file, select or theirs.select, [*ignore, *theirs.ignore])
            except (SyntaxError, ValueError, OSError) as error:
                unread.append((str(file), _reason(error)))
    return Linted(files, problems, unread)


def check_rules(names: list[str], where: str) -> None:
    """Raises UserError, naming `where` it was said, for a name that no rule has."""
    from irscope.lint.rules import RULES

    known = {name for rule in RULES for name in (rule.name, rule.code)}
    if wrong := [name for name in names if name not in known]:
        there = ", ".join(rule.name for rule in RULES)
        raise UserError(f"{where}: no rule '{wrong[0]}'; there is: {there}")


def _source(file: Path, select: list[str], ignore: list[str]) -> list[Diagnostic]:
    import tokenize

    from irscope.lint.linter import lint_source
    from irscope.lint.rules import RULES
    from irscope.lint.suppressions import selected_rules

    with tokenize.open(file) as stream:
        text = stream.read()
    return lint_source(text, str(file), selected_rules(RULES, select, ignore))


def _capture(path: Path, select: list[str], ignore: list[str]) -> list[Diagnostic]:
    from irscope.lint.compiled import CompiledKernel
    from irscope.lint.linter import lint_compiled
    from irscope.lint.rules import RULES
    from irscope.lint.suppressions import selected_rules
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        variants, names, facts = workspace.variants, workspace.names, workspace.all_facts()
        places = dict.fromkeys((variant.kernel.id, variant.target) for variant in variants)
        kernels = [
            CompiledKernel(
                [v for v in variants if (v.kernel.id, v.target) == place],
                names,
                facts,
                workspace.find_content,
            )
            for place in places
        ]
        return lint_compiled(kernels, selected_rules(RULES, select, ignore))


def _reason(error: SyntaxError | ValueError | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror}"
    line = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"no Python{line}: {message}"
