"""Pointwise ops: each result depends only on the elements at the same position."""
