"""The lessons: each compiles its own capture, asks, and shows the answer in the IR that was just made."""
