"""What happens before what in a kernel: accesses of shared memory, barriers, and what is in flight."""
