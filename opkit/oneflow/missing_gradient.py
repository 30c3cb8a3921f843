"""Ops of directories without a registered gradient between a train job's loss and its variables: they are named.

In a graph they are found before it is differentiated, op by op when the reverse walk comes to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

from opkit.errors import AutogradError, Location, UsageError
from opkit.oneflow.session import session
from opkit.ops import OpDef, OpType
from opkit.project import UserOp
from opkit.static.backward import barriers
from opkit.static.site import user_site


class MissingGradientError(AutogradError, UsageError):
    """A train job's loss depends on a variable through an op without a gradient."""


def refuse_barriers(job: str, losses: Sequence[Any], trained: Sequence[Any]) -> None:
    """Name the op of a directory, if there is one, that keeps a graph's gradient from the variables.

    Args:
        job: the job's name.
        losses: what is differentiated.
        trained: with respect to what.

    Raises:
        MissingGradientError: there is one.
    """
    registry = session().registry
    for op in barriers(losses, trained):
        found = registry.find(op.type)
        if found is not None and _lacks_gradient(found):
            raise _error(job, op.type, op.where)


def refusing_backward(opdef: OpDef, op_type: OpType) -> OpDef:
    """Return an op as an eager train job applies it: one that lacks its gradient raises when the walk comes to it.

    Args:
        opdef: the op.
        op_type: its type.
    """
    job = session().job
    if job is None or not job.is_eager_training or opdef.grad is not None or not _lacks_gradient(op_type):
        return opdef
    site, name = user_site(), job.name
    where = None if site is None else Location(site[0], site[1], 0, site[2])

    def refuse(applied: Any, douts: Any) -> NoReturn:
        raise _error(name, op_type.name, where)

    return replace(opdef, grad=refuse, grad_kernel=None)


def _lacks_gradient(op_type: OpType) -> bool:
    """Return whether a directory's op has no gradient, and does not say that it has none on purpose."""
    return isinstance(op_type, UserOp) and not (op_type.compiled is not None and op_type.compiled.has_no_grad)


def _error(job: str, op_type: str, where: Location | None) -> MissingGradientError:
    return MissingGradientError(
        f"job {job!r}: op {op_type!r} has no registered gradient, and the loss depends through it on what is trained",
        where=where,
        help=f'add REGISTER_USER_OP_GRAD("{op_type}") to its definition, or train only variables that do not pass '
        "through it",
    )
