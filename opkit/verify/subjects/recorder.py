"""InputRecorder: the inputs on which a run called its custom ops, a few per op and signature.

It is an observer and copies, so that arrays lie in memory as they lay; making checkables of them is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from opkit.checker import Attrs
from opkit.checker.model.copies import recast, root_of
from opkit.eager import Tensor
from opkit.eager.pylayer_faults import PyLayerDef, PyLayerGradDef
from opkit.listed import listed, parts
from opkit.ops import OpDef, local
from opkit.static.own_gradient import OwnGradientDef
from opkit.static.py_func import PyFuncDef, PyFuncGradDef
from opkit.verify.subjects.parameters import parameters_of
from opkit.verify.subjects.pyfunc import as_py_func
from opkit.verify.subjects.recording import Recording, Traits, signature_of

#: Bytes of a buffer that are copied whole for a view of it; of larger ones the view alone is.
MOST_BYTES = 1 << 22


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with arrays in place of Tensors, all of them copies: views of one buffer are so again."""
    arrays = _arrays(values)
    small = [array for array in arrays if root_of(array).nbytes <= MOST_BYTES]
    copies = dict(zip(map(id, small), recast(small)))
    return {name: _replaced(value, copies) for name, value in values.items()}


def arrangement(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return how a call's arrays lie: which are not contiguous, and which share memory with an earlier one."""
    roots: list[int] = []
    found: list[Any] = []
    for array in _arrays(values):
        root = id(root_of(array))
        shared = roots.index(root) if root in roots else -1
        roots.append(root)
        found.append((bool(array.flags.c_contiguous), shared))
    return tuple(found)


def _arrays(values: Mapping[str, Any]) -> list[np.ndarray]:
    return [item._data if isinstance(item, Tensor) else item for item in parts(values, (Tensor, np.ndarray))]


def _replaced(value: Any, copies: Mapping[int, np.ndarray]) -> Any:
    if isinstance(value, Tensor):
        value = value._data
    if isinstance(value, np.ndarray):
        return copies[id(value)] if id(value) in copies else np.array(value)
    if isinstance(value, Mapping):
        return {name: _replaced(item, copies) for name, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, copies) for item in value]
    if isinstance(value, tuple):
        return tuple(_replaced(item, copies) for item in value)
    return value


class Sort(Enum):
    """What kind of op was heard that is no PyLayer."""

    PY_FUNC = "py_func"
    PART = "static_pylayer"
    OP = "op of a directory"


class InputRecorder:
    """An observer (``opkit.ops.core.observers.Observer``) that keeps inputs of user ops.

    Attributes:
        layers: what PyLayers were called with, arrays copied with their strides and what memory they share.
        others: the same of other ops, by (what kind of op, which one): their flat inputs, and attributes.
        opdefs: of the calls of each of these.
    """

    def __init__(self) -> None:
        self.layers, self.others = Recording(), Recording()
        self.opdefs: dict[tuple[Sort, Any], list[Any]] = {}

    def __call__(
        self, opdef: OpDef, inputs: Sequence[Any], attrs: Attrs, outputs: Sequence[Any], seconds: float
    ) -> None:
        """Take note of an op that ran."""
        if isinstance(opdef, PyLayerGradDef):
            if local.mode.is_grad_enabled:
                self.layers.twice.add(opdef.layer)
            return
        sort = Sort.PY_FUNC
        if isinstance(opdef, OwnGradientDef):
            sort, opdef, inputs = Sort.PART, as_py_func(opdef), inputs[: len(inputs) - len(outputs)]
        elif not opdef.is_user:
            return
        if isinstance(opdef, PyLayerDef):
            values = parameters_of(opdef.layer).bind(attrs["args"], attrs["kwargs"])
            _keep(self.layers, opdef.layer, values, _traits(values))
        elif isinstance(opdef, PyFuncDef):
            called: Any = (
                id(opdef.function),
                id(opdef.backward_func),
                opdef.skipped,
                len(opdef.inputs),
                len(opdef.outputs),
            )
            self._keep_other((sort, called), opdef, {"inputs": list(inputs)})
        elif not isinstance(opdef, PyFuncGradDef):
            called = (opdef.name, str(opdef.where))
            self._keep_other((Sort.OP, called), opdef, {"inputs": list(inputs), "attrs": dict(attrs)})

    def raised(self, opdef: OpDef, error: Exception) -> None:
        """Take note of a PyLayer whose forward raised."""
        if isinstance(opdef, PyLayerDef):
            self.layers.failures.setdefault(opdef.layer, []).append(error)

    def _keep_other(self, key: tuple[Sort, Any], opdef: OpDef, values: Mapping[str, Any]) -> None:
        _keep(self.others, key, values, Traits())
        known = self.opdefs.setdefault(key, [])
        if opdef not in known:
            known.append(opdef)


def _keep(heard: Recording, function: Any, values: Mapping[str, Any], traits: Traits) -> None:
    heard.hear(function, traits, (signature_of(values), arrangement(values)), lambda: kept(values))


def _traits(values: Mapping[str, Any]) -> Traits:
    floats: set[str] = set()
    constants: set[str] = set()
    derived: set[str] = set()
    options = {name for name, value in values.items() if isinstance(value, (np.ndarray, np.generic))}
    is_recorded = local.mode.is_grad_enabled  # under no_grad() nothing takes a gradient
    for name, value in values.items():
        for item in listed(value):
            if isinstance(item, Tensor) and item._data.dtype.kind == "f":
                floats.add(name)
                if item.stop_gradient or not is_recorded:
                    constants.add(name)
                elif not item.is_leaf:
                    derived.add(name)
    is_idle = bool(floats) and floats == constants
    return Traits(frozenset(constants), frozenset(floats - constants - derived), frozenset(options), is_idle)
