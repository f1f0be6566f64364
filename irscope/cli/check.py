"""Check the facts of a capture's variants against what is expected of them: for a team's CI.

An expectation is FACT OPERATOR VALUE, several joined by `and`; operators are == != < <= > >= contains.
The facts are the columns of irscope table; spills, global_load_bytes and some more are other names for
them. What is not known does not hold. Exit code 1 where one does not hold.

example: irscope check matmul.irscope --expect "spills == 0" --expect "global_load_bytes >= 16"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irscope.cli import options
from irscope.model import UserError, Variant
from irscope.store import find_variant

if TYPE_CHECKING:
    from irscope.report.terminal.check_report import Checked

NAME = "check"
SUMMARY = "check facts against what is expected of them, for CI"

_KEYS = ("that", "kernel", "target", "variant")


@dataclass(frozen=True, slots=True)
class CheckRule:
    """Expectations, and the variants that they are of: None is all; `kernel` is a glob."""

    that: tuple[str, ...]
    kernel: str | None = None
    target: str | None = None
    variant: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "--expect",
        metavar="EXPECTATION",
        action="append",
        default=[],
        help='such as "spills == 0"; may be repeated',
    )
    parser.add_argument("--file", metavar="FILE.toml", type=Path, help="more expectations, see docs")
    parser.add_argument("--kernel", metavar="GLOB", help="only of the kernels with such a name")
    parser.add_argument("--target", metavar="TARGET", help="only of those for this target, such as cuda:90")
    parser.add_argument("--variant", metavar="V", help="only of this one: #3, or any part of its name")
    options.add_format(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    """Prints what does not hold; 1 where there is something. Raises UserError for wrong use."""
    rules = [CheckRule(tuple(args.expect), args.kernel, args.target, args.variant)] if args.expect else []
    if args.file is not None:
        rules += read_rules(args.file)
    if not rules:
        raise UserError("name what is expected with --expect or --file")
    checked = check(args.capture, rules)
    from irscope.report.terminal.check_report import check_document, check_text

    if args.format == "json":
        from irscope.report.json.records import to_json

        sys.stdout.write(to_json(check_document(checked)))
    else:
        sys.stdout.writelines(line + "\n" for line in check_text(checked))
    return 1 if checked.failures else 0


def check(path: Path, rules: Sequence[CheckRule]) -> Checked:
    """Checks a capture. Raises UserError for a rule that cannot be read or is of no variant."""
    from irscope.analysis.expectations import parse_expectation, unmet
    from irscope.report.terminal.check_report import Checked
    from irscope.workspace import Workspace

    parsed = [tuple(map(parse_expectation, rule.that)) for rule in rules]
    with Workspace(path) as workspace:
        chosen = [_chosen(workspace.variants, rule) for rule in rules]
        wanted = {variant.id: variant for own in chosen for variant in own}
        facts = workspace.all_facts(wanted.values())
        names = workspace.names
    comparisons, failures = 0, []
    for own, expectations in zip(chosen, parsed, strict=True):
        for variant in own:
            for expectation in expectations:
                comparisons += len(expectation)
                found = unmet(expectation, facts[variant.id])
                failures += [(variant, names[variant.id], failure) for failure in found]
    return Checked(str(path), len(wanted), comparisons, failures)


def read_rules(path: Path) -> list[CheckRule]:
    """The rules of a TOML file: a list `expect` of tables. Raises UserError, in one line."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: no TOML: {error}") from error
    tables = document.get("expect")
    if not isinstance(tables, list) or not tables or list(document) != ["expect"]:
        raise UserError(f"{path}: what is expected stands in [[expect]] tables, and nothing else")
    return [_rule(path, table) for table in tables]


def _rule(path: Path, table: Any) -> CheckRule:
    if not isinstance(table, Mapping) or (unknown := [key for key in table if key not in _KEYS]):
        what = f"no key '{unknown[0]}'" if isinstance(table, Mapping) else "[[expect]] is a table"
        raise UserError(f"{path}: {what}; there is: {', '.join(_KEYS)}")
    that = table.get("that")
    that = [that] if isinstance(that, str) else that
    rest = {key: value for key, value in table.items() if key != "that"}
    if not isinstance(that, list) or not that or not all(isinstance(x, str) for x in [*that, *rest.values()]):
        raise UserError(f'{path}: an [[expect]] has that = ["spills == 0", ...], and text for {_KEYS[1:]}')
    return CheckRule(tuple(that), **rest)


def _chosen(variants: Sequence[Variant], rule: CheckRule) -> list[Variant]:
    """The variants that a rule is of. Raises UserError where there is none."""
    fitting = [
        variant
        for variant in variants
        if (rule.kernel is None or fnmatchcase(variant.kernel.name, rule.kernel))
        and rule.target in (None, str(variant.target))
    ]
    if not fitting:
        there = ", ".join(dict.fromkeys(f"{v.kernel.name} {v.target}" for v in variants)) or "none"
        raise UserError(
            f"no variant is of kernel {rule.kernel or 'any'} and target {rule.target or 'any'}; "
            f"there is: {there}"
        )
    return fitting if rule.variant is None else [find_variant(fitting, rule.variant)]
