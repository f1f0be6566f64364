"""Passes as a capture has them, of a kernel small enough to see what each did."""

from __future__ import annotations

from pathlib import Path

from irscope.model import Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.store.new_variant import NewPass
from irscope.targets import parse_target

KERNEL = SourceFunction("scale", "scale.py", 3, "@triton.jit\ndef scale(x, n):\n    ...\n")

_LOCATIONS = """#loc = loc("scale.py":4:0)
#loc1 = loc("scale.py":5:8)
#loc2 = loc("scale.py":6:8)
"""
_CALL = '    %0 = tt.call @"twice"(%x) : (!tt.ptr<f32>) -> !tt.ptr<f32> loc(#loc1)\n'


def _module(head: str, body: str, attributes: str = "") -> bytes:
    return (
        f"{head}{_LOCATIONS}module{attributes} {{\n"
        "  tt.func public @scale(%x: !tt.ptr<f32>, %n: i32) {\n"
        f"{body}    tt.return loc(#loc)\n  }} loc(#loc)\n}} loc(#loc)\n"
    ).encode()


def _body(layout: str, latency: int | None = None, copies: int = 0, block: int = 128) -> str:
    of = f"tensor<{block}xi32{layout}>"
    pointers = f"tensor<{block}x!tt.ptr<f32>{layout}>"
    noted = f" {{tt.latency = {latency} : i32}}" if latency else ""
    copied = "".join(
        f"    %c{n} = ttg.async_copy_global_to_local %p, %n : {pointers} loc(#loc1)\n" for n in range(copies)
    )
    return (
        f"    %r = tt.make_range {{end = {block} : i32, start = 0 : i32}} : {of} loc(#loc1)\n"
        f"    %s = tt.splat %x : !tt.ptr<f32> -> {pointers} loc(#loc1)\n"
        f"    %p = tt.addptr %s, %r : {pointers}, {of} loc(#loc1)\n{copied}"
        f"    %v = tt.load %p{noted} : {pointers} loc(#loc1)\n"
        f"    tt.store %p, %v : {pointers} loc(#loc2)\n"
    )


def _blocked(size: int, warps: int) -> str:
    return (
        f"#blocked = #ttg.blocked<{{sizePerThread = [{size}], threadsPerWarp = [32], "
        f"warpsPerCTA = [{warps}], order = [0]}}>\n"
    )


def recorded(stages: int = 2, warps: int = 4, block: int = 128) -> tuple[NewPass, ...]:
    """The passes of the kernel under these options."""
    source, ttir = _module("", _CALL + _body("", block=block)), _module("", _body("", block=block))
    attributes = f' attributes {{"ttg.num-warps" = {warps} : i32}}'
    narrow, wide = _blocked(1, warps), _blocked(4, warps)
    first = _module(narrow, _body(", #blocked", block=block), attributes)
    coalesced = _module(wide, _body(", #blocked", block=block), attributes)
    noted = _module(wide, _body(", #blocked", latency=stages, block=block), attributes)
    pipelined = _module(wide, _body(", #blocked", copies=stages, block=block), attributes)
    made = "".join(f"    %{n} = llvm.mlir.constant({n} : i32) : i32\n" for n in range(stages * warps))
    lowered = (
        f"module {{\n  llvm.func @scale(%arg0: !llvm.ptr) {{\n{made}    llvm.return\n  }}\n}}\n".encode()
    )
    constant = f"  store i32 {stages * warps}, ptr %0\n"
    llvm, optimised = (
        f"; ModuleID = 'scale'\n\ndefine void @scale(ptr %0) {{\n{body}{constant}  ret void\n}}\n".encode()
        for body in ("  %2 = add i32 1, 2\n", "")
    )
    return (
        NewPass("ttir", "", 0.0, source),
        NewPass("ttir", "inline{max-iterations=4 }", 0.001, ttir),
        NewPass("ttir", "canonicalize{top-down=true}", 0.002, None),
        NewPass("ttgir", "", 0.0, ttir),
        NewPass("ttgir", f"convert-triton-to-tritongpu{{num-warps={warps}}}", 0.003, first),
        NewPass("ttgir", "tritongpu-coalesce", 0.004, coalesced),
        NewPass("ttgir", f"tritongpu-assign-latencies{{num-stages={stages}}}", 0.005, noted),
        NewPass("ttgir", f"tritongpu-pipeline{{num-stages={stages}}}", 0.006, pipelined),
        NewPass("ttgir", "tt.func(canonicalize{top-down=true})", 0.007, None),
        NewPass("llir", "", 0.0, pipelined),
        NewPass("llir", "convert-triton-gpu-to-llvm", 0.008, lowered),
        NewPass("llir", "llvm.to_module", 0.009, llvm),
        NewPass("llir", "llvm.optimize_module", 0.01, optimised),
    )


def write(path: Path) -> Path:
    """#1 num_stages 2, #2 num_stages 4, #3 8 warps, #4 fails in the pipeliner, #5 without passes."""
    failed = (*recorded()[:7], NewPass("ttgir", "tritongpu-pipeline{num-stages=2}", 0.0, None))
    ttgir = recorded()[7].content
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope compile scale.py --passes")
        kernel = writer.add_kernel(KERNEL, (), ("x", "n"))
        for stages, warps, passes in (
            (2, 4, recorded(2)), (4, 4, recorded(4)), (2, 8, recorded(2, 8)), (3, 4, failed), (5, 4, ()),
        ):  # fmt: skip
            new = NewVariant(
                parse_target("cuda:90"),
                (),
                Config((("num_warps", warps), ("num_stages", stages))),
                failure=Failure("RuntimeError", "in pass tritongpu-pipeline: failed", "")
                if passes is failed
                else None,
                artifacts={"ttir": recorded()[1].content or b"", "ttgir": passes[7].content or ttgir or b""}
                if passes
                else {},
                passes=passes,
            )
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path
