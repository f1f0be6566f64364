"""Warp specialization: the partitions of TTGIR and their registers in PTX."""

import pytest

from irscope.facts.measure import from_json
from irscope.facts.partitions import partitions
from irscope.findings.divergence import warp_specialization
from irscope.findings.finding import PairContext
from tests.findings.builders import stored, variant

HOPPER = "specialized_matmul_kernel.cuda-90.STAGES=2,WARP_SPECIALIZE=True.triton-3.9.0"
BLACKWELL = "specialized_matmul_kernel.cuda-100.STAGES=2,WARP_SPECIALIZE=True.triton-3.6.0"
# The beginning of the default region in the PTX of the first.
PTX = """\
\tsetmaxnreg.inc.sync.aligned.u32 \t256;
\tbarrier.sync \t1;
\tsetmaxnreg.dec.sync.aligned.u32 \t40;
\tbarrier.sync \t1;
$L__tmp2:
"""


def texts(name, ptx=None):
    return [one.text() for one in partitions(stored(name, "ttgir"), ptx)]


def test_the_partitions_of_hopper():
    assert texts(HOPPER, PTX) == [
        "default: 4 warps, 40 registers, 2 loads",
        "partition0: 4 warps, 232 registers, 1 MMA, 1 store",
        "partition1: 4 warps, 232 registers, 1 MMA, 1 store",
    ]


def test_the_partitions_of_blackwell_without_ptx():
    assert texts(BLACKWELL) == [
        "default: 4 warps, no tile work",
        "partition0: 1 warp, 24 registers, 1 MMA",
        "partition1: 2 warps, 24 registers, 2 loads",
    ]


def test_a_partition_has_its_lines():
    lines = stored(HOPPER, "ttgir").split("\n")
    for one in partitions("\n".join(lines)):
        assert lines[one.line].strip().startswith(one.name)
        assert lines[one.end - 1].strip().startswith("}")


@pytest.mark.parametrize("text", ["", "ttg.warp_specialize", "ttg.warp_specialize(\ndefault {", "}\n" * 9])
def test_damaged_text_has_no_partitions(text):
    assert partitions(text, PTX) == []


def test_the_finding():
    one = "default: 4 warps, 2 loads; partition0: 4 warps, 232 registers, 1 MMA"
    facts = [from_json({"warp_specialization": value}) for value in ("none", one, one.replace("232", "160"))]

    def found(a, b):
        return [f.text for f in warp_specialization(PairContext(variant(), variant(id_=2), a, b))]

    assert found(facts[0], facts[0]) == found(facts[1], facts[1]) == []
    assert found(facts[0], facts[1]) == [f"B is warp specialized, A is not: 2 partitions ({one})"]
    assert found(facts[1], facts[0]) == [f"A is warp specialized, B is not: 2 partitions ({one})"]
    assert found(facts[1], facts[2])[0].startswith("Both are warp specialized. A: 2 partitions (default: ")
