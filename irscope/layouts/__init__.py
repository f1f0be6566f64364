"""Layouts: where each element of a tensor is, in registers or in memory, and what that costs."""
