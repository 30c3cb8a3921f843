"""A formula as everything that an op directory needs: kernels, definition, domain; the way from the text to it."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.formula.bounds import within_budget
from opkit.formula.branches import reaching
from opkit.formula.careful_steps import careful_steps
from opkit.formula.cpp_design import CppDesign, NumpyLines, cpp_design
from opkit.formula.definition import infer_backward, infer_forward, sbp
from opkit.formula.domain import Region, are_taken, concrete_shapes, find_domain
from opkit.formula.ends import weak_ends
from opkit.formula.exact import exact_values
from opkit.formula.gradient import backward as derive
from opkit.formula.graph import Formula, MatMul
from opkit.formula.helpers import HELPERS
from opkit.formula.reading import read
from opkit.formula.shapes import Root, Shapes, Term, describe
from opkit.formula.writing import Kernel, write
from opkit.ir import Shape
from opkit.record import record

_WIDTH = 110


@record
class Example:
    """Inputs and the outputs that the formula has there, as nested lists of Python."""

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]


@record
class Design:
    """What an op directory is made from.

    Args:
        inputs: {input: its description}.
        outputs: {output: its description}.
        formulas: {output: its formula as the user wrote it}.
        reads: the backward op's inputs, the incoming gradients last; empty without a gradient.
        gradients: {output of the backward op: the argument that has its shape and dtype}.
        forward_attrs: the attributes that the forward kernel reads.
        backward_attrs: the attributes that the backward op reads.
        forward: the forward kernel's lines after its arguments are unpacked.
        backward: the same of the backward kernel.
        helpers: the functions that the kernels call, as text.
        needs_math: whether the kernels import ``math``.
        forward_infer, backward_infer, forward_sbp, backward_sbp: lines of the definition's functions.
        regions: {input: where its values lie}.
        varied: the attributes whose value may be one more in these regions.
        shapes: some sets of inputs' shapes: {input: sizes}.
        needs_cases: whether the checker could not find the domain by itself.
        example: a few inputs, and the outputs as the text of the formula gives them in high precision.
        weak: measures and returns a line for each kernel that is not what the formula is at an end of its dtype.
        cpp: returns the kernels in C++.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    formulas: Mapping[str, str]
    reads: Sequence[str]
    gradients: Mapping[str, str]
    forward_attrs: Sequence[str]
    backward_attrs: Sequence[str]
    forward: Sequence[str]
    backward: Sequence[str]
    helpers: Sequence[str]
    needs_math: bool
    forward_infer: Sequence[str]
    backward_infer: Sequence[str]
    forward_sbp: Sequence[str]
    backward_sbp: Sequence[str]
    regions: Mapping[str, Region]
    varied: Sequence[str]
    shapes: Sequence[Mapping[str, tuple[int, ...]]]
    needs_cases: bool
    example: Example
    weak: Callable[[], Sequence[str]]
    cpp: Callable[[], CppDesign]

    @property
    def narrowed(self) -> list[str]:
        """Where inputs lie that are not any number: "x positive"."""
        return [f"{item} {region.name}" for item, region in self.regions.items() if region.low is not None]


def design(
    text: str, attrs: Mapping[str, Any], *, inputs: Sequence[str] = (), outputs: Sequence[str] = (), grad: bool = True
) -> Design:
    """Turn a formula into a design.

    Args:
        text: the formula.
        attrs: {attribute: default}; numbers.
        inputs: the inputs' names in order, from the formula where left out.
        outputs: the outputs' names.
        grad: whether to derive the gradient.

    Raises:
        UsageError: the formula cannot be read, derived or computed, or not within the budget; the message says why.
    """
    with within_budget():
        return _design(text, attrs, inputs, outputs, grad)


def _design(text: str, attrs: Mapping[str, Any], inputs: Sequence[str], outputs: Sequence[str], grad: bool) -> Design:
    formula = read(text, attrs, inputs, outputs)
    _check_names(formula)
    _check_axes(formula, attrs)
    written = copy.deepcopy(formula)
    careful_steps(formula)
    shapes = Shapes(formula)
    given = {name: shapes.given(name) for name in formula.inputs}
    for name, term in shapes.outputs.items():
        shapes.let(name, term)
    forward = write(formula, shapes, {name: "" if _is_number(term) else name for name, term in shapes.outputs.items()})
    reverse, sources, back = _backward(formula, shapes, given) if grad else (None, {}, None)
    kernels = [kernel for kernel in (forward, back) if kernel is not None]
    named = {name for kernel in kernels for name in kernel.helpers}
    helpers = [text for name, text in HELPERS.items() if name in named]
    needs_math = any("math" in kernel.imports for kernel in kernels) or any("math." in text for text in helpers)
    reads = reverse.inputs if reverse is not None else []
    run_forward = _compile(forward, formula, helpers, attrs)
    run_backward = _compile(back, reverse, helpers, attrs) if back is not None and reverse is not None else None
    taken = partial(are_taken, formula, concrete_shapes(formula, shapes), run_forward, run_backward, reads)

    def domain(attrs: Mapping[str, Any]) -> dict[str, Region]:
        return find_domain(formula.inputs, partial(taken, attrs))

    found = domain(attrs)
    regions = reaching(written, concrete_shapes(formula, shapes, 6), attrs, found, partial(taken, attrs))
    runs = [run for run in (run_forward, run_backward) if run is not None]
    numpy_forward = NumpyLines(_lines(forward), formula.inputs, {name: name for name in formula.outputs})
    numpy_back = NumpyLines(_lines(back), reads, sources) if back is not None else None
    products = any(isinstance(step, MatMul) for step in formula.steps.values())
    return Design(
        inputs={name: _describe(name, formula, given) for name in formula.inputs},
        outputs={
            name: describe(term) if not _is_number(term) else "one number, of shape (1,)"
            for name, term in shapes.outputs.items()
        },
        formulas={name: formula.source[name] for name in formula.outputs},
        reads=reads,
        gradients={f"d{name}": sources[f"d{name}"] for name in formula.inputs} if reverse is not None else {},
        forward_attrs=[name for name in attrs if _reads(forward, name)],
        backward_attrs=[name for name in attrs if back is not None and _reads(back, name)],
        forward=_lines(forward),
        backward=_lines(back) if back is not None else [],
        helpers=helpers,
        needs_math=needs_math,
        forward_infer=infer_forward(formula, shapes),
        backward_infer=infer_backward(formula, reverse, shapes, sources) if reverse is not None else [],
        forward_sbp=sbp(formula, shapes, [*formula.inputs, *formula.outputs], formula.inputs[0]),
        backward_sbp=sbp(formula, shapes, [*reads, *sources], reads[0]) if reverse is not None else [],
        regions=regions,
        varied=[name for name, value in attrs.items() if _is_same(domain, {**attrs, name: value + 1}, found)],
        shapes=[concrete_shapes(formula, shapes, *sizes) for sizes in ((3, 4, 5), (1, 2, 3), (4, 1, 2))],
        needs_cases=products or any(region.low is not None for region in regions.values()),
        example=_example(written, attrs, regions, concrete_shapes(formula, shapes, 2, 3, 2), shapes),
        cpp=partial(cpp_design, shapes, list(attrs), numpy_forward, numpy_back),
        weak=partial(weak_ends, written, attrs, regions, concrete_shapes(formula, shapes, 1, 2, 1), runs, reads),
    )


def _is_same(
    domain: Callable[[Mapping[str, Any]], Mapping[str, Region]], attrs: Mapping[str, Any], regions: Mapping[str, Region]
) -> bool:
    """Return whether other attributes leave the regions as they are."""
    try:
        return domain(attrs) == regions
    except (ValueError, ArithmeticError):  # none is left, or an axis that is not there
        return False


def _example(
    written: Formula,
    attrs: Mapping[str, Any],
    regions: Mapping[str, Region],
    sizes: Mapping[str, Shape],
    shapes: Shapes,
) -> Example:
    rng = np.random.default_rng(0)
    inputs: dict[str, Any] = {}
    for name, shape in sizes.items():
        inputs[name] = np.round(regions[name].plain(rng, shape), 2)
    try:
        outputs = exact_values(written, {**inputs, **attrs})
    except np.exceptions.AxisError as error:  # an axis of what was summed up to one number
        raise UsageError(f"the parts of the formula do not fit together: {error}") from error
    numbers = {name for name, term in shapes.outputs.items() if _is_number(term)}
    return Example(
        {name: _rows(value) for name, value in inputs.items()},
        {name: _rows(value.reshape(1) if name in numbers else value) for name, value in outputs.items()},
    )


def _rows(value: Any) -> str:
    """Nested lists as a formatter lays them out inside a function."""
    text = repr(value.tolist())
    if len(text) < 80:
        return text
    inner = [repr(row.tolist() if hasattr(row, "tolist") else row) for row in value]
    return "[\n" + "".join(f"        {row},\n" for row in inner) + "    ]"


def _backward(formula: Formula, shapes: Shapes, given: Mapping[str, Term]) -> tuple[Formula, dict[str, str], Kernel]:
    """Derive the gradient; an input whose shape no other argument has is read for its shape."""
    reverse = derive(formula, shapes)
    sources: dict[str, str] = {}
    for name in formula.inputs:
        same = [other for other in reverse.inputs if shapes.given(other) == given[name]]
        if name not in reverse.inputs and not same:
            reverse.inputs.insert(0, name)
            same = [name]
        sources[f"d{name}"] = name if name in reverse.inputs else same[0]
    order = {name: index for index, name in enumerate(formula.inputs)}
    reverse.inputs.sort(key=lambda name: order.get(name, len(order)))
    return reverse, sources, write(reverse, shapes, sources)


def _is_number(term: Term) -> bool:
    return describe(term) == "one number"


def _describe(name: str, formula: Formula, given: Mapping[str, Term]) -> str:
    free = next(other for other in formula.inputs if given[other] == Root(other))
    if name == free:
        return "float32 or float64."
    if given[name] == Root(name):
        return f"dtype of {free}."
    return f"dtype of {free}, {describe(given[name])}."


_RESERVED = frozenset(
    {"args", "attrs", "np", "math", "name", "flow", "ctx", "device_sub_tag", "forward", "backward", *HELPERS}
)


def _check_axes(formula: Formula, attrs: Mapping[str, Any]) -> None:
    for step in formula.steps.values():
        name = getattr(step, "axes", None)
        if isinstance(name, str) and not isinstance(attrs[name], int):
            raise UsageError(
                f"axis={name}: an axis is a whole number, and {name} is {attrs[name]!r}", help=f"--attr {name}:int=-1"
            )


def _check_names(formula: Formula) -> None:
    names = [*formula.inputs, *formula.outputs]
    gradients = [f"d{name}" for name in names]
    for name in [*names, *formula.attrs]:
        if name in _RESERVED or not name.isascii():
            raise UsageError(f"the formula uses the name {name!r}, which the op's files use for something else")
    for name in [*names, *formula.attrs]:
        if name in gradients:
            raise UsageError(f"the formula uses the name {name!r}, which is the gradient of {name[1:]!r}")


def _reads(kernel: Kernel, attr: str) -> bool:
    body = "\n".join([*kernel.lines, *kernel.results])
    return re.search(rf"\b{attr}\b", body) is not None


def _lines(kernel: Kernel) -> list[str]:
    """Return a kernel's lines; long results get names, long sums a line each term."""
    lines = list(kernel.lines)
    results = list(kernel.results)
    if len(results) > 1 and sum(map(len, results)) > _WIDTH - 20:
        for index, name in enumerate(kernel.formula.outputs):
            if not results[index].isidentifier():
                lines.append(f"{name} = {results[index]}")
                results[index] = name
    lines.append(f"return {', '.join(results)}")
    return [part for line in lines for part in wrapped(line)]


def wrapped(line: str) -> list[str]:
    """Return a statement as lines that are not too long: a long sum has a line for each term."""
    if len(line) <= _WIDTH:
        return [line]
    head, joint, body = line.partition(" = ") if not line.startswith("return ") else ("return", " ", line[7:])
    terms = _split(body)
    if len(terms) == 1:
        return [line]
    return [f"{head}{joint}(", *(f"    {term}" for term in terms), ")"]


def _split(text: str) -> list[str]:
    """Split at the sums and differences outside parentheses."""
    terms, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if depth == 0 and text[index : index + 3] in (" + ", " - ") and index:
            terms.append(text[start:index])
            start = index + 1
    return [*terms, text[start:]]


def _compile(kernel: Kernel, formula: Formula, helpers: Sequence[str], attrs: Mapping[str, object]) -> Any:
    """Return the kernel as a function, made from its own text."""
    unpack = f"{', '.join(formula.inputs)}, = args"
    body = [unpack, *(f'{name} = attrs["{name}"]' for name in attrs), *_lines(kernel)]
    text = "\n".join(helpers) + "\ndef kernel(args, attrs):\n" + "\n".join(f"    {line}" for line in body)
    scope: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, "<formula>", "exec"), scope)
    return scope["kernel"]
