"""Sizes: the shapes that Values will have in a run, from the shapes of what is fed.

A declared output of a user's function says nothing about unknown sizes; they are guessed from its inputs, and the plan
checks the guess while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opkit.errors import OpkitError
from opkit.ir import Operation, TensorDesc, Value
from opkit.static.builder import note_site
from opkit.static.py_func import PyFuncDef, PyFuncGradDef

#: Description of each Value; sizes that stay unknown are -1.
Known = dict[Value, TensorDesc]


def resolve_sizes(
    ops: Sequence[Operation], given: Mapping[Value, TensorDesc], *, is_exact: bool, is_guessed: bool = True
) -> Known:
    """Return the descriptions of all Values.

    Args:
        ops: in program order.
        given: descriptions of the Values that are fed or held in a scope.
        is_exact: infer again from ``given``; otherwise every description is the declared one.
        is_guessed: guess the sizes that a user's function leaves open; otherwise they stay unknown.

    Raises:
        ShapeError, DtypeError, InferError: an op refuses the sizes; a note names the user's line.
    """
    known: Known = dict(given)
    for op in ops:
        for value in op.inputs:
            if value is not None and value not in known:
                known[value] = value.desc
        descs = _outputs(op, known, is_guessed) if is_exact else [value.desc for value in op.results]
        for value, desc in zip(op.results, descs):
            known[value] = desc
        for index, value in zip(op.writes, op.outputs[len(op.results) :]):
            known[value] = known[op.inputs[index]]  # type: ignore[index]
    return known


def _outputs(op: Operation, known: Known, is_guessed: bool) -> Sequence[TensorDesc]:
    opdef: Any = op.opdef
    if isinstance(opdef, PyFuncGradDef):
        return [known[value] for value in op.inputs[: len(opdef.needed)]]  # type: ignore[index]
    if isinstance(opdef, PyFuncDef) or opdef.infer is None:
        return [_guess(value, op.inputs if is_guessed else (), known) for value in op.results]
    try:
        found: Sequence[TensorDesc] = opdef.infer(
            [None if value is None else known[value] for value in op.inputs], op.attrs
        )
    except OpkitError as error:
        note_site(error, op.label or op.type, op.site)
        raise
    return found


def _guess(output: Value, inputs: Sequence[Value | None], known: Known) -> TensorDesc:
    """Return a declared output with its unknown sizes taken from the first input in which the same axis is unknown."""
    if -1 not in output.shape:
        return output.desc
    sizes = list(output.shape)
    for axis, size in enumerate(sizes):
        if size != -1:
            continue
        for value in inputs:
            if value is not None and axis < value.ndim and value.shape[axis] == -1:
                sizes[axis] = known[value].shape[axis]
                break
    return TensorDesc(tuple(sizes), output.dtype.name)
