"""Rich's tables as strings, so that reports stay functions of their input."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from irscope.report.paint import Paint

# What a pipe gets: nothing is cut or wrapped at any width that a line here has.
UNLIMITED = 1_000_000


def render(renderable: RenderableType, width: int | None, paint: Paint) -> str:
    """`renderable` as text `width` columns wide (None: as wide as it is), without trailing blanks."""
    file = io.StringIO()
    console = Console(
        file=file,
        width=width or UNLIMITED,
        force_terminal=paint.attributes,
        color_system="standard" if paint.attributes else None,
        no_color=not paint.colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(renderable, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
