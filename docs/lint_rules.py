"""Regenerates what docs/lint.md and the glossary say about each lint rule, from the rules' own documentation.

    python docs/lint_rules.py

tests/lint/test_documentation.py fails if a rule changed and this was not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from irscope.lint.diagnostic import Rule
from irscope.lint.rules import CAPTURE_RULES, RULES, SOURCE_RULES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "lint.md"
GLOSSARY = ROOT / "irscope" / "glossary" / "entries" / "lint.md"

_HEAD = """# Rules of irscope lint
stage: python
see: irscope, docs/lint.md
"""
_REASON = "**Why is this bad?** "


def main() -> None:
    """Writes both files."""
    PAGE.write_text(lint_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    GLOSSARY.write_text(glossary_page(), encoding="utf-8")


def lint_page(text: str) -> str:
    """docs/lint.md with the rules between its markers replaced."""
    for marker, rules in (("source", SOURCE_RULES), ("capture", CAPTURE_RULES)):
        begin, end = f"<!-- rules: {marker} -->\n", "<!-- end of rules -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = before + begin + _sections(rules) + end + after
    return text


def glossary_page() -> str:
    """The entries of the glossary about the rules."""
    return _HEAD + "".join(f"\n## {rule.name}\nalso: {rule.code}\n{_explanation(rule)}\n" for rule in RULES)


def _sections(rules: Sequence[Rule]) -> str:
    parts = (["", f"### {rule.name}", f"{rule.code}. {rule.summary}", *_blocks(rule)] for rule in rules)
    return "".join("\n\n".join(part).removeprefix("\n") + "\n" for part in parts) + "\n"


def _explanation(rule: Rule) -> str:
    """The summary of a rule and the reason for it, without links."""
    reason = next(block for block in _blocks(rule) if block.startswith(_REASON)).removeprefix(_REASON)
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", f"{rule.summary} {reason}")


def _blocks(rule: Rule) -> Iterator[str]:
    """The blocks of a rule's page, each paragraph on one line."""
    for block in re.findall(r"^```.*?^```$|^\S.*?(?=\n\n|\Z)", rule.body, re.M | re.S):
        yield block if block.startswith("```") else " ".join(block.split("\n"))


if __name__ == "__main__":
    main()
