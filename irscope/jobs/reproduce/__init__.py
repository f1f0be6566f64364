"""Reproducers: one variant of a capture as a small folder that needs nothing of the user's project."""
