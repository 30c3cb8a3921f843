"""Wiring: the gradient registration of an op as steps whose attributes are expressions over forward's attributes.

The registration is asked at every example; what differs between them and has no expression cannot leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opkit.errors import AutogradError, OpkitError
from opkit.export.model import ExportError, ExportKernel, Step, Wiring
from opkit.ir import TensorDesc
from opkit.project.gradient import GradientPlan, plan_of
from opkit.project.user_op import UserOp

__all__ = ["describe", "read_wiring"]

_TAG = "device_sub_tag"
#: Forms that a backward attribute may have over a forward one, tried in this order.
_FORMS = ("{a}", "-{a}", "{a} + 1", "{a} - 1", "2 * {a}", "0.5 * {a}", "1 / {a}", "1 - {a}", "{a} * {a}", "not {a}")


def describe(value: Any) -> list[TensorDesc]:
    """Return the descriptions of an input's value, none where it is left out."""
    items = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    return [TensorDesc(item.shape, item.dtype.name) for item in items]


def read_wiring(op: UserOp, cases: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> Wiring | None:
    """Read the wiring of an op at (inputs, attributes); None where it has no gradient.

    Raises:
        ExportError: its gradient cannot be used, differs between the cases, or computes an attribute in a way that
            has no expression.
    """
    if op.grad is None:
        return None
    if op.grad_trouble:
        raise ExportError(f"the gradient of {op.name!r} cannot be used: {op.grad_trouble}", where=op.where)
    plans = [(plan_at(op, inputs, attrs), attrs) for inputs, attrs in _with_probes(op, list(cases))]
    first = plans[0][0]
    for plan, _ in plans[1:]:
        if _outline(plan) != _outline(first):
            raise ExportError(
                f"the gradient of {op.name!r} is wired differently for different inputs or attributes, "
                "which an exported file cannot say",
                where=op.grad.span.location if op.grad.span is not None else op.where,
            )
    steps = tuple(_step(op, index, plans) for index in range(len(first.steps)))
    bindings = {name: blob for (name, _), blob in first.bindings.items()}
    return Wiring(steps, bindings, first.reads)


def plan_at(op: UserOp, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> GradientPlan:
    """Return the gradient plan for one set of inputs and attributes."""
    if op.grad is None:
        raise AutogradError(f"op {op.name!r} has no gradient", where=op.where)
    descs = {name: items for name, value in inputs.items() if (items := describe(value))}
    return plan_of(op.grad.build(descs, dict(attrs), op_name=op.name))


def _with_probes(
    op: UserOp, cases: list[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Add cases with other attribute values, which tell constants from what is passed on."""
    found = list(cases)
    inputs, attrs = cases[0]
    for name, value in attrs.items():
        if name == _TAG:
            continue
        for other in _others(value):
            try:
                plan_at(op, inputs, {**attrs, name: other})
            except OpkitError:
                continue  # the definition refuses this value
            found.append((inputs, {**attrs, name: other}))
    return found


def _others(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, value + 3)
    if isinstance(value, float):
        return (value + 0.5, value * 3 + 0.25)
    if isinstance(value, str):
        return (value + "_other",)
    return ()


def _outline(plan: GradientPlan) -> Any:
    steps = [(s.type, s.name, sorted(s.inputs.items()), sorted(s.outputs.items()), sorted(s.attrs)) for s in plan.steps]
    return steps, sorted(plan.bindings.items())


def _step(op: UserOp, index: int, plans: list[tuple[GradientPlan, Mapping[str, Any]]]) -> Step:
    step = plans[0][0].steps[index]
    target = op.registry.get(step.type)
    kernel = None
    inputs = list(step.inputs)
    outputs = list(step.outputs)
    if isinstance(target, UserOp):
        if target.compiled is None or target.kernel is None:
            raise ExportError(f"op {target.name!r} cannot be used: {target.trouble}", where=target.where)
        kernel = ExportKernel(target, target.compiled)
        inputs = [arg.name for arg in target.compiled.inputs]
        outputs = [arg.name for arg in target.compiled.outputs if arg.name in step.outputs]
    attrs = {}
    for name in step.attrs:
        if name != _TAG:
            seen = [(plan.steps[index].attrs[name], given) for plan, given in plans]
            attrs[name] = _expression(op, step.type, name, seen)
    return Step(
        step.type,
        kernel,
        tuple((name, tuple(step.inputs.get(name, ()))) for name in inputs),
        tuple((name, tuple(step.outputs[name])) for name in outputs),
        attrs,
    )


def _expression(op: UserOp, step: str, name: str, seen: list[tuple[Any, Mapping[str, Any]]]) -> str:
    """Return an expression over forward's attributes that gives an attribute's value in every case."""
    values = [value for value, _ in seen]
    own = [key for key in seen[0][1] if key != _TAG]
    for attr in sorted(own, key=lambda key: key != name):
        if all(_same(value, given[attr]) for value, given in seen):
            return attr
    if all(_same(value, values[0]) for value in values):
        return repr(values[0])
    for attr in own:
        for form in _FORMS[1:]:
            text = form.format(a=attr)
            if all(_same(value, _evaluated(text, given)) for value, given in seen):
                return text
    raise ExportError(
        f"the gradient of {op.name!r} gives {step!r} an attribute {name!r} that is computed in a way which has no "
        "expression in the exported file",
        where=op.grad.span.location if op.grad is not None and op.grad.span is not None else op.where,
        help="pass on forward's attribute unchanged and compute in the kernel",
    )


def _evaluated(text: str, attrs: Mapping[str, Any]) -> Any:
    try:
        return eval(text, {"__builtins__": {}}, dict(attrs))
    except Exception:  # this form does not fit the attribute's type
        return None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * abs(b) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)
