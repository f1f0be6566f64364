"""The tool `explain`: a word of the glossary, a fact with the lines that prove it, or all facts."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.document.json.records import json_value
from irscope.glossary.glossary import find_entries, similar_names
from irscope.mcp.answers import Item, ToolAnswer, failed
from irscope.mcp.session import Session
from irscope.mcp.tools.lines import stage_lines
from irscope.mcp.tools.tool import CAPTURE, TEXT, VARIANT, Arguments, Tool, text
from irscope.model import UserError, Variant
from irscope.model.text import one_line
from irscope.workspace import Fact, Workspace

_MOST_EVIDENCE = 8


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the facts of a variant, one of them with its evidence, or the entries for a word."""
    word = arguments.get("word")
    if arguments.get("variant") is None:
        if not word:
            raise UserError("give word (a fact, operation, instruction, option, rule), variant, or both")
        return _entries(str(word))
    workspace, variant = session.variant(arguments.get("capture"), arguments["variant"])
    facts = workspace.facts(variant)
    if not word:
        items = fact_items(list(facts.values()))
        return ToolAnswer(one_line(f"#{variant.id} {workspace.names[variant.id]}"), {}, "facts", items)
    return _fact(workspace, variant, facts[word]) if word in facts else _entries(str(word))


def fact_items(facts: Sequence[Fact]) -> list[Item]:
    """Return a line per known fact: its name, value and unit."""
    return [
        Item(
            one_line(f"{fact.kind.name}: {fact} {_unit(fact)}".rstrip()),
            [fact.kind.name, json_value(fact.value)],
        )
        for fact in facts
        if fact.value is not None and fact.kind.name != "code"
    ]


def _unit(fact: Fact) -> str:
    return fact.kind.unit if isinstance(fact.value, int | float) and fact.kind.unit != "fraction" else ""


def _fact(workspace: Workspace, variant: Variant, fact: Fact) -> ToolAnswer:
    head = one_line(f"#{variant.id} {fact.kind.name}: {fact} {_unit(fact)}".rstrip())
    items = []
    for evidence in fact.evidence[:_MOST_EVIDENCE]:
        line = stage_lines(workspace, variant, evidence.stage)[evidence.line].strip()
        items.append(Item(*[f"{evidence.stage} {evidence.line + 1}: {line}"] * 2))
    more = len(fact.evidence) - len(items)
    tail = f"and {more} more lines" if more > 0 else ""
    data = {"name": fact.kind.name, "value": json_value(fact.value), "text": fact.kind.description}
    return ToolAnswer(f"{head}\n{fact.kind.description}", data, "lines", items, tail)


def _entries(word: str) -> ToolAnswer:
    entries = find_entries(word)
    if not entries:
        return failed(f"no entry for '{one_line(word)}'", similar=", ".join(similar_names(word)))
    items = [
        Item(f"{entry.word}: {entry.text}", {"word": entry.word, "text": entry.text}) for entry in entries
    ]
    return ToolAnswer("", {}, "entries", items)


TOOL = Tool(
    "explain",
    "Explain a word (operation, instruction, layout, fact, option, pass, lint rule). With variant and a "
    "fact's name: its value and the lines that prove it; with variant only: all its facts.",
    {"word": text(), "variant": VARIANT, "capture": CAPTURE},
    {
        "entries": {"type": "array"},
        "facts": {"type": "array"},
        "name": TEXT,
        "value": {},
        "text": TEXT,
        "lines": {"type": "array"},
    },
    run,
    paged=True,
)
