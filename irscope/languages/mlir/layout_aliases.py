"""The table of attribute aliases at the top of a module, and the layouts in it.

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], ...}>
-> Layout("#blocked", "ttg.blocked", {"sizePerThread": "[1, 4]", ...})
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from irscope.languages.brackets import STRING, split_outermost
from irscope.languages.document import Layout

_TOKEN = re.compile(STRING + r"|#[\w$-]+(?![\w$.-])")

# The normalized text of every use contains the kind, so its length is bounded.
_KIND = re.compile(r"#?([\w$.]{1,80})")

# Each expansion of an alias may double the text; real tables grow by less than half.
_MAX_GROWTH = 16


def layout_kind(body: str) -> str:
    """The kind that the body of an alias names: `ttg.blocked` for `#ttg.blocked<{...}>`, "" if none."""
    match = _KIND.match(body)
    return match[1] if match else ""


def parse_layouts(bodies: Mapping[str, tuple[int, str]]) -> dict[str, Layout]:
    """The layouts of an alias table, given as alias -> (index of its line, text after its `=`).

    Aliases inside a body are expanded, except the ones in a cycle, and those that would make the table grow
    beyond _MAX_GROWTH times its size.
    """
    texts = _expand({alias: body for alias, (_, body) in bodies.items()})
    return {
        alias: Layout(alias, layout_kind(body), layout_fields(texts[alias]), line)
        for alias, (line, body) in bodies.items()
    }


def layout_fields(text: str) -> dict[str, str]:
    """The parameters of `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, name -> text.

    Braces only group. A parameter without a name is named by its position, "0", "1", ...
    """
    _, _, inner = text.partition("<")
    fields: dict[str, str] = {}
    for item in split_outermost(inner.rstrip().removesuffix(">"), ",{}", "()[]<>"):
        name, equals, value = item.partition(" = ")
        if equals and name.isidentifier():
            fields[name] = value.strip()
        else:
            fields[str(len(fields))] = item
    return fields


def expand_aliases(text: str, bodies: Mapping[str, str]) -> str:
    """`text` with the aliases of `bodies` (alias -> text after its `=`) expanded.

    It grows to at most _MAX_GROWTH times the size of the table and the text.
    """
    expanded = _expand(bodies)
    return _substitute(text, expanded, _MAX_GROWTH * (len(text) + sum(map(len, bodies.values()))))[0]


def _expand(bodies: Mapping[str, str]) -> dict[str, str]:
    """The bodies with the aliases in them expanded."""
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
    """`body` with the known aliases expanded while `budget` characters last, and the budget that is left."""
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
