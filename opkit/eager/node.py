"""Node: one recorded op of dynamic mode, and ``apply``, which runs an op and records it.

What a node keeps is decided by what its op's gradient rule declares to read; nothing here refers from a node to
the Tensors that it produced, so that no reference cycle keeps a graph alive.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.eager.tensor import Tensor, wrap
from opkit.errors import AutogradError
from opkit.ops.mode import install_default, local
from opkit.ops.opdef import OpDef

__all__ = ["Node", "Shaped", "apply", "edge_of", "install"]


class Shaped:
    """What remains of a value whose data no gradient rule reads: shape and dtype."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype


class Node:
    """An applied op, as the reverse walk and its gradient rule see it (``opkit.ops.Applied``).

    ``edges`` is None once the node was released.
    """

    __slots__ = ("_in", "_out", "_versions", "attrs", "edges", "hooks", "indices", "opdef", "retained", "width")

    def __init__(
        self, opdef: OpDef, attrs: Mapping[str, Any], edges: tuple[Any, ...], indices: tuple[int, ...], width: int
    ) -> None:
        self.opdef = opdef
        self.attrs = attrs
        self.edges: tuple[Any, ...] | None = edges
        self.indices = indices
        self.width = width
        self.hooks: dict[int, list[Any]] | None = None
        self.retained: dict[int, Any] | None = None
        self._versions: tuple[tuple[Tensor, int], ...] = ()

    @property
    def inputs(self) -> Sequence[Any]:
        """Input Tensors where the rule reads them, else their shape and dtype; None for one left out."""
        for tensor, version in self._versions:
            if tensor._version is not None and tensor._version[0] != version:
                raise AutogradError(
                    f"a tensor that the gradient of {self.opdef.name!r} reads was changed in place: it is at version "
                    f"{tensor._version[0]}, version {version} was recorded",
                    help="clone() it before the in-place operation",
                )
        return self._in  # type: ignore[no-any-return]

    @property
    def outputs(self) -> Sequence[Any]:
        """Output Tensors, attached to this node, where the rule reads them, else their shape and dtype."""
        return [self._output(i, kept) for i, kept in enumerate(self._out)]

    def _output(self, index: int, kept: Any) -> Any:
        if type(kept) is Shaped:
            return kept
        array, cell, version = kept
        if cell is not None and cell[0] != version:
            raise AutogradError(
                f"the output of {self.opdef.name!r} that its gradient reads was changed in place: it is at version "
                f"{cell[0]}, version {version} was recorded",
                help="clone() it before the in-place operation",
            )
        tensor = wrap(array, stop_gradient=False)
        tensor._node = self
        tensor._index = index
        return tensor

    @property
    def needs(self) -> list[bool]:
        """Per input: whether its cotangent will be used."""
        return [target is not None for target in self.edges or ()]

    def release(self) -> None:
        """Drop what the node keeps; a later walk through it is an error."""
        self.edges = None
        self._in = self._out = ()
        self._versions = ()


def edge_of(tensor: Tensor | None) -> Any:
    """Return the step to which the cotangent of a Tensor goes, None where it takes none."""
    if tensor is None or tensor._sg:
        return None
    node = tensor._node
    return tensor if node is None else node


def apply(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Run an op on Tensors and record it where a gradient is wanted.

    Args:
        opdef: the op.
        inputs: Tensors; None for an optional input left out.
        attrs: every declared attribute.

    Returns:
        One Tensor, or a tuple where the kernel returns a tuple.
    """
    arrays = [None if tensor is None else tensor._data for tensor in inputs]
    mode = local.mode
    observer = mode.observer
    if observer is None:
        result = opdef.kernel(*arrays, **attrs)
    else:
        start = time.perf_counter()
        result = opdef.kernel(*arrays, **attrs)
        seconds = time.perf_counter() - start
        observer(opdef, arrays, attrs, result if type(result) is tuple else (result,), seconds)
    if opdef.grad is not None and mode.is_grad_enabled:
        for tensor in inputs:
            if tensor is not None and not tensor._sg:
                return _record(opdef, inputs, attrs, result)
    if type(result) is tuple:
        return tuple(map(wrap, result))
    return wrap(result)


def _record(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any) -> Any:
    results = result if type(result) is tuple else (result,)
    edges = tuple(map(edge_of, inputs))
    indices = tuple(0 if tensor is None else tensor._index for tensor in inputs)
    node = Node(opdef, attrs, edges, indices, len(results))
    node._in = _kept_inputs(opdef, inputs)
    node._versions = tuple(
        (tensor, 0 if tensor._version is None else tensor._version[0])
        for tensor in node._in
        if isinstance(tensor, Tensor)
    )
    outputs = []
    for index, data in enumerate(results):
        tensor = wrap(data, stop_gradient=False)
        tensor._node = node
        if index:
            tensor._index = index
        outputs.append(tensor)
    node._out = _kept_outputs(opdef, outputs)
    return tuple(outputs) if type(result) is tuple else outputs[0]


def _kept_inputs(opdef: OpDef, inputs: Sequence[Any]) -> tuple[Any, ...]:
    reads = opdef.reads_inputs
    if len(reads) == len(opdef.inputs):
        return tuple(inputs)
    if opdef.is_variadic:
        reads = ()
    return tuple(
        tensor if tensor is None or i in reads or type(tensor) is Shaped else _shaped(tensor._data)
        for i, tensor in enumerate(inputs)
    )


def _kept_outputs(opdef: OpDef, outputs: Sequence[Tensor]) -> tuple[Any, ...]:
    reads = opdef.reads_outputs
    return tuple(
        (tensor._data, _version_cell(tensor), 0) if i in reads else _shaped(tensor._data)
        for i, tensor in enumerate(outputs)
    )


def _version_cell(tensor: Tensor) -> list[int]:
    if tensor._version is None:
        tensor._version = [0]
    cell: list[int] = tensor._version
    return cell


def _shaped(array: np.ndarray) -> Shaped:
    return Shaped(array.shape, array.dtype)


def install() -> None:
    """Make eager the default mode of every thread."""
    install_default(apply)
