"""Programs that measure how fast irscope is, mostly as ratios: `python -m benchmarks.NAME --help`."""
