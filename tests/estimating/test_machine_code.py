"""Machine code of each architecture against its disassembly, and the estimates that follow from it."""

from __future__ import annotations

from functools import partial

import pytest

from irscope.estimating.constants import rates_of
from irscope.estimating.estimate import estimate
from irscope.estimating.machine_code import OPCODES, machine_instructions
from irscope.estimating.terms import Estimate
from irscope.languages.sass import branches
from irscope.model import Launch, Variant
from irscope.workspace import Workspace
from tests.estimating.conftest import Compiled

SIZE, BLOCK, STEP = 2048, 64, 32
LAUNCH = Launch(
    (SIZE // BLOCK, SIZE // BLOCK, 1),
    (
        *((name, f"float16[{SIZE}, {SIZE}]") for name in ("a", "b", "c")),
        *((name, str(SIZE)) for name in ("M", "N", "K")),
    ),
)


def product(compiled: Compiled, target: str) -> tuple[Workspace, Variant]:
    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16"
    config = {"BM": BLOCK, "BN": BLOCK, "BK": STEP, "num_warps": 4, "num_stages": 3}
    return compiled("product", signature, config, target)


def estimated(compiled: Compiled, target: str) -> Estimate:
    capture, variant = product(compiled, target)
    return estimate(variant, LAUNCH, partial(capture.contents.read, variant))


@pytest.mark.parametrize("arch", [75, 80, 86, 89, 90, 100, 120])
def test_branches_lead_where_the_disassembly_says(compiled: Compiled, arch: int) -> None:
    capture, variant = product(compiled, f"cuda:{arch}")
    code = machine_instructions(capture.content(variant, "cubin"), "product", arch)
    document = capture.document(variant, "sass")
    assert code is not None
    assert len(code) == len(document.operations)
    jumps = {
        index: branch.targets
        for index, branch in branches(document).items()
        if OPCODES.get(int(code.opcode[index])) == "BRA" and branch.targets
    }
    back = [index for index, targets in jumps.items() if min(targets) < index]
    assert back, "the loop over K ends with a branch back"
    for index, targets in jumps.items():
        assert int(code.target[index]) in targets


@pytest.mark.parametrize("arch", [80, 89, 90, 120])
def test_a_product_takes_at_least_as_long_as_the_tensor_cores_need(compiled: Compiled, arch: int) -> None:
    found = estimated(compiled, f"cuda:{arch}")
    _, variant = product(compiled, f"cuda:{arch}")
    device = rates_of(variant.target)
    term = found.term("tensor cores")
    assert device is not None
    assert term is not None
    peak = SIZE**3 / device.tensor / device.multiprocessors / (device.clock * 1e3)
    assert peak < term.microseconds < 2 * peak


def test_the_loop_of_an_ampere_product_is_replayed(compiled: Compiled) -> None:
    """Each of the 64 steps needs at least the 32 mma.sync of 16 x 8 x 16 per warp."""
    facts = estimated(compiled, "cuda:80").facts
    assert facts["latency 300"] > SIZE / STEP * 32 * 4
    assert facts["instructions"] > SIZE / STEP * 4 * 32


def test_an_estimate_says_that_tcgen05_is_not_modeled(compiled: Compiled) -> None:
    found = estimated(compiled, "cuda:100")
    assert any("tcgen05.mma is not modeled" in note for note in found.notes)
    assert found.limits
    assert not estimated(compiled, "cuda:90").limits
