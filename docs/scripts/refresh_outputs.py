"""Writes what the commands in README.md and docs/ print now into their pages.

    python docs/scripts/refresh_outputs.py                     # all pages
    python docs/scripts/refresh_outputs.py docs/tutorial.md    # only these

Runs the commands as tests/docs/test_commands.py does, and rewrites each output that no longer matches. If a
page leaves out lines (`...`), the new output leaves out the corresponding ones: as many lines stay before the
first `...` and after the last, and those in between go where they resemble the new output most. Read the diff
afterwards. What Python sessions (```pycon) print and the summaries in docs/diff-cases.md are rewritten too.
Needs Triton 3.9; skips commands whose needs this machine does not meet.

Exits with 1 if a command had an unexpected exit code; its output is not written then.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.docs.examples import examples, outputs  # noqa: E402
from tests.docs.pages import PAGES, Command, commands, fits  # noqa: E402
from tests.docs.shell import Shell, runs_here, shows_commands  # noqa: E402
from tests.docs.test_diff_cases import CASE, summary_of  # noqa: E402

DIFF_CASES = ROOT / "docs" / "diff-cases.md"
# docs/scripts/lessons.py writes these.
GENERATED = ROOT / "docs" / "learn"
ELLIPSIS = "..."


def main() -> int:
    """Refreshes the pages named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page", nargs="*", type=Path, help="only these (default: all)")
    wanted = [page.resolve() for page in parser.parse_args().page] or PAGES
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        shell = Shell(Path(scratch))
        for page in wanted:
            if shows_commands(page) and not page.is_relative_to(GENERATED):
                failed |= not refresh(page, shell)
            refresh_examples(page, shell)
    if DIFF_CASES in wanted:
        refresh_diff_cases()
    return int(failed)


def refresh(page: Path, shell: Shell) -> bool:
    """Rewrites the outdated outputs of a page; False if a command had an unexpected exit code."""
    folder = shell.prepare(page)
    lines = page.read_text(encoding="utf-8").splitlines()
    good = True
    changes: list[tuple[Command, list[str]]] = []
    for command in filter(runs_here, commands(page)):
        done = shell.run(command.text, folder)
        printed = shell.printed(done).splitlines()
        where = f"{page.relative_to(ROOT)}:{command.line}"
        if done.returncode != command.exit_code:
            good = False
            print(f"{where}: exit code {done.returncode}, expected {command.exit_code}: $ {command.text}")
            print("\n".join(f"    {line}" for line in printed))
        elif command.output is not None and not fits(command.output, printed):
            changes.append((command, elide(command.output, printed)))
            abridged = any(ELLIPSIS in line for line in command.output)
            print(f"{where}: rewritten{', check what it leaves out' if abridged else ''}")
    for command, output in reversed(changes):
        line = lines[command.line - 1]
        indent = line[: len(line) - len(line.lstrip())]
        start = command.line + command.text.count("\n")
        lines[start : start + len(command.output or ())] = [
            (indent + line).rstrip() if indent else line for line in output
        ]
    if changes:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return good


def refresh_examples(page: Path, shell: Shell) -> None:
    """Rewrites what the Python sessions of a page print."""
    text = page.read_text(encoding="utf-8")
    shown = list(examples(text))
    for example, printed in reversed(list(zip(shown, outputs(page, shell) if shown else [], strict=True))):
        if not fits(example.output, printed):
            print(f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, example.start)}: rewritten")
            lines = "".join(f"{line}\n" for line in elide(example.output, printed))
            page.write_text(text := text[: example.start] + lines + text[example.end :], encoding="utf-8")


def elide(shown: list[str], printed: list[str]) -> list[str]:
    """`printed` with the same parts left out as `shown` leaves out."""
    parts: list[list[str]] = [[]]
    gaps: list[str] = []
    for line in shown:
        if line.strip() == ELLIPSIS:
            gaps.append(line)
            parts.append([])
        else:
            parts[-1].append(line)
    if not gaps:
        return list(_shortened_lines(shown, printed))
    first, *middle, last = parts
    end = max(len(printed) - len(last), 0)
    output = printed[: min(len(first), end)]
    place = len(output)
    for gap, part in zip(gaps, middle, strict=False):
        place = _best_place(part, printed, place, end)
        output += [gap, *printed[place : min(place + len(part), end)]]
        place = min(place + len(part), end)
    return list(_shortened_lines(shown, [*output, gaps[-1], *printed[end:]]))


def _best_place(part: list[str], printed: list[str], start: int, end: int) -> int:
    """The index, from `start` on, of the printed lines that resemble `part` most."""

    def likeness(place: int) -> float:
        pairs = zip(part, printed[place:end], strict=False)
        return sum(SequenceMatcher(None, *pair).ratio() for pair in pairs)

    return max(range(start, max(end - len(part), start) + 1), key=likeness)


def _shortened_lines(shown: list[str], printed: list[str]) -> Iterator[str]:
    """The printed lines; one that resembles a line shortened with `...` is shortened where that one is."""
    shortened = [line for line in shown if ELLIPSIS in line and line.strip() != ELLIPSIS]
    for line in printed:
        kept = next((one for one in shortened if fits([one], [line])), None)
        if kept is None and line.strip() != ELLIPSIS:
            kept = next((cut for one in shortened if (cut := _shorten(one, line))), None)
        yield line if kept is None else kept


def _shorten(shown: str, printed: str) -> str | None:
    """`printed`, shortened between the same words as `shown` is; None if it does not have them."""
    before, _, after = shown.partition(ELLIPSIS)
    head, tail = before[-12:].strip(), after[:12].strip()
    start = printed.find(head) + len(head) if head in printed else -1
    end = printed.find(tail, start) if tail else len(printed)
    if start < 0 or end < start or not head:
        return None
    gap = " " if before.endswith(" ") else ""
    return printed[:start] + gap + ELLIPSIS + (" " if after.startswith(" ") else "") + printed[end:]


def refresh_diff_cases() -> None:
    """Rewrites the summaries of docs/diff-cases.md."""
    text = DIFF_CASES.read_text(encoding="utf-8")
    new = CASE.sub(lambda case: case[0].replace(f"`{case['summary']}`", f"`{summary_of(case)}`"), text)
    if new != text:
        DIFF_CASES.write_text(new, encoding="utf-8")
        print(f"{DIFF_CASES.relative_to(ROOT)}: rewritten")


if __name__ == "__main__":
    sys.exit(main())
