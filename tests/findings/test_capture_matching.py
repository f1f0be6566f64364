"""Matching variants of two captures: defaults, imports, environments, and the closest variant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irscope.model import Argument, Config
from irscope.workspace.capture_matching import closest, match_variants
from tests.findings.builders import variant

POINTER, ONE = Argument("x", "*fp16", "D"), Argument("stride", "constexpr", None, 1)
UNOPTIMIZED = {"environment DISABLE_LLVM_OPT": "true"}


def made(
    id_=1, target="cuda:90", imported=False, hash_=None, arguments=(POINTER, ONE), cache_key=None, **config
):
    one = variant(target, "add", id_)
    versions = {"triton": "3.9.0", **({"imported from": "Triton cache"} if imported else {})}
    return replace(
        one,
        specialization=arguments,
        config=Config(tuple(config.items())),
        toolchain=replace(one.toolchain, versions=versions),
        metadata={**one.metadata, **({"hash": hash_} if hash_ else {})},
        cache_key=cache_key or {},
    )


def pairs(old, new, by_target=True):
    found, only_old, only_new = match_variants(old, new, {}, by_target)
    assert len(found) + len(only_old) == len(old)
    assert len(found) + len(only_new) == len(new)
    return [(a.id, b.id) for a, b in found]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (made(BLOCK=64), made(BLOCK=64)),
        (made(BLOCK=64), made(BLOCK=64, num_warps=4, num_stages=3, num_ctas=1)),
        (made(BLOCK=64, maxnreg=None), made(num_warps=4, BLOCK=64)),
        (
            made(target="hip:gfx942", BLOCK=64),
            made(target="hip:gfx942", BLOCK=64, num_stages=2, waves_per_eu=0, kpack=1),
        ),
        (made(BLOCK=64, hash_="ab"), made(BLOCK=64, hash_="cd")),
        (made(BLOCK=64, GROUP=8, hash_="ab"), made(imported=True, hash_="ab", arange=64, num_warps=4)),
        (made(BLOCK=64, GROUP=8), made(imported=True, arguments=(POINTER,), BLOCK=64, num_warps=4)),
        (made(BLOCK=64), made(BLOCK=64, cache_key=UNOPTIMIZED)),
    ],
)  # fmt: skip
def test_equal_compilations_match_in_both_directions(old, new):
    assert pairs([old], [new]) == [(1, 1)]
    assert pairs([new], [old]) == [(1, 1)]


@pytest.mark.parametrize(
    ("old", "new", "difference"),
    [
        (made(BLOCK=64), made(BLOCK=128), "BLOCK: 64 / 128"),
        (made(BLOCK=64), made(BLOCK=64, num_warps=8), "num_warps: 4 / 8"),
        (made(BLOCK=64), made(target="cuda:80", BLOCK=64), "target: cuda:90 / cuda:80"),
        (made(), made(arguments=(replace(POINTER, key=""), ONE)), "argument x: *fp16:16 / *fp16"),
        (made(BLOCK=64), made(imported=True, BLOCK=32, num_warps=4), "BLOCK: 64 / 32"),
        (made(FLAG=True), made(FLAG=1), "FLAG: True / 1"),
    ],
)
def test_different_compilations_do_not_match_and_the_difference_is_named(old, new, difference):
    assert pairs([old], [new]) == []
    found = closest(old, [made(7, BLOCK=7, num_warps=16, num_stages=9), new])
    assert found is not None
    assert (found[0], list(map(str, found[1]))) == (new, [difference])


def test_an_import_that_fits_several_variants_matches_none():
    old = [made(1, BLOCK=64, GROUP=4), made(2, BLOCK=64, GROUP=8)]
    assert pairs(old, [made(imported=True, BLOCK=64)]) == []
    assert pairs(old, [made(3, imported=True, GROUP=8)]) == [(2, 3)]


def test_the_environment_decides_between_equal_configs():
    old = [made(1, BLOCK=64), made(2, BLOCK=64, cache_key=UNOPTIMIZED)]
    assert pairs(old, list(reversed(old))) == [(2, 2), (1, 1)]
    assert pairs(old, [made(3, BLOCK=64, cache_key=UNOPTIMIZED)]) == [(2, 3)]


def test_captures_for_different_targets_match_by_config():
    old, new = made(BLOCK=64), made(target="hip:gfx942", BLOCK=64)
    assert pairs([old], [new], by_target=False) == [(1, 1)]


def test_a_kernel_without_another_variant_has_no_closest():
    assert closest(made(), []) is None
