"""Stage texts: damaged pieces of real ones through the parsers and the diff, and texts of any size."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.languages.language import Language, parse
from irscope.targets import STAGES

_DATA = Path(__file__).parents[1] / "data"
LANGUAGES = {stage.name: stage.language for stage in STAGES if stage.language}
SIGNS = "{}()<>[]#%^\"'\\@!,:;=\n\r\t\0\x1b \u2028\u202e\ud800"
_PIECE = 600


@cache
def pieces() -> dict[str, list[str]]:
    """Pieces of real stages by language."""
    found: dict[str, list[str]] = {}
    for path in [*sorted((_DATA / "stages").iterdir()), *sorted((_DATA / "sources").iterdir())]:
        language = LANGUAGES[path.name.rpartition(".")[2]]
        text = path.read_text()
        found.setdefault(language, []).extend(text[i : i + _PIECE] for i in range(0, len(text), _PIECE))
    return found


def damaged_text(rng: random.Random, known: list[str]) -> str:
    """A real piece, truncated, spliced with another, repeated, sprinkled with signs, or only noise."""
    text, other = rng.choice(known), rng.choice(known)
    cut, start = rng.randrange(len(text) + 1), rng.randrange(len(other) + 1)
    match rng.randrange(7):
        case 0:
            return text[:cut]
        case 1:
            return text[:cut] + other[start:]
        case 2:
            return text[:cut] + "".join(rng.choices(SIGNS, k=rng.randrange(1, 30))) + text[cut:]
        case 3:
            return text[:cut] + text[cut + rng.randrange(1, 40) :]
        case 4:
            return text[:cut] + rng.choice(SIGNS) * rng.randrange(1, 2000) + text[cut:]
        case 5:
            lines = text.split("\n")
            rng.shuffle(lines)
            return "\n".join(lines)
        case _:
            return rng.randbytes(rng.randrange(400)).decode("latin-1")


def parsed(rng: random.Random, folder: Path) -> None:
    """Parses and strips a damaged text of any language."""
    language = rng.choice(sorted(pieces()))
    text = damaged_text(rng, pieces()[language])
    check_parsing(text, language)
    Language.named(language).without_debug(text)


def check_parsing(text: str, language: str) -> Document:
    """The document of a text. Asserts that nothing is lost and that every operation is inside of the text."""
    document = parse(text, language)
    assert document.text == text
    assert all(0 <= op.line < op.end <= len(document.lines) for op in document.operations)
    assert all(-1 <= op.parent < len(document.operations) for op in document.operations)
    return document


def diffed(rng: random.Random, folder: Path) -> None:
    """Compares two damaged texts: every line of both is in one row, and swapped sides mirror the diff."""
    language = rng.choice(sorted(pieces()))
    known = pieces()[language]
    first = damaged_text(rng, known)
    second = damaged_text(rng, [first] if rng.random() < 0.5 and first else known)
    left, right = parse(first, language), parse(second, language)
    diff = diff_stage("stage", left, right)
    assert [row.left for row in diff.rows if row.left is not None] == list(range(len(left.lines)))
    assert [row.right for row in diff.rows if row.right is not None] == list(range(len(right.lines)))
    assert diff.summary
    if rng.random() < 0.2:
        assert diff_stage("stage", right, left).counts == diff.mirrored.counts


def large_text(kind: str, lines: int, seed: int) -> tuple[str, str]:
    """A text of `lines` lines and its language.

    "repeated": a real stage, over and over; "different": nothing in common with another seed; "similar": few
    distinct lines in random order; "braces": nested as deep as it is long; "one line".
    """
    rng = random.Random(seed)
    match kind:
        case "repeated":
            body = (_DATA / "stages" / _LARGE_STAGE).read_text().split("\n")
            return "\n".join(body[n % len(body)] for n in range(lines)), "llvm"
        case "different":
            numbers = (f"  %{seed}_{n} = op{seed} i32 %{seed}_{n - 1}, {2 * n + seed}" for n in range(lines))
            return "\n".join(numbers), "llvm"
        case "similar":
            words = ("add.s32", "mul.lo.s32", "mov.u32", "ld.global.f32", "st.global.f32", "fma.rn.f32")
            found = (
                f"\t{rng.choice(words)} \t%r{rng.randrange(9)}, {rng.randrange(9)};" for _ in range(lines)
            )
            return "\n".join(found), "ptx"
        case "braces":
            return "\n".join("scf.for %i = %a to %b step %c {" for _ in range(lines)), "mlir"
        case _:
            return "tensor<4xf32, #blocked> " * lines, "mlir"


LARGE = ("repeated", "different", "similar", "braces", "one line")
_LARGE_STAGE = "softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.llir"
