"""Checkable: what the checker needs to know of an op, wherever it comes from.

Data and borders only: no directories, no modes, no checks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.case import Case
from opkit.checker.model.dimensions import Dimensions
from opkit.checker.model.formats import coarsest
from opkit.checker.model.own import OwnCheck
from opkit.checker.model.reference import InFormat, Reference
from opkit.checker.model.report import FatalCall
from opkit.checker.model.types import Arrays, Attrs, Gradients, Ran, Results
from opkit.errors import Location
from opkit.ir import Shape, TensorDesc, canonical_dtype
from opkit.record import record

if TYPE_CHECKING:  # it loads the algebra of devices
    from opkit.checker.model.claim import Claims


#: What makes float64 of float32 in functions of numpy.
WIDENING = "whole numbers (x - np.arange(3)), and numbers of numpy's (np.sqrt(2.0)), make float64 of float32"


@record
class Arg:
    """An input or an output as it is declared.

    One that is a list of arrays may reach the function as a tuple, or as a tree whose leaves ``parts`` are called.
    ``marks`` are whole numbers that set some of its values apart, such as a label to ignore.
    """

    name: str
    is_optional: bool = False
    is_variadic: bool = False
    min_count: int = 1
    is_tuple: bool = False
    parts: tuple[str, ...] = ()
    marks: tuple[int, ...] = ()


@record
class Attr:
    """An attribute as it is declared.

    Args:
        name: as the kernel's ``attrs`` has it.
        type: one of "bool", "int32", "int64", "float", "double", "string", "shape", "data_type",
            or "list_" and one of these; "any" where nothing is known, "absent" for an array that was left out.
        default: a plain Python value.
        choices: other values that are known to be meant.
        is_required: whether a call must give it: its default is no more than a value that forward takes.
    """

    name: str
    type: str
    default: Any
    choices: tuple[Any, ...] = ()
    is_required: bool = False


@lru_cache(maxsize=1024)
def describe(shape: Shape, dtype: np.dtype) -> TensorDesc:
    """Return the description of arrays of a shape and dtype; the same few are asked for again and again.

    Raises:
        TypeError: infer functions have no such dtype.
    """
    return TensorDesc(shape, canonical_dtype(dtype))


def describe_inputs(inputs: Mapping[str, Any]) -> dict[str, list[TensorDesc]]:
    """Return a list of descriptions per input, as infer functions want them."""
    described: dict[str, list[TensorDesc]] = {}
    for name, value in inputs.items():
        if type(value) is ndarray:
            described[name] = [describe(value.shape, value.dtype)]
        else:
            items = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
            described[name] = [describe(item.shape, item.dtype) for item in map(np.asarray, items)]
    return described


class Forward(Protocol):
    """Runs the forward kernel on exactly the arrays given and returns exactly what the kernel returned.

    The list has one entry per declared output. Nothing is cast, copied or checked; read-only and strided
    arrays reach the kernel as they are.

    Raises:
        Exception: what the kernel raised, or KernelError for a result that is not an array or a wrong count.
    """

    def __call__(self, arrays: Arrays, attrs: Attrs) -> Results:
        """Run the kernel."""
        ...


class Backward(Protocol):
    """Runs the op's whole gradient (user kernels and built-in ops alike) and returns {input name: gradient}.

    Args:
        arrays: forward's inputs.
        outputs: what forward returned for them.
        douts: one incoming gradient per declared output, in their order.
        attrs: complete attributes.
        needs: the inputs whose gradients are wanted.

    Inputs without a bound gradient are left out or None.
    """

    def __call__(
        self,
        arrays: Arrays,
        outputs: Results,
        douts: Results,
        attrs: Attrs,
        needs: frozenset[str],
    ) -> Gradients:
        """Run the gradient."""
        ...


class Infer(Protocol):
    """Gives the outputs' descriptions for the inputs', or raises InferError where the spec refuses them.

    Args:
        descs: a list of descriptions per input; the list is empty where an optional input is left out.
        attrs: complete attributes.
    """

    def __call__(self, descs: Mapping[str, Sequence[TensorDesc]], attrs: Attrs) -> Sequence[TensorDesc]:
        """Describe the outputs."""
        ...


#: What a gradient of zeros alone suggests where backward returns one for each input.
NONE_IS_ZERO = "None may count as zero: is a return missing, or a None in the place of a gradient?"


@record
class Kernel:
    """One user kernel of the gradient, callable on its own: ``call(inputs, attrs)`` returns its raw results.

    ``claims`` is what its definition says about devices.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    call: Callable[[Mapping[str, Any], Attrs], Results]
    where: Location | None = None
    claims: Claims | None = None


@record
class KernelCall:
    """What one user kernel got and gave during one run of the gradient.

    Args:
        kernel: which.
        inputs: the very arrays it received, by argument name.
        outputs: the very arrays it returned.
        attrs: its attributes.
        promised: what its own infer function promises, None where it has none.
    """

    kernel: Kernel
    inputs: Mapping[str, Any]
    outputs: Results
    attrs: Attrs
    promised: Sequence[TensorDesc] | None = None


@record
class Registration:
    """Facts of a gradient's wiring for one signature.

    Args:
        bound: inputs that get a gradient.
        reads: outputs whose gradient is read.
        unused: outputs of backward ops that are neither read nor bound to an input, as "op/output".
    """

    bound: frozenset[str]
    reads: frozenset[str]
    unused: tuple[str, ...] = ()


@record
class Checkable:
    """An op to check: its kernels as functions of arrays, and its declarations.

    Args:
        name: as reports show it: "user_relu_forward", or "file.py::Name".
        inputs: in the order of forward's arguments.
        outputs: in the order of forward's results.
        forward: see Forward.
        backward: see Backward; None for an op without a gradient (its forward is still checked).
        attrs: declared attributes, complete.
        infer: see Infer; None where nothing is promised (then shapes come from cases alone).
        cases: the user's ``cases(rng)``; yields {input name: array, attribute name: value}.
        recorded: cases that a recorded run saw; they define the domain like the user's.
        gradients: names of inputs with a bound gradient; None where that is not known beforehand.
        registration: facts of the gradient's wiring for a signature (descs, attrs), None where there are no
            definitions.
        vjp: runs forward and keeps its context: (arrays, attrs) -> (outputs, pullback). Given for a PyLayer,
            whose backward needs the context of its own forward; otherwise made of forward and backward.
        trace: like backward, and says which user kernels ran with what; None where backward is one function.
        nondifferentiable_outputs: outputs whose gradient is not defined, as declared.
        surrogate: the function whose derivative backward is, where it is not forward's (straight-through ...);
            called like forward.
        reference: what results and gradients are compared with, None where nothing is declared.
        in_format: runs the op in another floating-point format; None where it computes in its arrays' dtype.
        settings: what a framework is set to in this process, by name: an op leaves it as it is.
        culprit: says which operation of a framework itself gives another result for arrays that lie so, "" for none.
        formats: those of the inputs where the op takes no others and numpy has no such dtype: arrays of float32 hold
            their numbers.
        constants: numbers and strings that occur in the kernels' source (see ``constants_of``); hints for values
            and sizes at which the kernels may branch. Never needed, often decisive.
        sizes: whole numbers that occur in the definition, which may be sizes that it asks for.
        tolerance: {input name: relative tolerance} that the user declared.
        unlike: what its functions get in place of the arrays of its cases, such as "complex numbers"; else "".
        changed: functions of Python and others that loading its file replaced.
        allow: {check code: why}, as declared; a failing check of that code passes and the report shows why.
        runners: other ways to run the op, {"static": run}; run(arrays, attrs, douts) -> (outputs, gradients).
        afresh: makes the same op with its user code loaded again (forward and backward, no more), where that can be
            done without running a script again.
        second: the gradient as an op of its own ((inputs, douts) -> gradients), where second order is offered.
        asks_second: whether that is promised or used (registered, declared, ``create_graph=True`` in a recorded run),
            so that a wrong one is a failure.
        beyond: the same op with inputs to be searched near the recorded ones, where a run saw it; what fails there
            alone is undecided. None where cases say what the op is for.
        is_beyond: whether no gradient was asked for in the recorded run, so that all that fails is undecided.
        own: checks that only subjects of its kind need.
        starts_in: the float dtype in which a search for cases begins.
        dimensions: the axes that the signature declares, of the inputs that say them; forward takes no others.
        first: what a first look found forward to take; the search begins with its dtypes and ends with its shapes.
        spent: seconds that the first look took, which are of the op's own.
        loading: seconds that what the op is of took to load.
        remarks: what a reader of the report should know.
        widening: what makes float64 of float32 there, in words of those who write such ops.
        promotes: whether what computes with results mixes float32 and float64 in silence, as numpy does.
        uses_misfits: whether the framework that the op is for uses a gradient of another shape than its input, and
            says nothing.
        seen: of an op to be searched: cases that the search stays near.
        fatal: calls that ended their process when the op was checked before; what is like them raises now.
        claims: what the definition says about devices, None where there is none.
        ordinary: how another process makes and calls the op as an ordinary run does, None where none can; for whoever
            confirms a pass (see ``Confirm``).
        held: the inputs, and their indices in a list, that an object among the options holds too.
        directory: the op directory as the user would write it, None for a PyLayer or py_func.
        forward_where: file and line of forward.
        backward_where: file and line of backward.
        cases_where: file and line of the cases function.
        if_zero: what a gradient of zeros alone suggests.
    """

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    forward: Forward
    backward: Backward | None = None
    attrs: tuple[Attr, ...] = ()
    infer: Infer | None = None
    cases: Callable[[Generator], Iterable[Mapping[str, Any]]] | None = None
    recorded: tuple[Case, ...] = ()
    gradients: frozenset[str] | None = None
    registration: Callable[[Mapping[str, Sequence[TensorDesc]], Attrs], Registration] | None = None
    vjp: Callable[[Arrays, Attrs], Ran] | None = None
    trace: (
        Callable[
            [Arrays, Results, Results, Attrs, frozenset[str]],
            tuple[Gradients, Sequence[KernelCall]],
        ]
        | None
    ) = None
    nondifferentiable_outputs: frozenset[str] = frozenset()
    surrogate: Forward | None = None
    reference: Reference | None = None
    in_format: InFormat | None = None
    formats: Mapping[str, str] = field(default_factory=dict)
    settings: Callable[[], Mapping[str, Any]] = np.geterr
    culprit: Callable[[Arrays, Attrs], str] = lambda arrays, attrs: ""
    constants: tuple[Any, ...] = ()
    sizes: Shape = ()
    tolerance: Mapping[str, float] = field(default_factory=dict)
    unlike: str = ""
    changed: Sequence[str] = ()
    allow: Mapping[str, str] = field(default_factory=dict)
    runners: Mapping[str, Callable[[Arrays, Attrs, Results], tuple[Results, Gradients]]] = field(default_factory=dict)
    afresh: Callable[[], Checkable] | None = None
    second: Checkable | None = None
    asks_second: bool = False
    beyond: Checkable | None = None
    is_beyond: bool = False
    own: tuple[OwnCheck, ...] = ()
    starts_in: str = "float64"
    dimensions: Dimensions = field(default_factory=Dimensions)
    first: Case | None = None
    spent: float = 0.0
    loading: float = 0.0
    remarks: tuple[str, ...] = ()
    widening: str = WIDENING
    promotes: bool = False
    uses_misfits: bool = False
    seen: tuple[Case, ...] = ()
    fatal: tuple[FatalCall, ...] = ()
    claims: Claims | None = None
    ordinary: Any = None
    held: Callable[[Attrs], Collection[Any]] = field(default=lambda attrs: ())
    directory: str | None = None
    forward_where: Location | None = None
    backward_where: Location | None = None
    cases_where: Location | None = None
    if_zero: str = NONE_IS_ZERO

    @property
    def default_attrs(self) -> dict[str, Any]:
        """Every declared attribute at its default."""
        return {attr.name: attr.default for attr in self.attrs}

    @property
    def format(self) -> str:
        """The coarsest of its formats, "" where it has none."""
        return coarsest(self.formats) if self.formats else ""

    @property
    def declares_shapes(self) -> bool:
        """Whether the signature says of each input which axes it has."""
        return {arg.name for arg in self.inputs} <= self.dimensions.axes.keys()

    @property
    def has_gradient(self) -> bool:
        """Whether there is anything to differentiate."""
        return self.backward is not None or self.vjp is not None

    def key(self, declaration: str) -> str:
        """Return what a declaration is called for this op alone, of several in a file."""
        _, is_in_file, name = self.name.rpartition("::")
        return f"{declaration}_{name}" if is_in_file and name.isidentifier() else declaration

    def bound(self, inputs: Arrays, attrs: Attrs) -> frozenset[str] | None:
        """Return the inputs that get a gradient at these inputs, None where only a run can show it."""
        if self.gradients is not None or self.registration is None:
            return self.gradients
        try:
            return self.registration(describe_inputs(inputs), attrs).bound
        except Exception:  # the registration refuses the signature; running it will say why
            return None

    def run(self, arrays: Arrays, attrs: Attrs) -> Ran:
        """Run forward and return its raw results and the pullback ``(douts, needs) -> gradients``."""
        if self.vjp is not None:
            return self.vjp(arrays, attrs)
        outputs = self.forward(arrays, attrs)
        backward = self.backward

        def pullback(douts: Results, needs: frozenset[str]) -> Gradients:
            if backward is None:
                return {}
            return backward(arrays, outputs, douts, attrs, needs)

        return outputs, pullback
