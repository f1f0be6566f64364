"""Pruning the configs of an autotuner before they are measured: `irscope.fits` and `irscope.prune`."""
