"""The tool `compare`: what differs between two variants, and why."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.document.json.comparison import PAIR_BITS
from irscope.mcp.answers import Item, ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import BOOLEAN, CAPTURE, LAUNCH, OBJECT, POINTS, TEXT, VARIANT, Arguments, Tool
from irscope.model.text import one_line
from irscope.workspace import Comparison
from irscope.workspace.verdict import finding_point


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the findings about B compared with A, the most important first."""
    workspace, a = session.variant(arguments.get("capture"), arguments["a"])
    pair = workspace.compare(a, workspace.variant(arguments["b"]), arguments.get("launch", ()))
    estimate = pair.estimates.text if pair.estimates else ""
    head = [f"A {pair.describe(0)}", f"B {pair.describe(1)}"]
    head.append(
        pair.mismatch or "; ".join(filter(None, [pair.config_text, pair.input_text])) or "equal config"
    )
    if pair.duplicate:
        head.append("identical machine code: measure only one")
    head += [pair.bits_text] if pair.bits_text else []
    data = {
        "change": pair.config_text,
        "duplicate": pair.duplicate,
        **({"mismatch": pair.mismatch} if pair.mismatch else {}),
        **({"estimate": estimate} if estimate else {}),
        **({"bits": PAIR_BITS(pair.bits)} if pair.bits else {}),
    }
    return ToolAnswer("\n".join(map(one_line, head)), data, "findings", list(_items(pair)))


def _items(pair: Comparison) -> Iterator[Item]:
    """Yield the findings; those that another one explains are last."""
    for number, finding in enumerate(pair.findings, 1):
        point = finding_point(pair, finding)
        sentence = one_line(point.text)
        where = f" (#{point.variant} {point.stage_line})" if point.stage_line else ""
        line = f" [line {point.line}]" if point.line and f"line {point.line}" not in sentence else ""
        record = {"kind": point.kind, "text": sentence}
        record |= {"line": point.line} if point.line else {}  # type: ignore[dict-item]
        record |= {"evidence": f"#{point.variant} {point.stage_line}"} if point.stage_line else {}
        yield Item(f"{number}. {sentence}{line}{where}", record)


TOOL = Tool(
    "compare",
    "How variant b differs from a and why: findings by importance with their lines, and whether the machine "
    "code is identical; for a launch, which is faster by estimate, and whether bits are the same.",
    {"a": VARIANT, "b": VARIANT, "launch": LAUNCH, "capture": CAPTURE},
    {
        "change": TEXT,
        "duplicate": BOOLEAN,
        "mismatch": TEXT,
        "estimate": TEXT,
        "bits": OBJECT,
        "findings": POINTS,
    },
    run,
    required=("a", "b"),
    paged=True,
)
