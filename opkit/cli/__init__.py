"""The command line: the only layer that prints, reads argv or exits."""

from opkit.cli.app import application, main

__all__ = ["application", "main"]
