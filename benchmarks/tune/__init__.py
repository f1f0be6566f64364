"""Times and hardware counters of 36 kernels' configs on a GPU: data to fit and to test estimates with.

`h100.jsonl.gz`: `measure` on an NVIDIA H100 80GB HBM3 (driver 580.159.04) with Triton 3.6.0 and torch 2.11.0:
4,594 lines. Two complete runs agree within 1.7 % for 90 % of them. `counters.jsonl.gz`: `counters` for 210 of
these launches on the same machine. Both files are JSON lines, compressed.
"""
