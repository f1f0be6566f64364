"""What happens before what in a kernel: shared memory, barriers and what is in flight, as a domain of events."""
