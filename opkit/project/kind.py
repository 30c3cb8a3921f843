"""The kinds of op that ``opkit new`` scaffolds: their inputs, what backward reads, and what they compute.

The texts themselves are in ``templates/KIND``; a kind that scaffolds one file without definitions has no inputs here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from opkit.errors import UsageError, unknown
from opkit.record import record
from opkit.tables import words


@record
class Kind:
    """A kind of op.

    Args:
        name: what ``--kind`` takes.
        formula: one sentence about y.
        backward_formula: one sentence about the gradient.
        inputs: {input name: its description in the API file}; empty for kinds without definitions.
        output: the description of y in the API file.
        first_output: its name.
        more_outputs: {name of an output besides y: its description}.
        reads: what backward reads: input names, and "y" for the output; "dy" is always there, last.
        gradients: the inputs that backward computes a gradient for.
        has_cases: whether the kind comes with a cases file.
        can_skip_grad: whether ``--no-grad`` makes sense.
        library: the installed framework that the kind is for, "" where opkit's own runtime runs it.
    """

    name: str
    formula: str
    backward_formula: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    output: str = ""
    first_output: str = "y"
    more_outputs: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    gradients: tuple[str, ...] = ()
    has_cases: bool = False
    can_skip_grad: bool = True
    library: str = ""

    @property
    def has_spec(self) -> bool:
        """Whether the kind is an op directory (the others are one Python file)."""
        return bool(self.inputs)


_ALL = """
elementwise
    formula y = {factor}log(1 + exp(x)), elementwise.
    backward_formula dx = {factor}dy / (1 + exp(-x)), elementwise.
    inputs x float32 or float64, any shape.
    output y, shaped as x.
    reads x
    gradients x
binary
    formula y = {factor}a * b, elementwise.
    backward_formula da = {factor}dy * b and db = {factor}dy * a, elementwise.
    inputs a float32 or float64, any shape.
    inputs b shape and dtype of a.
    output y, shaped as a.
    reads a b
    gradients a b
reduction
    formula y = {factor}log(sum(exp(x))) over the last axis, which stays with size 1.
    backward_formula dx = {factor}dy * softmax(x) over the last axis.
    inputs x float32 or float64, at least one axis.
    output y, shaped as x but for its last axis, which has size 1.
    reads x y
    gradients x
matmul
    formula y = {factor}a @ b, of two matrices.
    backward_formula da = {factor}dy @ transpose(b) and db = {factor}transpose(a) @ dy.
    inputs a float32 or float64, (rows, inner).
    inputs b dtype of a, (inner, columns).
    output y, (rows, columns).
    reads a b
    gradients a b
    has_cases yes
loss
    formula y = {factor}cross entropy of each row's softmax(x) at its label.
    backward_formula dx = {factor}dy * (softmax(x) - 1 at the label), row by row; a label has no gradient.
    inputs x scores, float32 or float64, (rows, classes).
    inputs label int32 or int64, (rows,).
    output y, (rows,).
    reads x label
    gradients x
    has_cases yes
normalization
    formula y = {factor}((x - mean) / sqrt(variance + 1e-5) * weight + bias), over the last axis.
    backward_formula dx, dweight and dbias; mean and variance depend on x, too.
    inputs x float32 or float64, at least one axis.
    inputs weight dtype of x, one per element of the last axis.
    inputs bias dtype of x, one per element of the last axis.
    output y, shaped as x.
    reads x weight
    gradients x weight bias
    has_cases yes
gather
    formula y = {factor}x[index], rows of a matrix.
    backward_formula dx = {factor}dy added to the rows that were asked for; an index has no gradient.
    inputs x float32 or float64, (rows, columns).
    inputs index int32 or int64, (count,).
    output y, (count, columns).
    reads x index
    gradients x
    has_cases yes
multi_output
    formula y = {factor}radius * cos(angle) and z = {factor}radius * sin(angle), elementwise.
    backward_formula dradius and dangle, each summed over both outputs.
    inputs radius float32 or float64, any shape.
    inputs angle shape and dtype of radius.
    output y, shaped as radius
    more_outputs z shaped as radius.
    reads radius angle
    gradients radius angle
pylayer
    formula y = {factor}tanh(x), elementwise.
    can_skip_grad no
py_func
    formula y = {factor}tanh(x), elementwise.
torch_function
    formula y = {factor}tanh(x), elementwise.
    backward_formula dx = {factor}dy * (1 - tanh(x)**2), elementwise.
    can_skip_grad no
    library torch
torch_op
    formula y = {factor}tanh(x), elementwise.
    backward_formula dx = {factor}dy * (1 - tanh(x)**2), elementwise.
    can_skip_grad no
    library torch
jax_function
    formula y = {factor}tanh(x), elementwise.
    backward_formula dx = {factor}dy * (1 - tanh(x)**2), elementwise.
    can_skip_grad no
    library jax
"""


def _made(text: str) -> Kind:
    """Return the kind of its name and its fields, a line each; of a table's fields, each entry is a line."""
    name, *lines = text.splitlines()
    given: dict[str, Any] = {}
    for field_name, value in (line.split(maxsplit=1) for line in lines):
        if field_name in ("inputs", "more_outputs"):
            key, described = value.split(maxsplit=1)
            given.setdefault(field_name, {})[key] = described
        elif field_name in ("reads", "gradients"):
            given[field_name] = words(value)
        else:
            given[field_name] = {"yes": True, "no": False}.get(value, value)
    return Kind(name, **given)


#: Every kind by name, in the order of the help page.
KINDS = {kind.name: kind for kind in map(_made, re.split(r"\n(?=\w)", _ALL.strip()))}


def kind_of(name: str) -> Kind:
    """Return the kind of that name.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    if name not in KINDS:
        raise unknown("there is no kind", name, KINDS, has="there are").error(UsageError)
    return KINDS[name]
