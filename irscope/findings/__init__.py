"""The important differences of two variants in sentences, most important first: see registry.py.

Facts out of artifacts and parsed stages, each with the lines that prove it.
"""

from __future__ import annotations
