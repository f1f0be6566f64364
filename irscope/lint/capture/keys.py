"""Arguments in the autotuner's key that never changed which config was chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irscope.analysis.duplicates import are_duplicates
from irscope.lint.capture.compiled import Compiled
from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.model import Variant

KEY = Rule(
    "IRS205", "key-changed-nothing", "a key argument for each value of which the same config was chosen"
)

# Fewer values of an argument prove little.
_FEWEST_VALUES = 3
_MOST_SHOWN = 4
_PART = re.compile(r"(?:^|, )([A-Za-z_]\w*)=")


def key_changed_nothing(compiled: Compiled) -> Iterator[Diagnostic]:
    """Arguments of the key whose values, the others being equal, all led to one config."""
    chosen = _chosen(compiled)
    for name in dict.fromkeys(name for key, _ in chosen for name in key):
        groups: dict[tuple[tuple[str, str], ...], dict[str, Variant]] = {}
        for key, variant in chosen:
            rest = tuple(pair for pair in key.items() if pair[0] != name)
            groups.setdefault(rest, {})[key.get(name, "")] = variant
        compared = [group for group in groups.values() if len(group) > 1]
        values = {value for group in compared for value in group}
        if len(values) < _FEWEST_VALUES or not all(_same(group, compiled) for group in compared):
            continue
        tunings = sum(len(group) - 1 for group in compared)
        shown = f"{', '.join(sorted(values)[:_MOST_SHOWN])}{', ...' if len(values) > _MOST_SHOWN else ''}"
        message = (
            f"{name} is in the key of {compiled.kernel.name} and changed nothing: for its {len(values)} "
            f"values ({shown}) the same config was chosen on {compiled.target}; {tunings:,} of the tunings "
            "were for nothing"
        )
        fix = f"drop {name} from the key, if these values are what it will see"
        yield compiled.problem(KEY, message, fix)


def _chosen(compiled: Compiled) -> list[tuple[dict[str, str], Variant]]:
    """The tuning keys, by name of argument, with the variant that was chosen for each."""
    return [
        (parsed(benchmark.key), variant)
        for variant in compiled.variants
        for benchmark in variant.benchmarks
        if benchmark.chosen
    ]


def parsed(key: str) -> dict[str, str]:
    """A tuning key by name: "M=512, N=64" has M and N. Values may have commas in them."""
    found = list(_PART.finditer(key))
    ends = [*(match.start() for match in found[1:]), len(key)]
    # Without a name there is an end and nothing before it.
    return {match[1]: key[match.end() : end] for match, end in zip(found, ends, strict=False)}


def _same(group: Mapping[str, Variant], compiled: Compiled) -> bool:
    """Whether the variants have one config, or are one program."""
    first, *others = group.values()
    return all(
        first.config == other.config
        or are_duplicates(first, other, compiled.facts[first.id], compiled.facts[other.id])
        for other in others
    )
