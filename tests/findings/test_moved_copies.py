"""Accesses that another instruction makes now, and copies that warp specialization moved."""

import pytest

from irscope.facts.instruction_mix import InstructionMix
from irscope.facts.source.map import kernel_place
from irscope.findings.line_instructions import instead, located_copies
from irscope.languages.language import parse
from irscope.targets.instructions import InstructionKind as Kind
from tests.findings.builders import stored

FILE = "warp_specialization.py"
PLACE = ("add.py", 7)
CP_ASYNC, TMA = Kind("async copy", "cp.async"), Kind("async copy", "cp.async.bulk.tensor load")
WIDE = Kind("shared load", "", 16)


def mixes(*kinds, place=PLACE):
    return {(kind.kind, place): InstructionMix({kind: 2}, [3, 4]) for kind in kinds}


@pytest.mark.parametrize(
    ("kind", "a", "b", "text"),
    [
        ("shared store", [Kind("shared store", "", 16)], [CP_ASYNC], "; B writes shared memory by cp.async"),
        ("shared store", [CP_ASYNC], [Kind("shared store", "", 16)], "; A writes shared memory by cp.async"),
        ("global load", [Kind("global load", "", 16)], [TMA], "; B loads by cp.async.bulk.tensor"),
        ("global store", [Kind("global store", "", 16)], [Kind("global atomic", "red.add.f32", 4)],
         "; B writes by atomics only"),
        ("shared load", [WIDE, Kind("matrix", "mma.sync.m16n8k16")], [Kind("matrix", "wgmma.m64n64k16")],
         "; B reads shared memory by wgmma"),
        ("shared load", [WIDE, Kind("matrix", "wgmma.m64n64k16")], [Kind("matrix", "wgmma.m64n64k16")], ""),
        ("shared load", [WIDE], [], ""),
    ],
)  # fmt: skip
def test_what_a_side_does_instead(kind, a, b, text):
    replacement = instead((kind, PLACE), mixes(*a), mixes(*b))
    assert (f"; {' '.join(replacement)}" if replacement else "") == text


def specialized():
    name = "specialized_matmul_kernel.cuda-90.STAGES=2,WARP_SPECIALIZE=True.triton-3.9.0"
    ttgir = parse(stored(name, "ttgir"), "mlir")
    (place,) = {kernel_place(one.location) for one in ttgir.operations if one.opcode == "tt.func"}
    (location,) = {one.location for one in ttgir.operations if one.opcode == "tt.func"}
    loads = "\n".join(
        [
            f"%{name} = tt.descriptor_load %{name}_desc[%k, %n] : !tt.tensordesc<64xf16> loc(#l{name})"
            for name in "ab"
        ]
        + [
            f'#l{name} = loc("{location.file}":{location.line + number}:1)'
            for number, name in ((18, "a"), (19, "b"))
        ]
    )
    return parse(loads, "mlir"), ttgir, place


def test_copies_at_the_kernels_line_move_to_the_line_of_their_load():
    ttir, ttgir, place = specialized()
    moved = mixes(TMA, place=place)
    there = {"ttir": (ttir, ttir), "ttgir": (ttgir, ttgir)}
    left, right = located_copies({}, moved, there)
    assert left == {}
    assert right == {
        ("async copy", place._replace(line=place.line + offset)): InstructionMix({TMA: 1}, [line])
        for offset, line in ((18, 3), (19, 4))
    }


def test_copies_of_unknown_loads_are_those_of_the_kernel():
    _, ttgir, place = specialized()
    there = {"ttgir": (ttgir, ttgir)}
    left, right = located_copies(mixes(TMA), mixes(TMA, place=place), there)
    assert left == right == {("async copy", None): InstructionMix({TMA: 2}, [3, 4])}
