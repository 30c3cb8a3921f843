"""The command line: the only layer that prints, reads argv or exits.

Re-exports only, on first use: a script is run without what reads a command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.cli.app import application, main

__all__ = ["application", "main"]

__getattr__ = deferred(__name__, dict.fromkeys(__all__, "app"))
