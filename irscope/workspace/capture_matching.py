"""Matching the variants of two captures: which variant of OLD and which of NEW are the same compilation.

Compiled and imported captures spell the same config differently. An import has every option of Triton's
metadata, also the defaults, but not the constants that left no trace in the IR:

    compiled:  BLOCK=64,GROUP=8,num_warps=4              stride 1 (constexpr)
    imported:  BLOCK=64,num_warps=4,num_stages=3
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from irscope.findings.cache_key import INVENTED
from irscope.model import Variant, format_value
from irscope.model.records import frozen, grouped
from irscope.targets import backend_of

IMPORTED = "imported from"
_UNSET = "unset"
# The most variants among which the closest one is searched for.
_MAX_CANDIDATES = 500


@frozen
class Difference:
    """A component in which two variants differ: "target", "num_warps", "argument x", a variable's name."""

    name: str
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.name}: {self.a} / {self.b}"


_Key = Callable[[Variant], Hashable]
Pair = tuple[Variant, Variant]


def match_variants(
    a: Sequence[Variant], b: Sequence[Variant], renamed: Mapping[str, str], by_target: bool
) -> tuple[list[Pair], list[Variant], list[Variant]]:
    """Match OLD (`a`) with NEW (`b`); return the pairs in NEW's order and the unmatched of both.

    Equal properties match first, then equal hashes of Triton, then configs that are equal with
    the defaults filled in, then variants that differ only in the compiler environment, then
    those whose parameters were renamed, added or removed, at last imported variants by what the
    import has. `renamed` maps kernels of OLD to NEW's names. `by_target`: variants only match if
    their targets do.
    """
    old, new = list(a), list(b)
    pairs: list[Pair] = []
    for key in _keys(renamed, by_target):
        pairs += _by_key(old, new, key)
    pairs += _by_common_parameters(old, new, renamed, by_target)
    pairs += _by_import(old, new, renamed, by_target)
    position = {id(variant): index for index, variant in enumerate(b)}
    return sorted(pairs, key=lambda pair: position[id(pair[1])]), old, new


def _keys(renamed: Mapping[str, str], by_target: bool) -> Iterator[_Key]:
    """Yield the keys of the rounds of matching; a key of None matches nothing."""
    # The variants of a large capture share their specializations.
    arguments: dict[int, frozenset[str]] = {}

    def base(variant: Variant) -> tuple[Hashable, ...]:
        kernel, identity = variant.kernel.name, id(variant.specialization)
        if identity not in arguments:
            arguments[identity] = frozenset(map(repr, variant.specialization))
        return renamed.get(kernel, kernel), arguments[identity], variant.target if by_target else None

    def given(variant: Variant) -> Hashable:
        return frozenset([(name, repr(value)) for name, value in variant.config.values])

    def environment(variant: Variant) -> Hashable:
        return frozenset(variant.environment.items())

    yield lambda v: (base(v), given(v), environment(v))
    yield lambda v: v.metadata.get("hash") if isinstance(v.metadata.get("hash"), str) else None
    yield lambda v: (base(v), frozenset(_filled_config(v).items()), environment(v))
    yield lambda v: (base(v), given(v))
    yield lambda v: (base(v), frozenset(_filled_config(v).items()))
    yield lambda v: (
        renamed.get(v.kernel.name, v.kernel.name),
        v.target if by_target else None,
        _by_position(v),
        environment(v),
    )


def _by_key(old: list[Variant], new: list[Variant], key: _Key) -> list[Pair]:
    """Remove pairs with the same key from the lists, in order."""
    if not old or not new:
        return []
    waiting = grouped(reversed(old), key)
    waiting.pop(None, None)
    pairs = [(waiting[name].pop(), v) for v in new for name in [key(v)] if waiting.get(name)]
    _remove(old, new, pairs)
    return pairs


def _remove(old: list[Variant], new: list[Variant], pairs: Iterable[Pair]) -> None:
    matched = {id(variant) for pair in pairs for variant in pair}
    old[:] = [variant for variant in old if id(variant) not in matched]
    new[:] = [variant for variant in new if id(variant) not in matched]


def _by_common_parameters(
    old: list[Variant], new: list[Variant], renamed: Mapping[str, str], by_target: bool
) -> list[Pair]:
    """Remove pairs whose kernels have other parameters, and that agree in all that both have.

    Only if there is one such pair: a new parameter with two values leaves open which was meant
    before.
    """
    news_by_kernel = grouped(new, lambda variant: variant.kernel.name)
    olds_by_kernel = grouped(old, lambda variant: renamed.get(variant.kernel.name, variant.kernel.name))
    pairs: list[Pair] = []
    for kernel, olds in olds_by_kernel.items():
        if kernel not in news_by_kernel:
            continue
        news = news_by_kernel[kernel]
        before, after = (set(side[0].kernel.parameters) for side in (olds, news))
        if before != after and before & after:
            changed = frozenset(before ^ after)
            pairs += _only_pairs(olds, news, partial(_without, names=changed, by_target=by_target))
    _remove(old, new, pairs)
    return pairs


def _only_pairs(old: Sequence[Variant], new: Sequence[Variant], key: _Key) -> Iterator[Pair]:
    """Yield the pairs with the same key, which no other variant has."""
    candidates = grouped(new, key)
    for name, (first, *more) in grouped(old, key).items():
        if not more and len(partners := candidates.get(name, [])) == 1:
            yield first, partners[0]


def _without(variant: Variant, names: frozenset[str], by_target: bool) -> Hashable:
    """Return the identity of a variant among those of its kernel, ignoring the parameters in `names`."""
    arguments = frozenset(repr(argument) for argument in variant.specialization if argument.name not in names)
    config = frozenset((name, text) for name, text in _filled_config(variant).items() if name not in names)
    environment = frozenset(variant.environment.items())
    return arguments, config, environment, variant.target if by_target else None


def _by_import(
    old: list[Variant], new: list[Variant], renamed: Mapping[str, str], by_target: bool
) -> list[Pair]:
    """Remove pairs with an imported variant whose known values agree, if there is only one such pair."""
    if not any(IMPORTED in variant.toolchain.versions for variant in (*old, *new)):
        return []
    run_time = partial(_run_time, renamed=renamed, by_target=by_target)
    groups = grouped(old, run_time)
    candidates = {id(v): [o for o in groups.get(run_time(v), ()) if _agree(o, v)] for v in new}
    uses = Counter(id(variant) for matches in candidates.values() for variant in matches)
    pairs = [
        (matches[0], v)
        for v in new
        for matches in [candidates[id(v)]]
        if len(matches) == 1 and uses[id(matches[0])] == 1
    ]
    _remove(old, new, pairs)
    return pairs


def _run_time(variant: Variant, renamed: Mapping[str, str], by_target: bool) -> Hashable:
    """Return kernel, target, options and run-time arguments, which an import has."""
    kernel = variant.kernel.name
    options = {name: value for name, value in _filled_config(variant).items() if name in _defaults(variant)}
    return (
        renamed.get(kernel, kernel),
        variant.target if by_target else None,
        frozenset(options.items()),
        frozenset(repr(argument) for argument in variant.specialization if argument.type != "constexpr"),
    )


def _agree(a: Variant, b: Variant) -> bool:
    """Check that an import and another variant have no constant with different values."""
    if not any(IMPORTED in variant.toolchain.versions for variant in (a, b)):
        return False
    ours, theirs = _constants(a), _constants(b)
    return all(ours[name] == theirs[name] for name in ours.keys() & theirs.keys())


def _constants(variant: Variant) -> dict[str, str]:
    fixed = {
        argument.name: repr(argument.value)
        for argument in variant.specialization
        if argument.type == "constexpr"
    }
    meta = {name: repr(value) for name, value in variant.config.values if name not in INVENTED}
    return fixed | {name: text for name, text in meta.items() if name not in _defaults(variant)}


def _defaults(variant: Variant) -> Mapping[str, int | None]:
    return backend_of(variant.target).option_defaults


def _by_position(variant: Variant) -> Hashable:
    """Return specialization and config with the positions of parameters instead of their names."""
    positions = {name: str(index) for index, name in enumerate(variant.kernel.parameters)}
    arguments = [
        (positions.get(argument.name, argument.name), repr((argument.type, argument.key, argument.value)))
        for argument in variant.specialization
    ]
    config = [(positions.get(name, name), text) for name, text in _filled_config(variant).items()]
    return frozenset(arguments), frozenset(config)


def _filled_config(variant: Variant) -> dict[str, str]:
    """Return the config with the defaults filled in, as text, in which True is not 1."""
    values = {**_defaults(variant), **dict(variant.config.values)}
    return {name: format_value(value) for name, value in values.items()}


def closest(
    variant: Variant, others: Sequence[Variant], kernel: str | None = None
) -> tuple[Variant, list[Difference]] | None:
    """Find the variant of the same kernel with the fewest differences, and these; None without one.

    The differences have the value of `variant` first. `kernel` is the kernel's name among the
    others, if it was renamed.
    """
    name = kernel or variant.kernel.name
    candidates = [candidate for candidate in others if candidate.kernel.name == name][:_MAX_CANDIDATES]
    if not candidates:
        return None
    components = _components(variant)
    differences = [
        (candidate, _differences(components, _components(candidate), variant, candidate))
        for candidate in candidates
    ]
    return min(differences, key=lambda item: len(item[1]))


def _differences(
    a: Mapping[str, str], b: Mapping[str, str], first: Variant, second: Variant
) -> list[Difference]:
    """Return the components that differ; what an import does not have does not count."""
    # The environment of an import is known, if only as unset.
    environment = set(first.environment) | set(second.environment)
    imported = [IMPORTED in variant.toolchain.versions for variant in (first, second)]
    return [
        Difference(name, a.get(name, _UNSET), b.get(name, _UNSET))
        for name in dict.fromkeys([*a, *b])
        if a.get(name) != b.get(name)
        and not (imported[0] and name not in a and name not in environment)
        and not (imported[1] and name not in b and name not in environment)
    ]


def _components(variant: Variant) -> dict[str, str]:
    """Return everything that identifies a variant of a kernel, as text by name."""
    config = {name: text for name, text in _filled_config(variant).items() if name not in INVENTED}
    arguments = {
        f"argument {argument.name}": str(argument)
        for argument in variant.specialization
        if argument.name not in config
    }
    return {"target": str(variant.target), **config, **arguments, **variant.environment}
