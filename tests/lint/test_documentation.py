"""docs/lint.md and the glossary describe every rule, as its module documents it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from irscope.glossary.glossary import find_entries
from irscope.lint.diagnostic import documented_rules
from irscope.lint.rules import CAPTURE_RULES, LAUNCH_RULES, RULES, SOURCE_RULES

GENERATOR = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "scripts" / "lint_rules.py"))


def test_docs_are_generated_from_the_rules():
    page = GENERATOR["PAGE"].read_text()
    assert GENERATOR["lint_page"](page) == page, "run docs/scripts/lint_rules.py"


def test_the_glossary_has_every_rule():
    assert [(rule.code, rule.name, rule.page) for rule in documented_rules()] == [
        (rule.code, rule.name, rule.page) for rule in RULES
    ]


def test_codes_and_names_are_unique():
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert {rule.code[:4] for rule in SOURCE_RULES} == {"IRS1"}
    # A rule that executes code without a launch reads captures, too.
    assert {rule.code[:4] for rule in CAPTURE_RULES} == {"IRS2", "IRS3"}
    assert {rule.code[:4] for rule in LAUNCH_RULES} == {"IRS3"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_is_documented(rule):
    assert rule.summary.endswith(".")
    assert "**What it does.**" in rule.body and "**Why is this bad?**" in rule.body
    assert rule not in SOURCE_RULES or ("**Example**" in rule.body and "**Use instead**" in rule.body)
    assert [entry.word for entry in find_entries(rule.name)] == [rule.name]
    assert [entry.word for entry in find_entries(rule.code)] == [rule.name]
