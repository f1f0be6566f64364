"""Writes the pages of the docs site to site/pages, from docs/ and other files of the repository.

    python docs/scripts/site_pages.py && mkdocs build --strict

The README becomes the start page, the glossary is generated from irscope's own entries, the reference of the
Python API from its signatures and docstrings, and a file outside of docs/ that a page links to becomes a page
with its text. Input and output are plain Markdown, without plugins or hooks of one site builder, so that
Zensical, which follows Material, can replace it.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from pathlib import Path

from page_checks import problems_of_pages
from python_reference import with_reference

from irscope.glossary.glossary import GlossaryEntry, topics

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "site" / "pages"
# Files of the repository that have another name on the site.
RENAMED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
COPIED = {".md", ".svg", ".png", ".txt"}
_LINK = re.compile(r"""(\]\(|src(?:set)?=")([^)\s#:"]+)((?:#[^)\s]*)?[)"])""")
_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)


def main() -> None:
    """Write every page; exit with the problems of the pages, if any has one."""
    shutil.rmtree(PAGES, ignore_errors=True)
    files = [path for path in sorted((ROOT / "docs").rglob("*")) if path.suffix in COPIED]
    texts = [path for path in (*files, ROOT / "README.md", ROOT / "CONTRIBUTING.md") if path.suffix == ".md"]
    checked = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in texts}
    if problems := list(problems_of_pages(checked)):
        sys.exit("\n".join(problems))
    sources: set[str] = set()
    for path in [*files, *(ROOT / name for name in RENAMED)]:
        name = path.relative_to(ROOT).as_posix()
        target = PAGES / page_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text, linked = with_site_links(path.read_text(encoding="utf-8"), name)
            if name.startswith("docs/api/"):
                text = with_reference(text, path.name)
            target.write_text(text, encoding="utf-8")
            sources |= linked
        else:
            shutil.copyfile(path, target)
    for name in sources:
        page = PAGES / page_of(name)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(source_page(name), encoding="utf-8")
    (PAGES / "glossary.md").write_text(glossary(), encoding="utf-8")


def page_of(name: str) -> str:
    """The path on the site of a file of the repository."""
    if name in RENAMED:
        return RENAMED[name]
    return name.removeprefix("docs/") if name.startswith("docs/") else f"source/{name}.md"


def with_site_links(text: str, name: str) -> tuple[str, set[str]]:
    """The text of the page `name` with links as on the site, and the linked files outside of docs/.

    A broken link stays as it is, and the site builder reports it.
    """
    folder = posixpath.dirname(page_of(name))
    sources: set[str] = set()

    def moved(match: re.Match[str]) -> str:
        linked = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        if linked.startswith("../") or not (ROOT / linked).is_file():
            return match[0]
        if not linked.startswith("docs/") and linked not in RENAMED:
            sources.add(linked)
        return match[1] + posixpath.relpath(page_of(linked), folder or ".") + match[3]

    parts = _FENCE.split(text)
    parts[::2] = [_LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts), sources


def source_page(name: str) -> str:
    """A page with the text of a file."""
    language = {".py": "python", ".toml": "toml"}.get(Path(name).suffix, "text")
    text = (ROOT / name).read_text(encoding="utf-8")
    return f"---\ntitle: {posixpath.basename(name)}\n---\n\n# {name}\n\n````{language}\n{text}````\n"


def glossary() -> str:
    """Every entry of `irscope explain`, by topic."""
    lines = ["# Glossary", "", "The entries that `irscope explain WORD` and `e` in the app show.", ""]
    for title, entries in topics():
        lines += [f"## {title}", ""]
        for entry in entries:
            lines += [f"### {_plain(entry.word)}", "", *_body(entry)]
    return "\n".join(lines)


def _body(entry: GlossaryEntry) -> list[str]:
    text = [_plain(entry.text), ""]
    if entry.names:
        text += ["Also: " + ", ".join(f"`{name}`" for name in entry.names), ""]
    if entry.see:
        text += [
            "See: " + (f"[{entry.see.title}]({entry.see.url})" if entry.see.url else entry.see.title),
            "",
        ]
    return text


def _plain(text: str) -> str:
    """`text` with all Markdown escaped except code spans."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*_<\[#])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


if __name__ == "__main__":
    main()
