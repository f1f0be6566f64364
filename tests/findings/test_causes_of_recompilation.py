"""Every cause of a recompilation is triggered through the JIT, and named as the only reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.truth.causes_of_recompilation import CAUSES, causes_named

pytest.importorskip("torch")
# It compiles.
pytestmark = pytest.mark.slow

# `python -m tests.truth.causes_of_recompilation` also tests these: each takes another run.
_ONLY_IN_PROGRAM = ("ptxas options", "fusion by the environment", "target", "Triton version")


def test_why_names_exactly_the_cause(tmp_path: Path):
    causes = tuple(cause for cause in CAUSES if cause.name not in _ONLY_IN_PROGRAM)
    found = causes_named(tmp_path, causes)
    wrong = {named.cause.name: named.reasons for named in found if not named.correct}
    assert not wrong
    assert len(found) >= 12
