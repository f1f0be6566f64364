"""What a signature means is what Triton's own JIT makes of such arguments: the cache hash is the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irscope.store import Capture
from tests.conftest import Irscope

HERE = Path(__file__).parent

# Asks the JIT itself, with arguments that fit the signature, which hash it compiles under.
ASK_THE_JIT = """
import sys
from irscope.toolchain.stub_driver import StubDriver
from irscope.model import parse_target
from triton.runtime import driver
driver.set_active(StubDriver(parse_target(sys.argv[1])))
sys.path.insert(0, sys.argv[2])
# 3.6 imports torch to ask how far a tensor reaches on hip; ours says so itself.
torch = sys.modules.setdefault("torch", type(sys)("torch"))
torch.Tensor = type("Tensor", (), {})
import plain


class Float16:
    def __str__(self):
        return "torch.float16"


class Tensor:
    dtype = Float16()

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address

    def ptr_range(self):
        return 0


def tensor(address):
    return Tensor(address)


kernel = getattr(plain, sys.argv[3])
while type(kernel).__name__ != "JITFunction":
    kernel = kernel.fn
compiled = kernel.warmup(*eval(sys.argv[4]), grid=(1,), **eval(sys.argv[5]))
print("HASH", compiled.hash)
"""

CASES = [
    ("scale", "*fp16:16, i32:16, fp32, 64, True, 3", "(tensor(256), 32, 1.5)", "BLOCK=64,EVEN=True,FACTOR=3"),
    ("scale", "*fp16, i32, fp32, 64, True, 2", "(tensor(2), 33, 1.5)", "BLOCK=64,EVEN=True"),
    ("scale", "*fp16:16, 1, fp32, 64, False, 2", "(tensor(256), 1, 1.5)", "BLOCK=64,EVEN=False"),
    ("scale", "*fp16:16, i64:16, fp32, 64, False, 2", "(tensor(256), 2**40, 1.5)", "BLOCK=64,EVEN=False"),
    ("scale", "*fp16:16, u64, fp32, 64, False, 2", "(tensor(256), 2**63 + 1, 1.5)", "BLOCK=64,EVEN=False"),
    ("unspecialized", "*fp16:16, i32:16, 64", "(tensor(256), 32)", "BLOCK=64"),
    ("looped", "*fp16:16, i32:1, 64", "(tensor(256), 1)", "BLOCK=64"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize(("kernel", "signature", "arguments", "constants"), CASES)
def test_same_hash_as_the_jit(
    irscope: Irscope, tmp_path: Path, target: str, kernel: str, signature: str, arguments: str, constants: str
):
    options = ("--config", "num_warps=2", "--config", "num_stages=2")
    if kernel == "scale":  # its autotuner's configs set BLOCK and num_warps; one is enough here
        block = next(part.split("=")[1] for part in constants.split(",") if part.startswith("BLOCK"))
        even = next(part.split("=")[1] for part in constants.split(",") if part.startswith("EVEN"))
        signature = ", ".join(signature.split(", ")[:3])
        options += ("--config", f"BLOCK={block}", "--config", f"EVEN={even}")
        if "FACTOR" in constants:
            options += ("--const", "FACTOR=3")
    done = irscope(
        "compile", f"{HERE / 'plain.py'}::{kernel}", "--signature", signature, "--target", target,
        *options, "-o", "x.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with Capture(tmp_path / "x.irscope") as capture:
        (variant,) = capture.variants()
    asked = subprocess.run(
        [
            sys.executable, "-c", ASK_THE_JIT, target, str(HERE), kernel, arguments,
            f"dict({constants}, num_warps=2, num_stages=2)",
        ],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert f"HASH {variant.metadata['hash']}" in asked.stdout, asked.stderr
