"""The text of a kernel without its project: names, constants, closures; and smaller texts of it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from irscope.compiling.standalone import Call, parse_call
from irscope.compiling.standalone.builder import FileBuilder
from irscope.compiling.standalone.references import references
from irscope.compiling.standalone.values import CannotWriteError, expression
from irscope.jobs.reproduce.recorded import specification, unaligned
from irscope.jobs.reproduce.reductions import KernelProgram, reductions, without_unused
from irscope.model import UserError
from tests.reproduce import project


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    import sys

    (tmp_path / "common.py").write_text(project.COMMON)
    (tmp_path / "kernels.py").write_text(project.KERNELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("common", "kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import kernels  # type: ignore[import-not-found]

    yield kernels.kernel
    for name in ("common", "kernels"):
        sys.modules.pop(name, None)


def test_names_of_two_modules_stay_apart(kernel: Any) -> None:
    builder = FileBuilder()
    assert builder.kernel(kernel, "") == "scaled_kernel"
    text = builder.text
    assert "common" not in text
    constants = {
        target.id: ast.unparse(node.value)
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    assert sorted(constants.values()) == [
        "tl.constexpr(2)",
        "tl.constexpr(3)",
        "tl.constexpr(7)",
        "tl.float32",
    ]
    assert "# Names that mean different things" in text
    assert text.count("def double(x)") == 1  # one function under two names
    imported = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert imported == ["import triton", "import triton.language as tl"]


def test_a_local_variable_does_not_hide_a_function(kernel: Any) -> None:
    builder = FileBuilder()
    builder.kernel(kernel, "")
    functions = {
        node.name: node for node in ast.parse(builder.text).body if isinstance(node, ast.FunctionDef)
    }
    called = {
        node.func.id
        for node in ast.walk(functions["scaled_kernel"])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called == {"double"}  # "twice" is a variable there


def test_references_skip_locals_and_keep_defaults() -> None:
    tree = ast.parse(
        "def f(x, y=Y, *, z: T = Z):\n    w = x + OUTER.inner.deep\n    return [w + i for i in ITEMS]\n"
    )
    assert [reference.path for reference in references(tree)] == [
        ("Y",), ("Z",), ("T",), ("OUTER", "inner", "deep"), ("ITEMS",)
    ]  # fmt: skip


@pytest.mark.parametrize("value", [1, 2.5, float("inf"), "a'b", None, (1,), [1, (2, 3)], {"a": (1, 2)}, True])
def test_an_expression_makes_an_equal_value(value: object) -> None:
    assert eval(expression(value, lambda _, name: name)) == value


def test_an_object_without_text_is_refused() -> None:
    with pytest.raises(CannotWriteError, match="object"):
        expression(object(), lambda _, name: name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float16[4, 2]", {"dtype": "float16", "shape": [4, 2], "strides": [2, 1]}),
        ("float16[4, 2] strides [1, 4]", {"dtype": "float16", "shape": [4, 2], "strides": [1, 4]}),
        ("(int32[3], 5)", ({"dtype": "int32", "shape": [3], "strides": [1]}, 5)),
        ("0.5", 0.5),
        ("function", None),
        ("__import__('os')", None),
    ],
)
def test_specification(text: str, expected: object) -> None:
    assert specification(text) == expected


CALL = Call(
    kernel="k",
    gluon=False,
    parameters=("x", "n", "SIZE", "unused"),
    signature="{'x': '*fp32', 'n': 'i32', 'SIZE': 'constexpr', 'unused': '*fp32'}",
    constexprs={"(2,)": "128"},
    attrs={"(0,)": "[['tt.divisibility', 16]]", "(3,)": "[['tt.divisibility', 16]]"},
    options={},
)
TEXT = '''
import triton
import other


def helper(y):
    return y


def k(x, n, SIZE, unused):
    """A docstring."""
    a = x + SIZE
    for i in range(n):
        a = helper(a) + i
    store(a)
'''


def test_every_reduction_is_a_program_of_its_call() -> None:
    program = KernelProgram(ast.parse(TEXT), CALL)
    before = ast.unparse(program.tree)
    found = [
        smaller for reduction in reductions() for attempt in reduction(program) if (smaller := attempt())
    ]
    assert ast.unparse(program.tree) == before
    for smaller in found:
        compile(smaller.text, "k", "exec")
        kernel = next(n for n in smaller.tree.body if isinstance(n, ast.FunctionDef) and n.name == "k")
        assert tuple(argument.arg for argument in kernel.args.args) == smaller.call.parameters
        assert set(ast.literal_eval(smaller.call.signature)) == set(smaller.call.parameters)
    calls = {smaller.call.parameters: smaller.call for smaller in found}
    inlined = calls["x", "n", "unused"]
    assert (inlined.constexprs, sorted(inlined.attrs)) == ({}, ["(0,)", "(2,)"])
    assert unaligned(inlined) == ("n",)
    assert any("x + 128" in smaller.text for smaller in found)


def test_unused_definitions_are_removed() -> None:
    text = without_unused(KernelProgram(ast.parse(TEXT), CALL)).text
    assert "def helper" in text
    assert "import" not in text
    assert "docstring" not in text


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"kernel": "a b"}',
     b'{"kernel": "k", "gluon": 0, "parameters": ["x"], "signature": "1 +", "constexprs": {}, "attrs": {}}',
     b'{"kernel": "k", "gluon": 0, "parameters": [], "signature": "1", "constexprs": {"f()": "1"}}'],
)  # fmt: skip
def test_a_damaged_call_is_one_line(content: bytes) -> None:
    with pytest.raises(UserError, match=r"#1 \(k\)") as raised:
        parse_call(content, "#1 (k)")
    assert "\n" not in str(raised.value)
