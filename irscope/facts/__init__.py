"""Facts: measured figures of one variant, with the lines that prove them."""
