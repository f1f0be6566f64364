"""Executes the final TTGIR of a few programs of a launch, without a GPU.

Integers, masks, addresses, barriers and control flow are concrete. What a float is, or a load, comes from a
domain: `bits` hashes the expression that computes each element.
"""
