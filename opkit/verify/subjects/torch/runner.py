"""Runner: a function of tensors applied to arrays, its results and its gradients as autograd gives them.

What the arguments mean, and what is checked beside the gradient, is decided elsewhere.

Formats: a function of torch, and its gradient, in any floating-point format; references in float64 throughout.

What a reference casts to narrower floats on its way is cast to float64; what a kernel casts is its own.

The gradient of a Function as an op of its own: (inputs, incoming gradients) -> gradients.

It is offered where backward is differentiable itself, so that ``grad(..., create_graph=True)`` leads to the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import field
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.evaluate import InputLeaf, leaves_of
from opkit.checker.model.types import Computed, Ran
from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.record import mutable
from opkit.verify.subjects.foreign.running import ForeignRunner, by_name
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.input_formats import Formats
from opkit.verify.subjects.parameters import leaves_in, nested
from opkit.verify.subjects.subject import Signature
from opkit.verify.subjects.torch.device import CPU, Device
from opkit.verify.subjects.torch.identity import holding
from opkit.verify.subjects.torch.operations import Operations
from opkit.verify.subjects.torch.tensors import (
    array_of,
    arrays_of,
    is_float,
    tensors_in,
)

_NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})
_CASTS = frozenset({torch.Tensor.float, torch.Tensor.bfloat16, torch.Tensor.half})


class _Widened(TorchFunctionMode):  # type: ignore[misc]  # without torch its base is unknown
    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if function in _CASTS:
            return args[0].double()
        named = {key: _wide(item) for key, item in (kwargs or {}).items()}
        return function(*map(_wide, args), **named)


def _wide(item: Any) -> Any:
    return torch.float64 if isinstance(item, torch.dtype) and item in _NARROW else item


@contextmanager
def widened() -> Iterator[None]:
    """Let what runs within compute in float64."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _Widened():
            yield
    finally:
        torch.set_default_dtype(usual)


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
        leaves: those that went in, by their places; ``given`` holds what the function got.
        given: see ``leaves``.
        device: where they lie.
        held: {a user's own parameter among the leaves: what it holds in place of its data while user code runs}.
        edges: where the graph ends at each of these: they are others once a parameter has held another dtype.
    """

    outputs: list[Any]
    leaves: dict[InputLeaf, Any]
    given: dict[InputLeaf, Any] = field(default_factory=dict)
    device: Device = CPU
    held: dict[Any, Any] = field(default_factory=dict)
    edges: dict[Any, Any] = field(default_factory=dict)

    def sources(self) -> dict[InputLeaf, Any]:
        """Return the leaves that take a gradient."""
        return {leaf: tensor for leaf, tensor in self.leaves.items() if tensor.requires_grad}

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
        inputs = {name: arrays[name] for name in self.order if name in arrays}
        leaves: dict[InputLeaf, Any] = {}
        for place, array in leaves_in(inputs):
            usual = self.device.private if place.name in self.overwrites else self.device.share
            leaves[place] = tensor = (make or usual)(array)
            if is_float(tensor) and (place.name not in self.constants if needs is None else place.name in needs):
                tensor.requires_grad_()
        given = {place: self._enter(self.formats.get(place.name), leaf) for place, leaf in leaves.items()}
        held = {} if make else self._stand_for(leaves, given, attrs)
        self.device.seed()
        with holding(held), torch.enable_grad():
            for original, leaf in held.items():
                original.requires_grad_(leaf.requires_grad)
            result = self.called({**attrs, **inputs, **nested(given)})
            edges = {item: torch.autograd.graph.get_gradient_edge(item) for item in held if item.requires_grad}
        outputs = tensors_in(result)
        return Applied(outputs, leaves, given, self.device, {key: leaf.data for key, leaf in held.items()}, edges)

    def originals(self, attrs: Attrs) -> Mapping[InputLeaf, Any]:
        """Return the user's own parameters that stand for inputs, by their places: none."""
        return {}

    def _stand_for(self, leaves: dict[InputLeaf, Any], given: dict[InputLeaf, Any], attrs: Attrs) -> dict[Any, Any]:
        """Let the user's own parameters stand for leaves of their shape; return {parameter: leaf}."""
        held: dict[Any, Any] = {}
        for place, original in self.originals(attrs).items():
            if place in leaves:
                held[original] = leaf = leaves[place]
                if leaf.shape != original.shape:
                    raise UsageError(f"{place.name} is a parameter of shape {tuple(original.shape)} of a module")
                leaves[place] = given[place] = original
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
            if not self.changes_inputs:
                self._tell(applied, arrays)
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

    def culprit(self, arrays: Arrays, attrs: Attrs) -> str:
        """Return which operation of torch itself depends on how arrays lie, "" for none."""
        with Operations() as operations:
            self.apply(arrays, attrs)
        return str(operations.named)

    def silent_inputs(self, arrays: Arrays, attrs: Attrs) -> frozenset[str]:
        """Return the float inputs for which backward gives nothing at all, where it runs."""
        applied = self.apply(arrays, attrs)
        found = applied.gradients([torch.ones_like(item) for item in applied.outputs])
        given = {leaf.name for leaf, item in found.items() if item is not None}
        return frozenset(leaf.name for leaf in found) - given

    def fixed_outputs(self, arrays: Arrays, attrs: Attrs) -> list[bool]:
        """Say of each output whether it takes no part in differentiation."""
        self.device.seed()
        before = self.device.random_state()
        outputs = self.apply(arrays, attrs).outputs
        self.draws = not all(map(torch.equal, before, self.device.random_state()))
        return [not item.requires_grad for item in outputs]

    def redraws(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether backward draws random numbers itself."""
        outputs, pullback = self.vjp(arrays, attrs)
        self.device.seed(is_backward=True)
        before = self.device.random_state()
        pullback([np.ones_like(item) for item in outputs], self.inputs)
        return not all(map(torch.equal, before, self.device.random_state()))

    def _tell(self, applied: Applied, arrays: Arrays) -> None:
        """Let the caller's arrays show what was written to an input, on a device or without saying so.

        An input that enters through a function of its own lies in other memory than the array.
        """
        marked = set(map(id, self.marked_dirty()))
        told = applied.given if self.changes_inputs else applied.leaves
        for place, array in leaves_of(arrays):
            if place in told and id(told[place]) not in marked:
                self.device.give_back(told[place], array, self.changes_inputs)

    def marked_dirty(self) -> Sequence[Any]:
        """Return the inputs that the last call changed in place and said so."""
        return ()


class _Declared(Runner):
    """Runs a surrogate or a reference, in float64 throughout where it runs in that."""

    def run_in(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function in a format; see ``opkit.checker.model.reference.InFormat``."""
        with widened() if format == "float64" else nullcontext():
            return super().run_in(arrays, attrs, douts, format)


class Twice(GradientOp[Runner]):
    """See ``GradientOp``."""

    def gradient(self, *values: Any, **options: Any) -> list[Any]:
        """Return a gradient for each target."""
        named = dict(zip(self.names, values))
        sources = [named[name] for name in self.targets]
        outputs = self.of_first.results({**options, **named})
        seeds = values[len(self.names) :]
        found = torch.autograd.grad(outputs, sources, seeds, create_graph=True, allow_unused=True)
        return [torch.zeros_like(source) if item is None else item for item, source in zip(found, sources)]

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether the gradients can be differentiated with respect to some input."""
        if self.of_first.changes_inputs or any(self.of_first.fixed_outputs(arrays, attrs)):
            return False
        return not self.runner.silent_inputs(arrays, attrs).issuperset(self.targets)
