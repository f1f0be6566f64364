"""Numbers as sentences have them, in every room."""


def pluralize(number: int, noun: str) -> str:
    """A number with its noun, "1 variant" or "1,000 variants": one that takes an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
