"""Op directories: scaffolding, discovery, loading and building.

The names listed here are loaded on first use: scaffolding needs no compiler, and building needs no templates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.project.building import Build, build
    from opkit.project.directory import OpDirectory, discover, op_directory_of
    from opkit.project.gradient import GradientPlan, plan_of
    from opkit.project.kernel import UserKernel
    from opkit.project.kind import KINDS
    from opkit.project.library import Library
    from opkit.project.loading import LoadedOps, assemble, load
    from opkit.project.scaffolding import scaffold
    from opkit.project.user_op import UserOp, to_op_def

__all__ = [
    "KINDS",
    "Build",
    "GradientPlan",
    "Library",
    "LoadedOps",
    "OpDirectory",
    "UserKernel",
    "UserOp",
    "assemble",
    "build",
    "discover",
    "load",
    "op_directory_of",
    "plan_of",
    "refreshed",
    "scaffold",
    "to_op_def",
]

_HOMES = {
    "KINDS": "kind",
    "Build": "building",
    "GradientPlan": "gradient",
    "Library": "library",
    "LoadedOps": "loading",
    "OpDirectory": "directory",
    "UserKernel": "kernel",
    "UserOp": "user_op",
    "assemble": "loading",
    "build": "building",
    "discover": "directory",
    "load": "loading",
    "op_directory_of": "directory",
    "plan_of": "gradient",
    "refreshed": "loading",
    "scaffold": "scaffolding",
    "to_op_def": "user_op",
}

__getattr__ = deferred(__name__, _HOMES)
