"""The areas of the campaign: each makes its case from a random generator and runs it.

A case is (area, seed, number): the same three make the same case again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.hardening import (
    binaries,
    captures,
    history_files,
    import_sources,
    launches,
    lint_files,
    parent_kills,
    run_programs,
    serve_requests,
    sidecars,
    texts,
    visible,
    warm_files,
    warm_folders,
    worker_faults,
)

Run = Callable[[random.Random, Path], object]


@dataclass(frozen=True)
class Area:
    """`run` makes a case in an empty folder and runs it; it raises only for a bug.

    `share` is the part of the campaign's cases that are of this area; `short` are those of the default tests.
    """

    name: str
    run: Run
    share: float
    short: int


AREAS = (
    Area("capture bytes", captures.damaged_bytes, 0.003, 3),
    Area("capture schema", captures.foreign_schema, 0.001, 3),
    Area("capture values", captures.hostile_values, 0.004, 3),
    Area("capture stages", captures.hostile_stages, 0.002, 2),
    Area("capture lines", captures.hostile_lines, 0.005, 2),
    Area("sidecars", sidecars.viewed, 0.003, 3),
    Area("imports", import_sources.damaged, 0.01, 4),
    Area("binaries", binaries.decoded, 0.05, 10),
    Area("parsers", texts.parsed, 0.63, 60),
    Area("diffs", texts.diffed, 0.14, 20),
    Area("lint", lint_files.linted, 0.04, 10),
    Area("warm files", warm_files.read, 0.005, 40),
    Area("warm folders", warm_folders.relocated, 0.02, 40),
    Area("invisible text", visible.shown, 0.1, 60),
    Area("history files", history_files.read, 0.003, 40),
    Area("launch counts", launches.counted, 0.002, 6),
    Area("worker faults", worker_faults.survived, 0.0002, 1),
    Area("parent kills", parent_kills.killed, 0.0001, 1),
    Area("run programs", run_programs.as_plain_python, 0.0005, 1),
    Area("serve requests", serve_requests.request, 0.005, 40),
    Area("serve sessions", serve_requests.session, 0.0003, 1),
)
NAMED = {area.name: area for area in AREAS}


def generator(area: str, seed: int, number: int) -> random.Random:
    """The random generator of a case."""
    return random.Random(f"{area}/{seed}/{number}")
