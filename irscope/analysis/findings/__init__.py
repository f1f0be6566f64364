"""The important differences of two variants in sentences, most important first: see registry.py."""
