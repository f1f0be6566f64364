"""Operations in another order are moved or equal: their users have the operands that they had."""

from hypothesis import given
from hypothesis import strategies as st

from irscope.diff.rows import Change
from tests.diff.stages import diff_texts

CHAINS = {
    "a": ("%a0 = tt.splat %x : i32 -> tensor<64xi32>", "%a1 = arith.addi %a0, %r : tensor<64xi32>"),
    "b": ("%b0 = tt.splat %y : i32 -> tensor<64xi32>", "%b1 = arith.addi %b0, %r : tensor<64xi32>"),
    "c": ("%c0 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>",),
    "d": ("%d0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>",),
    "e": ("%e0 = arith.constant dense<3> : tensor<64xi32>",),
}
USERS = (
    "%u = arith.subi %a1, %b1 : tensor<64xi32>",
    "%v = arith.muli %u, %e0 : tensor<64xi32>",
    "%w = tt.expand_dims %c0 {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>",
    "%z = tt.expand_dims %d0 {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>",
)


def module(order: list[str], users: tuple[str, ...] = USERS, located: bool = True) -> str:
    body = ["%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>"]
    body += [line for name in order for line in CHAINS[name]] + list(users)
    if located:  # at the position of its statement, as in an edited file
        body = [f'{line} loc("k.py":{number}:4)' for number, line in enumerate(body, 1)]
    return "\n".join(["module {", "  tt.func @f(%x: i32, %y: i32) {", *body, "  }", "}", ""])


@given(st.permutations(list(CHAINS)))
def test_reordered_statements_only_move(order: list[str]) -> None:
    left, right = module(list(CHAINS)), module(order)
    assert set(diff_texts(left, right, "mlir").counts) <= {Change.MOVED}
    assert set(diff_texts(right, left, "mlir").counts) <= {Change.MOVED}
    assert not diff_texts(left, right, "mlir").structural


def test_a_moved_operation_has_a_row_on_each_side() -> None:
    diff = diff_texts(module(list("abcde")), module(list("cabde")), "mlir")
    rows = [row for row in diff.rows if row.change]
    assert [row.change for row in rows] == [Change.MOVED, Change.MOVED]
    assert {row.left is None for row in rows} == {True, False}
    assert {row.change.mark for row in rows} == {">"}
    assert diff.counts == {Change.MOVED: 1}


def test_swapped_operands_are_not_taken_for_a_move() -> None:
    users = (USERS[0].replace("%a1, %b1", "%b1, %a1"), *USERS[1:])
    left, right = module(list("abcde")), module(list("bacde"), users)
    assert Change.OPERANDS in diff_texts(left, right, "mlir").counts


def test_an_operation_between_a_value_and_its_user_is_the_only_change() -> None:
    more = "%e1 = arith.addi %e0, %r : tensor<64xi32>"
    users = (USERS[0], more, USERS[1].replace("%e0", "%e1"), *USERS[2:])
    left, right = module(list("abcde"), located=False), module(list("abcde"), users, located=False)
    assert diff_texts(left, right, "mlir").counts == {Change.ADDED: 1}
    assert diff_texts(right, left, "mlir").counts == {Change.REMOVED: 1}


def test_loop_carried_values_in_another_order() -> None:
    def loop(first: str, second: str) -> str:
        types = {"p": "tensor<8xf32>", "q": "tensor<16xf32>"}
        lines = [
            "%p0 = arith.constant dense<0.0> : tensor<8xf32>",
            "%q0 = arith.constant dense<0.0> : tensor<16xf32>",
            f"%l:2 = scf.for %i = %x to %y step %x iter_args(%{first} = %{first}0, %{second} = %{second}0)"
            f" -> ({types[first]}, {types[second]})  : i32 {{",
            "  %p1 = arith.negf %p : tensor<8xf32>",
            "  %q1 = arith.negf %q : tensor<16xf32>",
            f"  scf.yield %{first}1, %{second}1 : {types[first]}, {types[second]}",
            "}",
        ]
        return "\n".join(["module {", "  tt.func @f(%x: i32, %y: i32) {", *lines, "  }", "}", ""])

    diff = diff_texts(loop("p", "q"), loop("q", "p"), "mlir")
    changed = [
        diff.left.lines[row.left].split()[0] for row in diff.rows if row.change and row.left is not None
    ]
    assert changed == ["%l:2", "scf.yield"]


def constants(first: int, second: int) -> str:
    body = [
        f'%a = arith.constant dense<{first}> : tensor<64xi32> loc("k.py":1:4)',
        f'%b = arith.constant dense<{second}> : tensor<64xi32> loc("k.py":2:4)',
        '%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32> loc("k.py":3:4)',
        '%u = arith.addi %r, %a : tensor<64xi32> loc("k.py":4:4)',
        '%v = arith.subi %u, %b : tensor<64xi32> loc("k.py":5:4)',
    ]
    return "\n".join(["module {", "  tt.func @f() {", *body, "  }", "}", ""])


def test_constants_that_swap_places_change_their_readers() -> None:
    diff = diff_texts(constants(1, 2), constants(2, 1), "mlir")
    changed = [
        diff.left.lines[row.left].split()[0]
        for row in diff.rows
        if row.left and row.change == Change.CONSTANT
    ]
    assert changed == ["%u", "%v"]


def test_constants_that_grow_together_keep_their_places() -> None:
    diff = diff_texts(constants(64, 128), constants(128, 256), "mlir")
    changed = [
        diff.left.lines[row.left].split()[0]
        for row in diff.rows
        if row.left and row.change == Change.CONSTANT
    ]
    assert changed == ["%a", "%b"]
