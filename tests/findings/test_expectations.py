"""Conditions: their grammar, and when they hold in a check, in a gate and as the filter of the table."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from irscope.facts.measure import from_json
from irscope.facts.registry import FACT_KINDS
from irscope.model import UserError
from irscope.tui.table_model import matching
from irscope.workspace import FactTable
from irscope.workspace.conditions import ALIASES, parse_expectation, unmet
from irscope.workspace.gate import outcome, parse_conditions
from irscope.workspace.table import TableSection
from tests.document.conftest import variant
from tests.tables import columns_of

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
    ["", "spills", "spills =", "spills == ", "spills = = 0", "spills == 0 or registers == 1", "== 0",
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
@example("0\n")
@example("registers\n== 1 and\nspills")
def test_any_text_is_parsed_or_rejected_in_one_line(text):
    try:
        expectation = parse_expectation(text)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert all(shortfall.reason for shortfall in unmet(expectation, FACTS))


@given(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), st.integers(0, 200))
def test_comparisons_equal_pythons(sign, number):
    holds = eval(f"96 {sign} {number}")
    assert (failing(f"registers {sign} {number}") == []) == holds


# A condition, and whether it is true for VALUES: the same in all three uses.
EXAMPLES = [
    ("registers == 96", True),
    ("registers=96", True),
    ("registers = 95", False),
    ("registers != 96", False),
    ("Regs >= 96", True),
    ("REGISTERS<96", False),
    ("spills=0", True),
    ("spill_words == 0 and global_load_bytes >= 16", True),
    ("spills == 0 and registers > 100", False),
    ('"Load bytes" > 8', True),
    ("load_width<1,024", True),
    ("occupancy = 25%", True),
    ("occupancy >= 0.3", False),
    ("stack == 0", False),
    ("stack != 0", False),
    ("limiter = registers", True),
    ('limiter != "shared memory"', True),
    ("matrix contains wgmma", True),
    ("matrix contains mfma", False),
    ("limiter >= 3", False),
]


@pytest.mark.parametrize(("text", "true"), EXAMPLES)
def test_a_condition_means_the_same_in_a_check_a_gate_and_a_filter(text: str, true: bool):
    assert (failing(text) == []) is true
    (condition,) = parse_conditions([text.replace("1,024", "1024")])  # a comma separates conditions
    assert (outcome(condition, FACTS, FACTS) is True) is true
    assert bool(filtered(text)) is true


def filtered(text: str) -> list[int]:
    one = variant(1, BLOCK=64, MODE="Fast", KEY=(1, 2))
    facts = FactTable()
    facts.add(one, FACTS)
    section = TableSection([one], facts, columns_of([one], list(FACT_KINDS), facts))
    return [v.id for v in matching(text, section, [one])]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("BLOCK=64 mode==fast regs<100 wgmma", True),
        ("block=64 and mode!=slow and cuda:90", True),
        ("MODE contains as", True),
        ("block=64 and", True),  # while a person types
        ("block=64 slow", False),
        ("and", False),
        ('"2 wgmma"', False),
        ('"4 x WGMMA"', True),
        ("KEY<3", False),
        ("KEY=(1,", False),
        ("registers<many", False),
        ("registers>", False),
        ("no_column>1", False),
    ],
)
def test_a_filter_also_has_config_values_and_words(text: str, shown: bool):
    assert bool(filtered(text)) is shown
