"""AMD's words about AMD's GPUs, and NVIDIA's about NVIDIA's, on a product that is compiled for both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.facts.registry import REGISTERS
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Value
from irscope.targets import in_words_of, target_named
from irscope.workspace import Workspace
from irscope.workspace.fact_table import FactTable
from irscope.workspace.table_sections import chosen_kinds

KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :])
        b = tl.load(b_ptr + (k + i)[:, None] * BLOCK + i[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * BLOCK + i[None, :], acc)
"""
MATMUL = Path(__file__).parents[2] / "samples" / "matmul.py"
Axes = dict[str, tuple[Value, ...]]


def opened(source: Path, kernel: str, signature: str, axes: Axes, target: str, folder: Path) -> Workspace:
    path = folder / f"{kernel}.irscope"
    request = SweepRequest(source, kernel, signature, {}, axes, (target_named(target),))
    compiler = Compiler(Limits())
    compiler.compile(request, path, Stop())
    compiler.close()
    return Workspace(path)


def product(folder: Path, target: str, largest: int) -> Workspace:
    source = folder / "product.py"
    source.write_text(KERNEL)
    axes: Axes = {"BLOCK": (32, largest), "num_warps": (8,), "num_stages": (2,)}
    return opened(source, "product", "*fp16:16, *fp16:16, *fp32:16, i32:16", axes, target, folder)


@pytest.fixture(scope="module", autouse=True)
def cache(triton_cache: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        yield


@pytest.fixture(scope="module")
def amd(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return product(tmp_path_factory.mktemp("amd"), "hip:gfx942", largest=256)


@pytest.fixture(scope="module")
def nvidia(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return product(tmp_path_factory.mktemp("nvidia"), "cuda:80", largest=64)


def texts(workspace: Workspace) -> str:
    """Return the findings, verdicts and limiters of both variants."""
    verdicts = [workspace.verdict(variant) for variant in workspace.variants]
    comparison = workspace.compare(*workspace.variants)
    return "\n".join(
        [
            *(finding.text for finding in comparison.findings),
            *(f"{verdict.limiter} {verdict.problem}" for verdict in verdicts),
            *(point.text for verdict in verdicts for point in verdict.points),
        ]
    )


def test_amd_has_lds_and_compute_units(amd: Workspace) -> None:
    text = texts(amd)
    assert "LDS per workgroup" in text
    assert "bytes of LDS, limit 65,536" in text
    assert "LDS loads of line" in text
    for word in ("hared memory", "ultiprocessor", "per block"):
        assert word not in text


def test_nvidia_has_shared_memory(nvidia: Workspace) -> None:
    text = texts(nvidia)
    assert "Shared memory per block" in text
    assert "LDS" not in text


def test_columns_have_the_titles_of_the_vendor(amd: Workspace, nvidia: Workspace) -> None:
    """Those of both vendors have the common ones, and names are always the same."""
    amd_titles, nvidia_titles = (
        {column.name: column.title for column in workspace.sections()[0].showing().fact_columns}
        for workspace in (amd, nvidia)
    )
    names = ("registers", "stack", "shared", "blocks_per_sm", "shared_loads")
    words = ["VGPRs", "Scratch bytes", "LDS bytes", "Workgroups/CU", "LDS loads"]
    common = ["Regs", "Stack bytes", "Shared bytes", "Blocks/SM", "Shared loads"]
    assert [amd_titles[name] for name in names] == words
    assert [nvidia_titles[name] for name in names] == common
    (chosen,) = amd.sections()
    assert [c.title for c in chosen.showing(chosen_kinds(["blocks_per_sm"])).fact_columns] == words[3:4]
    fact = amd.compare(*amd.variants).facts[0]["registers"]
    assert fact.kind.title == "VGPRs" and fact.kind == REGISTERS
    for variants, titles in (
        (amd.variants, words),
        (nvidia.variants, common),
        ((*amd.variants, *nvidia.variants), common),
    ):
        kinds = {kind.name: kind.heading for kind in FactTable.kinds(variants, estimated=False)}
        assert [kinds[name] for name in names] == titles


@pytest.mark.parametrize("target", ["hip:gfx942", "cuda:80"])
def test_a_verdict_names_narrow_loads_of_lds(tmp_path: Path, target: str) -> None:
    """B is row-major, so elements along K are apart for a thread: 16 ds_read_u16 instead of 4 ds_read_b64."""
    axes: Axes = {
        "BLOCK_M": (64,), "BLOCK_N": (64,), "BLOCK_K": (32,), "GROUP_M": (8,),
        "num_warps": (4,), "num_stages": (2,),
    }  # fmt: skip
    strides = "i32:16, 1, i32:16, 1, i32:16, 1"
    signature = f"*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, {strides}"
    workspace = opened(MATMUL, "matmul_kernel", signature, axes, target, tmp_path)
    (variant,) = workspace.variants
    narrow = [point for point in workspace.verdict(variant).points if point.kind == "narrow-shared"]
    if target == "cuda:80":
        assert not narrow
        return
    (point,) = narrow
    assert "b = tl.load(" in MATMUL.read_text().split("\n")[point.line - 1]
    assert "from LDS 2 bytes per thread" in point.text
    assert "ds_read_u16" in workspace.document(variant, "amdgcn").lines[point.evidence.line]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Shared memory per block", "LDS per workgroup"),
        ("Blocks per multiprocessor", "Workgroups per compute unit"),
        ("blockscale of #blocked", "blockscale of #blocked"),
    ],
)
def test_words_are_replaced_whole(text: str, words: str) -> None:
    assert in_words_of(target_named("hip:gfx942"), text) == words
    assert in_words_of(target_named("cuda:90"), text) == text
