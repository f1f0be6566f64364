"""The jobs of a sweep that no worker has taken yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence

from irscope.toolchain.job import Job


class JobQueue:
    """The jobs that no worker has taken. A worker gets a whole group, one job at a time; see Job.group.

    When no group is left, it takes jobs from the largest group of another worker.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        groups: dict[int, deque[Job]] = {}
        for job in jobs:
            groups.setdefault(job.group, deque()).append(job)
        self._left = len(jobs)
        self._waiting = deque(groups.values())
        self._held: dict[Hashable, deque[Job]] = {}

    def __len__(self) -> int:
        return self._left

    def take(self, worker: Hashable) -> Job | None:
        """The next job for a worker, which may have any name; None if all are taken."""
        job = self._next(worker)
        self._left -= job is not None
        return job

    def _next(self, worker: Hashable) -> Job | None:
        held = self._held.get(worker)
        if held:
            return held.popleft()
        if self._waiting:
            self._held[worker] = self._waiting.popleft()
            return self._held[worker].popleft()
        largest = max(self._held.values(), key=len, default=None)
        return largest.pop() if largest else None
