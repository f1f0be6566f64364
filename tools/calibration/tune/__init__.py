"""Times and hardware counters of kernels' configs on a GPU: data to fit and to test estimates with.

`h100.jsonl.gz`: `measure` for 36 kernels on an NVIDIA H100 80GB HBM3 (driver 580.159.04) with Triton 3.6.0
and torch 2.11.0: 4,594 lines. Two complete runs agree within 1.7 % for 90 % of them. `others.jsonl.gz` (12
kernels) and `later.jsonl.gz` (11) were measured in the same way, each after the constants had been fitted to
the kernels before. `counters.jsonl.gz`: `counters` for 210 launches of the 36. `atomics.jsonl.gz`: `atomics`.
All are JSON lines, compressed.
"""
