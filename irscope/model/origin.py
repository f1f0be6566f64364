"""The origin of a kernel that a framework generated: nodes of the program's graph and lines of its Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from irscope.model.records import frozen
from irscope.model.text import base_name, pluralize
from irscope.model.variant import ORIGIN

# Nodes and places that one line names.
_MOST = 4


@frozen
class ProgramLine:
    """A line of the user's program; `text` is the line itself, `function` the function that it is in."""

    file: str
    line: int
    function: str = ""
    text: str = ""

    @property
    def place(self) -> str:
        """Return the file without its folder, and the line: "model.py:31"."""
        return f"{base_name(self.file)}:{self.line}"


@frozen
class Origin:
    """The origin of a generated kernel.

    `graph` names the graph ("0/0 forward": Dynamo's compile id, and the part of the graph), `nodes` are its
    nodes that the kernel computes by their names in the program's graph, `operators` the operators that
    these became ("aten.relu"), `lines` the lines of the program that they came from. `trial` is the
    reason for measuring the kernel if the program does not launch it. `configs` is the number of configs
    (0: unknown) if the generator's cache had chosen one of them, so that the others were not compiled.
    """

    graph: str = ""
    nodes: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    lines: tuple[ProgramLine, ...] = ()
    configs: int | None = None
    trial: str = ""

    @property
    def summary(self) -> str:
        """Return one line: "relu, sum_1 (aten.relu, aten.sum) of model.py:31 in graph 0/0 forward"."""
        operators = f" ({_listed(self.operators)})" if self.operators else ""
        parts = [f"{_listed(self.nodes)}{operators}".strip()]
        if self.lines:
            parts.append(f"of {_listed(list(dict.fromkeys(line.place for line in self.lines)))}")
        if self.graph:
            parts.append(f"in graph {self.graph}")
        return " ".join(filter(None, parts))

    @property
    def sentence(self) -> str:
        """Return the summary, the trial and the choice, for views."""
        computed = f"computes {self.summary}" if self.summary else ""
        return "; ".join(filter(None, [computed, self.trial, self.choice]))

    @property
    def choice(self) -> str:
        """Say why there are fewer configs than the generator has; "" if there are not."""
        if self.configs is None:
            return ""
        which = f"this one of {pluralize(self.configs, 'config')}" if self.configs else "this config"
        return f"Inductor's autotune cache chose {which}"


def origin_to_json(origin: Origin) -> dict[str, Any]:
    """Return the origin as the entry of a variant's metadata."""
    return {name: value for name, value in asdict(origin).items() if value not in ("", (), None)}


def origin_from_metadata(metadata: Mapping[str, Any]) -> Origin | None:
    """Return the origin in a variant's metadata without malformed entries, or None if there is none."""
    entry = metadata.get(ORIGIN)
    if not isinstance(entry, Mapping):
        return None
    configs, lines = entry.get("configs"), entry.get("lines")
    return Origin(
        graph=_text(entry.get("graph")),
        nodes=_texts(entry.get("nodes")),
        operators=_texts(entry.get("operators")),
        lines=tuple(filter(None, map(_program_line, lines if isinstance(lines, list | tuple) else ()))),
        configs=configs if isinstance(configs, int) else None,
        trial=_text(entry.get("trial")),
    )


def _program_line(found: Any) -> ProgramLine | None:
    if not isinstance(found, Mapping):
        return None
    file, line = found.get("file"), found.get("line")
    if not isinstance(file, str) or not isinstance(line, int):
        return None
    return ProgramLine(file, line, _text(found.get("function")), _text(found.get("text")))


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""


def _texts(found: Any) -> tuple[str, ...]:
    return tuple(text for text in found if isinstance(text, str)) if isinstance(found, list | tuple) else ()


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")
