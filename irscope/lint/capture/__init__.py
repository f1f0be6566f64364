"""What a capture tells of the source's mistakes: facts, keys and measurements of its variants."""
