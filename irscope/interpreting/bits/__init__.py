"""Which configs compute the same bits: every float is a hash of the expression that computes it."""
