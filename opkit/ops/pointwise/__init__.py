"""Pointwise ops: each result depends on the elements at its place alone."""
