"""The variants of a kernel on a side, cached like all results: planning again would import Triton."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from irscope.compiling.messages import SweepRequest
from irscope.jobs.bisect.compiling import KeptResults, Subject, digest_of, plan_on, source_state
from irscope.jobs.versions.environments import Environment
from irscope.model import Kernel, SourceFunction, Toolchain, UserError, Variant
from irscope.model.variant import Target
from irscope.store import find_variant, variant_names
from irscope.store.encoding import (
    config_from_json,
    config_to_json,
    specialization_from_json,
    specialization_to_json,
)


def planned_subjects(
    side: Environment, request: SweepRequest, kept: KeptResults, seconds: float, root: Path | None = None
) -> list[Subject]:
    """Return the variants of a request as a side plans them. Raises UserError if it does not fit the file."""
    state = source_state(request.file, root)
    settings = repr((request.kernel, request.signature, request.constants, request.axes, request.guess))
    targets = " ".join(map(str, request.targets))
    key = digest_of("plan", side.identity, state, settings, targets)
    path = kept.get(key, partial(_write, side, request, seconds), ".json")
    document = json.loads(path.read_text(encoding="utf-8"))
    return [
        Subject(
            request.file,
            document["kernel"],
            Target(*row["target"]),
            specialization_from_json(row["specialization"]),
            config_from_json(row["config"]),
        )
        for row in document["jobs"]
    ]


def choose(subjects: Sequence[Subject], name: str | None) -> tuple[Subject, str]:
    """Return the subject called `name` (None: the only one) and its short name. Raises UserError."""
    variants = [_variant(number, subject) for number, subject in enumerate(subjects, 1)]
    names = variant_names(variants)
    if name is None and len(subjects) > 1:
        listed = ", ".join(f"#{variant.id} {names[variant.id]}" for variant in variants[:6])
        more = ", ..." if len(variants) > 6 else ""
        raise UserError(
            f"{subjects[0].kernel} has {len(subjects)} variants: {listed}{more}; name one with --variant"
        )
    chosen = variants[0] if name is None else find_variant(variants, name)
    return subjects[chosen.id - 1], names[chosen.id]


def _variant(number: int, subject: Subject) -> Variant:
    source = SourceFunction(subject.kernel, str(subject.file), 1, "")
    kernel = Kernel(0, subject.kernel, source, (), ())
    toolchain = Toolchain(0, {}, "")
    return Variant(number, kernel, subject.target, subject.specialization, subject.config, toolchain)


def _write(side: Environment, request: SweepRequest, seconds: float, path: Path) -> None:
    """Write the plan. A request that does not fit is not kept: another package may be installed by then."""
    plan = plan_on(side, request, seconds)
    jobs = [
        {
            "target": [job.target.backend, job.target.arch, job.target.warp_size],
            "specialization": specialization_to_json(job.specialization),
            "config": config_to_json(job.config),
        }
        for job in plan.jobs
    ]
    path.write_text(json.dumps({"kernel": plan.source.name, "jobs": jobs}), encoding="utf-8")
