"""The commits that benchmarks/ci_gate.py judges, and the program that launches their kernels."""
