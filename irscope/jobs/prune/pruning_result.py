"""The configs that pruning keeps, its reasons to drop the others, and the line that says so.

Results are kept in Triton's cache: a program that runs again compiles nothing for them.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import irscope
from irscope.compiling.toolchain.triton_cache import digest
from irscope.jobs.prune.candidates import (
    CANNOT_LAUNCH,
    DUPLICATE,
    NOT_COMPILED,
    OTHER_BITS,
    SLOWER,
    UNKNOWN_BITS,
    Drop,
)
from irscope.model.errors import error_line, print_note
from irscope.model.text import pluralize

# The variable that makes pruning report: 1: a line per kernel, 2: also a line per dropped config.
_VERBOSE = "IRSCOPE_VERBOSE"
# Failures that Triton's autotuner takes for a config that is not to be used, without a word.
_EXPECTED = ("CompileTimeAssertionFailure", "OutOfResources", "PTXASError")


@dataclass(frozen=True)
class PruningResult:
    """The numbers of the configs to `keep`, best first, the others with their reasons, and notes."""

    keep: tuple[int, ...]
    drops: Mapping[int, Drop]
    notes: tuple[str, ...] = field(default=())

    @property
    def lasting(self) -> bool:
        """Return True if the next run would find the same: a failure may be this machine's."""
        return not self.notes and not self.unexpected

    @property
    def unexpected(self) -> dict[int, Drop]:
        """Return the drops for failures of which the user should know."""
        return {n: drop for n, drop in self.drops.items() if drop.failure not in ("", *_EXPECTED)}

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        drops = {str(number): asdict(drop) for number, drop in self.drops.items()}
        return {"keep": list(self.keep), "drops": drops}

    @classmethod
    def from_json(cls, content: Mapping[str, Any] | None, number: int) -> PruningResult | None:
        """Read the output of `to_json`; None if it is malformed, or not for this number of configs."""
        try:
            keep = tuple(int(item) for item in (content or {})["keep"])
            drops = {int(key): Drop(**drop) for key, drop in (content or {})["drops"].items()}
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return cls(keep, drops) if sorted((*keep, *drops)) == list(range(number)) else None


def prune_or_keep_all(
    command: str,
    configs: Sequence[Any],
    prune: Callable[[], tuple[str, PruningResult]],
    reference: int | None = None,
) -> list[Any]:
    """Return the configs that `prune` keeps; if it fails or keeps none, that of `reference` (None: all).

    `prune` returns the kernel's name and what it found. Never raises: the program goes on without
    pruning, and stderr says why.
    """
    others = list(configs) if reference is None else [configs[reference]]
    start = time.perf_counter()
    try:
        kernel, pruned = prune()
        _report(command, kernel, configs, pruned, time.perf_counter() - start)
        return [configs[number] for number in pruned.keep] or others
    except Exception as error:  # noqa: BLE001 - the user's program goes on without pruning
        rest = f"all {pluralize(len(configs), 'config')}" if reference is None else f"only {others[0]}"
        print_note(f"{command}: {rest} kept: {error_line(error)}")
        return others


def _report(command: str, kernel: str, configs: Sequence[Any], pruned: PruningResult, seconds: float) -> None:
    for number, drop in list(pruned.unexpected.items())[:1]:
        others = len(pruned.unexpected) - 1
        more = f", and {others} more" if others else ""
        print_note(f"{command}: {kernel}: not compiled: {configs[number]}{more}: {drop.reason}")
    for note in pruned.notes:
        print_note(f"{command}: {kernel}: {note}")
    verbose = os.environ.get(_VERBOSE, "")
    if verbose in ("", "0"):
        return
    if verbose not in ("1", "true", "yes"):
        for number, drop in sorted(pruned.drops.items()):
            print_note(f"{command}: {kernel}: {configs[number]}: {drop.kind}: {drop.reason}")
    print_note(f"{command}: {summary(kernel, len(configs), pruned)} in {seconds:.1f} s")


def summary(kernel: str, number: int, pruned: PruningResult) -> str:
    """Return the result as a line.

    "57 of 64 configs of matmul dropped (9 cannot launch, 48 slower by estimate)"
    """
    if not pruned.keep:
        first = next(iter(pruned.drops.values()))
        return f"all {pluralize(number, 'config')} of {kernel} kept: none can be used ({first.reason})"
    if not pruned.drops:
        return f"all {pluralize(number, 'config')} of {kernel} kept"
    counts = Counter(drop.kind for drop in pruned.drops.values())
    words = {
        CANNOT_LAUNCH: f"{counts[CANNOT_LAUNCH]:,} cannot launch",
        NOT_COMPILED: f"{counts[NOT_COMPILED]:,} not compiled",
        DUPLICATE: pluralize(counts[DUPLICATE], "duplicate"),
        OTHER_BITS: f"{counts[OTHER_BITS]:,} other bits",
        UNKNOWN_BITS: f"{counts[UNKNOWN_BITS]:,} unknown bits",
        SLOWER: f"{counts[SLOWER]:,} slower by estimate",
    }
    parts = ", ".join(text for kind, text in words.items() if counts[kind])
    return f"{len(pruned.drops):,} of {pluralize(number, 'config')} of {kernel} dropped ({parts})"


_FILE = "irscope_tuning.json"


@cache
def _code() -> str:
    """Return the sizes and times of irscope's files that results depend on: code and constants."""
    root = Path(irscope.__file__).parent
    packages = ("estimating", "jobs/prune", "facts", "interpreting", "workspace")
    files = [file for name in packages for file in root.glob(f"{name}/**/*.*")]
    states = [(str(file.relative_to(root)), file.stat()) for file in sorted(files) if file.suffix != ".pyc"]
    return "\n".join(f"{name} {state.st_size} {state.st_mtime_ns}" for name, state in states)


def remembered(number: int, find: Callable[[], PruningResult], *parts: str) -> PruningResult:
    """Return the result for this number of configs from Triton's cache, or what `find` finds.

    That is kept in the cache if the next run would find the same. `parts` name everything that it depends on:
    the keys of the compilations, the launch, the limits of the device.
    """
    from triton.runtime.cache import get_cache_manager

    manager = get_cache_manager(digest("irscope tuning 1", _code(), *parts))
    try:
        file = manager.get_file(_FILE)
        content = json.loads(Path(file).read_bytes()) if file else None
    except (OSError, ValueError):
        content = None
    result = PruningResult.from_json(content, number)
    if result is None:
        result = find()
        if result.lasting:
            with suppress(OSError):
                manager.put(json.dumps(result.to_json()), _FILE, binary=False)
    return result
