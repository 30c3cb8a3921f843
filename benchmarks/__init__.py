"""Measurements of opkit, each a script of its own."""
