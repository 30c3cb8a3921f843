"""Lowering: the typed tree becomes Python source, and the source functions."""
