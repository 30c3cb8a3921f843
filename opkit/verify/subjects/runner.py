"""Runner: a function of Tensors applied to arrays, and its gradient, as a PyLayer's backward itself returned it.

Makes no checkable: what the arguments mean is decided elsewhere.

Upstream: Tensors as an op before the PyLayer would have made them, without that op.

A gradient with respect to such a Tensor is what arrives at it; nothing lies beyond.

Owned: the arguments of one call, and whether the called function put something else in the place of one of them.

What was written to an array is found by the checker's custody; what follows from a change is its business too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from opkit.blind.call import RANDOM_SEED
from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.types import Ran
from opkit.eager import Tensor, grad, wrap
from opkit.eager.node import Node
from opkit.eager.pylayer_faults import NoTensorError
from opkit.errors import KernelError
from opkit.listed import listed
from opkit.ops import local
from opkit.ops.basis.creation import IDENTITY
from opkit.ops.basis.random import generator_state, seed
from opkit.ops.core.define import NO_ATTRS
from opkit.ops.core.types import Function
from opkit.verify.subjects.subject import Signature, SubjectRunner


class Owned:
    """Arguments by name as one call gets them, and the arrays that Tensors among them stood for.

    Lists are copied for the call, so that a function that changes one spoils no later call.

    Args:
        given: the arguments.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.values, self._given = dict(given), given
        self._lists: list[str] = []
        self._tensors: dict[int, tuple[str, Tensor, np.ndarray]] = {}
        for name, value in given.items():
            if isinstance(value, Tensor):
                self._tensors.setdefault(id(value), (name, value, value._data))
            elif isinstance(value, (list, tuple)):
                if type(value) is list:
                    self._lists.append(name)
                    self.values[name] = list(value)
                self.keep(name, value)

    def keep(self, name: str, values: Iterable[Any]) -> None:
        """Watch over the Tensors among values, under one name: results and incoming gradients must stay as they are."""
        for item in values:
            if isinstance(item, Tensor):
                self._tensors.setdefault(id(item), (name, item, item._data))

    def gave(self, outputs: Iterable[Tensor]) -> bool:
        """Return whether one of the outputs stands for the array of an argument."""
        given = {id(array) for _, _, array in self._tensors.values()}
        return any(id(item._data) in given for item in outputs)

    def verify(self, what: str, exempt: Sequence[Tensor] = ()) -> None:
        """Compare the arguments with what they were.

        Args:
            what: the function that was called.
            exempt: Tensors that it may change: an input that forward returns was changed in place on purpose.

        Raises:
            KernelError: one was changed.
        """
        changed = [
            name
            for name, item, array in self._tensors.values()
            if item._data is not array and not any(item is one for one in exempt)
        ]
        changed += [name for name in self._lists if [*map(id, self._given[name])] != [*map(id, self.values[name])]]
        if changed:
            raise KernelError(
                f"{what} changed {changed[0]}, which is read-only: the caller still holds it; work on a copy"
            )


def as_result(leaf: Tensor) -> Tensor:
    """Give a leaf the place in the graph of an op's result, and return another Tensor on its array at that place.

    The function that gets the other one may give it another place; the leaf stays where the gradient is wanted.
    """
    node = Node()
    node.opdef, node.attrs = IDENTITY, NO_ATTRS
    node.walk_rule, node.walk_width = _end, 1
    node.walk_edges, node.walk_indices = (), ()
    node._in, node._out, node._versions, node._cells = (), None, None, None
    leaf._node = node
    made = wrap(leaf._data, stop_gradient=False)
    made._node = node
    return made


def _end(node: Node, _douts: Sequence[Any], release: bool) -> tuple[()]:
    if release:
        node.walk_edges = None
    return ()


def plain_arrays(value: Any) -> Any:
    """Return Tensors and numpy scalars as arrays, lists of them as lists of arrays, and all else as it is."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, np.ndarray)) for item in value):
        return [plain_arrays(item) for item in value]
    return value


def tensors_in(result: Any) -> list[Tensor]:
    """Return the Tensors of what a forward returned: bare, in a tuple or list, or in a list in that."""
    if isinstance(result, Tensor):
        return [result]
    found: list[Tensor] = []
    for item in listed(result):
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (list, tuple)) and all(isinstance(member, Tensor) for member in item):
            found.extend(item)
    return found


class Runner(SubjectRunner):
    """Runs a function of Tensors.

    Args:
        call: the function.
        signature: of the function; forward may return an input that is not one of its leaves.
        raw: what backward itself returned last, where that is heard.
    """

    shares = True

    def __init__(self, call: Function, signature: Signature, raw: list[Any] | None = None) -> None:
        super().__init__(call, signature)
        self._names, self._leaves = signature.parameters.names, signature.leaves
        self._raw: list[Any] = [] if raw is None else raw
        self._order: tuple[tuple[str, ...], list[tuple[str, bool]]] = ((), [])

    def like(self, function: Function, signature: Signature) -> Runner:
        """Return a runner of a declared function, which takes no ctx."""
        return Runner(function, signature)

    def arguments(self, arrays: Arrays, attrs: Attrs) -> dict[str, Any]:
        """Return forward's arguments by name, arrays as Tensors that take a gradient as in a run.

        Where it shares, two arguments that are one array are one Tensor, as a run gave them.
        """
        values: dict[str, Any] = {}
        is_one = len(arrays) == 1 and not isinstance(next(iter(arrays.values())), (list, tuple))
        known: dict[Any, Tensor] | None = {} if self.shares and not is_one else None
        for name, is_input in self._ordered((*arrays, *attrs)):
            if not is_input:
                if name in attrs:
                    values[name] = attrs[name]
                continue
            value = arrays.get(name)
            if name in self.overwrites:
                value = deepcopy(value)
            if value is not None:
                values[name] = _tensors(value, name not in self.constants, known)
            elif name in arrays and name not in self.parameters.defaults:
                values[name] = None
        return values

    def _ordered(self, given: tuple[str, ...]) -> list[tuple[str, bool]]:
        """Return the names of a call's arguments, and whether each is an input; most calls give the same."""
        if self._order[0] != given:
            names = dict.fromkeys((*self._names, *given))
            self._order = given, [(name, name in self.inputs) for name in names]
        return self._order[1]

    def _apply(self, values: Mapping[str, Any]) -> tuple[list[Tensor], Owned]:
        """Return the outputs of one application to arguments by name, and the watch over these arguments."""
        known: dict[int, Tensor] = {}
        given = dict(values)
        for name, value in values.items():
            if (isinstance(value, Tensor) or type(value) is list) and name not in self._leaves:
                given[name] = _passed_on(value, known)
        owned = Owned(given)
        if self.draws:
            seed(RANDOM_SEED)
        outputs = tensors_in(self.called(owned.values))
        owned.verify("forward", outputs)
        return outputs, owned

    def _computed(self, values: Mapping[str, Any]) -> list[Tensor]:
        """Return the outputs of one application that nothing is differentiated through.

        The user's functions run without recording anyway, so what is spared is the application's own record. Only where
        forward returned an argument does that record have a say: it may refuse this, or put a new Tensor in its place.
        """
        if len(values) == 1:  # of which a record is made more quickly than it is left out
            return self._apply(values)[0]
        mode = local.mode
        was_enabled, mode.is_grad_enabled = mode.is_grad_enabled, False
        try:
            outputs, owned = self._apply(values)
        finally:
            mode.is_grad_enabled = was_enabled
        return self._apply(values)[0] if owned.gave(outputs) else outputs

    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run forward; see ``opkit.checker.Forward``.

        Raises:
            KernelError: it returned no Tensor.
        """
        values = self.arguments(arrays, attrs)
        try:
            return [tensor._data for tensor in self._computed(values)]
        except NoTensorError as error:  # it took its arguments, whatever it then did
            raise KernelError(error.message, where=error.where, help=error.help) from error

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say that no output is fixed; what forward draws is the same from now on."""
        before = generator_state()
        found = super().fixed_outputs(arrays, attrs)
        self.draws = generator_state() != before
        return found

    def redraws(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether backward draws random numbers itself."""
        outputs, pullback = self.vjp(arrays, attrs)
        seed(RANDOM_SEED + 1)
        before = generator_state()
        pullback([np.ones_like(item) for item in outputs], frozenset(self.inputs))
        return generator_state() != before

    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the inputs for which backward gives None while it gives others a gradient; none where it raises."""
        try:
            outputs, pullback = self.vjp(arrays, attrs)
            pullback([np.ones_like(item) for item in outputs], frozenset(self.inputs))
        except Exception:  # a None that is refused is what is looked for; the checks report all else
            pass
        names = [name for name in self.parameters.names if name in self.inputs and arrays.get(name) is not None]
        result = self._raw[-1] if self._raw else None
        if not isinstance(result, (list, tuple)) or len(result) != len(names):
            return frozenset()
        found = frozenset(name for name, item in zip(names, result) if item is None)
        return found if len(found) < len(names) else frozenset()

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run forward and keep its context for any number of backward calls."""
        values = self.arguments(arrays, attrs)
        outputs, owned = self._apply(values)
        slots = _slots(values)  # which stand in the order of the call
        owned.keep("its output", outputs)

        def pullback(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            leaves = [leaf for items in slots.values() for leaf in items if not leaf._sg]
            self._raw.clear()
            seeds = [wrap(dout) for dout in douts]
            if self.draws:
                seed(RANDOM_SEED + 1)  # backward gets other numbers than forward
            found = grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
            owned.verify("backward")
            by_leaf = {id(leaf): None if item is None else item._data for leaf, item in zip(leaves, found)}
            return self._by_name(slots, by_leaf, arrays, needs)

        return [tensor._data for tensor in outputs], pullback

    def _by_name(
        self, slots: Mapping[str, list[Tensor]], found: Mapping[int, Any], arrays: Arrays, needs: frozenset[str]
    ) -> dict[str, Any]:
        """Return gradients by input, as backward itself returned them, where this is known."""
        raw = _raw_slots(self._raw[-1] if self._raw else None, len(slots))
        result: dict[str, Any] = {}
        for (name, leaves), given in zip(slots.items(), raw):
            if name in needs:
                values = given if len(given) == len(leaves) else [found.get(id(leaf)) for leaf in leaves]
                result[name] = values if isinstance(arrays[name], (list, tuple)) else values[0]
        return result


def _tensors(value: Any, takes_gradient: bool, known: dict[Any, Tensor] | None) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tensors(item, takes_gradient, known) for item in value]
    takes_gradient = takes_gradient and value.dtype.kind == "f"
    if known is None or not value.size:
        return wrap(value, stop_gradient=not takes_gradient)
    place: tuple[Any, ...] = (id(value), takes_gradient)
    if value.base is not None:  # two views may be of one place
        place = (value.__array_interface__["data"][0], value.shape, value.strides, value.dtype.str, takes_gradient)
    if place not in known:
        known[place] = wrap(value, stop_gradient=not takes_gradient)
    return known[place]


def _passed_on(value: Any, known: dict[int, Tensor]) -> Any:
    """Return what an op made of a leaf that takes a gradient, on the same array; of one leaf the same."""
    if isinstance(value, list):
        return [_passed_on(item, known) for item in value]
    if not isinstance(value, Tensor) or value._sg:
        return value
    if id(value) not in known:
        known[id(value)] = as_result(value)
    return known[id(value)]


def _slots(values: Mapping[str, Any]) -> dict[str, list[Tensor]]:
    """Return the gradient slots of a call in its order: the Tensors of each parameter that has some."""
    every = {name: [item for item in listed(value) if isinstance(item, Tensor)] for name, value in values.items()}
    return {name: items for name, items in every.items() if items}


def _raw_slots(result: Any, count: int) -> list[list[Any]]:
    """Return the arrays that backward returned, by slot; none of any where they do not line up with the slots."""
    items = listed(result) if count != 1 or len(listed(result)) == 1 else [result]
    return [[part._data for part in tensors_in(item)] for item in items] if len(items) == count else [[]] * count
