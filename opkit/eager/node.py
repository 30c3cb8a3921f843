"""Node: one recorded op of dynamic mode, and ``apply``, which runs an op and records it.

The module is long because the path of every op is written out: a node of one input has its own branch. What a node
keeps is decided by what its op's gradient rule declares to read; nothing here refers from a node to
the Tensors that it produced, so that no reference cycle keeps a graph alive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy import ndarray

from opkit.eager.saved_hooks import Packed, pack, packing
from opkit.eager.tensor import Tensor, version_cell, wrap
from opkit.errors import AutogradError
from opkit.ops.core.bound import Bound
from opkit.ops.core.inference import explain
from opkit.ops.core.mode import install_default, local
from opkit.ops.core.observers import run_kernel
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.quiet import SMALL, is_running

_new = object.__new__
#: ``walk_indices`` of nodes whose inputs are all first outputs, by number of inputs.
_FIRSTS = {1: (0,), 2: (0, 0), 3: (0, 0, 0)}


class VersionError(AutogradError):
    """Data that a gradient needs was changed in place since it was recorded."""


class Shaped:
    """What remains of a value whose data no gradient rule reads: shape and dtype."""

    __slots__ = ("dtype", "shape")

    # As the input of a like-op it takes no gradient and has no history.
    _sg = True
    _node = None
    _index = 0
    _version = None

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype

    @property
    def _data(self) -> Shaped:
        """Builders ask a value's ``_data`` for shape and dtype."""
        return self

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


class Node:
    """An applied op, as the reverse walk (``autograd.Step``) and its gradient rule (``ops.Applied``) see it.

    ``walk_edges`` is None once the node was released.
    """

    __slots__ = (
        "_cells",
        "_in",
        "_out",
        "_versions",
        "attrs",
        "opdef",
        "part",
        "walk_edges",
        "walk_indices",
        "walk_rule",
        "walk_width",
    )

    opdef: OpDef
    attrs: Any
    walk_edges: tuple[Any, ...] | None
    walk_indices: tuple[int, ...]
    walk_rule: Any
    walk_width: int
    #: What ``Bound.kernel`` left for the gradient; None where another kernel ran.
    part: Any
    _in: Sequence[Any]
    #: Per output: its array where the rule reads it; None for a single output that the rule does not read.
    _out: Sequence[Any] | None
    #: Versions of the inputs where one was not 0, None otherwise.
    _versions: Sequence[int] | None
    #: Counts of in-place changes of outputs whose memory can change, and the count at the start.
    _cells: dict[int, tuple[list[int], int]] | None

    @property
    def inputs(self) -> Sequence[Any]:
        """Input Tensors where the rule reads them, else their shape and dtype; None for one left out."""
        kept = self._in
        for index, tensor in enumerate(kept):
            if isinstance(tensor, Tensor):
                cell = tensor._version
                if cell is not None:
                    expected = 0 if self._versions is None else self._versions[index]
                    if cell[0] != expected:
                        self._refuse_version("input", index, cell[0], expected)
            elif type(tensor) is Packed:
                return [self._unpacked(i, item) if type(item) is Packed else item for i, item in enumerate(kept)]
        return kept

    @property
    def outputs(self) -> Sequence[Any]:
        """Output Tensors, attached to this node, where the rule reads them, else their shape and dtype."""
        return [self._output(index, kept) for index, kept in enumerate(self._out or ())]

    def array(self, index: int) -> Any:
        """Return the array of an input that the rule reads, else what has its ``shape`` and ``dtype``."""
        kept = self._in[index]
        cell = kept._version
        if cell is not None:
            expected = 0 if self._versions is None else self._versions[index]
            if cell[0] != expected:
                self._refuse_version("input", index, cell[0], expected)
        return kept._data

    def result(self) -> Any:
        """Return the array of the one output, which the rule reads."""
        return self._out[0] if self._cells is None else self._output(0, self._out[0])._data  # type: ignore[index]

    def _unpacked(self, index: int, packed: Packed) -> Tensor:
        # A leaf is a step of the walk too, so that it can replace the node of its unpacked copy.
        source = None if self.walk_edges is None else self.walk_edges[index]
        tensor = wrap(packed.unpack()._data, source is None)
        tensor._node = source
        tensor._index = self.walk_indices[index]
        return tensor

    def _output(self, index: int, kept: Any) -> Any:
        if type(kept) is Shaped:
            return kept
        if self._cells is not None and index in self._cells:
            cell, expected = self._cells[index]
            if cell[0] != expected:
                self._refuse_version("output", index, cell[0], expected)
        if type(kept) is Packed:
            kept = kept.unpack()._data
        tensor = _new(Tensor)
        tensor._data = kept
        tensor._sg = False
        tensor._node = self
        tensor._index = index
        return tensor

    @property
    def needs(self) -> list[bool]:
        """Per input: whether its cotangent will be used."""
        edges = self.walk_edges or ()
        if len(edges) == 2:  # a loop takes twice as long
            return [edges[0] is not None, edges[1] is not None]
        return [target is not None for target in edges]

    def watch_output(self, index: int, cell: list[int]) -> None:
        """Note that the memory of an output may change from now on."""
        if self._cells is None:
            self._cells = {}
        self._cells.setdefault(index, (cell, cell[0]))

    def _refuse_version(self, kind: str, index: int, found: int, expected: int) -> None:
        args = self.opdef.inputs if kind == "input" else self.opdef.outputs
        name = args[min(index, len(args) - 1)].name
        # The words "received ... != ..." are what tests written for Paddle look for.
        raise VersionError(
            f"{kind} {name!r} of op {self.opdef.name!r} is needed for its gradient but was changed in place since: "
            f"received tensor_version:{found} != wrapper_version_snapshot:{expected}",
            help="clone() the tensor before the in-place operation",
        )


def node_rule(node: Node, douts: Sequence[Any], release: bool) -> Sequence[Any]:
    """Run the gradient rule of a recorded op (``autograd.Step.walk_rule``)."""
    rule = node.opdef.grad
    if rule is None:  # pragma: no cover - apply records only ops that have a rule
        raise AutogradError(f"op {node.opdef.name!r} has no gradient")
    if node._out is None:
        node._out = (_shaped(douts[0]._data),)
    grads = rule(node, douts)
    for grad in grads:
        # What a built-in rule computed takes a gradient, as in Paddle: print(x.grad) says stop_gradient=False.
        if grad is not None and grad._sg and grad is not douts[0]:
            grad._sg = False
    if release:
        node.walk_edges = node.part = None
        node._in = node._out = ()
        node._cells = None
    return grads


def array_rule(node: Node, douts: Sequence[Any], release: bool) -> Sequence[Any]:
    """Run the gradient kernel of a recorded op, where nothing is recorded or observed; else its rule."""
    mode = local.mode
    if mode.is_grad_enabled or mode.observers:
        return node_rule(node, douts, release)
    dout = douts[0]
    dy: Any = dout._data if len(douts) == 1 else [None if item is None else item._data for item in douts]
    try:
        if node.part is None:
            found = mode.quietly(node.opdef.grad_kernel, node, dy)
        else:
            value = node.result() if node.opdef.reads_outputs else node.array(0)
            found = (mode.quietly(node.attrs.slope, value, dy, node.part),)
    except VersionError:
        raise
    except Exception:
        return node_rule(node, douts, release)  # whose error says what does not fit
    if release:
        node.walk_edges = node.part = None
        node._in = node._out = ()
        node._cells = None
    if len(found) == 1 and type(item := found[0]) is ndarray and item is not dy:
        grad = _new(Tensor)
        grad._data = item
        grad._sg = False
        grad._node = None
        grad._index = 0
        return (grad,)
    grads = []
    for item in found:
        grads.append(None if item is None else dout if item is dy else wrap(item, False))  # noqa: PERF401 - a call less
    return grads


def edge_of(tensor: Tensor) -> Any:
    """Make an edge: return the step to which the cotangent of a Tensor goes, None where it takes none."""
    if tensor._sg:
        return None
    return tensor if tensor._node is None else tensor._node


def apply(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Run an op on Tensors and record it where a gradient is wanted.

    Args:
        opdef: the op.
        inputs: Tensors; None for an optional input left out.
        attrs: every declared attribute.

    Returns:
        One Tensor, or a tuple where the kernel returns a tuple.
    """
    mode = local.mode
    count = len(inputs)
    bare, bound, part = opdef.bare, None, None
    if count == 1 and inputs[0] is not None:
        arrays: Any = (inputs[0]._data,)
        if arrays[0].size < SMALL:
            bare = opdef.small
            if type(attrs) is Bound:
                bound = attrs
    elif count == 2 and inputs[0] is not None and inputs[1] is not None:
        arrays = (inputs[0]._data, inputs[1]._data)
    else:
        arrays = [None if tensor is None else tensor._data for tensor in inputs]
    try:
        if mode.observers:
            result = run_kernel(opdef, arrays, attrs)
        elif bound is not None:
            result, part = mode.quietly(bound.kernel, arrays[0])
        elif bare is None:
            result = opdef.kernel(*arrays, **attrs)
        elif attrs:
            result = mode.quietly(bare, *arrays, **attrs)
        elif count == 1:  # an empty mapping costs as much as the call, a sequence a quarter of it
            result = mode.quietly(bare, arrays[0])
        else:
            result = mode.quietly(bare, *arrays)
    except Exception as error:
        explain(opdef, inputs, attrs)
        if not is_running(error):
            raise
        result = opdef.kernel(*arrays, **attrs)
    if mode.is_grad_enabled and opdef.grad is not None:
        for tensor in inputs:
            if tensor is not None and not tensor._sg:
                return _record(opdef, inputs, attrs, result, part)
    if type(result) is tuple:
        return tuple(map(wrap, result))
    output = _new(Tensor)
    output._data = result if type(result) is ndarray else np.asarray(result)
    output._sg = True
    output._node = None
    output._index = 0
    if opdef.is_view:
        _share_version(inputs[0], output)
    return output


def _record(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any], result: Any, part: Any) -> Any:
    is_packed = packing.depth
    node = Node()
    node.opdef = opdef
    node.attrs = attrs
    node.part = part
    node.walk_rule = node_rule if opdef.grad_kernel is None or is_packed else array_rule
    node.walk_width = 1
    node._cells = None
    if len(inputs) != 1 or is_packed:
        _keep_inputs(node, opdef, inputs)
    else:  # what it does, written out for one input, which takes a gradient
        (tensor,) = inputs
        source = tensor._node
        node.walk_edges = (tensor,) if source is None else (source,)
        node.walk_indices = (tensor._index,)
        node._versions = None
        if opdef.reads_inputs:
            node._in = (tensor,)
            cell = tensor._version
            if cell is not None:
                node._versions = list(cell)
        else:
            array = tensor._data
            shaped = _new(Shaped)
            shaped.shape = array.shape
            shaped.dtype = array.dtype
            node._in = (shaped,)
    if type(result) is tuple:
        return _several(node, result)
    output = _new(Tensor)
    data = output._data = result if type(result) is ndarray else np.asarray(result)
    output._sg = False
    output._node = node
    output._index = 0
    if opdef.is_view:
        _share_version(inputs[0], output)
    # The shape of an output that no rule reads is that of its cotangent: see node_rule.
    node._out = None if not opdef.reads_outputs else (pack(output),) if is_packed else (data,)
    return output


def _several(node: Node, results: tuple[Any, ...]) -> tuple[Tensor, ...]:
    node.walk_width = len(results)
    outputs = []
    kept: list[Any] = []
    for index, data in enumerate(results):
        tensor = wrap(data, stop_gradient=False)
        tensor._node = node
        tensor._index = index
        outputs.append(tensor)
        if index not in node.opdef.reads_outputs:
            kept.append(_shaped(tensor._data))
        else:
            kept.append(tensor._data if packing.depth == 0 else pack(tensor))
    node._out = kept
    return tuple(outputs)


def _keep_inputs(node: Node, opdef: OpDef, inputs: Sequence[Any]) -> None:
    edges: list[Any] = []
    kept: list[Any] = []
    indices: Any = _FIRSTS.get(len(inputs))
    versions: list[int] | None = None
    reads: Any = opdef.reads_inputs
    if reads and opdef.is_variadic:
        reads = range(len(inputs))
    for tensor in inputs:
        if tensor is None:
            edges.append(None)
            kept.append(None)
            continue
        if tensor._sg:
            edges.append(None)
        else:
            edges.append(tensor if tensor._node is None else tensor._node)
            if tensor._index:
                indices = None
        if len(kept) not in reads:
            array = tensor._data
            shaped = _new(Shaped)
            shaped.shape = array.shape
            shaped.dtype = array.dtype
            kept.append(shaped)
            continue
        cell = tensor._version
        if cell is not None and cell[0]:
            versions = versions or [0] * len(inputs)
            versions[len(kept)] = cell[0]
        kept.append(tensor if packing.depth == 0 else pack(tensor))
    node.walk_edges = tuple(edges)
    node.walk_indices = tuple([0 if t is None else t._index for t in inputs]) if indices is None else indices
    node._in = kept
    node._versions = versions


def _shaped(array: ndarray) -> Shaped:
    return Shaped(array.shape, array.dtype)


def _share_version(source: Tensor, view: Tensor) -> None:
    """Let the output of a view op count in-place changes together with its input, where they share memory.

    The pieces of a split and what is broadcast share memory too, but count for themselves: an in-place change of one
    of them gives it memory of its own (``opkit.eager.inplace``).

    Source: Paddle 2.6, in-place operations on slices and on expanded tensors.
    """
    data = view._data
    if (data is source._data or data.base is not None) and data.flags.writeable == source._data.flags.writeable:
        cell = view._version = version_cell(source)
        if view._node is not None:
            view._node.watch_output(view._index, cell)


def install() -> None:
    """Make eager the default mode of every thread."""
    install_default(cast(Any, apply))
