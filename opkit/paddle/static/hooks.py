"""What Paddle's layers and optimizers do in static mode, through ``opkit.static``; entered into ``static_hooks``."""

from __future__ import annotations

from typing import Any

from numpy import ndarray

from opkit import static
from opkit.ir import Program, TensorDesc, Variable
from opkit.ops.kernels.initializer import constant
from opkit.paddle.framework.static_mode import static_hooks
from opkit.paddle.semantics import builders as ops
from opkit.static.backward import append_backward as find_pairs
from opkit.static.parameters import create_parameter, create_state
from opkit.static.updates import Pairs, State, append_update, learning_rate_variable


def _create_parameter(shape: Any, dtype: str, attr: Any, initializer: Any) -> Variable:
    fields = {
        "regularizer": attr.regularizer,
        "need_clip": attr.need_clip,
        "do_model_average": attr.do_model_average,
        "optimize_attr": {"learning_rate": attr.learning_rate},
    }
    return create_parameter(attr.name, TensorDesc(shape, dtype), initializer, trainable=attr.trainable, **fields)


def _create_buffer(array: ndarray, name: str) -> Variable:
    return create_state(name, TensorDesc(array.shape, array.dtype.name), constant(array))


# ---- optimizers ------------------------------------------------------------------------------------------------------
def minimize(
    optimizer: Any, loss: Variable, startup_program: Program | None, parameters: Any, no_grad_set: Any
) -> tuple[list[Any], Pairs]:
    """Append the gradients of a loss and the updates of the parameters.

    Args:
        optimizer: a ``paddle.optimizer.Optimizer``: its ``update`` op, ``state_spec()``, ``options(parameter, {})``,
            ``get_lr()`` and gradient clip are read.
        loss: a floating-point Variable.
        startup_program: initialises the optimizer's state; left out: the default one.
        parameters: which ones; left out: the optimizer's, or all trainable ones.
        no_grad_set: Variables through which no gradient flows.

    Returns:
        the update Operations, and the (parameter, gradient) pairs.
    """
    pairs = backward(optimizer, loss, startup_program, parameters, no_grad_set)
    with static.program_guard(loss.block.program, startup_program):
        return apply_gradients(optimizer, pairs), pairs


def backward(
    optimizer: Any, loss: Variable, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
) -> Pairs:
    """Append the gradients of a loss and return the (parameter, gradient) pairs."""
    chosen = parameters or optimizer._parameter_list
    return find_pairs(loss, chosen, no_grad_set)


def apply_gradients(optimizer: Any, pairs: Pairs) -> list[Any]:
    """Append the updates of parameters by gradients, clipped as the optimizer says."""
    if not pairs:
        return []
    clip = optimizer._grad_clip
    program = pairs[0][0].block.program
    rates: dict[float, Variable] = {}
    made: list[Any] = []
    with static.build_in(program, "optimize"):
        if clip is not None:
            pairs = clip(pairs)
        rates[1.0] = learning_rate_variable(optimizer.get_lr)
        for parameter, gradient in pairs:
            factor = _factor(optimizer, parameter)
            if factor not in rates:
                rates[factor] = ops.scalar_mul(rates[1.0], factor)
            if not optimizer.adds_decay:
                gradient = _decayed(optimizer, parameter, gradient)
            update = append_update(
                parameter,
                gradient,
                optimizer.update,
                rates[factor],
                _states(optimizer),
                optimizer.options(parameter, {}),
            )
            made.append(update)
    return made


def _decayed(optimizer: Any, parameter: Variable, gradient: Variable) -> Variable:
    """Return a gradient with the terms of the parameter's regularizer."""
    weights = optimizer.decay_of(parameter)
    for name, term in (("l1", ops.sign), ("l2", lambda x: x)):
        if weights[name]:
            gradient = ops.add(gradient, ops.scalar_mul(term(parameter), weights[name]))
    return gradient


def _factor(optimizer: Any, parameter: Variable) -> float:
    factor = float(getattr(parameter, "optimize_attr", {}).get("learning_rate", 1.0))
    ratio = getattr(optimizer, "_lr_ratio", None)
    return factor if ratio is None else factor * float(ratio(parameter))


def _states(optimizer: Any) -> list[State]:
    states = []
    for name, value in optimizer.state_spec().items():
        if value is None:
            states.append(State(name))
        elif isinstance(value, tuple):
            states.append(State(name, float(value[1])))
        else:
            states.append(State(name, float(value), (1,)))
    return states


def install_hooks() -> None:
    """Enter the functions."""
    static_hooks.create_parameter = _create_parameter
    static_hooks.create_buffer = _create_buffer
    static_hooks.minimize = minimize
    static_hooks.backward = backward
    static_hooks.apply_gradients = apply_gradients
