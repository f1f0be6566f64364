"""The `if` of a kernel that two variants decide differently, from the lines that each compiled."""

from __future__ import annotations

from irscope.findings.computations import chosen_branches
from irscope.model import SourceFunction

CHAIN = SourceFunction(
    "kernel",
    "kernels.py",
    1,
    """\
def kernel(x, MODE):
    if MODE == 0:
        x = x + 1
    elif MODE == 1:
        x = x * 2
    else:
        x = x - 3
    return x
""",
)


def test_the_condition_that_differs_in_a_chain_is_named() -> None:
    """MODE 1 against MODE 2: `MODE == 0` is false on both sides."""
    (branch,) = chosen_branches(CHAIN, {"MODE"}, {5, 8}, {7, 8})
    assert (branch.line, branch.test) == (4, "MODE == 1")
    assert (branch.only_a, branch.only_b) == ((5,), (7,))


def test_the_first_condition_of_a_chain_is_named_if_it_differs() -> None:
    (branch,) = chosen_branches(CHAIN, {"MODE"}, {3, 8}, {5, 8})
    assert (branch.line, branch.test) == (2, "MODE == 0")


def test_a_condition_of_equal_values_is_not_named() -> None:
    assert chosen_branches(CHAIN, {"OTHER"}, {3, 8}, {5, 8}) == []
