"""Checks a worker of a cluster before it gets its first job: the versions there, and the kernel's file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.capturing.cluster.dask_worker import prepare_in_thread
from irscope.capturing.cluster.shipment import Shipment
from irscope.model import UserError
from irscope.model.errors import error_line

if TYPE_CHECKING:
    from distributed import Client

# Evaluated by Python's own eval, for the case that irscope is missing there, or another one.
_EXPRESSION = "(__import__('platform').python_version(), __import__('irscope').__version__)"
# Versions that may differ: Triton compiles without torch, and builds of it for CPUs and GPUs differ in name.
_MAY_DIFFER = frozenset({"torch"})
_AT_ONCE = 16
# A check whose connection fails is tried so often.
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Accepted:
    """The worker at this address compiles as this machine does."""

    address: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The worker at this address cannot be used; `problem` is a line that names it and says why."""

    address: str
    problem: str


class WorkerChecks:
    """The checks of a sweep's workers, each in a thread; `report` takes each result, in any thread.

    `expected` are the versions of this machine. `versions` are those found, by address.
    """

    def __init__(
        self,
        client: Client,
        shipment: Shipment,
        expected: Mapping[str, str],
        seconds: float,
        report: Callable[[Accepted | Refused], None],
    ) -> None:
        self._client, self._shipment, self._expected = client, shipment, expected
        self._seconds, self._report = seconds, report
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="irscope-check")
        self._known: set[str] = set()
        self.running = 0
        self.versions: dict[str, Mapping[str, str]] = {}

    def start(self, addresses: Iterable[str]) -> None:
        """Starts the checks of workers that were not checked before."""
        for address in addresses:
            if address not in self._known:
                self._known.add(address)
                self.running += 1
                self._threads.submit(self._check, address)

    def repeat(self, address: str) -> None:
        """Forgets the check of a worker: another process has its address now."""
        self._known.discard(address)

    def ended(self) -> None:
        """Counts a result that was taken."""
        self.running -= 1

    def stop(self) -> None:
        """Starts no more checks."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, address: str) -> None:
        try:
            found = self._found_again(address)
            self.versions[address] = found
            problem = _difference(found, self._expected)
        except ModuleNotFoundError as error:
            problem = f"lacks the module '{error.name}'; install what this machine has; it gets no jobs"
        except UserError as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever the worker or the connection raises
            problem = f"cannot be checked: {error_line(error)}"
        self._report(Refused(address, f"the worker {address} {problem}") if problem else Accepted(address))

    def _found_again(self, address: str) -> Mapping[str, str]:
        """The versions of a worker; a connection that fails is tried again: the worker may be busy."""
        for _ in range(_TRIES - 1):
            with suppress(OSError):
                return self._found(address)
            time.sleep(1.0)
        return self._found(address)

    def _found(self, address: str) -> Mapping[str, str]:
        """The versions of a worker: only Python's and irscope's if these differ."""
        python, irscope = self._client.run(eval, _EXPRESSION, workers=[address])[address]
        found = {"python": python, "irscope": irscope}
        if _difference(found, self._expected):
            return found
        prepared = self._client.run(prepare_in_thread, self._shipment, self._seconds, workers=[address])
        return dict(prepared[address])


def _difference(found: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """What differs, as the rest of a sentence about the worker; "" if nothing does."""
    different = [
        f"{name} {found[name]} instead of {version}"
        for name, version in expected.items()
        if name in found and name not in _MAY_DIFFER and found[name] != version
    ]
    return f"has {', '.join(different)}; it gets no jobs" if different else ""
