"""Targets: what a user names, resolved and loaded."""
