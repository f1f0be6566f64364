"""The estimates of an open capture: made when first asked for, and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import irscope.estimating
from irscope.facts.fact import BOUND_BY, ESTIMATE, ESTIMATE_KEY, ESTIMATE_KINDS, Evidence, Fact
from irscope.model import Launch, UserError, Variant
from irscope.workspace.problem_sizes import problem_text
from irscope.workspace.stage_contents import DerivedCache, derived_key

if TYPE_CHECKING:
    from irscope.estimating.constants import DeviceRates, Fit
    from irscope.estimating.terms import Estimate
    from irscope.workspace.workspace import Workspace


class Estimates:
    """The estimates that were made so far, by variant, launch and device. Several threads may use it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._cache = DerivedCache()
        self._known: dict[tuple[int, Launch, str], Estimate | UserError] = {}
        self._made: dict[str, bytes] = {}
        self._lock = Lock()

    def of(
        self, variant: Variant, launch: Launch, device: DeviceRates | None = None, fit: Fit | None = None
    ) -> Estimate:
        """Return the estimate of a launch; takes about 0.1 s if it was never made.

        `fit` has the constants of the model (None: those of the device, or the user's own).

        Raises UserError if there is none, such as for a variant without machine code.
        """
        key = (variant.id, launch, repr((launch.values, device, fit)))
        result = self._known.get(key)
        if result is None:
            try:
                result = self._stored_or_made(variant, launch, device, fit)
            except UserError as error:
                result = error
            self._known[key] = result
        if isinstance(result, UserError):
            raise UserError(str(result))
        return result

    def facts(self, variant: Variant) -> dict[str, Fact]:
        """Return the facts ESTIMATE_KINDS of the first launch, by name; unknown without an estimate."""
        estimate: Estimate | None = None
        if variant.launches:
            with suppress(UserError):
                estimate = self.of(variant, variant.launches[0])
        if estimate is None:
            return {kind.name: Fact(kind, None) for kind in ESTIMATE_KINDS}
        term = estimate.term(estimate.bound)
        evidence = term.evidence if term else ()
        return {
            ESTIMATE.name: Fact(ESTIMATE, None if estimate.depends else estimate.microseconds, evidence),
            BOUND_BY.name: Fact(BOUND_BY, _bound_text(estimate), evidence),
            ESTIMATE_KEY.name: Fact(ESTIMATE_KEY, problem_text(variant, variant.launches[0])),
        }

    def forget(self, ids: Iterable[int]) -> None:
        """Drop the estimates of variants that changed."""
        changed = set(ids)
        for key in [key for key in self._known if key[0] in changed]:
            self._known.pop(key, None)

    def save(self) -> None:
        """Keep what was made in the user's cache folder."""
        with self._lock:
            contents, self._made = self._made, {}
        self._cache.write(contents)

    def _stored_or_made(
        self, variant: Variant, launch: Launch, device: DeviceRates | None, fit: Fit | None
    ) -> Estimate:
        from irscope.estimating.estimate import estimate

        name = _cache_name(variant, launch, device, fit)
        stored = self._cache.read(name)
        if stored is not None and (cached := _from_json(stored)) is not None:
            return cached
        read: Callable[[str], bytes | None] = partial(self._workspace.contents.find, variant)
        try:
            result = estimate(variant, launch, read, device, fit)
        except (ArithmeticError, LookupError, ValueError, RecursionError) as error:
            # Machine code that the model cannot follow costs only its own estimate.
            raise UserError(f"#{variant.id}: no estimate: {type(error).__name__}: {error}") from error
        with self._lock:
            self._made[name] = json.dumps(asdict(result)).encode()
        return result


def _bound_text(estimate: Estimate) -> str:
    """Return the bound, or the tensors whose values decide it and are not known."""
    return f"depends on {', '.join(estimate.depends)}" if estimate.depends else estimate.bound


def _cache_name(variant: Variant, launch: Launch, device: DeviceRates | None, fit: Fit | None) -> str:
    """Return the name of an estimate in the cache folder: everything that it depends on."""
    from irscope.estimating.constants import fit_of, rates_of

    device = device or rates_of(variant.target)
    artifacts = {name: artifact.digest for name, artifact in sorted(variant.artifacts.items())}
    inputs = (variant.target, variant.config, variant.specialization, sorted(variant.metadata.items()))
    code = json.dumps(artifacts).encode()
    fit = fit or (fit_of(device) if device else None)
    return derived_key(
        "estimate", code, *map(repr, (inputs, launch, launch.values, device, fit)), _model_digest()
    )


@cache
def _model_digest() -> str:
    """Return a hash of the model's code: an estimate of another version of it is made again."""
    return code_digest(Path(irscope.estimating.__file__).parent)


def code_digest(folder: Path) -> str:
    """Return a hash of the modules in a folder and below it."""
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _from_json(content: bytes) -> Estimate | None:
    """Return the estimate that was stored; None if it is damaged."""
    from irscope.estimating.terms import Estimate, Term

    try:
        values: dict[str, Any] = json.loads(content)
        terms = tuple(
            Term(**{**term, "evidence": tuple(Evidence(**line) for line in term["evidence"])})
            for term in values.pop("terms")
        )
        texts = {name: tuple(values.get(name, ())) for name in ("notes", "limits", "depends")}
        return Estimate(**{**values, "terms": terms, **texts})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
