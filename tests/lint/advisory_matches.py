"""Counts the advisories that match captures of ordinary kernels, to be read by hand.

    python -m tests.lint.advisory_matches CAPTURE...

A match of the pattern alone, whatever the versions and targets, shows how particular the pattern is.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from irscope.lint.advisory import advisories
from irscope.lint.advisory_match import advise_capture
from irscope.lint.compiled import CompiledKernel
from irscope.workspace.workspace import Workspace


def main(paths: list[str]) -> None:
    """Print the matches of each capture, then the totals."""
    timeless = [replace(advisory, affected="", ptxas="", targets=("*",)) for advisory in advisories()]
    kernels, variants, seconds = 0, 0, 0.0
    totals: Counter[str] = Counter()
    for path in paths:
        with Workspace(Path(path)) as workspace:
            groups: dict[tuple, list] = {}
            for variant in workspace.variants:
                groups.setdefault((variant.kernel.id, variant.target), []).append(variant)
            for group in groups.values():
                for kind, candidates in (("match", advisories()), ("pattern alone", timeless)):
                    facts = {variant.id: {} for variant in group}
                    compiled = CompiledKernel(
                        group, workspace.names, facts, workspace.contents.find, workspace.document
                    )
                    begin = time.perf_counter()
                    for advisory in candidates:
                        for diagnostic in advise_capture(advisory, compiled):
                            totals[kind] += 1
                            print(f"{kind}: {advisory.name}: {diagnostic.file}:{diagnostic.line}")
                    seconds += (time.perf_counter() - begin) * (kind == "match")
            kernels += len(groups)
            variants += len(workspace.variants)
    print(f"{len(paths)} captures, {kernels} kernels, {variants} variants: {dict(totals)}, {seconds:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
