"""pytest fixtures that check captures and warm folders. Imports only pytest until a test requests it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from irscope.jobs.warm.expecting import WarmBlock


class IrscopeCheck(Protocol):
    """Fails the test if a capture does not meet the expectations, and lists those that do not hold."""

    def __call__(
        self,
        capture: str | os.PathLike[str],
        *expectations: str,
        kernel: str | None = None,
        target: str | None = None,
        variant: str | None = None,
        launch: str | None = None,
    ) -> None:
        """Return `expectations` as `irscope check --expect` takes them; `kernel` is a glob."""


@pytest.fixture
def irscope_check() -> IrscopeCheck:
    """Check a capture: `irscope_check("matmul.irscope", "spills == 0", kernel="matmul_*")`."""

    def check_capture(
        capture: str | os.PathLike[str],
        *expectations: str,
        kernel: str | None = None,
        target: str | None = None,
        variant: str | None = None,
        launch: str | None = None,
    ) -> None:
        __tracebackhide__ = True
        from irscope.model import UserError
        from irscope.workspace import CheckRule, Workspace
        from irscope.workspace.conditions import check

        if not expectations:
            pytest.fail("irscope_check needs at least one expectation", pytrace=False)
        try:
            with Workspace(os.fspath(capture)) as workspace:
                result = check(workspace, [CheckRule(expectations, kernel, target, variant, launch)])
        except UserError as error:
            pytest.fail(str(error), pytrace=False)
        if result.failures:
            pytest.fail("\n".join(result.lines), pytrace=False)

    return check_capture


@pytest.fixture
def irscope_expect_warm() -> Callable[..., AbstractContextManager[WarmBlock]]:
    """Return a context that fails the test if its block compiles, benchmarks or builds something.

    `with irscope_expect_warm("/opt/warm"):`; the folder is that of `irscope.expect_warm`.
    """

    @contextmanager
    def expect_warm(folder: str | os.PathLike[str] | None = None) -> Iterator[WarmBlock]:
        __tracebackhide__ = True
        import irscope

        try:
            with irscope.expect_warm(folder) as block:
                yield block
        except irscope.ColdStartError as error:
            pytest.fail(str(error), pytrace=False)

    return expect_warm
