"""A ``jax.custom_vjp`` or ``jax.custom_jvp`` as a subject, and any other function, whose gradient JAX derives.

The gradient of a function of JAX as an op of its own; JAX differentiates the rule to get the gradient of that.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np

from opkit.checker import Arrays, Attrs
from opkit.checker.model.own import OwnCheck
from opkit.verify.options import NoGradientError
from opkit.verify.subjects.gradient_op import GradientOp
from opkit.verify.subjects.jax.arrays import as_complex, is_array, learn_trees, parted, plain, trees_of
from opkit.verify.subjects.jax.device import NUMPY, Device
from opkit.verify.subjects.jax.own import own_checks
from opkit.verify.subjects.jax.runner import Runner
from opkit.verify.subjects.parameters import parameters_in
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.subject import Subject


class Twice(GradientOp[Runner]):
    """See ``GradientOp``."""

    def gradient(self, *values: Any, **options: Any) -> list[Any]:
        """Return a gradient for each target."""
        call = self.of_first.call_of(dict(zip(self.names, values)), options)
        found = dict(zip((place.name for place in call.sources), call.gradient(call.arrays, values[len(self.names) :])))
        return [found[name] for name in self.targets]

    def leads_back(self, arrays: Arrays, attrs: Attrs) -> bool:
        """Return whether JAX can differentiate the gradients; what takes integers, or gives some, is not asked."""
        if not all(isinstance(value, np.ndarray) and value.dtype.kind == "f" for value in arrays.values()):
            return False
        found, pullback = self.runner.vjp(arrays, attrs)
        pullback([np.ones_like(item) for item in found], frozenset(self.targets))
        return True


_VJP, _JVP = jax.custom_vjp, jax.custom_jvp
#: What a gradient of zeros suggests of a rule that returns no gradients.
_NO_TANGENT = "its tangent may not be used: a rule for jvp returns a sum with one term for the tangent of each argument"


def is_custom(value: Any) -> bool:
    """Return whether a value is a function of the user's with a rule of its own."""
    return isinstance(value, (_VJP, _JVP)) and str(getattr(value, "__module__", "")).partition(".")[0] != "jax"


def function_subject(function: Any, device: Device = NUMPY) -> Subject:
    """Return a custom_vjp or custom_jvp as a subject that runs on a device.

    Raises:
        NoGradientError: it has no rule.
    """
    name, rules = function.fun.__name__, _rules(function)
    if not rules:
        what = "defvjp(fwd, bwd)" if isinstance(function, _VJP) else "defjvp(rule)"
        raise NoGradientError(
            f"{name} has no rule: there is no gradient to check",
            where=location_of(function.fun),
            help=f"call {name}.{what} in the file",
        )
    made = whole_subject(function, function.fun, device)
    names = made.parameters.positional
    static = frozenset(names[place] for place in function.nondiff_argnums if place < len(names))
    return replace(
        made,
        name=name,
        static=static,
        scalars=frozenset(made.parameters.names) - static,
        runs=lambda signature: CustomRunner(function, signature, device),
        functions=(function.fun, *rules),
        backward_where=location_of(rules[-1]),
        if_zero=made.if_zero if isinstance(function, _VJP) else _NO_TANGENT,
    )


def whole_subject(function: Any, body: Any = None, device: Device = NUMPY) -> Subject:
    """Return a function of arrays as a subject that runs on a device."""
    body = body or inspect.unwrap(function)
    parameters = replace(parameters_in(body), trees=trees_of(function))
    where = location_of(body)
    return Subject(
        name=getattr(body, "__qualname__", type(body).__name__).replace("<locals>.", ""),
        parameters=parameters,
        runs=lambda signature: Runner(function, signature, device),
        plain=plain,
        takes_gradient=_takes_gradient,
        complex_maps=(as_complex, parted),
        learn=partial(learn_trees, function),
        functions=(body,),
        forward_where=where,
        backward_where=where,
    )


class CustomRunner(Runner):
    """Runs a function with a rule of its own."""

    gradient_op = Twice

    def own_checks(self) -> tuple[OwnCheck, ...]:
        """Return the checks of what a rule must keep to beside a correct gradient."""
        return own_checks(self)


def _rules(function: Any) -> tuple[Any, ...]:
    found = (function.fwd, function.bwd) if isinstance(function, _VJP) else (getattr(function, "jvp", None),)
    if inspect.isfunction(found[-1]):  # defjvps makes one rule of those that it was given, one for each input
        found = inspect.getclosurevars(found[-1]).nonlocals.get("jvps", found)
    return tuple(item for item in found if item is not None)


def _takes_gradient(value: Any) -> bool | None:
    """Say that nothing of JAX's marks an array as one that takes a gradient."""
    return None if not is_array(value) or jax.dtypes.issubdtype(value.dtype, np.inexact) else False
