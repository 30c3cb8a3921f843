"""The steps of a gradient as assignments: user kernels are called by name, built-in ops are expressions.

They read alike in every framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from opkit.export.builtin_steps import BUILTIN_STEPS
from opkit.export.model import ExportError, ExportOp, Step
from opkit.export.signature import blob_name

__all__ = ["step_lines"]


def step_lines(op: ExportOp, attrs: Mapping[str, str]) -> list[str]:
    """Return one assignment per backward op.

    Args:
        op: the op, with a gradient.
        attrs: {forward attribute: how it is written there}.

    Raises:
        ExportError: a built-in op has no form in exported files.
    """
    assert op.wiring is not None
    return [_line(op, step, attrs) for step in op.wiring.steps]


def _line(op: ExportOp, step: Step, attrs: Mapping[str, str]) -> str:
    values = {name: _replaced(text, attrs) for name, text in step.attrs.items()}
    targets = [blob_name(blobs[0]) for _, blobs in step.outputs]
    if step.kernel is not None:
        args = [blob_name(blobs[0]) if blobs else "None" for _, blobs in step.inputs]
        given = [values[spec.name] if spec.name in values else repr(spec.default) for spec in step.kernel.attrs]
        return f"{', '.join(targets)} = _{step.type}({', '.join([*args, *given])})"
    if step.type not in BUILTIN_STEPS:
        raise ExportError(
            f"the gradient of {op.name!r} uses the built-in op {step.type!r}, which has no form in exported files; "
            f"there are {', '.join(sorted(BUILTIN_STEPS))}",
            where=op.forward.where,
        )
    named = {name: blob_name(blobs[0]) for name, blobs in step.inputs if blobs}
    return f"{targets[0]} = {BUILTIN_STEPS[step.type](named, values)}"


def _replaced(text: str, attrs: Mapping[str, str]) -> str:
    """Write forward's attributes in an expression as the place calls them."""
    if text[:1] in "'\"[(":
        return text
    return re.sub(r"[A-Za-z_]\w*", lambda found: attrs.get(found.group(), found.group()), text)
