"""Excuses: failures that the rules of a verdict leave undecided, or that declared values do not count (``apply``)."""
