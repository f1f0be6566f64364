"""Python files for `irscope lint`: the samples and real kernels, damaged, and encodings of every kind."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from irscope.model import UserError
from irscope.workspace.linting import lint
from tests.hardening.texts import damaged_text

_SAMPLES = Path(__file__).parents[2] / "samples"
_HEADS = (
    b"# coding: rot13\n",
    b"# coding: utf-16\n",
    b"# coding: zip\n",
    b"# coding: hex\n",
    b"# coding: nonsense\n",
    b"# coding: idna\n",
    b"# coding: unicode_escape\n",
    b"# coding: utf-7\n",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"# coding: latin-1\n",
    b"# coding: undefined\n",
    b"#!/bin/sh\n# vim: set fileencoding=base64 :\n",
)
_KERNEL = b"import triton\nimport triton.language as tl\n%s@triton.jit\ndef k(p, N: tl.constexpr):\n    %s\n"
_BODIES = (
    b"(" * 3000,
    b"-" * 9000 + b"1",
    b"a." * 3000 + b"b",
    b"x = " + b"9" * 6000,
    b"\0" * 50,
    b"if 1:\n" * 300,
    b"def f():\n" + b" " * 9000 + b"pass\n",
    b"import triton\n@triton.jit\ndef k(" + b"a," * 5000 + b"): pass\n",
    b"1 if 1 else " * 900 + b"1",
    b"lambda: " * 900 + b"1",
    b"[" * 150 + b"]" * 150,
    b"x = 1" + b" + 1" * 5000,
    b"from __future__ import braces\n",
    b"yield 1\n",
    b"x: int = " + b"(1,)*" * 90 + b"2\n",
    b"f'{" * 30,
    _KERNEL % (b"", b"tl.arange(0, 10 ** 10 ** 9)"),
    _KERNEL % (b"", b"tl.load(p + (1 << (1 << 40)))"),
    _KERNEL % (b"B = 'a' * 10 ** 12\n", b"tl.load(p + B)"),
    _KERNEL % (b"B = [0] * 10 ** 12\nC = 7 ** 7 ** 7 ** 7\n", b"tl.load(p + B[3] + C)"),
)


@cache
def _pieces() -> list[str]:
    texts = [path.read_text() for path in sorted(_SAMPLES.glob("*.py"))]
    return [text[i : i + 1500] for text in texts for i in range(0, len(text), 500)]


def linted(rng: random.Random, folder: Path) -> None:
    """Lints a damaged file: problems, or a reason why it cannot be read."""
    head = rng.choice(_HEADS) if rng.random() < 0.15 else b""
    if rng.random() < 0.1:
        body = rng.choice(_BODIES)
    else:
        text = "import triton\nimport triton.language as tl\n\n" + damaged_text(rng, _pieces())
        body = text.encode("utf-8", rng.choice(("replace", "surrogatepass")))
    (folder / "case.py").write_bytes(head + body)
    try:
        result = lint([folder / "case.py"])
    except UserError:
        return
    assert result.files == 1
