"""Measures the app on a large capture: opening, memory, and what filtering and sorting take.

    python -m benchmarks.app_scale CAPTURE [--most 100]

CAPTURE has, for example, 10,000 variants (benchmarks/scale.py writes one). Prints CPU seconds until the table
and the compared stage are on the screen, and until all stages of the pair are compared, which goes on in the
background; peak memory of the process; and CPU milliseconds of the event loop for some filters and for
sorting by each column that is shown; those above --most are marked. Opening includes the imports, which take
0.4 s more where Python does not keep bytecode (PYTHONDONTWRITEBYTECODE).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import peak_megabytes

SIZE = (200, 50)
FILTERS = ("w", "warps=8", "num_warps>4", "BLOCK_M=64 regs>100", "!spills", "nothing matches this")


def cost(action: Callable[[], object]) -> float:
    """CPU milliseconds of an action."""
    start = time.process_time()
    action()
    return 1000 * (time.process_time() - start)


async def measure(capture: Path) -> dict[str, float]:
    """CPU seconds of opening, megabytes, and CPU milliseconds of what was done then."""
    start = time.process_time()
    from irscope.model.process import importing

    with importing():  # as the command line does
        from irscope.tui.app import IrscopeApp
    from irscope.tui.widgets.diff_view import DiffView
    from irscope.tui.widgets.variant_table import VariantTable
    from irscope.workspace import Workspace
    from tests.tui.driving import idle

    found: dict[str, float] = {}
    app = IrscopeApp(Workspace(capture))
    async with app.run_test(size=SIZE) as pilot:
        while not app.screen.query(DiffView) or not app.screen.query_one(DiffView).page.compared:
            await asyncio.sleep(0.001)
        await pilot._wait_for_screen()
        found["open"] = time.process_time() - start
        await idle(pilot, 120.0)
        found["idle"] = time.process_time() - start
        table = app.screen.query_one(VariantTable)
        for query in FILTERS:
            found[f"filter {query}"] = cost(lambda query=query: table.filter(query))  # type: ignore[misc]
        table.filter("")
        model = table.model
        for column in [model.columns[place] for place in model.shown]:
            for descending in (False, True):
                model.sort = (column.name, descending)
                title = f"sort {column.title}{' down' if descending else ''}"
                found[title] = cost(model.arrange)
        model.sort = ("differs", False)
        other = model.all[len(model.all) // 2]
        found["sort Differs in, with another A"] = cost(lambda: table.set_pair(other, other))
        await idle(pilot, 120.0)
    found["memory"] = peak_megabytes()
    return found


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("capture", type=Path)
    parser.add_argument("--most", type=float, default=100.0, help="milliseconds of a filter or a sort")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ["IRSCOPE_STATE"] = os.environ["IRSCOPE_CACHE"] = name
        found = asyncio.run(measure(args.capture))
    print(f"open    {found.pop('open'):.2f} s CPU, all stages compared {found.pop('idle'):.2f} s")
    print(f"memory  {found.pop('memory'):.0f} MB")
    for title, milliseconds in found.items():
        print(f"{milliseconds:6.0f} ms  {'OVER ' if milliseconds > args.most else ''}{title}")


if __name__ == "__main__":
    main()
