"""Writes docs/advisories.md, which lists the advisories, from their files.

    python docs/scripts/advisories.py

tests/lint/test_advisories.py fails if an advisory changed and this was not run.
"""

from __future__ import annotations

from pathlib import Path

from irscope.lint.advisory import Advisory, advisories

PAGE = Path(__file__).resolve().parents[1] / "advisories.md"
_TITLES = {
    "wrong results": "Wrong results",
    "hang": "Hangs",
    "crash": "Crashes",
    "misleading": "Misleading messages",
}
_HEAD = """\
# Advisories

Known bugs of Triton, of the compilers below it and of libraries of kernels, each from a public thread. \
[irscope lint](commands/lint.md) compares them with what a capture's compiler made of its kernels, and the \
calls in a Python file with the installed Triton, without network. `irscope lint --advisories` reports \
nothing else, `irscope explain NAME` prints one.

An advisory states what a kernel must have to be affected: operations, config, target, versions. If the \
versions of a report are right but the kernel computes what it should, suppress it with \
`# irscope: ignore[NAME]`. An advisory is a TOML file in `irscope/lint/advisories/`.
"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(advisories_page(), encoding="utf-8")


def advisories_page() -> str:
    """Return the text of docs/advisories.md."""
    parts = [_HEAD]
    for effect, title in _TITLES.items():
        rows = [_row(advisory) for advisory in advisories() if advisory.effect == effect]
        if rows:
            header = ["| advisory | what happens | affected | workaround |", "| --- | --- | --- | --- |"]
            parts += [f"## {title}\n", "\n".join([*header, *rows, ""])]
    return "\n".join(parts)


def _row(advisory: Advisory) -> str:
    cells = (
        f"[{advisory.name}]({advisory.source}) {advisory.code}",
        _escaped(f"{advisory.summary} {advisory.description}"),
        _escaped(advisory.versions),
        _escaped(advisory.workaround),
    )
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_")


if __name__ == "__main__":
    main()
