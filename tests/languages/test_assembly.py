"""Properties of every line-based language: LLVM IR, PTX, SASS, AMDGCN."""

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.assembly import MAX_INLINING, SourceLines, principal_mnemonic
from irscope.languages.document import OPAQUE, Document, Location
from irscope.languages.language import parse

LANGUAGE = {".llir": "llvm", ".ptx": "ptx", ".sass": "sass", ".amdgcn": "amdgcn"}
STAGES = sorted(
    path for path in (Path(__file__).parents[1] / "data" / "stages").iterdir() if path.suffix in LANGUAGE
)
SMALL = [path for path in STAGES if path.stat().st_size < 20_000]

# Numbered names of values, labels and metadata nodes; the tests shift the numbers.
NAMES = {
    "llvm": re.compile(r"(%|!|#|(?<=\n)(?=\d+:))(\d+)\b"),
    "ptx": re.compile(r"(%[a-z]{1,2}|\$L__[A-Za-z]+(?:\d+_)?)(\d+)\b"),
    "sass": re.compile(r"(\bU?[RP]|\bS?B|\.L_x_)(\d+)\b"),
    "amdgcn": re.compile(r"((?<![\w.])[vsa]|\.L[A-Za-z]+(?:\d+_)?)(\d+)\b"),
}
RANGE = re.compile(r"\b([vs])\[(\d+):(\d+)\]")
ADDRESS = re.compile(r"/\*([0-9a-f]{4,})\*/")

# The lines of a stage that are instructions, found in another way than the parsers'.
INSTRUCTION = {
    "llvm": re.compile(r" +(?!i\d+ |\])\S"),
    "ptx": re.compile(r"\s*[@a-z].*;"),
    "sass": re.compile(r"\s+/\*[0-9a-f]{4,}\*/"),
    "amdgcn": re.compile(r"\t[a-z]"),
}
# The least share, in percent, of operations that resolve to a line of the kernel's file. The rest has
# line 0 (LLVM merged code of several lines), and before Triton 3.8 SASS has no inlining.
LEAST_LOCATED = {"llvm": 81, "ptx": 94, "sass": 60, "amdgcn": 90}


def language_of(path: Path) -> str:
    return LANGUAGE[path.suffix]


def parse_stage(path: Path) -> Document:
    return parse(path.read_text(), language_of(path))


def normalized(document: Document) -> list[tuple[str, str, Location | None]]:
    return [(operation.opcode, operation.normalized, operation.location) for operation in document.operations]


def renumbered(text: str, language: str, shift: int) -> str:
    text = NAMES[language].sub(lambda m: f"{m[1]}{int(m[2]) + shift}", text)
    if language == "amdgcn":
        text = RANGE.sub(lambda m: f"{m[1]}[{int(m[2]) + shift}:{int(m[3]) + shift}]", text)
    if language == "sass":
        text = ADDRESS.sub(lambda m: f"/*{int(m[1], 16) + 16 * shift:04x}*/", text)
    return text


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_every_instruction_is_an_operation_and_nothing_else(path: Path) -> None:
    document = parse_stage(path)
    expected = [
        index for index, line in enumerate(document.lines) if INSTRUCTION[language_of(path)].match(line)
    ]
    assert [operation.line for operation in document.operations] == expected
    assert OPAQUE not in {operation.opcode for operation in document.operations}
    assert document.functions == [path.name.partition(".")[0]]
    assert {operation.function for operation in document.operations} == {0}


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name)
def test_most_operations_have_a_line_of_the_kernel(path: Path) -> None:
    operations = parse_stage(path).operations
    located = [o for o in operations if o.location and o.location.outermost.file == "/src/kernels.py"]
    least = 98 if path.suffix == ".sass" and "3.9.0" in path.name else LEAST_LOCATED[language_of(path)]
    if "add_kernel" not in path.name:  # too short for shares
        assert 100 * len(located) / len(operations) >= least


@given(path=st.sampled_from(SMALL), shift=st.integers(1, 50_000))
def test_renumbering_changes_nothing(path: Path, shift: int) -> None:
    text = path.read_text()
    renamed = renumbered(text, language_of(path), shift)
    assert renamed != text
    assert normalized(parse(renamed, language_of(path))) == normalized(parse_stage(path))


@given(path=st.sampled_from(SMALL), data=st.data())
def test_a_changed_literal_changes_normalized_text(path: Path, data: st.DataObject) -> None:
    """The inverse of the test above: normalized text must keep what an instruction does."""
    document = parse_stage(path)
    literal = re.compile(r"(?<= )(?:0x[0-9a-f]+|\d+)(?=[,; ]|$)")
    candidates = [o for o in document.operations if literal.search(document.lines[o.line])]
    operation = data.draw(st.sampled_from(candidates))
    lines = list(document.lines)
    lines[operation.line] = literal.sub("3735", lines[operation.line], count=1)
    changed = parse("\n".join(lines), language_of(path))
    differing = [
        i for i, (a, b) in enumerate(zip(normalized(document), normalized(changed), strict=True)) if a != b
    ]
    assert differing == [document.operations.index(operation)]


def check_whole(document: Document, text: str) -> None:
    assert document.text == text
    last = 0
    for operation in document.operations:
        assert last <= operation.line < operation.end <= len(document.lines)
        assert -1 <= operation.function < len(document.functions)
        last = operation.end


@given(st.sampled_from(SMALL), st.sampled_from(SMALL), st.data())
def test_truncated_and_spliced_text_is_kept(first: Path, second: Path, data: st.DataObject) -> None:
    head, tail = first.read_text(), second.read_text()
    text = head[: data.draw(st.integers(0, len(head)))] + tail[data.draw(st.integers(0, len(tail))) :]
    check_whole(parse(text, language_of(first)), text)


@given(st.text(), st.sampled_from(sorted(LANGUAGE.values())))
def test_any_text_is_kept(text: str, language: str) -> None:
    check_whole(parse(text, language), text)


HOSTILE = [
    " ",
    "\n ",
    "\t%",
    '"',
    "  call void asm ",
    ' asm sideeffect "',
    "@",
    '@"',
    '  %"',
    ".func (",
    '.file 1 "',
    ".loc 1 1 1 ; @[ a:1:1 ",
    "  ret, !dbg !1",
    "  switch i32 1, label %2 [\n",
    "    i32 0, label %1\n",
    "{",
    "}",
    "{ mov.b32 ",
    "/*00*/",
    "/*00*/ R1, ",
    "@P0 ",
    '//## File "a", line 1 inlined at ',
    "v[0:1], ",
    "v[99999",
    "define ",
    ".L_x_1",
    "$L_",
    "%r1",
    "9" * 50,
    "a:",
    ".loc 9999999999 1 1\n",
    "!1 = ",
    "!1 = !DILocation(line: 99999999999)\n",
]


@pytest.mark.parametrize("language", LANGUAGE.values())
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_is_linear_in_hostile_text(piece: str, language: str) -> None:
    """A quadratic rule takes minutes on this much."""
    prefix = "\t" if language in ("llvm", "amdgcn") else "/*0000*/ " if language == "sass" else ""
    start = time.process_time()
    for text in (piece * (300_000 // len(piece)), prefix + "x " + piece * (300_000 // len(piece))):
        check_whole(parse(text, language), text)
    assert time.process_time() - start < 5


def test_mnemonic_of_inline_assembly() -> None:
    load = "mov.u32 $0, $4;\n\tmov.u32 $1, $5;\n\t@$9 ld.global.v2.b32 { $0, $1 }, [ $8 + 0 ];"
    loop = "waitLoop:\nmbarrier.try_wait.b64 complete, [$0], $1;\n@!complete bra.uni waitLoop;\n"
    wait = f"{{\n@!$2 bra.uni skipWait;\n.reg .pred complete;\n{loop}skipWait:\n}}"
    assert principal_mnemonic(load) == "ld.global.v2.b32"
    assert principal_mnemonic(wait) == "mbarrier.try_wait.b64"
    assert (
        principal_mnemonic("// wait for regs: $0\n\twgmma.wait_group.sync.aligned 0;")
        == "wgmma.wait_group.sync.aligned"
    )
    assert principal_mnemonic("mov.b32 $0, $1;") == "mov.b32"
    assert principal_mnemonic("s_trap 2") == "s_trap"
    assert principal_mnemonic("") == ""


def test_chains_are_cut_at_a_limit() -> None:
    sources = SourceLines('.file 1 "/a.py"')
    for _ in range(10 * MAX_INLINING):
        location = sources.location(".loc 1 5 1, function_name $L__info_string0, inlined_at 1 5 1")
        depth = 0
        while location is not None:
            location, depth = location.inlined_at, depth + 1
        assert depth <= MAX_INLINING + 1
    long = ".loc 1 5 1 // a.py:5:1 " + "@[ a.py:1:2 " * 1000
    location, depth = sources.location(long), 0
    while location is not None:
        location, depth = location.inlined_at, depth + 1
    assert depth == MAX_INLINING + 1
