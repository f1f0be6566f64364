"""What `irscope pick --export` writes: files that serving systems load, JSON, a module with configs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from irscope.document.blocks import Block, Line, Table, title
from irscope.document.json.records import json_value
from irscope.model import Launch, parse_value
from irscope.model.records import grouped
from irscope.model.text import microseconds_text, one_line, pluralize
from irscope.workspace import Choice, Pick
from irscope.workspace.problem_sizes import problem_titles, tuning_names
from irscope.workspace.tuned_configs import Export, TunedFile, TunedSize, own_name

TUNED_SCHEMA = "irscope.tuned/1"


def serving_text(file: TunedFile) -> str:
    """Return the file that a serving system loads: a config for each number of rows."""
    sizes = {str(size.size): dict(size.config) for size in file.sizes}
    return json.dumps(sizes, indent=4) + "\n"


def own_files(export: Export, form: str) -> dict[str, str]:
    """Return a file per kernel, by name, for `form` "json" (the configs with their estimates) or "python"."""
    text = _json_text if form == "json" else _python_text
    by_kernel = grouped([pick for _, pick in export.picks], lambda pick: pick.choices[0].variant.kernel)
    return {
        own_name(export.rates, picks[0].problem, form): text(export, picks) for picks in by_kernel.values()
    }


def _json_text(export: Export, picks: Sequence[Pick]) -> str:
    return json.dumps(tuned_document(export, picks), indent=2) + "\n"


def tuned_document(export: Export, picks: Sequence[Pick]) -> dict[str, Any]:
    """Return the JSON document of one kernel."""
    return {
        "schema": TUNED_SCHEMA,
        "kernel": picks[0].problem.kernel,
        "device": export.rates.name,
        "target": export.rates.target,
        "problems": [_problem(pick) for pick in picks],
    }


def _problem(pick: Pick) -> dict[str, Any]:
    estimated = [choice for choice in pick.accepted if choice.estimate]
    best = estimated[0]
    return {
        "arguments": _values(dict(pick.problem.arguments)),
        "constants": _values(dict(pick.problem.constants)),
        "configs": [_config(choice) for choice in estimated],
        "confidence": {
            "complete": bool(best.estimate and best.estimate.complete),
            "ahead": _ahead(pick),
            "limits": list(pick.limits),
            "rank_correlation": pick.correlation,
            "text": pick.confidence,
        },
    }


def _config(choice: Choice) -> dict[str, Any]:
    settings = {name: json_value(value) for name, value in choice.variant.settings.items()}
    launch: Launch | None = choice.launch
    return {
        "values": settings,
        "grid": list(launch.grid) if launch else None,
        "estimate_us": round(choice.estimate.microseconds, 4) if choice.estimate else None,
        "bound": choice.bound,
        "measured_us": choice.measured,
    }


def _ahead(pick: Pick) -> float | None:
    """Return the second shortest estimate over the shortest one; None if there is only one."""
    times = sorted(c.estimate.microseconds for c in pick.choices if c.estimate and c.reason != "duplicate")
    return round(times[1] / times[0], 4) if len(times) > 1 else None


def _values(texts: Mapping[str, str]) -> dict[str, Any]:
    return {name: json_value(parse_value(text)) for name, text in texts.items()}


def _python_text(export: Export, picks: Sequence[Pick]) -> str:
    """Return a Python module: `CONFIGS` and `KEY`, for `@triton.autotune`."""
    return "\n".join(_module(export, picks)) + "\n"


def _module(export: Export, picks: Sequence[Pick]) -> Iterator[str]:
    device = one_line(export.rates.name)
    yield f"# Configs of {one_line(picks[0].problem.kernel)} for {device}, chosen by estimated time:"
    yield "# @triton.autotune(CONFIGS, key=KEY). Below each config are the problems that it is for."
    yield "import triton"
    yield ""
    yield f"KEY = {json.dumps(_key(picks))}"
    yield "CONFIGS = ["
    uses: dict[str, list[str]] = {}
    for pick, text in zip(picks, problem_titles([pick.problem for pick in picks]), strict=True):
        for choice in pick.accepted:
            time = f": {microseconds_text(choice.estimate.microseconds)} us" if choice.estimate else ""
            uses.setdefault(one_line(choice.variant.config.code), []).append(f"{text}{time}")
    for code, problems in uses.items():
        yield f"    {code},"
        yield from (f"    # {one_line(text)}" for text in problems)
    yield "]"


def _key(picks: Sequence[Pick]) -> list[str]:
    """Return the autotuner's own key, else the numbers that differ between the problems, or all of them."""
    names = tuning_names(picks[0].choices[0].variant.kernel)
    if names:
        return list(names)
    numbers = [{n: v for n, v in pick.problem.arguments if re.fullmatch(r"-?\d+", v)} for pick in picks]
    every = list(dict.fromkeys(name for values in numbers for name in values if "stride" not in name))
    differing = [name for name in every if len({values.get(name) for values in numbers}) > 1]
    return differing or every


def export_content(files: Sequence[TunedFile], written: Sequence[str]) -> Iterator[Block]:
    """Yield what was chosen for each size, and the files that were written."""
    for file in files:
        yield title(f"{file.path}  {file.device}")
        names = [name for name, _ in file.sizes[0].config]
        headings = ["M", *(name.replace("_", "_\n") for name in names), "estimate\nus", "bound by"]
        rows = [_row(size) for size in file.sizes]
        yield Table.from_rows(rows, headings, ">" * (len(names) + 2) + "<", gap=True)
        estimates = [choice.estimate for size in file.sizes for choice in size.choices if choice.estimate]
        yield from map(Line, dict.fromkeys(text for one in estimates for text in one.limits))
    yield Line(f"{pluralize(len(written), 'file')} written:", gap=True)
    yield from (Line(one_line(path), 1) for path in written)


def _row(size: TunedSize) -> tuple[str, ...]:
    bounds = dict.fromkeys(choice.bound for choice in size.choices)
    values = (str(value) for _, value in size.config)
    doubtful = any(choice.estimate and choice.estimate.depends for choice in size.choices)
    return str(size.size), *values, microseconds_text(size.microseconds) + "?" * doubtful, ", ".join(bounds)
