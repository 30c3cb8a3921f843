"""py_func: a user's Python function as an op of a graph, its gradient a second one.

``opkit.static.plan.user_calls`` calls such functions and checks their results while a program runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from numpy import ndarray

from opkit.errors import UsageError
from opkit.ir import TensorDesc, Variable, canonical_dtype
from opkit.listed import listed
from opkit.ops.core.mode import local
from opkit.ops.core.opdef import ArgDef, OpDef
from opkit.ops.core.types import Function
from opkit.static.builder import append, building, new_variable
from opkit.static.functions import register
from opkit.static.names import unique_name


class VariableTypeError(UsageError, TypeError):
    """Something that is not a Variable was passed."""


class StaticModeError(UsageError, AssertionError):
    """A function of static mode was called in dynamic mode."""


@dataclass(slots=True, eq=False, kw_only=True)
class PyFuncDef(OpDef):
    """The op that one ``py_func`` call makes.

    Args:
        function: the user's function; it takes the input arrays and returns one array per output.
        backward_func: the user's function for the gradient, or None.
        skipped: indices into inputs and outputs (counted on) that ``backward_func`` does not take.
        shapes: of the inputs as the program declares them, -1 where a size is open; empty where that is not known.
        asked: the inputs for which a gradient op was appended.
        stopped: the outputs that took no gradient then (``stop_gradient``).
        misfit: what was said when the function returned another shape or dtype than was declared, "" before.
    """

    function: Function
    backward_func: Function | None = None
    skipped: frozenset[int] = frozenset()
    shapes: tuple[tuple[int, ...], ...] = ()
    asked: set[int] = field(default_factory=set)
    stopped: set[int] = field(default_factory=set)
    misfit: str = ""

    @property
    def title(self) -> str:
        """What messages and profiles call it."""
        return f"py_func[{label_of(self.function)}]"


@dataclass(slots=True, eq=False, kw_only=True)
class PyFuncGradDef(OpDef):
    """The gradient op of a ``py_func``.

    The first ``len(needed)`` inputs are read for their shape only: they are the forward inputs whose gradients are
    its outputs. The others are the function's arguments.

    Args:
        function: the user's backward function.
        count: how many values it must return: one per forward input.
        needed: which of them are wanted.
    """

    function: Function
    count: int
    needed: tuple[int, ...]

    @property
    def title(self) -> str:
        """What messages and profiles call it."""
        return f"py_func_grad[{label_of(self.function)}]"


def py_func(
    func: Function,
    x: Any,
    out: Any,
    backward_func: Function | None = None,
    skip_vars_in_backward_input: Any = None,
    *,
    mode_help: str = "call enable_static()",
    tensor_help: str = "",
) -> Any:
    """Add a Python function to the current program.

    Args:
        func: takes one read-only array per input; returns one array per output.
        x: a Variable, a list or tuple of them, or None.
        out: a Variable, an array that declares shape and dtype, a list or tuple of them, or None.
        backward_func: takes inputs, outputs and the outputs' gradients, without the skipped ones; returns one array
            per input, None where an input needs no gradient. An output without a gradient gives None.
        skip_vars_in_backward_input: inputs or outputs that ``backward_func`` does not take.
        mode_help: what to do where dynamic mode is on.
        tensor_help: what to use for a tensor of dynamic mode.

    Returns:
        ``out``, with Variables in place of arrays.

    Raises:
        StaticModeError: dynamic mode is on.
        VariableTypeError: ``x``, ``out`` or a function has a wrong type.
        UsageError: neither inputs nor outputs, or a skipped Variable is not one of them.

    Source: Paddle 2.6, paddle.static.py_func.
    """
    if not local.mode.is_static:
        raise StaticModeError("py_func builds graphs, but no graph is being built", help=mode_help)
    _check_callables(func, backward_func)
    register(func, backward_func)
    inputs = _variables(x, "x", tensor_help)
    block = building.main.blocks[0]
    outputs = [_output(item) for item in _listed(out)]
    if not inputs and not outputs:
        raise UsageError("py_func: x and out are both empty; the function must take or give something")
    skipped = _skipped(skip_vars_in_backward_input, inputs, outputs) if backward_func is not None else frozenset()
    opdef = PyFuncDef(
        name="py_func",
        inputs=arguments_of("x", len(inputs)),
        outputs=arguments_of("out", len(outputs)),
        kernel=func,
        grad=py_func_rule if backward_func is not None else None,
        is_user=True,
        has_side_effect=True,
        function=func,
        backward_func=backward_func,
        skipped=skipped,
        shapes=tuple(item.desc.shape for item in inputs),
    )
    append(
        block,
        opdef,
        inputs,
        {},
        into=outputs,
        descs=[item.desc for item in outputs],
        label=f"py_func[{label_of(func)}]",
    )
    if out is None or isinstance(out, Variable):
        return out
    if not isinstance(out, (list, tuple)):
        return outputs[0]
    return out if all(isinstance(item, Variable) for item in out) else type(out)(outputs)


def label_of(function: Any) -> str:
    """Return the name by which messages and profiles call a function of any callable kind."""
    inner = function
    while not hasattr(inner, "__name__") and hasattr(inner, "func"):
        inner = inner.func
    return str(getattr(inner, "__name__", None) or type(function).__name__)


@lru_cache(maxsize=256)
def arguments_of(stem: str, count: int) -> tuple[ArgDef, ...]:
    """Return numbered arguments."""
    return tuple(ArgDef(f"{stem}{i}") for i in range(count))


def py_func_rule(step: Any, douts: Sequence[Any]) -> list[Any]:
    """Append the gradient op; the gradient rule of every py_func."""
    opdef: PyFuncDef = step.opdef
    needed = tuple([i for i, is_needed in enumerate(step.needs) if is_needed])
    opdef.asked.update(needed)
    opdef.stopped.update(i for i, item in enumerate(step.outputs) if item.stop_gradient)
    inputs = step.inputs
    shapes = [inputs[i] for i in needed]
    passed = [item for i, item in enumerate([*inputs, *step.outputs]) if i not in opdef.skipped]
    assert opdef.backward_func is not None
    grad = PyFuncGradDef(
        name="py_func_grad",
        inputs=grad_arguments_of(len(needed), len(passed), len(douts)),
        outputs=arguments_of("dx", len(needed)),
        kernel=opdef.backward_func,
        is_user=True,
        has_side_effect=True,
        function=opdef.backward_func,
        count=len(inputs),
        needed=needed,
    )
    gradients = append(
        building.main.blocks[0],
        grad,
        [*shapes, *passed, *douts],
        {},
        descs=[item.desc for item in shapes],
        label=f"py_func_grad[{label_of(opdef.backward_func)}]",
    )
    found: list[Any] = [None] * len(inputs)
    for i, gradient in zip(needed, gradients):
        gradient.stop_gradient = False
        found[i] = gradient
    return found


@lru_cache(maxsize=256)
def grad_arguments_of(shapes: int, passed: int, douts: int) -> tuple[ArgDef, ...]:
    """Return the arguments of a gradient op: what is read for its shape, what is passed, the cotangents."""
    return (
        *(ArgDef(f"like{i}", is_shape_only=True) for i in range(shapes)),
        *(ArgDef(f"arg{i}") for i in range(passed)),
        *(ArgDef(f"dout{i}", is_optional=True) for i in range(douts)),
    )


# ---- arguments -------------------------------------------------------------------------------------------------------
def _check_callables(func: Any, backward_func: Any) -> None:
    if not callable(func):
        raise VariableTypeError(
            f"py_func: func must be a Python function or another callable, got {type(func).__name__}"
        )
    if backward_func is not None and not callable(backward_func):
        raise VariableTypeError(
            f"py_func: backward_func must be a Python function or another callable, got {type(backward_func).__name__}"
        )


def _listed(given: Any) -> list[Any]:
    if given is None:
        return []
    return listed(given)


def _variables(given: Any, what: str, tensor_help: str = "") -> list[Variable]:
    items = _listed(given)
    for item in items:
        if not isinstance(item, Variable):
            raise VariableTypeError(
                f"py_func: {what} takes a Variable, or a list or tuple of Variables, got {type(item).__name__}",
                help=tensor_help if hasattr(item, "_data") else "",
            )
    return items


def _output(item: Any) -> Variable:
    if isinstance(item, ndarray):
        desc = TensorDesc(item.shape, canonical_dtype(item.dtype))
        return new_variable(building.main.blocks[0], unique_name("py_func") + ".tmp_0", desc)
    if not isinstance(item, Variable):
        raise VariableTypeError(
            f"py_func: out takes a Variable, an array that declares shape and dtype, or a list of them, "
            f"got {type(item).__name__}",
            help="make it with current_block().create_var(name=..., dtype=..., shape=...)",
        )
    if not item.has_shape:
        raise UsageError(
            f"py_func: out {item.name!r} was made without a shape, which cannot be inferred from a Python function",
            help="declare it: create_var(name=..., dtype=..., shape=...)",
        )
    return item


def _skipped(given: Any, inputs: list[Variable], outputs: list[Variable]) -> frozenset[int]:
    names = [variable.name for variable in (*inputs, *outputs)]
    skipped: set[int] = set()
    for item in _variables(given, "skip_vars_in_backward_input"):
        found = [i for i, name in enumerate(names) if name == item.name]
        if not found:
            raise UsageError(
                f"py_func: {item.name!r} in skip_vars_in_backward_input is not one of its inputs and outputs "
                f"({', '.join(names)})"
            )
        skipped.update(found)
    return frozenset(skipped)
