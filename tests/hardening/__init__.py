"""Captures from strangers, faults of every kind, files of any size: a campaign of damaged input."""
