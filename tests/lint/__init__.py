"""Tests of irscope lint."""
