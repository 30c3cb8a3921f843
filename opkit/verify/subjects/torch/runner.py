"""Runner: a function of tensors applied to arrays, its results and its gradients as autograd gives them.

What the arguments mean, and what is checked beside the gradient, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np
import torch

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.evaluate import InputLeaf
from opkit.checker.model.types import Computed, Ran
from opkit.errors import UsageError
from opkit.listed import each, present
from opkit.ops.core.types import Function
from opkit.record import mutable
from opkit.verify.subjects.foreign.running import ForeignRunner, by_name
from opkit.verify.subjects.subject import Formats, Signature
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.formats import widened
from opkit.verify.subjects.torch.identity import Place, holding
from opkit.verify.subjects.torch.tensors import (
    array_of,
    arrays_of,
    is_float,
    leaves_in,
    share,
    tensors_in,
)


class _Entrance(torch.autograd.Function):  # type: ignore[misc]  # without torch its base is unknown
    """Hands on a leaf as a tensor that a function may change in place and mark dirty."""

    @staticmethod
    def forward(ctx: Any, leaf: Any) -> Any:
        return leaf.clone(memory_format=torch.preserve_format)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        return dy


@mutable
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

    def sources(self) -> dict[InputLeaf, Any]:
        """Return the leaves that take a gradient."""
        return {leaf: tensor for leaf, tensor in leaves_in(self.leaves) if tensor.requires_grad}

    def gradients(self, seeds: Sequence[Any], only: Sequence[int] | None = None) -> dict[InputLeaf, Any]:
        """Return a gradient per leaf that takes one, None where autograd gives none; the graph is kept.

        Args:
            seeds: an incoming gradient per output, as tensors.
            only: the outputs that are used, all that can be by default.
        """
        places = [
            place for place, item in enumerate(self.outputs) if item.requires_grad and (only is None or place in only)
        ]
        sources = self.sources()
        if not places or not sources:
            return dict.fromkeys(sources)
        roots = [self.outputs[place] for place in places]
        given = [seeds[place].to(self.outputs[place].dtype) for place in places]
        self.device.seed(is_backward=True)
        leaves = list(sources.values())
        with holding(self.held):
            try:
                ends = [self.edges.get(leaf, leaf) for leaf in leaves]
                found = torch.autograd.grad(roots, ends, given, retain_graph=True, allow_unused=True)
            except RuntimeError as error:
                found = _accumulated(roots, leaves, given, error)
        return dict(zip(sources, found))


def _accumulated(roots: list[Any], leaves: list[Any], given: list[Any], refusal: Exception) -> list[Any]:
    """Return gradients as ``.backward()`` leaves them, for a function that insists on it; else raise the refusal."""
    with holding({leaf: leaf.data for leaf in leaves if leaf.is_leaf}):
        try:
            torch.autograd.backward(roots, given, retain_graph=True)
        except Exception:
            raise refusal from None
        return [leaf.grad for leaf in leaves]


class Runner(ForeignRunner):
    """Runs a function of tensors on arrays.

    Args:
        call: takes the arguments by position; keyword-only ones by name.
        signature: of the function.
        device: where it runs.

    Attributes:
        formats: the format in which it gets each input, empty where it takes its arrays' dtypes.
        changes_inputs: whether it may change an input in place and say so, which a leaf forbids.
        has_forward_mode: whether it defines jvp.
    """

    changes_inputs = False
    has_forward_mode = False

    def __init__(self, call: Function, signature: Signature, device: Device = CPU) -> None:
        super().__init__(call, signature)
        self.device = device
        self.formats: Formats = {}
        inputs, names = signature.inputs, signature.parameters.names
        #: The inputs in the order of a call, so that what is found first does not depend on the process.
        self.order = tuple(sorted(inputs, key=lambda name: (names.index(name) if name in names else len(names), name)))

    def like(self, function: Function, signature: Signature) -> Runner:
        """Return a runner of a declared function on the same device."""
        return _Declared(function, signature, self.device)

    # --- one application
    def apply(
        self,
        arrays: Arrays,
        attrs: Attrs,
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
            leaves[name] = each(partial(_leaf, make or usual, is_open), value)
            given[name] = each(partial(self._enter, self.formats.get(name)), leaves[name])
        held = {} if make else self._stand_for(leaves, given, attrs)
        self.device.seed()
        with holding(held), torch.enable_grad():
            for original, leaf in held.items():
                original.requires_grad_(leaf.requires_grad)
            result = self.called({**attrs, **{key: item for key, item in given.items() if key in arrays}})
            edges = {item: torch.autograd.graph.get_gradient_edge(item) for item in held if item.requires_grad}
        outputs = tensors_in(result)
        return Applied(outputs, leaves, given, self.device, {key: leaf.data for key, leaf in held.items()}, edges)

    def originals(self, attrs: Attrs) -> Mapping[Place, Any]:
        """Return the user's own parameters that stand for inputs, by their places: none."""
        return {}

    def _stand_for(self, leaves: dict[str, Any], given: dict[str, Any], attrs: Attrs) -> dict[Any, Any]:
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
        return array_of(tensor.float() if self.formats and is_float(tensor) else tensor)

    def _enter(self, format: str | None, leaf: Any) -> Any:
        if format and is_float(leaf):
            leaf = leaf.to(getattr(torch, format))
        if not self.changes_inputs:
            return leaf
        return _Entrance.apply(leaf) if leaf.requires_grad else leaf.clone(memory_format=torch.preserve_format)

    def results(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the tensors that the function gives for arguments by name, tensors among them."""
        self.device.seed()
        return tensors_in(self.called(values))

    # --- what the checker calls
    def forward(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run the function; see ``opkit.checker.Forward``."""
        applied = self.apply(arrays, attrs)
        self._tell(applied, arrays)
        return [self._array(item) for item in applied.outputs]

    def vjp(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run the function and keep its graph for any number of backward calls."""
        applied = self.apply(arrays, attrs)
        self._tell(applied, arrays)
        fresh = [True]

        def pullback(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            is_first, fresh[0] = fresh[0], False
            seeds = [self.device.share(dout) for dout in douts]
            try:
                found = applied.gradients(seeds)
            except Exception:
                if is_first:
                    raise
                found = self.apply(arrays, attrs).gradients(seeds)  # a context may serve once only
            self._give_back(applied, arrays)
            for seed, dout in zip(seeds, douts):
                self.device.give_back(seed, dout)
            return by_name(arrays, arrays_of(found), needs)

        return [self._array(item) for item in applied.outputs], pullback

    def run_in(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function in a format; see ``opkit.checker.model.reference.InFormat``."""
        dtype = getattr(torch, format)

        def make(array: np.ndarray) -> Any:
            tensor = self.device.private(array)
            return tensor.to(dtype) if is_float(tensor) else tensor

        applied = self.apply(arrays, attrs, make=make)
        outputs = [array_of(item.double() if is_float(item) else item) for item in applied.outputs]
        if douts is None:
            return outputs, {}
        rest = [np.zeros(item.shape) for item in outputs[len(douts) :]]
        found = applied.gradients([self.device.private(np.asarray(item)) for item in (*douts, *rest)])
        wide = {leaf: None if item is None else array_of(item.double()) for leaf, item in found.items()}
        return outputs, by_name(arrays, wide, self.inputs)

    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the float inputs for which backward gives nothing at all, where it runs."""
        applied = self.apply(arrays, attrs)
        found = applied.gradients([torch.ones_like(item) for item in applied.outputs])
        given = {leaf.name for leaf, item in found.items() if item is not None}
        return frozenset(leaf.name for leaf in found) - given

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say of each output whether it takes no part in differentiation."""
        return [not item.requires_grad for item in self.apply(arrays, attrs).outputs]

    def steady(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether forward draws none of torch's random numbers."""
        self.device.seed()
        before = self.device.random_state()
        self.apply(arrays, attrs)
        return all(map(torch.equal, before, self.device.random_state()))

    def _tell(self, applied: Applied, arrays: Arrays) -> None:
        """Let the caller's arrays show what was written to an input without saying so.

        An input that enters through a function of its own lies in other memory than the array.
        """
        if not self.changes_inputs:
            self._give_back(applied, arrays)
            return
        marked = {id(item) for item in self.marked_dirty()}
        for name, value in applied.given.items():
            for tensor, array in zip(present(value), present(arrays.get(name))):
                if id(tensor) not in marked and not _is_same(tensor, array):
                    share(array).copy_(tensor.detach().cpu())

    def _give_back(self, applied: Applied, arrays: Arrays) -> None:
        """Let the caller's arrays show what was written to inputs that lie on a device."""
        if self.device.place is None or self.changes_inputs:
            return
        for name, value in applied.leaves.items():
            for tensor, array in zip(present(value), present(arrays.get(name))):
                self.device.give_back(tensor, array)

    def marked_dirty(self) -> Sequence[Any]:
        """Return the inputs that the last call changed in place and said so."""
        return ()


class _Declared(Runner):
    """Runs a surrogate or a reference, in float64 throughout where it runs in that."""

    def run_in(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function in a format; see ``opkit.checker.model.reference.InFormat``."""
        with widened() if format == "float64" else nullcontext():
            return super().run_in(arrays, attrs, douts, format)


def _leaf(make: Callable[[np.ndarray], Any], is_open: bool, array: np.ndarray) -> Any:
    tensor = make(array)
    return tensor.requires_grad_() if is_open and is_float(tensor) else tensor


def _is_same(tensor: Any, array: np.ndarray) -> bool:
    return array_of(tensor).tobytes() == np.ascontiguousarray(array).tobytes()
