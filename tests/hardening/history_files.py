"""Damaged histories of `irscope trends`, and conditions of --fail-on: read, or rejected with one line."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

from irscope.facts.measure import from_json
from irscope.jobs.trends.trends import read_history, read_trends
from irscope.jobs.trends.trends_page import trends_html
from irscope.model import UserError
from irscope.workspace.gate import outcome, parse_conditions
from tests.hardening.warm_files import _damaged as damaged

_HISTORY = """{"schema": "irscope.history/1", "name": "library", "url": "https://github.com/owner/library",
 "entries": [{"commit": "0123abcd", "date": "2026-05-01T12:00:00+02:00", "subject": "Add", "triton": "3.9.0",
 "capture": "", "content": "tree", "launches": "all", "problems": ["k: not at this commit"]}]}
"""
_CONDITIONS = 'spills>0, registers>+10% and occupancy<-0.5, worse, limiter == "a, b", matrix contains wgmma'
_OLD = from_json({"registers": 64, "n_spills": 0, "occupancy": 0.5, "limiter": "registers"})
_NEW = from_json({"registers": 255, "n_spills": None, "occupancy": 0.125, "limiter": "a, b"})


def read(rng: random.Random, folder: Path) -> None:
    """Reads a damaged history or list of conditions."""
    with suppress(UserError):
        rng.choice((_history, _conditions))(rng, folder)


def _history(rng: random.Random, folder: Path) -> None:
    (folder / "history.json").write_text(damaged(rng, _HISTORY), encoding="utf-8", errors="surrogatepass")
    history = read_history(folder)
    history.write()
    assert read_history(folder).entries == history.entries
    trends_html(read_trends(folder))


def _conditions(rng: random.Random, _: Path) -> None:
    for condition in parse_conditions([damaged(rng, _CONDITIONS)]):
        if condition.comparisons:
            outcome(condition, _OLD, _NEW)
            outcome(condition, None, _NEW)
