"""Captures with several configs of each kernel of the benchmark, whose pairs have findings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import irscope
from irscope.model import UserError, Value
from tests.truth.corpus import Case, load

# A block size is varied only if the signature does not repeat it, as that of a tensor descriptor does.
_SMALLEST, _LARGEST = 32, 128


def configs(case: Case) -> Mapping[str, Sequence[Value]]:
    """The case's config with two values of a block size, and of num_stages or num_warps."""
    found: dict[str, list[Value]] = {name: [value] for name, value in case.config.items()}
    multiplies = "tl.dot" in case.file.read_text()
    if "WARP_SPECIALIZE" in found:
        return found | {"WARP_SPECIALIZE": [False, True], "STAGES": [2, 3]}
    if not multiplies:
        return found | _blocks(case) | {"num_warps": [4, 8]}
    return found | _blocks(case) | {"num_stages": [1, 3] if "tensordesc" in case.signature else [2, 4]}


def _blocks(case: Case) -> dict[str, list[Value]]:
    """Two values of the first block size that can be doubled or halved."""
    if "tensordesc" in case.signature:
        return {}
    for name, value in case.config.items():
        if name.startswith("BLOCK") and isinstance(value, int) and value >= _SMALLEST:
            other = value * 2 if value < _LARGEST else value // 2
            return {name: [value, other]}
    return {}


def compiled(case: Case, targets: Sequence[str], path: Path) -> bool:
    """Compiles the configs of a case for those of `targets` that it supports; whether any compiled."""
    own = [target for target in targets if target in case.targets]
    if not own:
        return False
    kernel = getattr(load(case.file), case.kernel)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            irscope.compile(kernel, path, case.signature, config=configs(case), target=own, jobs=1).close()
    except UserError as error:
        print(f"{case.name}: {error}")
        return False
    return True
