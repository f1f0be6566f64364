"""Lessons that compile a kernel, ask a question, and answer it with the IR that was just compiled."""
