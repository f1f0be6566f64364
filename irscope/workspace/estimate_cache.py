"""The estimates of an open capture: made when first asked for, and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
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

    def columns(
        self,
        launches: Sequence[tuple[Variant, Launch]],
        devices: Sequence[DeviceRates],
        report: Callable[[int], None] = lambda done: None,
    ) -> tuple[list[list[Estimate | None]], str]:
        """Return the estimates of `launches` on each device of their target, and why the first has none.

        They lack terms, facts and notes: one small file of the cache folder has those of a device. `report`
        receives the number of launches that were counted.
        """
        inputs = [_inputs(*launch) for launch in launches]
        names = [_cache_name("column", inputs, rates, None) for rates in devices]
        columns = [_from_json(self._cache.read(name)) for name in names]
        missing = [at for at, column in enumerate(columns) if not column]
        trouble = ""
        for number, (variant, launch) in enumerate(launches if missing else (), 1):
            row: Sequence[Estimate | None]
            try:
                row = self._make(variant, launch, [devices[at] for at in missing])
            except UserError as error:
                row = [None] * len(missing)
                # Why a compilation failed is said with the config.
                trouble = trouble or ("" if variant.failure else str(error))
            for at, one in zip(missing, row, strict=True):
                columns[at].append(one and replace(one, terms=(), facts={}, notes=(), limits=()))
            report(number)
        for at in missing:
            if any(columns[at]):
                self._keep(names[at], columns[at])
        return columns, trouble

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
        from irscope.estimating.constants import rates_of

        inputs = [_inputs(variant, launch)]
        name = _cache_name("estimate", inputs, device or rates_of(variant.target), fit)
        for stored in _from_json(self._cache.read(name)):
            if stored is not None:
                return stored
        (result,) = self._make(variant, launch, [device], fit)
        self._keep(name, [result])
        return result

    def _make(
        self, variant: Variant, launch: Launch, devices: Sequence[DeviceRates | None], fit: Fit | None = None
    ) -> list[Estimate]:
        from irscope.estimating.estimate import estimates

        read: Callable[[str], bytes | None] = partial(self._workspace.contents.find, variant)
        try:
            return estimates(variant, launch, read, devices, fit)
        except (ArithmeticError, LookupError, ValueError, RecursionError) as error:
            # Machine code that the model cannot follow costs only its own estimate.
            raise UserError(f"#{variant.id}: no estimate: {type(error).__name__}: {error}") from error

    def _keep(self, name: str, estimates: Sequence[Estimate | None]) -> None:
        with self._lock:
            self._made[name] = json.dumps([one and asdict(one) for one in estimates]).encode()


def _bound_text(estimate: Estimate) -> str:
    """Return the bound, or the tensors whose values decide it and are not known."""
    return f"depends on {', '.join(estimate.depends)}" if estimate.depends else estimate.bound


def _inputs(variant: Variant, launch: Launch) -> str:
    """Return everything that an estimate depends on, other than the device and the model."""
    artifacts = {name: artifact.digest for name, artifact in sorted(variant.artifacts.items())}
    inputs = (variant.target, variant.config, variant.specialization, sorted(variant.metadata.items()))
    return repr((artifacts, inputs, launch, launch.values))


def _cache_name(kind: str, inputs: Sequence[str], device: DeviceRates | None, fit: Fit | None) -> str:
    """Return the name of estimates in the cache folder: everything that they depend on."""
    from irscope.estimating.constants import fit_of

    fit = fit or (fit_of(device) if device else None)
    content = "\0".join(inputs).encode("utf-8", "replace")
    return derived_key(kind, content, repr(device), repr(fit), _model_digest())


@cache
def _model_digest() -> str:
    """Return a hash of the model's code: an estimate of another version of it is made again."""
    return code_digest(Path(irscope.estimating.__file__).parent)


def code_digest(folder: Path) -> str:
    """Return a hash of the modules in a folder and below it."""
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def _from_json(content: bytes | None) -> list[Estimate | None]:
    """Return the estimates that were stored; none if there are none, or if they are damaged."""
    try:
        return [one and _from_values(one) for one in json.loads(content or b"[]")]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _from_values(values: dict[str, Any]) -> Estimate:
    from irscope.estimating.terms import Estimate, Term

    terms = tuple(
        Term(**{**term, "evidence": tuple(Evidence(**line) for line in term["evidence"])})
        for term in values.pop("terms")
    )
    texts = {name: tuple(values.get(name, ())) for name in ("notes", "limits", "depends")}
    return Estimate(**{**values, "terms": terms, **texts})
