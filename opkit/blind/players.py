"""Players: how an ordinary run calls a function and takes the way back, for each kind of function.

Uses what a user's own script would: the runtime, torch or JAX. What is called, and when, is decided elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from opkit import eager, ops
from opkit.blind.call import RANDOM_SEED, Form, Kind, Leaf, Manner, Origin, Taken, filled
from opkit.blind.pallas import is_interpreted
from opkit.eager import Tensor, wrap
from opkit.listed import parts
from opkit.ops.basis.random import seed
from opkit.ops.core.types import Arrays, Function
from opkit.project.module import load_module
from opkit.settings import settings
from opkit.shim import frameworks, install_frameworks


class Player(Protocol):
    """One function as an ordinary run calls it."""

    def made(self, leaf: Leaf, array: np.ndarray) -> Any:
        """Return what stands for an array: a Tensor of its own, or what the framework has in its place."""

    def fill(self, held: Any, array: np.ndarray) -> Any:
        """Return the same holding other values, in the same memory where the framework knows such a thing."""

    def play(self, form: Form, held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        """Call the function and take the way back.

        Raises:
            Exception: what the user's functions raise.
        """


def player_of(origin: Origin) -> Player:
    """Load a function as an ordinary script would.

    Raises:
        BaseException: what its file raises.
    """
    if origin.kind is Kind.OP:
        from opkit.project.directory import op_directory_of
        from opkit.project.loading import assemble  # the compiler of definitions, which nothing else needs

        with frameworks(), settings(kernel=origin.kernel):
            return _OpPlayer(assemble(op_directory_of(origin.path)).ops[origin.name])
    install_frameworks()
    sys.path.insert(0, origin.folder)
    found: Any = load_module(origin.path)
    for part in origin.name.split("."):
        found = getattr(found, part)
    if origin.kind is Kind.LAYER:
        eager.install()
        ops.local.mode.is_static = False
        ops.local.mode.is_grad_enabled = True
        return _LayerPlayer(found)
    return _TorchPlayer(found) if origin.kind is Kind.TORCH else _JaxPlayer(found)


class _EagerPlayer:
    """What Tensors of the runtime have in common."""

    def made(self, leaf: Leaf, array: np.ndarray) -> Tensor:
        return wrap(np.array(array), stop_gradient=not leaf.takes_gradient)

    def fill(self, held: Tensor, array: np.ndarray) -> Tensor:
        held._data[...] = array
        return held

    def _back(self, outputs: Sequence[Tensor], leaves: Sequence[Tensor], douts: Arrays, manner: Manner) -> Taken:
        results = [np.array(item._data) for item in outputs]
        places = [index for index, item in enumerate(outputs) if not item.stop_gradient] if douts else []
        if not places or not leaves:
            return Taken(results, [None for _ in leaves])
        seeds = [wrap(np.array(douts[index])) for index in places]
        again = manner is Manner.RECORDED
        roots = [outputs[index] for index in places]
        seed(RANDOM_SEED + 1)
        found = eager.grad(roots, list(leaves), seeds, create_graph=again, allow_unused=True)
        return Taken(results, [None if item is None else np.array(item._data) for item in found])


class _LayerPlayer(_EagerPlayer):
    """A PyLayer, whose inputs come out of other ops, as they do within a model."""

    def __init__(self, layer: Any) -> None:
        self._layer = layer

    def play(self, form: Form, held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        given = [item if item.stop_gradient else _passed_on(item) for item in held]
        seed(RANDOM_SEED)
        result = self._layer.apply(*filled(form.args, given), **filled(dict(form.kwargs), given))
        return self._back(list(parts(result, Tensor)), [item for item in held if not item.stop_gradient], douts, manner)


def _passed_on(leaf: Tensor) -> Tensor:
    made: Tensor = ops.identity(leaf)
    made._data = leaf._data
    return made


class _OpPlayer(_EagerPlayer):
    """An op of an op directory."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def play(self, form: Form, held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        bound = self._op.bind(filled(dict(form.kwargs), held), dict(form.attrs))
        result = ops.apply(bound.opdef, bound.inputs, bound.attrs)
        leaves = [held[leaf.number] for leaf in form.leaves if leaf.takes_gradient]
        return self._back(list(parts(result, Tensor)), leaves, douts if self._op.grad is not None else (), manner)


class _TorchPlayer:
    """A custom function or library op of torch, whose inputs come out of other ops, as they do within a model."""

    def __init__(self, found: Any) -> None:
        self._torch = torch = sys.modules["torch"]
        is_class = isinstance(found, type) and issubclass(found, torch.autograd.Function)
        self._call: Function = found.apply if is_class else found

    def made(self, leaf: Leaf, array: np.ndarray) -> Any:
        return self._torch.from_numpy(np.array(array)).requires_grad_(leaf.takes_gradient)

    def fill(self, held: Any, array: np.ndarray) -> Any:
        with self._torch.no_grad():
            held.copy_(self._torch.from_numpy(np.array(array)))
        return held

    def play(self, form: Form, held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        try:
            return self._played(form, form.args, held, douts, manner)
        except Exception:
            if not form.spare:
                raise
        return self._played(form, form.args[: -form.spare], held, douts, manner)

    def _played(self, form: Form, args: Sequence[Any], held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        torch = self._torch
        given = [item.clone() if item.requires_grad else item for item in held]
        torch.default_generator.manual_seed(RANDOM_SEED)
        result = self._call(*filled(tuple(args), given), **filled(dict(form.kwargs), given))
        outputs = list(parts(result, torch.Tensor))
        leaves = [item for item in held if item.requires_grad]
        results = [self._array(item) for item in outputs]
        places = [index for index, item in enumerate(outputs) if item.requires_grad] if douts else []
        if not places or not leaves:
            return Taken(results, [None for _ in leaves])
        seeds = [torch.from_numpy(np.array(douts[index])).to(outputs[index].dtype) for index in places]
        torch.default_generator.manual_seed(RANDOM_SEED + 1)
        again = manner is Manner.RECORDED
        roots = [outputs[index] for index in places]
        try:
            found = torch.autograd.grad(roots, leaves, seeds, retain_graph=True, create_graph=again, allow_unused=True)
        except RuntimeError:  # a function may insist on backward, which writes x.grad
            torch.autograd.backward(roots, seeds, create_graph=again)
            found = [item.grad for item in leaves]
            for item in leaves:
                item.grad = None
        return Taken(results, [None if item is None else self._array(item) for item in found])

    def _array(self, tensor: Any) -> np.ndarray:
        tensor = tensor.detach()
        if tensor.layout != self._torch.strided:
            tensor = tensor.to_dense()
        if tensor.dtype == self._torch.bfloat16:
            tensor = tensor.float()
        return np.array(tensor.resolve_conj().resolve_neg().numpy())


class _JaxPlayer:
    """A function of JAX."""

    def __init__(self, function: Any) -> None:
        self._jax, self._function = sys.modules["jax"], function
        is_interpreted()

    def made(self, leaf: Leaf, array: np.ndarray) -> Any:
        return np.array(array)

    def fill(self, held: Any, array: np.ndarray) -> Any:
        return np.array(array)  # JAX's arrays are never filled again

    def play(self, form: Form, held: Sequence[Any], douts: Arrays, manner: Manner) -> Taken:
        jax = self._jax
        with jax.enable_x64(any(item.dtype == np.float64 for item in held)):
            arrays = [jax.numpy.asarray(item) for item in held]
            opened = [leaf.number for leaf in form.leaves if leaf.takes_gradient]

            def of_opened(*chosen: Any) -> Any:
                given = list(arrays)
                for number, item in zip(opened, chosen):
                    given[number] = item
                put = partial(jax.tree.map, lambda item: given[item.number] if isinstance(item, Leaf) else item)
                return jax.tree.leaves(self._function(*put(form.args), **put(dict(form.kwargs))))

            if not opened:
                return Taken([self._array(item) for item in of_opened()], [])
            outputs, pullback = jax.vjp(of_opened, *[arrays[number] for number in opened])
            results = [self._array(item) for item in outputs]
            if not douts:
                return Taken(results, [None for _ in opened])
            seeds = [
                jax.numpy.asarray(dout).astype(item.dtype)
                if jax.dtypes.issubdtype(item.dtype, np.floating)
                else np.zeros(item.shape, jax.dtypes.float0)
                for item, dout in zip(outputs, douts)
            ]
            return Taken(results, [self._array(item) for item in pullback(seeds)])

    def _array(self, value: Any) -> np.ndarray:
        found = np.array(value)
        return found.astype(np.float32) if found.dtype.kind == "V" else found
