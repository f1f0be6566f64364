"""Which arguments multiply the compilations of a kernel."""

from __future__ import annotations

from irscope.jobs.warm.launch_plans import Compilation, code_key, fragmentation_text, fragmentations
from irscope.model import Argument, Config

POINTER = Argument("x", "*fp16", "D")
M = [Argument("M", "constexpr", None, 1), Argument("M", "i32", "D"), Argument("M", "i32", "")]
STRIDE = [Argument("s", "constexpr", None, 1), Argument("s", "i32", "D"), Argument("s", "i32", "")]
CONFIGS = [Config((("BLOCK", 64),)), Config((("BLOCK", 128),))]


def test_an_argument_with_three_specializations_costs_two_thirds():
    (found,) = fragmentations([Compilation((POINTER, m), c) for m in M for c in CONFIGS])
    assert (found.arguments, found.total, found.without, found.saved) == (("M",), 6, 2, 4)
    assert found.generic.specialization == (POINTER, Argument("M", "i32", None))
    assert len(found.group) == 3
    assert code_key(found.generic) == code_key(found.group[2])
    assert code_key(found.generic) != code_key(found.group[1])


def test_arguments_that_vary_together_are_saved_only_together():
    together = [Compilation((m, s), CONFIGS[0]) for m, s in zip(M, STRIDE, strict=True)]
    assert fragmentations(together)[0].arguments == ("M", "s")


def test_independent_arguments_are_named_alone_and_together():
    found = fragmentations([Compilation((m, s), CONFIGS[0]) for m in M for s in STRIDE])
    assert [(each.arguments, each.saved) for each in found] == [(("M",), 6), (("s",), 6), (("M", "s"), 8)]


def test_types_and_constants_are_no_fragments():
    wide = [Compilation((Argument("n", type_, "D"),), CONFIGS[0]) for type_ in ("i32", "i64")]
    assert fragmentations(wide) == ()
    constants = [
        Compilation((Argument("ACT", "constexpr", None, value),), CONFIGS[0]) for value in ("relu", "none")
    ]
    assert fragmentations(constants) == ()
    assert fragmentations([]) == ()


def test_the_price_is_said():
    (found,) = fragmentations([Compilation((POINTER, m), CONFIGS[0]) for m in M])
    assert "at no price: the machine code is identical" in fragmentation_text(found, {"M=i32:16": ()})
    text = fragmentation_text(found, {"M=1": (), "M=i32:16": ("Widest global load: 16 -> 4 bytes",)})
    assert text == (
        "do_not_specialize=['M'] would save 2 of 3 compilations, at this price for M=i32:16 (BLOCK=64): "
        "Widest global load: 16 -> 4 bytes"
    )
