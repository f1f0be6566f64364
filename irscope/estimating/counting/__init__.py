"""Counts the work of a launch: interprets the integer part of its PTX for some of its programs."""
