"""Programs that maintain irscope: the calibration of its estimates, and the figures of the code base."""
