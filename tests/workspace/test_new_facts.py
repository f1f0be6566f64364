"""A fact that is newer than a capture's stored facts."""

from __future__ import annotations

from pathlib import Path

from irscope.facts.measure import FACTS_VERSION, to_json
from irscope.store import CaptureWriter
from irscope.workspace import Workspace
from tests.tui import captures


def test_variants_whose_stored_facts_lack_a_fact_are_measured_again(tmp_path: Path) -> None:
    path = captures.matmul(tmp_path / "a.irscope")
    with Workspace(path) as workspace:
        complete, lacking = workspace.variants[:2]
        values = {variant.id: to_json(workspace.facts(variant)) for variant in (complete, lacking)}
    del values[lacking.id]["registers"]
    with CaptureWriter.resume(path) as writer:
        for id_, facts in values.items():
            writer.add_facts(id_, FACTS_VERSION, facts)
    with Workspace(path) as workspace:
        assert list(workspace.contents.facts(workspace.variants)) == [complete.id]
        assert "registers" in workspace.all_facts()[lacking.id]
