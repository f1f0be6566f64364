"""Text that nothing shows: it must not pass any function that makes text printable, nor their callers."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

from irscope.document.html.markup import element
from irscope.document.json.records import json_text
from irscope.jobs.warm.plan_file import text_value
from irscope.mcp.answers import Item, ToolAnswer, rendered
from irscope.model.text import code, display_line, markdown_escaped, one_line, printable
from tests.hardening.hostile import INVISIBLE, TEXTS
from tests.hardening.views import UNSAFE

_RANGES = (
    *((0, 0x250), (0x1000, 0x2070), (0x2000, 0x3200), (0xD7F0, 0x10000)),
    *((0x1B000, 0x1D200), (0xE0000, 0xE1000)),
)


def shown(rng: random.Random, folder: Path) -> None:
    """Shows a text by every way to show one."""
    text = "".join(rng.choice((_any, _near, _known))(rng) for _ in range(rng.randrange(40)))
    lines = [printable(text), one_line(text), display_line(text), code(text), markdown_escaped(text)]
    lines += [element("p", text, title=text), json_text({text: [text]}), text_value(text)]
    answer = rendered(ToolAnswer(text, {"name": text, "list": [{text: text}]}, "rows", [Item(text, [text])]))
    for line in (*lines, answer.text, *_texts(answer.data)):
        found = UNSAFE.search(line.replace("\n", " "))
        assert not found, (ascii(text), ascii(line))
        assert not any(unicodedata.category(character) == "Cs" for character in line)
    assert printable(printable(text)) == printable(text)
    plain = "".join(character for character in text if " " <= character < "\x7f")
    assert printable(plain) == plain


def _any(rng: random.Random) -> str:
    return chr(rng.randrange(0x110000))


def _near(rng: random.Random) -> str:
    return chr(rng.randrange(*rng.choice(_RANGES)))


def _known(rng: random.Random) -> str:
    return rng.choice((*INVISIBLE, rng.choice(TEXTS)[:20], "a", "`", "|"))


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in _texts(part)]
    return [text for part in value for text in _texts(part)] if isinstance(value, list | tuple) else []
