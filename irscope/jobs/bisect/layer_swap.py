"""Mixed builds: one side's stage, or its module between two passes, built to the end by the other side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from irscope.compiling.toolchain.rebuild import CompilerDiagnostic, PassEdits, RebuildError, Rebuilt, rebuild
from irscope.findings.cache_key_diff import VARIABLE_OPTIONS
from irscope.findings.passes import PassStep
from irscope.jobs.bisect.compiling import COMMAND, CompiledVariant, KeptResults, digest_of, opened
from irscope.jobs.versions.environments import Environment
from irscope.model import Failure, Toolchain, Variant
from irscope.model.records import frozen
from irscope.model.stage import OPTIMIZE, TO_LLVM
from irscope.model.variant import OPTION_VARIABLES
from irscope.store import CaptureWriter, NewVariant

# Options that environment variables set. Each side has its own, so they do not travel with a stage.
_OF_THE_SIDE = frozenset([*OPTION_VARIABLES, *VARIABLE_OPTIONS.values()])
# A barrier of all threads: one with operands has no older form.
_PLAIN_BARRIER = re.compile(r"\bnvvm\.barrier(?=\s*(?:loc\(|$))", re.MULTILINE)


@frozen
class Cut:
    """A change of sides within a build: `text` is handed over, and `stage` is the stage that it counts as.

    With `inside`, the text is a module between two passes of that stage, and `skip` are the passes that the
    side below does not run, because the one above did.
    """

    stage: str
    text: str
    inside: str = ""
    skip: tuple[str, ...] = ()


@frozen
class Mixer:
    """Builds and keeps mixed variants; `seconds` is the time limit per build."""

    kept: KeptResults
    seconds: float

    def build(self, above: CompiledVariant, cut: Cut, side: Environment) -> CompiledVariant:
        """Return the variant of `above` with what is below the cut built by `side`; a failure is in it."""
        write = partial(self._write, above, cut, side)
        return opened(self.kept.get(_key(above, cut, side), write))

    def only_passes(self, above: CompiledVariant, cut: Cut, side: Environment) -> str | None:
        """Return the module that `side` makes of the cut's text with the passes not skipped; None: failed."""
        try:
            rebuilt = self._rebuild(above.variant, cut.stage, cut.text, side, cut.skip, cut.inside)
        except RebuildError:
            return None
        return rebuilt.artifacts.get(cut.inside, b"").decode("utf-8", "replace") or None

    def _write(self, above: CompiledVariant, cut: Cut, side: Environment, path: Path) -> None:
        variant = above.variant
        with CaptureWriter.create(path, force=True) as writer:
            versions = {**variant.toolchain.versions, "triton": side.triton}
            toolchain = Toolchain(0, versions, COMMAND)
            writer.add_compiled(variant.kernel, toolchain, self._built(above, cut, side))

    def _built(self, above: CompiledVariant, cut: Cut, side: Environment) -> NewVariant:
        variant = above.variant
        kept = _above(above, cut)
        base = NewVariant(variant.target, variant.specialization, variant.config, metadata=variant.metadata)
        try:
            if not cut.inside:
                made = self._rebuild(variant, cut.stage, cut.text, side)
            else:
                made = self._rebuild(variant, cut.stage, cut.text, side, cut.skip, cut.inside)
                text = made.artifacts[cut.inside].decode("utf-8", "replace")
                rest = self._rebuild(
                    replace(variant, metadata={**variant.metadata, **made.metadata}), cut.inside, text, side
                )
                made = replace(rest, artifacts={**made.artifacts, **rest.artifacts})
        except RebuildError as error:
            summary = f"making {error.stage}: {error}"
            return replace(base, failure=Failure(error.kind, summary, summary), artifacts=kept)
        return replace(
            base,
            metadata={**variant.metadata, **made.metadata},
            log=made.log,
            output=_notes(made),
            artifacts={**kept, **made.artifacts},
        )

    def _rebuild(
        self,
        variant: Variant,
        stage: str,
        text: str,
        side: Environment,
        skip: Sequence[str] = (),
        until: str = "",
    ) -> Rebuilt:
        """Rebuilds from a text; if it is not accepted, from the text with renamed operations."""
        run = partial(
            rebuild,
            target=variant.target,
            options=_options_of_stages(variant),
            metadata=variant.metadata,
            environment=side.variables,
            edits=PassEdits(skip=tuple(skip)) if skip else None,
            python=side.python,
            ptxas=side.ptxas,
            until=until or None,
            seconds=self.seconds,
        )
        try:
            return run(stage, text)
        except RebuildError as error:
            renamed = _with_renamed_operations(text)
            if error.stage != stage or renamed == text:
                raise
            made = run(stage, renamed)
            note = CompilerDiagnostic(
                "note", "nvvm.barrier0 and nvvm.barrier exchanged, which are one operation", stage
            )
            return replace(made, diagnostics=(*made.diagnostics, note))


def _with_renamed_operations(text: str) -> str:
    """Return the text with the barrier under its other name: MLIR renamed it between Triton 3.7 and 3.8."""
    if "nvvm.barrier0" in text:
        return text.replace("nvvm.barrier0", "nvvm.barrier")
    return _PLAIN_BARRIER.sub("nvvm.barrier0", text)


def _options_of_stages(variant: Variant) -> dict[str, Any]:
    """Return the options that belong to a variant's stages, whoever builds the rest of them.

    What its config sets belongs to them. What only the environment set is left out: the side that builds
    reads its own variables.
    """
    chosen = dict(variant.config.values)
    return {
        name: value for name, value in variant.metadata.items() if name in chosen or name not in _OF_THE_SIDE
    }


def named_passes(compiled: CompiledVariant, stage: str) -> list[PassStep]:
    """Return the passes of a stage that MLIR's pass managers ran."""
    return [
        step
        for step in compiled.steps
        if step.stage == stage and step.name and step.name not in (TO_LLVM, OPTIMIZE)
    ]


def numbered(passes: Sequence[PassStep]) -> tuple[str, ...]:
    """Return the names of passes with the number of the run in their stage: "canonicalize#2"."""
    counts: Counter[str] = Counter()
    names = []
    for step in passes:
        counts[step.name] += 1
        names.append(f"{step.name}#{counts[step.name]}")
    return tuple(names)


def _above(above: CompiledVariant, cut: Cut) -> dict[str, bytes]:
    """Return the stages above a cut, and the one at it."""
    stages = above.stages
    if cut.stage not in stages:
        return {}
    return {name: above.read(name) or b"" for name in stages[: stages.index(cut.stage) + 1]}


def _notes(made: Rebuilt) -> str:
    """Return the compiler's notes and remarks on the rebuild, which say what it changed in its input."""
    return "\n".join(one.message for one in made.diagnostics if one.severity in ("note", "remark"))


def _key(above: CompiledVariant, cut: Cut, side: Environment) -> str:
    metadata = repr(sorted(above.variant.metadata.items(), key=lambda pair: pair[0]))
    parts = (side.identity, cut.stage, cut.text, cut.inside, *cut.skip, metadata, str(above.variant.target))
    return digest_of("mix", *parts)
