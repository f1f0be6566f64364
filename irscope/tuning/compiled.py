"""A compiled candidate as a variant with facts, which irscope's analyses take."""

from __future__ import annotations

from irscope.backends import backend_of, in_words_of
from irscope.estimating.estimate import estimate
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import ReadStage
from irscope.facts.measure import measure, to_json
from irscope.model import Artifact, Kernel, SourceFunction, Toolchain, Variant
from irscope.model.errors import error_line
from irscope.store.encoding import digest
from irscope.toolchain.job import Outcome
from irscope.tuning.jobs import CandidateJob, CandidateResult, Compiled


def measured(job: CandidateJob, outcome: Outcome) -> CandidateResult:
    """Whether a compiled candidate can be launched, its facts, and the estimated time of its launch."""
    variant, read = _variant(job, outcome), outcome.content
    resident = VariantArtifacts(variant, read).occupancy
    if resident is not None and not resident.blocks:
        limits = " and ".join(resident.limits)
        problem = in_words_of(variant.target, "no block fits on a multiprocessor")
        return CandidateResult(f"{problem}, limited by {limits}")
    return CandidateResult(compiled=_estimated(job, variant, read))


def _estimated(job: CandidateJob, variant: Variant, read: ReadStage) -> Compiled:
    facts = to_json(measure(variant, read))
    if job.launch is None or not job.launch.grid:
        return Compiled(variant, facts, note="the grid of the launch is not known")
    binary = variant.artifacts.get(backend_of(variant.target).binary)
    key = (job.target, binary and binary.digest, variant.metadata.get("shared"), job.launch)
    try:
        if key not in _times:
            found = estimate(variant, job.launch, read)
            if not found.complete:
                return Compiled(
                    variant, facts, note="; ".join(found.notes[:1]) or "not all of it was counted"
                )
            _times[key] = found.microseconds, found.bound
    except Exception as error:  # noqa: BLE001 - one candidate must not cost the others their estimates
        return Compiled(variant, facts, note=error_line(error))
    return Compiled(variant, facts, *_times[key])


# The time and the bound of each launch that this process has estimated: duplicates take no second estimate.
_times: dict[tuple[object, ...], tuple[float, str]] = {}


def _variant(job: CandidateJob, outcome: Outcome) -> Variant:
    """The candidate as a variant; its id is its number."""
    source = SourceFunction(job.kernel, str(job.file), 1, "")
    contents = {stage: outcome.content(stage) or b"" for stage in outcome.artifacts}
    artifacts = {stage: Artifact(stage, digest(content), len(content)) for stage, content in contents.items()}
    return Variant(
        id=job.number,
        kernel=Kernel(0, job.kernel, source, (), ()),
        target=job.target,
        specialization=job.specialization,
        config=job.config,
        toolchain=Toolchain(0, {}, ""),
        metadata=outcome.metadata,
        seconds=outcome.seconds,
        cached=outcome.cached,
        log=outcome.log,
        artifacts=artifacts,
        launches=(job.launch,) if job.launch is not None else (),
    )
