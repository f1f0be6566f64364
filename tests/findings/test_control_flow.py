"""The control-flow graph and the loops of PTX, SASS and AMDGCN."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.control_flow import NONE, Block, ControlFlow, control_flow, find_loops
from irscope.languages.language import parse
from tests.hardening.texts import damaged_text, pieces

from .builders import stored

Graph = list[list[int]]


def graph_of(successors: Graph) -> ControlFlow:
    blocks = [Block(at, at + 1, tuple(dict.fromkeys(following))) for at, following in enumerate(successors)]
    return ControlFlow(blocks, [0], frozenset())


def reachable(successors: Graph, without: int = NONE) -> set[int]:
    seen: set[int] = set()
    stack = [0] if without != 0 else []
    while stack:
        block = stack.pop()
        if block not in seen and block != without:
            seen.add(block)
            stack += successors[block]
    return seen


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 12))
    block = st.integers(0, size - 1)
    return [draw(st.lists(block, max_size=3)) for _ in range(size)]


@given(graphs())
def test_dominators_are_those_of_the_definition(successors: Graph):
    """A block dominates another one if that cannot be reached without it."""
    found = graph_of(successors).dominators
    whole = reachable(successors)
    for block in range(len(successors)):
        if block not in whole or block == 0:
            assert found[block] == NONE
            continue
        own = [other for other in whole - {block} if block not in reachable(successors, without=other)]
        # Dominators of one block form a chain: the immediate one is dominated by all others.
        assert all(found[block] not in reachable(successors, without=other) for other in own)
        assert found[block] in own


@given(graphs())
def test_blocks_are_ordered_after_those_that_dominate_them(successors: Graph):
    graph = graph_of(successors)
    position = {block: at for at, block in enumerate(graph.reverse_postorder)}
    assert position.keys() == reachable(successors)
    assert all(
        position[above] < position[block] for block, above in enumerate(graph.dominators) if above >= 0
    )


# Structured programs: a number is a run of instructions, a list in a tuple a loop's body; two are branches.
Program = list[object]
programs = st.recursive(
    st.integers(1, 3).map(lambda size: [size]),
    lambda inner: st.lists(
        st.one_of(
            st.integers(1, 3),
            st.tuples(st.just("loop"), inner),
            st.tuples(st.just("while"), inner),
            st.tuples(st.just("if"), inner, inner),
        ),
        min_size=1,
        max_size=4,
    ),
    max_leaves=12,
)


class Renderer:
    """Prints a structured program as PTX or AMDGCN, and notes the loop depth of each line."""

    def __init__(self, language: str) -> None:
        self.ptx = language == "ptx"
        self.lines: list[str] = []
        self.depths: dict[int, int] = {}
        self.loops: list[int] = []
        self._labels = 0

    def text(self, program: Program) -> str:
        head = [".visible .entry k(", ")", "{"] if self.ptx else ["\t.type\tk,@function", "k:"]
        self.lines += head
        self._body(program, 0)
        self._add("ret;" if self.ptx else "s_endpgm", 0)
        return "\n".join([*self.lines, "}" if self.ptx else ".Lfunc_end0:", ""])

    def _body(self, program: Program, depth: int) -> None:
        for part in program:
            match part:
                case int():
                    for _ in range(part):
                        self._add(
                            "add.s32 \t%r1, %r2, %r3;" if self.ptx else "v_add_u32_e32 v0, v1, v2", depth
                        )
                case ("loop", inner):
                    self._loop(inner, depth + 1)
                case ("while", inner):
                    self._while(inner, depth + 1)
                case ("if", left, right):
                    self._if(left, right, depth)

    def _loop(self, inner: Program, depth: int) -> None:
        header = self._label()
        self.loops.append(depth)
        self._mark(header)
        self._body([1, *inner], depth)  # loops that share a header are one loop
        self._branch(header, depth, True)

    def _while(self, inner: Program, depth: int) -> None:
        header, done = self._label(), self._label()
        self.loops.append(depth)
        self._mark(header)
        self._branch(done, depth, True)
        self._body(inner, depth)
        self._branch(header, depth, False)
        self._mark(done)

    def _if(self, left: Program, right: Program, depth: int) -> None:
        other, done = self._label(), self._label()
        self._branch(other, depth, True)
        self._body(left, depth)
        self._branch(done, depth, False)
        self._mark(other)
        self._body(right, depth)
        self._mark(done)

    def _label(self) -> str:
        self._labels += 1
        return f"$L__BB0_{self._labels}" if self.ptx else f".LBB0_{self._labels}"

    def _mark(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def _branch(self, label: str, depth: int, conditional: bool) -> None:
        if self.ptx:
            self._add(f"@%p1 bra \t{label};" if conditional else f"bra.uni \t{label};", depth)
        else:
            self._add(f"s_cbranch_scc1 {label}" if conditional else f"s_branch {label}", depth)

    def _add(self, code: str, depth: int) -> None:
        self.depths[len(self.lines)] = depth
        self.lines.append(f"\t{code}")


@given(programs, st.sampled_from(["ptx", "amdgcn"]))
def test_the_loops_of_structured_programs_are_found_exactly(program: Program, language: str):
    renderer = Renderer(language)
    document = parse(renderer.text(program), language)
    tree = find_loops(document)
    assert not tree.unknown
    reached = set(tree.graph.reverse_postorder)
    for index, operation in enumerate(document.operations):
        block = tree.graph.block_of(index)
        if block in reached:
            loop = tree.innermost[block]
            assert (0 if loop < 0 else tree.loops[loop].depth) == renderer.depths[operation.line]
    assert sorted(loop.depth for loop in tree.loops) == sorted(renderer.loops)


def depths(text: str, language: str) -> list[int]:
    return [loop.depth for loop in find_loops(parse(text, language)).loops]


@pytest.mark.parametrize(
    "name",
    [
        "matmul_kernel.cuda-90.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0.ptx",
        "matmul_kernel.cuda-90.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0.sass",
        "matmul_kernel.hip-gfx942.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=2.triton-3.9.0.amdgcn",
    ],
)
def test_a_matmul_has_one_loop(name: str):
    stage = name.rpartition(".")[2]
    assert depths(stored(name, stage), stage) == [1]


@pytest.mark.parametrize("stage", ["ptx", "sass", "amdgcn"])
def test_a_softmax_has_none(stage: str):
    target = "hip-gfx942" if stage == "amdgcn" else "cuda-90"
    name = f"softmax_kernel.{target}.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0"
    assert depths(stored(name, stage), stage) == []


SPIN = "\t{\n\twaitLoop:\n\t@!complete bra.uni waitLoop;\n\t}\n"


def test_labels_of_inline_assembly_are_local():
    """Triton waits for barriers in inline assembly whose labels repeat."""
    add = "\tadd.s32 %r1, %r2, %r3;\n"
    body = f"$L1:\n{add}{SPIN}{add}{SPIN}\t@%p1 bra $L1;\n\tret;\n"
    assert depths(f".entry k(\n)\n{{\n{body}}}\n", "ptx") == [1, 2, 2]


def test_a_jump_into_a_loop_makes_the_loops_of_its_function_unknown():
    body = "\t@%p1 bra $L2;\n$L1:\n\tadd.s32 %r1, %r2, %r3;\n$L2:\n\t@%p2 bra $L1;\n\tret;\n"
    tree = find_loops(parse(f".entry k(\n)\n{{\n{body}}}\n", "ptx"))
    assert (len(tree.loops), tree.unknown) == (0, {0})


def test_a_jump_to_a_register_makes_the_loops_of_its_function_unknown():
    tree = find_loops(parse("\t.type\tk,@function\nk:\n\ts_setpc_b64 s[4:5]\n.Lfunc_end0:\n", "amdgcn"))
    assert tree.unknown == {0}


def test_a_jump_table_names_its_targets():
    table = "JTI0_0:\n\t.branchtargets\n\t\t$L1,\n\t\t$L2;\n"
    body = f"{table}$L1:\n\tadd.s32 %r1, %r2, %r3;\n\tbrx.idx \t%r1, JTI0_0;\n$L2:\n\tret;\n"
    tree = find_loops(parse(f".entry k(\n)\n{{\n{body}}}\n", "ptx"))
    assert ([loop.depth for loop in tree.loops], tree.unknown) == ([1], frozenset())


SASS = """.text.k:
        /*0000*/                   MOV R1, R2 ;
        /*0010*/              @!P0 BRA 0x0 ;
        /*0020*/                   BRA.U UP0, 0x10 ;
        /*0030*/               @PT EXIT ;
        /*0040*/                   BRA 0x40;
"""


def test_targets_of_sass_can_be_addresses():
    """As cuobjdump prints them; the trap at the end is not a loop."""
    graph = control_flow(parse(SASS, "sass"))
    assert [block.successors for block in graph.blocks] == [(1,), (2, 0), (3, 1), (), (4,)]
    assert depths(SASS, "sass") == [1, 2]


def test_time_grows_with_the_text():
    """A chain of 20,000 blocks that all jump to the end has a dominator tree of that depth."""
    body = "".join(f"$L{at}:\n\t@%p1 bra $L{20_000 - at % 7};\n" for at in range(20_001))
    tree = find_loops(parse(f".entry k(\n)\n{{\n{body}\tret;\n}}\n", "ptx"))
    assert len(tree.graph.blocks) > 20_000


def test_llvm_agrees_about_headers_and_depths():
    """LLVM prints "Loop Header: Depth=1" next to the label of each header."""
    text = stored(
        "matmul_kernel.hip-gfx942.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=2", "amdgcn"
    )
    document = parse(text, "amdgcn")
    tree = find_loops(document)
    (loop,) = tree.loops
    first = document.operations[tree.graph.blocks[loop.header].start].line
    assert "Loop Header: Depth=1" in "".join(document.lines[first - 3 : first])


CASES = 1_000


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ptx", "sass", "amdgcn", "mlir", "llvm"])
def test_damaged_text_never_fails(language: str):
    texts, pick = pieces()[language], random.Random(language)
    for _ in range(CASES):
        document = parse(damaged_text(pick, texts), language)
        tree = find_loops(document)
        blocks = tree.graph.blocks
        assert sum(block.end - block.start for block in blocks) == len(document.operations)
        assert all(0 <= at < len(blocks) for block in blocks for at in block.successors)
        for block, loop in zip(blocks, tree.innermost, strict=True):
            functions = {document.operations[at].function for at in range(block.start, block.end)}
            assert len(functions) == 1
            assert loop < 0 or not functions & tree.unknown
