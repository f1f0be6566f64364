"""A compile worker with limits on memory and on the size of files, which user code in it has, too.

RLIMIT_DATA counts what a process allocates, and not the libraries that it maps: Linux counts private writable
memory since 4.7, but not memory that processes share. It limits every process that the worker starts, such as
ptxas, by itself. These are limits for mistakes, not a sandbox for hostile code.
"""

from __future__ import annotations

import resource

from irscope.compiling.processes.run_tool import limit_resource

# Output and caches; a print in an endless loop must not fill the disk.
_MOST_BYTES_WRITTEN = 256 << 20


def main(pipe: str, lifeline: str, memory: str) -> None:
    """Set the limits (`memory` in bytes), then serve as a compile worker does."""
    from irscope.compiling import worker

    limit_resource(resource.RLIMIT_DATA, int(memory))
    limit_resource(resource.RLIMIT_FSIZE, _MOST_BYTES_WRITTEN)
    limit_resource(resource.RLIMIT_CORE, 0)
    worker.main(pipe, lifeline)
