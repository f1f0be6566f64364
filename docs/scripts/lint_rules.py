"""Regenerates what docs/lint.md says about each lint rule, from the rules' own documentation.

    python docs/scripts/lint_rules.py

tests/lint/test_documentation.py fails if a rule changed and this was not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from irscope.lint.diagnostic import Rule
from irscope.lint.rules import CAPTURE_RULES, LAUNCH_RULES, SOURCE_RULES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lint.md"


def main() -> None:
    """Writes the page."""
    PAGE.write_text(lint_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def lint_page(text: str) -> str:
    """docs/lint.md with the rules between its markers replaced."""
    listed = (("source", SOURCE_RULES), ("capture", CAPTURE_RULES), ("launches", LAUNCH_RULES))
    for marker, rules in listed:
        begin, end = f"<!-- rules: {marker} -->\n", "<!-- end of rules -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = before + begin + _sections(rules) + end + after
    return text


def _sections(rules: Sequence[Rule]) -> str:
    parts = (["", f"### {rule.name}", *_blocks(rule)] for rule in rules)
    return "".join("\n\n".join(part).removeprefix("\n") + "\n" for part in parts) + "\n"


def _blocks(rule: Rule) -> Iterator[str]:
    """Yield the paragraphs of a rule, without its summary, which `irscope explain` shows."""
    for block in rule.blocks:
        begun = block.replace("**What it does.**", f"{rule.code}.").replace(
            "**Why is this bad?**", "**Why.**"
        )
        yield begun.replace("**Use instead**", "**Instead**")


if __name__ == "__main__":
    main()
