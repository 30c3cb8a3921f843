"""A formula's kernels in C++: from the lines of its numpy kernels and the shapes of its arguments.

What stands around the lines, and the file, are the scaffold's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opkit.formula.cpp_body import CALL, ELEMENT, ROW, Axis, body_of, names_in, refused
from opkit.formula.cpp_text import helper_texts, kernel_lines
from opkit.formula.graph import Axes
from opkit.formula.shapes import Less, Root, Scalar, Shapes, Term
from opkit.record import record


@record
class CppLines:
    """One kernel.

    Args:
        inputs: that it reads.
        attrs: that it reads.
        lines: of its function, where ``in_NAME``, ``out_NAME`` and ``shape`` are known.
        source: the argument whose shape that is.
    """

    inputs: Sequence[str]
    attrs: Sequence[str]
    lines: Sequence[str]
    source: str


@record
class CppDesign:
    """The kernels of an op.

    Args:
        forward, backward: the kernels; None without a gradient.
        helpers: functions that they call, as text.
        own: names of those functions that the scaffold's template has.
    """

    forward: CppLines
    backward: CppLines | None
    helpers: Sequence[str]
    own: frozenset[str]


@record
class NumpyLines:
    """A kernel in numpy: its lines, inputs, and {output: the argument whose shape it has}."""

    lines: Sequence[str]
    inputs: Sequence[str]
    outputs: Mapping[str, str]


def cpp_design(shapes: Shapes, attrs: Sequence[str], forward: NumpyLines, backward: NumpyLines | None) -> CppDesign:
    """Return the kernels of an op in C++.

    Raises:
        UsageError: C++ kernels of formulas do not compute this one.
    """
    own: set[str] = set()
    made = [_kernel(shapes, attrs, kernel, own) for kernel in (forward, backward) if kernel is not None]
    helpers = helper_texts(own)
    return CppDesign(made[0], made[1] if backward is not None else None, helpers, frozenset(own))


def _kernel(shapes: Shapes, attrs: Sequence[str], kernel: NumpyLines, own: set[str]) -> CppLines:
    if any(" @ " in line or "np.swapaxes" in line for line in kernel.lines):
        raise refused("multiplies matrices", "--kind matmul --cpp-kernel writes such a kernel to begin with")
    terms = {name: shapes.resolve(shapes.given(name)) for name in kernel.inputs}
    results = {name: shapes.resolve(shapes.given(source)) for name, source in kernel.outputs.items()}
    axis: Axis | None = None
    levels: dict[str, int] = dict.fromkeys(attrs, CALL)
    for name, term in (terms | results).items():
        levels[name], along = _level(term)
        if along is not None and axis not in (None, along):
            raise refused("has arrays along several sets of axes")
        axis = axis if along is None else along
    whole = [name for name in (*terms, *results) if levels[name] == ELEMENT]
    if len({(terms | results)[name] for name in whole}) > 1:
        raise refused("has arrays of unrelated shapes")
    body = body_of(
        kernel.lines, {name: levels[name] for name in (*attrs, *terms)}, {name: levels[name] for name in results}, axis
    )
    read = {name for step in body.steps for name in names_in(step.value)} | {body.axis or ""}
    inputs = [name for name in kernel.inputs if name in read]
    used: set[str] = set()
    lines = kernel_lines(body, inputs, used)
    own |= used
    source = whole[0] if whole else next(iter(terms))
    return CppLines(inputs, [name for name in attrs if name in read], lines, source)


def _level(term: Term) -> tuple[int, Axis | None]:
    """Return what an array of a shape belongs to, and what it says of the rows."""
    match term:
        case Root():
            return ELEMENT, None
        case Scalar():
            return ROW, ""
        case Less(Root(), axes, _):
            return ROW, _text(axes)
    raise refused("has arrays whose shapes come from several steps")


def _text(axes: Axes) -> str:
    if axes is None:
        return ""
    return str(axes[0]) if isinstance(axes, tuple) and len(axes) == 1 else str(axes)
