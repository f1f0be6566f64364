"""The sides of a bisection: toolchains that compile the same kernel.

A side is a released version of Triton (3.8.0), or a user's own: the path of a Python, of a virtual
environment or of a folder with the package `triton`. It may have another ptxas and environment variables.

The variants of a kernel on a side are cached like all results: planning again would import Triton.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from irscope.compiling.messages import SweepRequest
from irscope.jobs.bisect.compiling import KeptResults, Subject, digest_of, plan_on, source_state
from irscope.jobs.versions.environments import SUPPORTED, Environment, own_triton, prepare
from irscope.jobs.versions.packages import Report
from irscope.model import Kernel, SourceFunction, Toolchain, UserError, Variant
from irscope.model.records import frozen
from irscope.model.variant import Target
from irscope.store import find_variant, variant_names
from irscope.store.encoding import (
    config_from_json,
    config_to_json,
    specialization_from_json,
    specialization_to_json,
)

# A `..` next to a slash or a dot is part of a path.
_RANGE = re.compile(r"(.*?[^/.])\.\.([^.].*|\.\.?/.*)")


@frozen
class SideOptions:
    """Options of the two ends of a bisection besides their versions: ptxas and environment variables."""

    ptxas_good: str | None = None
    ptxas_bad: str | None = None
    env_good: tuple[tuple[str, str], ...] = ()
    env_bad: tuple[tuple[str, str], ...] = ()

    @property
    def differ(self) -> bool:
        """True if the ends differ even if their versions are equal."""
        return (self.ptxas_good, self.env_good) != (self.ptxas_bad, self.env_bad)


def parse_versions(text: str | None, options: SideOptions) -> tuple[str, ...]:
    """Return the versions or paths in `GOOD..BAD` or `V1,V2,...`, the good end first. Raises UserError.

    Two versions between which releases are known include those. Without a text, the installed Triton is both
    ends; the ends must then differ in `options`.
    """
    if text is None:
        own = own_triton()
        if own is None:
            raise UserError("--triton: name the versions to compare, such as 3.8.0..3.9.0")
        return (own[0], own[0]) if options.differ else (own[0],)
    if "," not in text and (ends := split_range(text)):
        return _between(*ends)
    versions = tuple(part.strip() for part in text.split(",") if part.strip())
    if not versions:
        raise UserError("--triton: names no version")
    return versions * 2 if len(versions) == 1 and options.differ else versions


def make_sides(
    versions: Sequence[str], options: SideOptions, report: Report
) -> Iterator[Environment | UserError]:
    """Yield the toolchain of each version, or why it cannot be had; only the last has the bad end's options.

    All others have those of the good end.
    """
    for index, version in enumerate(versions):
        last = index == len(versions) - 1 and len(versions) > 1
        ptxas = options.ptxas_bad if last else options.ptxas_good
        variables = options.env_bad if last else options.env_good
        try:
            environment = prepare(version, ptxas, report)
        except UserError as error:
            yield error
            continue
        label = _label(version, ptxas, environment, variables)
        yield replace(environment, settings=variables, label=label)


def split_range(text: str) -> tuple[str, str] | None:
    """Return GOOD and BAD of `GOOD..BAD`, which may be paths with `..` in them; None if it is no range."""
    match = _RANGE.fullmatch(text.strip())
    return (match[1], match[2]) if match else None


def _between(good: str, bad: str) -> tuple[str, ...]:
    """Return the two versions and the releases between them, in that direction."""
    if good not in SUPPORTED or bad not in SUPPORTED:
        return good, bad
    first, last = SUPPORTED.index(good), SUPPORTED.index(bad)
    releases = SUPPORTED[min(first, last) : max(first, last) + 1]
    return releases if first <= last else releases[::-1]


def _label(
    version: str, ptxas: str | None, environment: Environment, variables: Sequence[tuple[str, str]]
) -> str:
    """Return the version or path, the ptxas that was asked for, and the variables."""
    name = version if "/" in version else environment.triton
    if ptxas is not None:
        name = f"{name}+{ptxas}" if "/" in ptxas else f"{name}+ptxas{environment.ptxas_version}"
    return " ".join([name, *(f"{key}={value}" for key, value in variables)])


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
