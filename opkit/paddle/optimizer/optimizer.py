"""``Optimizer``: what all optimizers share; each kind names its update op and its state.

Together: an optimizer's updates of small parameters, run in one pass where that changes no bit.

Which arrays an update takes, and with what options, is each optimizer's business.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor, no_grad, wrap
from opkit.errors import UsageError
from opkit.ops.core.mode import local
from opkit.ops.core.observers import run_kernel
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Ints, Name
from opkit.paddle.framework.static_mode import static_hooks
from opkit.paddle.optimizer.scheduler import LRScheduler
from opkit.paddle.regularizer import L1Decay, L2Decay
from opkit.shim.missing import guard as _guard

__all__ = [
    "Optimizer",
    "StateSpec",
    "Update",
    "run_updates",
]


#: The arrays of one parameter's update (parameter, gradient, rate, states), and the op's options.
Update = tuple[Sequence[ndarray], Mapping[str, Any]]

#: Elements of a parameter up to which a call costs more than the copies that save it.
_SMALL = 16384


def run_updates(op: OpDef, updates: Sequence[Update], *, is_elementwise: bool) -> None:
    """Run the updates of several parameters; observers see each one alone.

    Args:
        op: changes one parameter.
        updates: per parameter.
        is_elementwise: each element changes by itself; small parameters of one dtype with equal options, rates and
            scalar states are then laid end to end.
    """
    alike: dict[Any, list[Update]] = {}
    is_joined = is_elementwise and not local.mode.observers
    for update in updates:
        (data, slope, *others), options = update
        key: Any = id(data)
        if is_joined and data.size <= _SMALL and data.shape != (1,):
            numbers = [array.item() for array in others if array.shape == (1,)]
            key = (data.dtype, slope.dtype, *options.values(), *numbers)
        alike.setdefault(key, []).append(update)
    for found in alike.values():
        if len(found) > 1:
            _run_joined(op, [arrays for arrays, _ in found], found[0][1])
        else:
            run_kernel(op, *found[0])


def _run_joined(op: OpDef, rows: Sequence[Sequence[ndarray]], options: Mapping[str, Any]) -> None:
    columns = list(zip(*rows))
    joined = [column[0] if column[0].shape == (1,) else np.concatenate(column, None) for column in columns]
    run_kernel(op, joined, options)
    for index in op.written(options):
        start, whole = 0, joined[index]
        for array in columns[index]:
            if whole.shape == (1,):
                array[0] = whole[0]
            else:
                array.reshape(-1)[:] = whole[start : start + array.size]
                start += array.size


#: State of an update: Paddle's name of the accumulator -> its first value (None: zeros of the parameter's shape;
#: a number: that number in an array of one element; ("full", number): the number in the parameter's shape).
StateSpec = dict[str, Any]

NO_GROUP: Mapping[str, Any] = {}


class Optimizer:
    """Base of all optimizers.

    Args:
        learning_rate: a number or an LRScheduler.
        parameters: the parameters to change (dynamic mode needs them), or a list of groups: dicts with "params" and
            options of their own. A group's "learning_rate" is a factor; it and the group's decay, or the optimizer's,
            take the place of the parameters' own, as in Paddle 2.6.2.
        weight_decay: a number (L2), an L1Decay or an L2Decay; a parameter's own regularizer takes precedence.
        grad_clip: a ClipGradBy...; applied before the decay, as in Paddle.
        name: ignored.

    Source: Paddle 2.6, paddle.optimizer.Optimizer.
    """

    #: The op that changes a parameter.
    update: OpDef
    #: Its state.
    state: StateSpec = {}
    #: The attributes of the update op, beside the decay, that a group may set; ``_NAME`` holds the optimizer's own.
    _rates: tuple[str, ...] = ()
    #: Whether the update op adds the L1 and L2 terms to the gradient; else they are added before it.
    adds_decay = True
    #: Whether an element of a parameter changes by what is in its place alone.
    is_elementwise = True
    #: Whether a group's "weight_decay" takes the place of its parameters' regularizers.
    groups_regularize = True

    def __init__(
        self,
        learning_rate: Any,
        parameters: Any = None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: Name = None,
    ) -> None:
        if isinstance(learning_rate, bool) or not isinstance(learning_rate, (int, float, LRScheduler, np.floating)):
            raise RateError(f"learning_rate is a number or an LRScheduler, got {type(learning_rate).__name__}")
        if parameters is None and not local.mode.is_static:
            raise ParametersError(
                f"{type(self).__name__}: parameters must be given in dynamic mode", help="parameters=layer.parameters()"
            )
        if isinstance(parameters, (Tensor, str, dict)):
            raise ParametersError(f"{type(self).__name__}: parameters is a list, got one {type(parameters).__name__}")
        if grad_clip is not None and not callable(grad_clip):
            raise ParametersError(
                f"{type(self).__name__}: grad_clip is a ClipGradBy..., got {type(grad_clip).__name__}"
            )
        self._learning_rate = learning_rate
        self._grad_clip = grad_clip
        self.regularization = _decay(weight_decay)
        self._groups = self._grouped(parameters)
        self._parameter_list = None if parameters is None else [p for group in self._groups for p in group["params"]]
        self._accumulators: dict[int, tuple[Any, OrderedDict[str, ndarray]]] = {}
        self._waiting: dict[str, Any] = {}

    def _grouped(self, parameters: Any) -> list[dict[str, Any]]:
        """Return the groups, and give what a group says of the rate and the decay to its parameters."""
        items = [] if parameters is None else list(parameters)
        if not items or not isinstance(items[0], dict):
            return [{"params": items}]
        groups = [{**group, "params": _listed(group["params"])} for group in items]
        seen: set[int] = set()
        for group in groups:
            if not seen.isdisjoint(map(id, group["params"])):
                raise ParametersError(f"{type(self).__name__}: a parameter is in two groups")
            seen.update(map(id, group["params"]))
            decay = _decay(group.get("weight_decay", self.regularization)) if self.groups_regularize else None
            for parameter in group["params"]:
                if self.groups_regularize:
                    parameter.regularizer = decay
                parameter.optimize_attr = {"learning_rate": float(group.get("learning_rate", 1.0))}
        return groups

    # ---- the rate --------------------------------------------------------------------------------------------------
    def get_lr(self) -> float:
        """Return the learning rate in force."""
        rate = self._learning_rate
        return float(rate()) if isinstance(rate, LRScheduler) else float(rate)

    def set_lr(self, value: float) -> None:
        """Change the learning rate.

        Raises:
            RuntimeError: a scheduler decides on it.
        """
        if isinstance(self._learning_rate, LRScheduler):
            raise RuntimeError("the learning rate is set by an LRScheduler; call its step(), or set_lr_scheduler()")
        self._learning_rate = float(value)

    def set_lr_scheduler(self, scheduler: LRScheduler) -> None:
        """Let a scheduler decide on the learning rate.

        Raises:
            RateError: it is not one.
        """
        if not isinstance(scheduler, LRScheduler):
            raise RateError(f"set_lr_scheduler takes an LRScheduler, got {type(scheduler).__name__}")
        self._learning_rate = scheduler

    # ---- training --------------------------------------------------------------------------------------------------
    def step(self) -> None:
        """Change the parameters by the gradients that backward accumulated."""
        for group in self._groups:
            pairs = [(p, p.grad) for p in group["params"] if not p.stop_gradient and p.grad is not None]
            if pairs:
                self._apply(pairs, group)

    def minimize(
        self, loss: Any, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> tuple[Any, Any]:
        """Differentiate a loss and change the parameters; in static mode, append the ops that do."""
        if local.mode.is_static:
            found: tuple[Any, Any] = static_hooks.minimize(self, loss, startup_program, parameters, no_grad_set)
            return found
        pairs = self.backward(loss, parameters=parameters, no_grad_set=no_grad_set)
        self._apply(pairs, {})
        return None, pairs

    def backward(
        self,
        loss: Any,
        startup_program: Any = None,
        parameters: Any = None,
        no_grad_set: Any = None,
        callbacks: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Return the (parameter, gradient) pairs of a loss whose backward has run; in static mode, append it."""
        if local.mode.is_static:
            found: list[tuple[Any, Any]] = static_hooks.backward(self, loss, startup_program, parameters, no_grad_set)
            return found
        params = self._parameter_list if parameters is None else list(parameters)
        return [(p, p.grad) for p in params or () if not p.stop_gradient and p.grad is not None]

    def apply_gradients(self, params_grads: Sequence[tuple[Any, Any]]) -> Any:
        """Change parameters by gradients; in static mode, append the ops that do and return them."""
        if local.mode.is_static:
            return static_hooks.apply_gradients(self, list(params_grads))
        self._apply([(p, g) for p, g in params_grads if g is not None], {})
        return None

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Fill the gradients of all parameters with zeros."""
        for parameter in self._parameter_list or ():
            if not parameter.stop_gradient:
                parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def _apply(self, pairs: Sequence[tuple[Any, Any]], group: Mapping[str, Any]) -> None:
        clip = group.get("grad_clip", self._grad_clip)
        if clip is not None:
            with no_grad():
                pairs = clip(pairs)
        rate = self.get_lr()
        updates = [self._update(*pair, rate * self._rate_factor(pair[0]), group) for pair in pairs]
        run_updates(self.update, updates, is_elementwise=self.is_elementwise)
        for parameter, _ in pairs:
            if parameter._version is not None:
                parameter._version[0] += 1

    def _rate_factor(self, parameter: Tensor) -> float:
        factor: float = getattr(parameter, "optimize_attr", {}).get("learning_rate", 1.0)
        return factor

    def _update(self, parameter: Tensor, gradient: Tensor, rate: float, group: Mapping[str, Any]) -> Update:
        data = parameter._data
        if not data.flags.writeable or not data.flags.c_contiguous:
            data = parameter._data = np.ascontiguousarray(data).copy()
        states = self._states_of(parameter, group).values()
        slope = gradient._data if self.adds_decay else self._decayed(parameter, data, gradient._data)
        arrays = (data, slope, np.array([rate], data.dtype), *states)
        return arrays, self.options(parameter, group)

    def _decayed(self, parameter: Tensor, data: ndarray, slope: ndarray) -> ndarray:
        """Return a gradient with the terms of the parameter's regularizer."""
        for name, term in (("l1", np.sign(data)), ("l2", data)):
            weight = self.decay_of(parameter)[name]
            if weight:
                slope = slope + slope.dtype.type(weight) * term
        return slope

    # ---- what a kind of optimizer defines ----------------------------------------------------------------------------
    def options(self, parameter: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the update op's attributes for a parameter (a Tensor or a static parameter).

        Args:
            parameter: the parameter.
            group: options of its group, which take precedence over the optimizer's own.
        """
        return {**self._rates_of(group), **self.decay_of(parameter)}

    def _rates_of(self, group: Mapping[str, Any]) -> dict[str, Any]:
        held = self.__dict__
        return {name: group.get(name, held["_" + name]) for name in self._rates}

    def decay_of(self, parameter: Any) -> dict[str, float]:
        """Return the weights of the L1 and L2 terms for a parameter."""
        own = getattr(parameter, "regularizer", None)
        decay = self.regularization if own is None else own
        return {
            "l1": decay.coefficient if isinstance(decay, L1Decay) else 0.0,
            "l2": decay.coefficient if isinstance(decay, L2Decay) else 0.0,
        }

    def first_state(
        self, shape: Ints, dtype: np.dtype, group: Mapping[str, Any] = NO_GROUP
    ) -> OrderedDict[str, ndarray]:
        """Return the first value of each state array of a parameter, by accumulator name."""
        found: OrderedDict[str, ndarray] = OrderedDict()
        for name, value in self.state_spec(group).items():
            if value is None:
                found[name] = np.zeros(shape, dtype)
            elif isinstance(value, tuple):
                found[name] = np.full(shape, value[1], dtype)
            else:
                found[name] = np.full((1,), value, dtype)
        return found

    def state_spec(self, group: Mapping[str, Any] = NO_GROUP) -> StateSpec:
        """Return the state of the update op, for the parameters of a group."""
        return self.state

    def _states_of(self, parameter: Tensor, group: Mapping[str, Any]) -> OrderedDict[str, ndarray]:
        held = self._accumulators.get(id(parameter))
        if held is None:
            states = self.first_state(parameter._data.shape, parameter._data.dtype, group)
            for name in states:
                waiting = self._waiting.pop(_state_name(parameter, name), None)
                if waiting is not None:
                    states[name] = _array(waiting, states[name], parameter.name)
            held = self._accumulators[id(parameter)] = (parameter, states)
        return held[1]

    # ---- state dict ------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """Return the state arrays by ``PARAMETER_ACCUMULATOR_0``, and the scheduler's state."""
        found: dict[str, Any] = dict(self._waiting)
        for name in self.state_spec():
            for parameter, states in self._accumulators.values():
                tensor = wrap(states[name])
                tensor.name = _state_name(parameter, name)
                found[tensor.name] = tensor
        if isinstance(self._learning_rate, LRScheduler):
            found["LR_Scheduler"] = self._learning_rate.state_dict()
        return found

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load what ``state_dict()`` returned.

        Raises:
            UsageError: the shape of a state array differs.
        """
        given = dict(state_dict)
        scheduler = given.pop("LR_Scheduler", None)
        if scheduler is not None and isinstance(self._learning_rate, LRScheduler):
            self._learning_rate.set_state_dict(scheduler)
        for parameter, states in self._accumulators.values():
            for name in states:
                value = given.pop(_state_name(parameter, name), None)
                if value is not None:
                    states[name] = _array(value, states[name], parameter.name)
        self._waiting = given

    set_dict = set_state_dict


class RateError(UsageError, TypeError):
    """A learning rate is not a number."""


class ParametersError(UsageError, TypeError, AttributeError):
    """The parameters of an optimizer are missing or not a list."""


def _state_name(parameter: Any, name: str) -> str:
    return f"{parameter.name}_{name}_0"


def _array(value: Any, like: ndarray, parameter: str) -> ndarray:
    array = np.array(value._data if isinstance(value, Tensor) else value, like.dtype)
    if array.shape != like.shape:
        raise UsageError(
            f"set_state_dict: the state of {parameter!r} has shape {list(like.shape)}, got {list(array.shape)}"
        )
    return array


def _decay(weight_decay: Any) -> Any:
    if weight_decay is None or isinstance(weight_decay, (L1Decay, L2Decay)):
        return weight_decay
    if isinstance(weight_decay, (int, float)):
        return L2Decay(float(weight_decay))
    raise UsageError(f"weight_decay is a number, an L1Decay or an L2Decay, got {type(weight_decay).__name__}")


def _listed(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


__getattr__ = _guard(globals())
