"""InputRecorder: the inputs on which a run called its custom ops, a few per op and signature.

It is an observer and copies; making checkables of what it heard is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

import numpy as np

from opkit.checker import Attrs
from opkit.eager import Tensor
from opkit.eager.pylayer_def import PyLayerDef, PyLayerGradDef
from opkit.listed import listed
from opkit.ops import OpDef, local
from opkit.record import mutable, record
from opkit.static.own_gradient import OwnGradientDef
from opkit.static.py_func import PyFuncDef, PyFuncGradDef
from opkit.verify.subjects.arguments import arrangement, kept
from opkit.verify.subjects.foreign.recording import MOST_CALLS, MOST_SIGNATURES, signature_of
from opkit.verify.subjects.graph_part import as_py_func
from opkit.verify.subjects.parameters import parameters_of


class Sort(Enum):
    """What kind of user op was heard."""

    LAYER = "PyLayer"
    PY_FUNC = "py_func"
    PART = "static_pylayer"
    OP = "op of a directory"


@record
class Traits:
    """How the Tensors of a call stood in the graph.

    Args:
        constants: the float inputs that took no gradient.
        leaves: the inputs that took one and were leaves.
        options: the arguments that were numpy's own arrays and numbers: Tensors take gradients, these do not.
        is_idle: whether there were float inputs and none took a gradient.
    """

    constants: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    is_idle: bool = False


@mutable
class Heard:
    """The calls of one op.

    Args:
        key: the PyLayer's class, or the OpDef of another op's first call.
        sort: what kind of op.
        calls: arguments by name, arrays copied with their strides and what memory they share; one list per signature.
        opdefs: of all calls (py_funcs).
        failures: what forward raised, of each call that did (PyLayers).
        traits: of each signature, how its Tensors stood in the graph (PyLayers).
        is_twice: whether a gradient of its gradient was asked for (``create_graph=True``).
    """

    key: Any
    sort: Sort
    calls: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)
    opdefs: list[Any] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    traits: dict[Any, Traits] = field(default_factory=dict)
    is_twice: bool = False


class InputRecorder:
    """An observer (``opkit.ops.core.observers.Observer``) that keeps inputs of user ops."""

    def __init__(self) -> None:
        self.heard: dict[Any, Heard] = {}

    def __call__(
        self, opdef: OpDef, inputs: Sequence[Any], attrs: Attrs, outputs: Sequence[Any], seconds: float
    ) -> None:
        """Take note of an op that ran."""
        if isinstance(opdef, PyLayerGradDef):
            heard = self.heard.get(opdef.layer)
            if heard is not None and local.mode.is_grad_enabled:
                heard.is_twice = True
            return
        sort = Sort.PY_FUNC
        if isinstance(opdef, OwnGradientDef):
            sort, opdef, inputs = Sort.PART, as_py_func(opdef), inputs[: len(inputs) - len(outputs)]
        elif not opdef.is_user:
            return
        if isinstance(opdef, PyLayerDef):
            layer = opdef.layer
            values = parameters_of(layer).bind(attrs["args"], attrs["kwargs"])
            self._keep(layer, layer, Sort.LAYER, values, _traits(values))
        elif isinstance(opdef, PyFuncDef):
            name = (id(opdef.function), id(opdef.backward_func), opdef.skipped, len(opdef.inputs), len(opdef.outputs))
            self._keep(name, opdef, sort, {"inputs": list(inputs)}, Traits())
            if opdef not in self.heard[name].opdefs:
                self.heard[name].opdefs.append(opdef)
        elif not isinstance(opdef, PyFuncGradDef):
            values = {"inputs": list(inputs), "attrs": dict(attrs)}
            self._keep((opdef.name, str(opdef.where)), opdef, Sort.OP, values, Traits())

    def raised(self, opdef: OpDef, error: Exception) -> None:
        """Take note of a PyLayer whose forward raised."""
        if isinstance(opdef, PyLayerDef):
            heard = self.heard.setdefault(opdef.layer, Heard(opdef.layer, Sort.LAYER))
            heard.failures.append(error)

    def _keep(self, name: Any, key: Any, sort: Sort, values: Mapping[str, Any], traits: Traits) -> None:
        heard = self.heard.get(name)
        if heard is None:
            heard = self.heard[name] = Heard(key, sort)
        signature = (traits, signature_of(values), arrangement(values))
        calls = heard.calls.get(signature)
        if calls is None:
            if len(heard.calls) >= MOST_SIGNATURES:
                return
            calls = heard.calls[signature] = []
            heard.traits[signature] = traits
        if len(calls) < MOST_CALLS:
            calls.append(kept(values))


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
