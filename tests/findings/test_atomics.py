"""Findings about atomics, on real PTX with planted changes."""

from irscope.findings.finding import PairContext
from irscope.findings.line_instructions import atomics
from tests.findings.builders import stage_diff, variant

KERNEL = """\
.visible .entry add(
	.param .u64 .ptr .global .align 1 add_param_0
)
{
	.file 1 "/home/me/add.py"
	.loc	1 7 5
	// begin inline asm
	@%p1 red.global.gpu.relaxed.add.v4.f32 [ %rd1 + 0 ], { %r1, %r2, %r3, %r4 };
	// end inline asm
	.loc	1 9 5
	// begin inline asm
	@%p1 atom.global.gpu.acq_rel.cas.b32 %r5, [ %rd2 + 0 ], %r6, %r7;
	// end inline asm
	ret;
}
"""


def texts(a, b):
    diff = stage_diff("ptx", a, b)
    return [
        finding.text for finding in atomics(PairContext(variant(), variant(id_=2), {}, {}, {"ptx": diff}))
    ]


def test_equal_atomics_are_no_finding():
    assert texts(KERNEL, KERNEL) == []


def test_another_width_and_count():
    narrow = KERNEL.replace("red.global.gpu.relaxed.add.v4.f32", "red.global.gpu.relaxed.add.f32")
    assert texts(KERNEL, narrow) == [
        "Atomics of line 7: 1 x red.add.f32 16-byte gpu relaxed -> 1 x red.add.f32 4-byte gpu relaxed"
    ]


def test_another_scope_and_order_are_named():
    stronger = KERNEL.replace("gpu.relaxed", "sys.release")
    assert texts(KERNEL, stronger) == [
        "Atomics of line 7: 1 x red.add.f32 16-byte gpu relaxed -> 1 x red.add.f32 16-byte sys release "
        "(scope gpu -> sys, order relaxed -> release)"
    ]


def test_atomics_that_one_side_lacks():
    without = KERNEL.replace(
        "atom.global.gpu.acq_rel.cas.b32 %r5, [ %rd2 + 0 ], %r6, %r7", "mov.b32 %r5, %r6"
    )
    assert texts(without, KERNEL) == ["Atomics of line 9: none -> 1 x atom.cas.b32 4-byte gpu acq_rel"]
