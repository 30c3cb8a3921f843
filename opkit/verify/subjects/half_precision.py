"""Half precision: half precision against float32 (GC207), where a function takes bfloat16 or float16.

The same values run in both; only what is off in most entries is a fault, since rounding moves values across jumps.
float16 has a small range; what leaves it is told apart from what a function does wrong.

Half-precision ops: those of numpy kernels whose cases are of half precision, as ops of float32 with such numbers.

Functions that a runner runs are narrowed by it.

Narrowed: what a runner runs, as a function that hands on arrays of float32 in other formats.

Which formats these are is found out by whoever makes a checkable of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.checker import Arrays, Attrs, Case, Checkable, Results
from opkit.checker.model.agreement import are_most, differing, mostly_agree
from opkit.checker.model.checkable import Infer, describe_inputs
from opkit.checker.model.draws import generator
from opkit.checker.model.evaluate import InputLeaf, frozen, is_float, leaves_of
from opkit.checker.model.formats import FORMATS, HALVES, Format
from opkit.checker.model.numbers import place_of
from opkit.checker.model.own import Fault, OwnCheck
from opkit.checker.model.reference import InFormat
from opkit.checker.model.thresholds import CANCELLED, COARSE_ULPS, FEW, SINGLE_RESOLUTION
from opkit.checker.model.types import Ran
from opkit.errors import InferError, KernelError
from opkit.ir import TensorDesc
from opkit.listed import each
from opkit.ops.core.types import Function
from opkit.verify.codes import HALF
from opkit.verify.subjects.input_formats import Formats, as_given, formats_in, narrow, widen
from opkit.verify.subjects.subject import SubjectRunner

_HALF = np.finfo(np.float16)
#: Values beyond this in float32 may overflow on the way in float16.
_SMALL = 100.0
#: The power of an input that float16 must hold before a gradient that is not finite in it is a fault: formulas with a
#: square of a square norm (reflections, normalizations) leave its range on the way for values whose gradient it holds.
_POWER = 4


def half_precision(run: InFormat, arrays: Arrays, attrs: Attrs, douts: Results) -> list[Fault]:
    """GC207: results and gradients in bfloat16 and float16 against float32; what is not served there is a line."""
    lines: list[Fault] = []
    sources = [array for _, array in leaves_of(arrays)]
    for form in (FORMATS[name] for name in HALVES):
        given = {name: each(partial(_rounded, form), value) for name, value in arrays.items()}
        try:
            expected, _ = run(given, attrs, None, "float32")
            actual, _ = run(given, attrs, None, form.name)
        except Exception:  # user code: it does not take the dtype
            continue
        if form.name == "float16" and _largest(expected) > _SMALL:
            continue
        if not all(np.isfinite(item).all() for item in filter(is_float, actual)):
            lines.append(Fault(f"{form.name}, in which forward gives NaN or infinity", is_line=True))
            continue
        if not mostly_agree(expected, actual, form.eps, _largest(sources)):
            return [Fault(f"forward gives other results in {form.name} than in float32")]
        try:
            fault = _gradient_fault(run, given, attrs, douts, form, sources)
        except Exception as error:  # user code
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            fault = Fault(f"{form.name}, in which backward raises ({said})", is_line=True)
        if fault is not None and not fault.is_line:
            return [fault]
        lines += [] if fault is None else [fault]
    return lines


def _gradient_fault(
    run: InFormat, given: Arrays, attrs: Attrs, douts: Results, form: Format, sources: Results
) -> Fault | None:
    """Return what is wrong with the gradients in a format: most entries differ for one of a few incoming gradients."""
    off: dict[InputLeaf, ndarray] = {}
    for number in range(FEW):
        seeds = [form.rounded(_signed(dout, number)) for dout in douts]
        _, wanted = run(given, attrs, seeds, "float32")
        _, found = run(given, attrs, seeds, form.name)
        there = dict(leaves_of(found))
        for leaf, exact in leaves_of(wanted):
            is_held = form.name != "float16" or bool(np.isfinite(there[leaf]).all())
            if not is_held and _is_beyond_half(exact, there[leaf], sources):
                continue
            if _all_cancels(exact, there[leaf], form, _largest(douts), _largest(sources)):
                continue  # as of a softmax of one
            apart = differing(exact, there[leaf], form.eps, _largest(douts))
            if apart.any():
                lost = _lost(run, given, attrs, seeds, leaf, exact) / CANCELLED
                apart &= differing(exact, there[leaf], form.eps, lost)
            off[leaf] = off.get(leaf, False) | apart
            if are_most(off[leaf]):
                gaps = np.nan_to_num(np.abs(exact - there[leaf]), nan=np.inf)
                place = place_of(np.argmax(np.where(apart, gaps, -1)), exact.shape)
                half, single = f"{there[leaf][place]:.4g} at {list(place)}", f"{exact[place]:.4g}"
                said = f"is another one in {form.name} than in float32: {half}, not {single}"
                if not is_held:
                    said = f"is not finite in float16: {half}, where float32 gives {single}, which float16 can hold"
                return Fault(f"the gradient of {leaf.name} {said}", input=leaf.name)
        if not any(item.any() for item in off.values()):
            break
    return None


def _all_cancels(exact: ndarray, given: ndarray, form: Format, dout: float, source: float) -> bool:
    """Return whether float32 leaves nothing of a gradient, and half precision what rounding leaves of products."""
    if _largest([exact]) > COARSE_ULPS * SINGLE_RESOLUTION * dout:
        return False
    return bool((np.abs(given) <= COARSE_ULPS * form.eps * dout * max(source, 1.0) ** 2).all())


def _signed(dout: ndarray, number: int) -> ndarray:
    """Return an incoming gradient, from the second time on with other signs: whether most entries differ is chance."""
    if not number or not is_float(dout):
        return dout
    signed: ndarray = dout * generator(number).choice([-1, 1], dout.shape).astype(dout.dtype)
    return signed


def _lost(run: InFormat, given: Arrays, attrs: Attrs, seeds: Results, leaf: InputLeaf, exact: np.ndarray) -> float:
    """Return the size of the terms of which a gradient is the small difference, by what float32 loses of it."""
    try:
        _, finer = run(given, attrs, seeds, "float64")
    except Exception:  # user code: it does not take the dtype
        return 0.0
    return _largest([dict(leaves_of(finer))[leaf] - exact]) / float(np.finfo(np.float32).eps)


def _rounded(form: Format, value: Any) -> Any:
    return form.rounded(value) if is_float(value) else value


def _is_beyond_half(exact: np.ndarray, given: np.ndarray, sources: Results) -> bool:
    """Return whether float16's range explains why a gradient is not finite in it.

    It does where the exact gradient lies beyond the range, or a power of an input that formulas go through on the way.

    Args:
        exact: in a wider dtype.
        given: in float16.
        sources: the inputs.
    """
    lost = ~np.isfinite(given)
    if exact.shape != given.shape or not (np.abs(exact[lost]) <= float(_HALF.max)).all():
        return True
    for array in filter(is_float, sources):
        sizes = np.abs(array.astype(np.float64))
        least = float(sizes.min(initial=1.0, where=sizes > 0))
        with np.errstate(over="ignore"):
            most = float((sizes * sizes).sum()) ** (_POWER / 2)
        if least**_POWER < float(_HALF.smallest_subnormal) or most > float(_HALF.max):
            return True
    return False


def _largest(items: Results) -> float:
    """Return the largest magnitude among floats."""
    return max((float(np.abs(item).max(initial=0.0)) for item in filter(is_float, items)), default=0.0)


def of_halves(made: Checkable, example: Arrays, attrs: Attrs) -> Checkable:
    """Return an op whose cases are of half precision as one of float32; others as they are.

    Args:
        made: the op; its reference runs in any format.
        example: inputs of a case, none where there are no cases.
        attrs: all attributes of it.
    """
    given = formats_in({arg.name: example.get(arg.name) for arg in made.inputs})
    if not set(HALVES) & set(given.values()):
        return made
    single = {arg.name: widen(example.get(arg.name)) for arg in made.inputs}
    descs = describe_inputs(single)
    infer, cases = made.infer, made.cases
    assert infer is not None
    assert cases is not None
    try:
        infer(_described(descs, given), attrs)
    except InferError:  # what the definition refuses is no case of it: that is reported
        return made
    wide = replace(made, cases=lambda rng: map(_wide, cases(rng)))
    narrowed = _in(wide, infer, given)
    try:
        infer(descs, attrs)
        made.forward(single, attrs)
    except Exception:  # user code, or a definition: half precision alone is taken
        return narrowed
    run = as_given(wide.run, narrowed.run, given)
    own = () if made.reference is not None else (OwnCheck(HALF, partial(half_precision, run)),)
    return replace(wide, in_format=run, own=(*made.own, *own))


def _wide(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: widen(value) for name, value in values.items()}


def _in(made: Checkable, infer: Infer, formats: Formats) -> Checkable:
    """Return an op that gets its inputs in formats; what gives other dtypes than its definition says raises."""
    forward, backward, trace, registration = made.forward, made.backward, made.trace, made.registration
    dtypes: list[Any] = []

    def run(arrays: Arrays, attrs: Attrs) -> list[ndarray]:
        given = narrow(arrays, formats)
        outputs = forward(given, attrs)
        said = infer(describe_inputs(given), attrs)
        for item, desc in zip(outputs, said):
            if item.dtype.name != desc.dtype:
                raise KernelError(f"forward returned {item.dtype.name} where the definition infers {desc.dtype}")
        dtypes[:] = [item.dtype for item in outputs]
        found: list[ndarray] = widen(list(outputs))
        return found

    def back(step: Function, arrays: Arrays, outputs: Results, douts: Results, *rest: Any) -> Any:
        ys, dys = ([item.astype(dtype) for item, dtype in zip(items, dtypes)] for items in (outputs, douts))
        found = step(narrow(arrays, formats), ys, dys, *rest)
        return (_wide(found[0]), *found[1:]) if isinstance(found, tuple) else _wide(found)

    def inferred(descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> list[TensorDesc]:
        found = infer(_described(descs, formats), attrs)
        return [replace(desc, dtype="float32") if desc.dtype in HALVES else desc for desc in found]

    return replace(
        made,
        forward=run,
        backward=None if backward is None else partial(back, backward),
        trace=None if trace is None else partial(back, trace),
        infer=inferred,
        registration=registration and (lambda descs, attrs: registration(_described(descs, formats), attrs)),
        formats=formats,
        starts_in="float32",
        runners={},
        afresh=None,
    )


def _described(descs: Mapping[str, Sequence[TensorDesc]], formats: Formats) -> dict[str, list[TensorDesc]]:
    """Return descriptions of float32 inputs as those in their formats."""
    return {
        name: [
            replace(desc, dtype=formats[name]) if desc.dtype == "float32" and name in formats else desc
            for desc in items
        ]
        for name, items in descs.items()
    }


def in_formats(made: Checkable, runner: SubjectRunner, formats: Formats) -> Checkable:
    """Return what a runner runs as one that gets arrays of float32 and hands them on in formats.

    Args:
        made: as it is without.
        runner: of it; one that has formats itself keeps to them from here on.
        formats: of the inputs; where there are none, it is as it is.
    """
    if runner.formats is not None:
        runner.formats = formats
    if not formats:
        return made
    made = replace(made, formats=formats, starts_in="float32")
    if runner.formats is not None:
        return made
    forward, run = made.forward, made.run

    def vjp(arrays: Arrays, attrs: Attrs) -> Ran:
        outputs, back = run(narrow(arrays, formats), attrs)

        def pullback(douts: Results, needs: frozenset[str]) -> dict[str, Any]:
            seeds = [frozen(dout.astype(item.dtype)) for dout, item in zip(douts, outputs)]
            return {name: widen(value) for name, value in back(seeds, needs).items()}

        return widen(outputs), pullback

    return replace(
        made,
        forward=lambda arrays, attrs: widen(forward(narrow(arrays, formats), attrs)),
        backward=None,
        vjp=vjp,
        in_format=None,
        unlike="",
    )


def given_in(runner: SubjectRunner, formats: Formats, case: Case) -> Case:
    """Return a case as a runner gets it."""
    return case if runner.formats is not None else replace(case, inputs=narrow(case.inputs, formats))
