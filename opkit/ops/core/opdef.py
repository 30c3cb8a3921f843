"""OpDef: everything that opkit knows about one op type, and the small types that it consists of.

No op is defined here and nothing is executed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol

from opkit.errors import Location, UsageError, unknown
from opkit.ir import ForInference, Shape
from opkit.ops.core.quiet import bare_kernel
from opkit.ops.core.types import Attrs, Descs, Function, Values
from opkit.record import mutable_entity, record

#: ``kernel(*arrays, **attrs)`` -> one array, or a tuple with one array per output.
Kernel = Function
#: ``infer(descs, attrs)`` -> one TensorDesc per output; raises ShapeError, DtypeError or InferError.
Infer = Callable[[Descs, Attrs], Descs]
#: ``rule(applied, douts)`` -> one cotangent or None per input, built through ``ops.apply``.
GradRule = Callable[[Any, Values], Values]
#: ``kernel(kept, dy)`` -> one array or None per input: what the rule gives, computed on arrays (see ``Kept``);
#: where the op has several outputs, dy is a list with an array or None for each.
GradKernel = Callable[[Any, Any], Sequence[Any]]


@record
class ArgDef:
    """One declared argument of an op.

    Args:
        name: the argument's name.
        is_optional: the argument may be left out (None stands in its place).
        is_variadic: the argument takes any number of values (then it is the op's only one on its side).
        is_shape_only: kernel and gradient rule read its shape and dtype, never its data; the runtime
            may pass any object with ``shape`` and ``dtype`` and free the data early.
    """

    name: str
    is_optional: bool = False
    is_variadic: bool = False
    is_shape_only: bool = False


@record
class AttrDef:
    """One declared attribute of an op: its name, its type's name ("float", "vector<int32>", ...), its default."""

    name: str
    type: str
    default: Any = None


class Applied(Protocol):
    """An op that was applied to values, as a gradient rule sees it: an eager node or a static Operation.

    ``inputs[i]`` is a value of the current mode where the rule declared that it reads it, else an object that
    has only ``shape`` and ``dtype``. ``needs[i]`` says whether a cotangent for input i will be used.
    """

    opdef: OpDef
    attrs: Attrs

    @property
    def inputs(self) -> Values:
        """One value or description per declared input; None for one left out."""

    @property
    def outputs(self) -> Values:
        """One value or description per output."""

    @property
    def needs(self) -> Sequence[bool]:
        """Per input: whether a cotangent for it will be used."""


class Kept(Protocol):
    """An op that was applied to arrays, as a gradient kernel sees it: an eager node."""

    attrs: Attrs

    def array(self, index: int) -> Any:
        """Return the array of an input that the rule reads, else what has its ``shape`` and ``dtype``."""

    def result(self) -> Any:
        """Return the array of the first output, which the rule reads."""

    @property
    def needs(self) -> Sequence[bool]:
        """Per input: whether a cotangent for it will be used."""


@record
class BoundOp:
    """An op type bound to named arguments: the arguments of ``apply``, and the names of its results."""

    opdef: OpDef
    inputs: tuple[Any, ...]
    attrs: Attrs
    output_names: tuple[tuple[str, int], ...]


class OpType(Protocol):
    """An entry of a registry: something that can be bound to arguments by name (an OpDef is one)."""

    name: str

    def bind(self, inputs: Mapping[str, Values], attrs: Attrs, outputs: Mapping[str, int] | None = None) -> BoundOp:
        """Bind named arguments and attributes; ``outputs`` counts those of variadic and optional outputs."""


@mutable_entity
class OpDef:
    """One op: arguments, attributes, kernel, inference and gradient rule.

    Args:
        name: the op type name.
        inputs: declared inputs, in the kernel's positional order.
        outputs: declared outputs, in the order of the kernel's results.
        attrs: declared attributes; ``apply`` receives all of them, defaults filled in by the builder.
        kernel: ``kernel(*arrays, **attrs)``; returns one array, or a tuple where the op has several outputs.
        infer: shape and dtype inference, for static mode; None only for ops that exist in eager mode alone.
        grad: gradient rule, None where the op has no gradient.
        grad_kernel: computes on arrays what the rule gives, where it is faster than the rule's ops; None for most.
        reads: names of the inputs and outputs whose data the gradient rule reads.
        kernel_out: ``kernel_out(*arrays, out=buffer, **attrs)`` writes into a buffer of the inferred shape and dtype.
        is_elementwise: outputs have the broadcast shape of the inputs and can be computed in blocks.
        is_view: the result may share memory with an input (reshape, slice, broadcast_like), and may be read-only.
        is_random: two runs on the same inputs differ; it must not be folded or merged.
        writes: names of the inputs that the kernel changes in place; such an op has a side effect.
        writes_when: name of the boolean attribute that must be true for that; "" where it always writes.
        has_side_effect: must run even where its outputs are not fetched.
        is_silent: NaN checks skip it: it returns infinities and NaN only where an attribute says so.
        for_inference: what becomes of it in a copy of a program for inference; None where it is kept unchanged.
        is_user: the kernel is a user's: it sees read-only arrays, its results may share memory with arguments.
        where: where the user defined it, for messages.

    Attributes:
        bare: what a quiet kernel runs, None for any other (``opkit.ops.core.quiet``).
        small: what it runs on arrays that it does not cut into blocks.
    """

    name: str
    inputs: tuple[ArgDef, ...]
    outputs: tuple[ArgDef, ...]
    kernel: Kernel
    infer: Infer | None = None
    grad: GradRule | None = None
    grad_kernel: GradKernel | None = None
    attrs: tuple[AttrDef, ...] = ()
    reads: tuple[str, ...] = ()
    kernel_out: Kernel | None = None
    is_elementwise: bool = False
    is_view: bool = False
    is_random: bool = False
    writes: tuple[str, ...] = ()
    writes_when: str = ""
    has_side_effect: bool = False
    is_silent: bool = False
    for_inference: ForInference | None = None
    is_user: bool = False
    where: Location | None = None
    bare: Kernel | None = field(init=False, default=None)
    small: Kernel | None = field(init=False, default=None)
    reads_inputs: tuple[int, ...] = field(init=False, default=())
    reads_outputs: tuple[int, ...] = field(init=False, default=())
    writes_inputs: tuple[int, ...] = field(init=False, default=())
    is_variadic: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        names = [arg.name for arg in self.inputs]
        self.bare = bare_kernel(self.kernel)
        self.small = getattr(self.bare, "small", self.bare)
        self.reads_inputs = tuple(i for i, name in enumerate(names) if name in self.reads)
        self.reads_outputs = tuple(i for i, arg in enumerate(self.outputs) if arg.name in self.reads)
        self.writes_inputs = tuple(i for i, name in enumerate(names) if name in self.writes)
        self.is_variadic = any(arg.is_variadic for arg in self.inputs)
        self.has_side_effect = self.has_side_effect or bool(self.writes)
        self._refuse_undeclared("reads", self.reads, [*names, *(arg.name for arg in self.outputs)])
        self._refuse_undeclared("writes", self.writes, names)
        if self.writes_when:
            self._refuse_undeclared("writes when", [self.writes_when], [attr.name for attr in self.attrs])

    def written(self, attrs: Attrs) -> Shape:
        """Return the indices of the inputs that the kernel changes in place when it runs with these attributes."""
        if not self.writes_inputs or (self.writes_when and not attrs[self.writes_when]):
            return ()
        return self.writes_inputs

    @property
    def title(self) -> str:
        """What messages and profiles call it; user functions have their own names."""
        return self.name

    def bind(self, inputs: Mapping[str, Values], attrs: Attrs, outputs: Mapping[str, int] | None = None) -> BoundOp:
        """Bind named arguments and attributes, as builders by name and gradient functions give them.

        Raises:
            UsageError: an argument or attribute is unknown, missing, or has a wrong number of values.
        """
        self._refuse_unknown("input", inputs, [arg.name for arg in self.inputs])
        flat: list[Any] = []
        for arg in self.inputs:
            given = list(inputs.get(arg.name, ()))
            if not given and not arg.is_optional:
                raise UsageError(f"op {self.name!r}: input {arg.name!r} is missing (got {sorted(inputs)})")
            if len(given) > 1 and not arg.is_variadic:
                raise UsageError(f"op {self.name!r}: input {arg.name!r} takes one value, got {len(given)}")
            flat.extend(given or [None])
        declared = {attr.name: attr.default for attr in self.attrs}
        self._refuse_unknown("attribute", attrs, declared)
        names: list[tuple[str, int]] = []
        for arg in self.outputs:
            # One that is not requested is named too: the kernel returns it (it may leave out the last ones).
            count = (outputs or {}).get(arg.name, 1)
            names.extend((arg.name, i) for i in range(count))
        return BoundOp(self, tuple(flat), {**declared, **attrs}, tuple(names))

    def _refuse_undeclared(self, what: str, named: Iterable[str], declared: Sequence[str]) -> None:
        unknown = sorted(set(named) - set(declared))
        if unknown:
            raise UsageError(f"op {self.name!r}: {what} {unknown}, which it does not declare")

    def _refuse_unknown(self, kind: str, given: Attrs, known: Any) -> None:
        for name in given:
            if name not in known:
                raise unknown(f"op {self.name!r} has no {kind}", name, known, has="it has").error(UsageError)
