"""Factual claims of README.md and docs/ hold: see claims.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.claim_checks import Program
from tests.docs.claims import FAST, SLOW, Claim
from tests.docs.named_things import problems
from tests.docs.pages import PAGES, ROOT
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


def test_there_are_sixty() -> None:
    assert len({(claim.file, claim.quote) for claim in FAST + SLOW}) >= 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page: Path) -> None:
    assert list(problems(page)) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("`irscope compile --guesss` is fast", "no command has the option --guesss"),
        ("`irscope frobnicate` and `irscope list`", "irscope has no command frobnicate"),
        ("out-of-bounds (IRS208)", "IRS208 is launch-overflow, not out-of-bounds"),
        ("IRS299", "no rule has the code IRS299"),
        ("`benchmarks/no_such.py`", "the repository has no benchmarks/no_such.py"),
        ("[irscope.lists/1]", "no document has the schema irscope.lists/1"),
        ("IRSCOPE_HOME", "irscope reads no variable IRSCOPE_HOME"),
        ("`capture.pickk()`", "capture has no pickk"),
        ("[lesson 3](learn/04_registers.md)", "lesson 3 is not 04_registers"),
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str, problem: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert list(problems(page)) == [problem]
