"""Expectations: their grammar, and when they hold."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.facts.measure import from_json
from irscope.facts.registry import FACT_KINDS
from irscope.model import UserError
from irscope.workspace.conditions import ALIASES, parse_expectation, unmet

KINDS = {kind.name: kind for kind in FACT_KINDS}
VALUES = {
    "n_spills": 0, "registers": 96, "stack": None, "load_width": 16, "occupancy": 0.25,
    "launchable": "no: too much shared memory", "matrix": "64 x wgmma.m64n128k16", "limiter": "registers",
}  # fmt: skip
FACTS = from_json(VALUES)


def failing(text):
    return [found.comparison.text for found in unmet(parse_expectation(text), FACTS)]


@pytest.mark.parametrize(
    "text",
    [
        "spills == 0",
        "spills==0 and global_load_bytes >= 16",
        "registers < 97 and registers <= 96 and registers > 95 and registers != 95",
        "occupancy >= 0.25",
        "limiter == registers",
        'limiter != "shared memory"',
        "matrix contains wgmma",
        "launchable contains shared",
    ],
)
def test_expectations_that_hold(text):
    assert failing(text) == []


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("spills > 0", ["spills > 0"]),
        ("spills == 0 and registers <= 95", ["registers <= 95"]),
        ("stack == 0", ["stack == 0"]),
        ("stack != 0", ["stack != 0"]),
        ("shared == 0", ["shared == 0"]),
        ("limiter >= 3", ["limiter >= 3"]),
        ("registers == many", ["registers == many"]),
        ("launchable == yes", ["launchable == yes"]),
        ("matrix contains mfma", ["matrix contains mfma"]),
    ],
)
def test_failing_expectations_and_unknown_facts_fail(text, fails):
    assert failing(text) == fails


@pytest.mark.parametrize(
    "text",
    ["", "spills", "spills =", "spills == ", "spills = 0", "spills == 0 or registers == 1", "== 0",
     "spills == 0 and", "spills < low", "__import__('os')", "nonsense == 0", "spills == 0; x"],
)  # fmt: skip
def test_invalid_expectations_are_rejected(text):
    with pytest.raises(UserError):
        parse_expectation(text)


def test_an_unknown_fact_is_reported_with_the_known_ones():
    with pytest.raises(UserError, match=r"no fact 'spils'; the facts are: .*n_spills.*spills"):
        parse_expectation("spils == 0")


def test_aliases_are_names_of_facts():
    assert set(ALIASES.values()) <= KINDS.keys() and not ALIASES.keys() & KINDS.keys()


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected_in_one_line(text):
    with contextlib.suppress(UserError):
        parse_expectation(text)


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.integers(0, 200))
def test_comparisons_equal_pythons(sign, number):
    holds = eval(f"96 {sign} {number}")
    assert (failing(f"registers {sign} {number}") == []) == holds
