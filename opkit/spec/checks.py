"""Checks: what compiles and is wrong about names, outputs and gradients.

Each check looks at the uses that the units of an op or gradient noted while they were lowered.
"""

from __future__ import annotations

from opkit.spec.findings import Findings
from opkit.spec.program import Program
from opkit.spec.registrations import GradEntry, OpEntry

__all__ = ["check_program"]


def check_program(
    program: Program, ops: list[OpEntry], grads: list[GradEntry], findings: Findings
) -> dict[str, tuple[str, ...]]:
    """Check all registrations; return, by op type, the errors of gradients that name what the op has not got."""
    return {}
