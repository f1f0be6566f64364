"""Writes the manual page site/man/irscope.1 from the parsers of the commands.

python docs/scripts/man_page.py
"""

from __future__ import annotations

from pathlib import Path

from build_manpages.manpage import Manpage

from irscope import __version__
from irscope.cli.main import full_parser

# The section by which man -k and whatis find a page.
NAME = ".SH NAME\nirscope"
SUMMARY = "what the Triton compiler made of a GPU kernel under each config"
PAGE = Path(__file__).resolve().parents[2] / "site" / "man" / "irscope.1"


def main() -> None:
    """Writes the page; SOURCE_DATE_EPOCH sets its date."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    data = {"version": __version__, "manual_title": "irscope", "project_name": "irscope"}
    page = str(Manpage(full_parser(), data)).replace(NAME, f"{NAME} \\- {SUMMARY}", 1)
    PAGE.write_text(page, encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
