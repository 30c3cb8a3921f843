"""Wiring: the gradient registration of an op as steps whose attributes are expressions over forward's attributes.

The registration is asked at every example. Optional and variadic inputs and attributes may wire it differently.

Refusals: inputs and attributes near an op's cases that its definition refuses.

An exported file must refuse them too; nothing is exported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker import Case
from opkit.errors import AutogradError, InferError, OpkitError
from opkit.export.model import BackwardStep, ExportError, ExportKernel, Wiring
from opkit.ir import TensorDesc
from opkit.listed import present
from opkit.ops.core.types import Attrs
from opkit.project.gradient import GradientPlan, plan_of
from opkit.project.user_op import UserOp

_Planned = tuple[GradientPlan, Mapping[str, Any], Mapping[str, Any]]
_TAG = "device_sub_tag"
#: Forms that a backward attribute may have over a forward one, tried in this order.
_FORMS = ("{a}", "-{a}", "{a} + 1", "{a} - 1", "2 * {a}", "0.5 * {a}", "1 / {a}", "1 - {a}", "{a} * {a}", "not {a}")


def describe(value: Any) -> list[TensorDesc]:
    """Return the descriptions of an input's value, none where it is left out."""
    return [TensorDesc(item.shape, item.dtype.name) for item in present(value)]


def read_wirings(op: UserOp, cases: Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> tuple[Wiring, ...]:
    """Read the wirings of an op at (inputs, attributes); none where it has no gradient.

    Raises:
        ExportError: its gradient cannot be used, or computes an attribute in a way that has no expression.
    """
    if op.grad is None:
        return ()
    if op.grad_trouble:
        raise ExportError(f"the gradient of {op.name!r} cannot be used: {op.grad_trouble}", where=op.where)
    groups: dict[str, list[_Planned]] = {}
    for inputs, attrs in _with_probes(op, list(cases)):
        plan = plan_at(op, inputs, attrs)
        groups.setdefault(repr(_outline(plan)), []).append((plan, attrs, inputs))
    return tuple(_wiring(op, plans) for plans in groups.values())


def _wiring(op: UserOp, plans: list[_Planned]) -> Wiring:
    first = plans[0][0]
    steps = tuple(_step(op, index, plans) for index in range(len(first.steps)))
    return Wiring(steps, first.bindings, first.reads, tuple(_known(op, inputs, attrs) for _, attrs, inputs in plans))


def _known(op: UserOp, inputs: Mapping[str, Any], attrs: Attrs) -> dict[str, Any]:
    """Return what may decide how a gradient is wired: which inputs are there, how many, plain attributes."""
    found: dict[str, Any] = {}
    for arg in op.compiled.inputs if op.compiled is not None else ():
        if isinstance(inputs.get(arg.name), (list, tuple)):
            found[arg.name] = len(inputs[arg.name])
        elif arg.is_optional:
            found[arg.name] = inputs.get(arg.name) is not None
    return found | {
        name: value for name, value in attrs.items() if name != _TAG and isinstance(value, (bool, int, str))
    }


def plan_at(op: UserOp, inputs: Mapping[str, Any], attrs: Attrs) -> GradientPlan:
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
    inputs, attrs = max(cases, key=lambda case: sum(value is not None for value in case[0].values()))
    for name, value in attrs.items():
        if name == _TAG:
            continue
        for other in _others(value):
            try:
                if op.compiled is not None:
                    op.compiled.check_attrs({**attrs, name: other})
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


def _step(op: UserOp, index: int, plans: list[_Planned]) -> BackwardStep:
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
            seen = [(plan.steps[index].attrs[name], given) for plan, given, _ in plans]
            attrs[name] = _expression(op, step.type, name, seen)
    return BackwardStep(
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


def _evaluated(text: str, attrs: Attrs) -> Any:
    try:
        return eval(text, {"__builtins__": {}}, dict(attrs))
    except Exception:  # this form does not fit the attribute's type
        return None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-6 * abs(b) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)


_MOST = 8
_MOST_CASES = 4

Refused = tuple[Mapping[str, Any], Mapping[str, Any], str]


def refused_near(kernel: ExportKernel, cases: Sequence[Case]) -> tuple[Refused, ...]:
    """Return what a definition refuses of the neighbours of some cases, one per way to be a neighbour."""
    found: dict[str, Refused] = {}
    for case in cases[:_MOST_CASES]:
        for label, inputs, attrs in _neighbours(kernel, case):
            if label not in found and len(found) < _MOST and _is_refused(kernel, inputs, attrs):
                found[label] = (inputs, attrs, label)
    return tuple(found.values())


def _neighbours(kernel: ExportKernel, case: Case) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    attrs = dict(case.attrs)
    for name, value in case.inputs.items():
        if not isinstance(value, np.ndarray):
            continue
        others = {"an axis more": value[..., None], "another dtype": value.astype("int8")}
        if value.ndim:
            others["an axis less"] = value[:0].sum(axis=0).astype(value.dtype)
            others["a longer first axis"] = np.concatenate([value, value[:1]]) if len(value) else value
            others["a longer last axis"] = np.concatenate([value, value[..., :1]], axis=-1) if value.size else value
        for what, other in others.items():
            yield f"{name} with {what}", {**case.inputs, name: other}, attrs
    for spec in kernel.attrs:
        if isinstance(attrs.get(spec.name), int) and not isinstance(attrs[spec.name], bool):
            for number in (-99, 0, 99):
                yield f"{spec.name}={number}", dict(case.inputs), {**attrs, spec.name: number}


def _is_refused(kernel: ExportKernel, inputs: Mapping[str, Any], attrs: Mapping[str, Any]) -> bool:
    descs = {name: items for name, value in inputs.items() if (items := describe(value))}
    try:
        kernel.compiled.infer(descs, kernel.compiled.check_attrs(dict(attrs)))
    except InferError:
        return True
    return False
