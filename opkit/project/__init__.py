"""Op directories: scaffolding, discovery, loading and building.

The names listed here are loaded on first use: scaffolding needs no compiler, and building needs no templates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.project.amending import Amendment, amendment_of
    from opkit.project.attribute import ScaffoldAttr, parse_attr
    from opkit.project.building import Build, build
    from opkit.project.directory import OpDirectory, discover, op_directory_of
    from opkit.project.from_formula import render_formula, scaffold_formula
    from opkit.project.from_signature import scaffold_signature
    from opkit.project.gradient import GradientPlan, plan_of
    from opkit.project.kernel import UserKernel
    from opkit.project.kind import KINDS
    from opkit.project.library import Library
    from opkit.project.loading import LoadedOps, assemble, load
    from opkit.project.own_template import render_template, scaffold_template
    from opkit.project.scaffolding import scaffold
    from opkit.project.user_op import UserOp, to_op_def
    from opkit.project.workflow import scaffold_workflow

__all__ = [
    "KINDS",
    "Amendment",
    "Build",
    "GradientPlan",
    "Library",
    "LoadedOps",
    "OpDirectory",
    "ScaffoldAttr",
    "UserKernel",
    "UserOp",
    "amendment_of",
    "assemble",
    "build",
    "discover",
    "load",
    "op_directory_of",
    "parse_attr",
    "plan_of",
    "refreshed",
    "render_formula",
    "scaffold",
    "scaffold_formula",
    "scaffold_signature",
    "render_template",
    "scaffold_template",
    "scaffold_workflow",
    "to_op_def",
]

_HOMES = {
    "KINDS": "kind",
    "Amendment": "amending",
    "Build": "building",
    "GradientPlan": "gradient",
    "Library": "library",
    "LoadedOps": "loading",
    "OpDirectory": "directory",
    "ScaffoldAttr": "attribute",
    "UserKernel": "kernel",
    "UserOp": "user_op",
    "amendment_of": "amending",
    "assemble": "loading",
    "build": "building",
    "discover": "directory",
    "load": "loading",
    "op_directory_of": "directory",
    "parse_attr": "attribute",
    "plan_of": "gradient",
    "refreshed": "loading",
    "render_formula": "from_formula",
    "scaffold": "scaffolding",
    "scaffold_formula": "from_formula",
    "scaffold_signature": "from_signature",
    "render_template": "own_template",
    "scaffold_template": "own_template",
    "scaffold_workflow": "workflow",
    "to_op_def": "user_op",
}

__getattr__ = deferred(__name__, _HOMES)
