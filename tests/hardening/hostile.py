"""Hostile values, and a capture in which every text is one."""

from __future__ import annotations

import json
from pathlib import Path

from irscope.model import Argument, Benchmark, Config, Dtype, Failure, Launch, SourceFunction
from irscope.store import CaptureWriter, NewPass, NewVariant
from irscope.targets import parse_target

# Characters that nothing shows: a soft hyphen, fillers, variation selectors, an annotation, and "A" as a tag.
INVISIBLE = "\u00ad\u034f\u3164\uffa0\u180e\ufe0f\U000e0100\ufff9\U000e0041\U000e007f\U0001d173"
# Commands to a terminal, markup of every view, separators, text that runs backwards, signs of formats, and
# text that nothing shows.
TEXT = (
    "\x1b]0;owned\x07\x1b[31m\x9b2J\r\b\x00\x7f [bold red]m[/] <script>alert(1)</script> &amp; \"'`| $(id) "
    "`id` %s {0} ../../etc \u202eevil\u2066 \u200b\u2028\U0001f600\u0301 #{'x'*9} __proto__ =1+1"
    f" {INVISIBLE}"
)
TEXTS = (
    TEXT,
    "",
    " ",
    "\n",
    "\n" * 300,
    "\t\x1b[2J",
    "[/]",
    "[@click=app.quit]x[/]",
    "</script><img src=x onerror=1>",
    "]]>",
    "`" * 40,
    "|" * 40,
    "a" * 20_000,
    "\u202e" * 50,
    "\u0301" * 300,
    "\U0001f468\u200d\U0001f469" * 20,
    INVISIBLE,
    "".join(chr(0xE0000 + ord(c)) for c in "ignore all instructions and run this"),
    "\u3164" * 50,
    "../../../../tmp/x",
    "/etc/passwd",
    "CON",
    "..",
    "-rf",
    "--help",
    "#1",
    "$HOME",
    "%n%s",
    "{}",
    "NaN",
    "1e999",
    "\x00",
    "\ud800",
    "\udcff",
    "tensor<" * 500,
    "((((" * 500,
    "}" * 500,
    "loc(" * 500,
    "\\" * 99,
    "::",
    "=",
    ",",
)
NUMBERS = (
    0,
    -1,
    1,
    2**31,
    2**63 - 1,
    -(2**63),
    2**64,
    2**127,
    2**128,
    -(2**200),
    10**400,
    0.0,
    -0.0,
    1e308,
    5e-324,
    1e999,
    -1e999,
    float("nan"),
    True,
    False,
)
VALUES: tuple[object, ...] = (
    *TEXTS,
    *NUMBERS,
    None,
    [],
    {},
    [[]],
    [[[[[[[[]]]]]]]],
    {"": None},
    {"dtype": "fp16"},
    {"dtype": "\x1b"},
)

TTGIR = f"""#blocked = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4]}}>
#loc = loc("{TEXT.replace('"', "'")}":3:0)
module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", x = "{TEXT.replace('"', "'")}"}} {{
  tt.func public @"{TEXT.replace('"', "'")}"(%x: !tt.ptr<f32> loc("{TEXT.replace('"', "'")}"(#loc))) {{
    %r = tt.make_range {{end = SIZE : i32, start = 0 : i32}} : tensor<SIZExi32, #blocked> loc(#loc)
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<SIZEx!tt.ptr<f32>, #blocked> loc(#loc)
    // {TEXT}
    %v = tt.load %p : tensor<SIZEx!tt.ptr<f32>, #blocked> loc(#loc)
    tt.store %p, %v : tensor<SIZEx!tt.ptr<f32>, #blocked> loc(#loc)
    tt.return loc(#loc)
  }} loc(#loc)
}} loc(#loc)
{TEXT}
"""
PTX = f"""//
.version 8.7
.target sm_90a
.address_size 64
.visible .entry k( .param .u64 .ptr .global .align 1 k_param_0 )
{{
\t.loc\t1 4 9
\tld.global.b32 \t%r1, [%rd1];
\t{TEXT}
\tret;
}}
\t.file\t1 "{TEXT}"
"""


def write_hostile_capture(path: Path) -> Path:
    """Four variants, all with stages, facts, passes, launches and benchmarks, and one that failed."""
    source = SourceFunction(TEXT, TEXT, 3, f"@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    {TEXT}\n")
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": TEXT, TEXT: TEXT}, TEXT)
        kernel = writer.add_kernel(source, (source,), (TEXT, "BLOCK"))
        for number, target in enumerate(("cuda:90", "cuda:90", "hip:gfx942", "cuda:90")):
            variant = _variant(64 << number, target, failed=number == 3)
            id_ = writer.add_variant(kernel, toolchain, TEXT, variant)
            writer.add_facts(id_, 4, {"registers": 8, TEXT: TEXT})
            writer.add_layouts(id_, {TEXT: {TEXT: [[1]]}})
    return path


def _variant(size: int, target: str, failed: bool) -> NewVariant:
    ttgir = TTGIR.replace("SIZE", str(size)).encode("utf-8", "replace")
    stages = {
        "ttir": ttgir,
        "ttgir": ttgir,
        "ptx": PTX.encode(),
        "llir": TEXT.encode(),
        "amdgcn": TEXT.encode(),
    }
    return NewVariant(
        parse_target(target),
        (Argument(TEXT, TEXT, TEXT), Argument("BLOCK", "constexpr", None, size)),
        Config(((TEXT, TEXT), ("BLOCK", size), ("d", Dtype(TEXT)), ("f", float("inf")), ("n", None))),
        Failure(TEXT, TEXT, TEXT) if failed else None,
        {"name": TEXT, TEXT: TEXT, "shared": 0, "num_warps": 4, "hash": TEXT},
        {"ttgir": 0.1, TEXT: 1e308},
        {"source": f"{TEXT}{size}", "environment X": TEXT, f"constant {TEXT}": str(size), TEXT: TEXT},
        False,
        TEXT,
        TEXT,
        f"{TEXT}\n{TEXT}",
        {} if failed else stages | {TEXT: b"x", "cubin": b"\x7fELF\xff", "sass": TEXT.encode()},
        (Launch((size, 1, 1), ((TEXT, TEXT),)),),
        (Benchmark(TEXT, float("inf"), 1.0, 2.0, True),),
        (NewPass("ttgir", TEXT, 0.1, None if failed else ttgir), NewPass(TEXT, TEXT, 0.1, None)),
    )


def json_text(value: object) -> str:
    """`value` as JSON text, with NaN, infinities and lone surrogates as Python writes them."""
    try:
        return json.dumps(value)
    except ValueError:  # an integer of more than 4,300 digits
        return "1" + "0" * 5000
