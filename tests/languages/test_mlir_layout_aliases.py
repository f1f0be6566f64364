"""Layout aliases: kinds, fields, expansion of nested aliases."""

import pytest

from irscope.languages.mlir.parser import layout_fields, layout_kind, parse, parse_layouts


@pytest.mark.parametrize(
    ("text", "kind", "fields"),
    [
        ("#ttg.shared_memory", "ttg.shared_memory", {}),
        (
            "#ttg.blocked<{sizePerThread = [1, 4], order = [1, 0]}>",
            "ttg.blocked",
            {"sizePerThread": "[1, 4]", "order": "[1, 0]"},
        ),
        (
            "#ttg.linear<{register = [[0, 1], [8, 0]], lane = [], block = []}>",
            "ttg.linear",
            {"register": "[[0, 1], [8, 0]]", "lane": "[]", "block": "[]"},
        ),
        (
            "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>",
            "ttng.tensor_memory_encoding",
            {"blockM": "128", "blockN": "64", "colStride": "1"},
        ),
        (
            "#ttg.padded_shared<[512:+16] {order = [1, 0], shape = [64, 64]}>",
            "ttg.padded_shared",
            {"0": "[512:+16]", "order": "[1, 0]", "shape": "[64, 64]"},
        ),
        (
            "#ttg.shared_linear<{offset = [[0, 1]], block = []}, alignment = 16>",
            "ttg.shared_linear",
            {"offset": "[[0, 1]]", "block": "[]", "alignment": "16"},
        ),
        ("", "", {}),
        ("<<<", "", {"0": "<<"}),
    ],
)
def test_kind_and_fields(text: str, kind: str, fields: dict[str, str]) -> None:
    assert layout_kind(text) == kind
    assert layout_fields(text) == fields


def test_nested_aliases_are_expanded() -> None:
    layouts = parse_layouts(
        {
            "#outer": (0, "#ttg.slice<{dim = 1, parent = #blocked1}>"),
            "#blocked1": (1, "#ttg.blocked<{order = [0]}>"),
        }
    )
    assert layouts["#outer"].fields == {"dim": "1", "parent": "#ttg.blocked<{order = [0]}>"}
    assert layouts["#outer"].line == 0


def test_cycles_are_not_expanded() -> None:
    layouts = parse_layouts({"#a": (0, "#x.y<{p = #b}>"), "#b": (1, "#x.y<{p = #a}>")})
    assert layouts["#b"].fields == {"p": "#a"}
    assert layouts["#a"].fields == {"p": "#x.y<{p = #a}>"}


def test_expansion_is_bounded() -> None:
    table = {f"#a{n}": (n, f"#x.y<{{p = #a{n - 1}, q = #a{n - 1}}}>") for n in range(200)}
    fields = sum(len(value) for layout in parse_layouts(table).values() for value in layout.fields.values())
    assert fields < 20 * sum(len(body) for _, body in table.values())


def test_layouts_of_a_document() -> None:
    table = [
        "#smem = #ttg.shared_memory",
        "#loc = loc(unknown)",
        "#mma = #ttg.nvidia_mma<{versionMajor = 2}>",
    ]
    layouts = parse("\n".join([*table, "module {", "}"])).layouts
    assert {alias: (layout.kind, layout.line) for alias, layout in layouts.items()} == {
        "#smem": ("ttg.shared_memory", 0),
        "#mma": ("ttg.nvidia_mma", 2),
    }
