"""The command line: the only layer that prints, reads argv or exits."""

from opkit.cli.app import app, main

__all__ = ["app", "main"]
