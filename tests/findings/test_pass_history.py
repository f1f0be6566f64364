"""The changes of each pass, and the pass in which two variants diverge."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from irscope.diff.rows import Change
from irscope.diff.stage_diff import diff_stage
from irscope.findings.divergence import first_divergence
from irscope.findings.finding import PairContext
from irscope.findings.passes import (
    PassModule,
    divergences,
    history,
    pass_pairs,
    step_diff,
    steps,
    summary,
    touched,
)
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.model import Artifact, Pass
from irscope.model.stage import pass_name, pass_options
from irscope.store import CaptureReader
from irscope.store.new_variant import NewPass
from tests.conftest import Irscope
from tests.findings.builders import variant
from tests.recorded_passes import recorded

SAMPLES = Path(__file__).parents[2] / "samples"


def documents(content: Callable[[Artifact], bytes]) -> Callable[[PassModule], Document]:
    """Read modules with `content` and parse each once."""

    @cache
    def document(module: PassModule) -> Document:
        return parse(content(module.artifact).decode(), module.language)

    return document


class Kept:
    """Passes as the store would give them back."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.document = documents(lambda artifact: self.contents[artifact.digest])

    def steps(self, passes: tuple[NewPass, ...]):
        return steps([self._pass(new) for new in passes])

    def _pass(self, new: NewPass) -> Pass:
        content = new.content
        if content is None:
            return Pass(new.stage, new.name, new.seconds, None)
        assert isinstance(content, bytes)
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return Pass(new.stage, new.name, new.seconds, Artifact(new.stage, digest, len(content)))

    def diff(self, stage, left, right):
        return diff_stage(stage, self.document(left), self.document(right))


@pytest.fixture
def kept() -> Kept:
    return Kept()


def named(found, name):
    return next(step for step in found if step.name == name)


@pytest.mark.parametrize(
    ("pipeline", "name", "options"),
    [
        ("cse", "cse", ""),
        ("tritongpu-pipeline{num-stages=3}", "tritongpu-pipeline", "num-stages=3"),
        ("inline{a=canonicalize b=4 }", "inline", "a=canonicalize b=4"),
        ("llvm.func(canonicalize-llvm-ir)", "canonicalize-llvm-ir", ""),
        ("tt.func(canonicalize{x=1    y=2})", "canonicalize", "x=1 y=2"),
        ("llvm.to_module", "llvm.to_module", ""),
        ("", "", ""),
    ],
)
def test_a_pass_is_named_without_its_anchor_and_options(pipeline, name, options):
    assert (pass_name(pipeline), pass_options(pipeline)) == (name, options)


def test_steps_have_the_modules_before_and_after_each_pass(kept):
    found = kept.steps(recorded())
    assert [step.number for step in found] == list(range(1, 11))
    # A stage receives the previous stage's output: no step.
    assert "" not in [step.name for step in found]
    assert [step.name for step in found if not step.changed] == ["canonicalize"] * 2
    for before, after in itertools.pairwise(found):
        assert after.before == before.after
    languages = [step.after.language for step in found]
    assert languages == ["mlir"] * 8 + ["llvm"] * 2


def test_changes_between_pipelines_are_unnamed_steps(kept):
    passes = recorded()
    other = NewPass("ttgir", "", 0.0, (passes[1].content or b"") + b"// set by Triton\n")
    found = kept.steps((*passes[:3], other, *passes[4:]))
    assert [(step.name, step.changed) for step in found[2:4]] == [
        ("", True), ("convert-triton-to-tritongpu", True),
    ]  # fmt: skip


def test_a_summary_names_operations_layouts_or_attributes(kept):
    found = kept.steps(recorded(3))
    summaries = {step.name: summary(step, kept.document, kept.diff) for step in found}
    assert summaries["inline"] == "-1 tt.call"
    assert summaries["canonicalize"] == ""
    assert summaries["convert-triton-to-tritongpu"].startswith("new #blocked ttg.blocked")
    assert summaries["tritongpu-coalesce"] == "#blocked sizePerThread [1] -> [4]"
    assert summaries["tritongpu-assign-latencies"].startswith("1 attribute")
    assert summaries["tritongpu-pipeline"] == "+3 ttg.async_copy_global_to_local"
    assert summaries["llvm.to_module"] == "15 operations of MLIR became 3 of LLVM IR"
    assert summaries["llvm.optimize_module"] == "-1 add"


def test_a_pass_that_did_not_end_failed(kept):
    found = kept.steps((*recorded()[:6], NewPass("ttgir", "tritongpu-pipeline", 0.0, None)))
    assert [step.name for step in found if step.failed] == ["tritongpu-pipeline"]
    assert summary(found[-1], kept.document, kept.diff) == "failed"


def test_a_pass_without_changes_has_no_diff(kept):
    found = kept.steps(recorded())
    assert step_diff(named(found, "canonicalize"), kept.document) is None
    assert step_diff(named(found, "llvm.to_module"), kept.document) is None
    assert step_diff(named(found, "inline"), kept.document).counts[Change.REMOVED] == 1


def test_the_passes_that_touched_a_source_line(kept):
    found = kept.steps(recorded())
    names = {line: [s.name for s in found if touched(s, line, kept.document)] for line in (4, 5, 6, 7)}
    assert "tritongpu-pipeline" in names[5]
    assert "tritongpu-pipeline" not in names[6]
    assert "tritongpu-coalesce" in names[6]
    assert names[7] == []
    assert touched(named(found, "tritongpu-pipeline"), 5, kept.document)[Change.ADDED] == 2


def test_the_history_of_an_operation_begins_with_its_creation(kept):
    found = kept.steps(recorded())
    after = kept.document(named(found, "tritongpu-pipeline").after)
    lines = {operation.opcode: operation.line for operation in after.operations}
    copied = history(found, "ttgir", lines["ttg.async_copy_global_to_local"], kept.document)
    assert [(event.step.name, event.change) for event in copied] == [("tritongpu-pipeline", Change.ADDED)]
    loaded = history(found, "ttgir", lines["tt.load"], kept.document)
    assert [event.step.name for event in loaded] == [
        "convert-triton-to-tritongpu", "tritongpu-coalesce", "tritongpu-assign-latencies",
        "tritongpu-pipeline",
    ]  # fmt: skip
    assert history(found, "ttgir", 10_000, kept.document) == []
    assert history(found, "ptx", 1, kept.document) == []


def diverging(kept, a, b):
    return divergences(kept.steps(a), kept.steps(b), kept.document, kept.document)


def test_num_stages_is_recorded_by_one_pass_and_used_by_the_pipeliner(kept):
    found = diverging(kept, recorded(2), recorded(4))
    assert found.attributes.passes.name == "tritongpu-assign-latencies"
    assert found.operations.passes.name == "tritongpu-pipeline"
    assert found.layouts is None
    assert found.first is found.operations
    assert found.first.place == "in pass tritongpu-pipeline (ttgir)"
    (finding,) = first_divergence(PairContext(variant(), variant(), {}, {}, divergences=found))
    assert finding.text.startswith(
        "A and B first diverge in pass tritongpu-pipeline (ttgir): 2 added, 0 removed"
    )


def test_layouts_diverge_in_the_pass_that_distributes_warps(kept):
    found = diverging(kept, recorded(warps=4), recorded(warps=8))
    assert found.first is found.layouts
    assert found.layouts.passes.name == "convert-triton-to-tritongpu"
    assert found.operations.passes.name == "convert-triton-gpu-to-llvm"


def test_shapes_are_not_a_divergence(kept):
    found = diverging(kept, recorded(block=128), recorded(block=256))
    assert (found.first, found.operations, found.layouts, found.attributes) == (None, None, None, None)


def test_equal_passes_do_not_diverge(kept):
    assert diverging(kept, recorded(), recorded()).first is None
    assert diverging(kept, (), recorded()).first is None


def test_a_difference_that_a_later_pass_undoes_is_ignored(kept):
    ours, theirs = list(recorded(2)), list(recorded(4))
    # After the last pass of TTGIR both have the same module again.
    for passes in (ours, theirs):
        passes[8] = NewPass("ttgir", "tritongpu-undo", 0.1, recorded(3)[7].content)
        passes[9] = NewPass("llir", "", 0.0, recorded(3)[7].content)
    assert diverging(kept, tuple(ours[:8]), tuple(theirs[:8])).operations is not None
    assert diverging(kept, tuple(ours[:10]), tuple(theirs[:10])).first is None


def test_a_pass_that_only_one_side_runs_has_no_match(kept):
    theirs = list(recorded(2))
    extra = NewPass("ttgir", "tritongpu-prefetch", 0.1, recorded(3)[7].content)
    a, b = kept.steps(recorded(2)), kept.steps((*theirs[:8], extra, *theirs[8:]))
    unmatched = [pair for pair in pass_pairs(a, b) if not pair.a]
    assert [pair.name for pair in unmatched] == ["tritongpu-prefetch", ""]
    # Both sides give llir the same module; without llir, the extra pass diverges.
    assert divergences(a, b, kept.document, kept.document).first is None
    a, b = ([step for step in side if step.stage != "llir"] for side in (a, b))
    assert divergences(a, b, kept.document, kept.document).operations.passes.name == "tritongpu-prefetch"


def test_a_difference_before_the_first_pass_is_reported(kept):
    ours = recorded()
    more = (ours[0].content or b"").replace(b"    tt.return", b"    tt.assert %n : i32\n    tt.return")
    theirs = tuple(
        NewPass(p.stage, p.name, p.seconds, more) if p.content in (ours[0].content, ours[1].content) else p
        for p in ours[:4]
    )
    found = divergences(kept.steps(ours[:4]), kept.steps(theirs), kept.document, kept.document)
    assert found.operations.place == "before the first pass"


@pytest.mark.slow
def test_the_real_pipeliner_and_the_real_layouts(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile", f"{SAMPLES / 'matmul.py'}::matmul_kernel", "--signature",
        "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1",
        "--config", "BLOCK_M=128", "--config", "BLOCK_N=64", "--config", "BLOCK_K=32", "--config",
        "GROUP_M=8", "--config", "num_warps=4,8", "--config", "num_stages=2,4", "--passes", "-o", "m.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "m.irscope") as capture:
        document = documents(capture.content)
        two, four, wide, _ = (steps(capture.passes(variant)) for variant in capture.variants())
        found = divergences(two, four, document, document)
        assert (found.first.passes.name, found.first.passes.stage) == ("tritongpu-pipeline", "ttgir")
        assert found.first is found.operations
        assert found.attributes.passes.name == "tritongpu-assign-latencies"
        assert found.layouts is None
        found = divergences(two, wide, document, document)
        assert (found.layouts.passes.name, found.first) == ("convert-triton-to-tritongpu", found.layouts)
