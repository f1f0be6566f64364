"""The launches of a capture that lint rules execute: recorded ones, or those that a user writes.

--launch "grid=(cdiv(M, BLOCK),), M=1..8192"    -> the launches with M = 1, 2, 17, 128, ..., 8191, 8192
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irscope.interpreting.stage_program import StageProgram, UnansweredError
from irscope.layouts.convert import triton_version
from irscope.lint.executed import ExecutedLaunch
from irscope.model import Launch, UserError, Variant
from irscope.model.text import pluralize
from irscope.workspace.bits import machine_launch
from irscope.workspace.launch_expression import launched, parse_launch

if TYPE_CHECKING:
    from irscope.languages.document import Document
    from irscope.workspace.workspace import Workspace

_STAGE, _FINAL = "ttgir", "llir"
# What is executed of a launch, and of a capture, as in `launch_races`: 100 variants take a few seconds. All
# codes of a capture have equal shares of what is left.
_BUDGET, _CAPTURE_BUDGET = 3_000, 16_000
# The launches of one variant that are executed, and the samples of one range.
_MOST_LAUNCHES, _MOST_SAMPLES = 12, 24
_MOST_LISTED = 3
_RANGE = re.compile(r"\b(\w+)\s*=\s*(-?\d+)\s*\.\.\s*(-?\d+)")


class ExecutedLaunches:
    """The launches of a capture's variants, each once; `notes` say what was not executed or decided.

    `texts` are launches as `--launch` takes them; without any, the recorded ones are used.
    """

    def __init__(self, workspace: Workspace, texts: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._texts = texts
        self._left = _CAPTURE_BUDGET
        # The codes that were not executed yet: what one leaves of its share, the others may use.
        self._codes = {workspace.contents.key(v, _STAGE) for v in workspace.variants if _STAGE in v.artifacts}
        self._notes: list[str] = []
        # The last one that was executed: launches of one code follow each other.
        self._program: StageProgram | None = None
        # By kernel: how many programs of a launch were executed, if not all.
        self._partial: dict[str, str] = {}

    @property
    def notes(self) -> list[str]:
        """Return what was not executed or decided, of all launches so far."""
        partial = [f"{name}: {extent}" for name, extent in self._partial.items()]
        more = len(partial) - _MOST_LISTED
        listed = partial[:_MOST_LISTED] + ([f"and {pluralize(more, 'kernel')} more"] if more > 0 else [])
        summary = f"races with other programs are not decided: {'; '.join(listed)}"
        return [*dict.fromkeys(self._notes), *([summary] if partial else [])]

    def find(self, variants: Sequence[Variant]) -> Iterator[ExecutedLaunch]:
        """Yield the launches of one kernel's variants; those of equal code, with equal arguments, once."""
        name = variants[0].kernel.name
        groups: dict[object, list[tuple[Variant, Launch, str]]] = {}
        unlaunched = 0
        for variant in variants:
            if variant.failure is not None or _STAGE not in variant.artifacts:
                continue
            launches = list(self._launches(variant))
            unlaunched += not launches
            for launch, origin in launches:
                code = (
                    self._workspace.contents.key(variant, _STAGE),
                    self._workspace.contents.key(variant, _FINAL),
                )
                groups.setdefault((code, launch), []).append((variant, launch, origin))
        skipped = 0
        for members in groups.values():
            if self._left <= 0:
                skipped += 1
                continue
            try:
                executed = self._executed(members)
            except (UserError, UnansweredError) as error:
                self._notes.append(f"{name}: not executed: {error}")
                continue
            yield executed
            self._left -= executed.cost
            self._notes += [f"{name}: {note}" for note in executed.undecided]
            if executed.extent and name not in self._partial:
                self._partial[name] = executed.extent
        if skipped:
            self._notes.append(
                f"{name}: {skipped:,} of {pluralize(len(groups), 'launch')} not executed: beyond the limit "
                "of a capture"
            )
        if unlaunched:
            self._notes.append(
                f"{name}: no launch of {pluralize(unlaunched, 'variant')} is known, so rules IRS3xx did not "
                'run; say how it is launched: --launch "grid=(cdiv(M, BLOCK_M),), M=4096"'
            )

    def check_texts(self, variants: Sequence[Variant]) -> None:
        """Raise UserError for a launch that the user wrote, as `launched`."""
        for text in self._texts:
            refusal: UserError | None = None
            for sample, _ in launch_samples(text):
                try:
                    launched(variants, [sample])
                    break
                except UserError as error:
                    refusal = refusal or error
            else:
                if refusal is not None:
                    raise refusal

    def _launches(self, variant: Variant) -> Iterator[tuple[Launch, str]]:
        """Yield launches of a variant, with the range that each is a sample of ("": none)."""
        if not self._texts:
            for launch in variant.launches[:_MOST_LAUNCHES]:
                yield launch, ""
            return
        for text in self._texts:
            samples = list(launch_samples(text))
            for sample, origin in samples:
                try:
                    launch = parse_launch(sample).launch_of(variant)
                except UserError:
                    continue  # compiled for other arguments
                yield launch, origin

    def _executed(self, members: Sequence[tuple[Variant, Launch, str]]) -> ExecutedLaunch:
        """Return a launch of variants with equal code.

        Raises UserError or UnansweredError if their code cannot be read.
        """
        variant, launch, origin = members[0]
        document = self._workspace.document(variant, _STAGE)
        version = triton_version(variant.toolchain.versions.get("triton", ""))
        if self._program is None or self._program.document is not document:
            self._program = StageProgram(document, version)
        places = {name.lstrip("%"): place for place, name in enumerate(self._program.entry.arguments)}
        shared = {
            places[name]: (places[other], shift)
            for name, other, shift in launch.aliases
            if name in places and other in places
        }
        called = replace(machine_launch(variant, launch, document), shared=shared)
        read_final = partial(self._final, variant)
        variants = [variant for variant, _, _ in members]
        share = min(_BUDGET, self._left // max(1, len(self._codes)))
        self._codes.discard(self._workspace.contents.key(variant, _STAGE))
        return ExecutedLaunch(variants, launch, called, self._program, read_final, share, origin)

    def _final(self, variant: Variant) -> Document | None:
        return self._workspace.document(variant, _FINAL) if _FINAL in variant.artifacts else None


def launch_samples(text: str) -> Iterator[tuple[str, str]]:
    """Yield launches without ranges; of a range, its ends, and sizes around powers of two between them."""
    ranges = [(match[1], int(match[2]), int(match[3])) for match in _RANGE.finditer(text)]
    if not ranges:
        yield text, ""
        return
    origin = "sampled from " + ", ".join(f"{name}={low}..{high}" for name, low, high in ranges)
    sizes = [_sizes(low, high) for _, low, high in ranges]
    for name, low, high in ranges:
        if low > high:
            raise UserError(
                f"--launch: the range {name}={low}..{high} is empty; write the smaller number first"
            )
    # All ends with each other; between them, the n-th sizes of all ranges together.
    corners = itertools.product(*[(size[0], size[-1]) for size in sizes])
    longest = max(map(len, sizes))
    together = [tuple(size[n * len(size) // longest] for size in sizes) for n in range(longest)]
    for values in dict.fromkeys([*itertools.islice(corners, 16), *together]):
        sample = text
        for value in values:
            sample = _RANGE.sub(rf"\g<1>={value}", sample, count=1)
        yield sample, origin


def _sizes(low: int, high: int) -> list[int]:
    """Return numbers of a range: its ends and those next to them, multiples of 16, and powers of two."""
    powers = [1 << bit for bit in range(31)]
    near = {low, low + 1, high - 1, high}
    for power in powers:
        near |= {power, power + 1, power + 16}
    inside = sorted(number for number in near if low <= number <= high)
    if len(inside) <= _MOST_SAMPLES:
        return inside
    step = (len(inside) - 1) / (_MOST_SAMPLES - 1)
    return [inside[round(number * step)] for number in range(_MOST_SAMPLES)]
