"""Intel's backend as a plug-in: imports and views a cache entry of triton-xpu 3.3.

tests/data/xpu is the cache entry of a kernel that adds 1.0, compiled for xpu:pvc without a device.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.plugins.installing import install
from tests.plugins.test_plugins import commands

ENTRY = Path(__file__).parents[1] / "data" / "xpu"


@pytest.fixture(scope="module")
def xpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which the plug-in is installed."""
    return install("xpu", tmp_path_factory.mktemp("installed"))


@pytest.mark.slow
def test_a_cache_of_intels_triton_is_imported_and_viewed(xpu, tmp_path):
    shutil.copytree(ENTRY, tmp_path / "cache" / "entry")
    capture = tmp_path / "xpu.irscope"
    done = commands(
        f"import;{tmp_path / 'cache'};-o;{capture}",
        f"list;{capture}",
        f"table;{capture};--columns;global_loads,global_stores,spv_size,threads",
        f"show;{capture};1;--stage;spvasm",
        environment=xpu,
    )
    assert "exit code" not in done.stdout, done.stderr
    assert "#1  arange=512,num_warps=4,num_stages=2  xpu:pvc  ok" in done.stdout
    assert "4 x 4 B  1 x 16 B  2,652      128" in done.stdout
    assert "OpLoad %f32 %41 2 16 ; CrossWorkgroup" in done.stdout
    assert '= OpString "/home/user/add.py"' in done.stdout


def test_irscope_itself_says_nothing_about_the_backend():
    package = Path(__file__).parents[2] / "irscope"
    words = re.compile(r"(?i)\bxpu|spirv|\bdpas\b")
    assert [path for path in package.rglob("*.py") if words.search(path.read_text(encoding="utf-8"))] == []


def test_spirv_is_parsed_with_the_lines_of_the_kernel(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent / "xpu")
    from irscope_xpu.spirv import disassemble
    from irscope_xpu.spirv_language import parse

    from irscope.model import UserError

    document = parse(disassemble((ENTRY / "add.spv").read_bytes()))
    lines = {op.opcode: op.location.line for op in document.operations if op.location}
    assert lines["OpFAdd"] == 8 and lines["OpShiftLeftLogical"] == 7
    with pytest.raises(UserError, match="is not SPIR-V"):
        disassemble(b"\x7fELF" + bytes(20))
    for cut in range(0, 2652, 97):
        damaged = bytearray((ENTRY / "add.spv").read_bytes())
        damaged[20 + cut] ^= 0xFF
        assert parse(disassemble(bytes(damaged[: 2652 - cut // 2]))).text
