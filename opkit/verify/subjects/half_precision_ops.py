"""Half-precision ops: those of numpy kernels whose cases are of half precision, as ops of float32 with such numbers.

Functions that a runner runs are narrowed by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from numpy import ndarray

from opkit.checker import Arrays, Attrs, Checkable, Results
from opkit.checker.model.checkable import Infer
from opkit.checker.model.formats import HALVES
from opkit.checker.model.own import OwnCheck
from opkit.errors import InferError, KernelError
from opkit.ir import TensorDesc
from opkit.ops.core.types import Function
from opkit.verify.codes import HALF
from opkit.verify.subjects.half_precision import half_precision
from opkit.verify.subjects.input_formats import Formats, as_given, coarsest, formats_in, narrow, widen
from opkit.verify.subjects.raw_kernel import describe


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
    descs = {name: describe(value) for name, value in single.items()}
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
        said = infer({name: describe(value) for name, value in given.items()}, attrs)
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
        format=coarsest(formats),
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
