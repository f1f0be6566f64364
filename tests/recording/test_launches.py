"""The parameters that a kernel may write to, from its text; and launches as plain data."""

from __future__ import annotations

import pytest
import triton
import triton.language as tl

from irscope.model.integer_values import decoded_integers, encoded_integers
from irscope.recording.launch_records import launch_of, written_parameters
from irscope.store.encoding import launches_from_json, records_to_json
from irscope.targets import TARGETS, device_of, reference_device


@triton.jit
def helper(pointer, value):
    tl.store(pointer, value)


@triton.jit
def plain(x, y, n, index, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK) + tl.load(index)
    y += offsets
    tl.store(y, tl.load(x + offsets, mask=offsets < n))


@triton.jit
def descriptors(a, b, counts, lock, BLOCK: tl.constexpr):
    tile = a.load([0, 0])
    b.store([0, 0], tile)
    tl.atomic_add(lock, tl.load(counts))


@triton.jit
def by_helper(x, out, scale, BLOCK: tl.constexpr):
    pointers = out + tl.arange(0, BLOCK)
    helper(pointers, tl.load(x))
    limit = max(scale, 1)
    tl.static_print(limit)


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        (plain, {"y", "BLOCK"}),
        (descriptors, {"b", "lock"}),
        (by_helper, {"out", "BLOCK"}),
    ],
)
def test_written_parameters(kernel, written):
    assert written_parameters(kernel) == written


class Tensor:
    dtype, shape = "torch.float16", (4, 8)


class Descriptor:
    base, block_shape = Tensor(), (2, 4)


def test_a_launch_as_plain_data():
    launch = launch_of(descriptors, (4, 2, 1, *[None] * 6, Tensor(), Descriptor(), 7, None, 64))
    assert launch.grid == (4, 2, 1)
    assert launch.arguments == (
        ("a", "float16[4, 8]"), ("b", "tensordesc float16[4, 8] in blocks of [2, 4]"), ("counts", "7"),
        ("lock", "None"),
    )  # fmt: skip


def test_strides_are_recorded_if_a_tensor_is_not_contiguous():
    class View(Tensor):
        def is_contiguous(self):
            return False

        def stride(self):
            return (16, 1)

    launch = launch_of(plain, (1, 1, 1, *[None] * 6, View(), Tensor()))
    assert launch.arguments == (("x", "float16[4, 8] strides [16, 1]"), ("y", "float16[4, 8]"))


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_every_target_has_a_device(target):
    board, limits = reference_device(target), device_of(target)
    assert board.multiprocessors > 0
    assert board.memory > board.l2 > 0
    assert limits is not None
    assert limits.block_shared <= limits.shared


@triton.jit
def routed(x, ids, lengths, mask, packed, out, BLOCK: tl.constexpr):
    row = tl.load(ids + tl.program_id(0)) + tl.load(lengths) + tl.load(mask) + tl.load(packed)
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + row + tl.arange(0, BLOCK)))


def test_a_launch_has_the_integers_of_small_tensors_that_are_only_read():
    torch = pytest.importorskip("torch")
    x, ids, lengths = (
        torch.zeros(64),
        torch.tensor([5, 3, 9], dtype=torch.int32),
        torch.tensor([[1, 2], [7, 8]]),
    )
    mask, packed = torch.ones(4, dtype=torch.int8), torch.randint(1 << 30, (40_000,), dtype=torch.int32)
    out = torch.zeros(8, dtype=torch.int32)
    given = (1, 1, 1, *[None] * 6, x, ids, lengths[:, :1], mask, packed, out, 8)
    found = launch_of(routed, given)
    assert {name: decoded_integers(text).tolist() for name, text in found.values} == {
        "ids": [5, 3, 9],
        "lengths": [1, 2, 7],  # the memory from the first element to the last
    }
    unknown = launch_of(routed, given, lambda tensor: tensor is not ids)
    assert dict(unknown.values).keys() == {"lengths"}
    assert unknown == found and launches_from_json(records_to_json([found]))[0].values == found.values


@pytest.mark.parametrize("values", [[0], [-(2**63), 2**63 - 1, 0], list(range(1000)), [7] * 5])
def test_integers_are_kept(values):
    assert decoded_integers(encoded_integers("int64", values)).tolist() == values


@pytest.mark.parametrize(
    "text",
    ["", "int32", "int32 3 eJw=", "float32 1 eJw=", "int32 999999999 eJw=", "int32 -1 x", "int32 1 !!"],
)
def test_damaged_integers_are_none(text):
    assert decoded_integers(text) is None


def test_too_many_integers_are_not_kept():
    assert not encoded_integers("int64", range(1 << 16)) and not encoded_integers("int8", [1])
