"""Resources: the stages, facts and reports of variants, in pages, and the list of variants.

irscope://session/1/ttgir, irscope://session/1/facts, irscope://session/variants; `?offset=200` goes on.
Instead of `session`, the path of a capture within the roots, percent-encoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from urllib.parse import parse_qs, unquote, urlsplit

from irscope.document.blocks import Document
from irscope.document.comparison_content import compilations_content
from irscope.document.pass_content import passes_content
from irscope.document.terminal.document_text import text_lines
from irscope.document.variant_content import registers_content, verdict_content
from irscope.mcp.answers import Item, ToolAnswer, rendered
from irscope.mcp.session import Session
from irscope.mcp.tools.explain import fact_items
from irscope.mcp.tools.lines import stage_lines
from irscope.mcp.tools.variants import header, variant_items
from irscope.model import UserError, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line
from irscope.workspace import Workspace
from irscope.workspace.pass_comparison import pass_report

SCHEME = "irscope"
TEMPLATES = (
    ("stage", "irscope://{capture}/{variant}/{stage}{?offset}", "A page of a stage, with line numbers"),
    ("facts", "irscope://{capture}/{variant}/facts", "Every fact of a variant"),
    ("report", "irscope://{capture}/{variant}/{subject}{?offset}", "verdict, registers or passes, as text"),
    ("why", "irscope://{capture}/why{?offset}", "Why each kernel was compiled as often as it was"),
    ("variants", "irscope://{capture}/variants{?offset}", "A row per variant"),
)
# Pages of text go only to clients that ask for a resource; twice a tool's limit, since there is no data part.
_MOST_TOKENS = 1500
PAGE = 50
_MOST_VALUES = 20


@frozen
class Listed:
    """A resource of the list."""

    uri: str
    name: str
    description: str


def listed(session: Session) -> Iterator[Listed]:
    """Yield the resources of the session's capture: of each variant its facts and text stages."""
    for capture, workspace in session.captures():
        yield Listed(f"{SCHEME}://{capture}/variants", "variants", "A row per variant")
        for variant in workspace.variants:
            name = one_line(f"#{variant.id} {workspace.names[variant.id]}")
            for stage in ("facts", "python", *workspace.stages(variant)):
                uri = f"{SCHEME}://{capture}/{variant.id}/{stage}"
                yield Listed(uri, f"{name} {stage}", one_line(variant.kernel.name))


def read(session: Session, uri: str) -> str:
    """Return a page of a resource; its last line says how to go on.

    Raises UserError if there is none.
    """
    try:
        parts = urlsplit(uri)
    except ValueError as error:
        raise UserError(f"{one_line(uri)}: not a URI: {error}") from None
    if parts.scheme != SCHEME or not parts.netloc:
        raise UserError(f"{one_line(uri)}: no such resource; they begin with {SCHEME}://session/")
    workspace = session.workspace(unquote(parts.netloc))
    offset = _offset(parts.query)
    names = parts.path.strip("/").split("/")
    if names == ["variants"]:
        variants = list(workspace.variants)
        return _page(uri, header(variants), variant_items(workspace, variants), offset)
    if names == ["why"]:
        return _page(uri, "", _lines(compilations_content(workspace.compilations())), offset)
    if len(names) != 2:
        raise UserError(f"{one_line(uri)}: no such resource; see resources/templates/list")
    variant = workspace.variant(unquote(names[0]))
    return _page(uri, "", _items(workspace, variant, names[1]), offset)


def _items(workspace: Workspace, variant: Variant, name: str) -> list[Item]:
    if name == "facts":
        return fact_items(list(workspace.facts(variant).values()))
    if name in _SUBJECTS:
        return _lines(_SUBJECTS[name](workspace, variant))
    lines = stage_lines(workspace, variant, name)
    return [Item(f"{number} {line}", 0) for number, line in enumerate(lines, 1)]


def _registers(workspace: Workspace, variant: Variant) -> Document:
    report = workspace.registers(variant)
    return registers_content(variant, workspace.names[variant.id], report, _MOST_VALUES)


_SUBJECTS: Mapping[str, Callable[[Workspace, Variant], Document]] = {
    "verdict": lambda workspace, variant: verdict_content(workspace.verdict(variant)),
    "registers": _registers,
    "passes": lambda workspace, variant: passes_content(pass_report(workspace.compare(variant, variant))),
}


def _lines(document: Document) -> list[Item]:
    return [Item(line, 0) for line in text_lines(document)]


def _page(uri: str, head: str, items: list[Item], offset: int) -> str:
    plain = [Item(item.text, 0) for item in items]
    page = rendered(ToolAnswer(head, {}, "", plain), offset, _MOST_TOKENS)
    return page.text.replace("same call with offset=", f"{one_line(uri.partition('?')[0])}?offset=")


def _offset(query: str) -> int:
    text = parse_qs(query).get("offset", ["0"])[-1]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
