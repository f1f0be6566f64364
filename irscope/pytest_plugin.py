"""A pytest fixture that checks captures. Imports nothing but pytest until a test asks for it."""

from __future__ import annotations

import os
from typing import Protocol

import pytest


class IrscopeCheck(Protocol):
    """Fails the test, listing what does not hold, unless a capture's facts are as expected."""

    def __call__(
        self,
        capture: str | os.PathLike[str],
        *expectations: str,
        kernel: str | None = None,
        target: str | None = None,
        variant: str | None = None,
    ) -> None:
        """`expectations` as `irscope check --expect` takes them; `kernel` is a glob."""


@pytest.fixture
def irscope_check() -> IrscopeCheck:
    """Checks a capture: `irscope_check("matmul.irscope", "spills == 0", kernel="matmul_*")`."""

    def check_capture(
        capture: str | os.PathLike[str],
        *expectations: str,
        kernel: str | None = None,
        target: str | None = None,
        variant: str | None = None,
    ) -> None:
        __tracebackhide__ = True
        from pathlib import Path

        from irscope.cli.check import CheckRule, check
        from irscope.model import UserError
        from irscope.report.terminal.check_report import check_text

        if not expectations:
            pytest.fail("irscope_check was given no expectation", pytrace=False)
        try:
            checked = check(Path(capture), [CheckRule(expectations, kernel, target, variant)])
        except UserError as error:
            pytest.fail(str(error), pytrace=False)
        if checked.failures:
            pytest.fail("\n".join(check_text(checked)), pytrace=False)

    return check_capture
