"""Op directories: scaffolding, discovery, loading and building."""

from opkit.project.kind import KINDS
from opkit.project.scaffold import scaffold

__all__ = ["KINDS", "scaffold"]
