"""The checks of C++ kernels beside those of any op: they keep to their memory, and agree with their Python twins.

Imported only where an op directory has C++ kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Checkable, Results
from opkit.checker.model.agreement import agree
from opkit.checker.model.checkable import describe_inputs
from opkit.checker.model.evaluate import frozen
from opkit.checker.model.numbers import largest, resolution_of
from opkit.checker.model.own import Fault, OwnCheck
from opkit.errors import KernelError, OpkitError
from opkit.listed import each, listed
from opkit.native.guarded import run_guarded
from opkit.project.cpp_kernel import CppKernel
from opkit.project.kernel import UserKernel
from opkit.project.loading import LoadedOps, with_kernels
from opkit.project.user_op import UserOp
from opkit.record import record
from opkit.spec import CompiledOp
from opkit.verify.codes import BOUNDS, IN_PLACE, TWINS
from opkit.verify.subjects.source_location import shown

#: What the name of an op with C++ kernels ends in, where its Python kernels are checked too.
SUFFIX = " (C++)"


def twins_of(loaded: LoadedOps, kernel: str) -> tuple[LoadedOps, ...]:
    """Return the ops as they are to be checked: with their Python kernels, and with their C++ kernels.

    Args:
        loaded: an op directory.
        kernel: "python" or "cpp" for those alone, "auto" for both.
    """
    if loaded.cpp is None or loaded.cpp.library is None:
        return (loaded,)
    python = with_kernels(loaded, None)
    for name, op in loaded.ops.items():
        if op.kernel is not None and isinstance(op.kernel.function, CppKernel):
            op.kernel.function.is_guarded = True
            twin = python.ops[name].kernel
            if twin is not None and op.compiled is not None:
                op.kernel.function.witness = partial(_refuse_stray, twin, op.compiled)
    usable = [python] if kernel == "auto" and python.kernel_module is not None else []
    return (*usable, loaded)


def with_own_checks(made: Checkable, loaded: LoadedOps, op: UserOp) -> Checkable:
    """Add to an op with C++ kernels the checks of their memory and of their agreement with the Python kernels."""

    def every(
        check: Callable[[_Call], Iterator[Fault]], arrays: Arrays, attrs: Attrs, douts: Results
    ) -> Iterator[Fault]:
        for name, args, options in _calls(made, op, arrays, attrs, douts):
            kernel = loaded.ops[name].kernel if name in loaded.ops else None
            if kernel is not None and isinstance(kernel.function, CppKernel):
                yield from check(_Call(kernel, kernel.function, args, options))

    checks = [OwnCheck(BOUNDS, partial(every, _bounds), is_forward=True, is_thorough=True)]
    checks.append(OwnCheck(IN_PLACE, partial(every, _in_place), is_forward=True))
    name = made.name
    if loaded.kernel_module is not None:
        name += SUFFIX
        python = with_kernels(loaded, None)
        near, far = (partial(every, partial(_twins, python, is_far)) for is_far in (False, True))
        checks.append(OwnCheck(TWINS, near, is_forward=True, is_thorough=True))
        checks.append(OwnCheck(TWINS, far, is_forward=True, is_extreme=True))
    return replace(made, name=name, own=(*made.own, *checks))


@record
class _Call:
    """One call of a C++ kernel: which, on what."""

    kernel: UserKernel
    cpp: CppKernel
    args: tuple[Any, ...]
    attrs: Attrs


def _calls(
    made: Checkable, op: UserOp, arrays: Arrays, attrs: Attrs, douts: Results
) -> Iterator[tuple[str, tuple[Any, ...], Attrs]]:
    """Yield the calls of kernels that forward and its gradient make: op types, arguments and attributes."""
    yield op.name, tuple(arrays.get(arg.name) for arg in made.inputs), attrs
    if made.trace is None or made.registration is None or op.grad_trouble:
        return
    try:
        needs = made.registration(describe_inputs(arrays), attrs).bound
        _, calls = made.trace(arrays, made.forward(arrays, attrs), douts, attrs, needs)
    except OpkitError:  # other checks report it
        return
    for call in calls:
        yield call.kernel.name, tuple(call.inputs.get(name) for name in call.kernel.inputs), call.attrs


def _bounds(call: _Call) -> Iterator[Fault]:
    """GC222: nothing is written but the outputs, and these wholly."""
    (plan, outputs), given = call.cpp.prepared(call.args, call.attrs)
    for trouble in run_guarded(plan, given, outputs)[1]:
        yield Fault(f"the C++ kernel of {call.kernel.op!r}: {trouble}", where=shown(call.kernel.where))


def _in_place(call: _Call) -> Iterator[Fault]:
    """GC223: an output that may be written over an input is the same when it is."""
    (plan, outputs), given = call.cpp.prepared(call.args, call.attrs)
    for output, source in plan.in_place:
        if (given[source].shape, given[source].dtype) != outputs[output]:
            continue
        expected = run_guarded(plan, given, outputs)[0]
        shared = [array.copy() for array in given]
        results = [np.empty(*item) for item in outputs]
        results[output] = shared[source]
        plan.run((*shared, *results))
        if not agree(expected[output], results[output]):
            names = plan.signature.outputs[output].name, plan.signature.inputs[source].name
            message = f"the C++ kernel of {call.kernel.op!r} proposes to write {names[0]!r} over {names[1]!r}, "
            yield Fault(message + "and then computes something else", where=shown(call.kernel.where))


def _twins(python: LoadedOps, is_far: bool, call: _Call) -> Iterator[Fault]:
    """GC221: a C++ kernel gives what the Python kernel gives, also on empty arrays.

    At extreme values half the digits of the largest number agree, where both results are finite.
    """
    twin = python.ops[call.kernel.op].kernel
    if twin is not None:
        for args in (call.args,) if is_far else (call.args, _emptied(call.args)):
            yield from _compared(call, twin, args, is_far)


def _refuse_stray(twin: UserKernel, op: CompiledOp, args: tuple[Any, ...], attrs: Attrs, results: Results) -> None:
    """Let nothing pass for the end of an op's domain that is none for its Python kernel.

    Raises:
        KernelError: a result is NaN, or infinite, where the Python kernel's is an ordinary number.
    """
    if all(item.dtype.kind != "f" or np.isfinite(item).all() for item in results):
        return
    try:
        expected = _flat(twin.call(_read_only(args), _narrowed(op, attrs)))
    except Exception:  # that the Python kernel raises is found when it is checked
        return
    for one, other in zip(expected, results):
        if one.shape != other.shape or one.dtype.kind != "f" or other.dtype.kind != "f":
            continue
        with np.errstate(all="ignore"):
            is_plain = np.abs(one) < np.sqrt(np.finfo(one.dtype).max)
        stray = is_plain & ~np.isfinite(other)
        if stray.any():
            at = _index(stray)
            there, here = other[stray].flat[0], one[stray].flat[0]
            raise KernelError(f"the C++ kernel of {op.name!r} gives {there} at {at}, the Python kernel {here}")


def _compared(call: _Call, twin: UserKernel, args: tuple[Any, ...], is_far: bool) -> Iterator[Fault]:
    is_empty = args is not call.args
    try:
        expected = _flat(twin.call(_read_only(args), _narrowed(call.cpp.compiled, call.attrs)))
    except Exception:  # that the Python kernel raises is found when it is checked
        return
    name = call.kernel.op
    try:
        actual = _flat(call.cpp(args, call.attrs))
    except OpkitError as error:
        if not is_empty:
            yield Fault(f"the C++ kernel of {name!r} raises where the Python kernel does not: {error.message}")
        return
    for spec, one, other in zip(call.cpp.compiled.outputs, expected, actual):
        if is_empty and one.shape != other.shape:
            return  # the arguments were cut to what the definition does not mean; C++ results have inferred shapes
        if is_far and _agree_far(one, other, args):
            continue
        what = _difference(one, other)
        if what:
            place = " on empty arrays" if is_empty else ""
            message = f"the kernels of {name!r} differ in {spec.name!r}{place}: {what}"
            yield Fault(message, where=shown(call.kernel.where))


def _narrowed(op: CompiledOp, attrs: Attrs) -> dict[str, Any]:
    """Return the attributes as the C++ kernel has them: a float there is float32."""
    kinds = {name: spec.type for name, spec in op.attrs.items()}

    def narrowed(kind: str, value: Any) -> Any:
        if kind == "list_float":
            return [float(np.float32(item)) for item in value]
        return float(np.float32(value)) if kind == "float" else value

    with np.errstate(all="ignore"):
        return {name: narrowed(kinds[name], value) for name, value in attrs.items()}


def _difference(one: np.ndarray, other: np.ndarray) -> str:
    """Return in words how a C++ result differs from the Python kernel's, "" where they agree."""
    if one.dtype != other.dtype:
        return f"{other.dtype} in C++, {one.dtype} in Python"
    if one.shape != other.shape:
        return f"shape {other.shape} in C++, {one.shape} in Python"
    if one.dtype.kind == "f":
        only = np.isnan(one) != np.isnan(other)
        if only.any():
            return f"NaN in one of them at {_index(only)}"
    if agree(one, other):
        return ""
    if one.dtype.kind != "f":
        return f"at {_index(one != other)}"
    finite = np.isfinite(one) & np.isfinite(other)
    with np.errstate(all="ignore"):
        distance = np.where(finite, np.abs(one.astype(float) - other.astype(float)) / np.spacing(np.abs(one)), np.inf)
    distance[(one == other) | np.isnan(one)] = 0
    place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    where = f"at {list(map(int, place))}, {other[place]} in C++, {one[place]} in Python"
    return f"by {distance[place]:.3g} units in the last place {where}"


def _agree_far(one: np.ndarray, other: np.ndarray, args: tuple[Any, ...]) -> bool:
    if one.dtype.kind != "f" or one.shape != other.shape or one.dtype != other.dtype:
        return True  # ordinary values show it
    finite = np.isfinite(one) & np.isfinite(other)
    size = max(map(largest, (one, *_flat([item for item in args if item is not None]))))
    apart = np.abs(one[finite].astype(float) - other[finite].astype(float))
    return bool((apart <= np.sqrt(resolution_of(one)) * size).all())


def _index(where: np.ndarray) -> str:
    return str(np.argwhere(where)[0].tolist())


def _flat(result: Any) -> list[np.ndarray]:
    return [np.asarray(part) for item in listed(result) for part in listed(item)]


def _read_only(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each(frozen, value) for value in args)


def _emptied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments without elements: arrays of the first one's leading size are cut to none."""
    first = next((item for item in args if isinstance(item, np.ndarray) and item.ndim), None)
    if first is None:
        return args
    return tuple(
        item[:0] if isinstance(item, np.ndarray) and item.shape[:1] == first.shape[:1] else item for item in args
    )
