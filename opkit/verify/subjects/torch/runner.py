"""Runner: a function of tensors applied to arrays, its results and its gradients as autograd gives them.

What the arguments mean, and what is checked beside the gradient, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch

from opkit.checker import Checkable
from opkit.checker.model.own import OwnCheck
from opkit.checker.model.reference import InFormat
from opkit.errors import UsageError
from opkit.verify.subjects.parameters import Parameters
from opkit.verify.subjects.references import taken_by
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.formats import by_name, in_format, referred
from opkit.verify.subjects.torch.identity import Place, holding
from opkit.verify.subjects.torch.tensors import array_of, each, is_float, listed, share, tensors_in


class _Entrance(torch.autograd.Function):  # type: ignore[misc]  # without torch its base is unknown
    """Hands on a leaf as a tensor that a function may change in place and mark dirty."""

    @staticmethod
    def forward(ctx: Any, leaf: Any) -> Any:
        return leaf.clone(memory_format=torch.preserve_format)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy


@dataclass(slots=True)
class Applied:
    """One application.

    Args:
        outputs: the tensors that came out.
        leaves: those that went in, by input; ``given`` holds what the function got where that is another tensor.
        given: see ``leaves``.
        device: where they lie.
        held: {a user's own parameter among the leaves: what it holds in place of its data while user code runs}.
        edges: where the graph ends at each of these: they are others once a parameter has held another dtype.
    """

    outputs: list[Any]
    leaves: dict[str, Any]
    given: dict[str, Any] = field(default_factory=dict)
    device: Device = CPU
    held: dict[Any, Any] = field(default_factory=dict)
    edges: dict[Any, Any] = field(default_factory=dict)

    def sources(self) -> list[tuple[str, int | None, Any]]:
        """Return the leaves that take a gradient: (input, its index in a list, tensor)."""
        found: list[tuple[str, int | None, Any]] = []
        for name, value in self.leaves.items():
            if isinstance(value, list):
                found += [(name, index, item) for index, item in enumerate(value) if item.requires_grad]
            elif isinstance(value, torch.Tensor) and value.requires_grad:
                found.append((name, None, value))
        return found


class OwnRunner(Protocol):
    """A runner of something with a context of its own."""

    inputs: frozenset[str]
    order: tuple[str, ...]
    changes_inputs: bool
    device: Device

    @property
    def has_forward_mode(self) -> bool:
        """Whether jvp is defined."""

    def apply(
        self,
        arrays: Mapping[str, Any],
        attrs: Mapping[str, Any],
        needs: frozenset[str] | None = None,
        make: Callable[[np.ndarray], Any] | None = None,
    ) -> Applied:
        """Apply it."""

    def results(self, values: Mapping[str, Any]) -> list[Any]:
        """Return its results for arguments by name."""


def gradients_of(
    applied: Applied,
    seeds: Sequence[Any],
    only: Sequence[int] | None = None,
) -> dict[tuple[str, int | None], Any]:
    """Return a gradient per leaf, None where autograd gives none.

    Args:
        applied: the application; its graph is kept.
        seeds: an incoming gradient per output, as tensors.
        only: the outputs that are used, all that can be by default.
    """
    places = [
        place for place, item in enumerate(applied.outputs) if item.requires_grad and (only is None or place in only)
    ]
    sources = applied.sources()
    if not places or not sources:
        return {(name, index): None for name, index, _ in sources}
    roots = [applied.outputs[place] for place in places]
    given = [seeds[place].to(applied.outputs[place].dtype) for place in places]
    applied.device.seed()
    leaves = [leaf for _, _, leaf in sources]
    with holding(applied.held):
        try:
            ends = [applied.edges.get(leaf, leaf) for leaf in leaves]
            found = torch.autograd.grad(roots, ends, given, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            found = _accumulated(roots, leaves, given, error)
    return {(name, index): item for (name, index, _), item in zip(sources, found)}


def _accumulated(roots: list[Any], leaves: list[Any], given: list[Any], refusal: Exception) -> list[Any]:
    """Return gradients as ``.backward()`` leaves them, for a function that insists on it; else raise the refusal."""
    with holding({leaf: leaf.data for leaf in leaves if leaf.is_leaf}):
        try:
            torch.autograd.backward(roots, given, retain_graph=True)
        except Exception:
            raise refusal from None
        return [leaf.grad for leaf in leaves]


class Runner:
    """Runs a function of tensors on arrays.

    Args:
        call: takes the arguments by position; keyword-only ones by name.
        parameters: of the function.
        inputs: the parameters that take arrays.
        constants: those of them that take no gradient.
        device: where it runs.
        changes_inputs: whether it may change an input in place and say so, which a leaf forbids.

    Attributes:
        format: the one format that the function takes, "" where it takes its arrays' dtypes.
        is_short: options at their defaults are left out at the end of a call: backward runs only so.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        parameters: Parameters,
        inputs: frozenset[str],
        constants: frozenset[str],
        device: Device = CPU,
        changes_inputs: bool = False,
    ) -> None:
        self.call, self.parameters, self.inputs, self.constants = call, parameters, inputs, constants
        self.device, self.changes_inputs = device, changes_inputs
        names = parameters.names
        #: The inputs in the order of a call, so that what is found first does not depend on the process.
        self.order = tuple(sorted(inputs, key=lambda name: (names.index(name) if name in names else len(names), name)))
        self.is_short = False
        self.overwrites: frozenset[str] = frozenset()
        self.format: str | None = ""

    # --- one application
    def apply(
        self,
        arrays: Mapping[str, Any],
        attrs: Mapping[str, Any],
        needs: frozenset[str] | None = None,
        make: Callable[[np.ndarray], Any] | None = None,
    ) -> Applied:
        """Apply the function.

        Args:
            arrays: inputs by name.
            attrs: all else by name.
            needs: the inputs that take a gradient, all floats but the constants by default.
            make: how a tensor is made of an array, in its own memory by default.
        """
        leaves: dict[str, Any] = {}
        given: dict[str, Any] = {}
        for name in self.order:
            value = arrays.get(name)
            is_open = name not in self.constants if needs is None else name in needs
            usual = self.device.private if name in self.overwrites else self.device.share
            leaves[name] = each(value, partial(_leaf, make or usual, is_open))
            given[name] = each(leaves[name], self._enter)
        held = {} if make else self._stand_for(leaves, given, attrs)
        self.device.seed()
        with holding(held), torch.enable_grad():
            for original, leaf in held.items():
                original.requires_grad_(leaf.requires_grad)
            result = self.called(self.call, {**attrs, **{key: item for key, item in given.items() if key in arrays}})
            edges = {item: torch.autograd.graph.get_gradient_edge(item) for item in held if item.requires_grad}
        outputs = tensors_in(result)
        return Applied(outputs, leaves, given, self.device, {key: leaf.data for key, leaf in held.items()}, edges)

    def originals(self, attrs: Mapping[str, Any]) -> Mapping[Place, Any]:
        """Return the user's own parameters that stand for inputs, by their places: none."""
        return {}

    def _stand_for(self, leaves: dict[str, Any], given: dict[str, Any], attrs: Mapping[str, Any]) -> dict[Any, Any]:
        """Let the user's own parameters stand for leaves of their shape; return {parameter: leaf}."""
        held: dict[Any, Any] = {}
        for (name, index), original in self.originals(attrs).items():
            value = leaves.get(name)
            leaf = value if index is None else value[index] if value and index < len(value) else None
            if isinstance(leaf, torch.Tensor):
                if leaf.shape != original.shape:
                    raise UsageError(f"{name} is a parameter of shape {tuple(original.shape)} of a module")
                held[original] = leaf
                if index is None:
                    leaves[name] = given[name] = original
                else:
                    leaves[name][index] = given[name][index] = original
        return held

    def _array(self, tensor: Any) -> np.ndarray:
        """Return an output; what computes in one format alone gives float32."""
        return array_of(tensor.float() if self.format and is_float(tensor) else tensor)

    def _enter(self, leaf: Any) -> Any:
        if self.format and is_float(leaf):
            leaf = leaf.to(getattr(torch, self.format))
        if not self.changes_inputs:
            return leaf
        return _Entrance.apply(leaf) if leaf.requires_grad else leaf.clone(memory_format=torch.preserve_format)

    def called(self, function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
        """Call a function with arguments by name; of a short call options at their defaults are left out at the end."""
        rest = {name: value for name, value in values.items() if not self._is_left_out(name, value)}
        defaults = self.parameters.defaults
        told = [
            name in rest and not (self.is_short and _is_default(rest[name], defaults, name))
            for name in self.parameters.positional
        ]
        last = max((place for place, is_told in enumerate(told) if is_told), default=-1)
        rest = {name: value for name, value in rest.items() if name not in self.parameters.positional[last + 1 :]}
        args = [
            rest.pop(name) if name in rest else defaults.get(name) for name in self.parameters.positional[: last + 1]
        ]
        if self.parameters.starred and self.parameters.starred in rest:
            args.extend(rest.pop(self.parameters.starred) or ())
        return function(*args, **rest)

    def results(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the tensors that the function gives for arguments by name, tensors among them."""
        self.device.seed()
        return tensors_in(self.called(self.call, values))

    def _is_left_out(self, name: str, value: Any) -> bool:
        return value is None and name in self.inputs and name in self.parameters.defaults

    # --- what the checker calls
    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Run the function; see ``opkit.checker.Forward``."""
        applied = self.apply(arrays, attrs)
        self._tell(applied, arrays)
        return [self._array(item) for item in applied.outputs]

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Run the function and keep its graph for any number of backward calls."""
        applied = self.apply(arrays, attrs)
        self._tell(applied, arrays)
        fresh = [True]

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            is_first, fresh[0] = fresh[0], False
            seeds = [self.device.share(dout) for dout in douts]
            try:
                found = gradients_of(applied, seeds)
            except Exception:
                if is_first and (self.is_short or not self.parameters.defaults):
                    raise
                found = self._once_more(arrays, attrs, seeds, is_first)
            self._give_back(applied, arrays)
            for seed, dout in zip(seeds, douts):
                self.device.give_back(seed, dout)
            return by_name(applied.leaves, found, needs)

        return [self._array(item) for item in applied.outputs], pullback

    def _once_more(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], seeds: Sequence[Any], is_short: bool
    ) -> dict[tuple[str, int | None], Any]:
        """Run anew: a context may serve once only, or backward may look for the arguments of a short call."""
        if not is_short:
            return gradients_of(self.apply(arrays, attrs), seeds)
        self.is_short = True
        try:
            return gradients_of(self.apply(arrays, attrs), seeds)
        except Exception:
            self.is_short = False
            raise

    def surrogate(self, function: Callable[..., Any]) -> Callable[..., list[np.ndarray]]:
        """Return a declared function, which takes the same arguments, as a forward."""
        other = Runner(function, self.parameters, self.inputs, self.constants, self.device)
        return other.forward

    def reference(self, function: Callable[..., Any]) -> InFormat:
        """Return a declared function, which takes the same arguments or some of them by name, in any format."""
        own = taken_by(function, self.parameters)
        inputs = self.inputs if own is None else self.inputs.intersection(own.names)
        other = Runner(function, own or self.parameters, inputs, self.constants, self.device)
        return partial(referred, other, gradients_of, None if own is None else own.names)

    @property
    def in_format(self) -> InFormat:
        """The function itself in any format."""
        return partial(in_format, self, gradients_of)

    def silent_inputs(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> frozenset[str]:
        """Return the float inputs for which backward gives nothing at all, where it runs."""
        applied = self.apply(arrays, attrs)
        found = gradients_of(applied, [torch.ones_like(item) for item in applied.outputs])
        given = {name for (name, _), item in found.items() if item is not None}
        return frozenset(name for name, _ in found if name not in given)

    def fixed_outputs(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[bool]:
        """Say of each output whether it takes no part in differentiation."""
        return [not item.requires_grad for item in self.apply(arrays, attrs).outputs]

    def steady(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
        """Say whether forward draws none of torch's random numbers."""
        self.device.seed()
        before = self.device.random_state()
        self.apply(arrays, attrs)
        return all(map(torch.equal, before, self.device.random_state()))

    def own_checks(self) -> Sequence[OwnCheck]:
        """Return no check: only custom functions have some."""
        return ()

    def second(self, first: Checkable, example: Mapping[str, Any]) -> Checkable | None:
        """Return the gradient as an op of its own, None where it is not offered."""
        return None

    def _tell(self, applied: Applied, arrays: Mapping[str, Any]) -> None:
        """Let the caller's arrays show what was written to an input without saying so.

        An input that enters through a function of its own lies in other memory than the array.
        """
        if not self.changes_inputs:
            self._give_back(applied, arrays)
            return
        marked = {id(item) for item in self.marked_dirty()}
        for name, value in applied.given.items():
            for tensor, array in zip(listed(value), listed(arrays.get(name))):
                if id(tensor) not in marked and not _is_same(tensor, array):
                    share(array).copy_(tensor.detach().cpu())

    def _give_back(self, applied: Applied, arrays: Mapping[str, Any]) -> None:
        """Let the caller's arrays show what was written to inputs that lie on a device."""
        if self.device.place is None or self.changes_inputs:
            return
        for name, value in applied.leaves.items():
            for tensor, array in zip(listed(value), listed(arrays.get(name))):
                self.device.give_back(tensor, array)

    def marked_dirty(self) -> Sequence[Any]:
        """Return the inputs that the last call changed in place and said so."""
        return ()


def _is_default(value: Any, defaults: Mapping[str, Any], name: str) -> bool:
    if name not in defaults:
        return False
    default = defaults[name]
    is_plain = isinstance(default, (bool, int, float, str)) and type(value) is type(default)
    return value is default or bool(is_plain and value == default)


def _leaf(make: Callable[[np.ndarray], Any], is_open: bool, array: np.ndarray) -> Any:
    tensor = make(array)
    return tensor.requires_grad_() if is_open and is_float(tensor) else tensor


def _is_same(tensor: Any, array: np.ndarray) -> bool:
    return array_of(tensor).tobytes() == np.ascontiguousarray(array).tobytes()
