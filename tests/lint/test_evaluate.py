"""Static evaluation: which values are known, which are not, and that the work is limited."""

from __future__ import annotations

import ast

import pytest

from irscope.lint.source.evaluate import UNKNOWN
from irscope.lint.source.python_module import PythonModule

FUNCTIONS = """
import triton
from itertools import product

SIZES = [64, 128]
A, (B, C) = 1, (2, 3)

def pairs(n, step=2, *, warps=(4, 8)):
    "docstring"
    found = []
    for size in SIZES:
        for warp in warps:
            found.append((size // step, warp))
    found.extend([n])
    return found

def pick(n):
    if n > 4:
        return "big"
    elif unknown():
        return "?"
    total: int = 0
    total += n
    return total

def nothing():
    pass

def again(n):
    return again(n)

def endless():
    for a in range(5000):
        for b in range(5000):
            for c in range(5000):
                pass
    return 1
"""


def value(expression):
    module = PythonModule(FUNCTIONS, "file.py")
    return module.value(ast.parse(expression, mode="eval").body, module.scope)


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("2 ** 10 - 1 << 1", 2046),
        ("[x * 2 for x in SIZES if x > 64]", [256]),
        ("[(x, y) for x, y in product(SIZES, [1])]", [(64, 1), (128, 1)]),
        ("{**{'a': 1}, 'b': 2}['b']", 2),
        ("[*SIZES, A, B, C]", [64, 128, 1, 2, 3]),
        ("pairs(1, 2, warps=[4])", [(32, 4), (64, 4), 1]),
        ("pick(5)", "big"),
        ("pick(3)", UNKNOWN),
        ("nothing()", None),
        ("triton.cdiv(100, 32) if not False else 0", 4),
        ("triton.next_power_of_2(100)", 128),
        ("max(SIZES) or 1", 128),
        ("SIZES[-1] in (128, 256) and 'yes'", "yes"),
        ("[unknown, 1]", [UNKNOWN, 1]),
        ("SIZES + unknown", UNKNOWN),
        ("[x for x in SIZES if x > unknown]", UNKNOWN),
        ("1 / 0", UNKNOWN),
        ("SIZES[7]", UNKNOWN),
        ("open('/etc/passwd')", UNKNOWN),
        ("pairs()", UNKNOWN),
    ],
)
def test_values(expression, known):
    found = value(expression)
    if expression == "pairs()":
        # n was not passed; the rest is known.
        assert found == [(32, 4), (32, 8), (64, 4), (64, 8), UNKNOWN]
    else:
        assert found == known and type(found) is type(known)


@pytest.mark.parametrize(
    "expression",
    [
        "10 ** 10 ** 10",
        "1 << 10 ** 9",
        "[0] * 10 ** 9",
        "'x' * 10 ** 9",
        "range(10 ** 12)",
        "[x for x in range(5000) for y in range(5000)]",
        "list(product(range(4000), range(4000), range(4000)))",
        "again(1)",
        "endless()",
        "-" * 500 + "1",
    ],
)
def test_expensive_expressions_are_unknown(expression):
    assert value(expression) is UNKNOWN


def test_circular_names_are_unknown():
    module = PythonModule("a = b\nb = a\n", "file.py")
    assert module.value(ast.Name("a", ast.Load()), module.scope) is UNKNOWN
