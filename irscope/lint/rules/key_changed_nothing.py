"""A key argument whose value never changed which config was chosen.

**What it does.** Reports an argument of the tuning key with at least three measured values for which, with
the rest of the key equal, the same config was chosen every time, or one with the same machine code. It
needs a capture with measurements: `irscope run` on a GPU, or an import of autotune results.

**Why is this bad?** The kernel is tuned again for each value, with the same result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irscope.facts.duplicates import are_duplicates
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant

_MIN_VALUES = 3  # fewer prove little
_MAX_SHOWN = 4
_ARGUMENT = re.compile(r"(?:^|, )([A-Za-z_]\w*)=")


def key_changed_nothing(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the configs chosen for keys that differ in one argument."""
    chosen = _chosen(compiled)
    for name in dict.fromkeys(name for key, _ in chosen for name in key):
        groups: dict[tuple[tuple[str, str], ...], dict[str, Variant]] = {}
        for key, variant in chosen:
            rest = tuple(pair for pair in key.items() if pair[0] != name)
            groups.setdefault(rest, {})[key.get(name, "")] = variant
        compared = [group for group in groups.values() if len(group) > 1]
        values = {value for group in compared for value in group}
        if len(values) < _MIN_VALUES or not all(_same_choice(group, compiled) for group in compared):
            continue
        tunings = sum(len(group) - 1 for group in compared)
        listed = f"{', '.join(sorted(values)[:_MAX_SHOWN])}{', ...' if len(values) > _MAX_SHOWN else ''}"
        message = (
            f"{name} is in the key of {compiled.kernel.name} and changed nothing: for its {len(values)} "
            f"values ({listed}) the same config was chosen on {compiled.target}; {tunings:,} of the tunings "
            "were redundant"
        )
        fix = f"drop {name} from the key if these values are representative"
        yield compiled.diagnostic(RULE, message, fix)


def _chosen(compiled: CompiledKernel) -> list[tuple[dict[str, str], Variant]]:
    """Return each tuning key, parsed, with the variant that was chosen for it."""
    return [
        (parse_key(benchmark.key), variant)
        for variant in compiled.variants
        for benchmark in variant.benchmarks
        if benchmark.chosen
    ]


def parse_key(key: str) -> dict[str, str]:
    """Parse the arguments of a tuning key: "M=512, N=64" has M and N. Values may contain commas."""
    matches = list(_ARGUMENT.finditer(key))
    ends = [*(match.start() for match in matches[1:]), len(key)]
    # A key without names has no matches and one end.
    return {match[1]: key[match.end() : end] for match, end in zip(matches, ends, strict=False)}


def _same_choice(group: Mapping[str, Variant], compiled: CompiledKernel) -> bool:
    """Check whether the variants have the same config or the same machine code."""
    first, *rest = group.values()
    return all(
        first.config == later.config
        or are_duplicates(first, later, compiled.facts[first.id], compiled.facts[later.id])
        for later in rest
    )


RULE = CaptureRule("IRS205", "key-changed-nothing", __doc__, key_changed_nothing)
