"""Layouts: which thread or address holds each element of a tensor, and the cost of that."""
