"""Op directories: scaffolding, discovery, loading and building."""

from opkit.project.build import Build, build
from opkit.project.directory import OpDirectory, discover, op_directory_of
from opkit.project.gradient import GradientPlan, plan_of
from opkit.project.kernel import UserKernel
from opkit.project.kind import KINDS
from opkit.project.library import Library
from opkit.project.load import LoadedOps, assemble, load
from opkit.project.scaffold import scaffold
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
    "scaffold",
    "to_op_def",
]
