"""How variants get into a capture: sweeps, recorded programs, imported caches."""
