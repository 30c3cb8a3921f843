"""Parsing: tokens become the typed tree of a definition."""
