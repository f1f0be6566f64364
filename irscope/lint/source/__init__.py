"""Reads Python source with `ast`, without importing or running it."""
