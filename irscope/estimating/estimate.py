"""Estimates one launch of one variant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import ceil, prod

from irscope.estimating.device_rates import DeviceRates, rates_of
from irscope.estimating.terms import ISSUE, LATENCY, MEMORY, OVERHEAD, Estimate, Term, combined
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import ReadStage
from irscope.facts.occupancy import Occupancy
from irscope.model import Launch, UserError, Variant

__all__ = ["Estimate", "Term", "estimate"]

_TENSOR = re.compile(r"(?:tensordesc )?[a-z_]*?(\d+)\w*\[([\d, ]*)\]")


def estimate(
    variant: Variant, launch: Launch, read: ReadStage, device: DeviceRates | None = None
) -> Estimate:
    """How long `launch` takes on `device` (None: the usual one of the variant's target).

    `read` returns the content of a stage, None if there is none: `lambda stage: workspace.find_content(
    variant, stage)`. Raises UserError if the variant cannot be estimated: no machine code, a target without
    rates, a launch without a grid.
    """
    device = device or rates_of(variant.target)
    if device is None:
        raise UserError(f"{variant.target}: no device rates for estimates; use a CUDA target")
    artifacts = VariantArtifacts(variant, read)
    resident = artifacts.occupancy
    if resident is None or artifacts.scan is None:
        raise UserError(f"#{variant.id}: an estimate needs the binary and the assembly of a compiled variant")
    if not resident.blocks:
        raise UserError(f"#{variant.id}: no block fits on a multiprocessor")
    terms = _terms(artifacts, resident, launch, device)
    ordered = tuple(sorted(terms, key=lambda term: -term.microseconds))
    total = combined([term for term in ordered if term.name != OVERHEAD], 2.0, 2.2)
    return Estimate(total, ordered[0].name, ordered, device.name)


def _terms(
    artifacts: VariantArtifacts, resident: Occupancy, launch: Launch, device: DeviceRates
) -> Sequence[Term]:
    blocks = prod(launch.grid)
    waves = ceil(blocks / (resident.blocks * device.multiprocessors))
    instructions = artifacts.scan.instructions if artifacts.scan else 0
    warps = blocks * (artifacts.count("num_warps") or 1)
    size = sum(map(_bytes, (text for _, text in launch.arguments)))
    issue = device.microseconds(warps * instructions / (4 * device.multiprocessors))
    latency = device.microseconds(waves * instructions * 8)
    return [
        Term(MEMORY, size / device.memory / 1e3, f"{size:,} bytes of tensors at {device.memory:,.0f} GB/s"),
        Term(
            ISSUE, issue, f"{warps:,} warps x {instructions:,} instructions, 4 per cycle and multiprocessor"
        ),
        Term(LATENCY, latency, f"{waves:,} waves x {instructions:,} instructions, 8 cycles each"),
    ]


def _bytes(text: str) -> int:
    """The size of a tensor argument; 0 of others."""
    match = _TENSOR.match(text)
    sizes = [int(size) for size in match[2].split(",") if size.strip()] if match else []
    return int(match[1]) // 8 * prod(sizes) if match else 0
