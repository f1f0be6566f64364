"""Intel GPUs for irscope."""
