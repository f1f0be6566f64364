from pathlib import Path

from irscope.diff.rows import Change
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import OPAQUE
from irscope.languages.python import parse

SOURCES = Path(__file__).parents[1] / "data" / "sources"
WRAPPER = (SOURCES / "add.output_code").read_text()
HELION = (SOURCES / "softmax.helion").read_text()


def operations(text: str) -> list[tuple[str, str, str]]:
    """Opcode, normalized text and function of each operation."""
    document = parse(text)
    names = [*document.functions, ""]
    return [(op.opcode, op.normalized, names[op.function]) for op in document.operations]


def test_a_line_of_code_is_an_operation_in_its_function():
    found = operations(WRAPPER)
    assert ("async_compile.wait", "async_compile.wait(globals())", "") in found
    assert ("def", "    def call(self, args):", "Runner.call") in found
    allocation = "            buf0 = empty_strided_cuda((1024, ), (1, ), torch.float32)"
    assert ("empty_strided_cuda", allocation, "Runner.call") in found
    assert not any("Topologically" in text for _, text, _ in found)
    assert parse(WRAPPER).functions == ["Runner", "Runner.__init__", "Runner.call"]


def test_code_in_a_string_and_between_brackets_opens_no_scope():
    assert (OPAQUE, "def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):", "") in (
        operations(WRAPPER)
    )
    inside = [op for op in operations(HELION) if op[1].startswith("exponentials / ")]
    assert inside == [
        ("torch.sum", "exponentials / torch.sum(exponentials, dim=1, keepdim=True)", "softmax"),
    ]


def test_text_that_is_not_python_is_kept():
    for text in ('"""', "'''\\", "f(", ")]}", '"\\', "def", "class :\n  def x", "\x00\ud800", "a \\"):
        assert parse(text).text == text


def test_nested_scopes_have_short_names():
    text = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(100))
    assert parse(text).functions[-1] == "f97.f98.f99"


def test_an_edit_of_a_comment_is_no_change_and_an_edit_of_a_size_is_one():
    commented = HELION.replace("# one row per tile", "# a comment")
    assert diff_stage("helion", parse(HELION), parse(commented)).equal
    edited = diff_stage("helion", parse(HELION), parse(HELION.replace("2048", "4096")))
    assert edited.counts == {Change.CONSTANT: 1}
    nested = HELION.replace("    return out", "        return out")
    assert not diff_stage("helion", parse(HELION), parse(nested)).equal
