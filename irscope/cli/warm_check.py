"""`irscope warm --check`: runs programs and prints what they still compiled, benchmarked or built."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.warming.checking import Check


_NO_GPU = (
    "no GPU found: --check runs programs as they are; without a GPU, irscope warm PROGRAM --expect-warm -o "
    "FOLDER fails if the folder lacks a kernel, and --verify compares keys"
)


def check_programs(programs: Sequence[str], folder: Path | None) -> int:
    """Runs each program; returns the first exit code that is not 0, else 1 if something was cold.

    Prints a line per cold start on stderr. Raises UserError for wrong use, and if no program used Triton.
    """
    if not programs:
        raise UserError("--check needs a program: irscope warm --check 'train.py --steps 1' -o warm")
    codes = [_check_program(program, folder) for program in programs]
    return next((code for code in codes if code), 0)


def _check_program(text: str, folder: Path | None) -> int:
    from irscope.capturing.record.session import has_gpu
    from irscope.warming.checking import check_program, command_of

    check = check_program(command_of(text), folder)
    if not check.processes:
        missing = "none of its processes imported Triton in a Python that has irscope"
        raise UserError(f"{text}: exit code {check.code}, and {missing}")
    for line in _lines(check, folder):
        print(f"irscope: {line}", file=sys.stderr)
    if check.code:
        print(f"irscope: {text}: exit code {check.code}", file=sys.stderr)
        if not has_gpu():
            print(f"irscope: {_NO_GPU}", file=sys.stderr)
    return check.code or int(bool(check.cold))


def _lines(check: Check, folder: Path | None) -> Iterator[str]:
    """The verdict, then the cold starts."""
    from irscope.warming.cold_start import cold_sentence

    found = f"{pluralize(check.hits, 'kernel')} from {folder or 'the cache of Triton'}"
    if check.cold:
        yield f"not warm: {cold_sentence(check.cold)}; {found}"
    elif check.code:
        yield f"nothing cold until the program failed: {found}"
    else:
        yield f"warm: {found}, nothing was compiled, benchmarked or built"
    yield from (f"  {each}" for each in check.cold)
