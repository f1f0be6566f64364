"""The problems that a command found, as every format for continuous integration reports them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from irscope.model import Kernel, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line, pluralize
from irscope.workspace.kernel_scopes import kernel_place

ERROR, WARNING = "error", "warning"
# How many variants a message names after the first.
_MAX_LISTED = 20


@frozen
class CiRule:
    """A kind of problem. `code` ("IRS401") and `name` never change; `help` says what to do about it."""

    code: str
    name: str
    summary: str
    help: str


@frozen
class CiProblem:
    """One problem: of a kernel on one target, or of a line of a file.

    `subject` is the kernel and target, or the file; `file` is empty if it has no place. `message` is a line,
    `details` one line per variant, worst first.
    """

    rule: CiRule
    level: str
    subject: str
    file: str
    line: int
    column: int
    title: str
    message: str
    details: tuple[str, ...]
    fingerprint: str


# Subject, condition or rule, variant or line, and result.
Row = tuple[str, str, str, str]


@dataclass(frozen=True)
class CiReport:
    """The outcome of a command.

    `subjects` are everything that was checked, `problems` are worst first, and so are `rows`: one per variant
    or line. `errors` are what could not be checked at all, as (file or "", reason). `notes` are lines that
    are no problems.
    """

    command: str
    rules: Sequence[CiRule]
    subjects: Sequence[str]
    problems: Sequence[CiProblem]
    rows: Sequence[Row]
    summary: str
    errors: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        """Return True if there is a problem or an error."""
        return bool(self.problems or self.errors)


@frozen
class VariantProblem:
    """A condition or expectation that fails for one variant: `name` is its short name, `text` the values."""

    rule: CiRule
    variant: Variant
    name: str
    condition: str
    text: str
    placed: bool = True

    @property
    def label(self) -> str:
        """Return the number and name of the variant."""
        return one_line(f"#{self.variant.id} {self.name}")


def subject_of(variant: Variant) -> str:
    """Return the kernel and target of a variant."""
    return f"{variant.kernel.name} {variant.target}"


def grouped(found: Iterable[VariantProblem]) -> list[CiProblem]:
    """Return a problem per kernel, target and condition, in the order of the first variant of each."""
    groups: dict[tuple[str, str, str, bool], list[VariantProblem]] = {}
    for problem in found:
        key = (problem.rule.code, problem.condition, subject_of(problem.variant), problem.placed)
        groups.setdefault(key, []).append(problem)
    return [_problem(group) for group in groups.values()]


def rows_of(found: Iterable[VariantProblem]) -> list[Row]:
    """Return a row per variant with all its conditions, in the order of the first of each variant."""
    variants: dict[tuple[str, str], list[VariantProblem]] = {}
    for problem in found:
        variants.setdefault((one_line(subject_of(problem.variant)), problem.label), []).append(problem)
    return [
        (
            subject,
            one_line(", ".join(problem.condition for problem in group)),
            label,
            one_line("; ".join(dict.fromkeys(problem.text for problem in group))),
        )
        for (subject, label), group in variants.items()
    ]


def _problem(group: Sequence[VariantProblem]) -> CiProblem:
    first = group[0]
    kernel = first.variant.kernel
    subject = one_line(subject_of(first.variant))
    lines = [f"{problem.label}: {one_line(problem.text)}" for problem in group]
    more = f"; and {pluralize(len(group) - 1, 'more variant')}" if len(group) > 1 else ""
    details = lines[:_MAX_LISTED]
    if len(lines) > _MAX_LISTED:
        details.append(f"{len(lines) - _MAX_LISTED} more")
    file, line = kernel_place(kernel) if first.placed else ("", 1)
    return CiProblem(
        rule=first.rule,
        level=ERROR,
        subject=subject,
        file=file,
        line=line,
        column=1,
        title=one_line(f"{kernel.name}: {first.condition}"),
        message=f"{one_line(first.condition)}: {subject} {lines[0]}{more}",
        details=tuple(details),
        fingerprint=fingerprint(first.rule.code, _file_name(kernel), subject, first.condition),
    )


def fingerprint(*parts: str) -> str:
    """Identify a problem in later runs: a hash of everything that an unrelated edit leaves alone."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _file_name(kernel: Kernel) -> str:
    return kernel_place(kernel)[0].replace("\\", "/")
