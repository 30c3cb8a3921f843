"""Loaded: what a target turned out to hold, once its files were compiled and imported.

Data only; loading stands in one module per kind of target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opkit.checker import Checkable, OpReport
from opkit.diagnostics import Diagnostic
from opkit.verify.targets.recipe import Recipe

__all__ = ["Loaded"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The contents of a target.

    Args:
        checkables: the ops to check, in the order of their definition.
        reports: what can be said without a check: a file that does not load, a PyLayer that was never called.
        diagnostics: what the spec compiler and the loader found.
        is_fresh: the process that loaded this must not be forked, even where it has one thread; the ops are checked in
            fresh interpreters, as they are in any process that has threads.
        recipes: how a fresh interpreter makes single ops again, by their place among the checkables. Needed where
            loading once more is no way to have them (a script); without one an op is checked last, in the process
            that loaded it.
    """

    checkables: tuple[Checkable, ...] = ()
    reports: tuple[OpReport, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    is_fresh: bool = False
    recipes: Mapping[int, Recipe] = field(default_factory=dict)
