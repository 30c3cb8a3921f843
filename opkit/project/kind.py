"""The kinds of op that ``opkit new`` scaffolds: their inputs, what backward reads, and what they compute.

The texts themselves are in ``templates/KIND``; a kind that scaffolds one file without definitions has no inputs here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from opkit.errors import UsageError, unknown
from opkit.project.attribute import ScaffoldAttr
from opkit.record import record


@record
class Formula:
    """What a scaffold computes with the attributes that it was given.

    Args:
        summary: one sentence about y.
        constant: the number of the kind's formula, or the attribute that is it.
        factor: what the result is multiplied with, such as "alpha * ".
        factors: the attributes in it.
    """

    summary: str
    constant: str
    factor: str
    factors: Sequence[ScaffoldAttr]


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
        constant: a number of the formula, "" where there is none.
        constant_names: what an attribute that is this number may be called.
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
    constant: str = ""
    constant_names: tuple[str, ...] = ()
    has_cases: bool = False
    can_skip_grad: bool = True
    library: str = ""

    @property
    def has_spec(self) -> bool:
        """Whether the kind is an op directory (the others are one Python file)."""
        return bool(self.inputs)

    @property
    def is_class(self) -> bool:
        """Whether the op is a class, whose name is written as one."""
        return self.name in ("pylayer", "torch_function")

    @property
    def takes_formula(self) -> bool:
        """Whether a formula's kernels are written as this kind; the others compute what they compute."""
        return self.name == "elementwise" or not self.has_spec

    def formula_with(self, attrs: Sequence[ScaffoldAttr]) -> Formula:
        """Return what attributes are in the formula: its number, factors of the result, or nothing yet."""
        numbers = [attr for attr in attrs if attr.is_scale]
        constants = [attr for attr in numbers if attr.name in self.constant_names][:1]
        factors = [attr for attr in numbers if attr not in constants]
        constant = constants[0].name if constants else self.constant
        factor = "".join(f"{attr.name} * " for attr in factors)
        return Formula(self.formula.format(factor=factor, constant=constant), constant, factor, factors)


_ALL = (
    Kind(
        "elementwise",
        "y = {factor}log(1 + exp(x)), elementwise.",
        "dx = {factor}dy / (1 + exp(-x)), elementwise.",
        inputs={"x": "float32 or float64, any shape."},
        output="y, shaped as x.",
        reads=("x",),
        gradients=("x",),
    ),
    Kind(
        "binary",
        "y = {factor}a * b, elementwise.",
        "da = {factor}dy * b and db = {factor}dy * a, elementwise.",
        inputs={"a": "float32 or float64, any shape.", "b": "shape and dtype of a."},
        output="y, shaped as a.",
        reads=("a", "b"),
        gradients=("a", "b"),
    ),
    Kind(
        "reduction",
        "y = {factor}log(sum(exp(x))) over the last axis, which stays with size 1.",
        "dx = {factor}dy * softmax(x) over the last axis.",
        inputs={"x": "float32 or float64, at least one axis."},
        output="y, shaped as x but for its last axis, which has size 1.",
        reads=("x", "y"),
        gradients=("x",),
    ),
    Kind(
        "matmul",
        "y = {factor}a @ b, of two matrices.",
        "da = {factor}dy @ transpose(b) and db = {factor}transpose(a) @ dy.",
        inputs={"a": "float32 or float64, (rows, inner).", "b": "dtype of a, (inner, columns)."},
        output="y, (rows, columns).",
        reads=("a", "b"),
        gradients=("a", "b"),
        has_cases=True,
    ),
    Kind(
        "loss",
        "y = {factor}cross entropy of each row's softmax(x) at its label.",
        "dx = {factor}dy * (softmax(x) - 1 at the label), row by row; a label has no gradient.",
        inputs={"x": "scores, float32 or float64, (rows, classes).", "label": "int32 or int64, (rows,)."},
        output="y, (rows,).",
        reads=("x", "label"),
        gradients=("x",),
        has_cases=True,
    ),
    Kind(
        "normalization",
        "y = {factor}((x - mean) / sqrt(variance + {constant}) * weight + bias), over the last axis.",
        "dx, dweight and dbias; mean and variance depend on x, too.",
        inputs={
            "x": "float32 or float64, at least one axis.",
            "weight": "dtype of x, one per element of the last axis.",
            "bias": "dtype of x, one per element of the last axis.",
        },
        output="y, shaped as x.",
        reads=("x", "weight"),
        gradients=("x", "weight", "bias"),
        constant="1e-5",
        constant_names=("eps", "epsilon"),
        has_cases=True,
    ),
    Kind(
        "gather",
        "y = {factor}x[index], rows of a matrix.",
        "dx = {factor}dy added to the rows that were asked for; an index has no gradient.",
        inputs={"x": "float32 or float64, (rows, columns).", "index": "int32 or int64, (count,)."},
        output="y, (count, columns).",
        reads=("x", "index"),
        gradients=("x",),
        has_cases=True,
    ),
    Kind(
        "multi_output",
        "y = {factor}radius * cos(angle) and z = {factor}radius * sin(angle), elementwise.",
        "dradius and dangle, each summed over both outputs.",
        inputs={"radius": "float32 or float64, any shape.", "angle": "shape and dtype of radius."},
        output="y, shaped as radius",
        more_outputs={"z": "shaped as radius."},
        reads=("radius", "angle"),
        gradients=("radius", "angle"),
    ),
    Kind("pylayer", "y = {factor}tanh(x), elementwise.", can_skip_grad=False),
    Kind("py_func", "y = {factor}tanh(x), elementwise."),
    *(
        Kind(
            name,
            "y = {factor}tanh(x), elementwise.",
            "dx = {factor}dy * (1 - tanh(x)**2), elementwise.",
            can_skip_grad=False,
            library=name.partition("_")[0],
        )
        for name in ("torch_function", "torch_op", "jax_function")
    ),
)
#: Every kind by name, in the order of the help page.
KINDS = {kind.name: kind for kind in _ALL}


def kind_of(name: str) -> Kind:
    """Return the kind of that name.

    Raises:
        UsageError: there is none; the nearest is named.
    """
    if name not in KINDS:
        raise unknown("there is no kind", name, KINDS, has="there are").error(UsageError)
    return KINDS[name]
