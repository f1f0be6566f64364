"""Factual claims of README.md and docs/ hold: see claims.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.claim_checks import Program
from tests.docs.claims import FAST, SLOW, Claim
from tests.docs.test_commands import needs_triton


def name_of(claim: Claim) -> str:
    return f"{Path(claim.file).stem}: {claim.quote[:40]}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Program]:
    """A program whose compilations find none of other folders in Triton's cache: their locations differ."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache / "claims"))
        yield Program(tmp_path_factory.mktemp("claims"))


@needs_triton
@pytest.mark.parametrize("claim", FAST, ids=name_of)
def test_claim(claim: Claim, program: Program) -> None:
    claim.verify(program)


@pytest.mark.slow
@needs_triton
@pytest.mark.parametrize("claim", SLOW, ids=name_of)
def test_slow_claim(claim: Claim, program: Program) -> None:
    claim.verify(program)


def test_there_are_forty() -> None:
    assert len({(claim.file, claim.quote) for claim in FAST + SLOW}) >= 40
