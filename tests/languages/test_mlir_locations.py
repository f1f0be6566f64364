"""Location attributes: every form, aliases in any order, cycles, and chains of inlining."""

import pytest

from irscope.languages.document import Location
from irscope.languages.mlir.locations import parse_location, resolve_aliases, split_locations

A = Location("/a.py", 3, 4)
B = Location("/b.py", 5, 6)
KNOWN = {"#loc1": A, "#loc2": B, "#loc3": None}


@pytest.mark.parametrize(
    ("body", "location"),
    [
        ('"/a.py":3:4', A),
        ('"/a.py":3:4 to :9', A),
        (r'"/a\22b\\.py":3:4', Location('/a"b\\.py', 3, 4)),
        ("#loc1", A),
        ("#missing", None),
        ("unknown", None),
        ('"name"', None),
        ('"name"(#loc1)', A),
        ('"outer"("inner"("/a.py":3:4))', A),
        ("callsite(#loc1 at #loc2)", Location("/a.py", 3, 4, B)),
        ('callsite("f"(#loc1) at "g"(#loc2))', Location("/a.py", 3, 4, B)),
        ("callsite(#loc3 at #loc2)", B),
        ("callsite(#loc1 at unknown)", A),
        (
            "callsite(callsite(#loc1 at #loc2) at #loc1)",
            Location("/a.py", 3, 4, Location("/b.py", 5, 6, A)),
        ),
        (
            "callsite(#loc1 at callsite(#loc2 at #loc1))",
            Location("/a.py", 3, 4, Location("/b.py", 5, 6, A)),
        ),
        ("fused[#loc3, #loc2, #loc1]", B),
        ('fused<#meta<"x", [1]>>[#loc1, #loc2]', A),
        ("fused[unknown, callsite(#loc1 at #loc2)]", Location("/a.py", 3, 4, B)),
        ("", None),
        ("callsite(", None),
        (')))"', None),
        ('"/a.py":99999999999999999999:1', None),
    ],
)
def test_parse_location(body: str, location: Location | None) -> None:
    assert parse_location(body, KNOWN) == location


def test_outermost_is_the_kernel() -> None:
    location = parse_location("callsite(#loc1 at #loc2)", KNOWN)
    assert location is not None
    assert location.outermost == B


@pytest.mark.parametrize(
    ("text", "rest", "last"),
    [
        ("tt.return loc(#loc1)", "tt.return", "#loc1"),
        ("tt.return", "tt.return", None),
        ('x.y loc("f(".py":1:2)', 'x.y loc("f(".py":1:2)', None),
        ('x.y loc("f(.py":1:2)', "x.y", '"f(.py":1:2'),
        ('f(%a: i32 loc("a"(#loc)), %b: i32 loc(unknown)) {', "f(%a: i32, %b: i32) {", None),
        ("x.y loc(callsite(#loc1 at #loc2))", "x.y", "callsite(#loc1 at #loc2)"),
        ('tt.print " loc(a)" : %a loc(#loc)', 'tt.print " loc(a)" : %a', "#loc"),
        ("x.y loc(#loc1", "x.y loc(#loc1", None),
    ],
)
def test_split_locations(text: str, rest: str, last: str | None) -> None:
    assert split_locations(text) == (rest, last)


def test_aliases_in_any_order() -> None:
    bodies = {
        "#loc9": "callsite(#loc8 at #loc7)",
        "#loc8": '"f"(#loc1)',
        "#loc7": "#loc2",
        "#loc1": '"/a.py":3:4',
        "#loc2": '"/b.py":5:6',
    }
    expected = Location("/a.py", 3, 4, B)
    assert resolve_aliases(bodies)["#loc9"] == expected
    assert resolve_aliases(dict(reversed(bodies.items())))["#loc9"] == expected


def test_cycles_are_unknown_locations() -> None:
    bodies = {"#loc1": "#loc2", "#loc2": '"x"(#loc1)', "#loc3": "#loc3", "#loc4": "fused[#loc1, #loc5]"}
    bodies["#loc5"] = '"/a.py":3:4'
    assert resolve_aliases(bodies) == {"#loc1": None, "#loc2": None, "#loc3": None, "#loc4": A, "#loc5": A}


@pytest.mark.parametrize("body", ["callsite(#loc{0} at #loc0)", "callsite(#loc0 at #loc{0})"])
def test_endless_inlining_keeps_the_outermost_locations(body: str) -> None:
    bodies = {"#loc0": '"/a.py":3:4'} | {f"#loc{n + 1}": body.format(n) for n in range(5_000)}
    location = resolve_aliases(bodies)["#loc5000"]
    assert location is not None
    assert hash(location) == hash(resolve_aliases(bodies)["#loc5000"])
    assert location.outermost == A


def test_long_chain_of_aliases_needs_no_recursion() -> None:
    bodies = {f"#loc{n}": f'"x"(#loc{n + 1})' for n in range(20_000)} | {"#loc20000": '"/a.py":3:4'}
    assert resolve_aliases(bodies)["#loc0"] == A
