"""The MLIR parser: operations, regions, normalized text, on fragments and on real stages."""

import re
import time
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.document import OPAQUE, Document, Operation
from irscope.languages.language import parse as parse_language
from irscope.languages.mlir.parser import parse

STAGES = sorted(
    path
    for path in (Path(__file__).parents[1] / "data" / "stages").iterdir()
    if path.suffix in (".source", ".glir", ".ttir", ".ttgir")
)
# Lines that are not operations: alias tables, comments, labels, the rest of a region operation.
STRUCTURE = re.compile(r"\s*(?:$|[#!][\w$.-]+ = |//|\^|\}|(?:default|partition\d+|case)\b.*\{$)")


def only(document: Document, opcode: str) -> Operation:
    [operation] = [operation for operation in document.operations if operation.opcode == opcode]
    return operation


def parse_lines(text: str) -> Document:
    return parse(dedent(text).strip("\n"))


def normalized(document: Document) -> list[tuple[str, str]]:
    return [(operation.opcode, operation.normalized) for operation in document.operations]


def test_simple_operation() -> None:
    document = parse("%acc_5 = arith.addf %acc, %0#1 : tensor<64xf32, #mma>")
    assert document.operations == [
        Operation(
            line=0,
            end=1,
            opcode="arith.addf",
            normalized="% = arith.addf %, % : tensor<64xf32, #mma>",
            results=("%acc_5",),
            operands=("%acc", "%0#1"),
        )
    ]


def test_several_results() -> None:
    counted, named = parse("%a:2 = x.pair %b : i32\n%lhs, %rhs = tt.split %a#1 : f32").operations
    assert counted.results == ("%a#0", "%a#1")
    assert counted.normalized == "%:2 = x.pair % : i32"
    assert named.results == ("%lhs", "%rhs")
    assert named.normalized == "%, % = tt.split % : f32"
    assert named.operands == ("%a#1",)


def test_generic_form_with_a_region() -> None:
    document = parse_lines("""
        #loc3 = loc("/src/k.py":7:2)
        %x:2 = "tt.reduce"(%a, %b) <{axis = 0 : i32}> ({
        ^bb0(%l: f32 loc("l"(#loc3)), %r: f32 loc(unknown)):
          %s = arith.addf %l, %r : f32 loc(#loc3)
          tt.reduce.return %s : f32
        }) : (tensor<8xf32>, tensor<8xf32>) -> (f32, f32) loc(#loc3)
    """)
    reduce, add, end = document.operations
    assert (reduce.line, reduce.end, reduce.opcode) == (1, 6, "tt.reduce")
    assert reduce.normalized == (
        '%:2 = "tt.reduce"(%, %) <{axis = 0 : i32}> ({ }) : (tensor<8xf32>, tensor<8xf32>) -> (f32, f32)'
    )
    assert reduce.operands == ("%a", "%b")
    assert reduce.arguments == ("%l", "%r")
    assert reduce.location is not None
    assert reduce.location.line == 7
    assert (add.parent, end.parent) == (0, 0)


def test_a_loop_defines_the_arguments_of_its_region() -> None:
    document = parse_lines("""
        %acc:2 = scf.for %k = %lo to %hi step %c1 iter_args(%p = %x, %q = %y) -> (i32, i32)  : i32 {
          scf.yield %q, %p : i32, i32
        } {tt.num_stages = 3 : i32}
    """)
    loop = only(document, "scf.for")
    assert loop.arguments == ("%k", "%p", "%q")
    assert loop.operands == ("%lo", "%hi", "%c1", "%x", "%y")
    assert loop.results == ("%acc#0", "%acc#1")
    assert loop.normalized.endswith(": i32 { } {tt.num_stages = 3 : i32}")


def test_if_else_and_while_are_one_operation_each() -> None:
    document = parse_lines("""
        scf.if %c {
          x.then
        } else {
          x.else
        }
        %n = scf.while (%i = %a) : (i32) -> i32 {
          scf.condition(%c) %i : i32
        } do {
        ^bb0(%j: i32):
          scf.yield %j : i32
        }
        x.after
    """)
    assert [(o.opcode, o.line, o.end, o.parent) for o in document.operations] == [
        ("scf.if", 0, 5, -1),
        ("x.then", 1, 2, 0),
        ("x.else", 3, 4, 0),
        ("scf.while", 5, 11, -1),
        ("scf.condition", 6, 7, 3),
        ("scf.yield", 9, 10, 3),
        ("x.after", 11, 12, -1),
    ]
    assert only(document, "scf.if").normalized == "scf.if % { } else { }"
    assert only(document, "scf.while").arguments == ("%i", "%j")


def test_warp_specialize_has_several_regions() -> None:
    document = parse_lines("""
        ttg.warp_specialize(%M) attributes {requestedRegisters = array<i32: 24>}
        default {
          ttg.warp_yield
        }
        partition0(%arg0: i32) num_warps(4) {
          ttg.warp_return
        } : (i32) -> ()
        tt.return
    """)
    specialize, end, done, after = document.operations
    assert (specialize.line, specialize.end, specialize.arguments) == (0, 7, ("%arg0",))
    assert specialize.normalized == (
        "ttg.warp_specialize(%) attributes {requestedRegisters = array<i32: 24>} "
        "default { } partition0(%: i32) num_warps(4) { } : (i32) -> ()"
    )
    assert (end.parent, done.parent, after.parent) == (0, 0, -1)


def test_functions_and_blocks() -> None:
    document = parse_lines("""
        module {
          tt.func public @kernel(%x: !tt.ptr<f32> loc("x"(#loc)), %n: i32) attributes {noinline = false} {
            cf.cond_br %n, ^bb1, ^bb2(%n : i32)
          ^bb1:  // pred: ^bb0
            tt.return
          }
          tt.func private @"lib.max__(1,)"(%x: f32) -> f32
        }
    """)
    assert document.functions == ("kernel", "lib.max__(1,)")
    assert [o.function for o in document.operations] == [-1, 0, 0, 0, 1]
    assert document.operations[1].arguments == ("%x", "%n")
    assert document.operations[1].normalized.startswith(
        "tt.func public @kernel(%: !tt.ptr<f32>, %: i32) attr"
    )
    assert document.operations[2].normalized == "cf.cond_br %, ^, ^(% : i32)"


def test_strings_are_unchanged() -> None:
    text = r'%0 = tt.elementwise_inline_asm "mov $0, %laneid; // \22#blocked1\22 loc(" {pure = true} %v : i32'
    [operation] = parse(text).operations
    assert operation.normalized == text.replace("%0", "%").replace("%v", "%")
    assert operation.operands == ("%v",)


def test_aliases_become_their_kind() -> None:
    document = parse_lines("""
        #mma2 = #ttg.nvidia_mma<{versionMajor = 3}>
        #smem = #ttg.shared_memory
        x.y : tensor<8xf16, #ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>>, #smem, #gone12
    """)
    assert document.operations[0].normalized == (
        "x.y : tensor<8xf16, #ttg.dot_op<{opIdx = 0, parent = #ttg.nvidia_mma, kWidth = 2}>>, "
        "#ttg.shared_memory, #gone"
    )


def test_unknown_lines_are_opaque_operations() -> None:
    document = parse("what is this\n%a, b = x.y\n\n%1 =\n}\n<<<")
    assert [(o.line, o.opcode) for o in document.operations] == [(line, OPAQUE) for line in (0, 1, 3, 4, 5)]


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
class TestRealStages:
    def test_every_line_is_understood(self, path: Path) -> None:
        document = parse_language(path.read_text(), "mlir")
        starts = document.operation_of_line
        assert len(starts) == len(document.operations)
        for index, line in enumerate(document.lines):
            assert bool(STRUCTURE.match(line)) != (index in starts), line
        assert OPAQUE not in {operation.opcode for operation in document.operations}

    def test_regions_nest(self, path: Path) -> None:
        operations = parse(path.read_text()).operations
        assert [operation.opcode for operation in operations if operation.parent < 0] == ["module"]
        for index, operation in enumerate(operations):
            if operation.parent >= 0:
                owner = operations[operation.parent]
                assert operation.parent < index
                assert owner.line < operation.line < operation.end < owner.end

    def test_every_value_is_defined_before_its_use(self, path: Path) -> None:
        operations = parse(path.read_text()).operations
        defined = {name for operation in operations for name in (*operation.results, *operation.arguments)}
        used = {name for operation in operations for name in operation.operands}
        assert used <= defined

    def test_the_kernel_is_a_function(self, path: Path) -> None:
        document = parse(path.read_text())
        assert document.functions[0] == path.name.partition(".")[0]
        assert {o.function for o in document.operations if o.opcode != "module"} == set(
            range(len(document.functions))
        )


@pytest.mark.parametrize("suffix", [".ttir", ".ttgir"])
def test_share_of_operations_with_a_line_of_the_kernel(suffix: str) -> None:
    locations = [
        operation.location
        for path in STAGES
        if path.suffix == suffix
        for operation in parse(path.read_text()).operations
    ]
    known = [location for location in locations if location and location.outermost.file == "/src/kernels.py"]
    assert len(known) >= 0.9 * len(locations)


def test_inlined_operation_knows_the_call() -> None:
    [path] = [
        path for path in STAGES if path.name.startswith("softmax") and path.name.endswith("3.9.0.ttgir")
    ]
    document = parse(path.read_text())
    location = next(o.location for o in document.operations if o.opcode == "arith.maxnumf")
    assert location is not None
    assert location.file == "/triton/language/standard.py"
    assert location.inlined_at is not None
    assert (location.outermost.file, location.outermost.line) == ("/src/kernels.py", 19)


def without_locations(text: str) -> str:
    """Cuts `loc(...)`s and their aliases out, character by character."""
    text = "\n".join(line for line in text.split("\n") if not line.startswith("#loc"))
    out = []
    at = 0
    while at < len(text):
        if not text.startswith(" loc(", at):
            out.append(text[at])
            at += 1
            continue
        depth = 0
        quoted = False
        at += len(" loc")
        while True:
            quoted ^= text[at] == '"'
            depth += 0 if quoted else {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return "".join(out)


def renamed(text: str, shuffle) -> str:
    """Renames every value, and renumbers and reorders every alias."""
    values = sorted(set(re.findall(r"%[\w$.-]+", text)))
    fresh = dict(zip(values, shuffle([f"%v{n}" for n in range(len(values))]), strict=True))
    text = re.sub(r"%[\w$.-]+", lambda match: fresh[match[0]], text)
    aliases = sorted(set(re.findall(r"(?m)^#(?!loc)\w+(?= = )", text)))
    numbers = shuffle(list(range(len(aliases))))
    others = {
        alias: f"{alias.rstrip('0123456789')}{number}" for alias, number in zip(aliases, numbers, strict=True)
    }
    text = re.sub(r"#\w+(?![\w.])", lambda match: others.get(match[0], match[0]), text)
    lines = text.split("\n")
    table = [line for line in lines if line.startswith("#")]
    return "\n".join([*shuffle(table), *(line for line in lines if not line.startswith("#"))])


@given(st.sampled_from(STAGES), st.randoms(use_true_random=False), st.booleans())
def test_names_numbers_and_locations_carry_no_meaning(path, random, strip) -> None:
    text = path.read_text()
    other = renamed(text, lambda items: random.sample(items, len(items)))
    if strip:
        other = without_locations(other)
    before, after = parse(text), parse(other)
    assert normalized(after) == normalized(before)
    assert sorted(str((x.kind, x.fields)) for x in after.layouts.values()) == sorted(
        str((x.kind, x.fields)) for x in before.layouts.values()
    )
    if not strip:
        assert [o.location for o in after.operations] == [o.location for o in before.operations]


@given(st.data())
def test_damaged_text_is_kept(data) -> None:
    pieces = []
    for path in data.draw(st.lists(st.sampled_from(STAGES), min_size=1, max_size=3)):
        text = path.read_text()
        start = data.draw(st.integers(0, len(text)))
        pieces.append(text[start : start + data.draw(st.integers(0, 4000))])
        pieces.append(data.draw(st.text(st.sampled_from('%#^{}()<>"\\ =:,@!\n loc.a1é\r\t'), max_size=30)))
    text = "".join(pieces)
    document = parse(text)
    assert "\n".join(document.lines) == text
    starts = document.operation_of_line
    for index, line in enumerate(document.lines):
        assert STRUCTURE.match(line) or index in starts
    for index, operation in enumerate(document.operations):
        assert operation.line < operation.end <= len(document.lines)
        assert operation.parent < index


@pytest.mark.parametrize(
    "text",
    [
        "{\n" * 100_000,
        "{" * 1_000_000,
        "}\n" * 100_000,
        "scf.if %a {\n" + "} else {\n" * 100_000,
        "ttg.warp_specialize()\n" + "default {\n}\n" * 50_000,
        '%a = x.y "' + '\\"' * 1_000_000,
        '"\\' * 500_000,
        "%a:999999999, " * 50_000 + "%b = x.y",
        "x.y" + " loc(" * 500_000,
        "x.y loc(" + "(" * 500_000 + ")" * 500_000 + ")",
        "#loc1 = loc(" + "callsite(" * 100_000,
        "\n".join(f"#loc{n} = loc(#loc{n + 1})" for n in range(50_000)),
        "\n".join(f"#a{n} = #x<{{p = #a{n - 1}, q = #a{n - 1}}}>" for n in range(10_000)),
        "#a = " + "x" * 1_000_000 + "\n" + "x.y #a\n" * 10_000,
        "%a = tt.load %b : tensor<1xf32, #c> " * 100_000,
    ],
    ids=lambda text: text[:24].replace("\n", " "),
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    document = parse(text)
    # Measured: up to 1.0 s. A quadratic step would take minutes on any of these.
    assert time.process_time() - start < 20
    assert document.text == text
