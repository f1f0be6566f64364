"""How variants get into a capture: compiled sweeps, recorded programs, imported caches."""
