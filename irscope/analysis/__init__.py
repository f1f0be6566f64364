"""Facts out of artifacts and parsed stages, each with the lines that prove it."""
