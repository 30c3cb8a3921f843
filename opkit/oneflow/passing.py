"""OneFlow's builders that pass blobs on as they are: identities, and casts between views and ways to lie on devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.ir import Variable
from opkit.oneflow.semantics import builders as ops
from opkit.oneflow.semantics.devices import sbp_of
from opkit.oneflow.session import session
from opkit.oneflow.user_op import as_value, call
from opkit.ops.core.types import Name
from opkit.ops.core.value import shape_of

Blob = Any


def identity(x: Blob, name: Name = None) -> Blob:
    """Return a copy."""
    return ops.identity(as_value(x))


def parallel_cast(input: Blob, name: Name = None, distribute: Any = None, gradient_distribute: Any = None) -> Blob:
    """Let the blob lie on the job's devices in a way; on one device every distribution is the whole blob.

    Args:
        input: the blob.
        distribute: ``flow.distribute.split(axis)`` or ``flow.distribute.broadcast()``.
        gradient_distribute: the same of its gradient, which lies as its ops choose without it.
    """
    sbp, back = (sbp_of(item, "flow.parallel_cast") for item in (distribute, gradient_distribute))
    job = session().job
    if (sbp is None and back is None) or job is None or not job.is_on_several:
        return as_value(input)
    return call(
        "parallel_cast",
        input,
        sbp_parallel="" if sbp is None else str(sbp),
        grad_sbp_parallel="" if back is None else str(back),
    )


def _with_distribute(self: Variable, distribute: Any) -> Blob:
    """Return the blob lying in a way on the job's devices: ``blob.with_distribute(flow.distribute.split(0))``."""
    return parallel_cast(self, distribute=distribute)


Variable.with_distribute = _with_distribute  # type: ignore[attr-defined]
Variable.is_dynamic = property(lambda self: -1 in self.shape)  # type: ignore[attr-defined]


def hierarchical_parallel_cast(input: Blob, *args: Any, **kwargs: Any) -> Blob:
    """Return the blob itself: on one device every distribution is the whole blob."""
    return as_value(input)


def identity_n(inputs: Sequence[Blob], name: Name = None) -> list[Blob]:
    """Return copies of several blobs."""
    return [identity(blob) for blob in inputs]


def amp_white_identity(x: Blob, name: Name = None) -> Blob:
    """Return a copy; OneFlow's mixed precision begins there, and here there is none."""
    return call("amp_white_identity", x)


def cast_to_static_shape(x: Blob, name: Name = None) -> Blob:
    """Return a blob whose sizes may vary as one of fixed sizes: a copy, since sizes are those of the run anyway."""
    value = as_value(x)
    if -1 not in shape_of(value):
        return value
    return call("cast_to_static_shape", x)


def cast_to_current_logical_view(x: Blob) -> Blob:
    """Return the blob itself: all blobs of a job are of the job's own view."""
    return as_value(x)
