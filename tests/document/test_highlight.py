"""Highlighting only adds colors."""

from __future__ import annotations

import re

import pytest

from irscope.document.terminal import highlight
from irscope.document.terminal.highlight import highlighted

SAMPLES = {
    "mlir": '\n\n  %0 = tt.load %p : tensor<64xf32, #blocked> loc("f.py":1:2)\n#x = @@ ??\n',
    "llvm": "define void @f() {\n  %1 = add i32 %0, 1, !dbg !12 ; why\n}",
    "ptx": "\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];\n",
    "sass": "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n",
    "amdgcn": "\ts_load_dwordx2 s[2:3], s[0:1], 0x0 ; wait\n",
    "python": "@triton.jit\ndef f(x):\n    return x + 1  # one\n",
    "text": "ptxas info    : Used 16 registers\n",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_the_text_is_unchanged(language):
    text = SAMPLES[language]
    shown = highlighted(text, language)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == text
    assert (shown != text) == (language != "text")


def test_a_huge_text_is_not_highlighted(monkeypatch):
    monkeypatch.setattr(highlight, "MAX_CHARACTERS", 10)
    assert highlighted(SAMPLES["llvm"], "llvm") == SAMPLES["llvm"]
