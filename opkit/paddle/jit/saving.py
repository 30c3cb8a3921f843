"""``paddle.jit.save`` and ``load``: a network as a graph, built from its input spec and run by an Executor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import static
from opkit.eager import Tensor, wrap
from opkit.errors import UsageError
from opkit.ir import Program, TensorDesc, Variable
from opkit.ops.core.mode import local
from opkit.paddle.jit.static_function import StaticFunction, spec_of
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics.saving import load_inference_program, save_inference_program
from opkit.paddle.static.input_spec import InputSpec
from opkit.static.functions import Allow
from opkit.static.parameters import create_state
from opkit.static.parameters import data as add_data
from opkit.static.scope import Scope


def save(layer: Any, path: Any, input_spec: Sequence[Any] | None = None, **configs: Any) -> None:
    """Write a network as a graph: ``PATH.pdmodel`` and ``PATH.pdiparams``.

    Its forward runs once with Variables instead of Tensors; what it decides in Python is decided then. The graph is
    that of evaluation.

    Args:
        layer: a Layer, or a function without parameters of its own.
        path: the files, without a suffix.
        input_spec: one InputSpec (or Tensor, whose shape and dtype count) per argument of forward; left out: that of
            ``to_static``.
        configs: accepted, without effect.

    Raises:
        UsageError: there is no input spec, or forward returns something that is not Variables.
    """
    function = layer.forward if isinstance(layer, Layer) else layer
    spec = input_spec if input_spec is not None else spec_of(function)
    if spec is None:
        raise UsageError(
            f"paddle.jit.save: {_name(layer)} has no input_spec, so the shapes of its inputs are unknown",
            help="pass input_spec=[paddle.static.InputSpec(shape=[None, 4], dtype='float32')]",
        )
    call = function.dygraph_function if isinstance(function, StaticFunction) else function
    owner = layer if isinstance(layer, Layer) else getattr(call, "__self__", None)
    scope = Scope()
    with _building(Program()), _lifted(owner if isinstance(owner, Layer) else None, scope):
        feeds = [_input(item, index) for index, item in enumerate(spec)]
        fetches = list(_leaves(call(*feeds)))
        for item in fetches:
            if not isinstance(item, Variable):
                raise UsageError(f"paddle.jit.save: {_name(layer)} returns {type(item).__name__}, not a Tensor")
        save_inference_program(os.fspath(path), feeds, fetches, scope)


def _name(layer: Any) -> str:
    return type(layer).__name__ if isinstance(layer, Layer) else getattr(layer, "__qualname__", repr(layer))


@contextmanager
def _building(program: Program) -> Iterator[None]:
    """Build a program of its own within the block, whichever mode is on."""
    with _static_mode(), static.program_guard(program, Program()):
        yield


@contextmanager
def _static_mode() -> Iterator[None]:
    was_static = local.mode.is_static
    static.enable_static()
    try:
        yield
    finally:
        if not was_static:
            static.disable_static()


@contextmanager
def _lifted(layer: Layer | None, scope: Scope) -> Iterator[None]:
    """Let a Layer hold Variables instead of parameters and buffers within the block; the scope has their arrays."""
    tables = [] if layer is None else [one.__dict__ for one in layer.sublayers(include_self=True)]
    held = [(table, dict(table)) for each in tables for table in (each["_parameters"], each["_buffers"])]
    made: dict[int, Variable] = {}
    try:
        for table, before in held:
            for name, item in before.items():
                if isinstance(item, Tensor):
                    table[name] = made.setdefault(id(item), _variable(item, scope))
        yield
    finally:
        for table, before in held:
            table.update(before)


def _variable(item: Tensor, scope: Scope) -> Variable:
    array = np.array(item._data)
    variable = create_state(item.name, TensorDesc(array.shape, str(array.dtype)), 0.0)
    scope.var(item.name).put(array)
    return variable


def _input(item: Any, index: int) -> Variable:
    spec = InputSpec.from_tensor(item) if isinstance(item, Tensor) else item
    if not isinstance(spec, InputSpec):
        raise UsageError(f"paddle.jit.save: input_spec[{index}] is an InputSpec or a Tensor, got {type(item).__name__}")
    return add_data(spec.name or f"x{index}", spec.shape, spec.dtype)


def _leaves(outputs: Any) -> Iterator[Any]:
    if isinstance(outputs, list | tuple):
        for item in outputs:
            yield from _leaves(item)
    elif isinstance(outputs, dict):
        for item in outputs.values():
            yield from _leaves(item)
    elif outputs is not None:
        yield outputs


class TranslatedLayer(Layer):
    """A network that ``load`` read: its graph and arrays. It computes, and is not trained further.

    Args:
        program: the graph.
        feeds: names of its inputs.
        fetches: its outputs.
        scope: its arrays.
    """

    def __init__(self, program: Program, feeds: Sequence[str], fetches: Sequence[Variable], scope: Scope) -> None:
        super().__init__()
        self._run = _runner(program, feeds, fetches, scope)
        self._specs = [
            InputSpec(list(var.shape), var.desc.dtype, var.name) for var in map(program.blocks[0].var, feeds)
        ]
        self._program = program
        for name in scope.local_var_names():
            holder = scope.find_var(name)
            if holder is not None and holder.array is not None:
                tensor = wrap(holder.array)
                tensor.name = name
                self.register_buffer(name.replace(".", "_"), tensor)
        self.training = False

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs for one Tensor or array per input; they have no graph."""
        if len(inputs) != len(self._specs):
            raise UsageError(f"the loaded network takes {len(self._specs)} inputs, got {len(inputs)}")
        found = [wrap(array) for array in self._run(inputs)]
        return found[0] if len(found) == 1 else found

    def program(self, method_name: str = "forward") -> Program:
        """Return the graph."""
        return self._program

    def train(self) -> None:
        """Refuse: what is loaded is a graph of evaluation.

        Raises:
            UsageError: always.
        """
        raise UsageError(
            "a network that paddle.jit.load read is a graph of evaluation and is not trained",
            help="build the Layer and load its state_dict with paddle.load to train it",
        )


def _runner(
    program: Program, feeds: Sequence[str], fetches: Sequence[Variable], scope: Scope
) -> Callable[[Sequence[Any]], list[ndarray]]:
    executor = static.Executor()

    def run(inputs: Sequence[Any]) -> list[ndarray]:
        arrays = [item._data if isinstance(item, Tensor) else np.asarray(item) for item in inputs]
        with _static_mode():
            return executor.run(program, dict(zip(feeds, arrays, strict=True)), list(fetches), scope)

    return run


def load(path: Any, *, allow: Allow = (), **configs: Any) -> TranslatedLayer:
    """Return the network that ``save`` or ``paddle.static.save_inference_model`` wrote.

    Args:
        path: the files, without a suffix.
        allow: see ``paddle.static.load_inference_model``.
        configs: accepted, without effect.

    Raises:
        StorageError: a file is missing or damaged.
    """
    scope = Scope()
    return TranslatedLayer(*load_inference_program(os.fspath(path), scope, allow), scope)
