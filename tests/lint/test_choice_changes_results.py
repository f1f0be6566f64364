"""The rule about autotuners whose choice changes results, on kernels that are compiled here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from irscope.interpreting.bits import classes
from irscope.model import Toolchain
from irscope.workspace import Workspace, linting
from irscope.workspace.linting import lint

RULE = "choice-changes-results"


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is executed from here on."""
    executions: list[object] = []

    def counting(*arguments: object) -> classes.Evaluation:
        executions.append(arguments)
        return classes.evaluate(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("irscope.workspace.bits.evaluate", counting)
    return executions


def test_reports_the_values_and_the_line_that_decide(bits_capture: Path, executed: list[object]) -> None:
    (problem,) = lint([bits_capture], select=[RULE]).problems
    assert (problem.rule.code, problem.line) == ("IRS213", 38)
    assert problem.message.startswith(
        "the config that is chosen for row_sum changes its results on cuda:90: BLOCK and num_warps decide at "
        "N=3000 (4 of 4 configs were executed); A = #4, B = #5: line 38 (total += tl.sum(values, axis=0)): A "
    )
    assert problem.message.endswith("; its key has N, so results may change from one size to the next")
    assert "same_bits_as" in problem.fix and "pick --same-bits-as" in problem.fix
    # Those of the sum, and two tiles of the matmul; the other kernels are not autotuned.
    assert len(executed) == 6


def test_another_compiler_is_no_choice(bits_capture: Path) -> None:
    with Workspace(bits_capture) as workspace:
        first, second, *_ = workspace.select("row_sum")
        changes = linting.ResultChanges(workspace)
        assert changes.find([first, second]) is not None
        older = Toolchain(2, {**second.toolchain.versions, "triton": "3.6.0"}, "")
        assert changes.find([first, replace(second, toolchain=older)]) is None
        assert changes.find([first]) is None and changes.find([replace(first, launches=())]) is None


def test_executes_no_more_than_some_configs(
    bits_capture: Path, executed: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linting, "_MOST_EXECUTED", 2)
    assert not lint([bits_capture], select=[RULE]).problems
    assert len(executed) == 2
