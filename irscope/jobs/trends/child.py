"""Compiles the launches of a plan file into a capture, in a Python with another Triton and other packages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from irscope.jobs.warm.launch_plans import WarmOptions, compile_launches
from irscope.jobs.warm.plan_file import read_plan
from irscope.model import UserError

ANSWER = "irscope trends: "


def main(plan: str, output: str, jobs: str, seconds: str) -> int:
    """Write the capture and print the problems as JSON, on a line after ANSWER; returns 1 if it fails."""
    options = WarmOptions(processes=int(jobs) or None, seconds=float(seconds), prices=False)
    try:
        varied = compile_launches(read_plan(Path(plan)), Path(output), options, "irscope trends")
    except UserError as error:
        _answer([str(error)])
        return 1
    _answer(varied.problems)
    return 0


def _answer(problems: Iterable[str]) -> None:
    """Print the answer; the packages that were imported may print anything before and after it."""
    print(f"\n{ANSWER}{json.dumps(list(problems))}", flush=True)
