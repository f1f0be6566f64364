"""Lays out the pages of the docs site in site/pages: docs/, and what stands elsewhere in the repository.

    python docs/site_pages.py && mkdocs build --strict

The README becomes the start page, the glossary is made of irscope's own entries, and a file that a page links
to outside of docs/ becomes a page with its text. Plain Markdown goes in and comes out: no plugin or hook of
one site builder is needed, so that Zensical, which follows Material, can take over by being called instead.
"""

from __future__ import annotations

import posixpath
import re
import shutil
from pathlib import Path

from irscope.glossary.glossary import GlossaryEntry, topics

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "site" / "pages"
# Files of the repository that are pages under another name.
RENAMED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
COPIED = {".md", ".svg", ".png"}
_LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)


def main() -> None:
    """Writes every page anew."""
    shutil.rmtree(PAGES, ignore_errors=True)
    files = [path for path in sorted((ROOT / "docs").rglob("*")) if path.suffix in COPIED]
    sources: set[str] = set()
    for path in [*files, *(ROOT / name for name in RENAMED)]:
        name = path.relative_to(ROOT).as_posix()
        target = PAGES / page_of(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text, linked = with_site_links(path.read_text(encoding="utf-8"), name)
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
    """Where a file of the repository is on the site."""
    if name in RENAMED:
        return RENAMED[name]
    return name.removeprefix("docs/") if name.startswith("docs/") else f"source/{name}.md"


def with_site_links(text: str, name: str) -> tuple[str, set[str]]:
    """The text of the page `name` with links that hold on the site, and the files linked to outside docs/.

    A link that leads nowhere stays as it is: the builder tells of it.
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
    """Every entry of irscope explain, by topic."""
    lines = ["# Glossary", "", "What `irscope explain WORD` and `e` in the app say.", ""]
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
    """`text` in which only code spans are Markdown."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*_<\[#])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


if __name__ == "__main__":
    main()
