"""Parse the text of a stage: one module per language, and a registry of them."""
