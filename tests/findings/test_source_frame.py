"""Where the IR's functions are in the captured source, also if the IR names another file."""

from irscope.facts.source.frame import SourceFrame, ir_functions
from irscope.languages.document import Location
from irscope.languages.language import parse
from irscope.model import Kernel, SourceFunction

TEXT = "@triton.autotune([])\n@triton.jit\ndef k(x):\n    y = h(x)\n    return y\n"
HELPER = "@triton.jit\ndef h(x):\n    return x * 2\n"
KERNEL = Kernel(
    1,
    "k",
    SourceFunction("k", "/mine/kernels.py", 20, TEXT),
    (SourceFunction("h", "/mine/kernels.py", 10, HELPER),),
    (),
)
# The IR of an identical kernel in another file, without a decorator above it.
MODULE = """\
#loc = loc("/other/first.py":31:1)
#loc4 = loc("/other/first.py":51:1)
module {
  tt.func public @k(%x: f32 loc("x"(#loc))) {
    %0 = tt.call @first.h__fp32(%x) : (f32) -> f32 loc(#loc1)
    %1 = arith.addf %0, %0 : f32 loc(#loc3)
    tt.return loc(#loc2)
  } loc(#loc)
  tt.func private @first.h__fp32(%x: f32 loc("x"(#loc4))) -> f32 {
    tt.return %x : f32 loc(#loc5)
  } loc(#loc4)
} loc(#loc)
#loc1 = loc("/other/first.py":32:9)
#loc2 = loc("/other/first.py":33:5)
#loc3 = loc(callsite(#loc5 at #loc1))
#loc5 = loc("/other/first.py":52:16)
"""


def frame(text=MODULE):
    return SourceFrame(KERNEL, ir_functions(text))


def test_the_functions_of_a_module_are_at_their_defs():
    kernel, helper = ir_functions(MODULE)
    assert (kernel.symbol, kernel.public, kernel.file, kernel.line) == ("k", True, "/other/first.py", 31)
    assert (helper.symbol, helper.public, helper.line) == ("first.h__fp32", False, 51)


def test_a_line_is_the_same_distance_below_the_captured_def():
    assert frame().move(Location("/other/first.py", 32, 9)) == Location("/mine/kernels.py", 23, 8)
    assert frame().move(Location("/other/first.py", 52, 16)) == Location("/mine/kernels.py", 12, 15)


def test_other_lines_and_files_stay():
    assert frame().move(Location("/other/first.py", 99, 1)) == Location("/other/first.py", 99)
    assert frame().move(Location("/lib/standard.py", 32, 1)) == Location("/lib/standard.py", 32)


def test_the_whole_chain_of_an_inlined_operation_is_moved():
    document = frame().in_captured_source(parse(MODULE, "mlir"))
    added = next(each for each in document.operations if each.opcode == "arith.addf")
    call = Location("/mine/kernels.py", 23, 8)
    assert added.location == Location("/mine/kernels.py", 12, 15, call)
    assert document.text == MODULE


def test_without_locations_of_functions_lines_are_as_captured():
    assert frame("").move(Location("/mine/kernels.py", 23, 8)) == Location("/mine/kernels.py", 23, 8)
    assert frame("").move(Location("kernels.py", 12)) == Location("/mine/kernels.py", 12)


def test_a_helper_that_only_earlier_stages_have_moves_with_its_file():
    before_inlining = MODULE.replace("private @first.h__fp32", "private @unrelated__fp32")
    # The cache key has the first line of each function, so the helper's lines are those captured.
    assert frame(before_inlining).move(Location("/other/first.py", 12)) == Location("/mine/kernels.py", 12)


def test_llvm_ir_locates_the_kernel_too():
    text = (
        '!1 = !DIFile(filename: "first.py", directory: "/other")\n'
        '!4 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !1, file: !1, line: 31, type: !5)\n'
    )
    assert frame(text).move(Location("/other/first.py", 33)) == Location("/mine/kernels.py", 24)


def test_any_text_has_functions():
    for text in ("tt.func public @(", "  tt.func public @k(\n" * 50, "  } loc(#loc)\n" * 50, "\x00"):
        assert ir_functions(text) == []
