"""Compiles the launches of a plan file into a capture, in a Python with another Triton and other packages."""

from __future__ import annotations

import json
import os
from pathlib import Path

from irscope.model import UserError
from irscope.warming.plan_file import read_plan
from irscope.warming.variations import VaryOptions, vary


def main(plan: str, output: str, jobs: str, seconds: str) -> int:
    """Writes the capture and prints problems and Triton's version as JSON on the last line; 1 if it fails."""
    options = VaryOptions(processes=int(jobs) or None, seconds=float(seconds), prices=False)
    try:
        varied = vary(read_plan(Path(plan)), Path(output), options, "irscope trends")
    except UserError as error:
        print(json.dumps({"error": str(error)}))
        return 1
    print(json.dumps({"problems": list(varied.problems), "failed": varied.failed, "process": os.getpid()}))
    return 0
