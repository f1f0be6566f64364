"""Checks irscope's claims on kernels whose answer is known: see benchmarks/truth_of_findings.py."""
