"""The documentation of the rules, without importing them: `irscope explain` would take twice as long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from irscope.lint.diagnostic import Rule

_RULE = re.compile(r'^"""(.*?)^"""$.*^RULE = \w+\(\s*"(\w+)",\s*"([\w-]+)"', re.M | re.S)


def documented_rules() -> Iterator[Rule]:
    """Each rule of `rules/` by code: its code, name and page; nothing that can be run."""
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).with_name("rules").glob("*.py")]
    found = [Rule(match[2], match[3], match[1]) for text in texts if (match := _RULE.match(text))]
    yield from sorted(found, key=lambda rule: rule.code)
