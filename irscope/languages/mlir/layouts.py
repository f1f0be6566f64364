"""Attribute aliases that are layouts: `#blocked = #ttg.blocked<{...}>` -> `Layout` with its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping

from irscope.languages.document import Layout

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|#[\w$-]+(?![\w$.-])')
_DELIMITER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|->|[\[\](){}<>,]')

# A kind stands in the neutral text of every use, so its length is bounded.
_KIND = re.compile(r"#?([\w$.]{1,80})")

# Spelling out aliases may double a text at each step; real tables grow by less than half.
_MAX_GROWTH = 16


def layout_kind(body: str) -> str:
    """The kind that an alias' body names: `ttg.blocked` of `#ttg.blocked<{...}>`, "" if none."""
    match = _KIND.match(body)
    return match[1] if match else ""


def parse_layouts(bodies: Mapping[str, tuple[int, str]]) -> dict[str, Layout]:
    """The layouts of an alias table: alias -> (index of its line, what stands behind its `=`).

    Aliases inside a body are spelled out; one that is part of a cycle, and those beyond _MAX_GROWTH times
    the table's size, stay as they are.
    """
    texts = _expand({alias: body for alias, (_, body) in bodies.items()})
    return {
        alias: Layout(alias, layout_kind(body), layout_fields(texts[alias]), line)
        for alias, (line, body) in bodies.items()
    }


def layout_fields(text: str) -> dict[str, str]:
    """The parameters of `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, name -> text.

    Braces right inside the angle brackets only group. A parameter without a name is called by its
    position, "0", "1", ...
    """
    _, _, inner = text.partition("<")
    fields: dict[str, str] = {}
    for item in _split_items(inner.rstrip().removesuffix(">")):
        name, equals, value = item.partition(" = ")
        if equals and name.isidentifier():
            fields[name] = value.strip()
        else:
            fields[str(len(fields))] = item
    return fields


def spelled_out(text: str, bodies: Mapping[str, str]) -> str:
    """`text` with the aliases of `bodies` (alias -> what stands behind its `=`) spelled out in it.

    As `parse_layouts` does it: within _MAX_GROWTH times the size of the table and the text.
    """
    expanded = _expand(bodies)
    return _substitute(text, expanded, _MAX_GROWTH * (len(text) + sum(map(len, bodies.values()))))[0]


def _split_items(text: str) -> list[str]:
    """`text` cut at its outermost commas and braces."""
    items: list[str] = []
    depth = start = 0
    for match in _DELIMITER.finditer(text):
        mark = match[0]
        if depth == 0 and mark in "{},":
            items.append(text[start : match.start()])
            start = match.end()
        elif mark in "[(<{":
            depth += 1
        elif mark in "])>}":
            depth = max(0, depth - 1)
    items.append(text[start:])
    return [item.strip() for item in items if item.strip()]


def _expand(bodies: Mapping[str, str]) -> dict[str, str]:
    """The bodies with the aliases in them spelled out."""
    budget = _MAX_GROWTH * sum(map(len, bodies.values()))
    expanded: dict[str, str] = {}
    entered: set[str] = set()
    for alias in bodies:
        pending = [alias]
        while pending:
            current = pending[-1]
            if current not in entered:
                entered.add(current)
                names = _TOKEN.findall(bodies[current])
                pending += (name for name in names if name in bodies and name not in entered)
            else:
                pending.pop()
                if current not in expanded:
                    text, budget = _substitute(bodies[current], expanded, budget)
                    expanded[current] = text
    return expanded


def _substitute(body: str, expanded: Mapping[str, str], budget: int) -> tuple[str, int]:
    """`body` with the known aliases spelled out while `budget` characters last, and what is left of it."""
    parts: list[str] = []
    end = 0
    for match in _TOKEN.finditer(body):
        text = expanded.get(match[0], "")
        if text and len(text) <= budget:
            budget -= len(text)
            parts += (body[end : match.start()], text)
            end = match.end()
    parts.append(body[end:])
    return "".join(parts), budget
