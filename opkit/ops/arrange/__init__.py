"""Arranging ops: elements are moved, selected and ordered, never computed."""
