"""The versions that a user names: `--triton 3.8.0,3.9.0 --ptxas own,12.9`, each as an environment."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from irscope.versions.environments import Environment, VersionUnavailable, own_triton, prepare
from irscope.versions.packages import Report

# The newest release of each minor version that irscope compiles with.
SUPPORTED = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
# The assembler that a version of Triton brings.
OWN_PTXAS = "own"
# Downloads at a time.
_THREADS = 4


def chosen_environments(
    tritons: Sequence[str], assemblers: Sequence[str], report: Report
) -> tuple[list[Environment], list[str]]:
    """The environments of the product of versions, and a line for each that cannot be had.

    No `tritons`: those that irscope supports, or only this Python's own if there are `assemblers`. No
    `assemblers`: each Triton's own.
    """
    own = own_triton()
    if not tritons:
        tritons = [own[0]] if assemblers and own is not None else SUPPORTED
    wanted = list(product(dict.fromkeys(tritons), dict.fromkeys(assemblers or [OWN_PTXAS])))

    def made(choice: tuple[str, str]) -> Environment | VersionUnavailable:
        version, ptxas = choice
        try:
            return prepare(version, None if ptxas == OWN_PTXAS else ptxas, report)
        except VersionUnavailable as error:
            return error

    with ThreadPoolExecutor(_THREADS) as threads:
        results = list(threads.map(made, wanted))
    environments = [each for each in results if isinstance(each, Environment)]
    problems = [str(each) for each in results if isinstance(each, VersionUnavailable)]
    return list(dict.fromkeys(environments)), list(dict.fromkeys(problems))
