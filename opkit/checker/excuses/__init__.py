"""Excuses: failures that the rules of a verdict leave undecided, or that declared values do not count.

Re-exports only.
"""

from __future__ import annotations

from opkit.checker.excuses.apply import excused

__all__ = ["excused"]
