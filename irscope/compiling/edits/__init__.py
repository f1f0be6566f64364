"""Variants built from an edited stage of another variant, or with other passes."""
