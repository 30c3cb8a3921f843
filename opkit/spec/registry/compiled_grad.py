"""CompiledGrad: a gradient registration of a definition file, and the graph of backward ops that it builds.

The graph is data: names, op types, blobs and attributes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from opkit.diagnostics import Span
from opkit.errors import InferError, unknown
from opkit.record import mutable_entity, record
from opkit.spec.lower.link import Linker
from opkit.spec.lower.units import Unit
from opkit.spec.registry.built_types import BuiltTypes, Siblings, built_types_of, given_attrs_of
from opkit.spec.registry.compiled_op import CompiledOp, Inputs
from opkit.spec.registry.schema import attr_value, plain_value, runtime_value
from opkit.spec.runtime.contexts import Arg, Conf, InferContext
from opkit.spec.runtime.gradient_contexts import FwOp, GradContext, OpBuilder
from opkit.spec.runtime.objects import Blob, Desc, Shape, forward_blob

_OF_OUTPUTS: tuple[Literal["out", "dout"], ...] = ("out", "dout")


@record
class BackwardOp:
    """One op of a backward graph.

    Args:
        name: its name in the graph.
        type: its op type.
        inputs: argument to blobs; their texts are "in:x_0", "out:y_0", "dout:y_0" or "<backward op's name>/dx_0".
        outputs: argument to blobs, whose texts are "<name>/<argument>_<index>".
        attrs: attribute values; complete where the op type is known.
    """

    name: str
    type: str
    inputs: dict[str, list[Blob]]
    outputs: dict[str, list[Blob]]
    attrs: dict[str, Any]


@record
class GradGraph:
    """The backward ops of one op, in the order in which the definition adds them.

    Args:
        ops: the ops.
        gradients: (argument, index) of an input to the blob with its gradient.
        missing: (argument, index) of the inputs that need a gradient and got none.
        requires_grad: input ("x_0") to whether the definition lets it have a gradient.
    """

    ops: list[BackwardOp]
    gradients: dict[Arg, Blob]
    missing: list[Arg] = field(default_factory=list)
    requires_grad: dict[str, bool] = field(default_factory=dict)

    @property
    def bindings(self) -> dict[str, str]:
        """The gradients as text: input ("x_0") to the blob with its gradient."""
        return {f"{name}_{index}": blob for (name, index), blob in self.gradients.items()}

    @property
    def unbound(self) -> list[str]:
        """The inputs ("x_0") that need a gradient and got none."""
        return [f"{name}_{index}" for name, index in self.missing]


def _float_key(kind: str, value: Any) -> tuple[str, str]:
    return (kind, repr(value) if kind in ("float", "list_float") else "")


@mutable_entity
class CompiledGrad:
    """A gradient registration.

    Args:
        op_type: the forward op type.
        span: where it is registered.
        unit: the Python of its function.
        is_new_style: whether it is set with SetBackwardOpConfGenFn.
        op: the forward op, None where this file does not register it.
        bound: names of the inputs that the function binds a gradient to, as far as they are constants.
        has_errors: whether it does not compile, or names what the op does not have; then ``build`` refuses.
    """

    op_type: str
    span: Span
    linker: Linker
    unit: Unit | None
    is_new_style: bool
    op: CompiledOp | None = None
    bound: tuple[str, ...] = ()
    has_errors: bool = False
    errors: tuple[str, ...] = ()
    ops: Mapping[str, CompiledOp] = field(default_factory=dict)
    known_ops: frozenset[str] = frozenset()
    attr_types: dict[str, str] = field(default_factory=dict)
    foreign_outputs: dict[str, int] = field(default_factory=dict)
    siblings: Siblings | None = None

    @property
    def ok(self) -> bool:
        """Whether it can build backward ops."""
        return not self.has_errors

    @property
    def built_types(self) -> BuiltTypes:
        """The op types that it can build, known from its code alone, so also where it has errors."""
        units = self.linker.program.reachable(self.unit) if self.unit is not None else []
        return built_types_of(self.op_type, units)

    @property
    def given_attrs(self) -> frozenset[str] | None:
        """Names of the attributes that its code gives to backward ops; None where it computes one of the names."""
        return given_attrs_of(self.linker.program.reachable(self.unit) if self.unit is not None else [])

    def build(
        self,
        inputs: Inputs,
        attrs: Mapping[str, Any] | None = None,
        outputs: Mapping[str, Any] | None = None,
        needs_grad: Collection[tuple[str, int]] | None = None,
        op_name: str = "fw",
    ) -> GradGraph:
        """Build the backward ops for one forward op.

        Args:
            inputs: descriptions of the forward inputs.
            attrs: attributes of the forward op.
            outputs: counts of variadic and optional outputs, or lists of TensorDesc; inferred where left out.
            needs_grad: (argument, index) of the inputs that need a gradient; None: all that the definition lets have
                one.
            op_name: name of the forward op.

        Raises:
            InferError: a check fails, a name or op type is unknown, or the registration has errors.
        """
        if self.has_errors or self.unit is None:
            reason = f": {self.errors[0]}" if self.errors else ""
            raise InferError(
                f"the gradient of {self.op_type!r} has errors in its definition{reason}",
                where=self.span.location,
                help="opkit build shows them",
            )
        ctx = self._forward(inputs, attrs, outputs, op_name)
        op = self.forward_op
        flags = op.input_modifiers(ctx) if op is not None else {arg: {"requires_grad": True} for arg in ctx.inputs}
        wanted = self._wanted(ctx, flags, needs_grad)
        fw = FwOp(ctx.conf, ctx.descs, wanted, frozenset(ctx.outputs))
        what = f"building the gradient of {self.op_type!r}"
        if self.is_new_style:
            self.linker.run(self.unit, what, GradContext(fw, self._complete))
        else:
            self.linker.globals["OpBuilder"] = self._builder
            self.linker.run(self.unit, what, fw, fw.add)
        return self._graph(fw, ctx, flags, wanted, self._given_floats(attrs))

    @property
    def forward_op(self) -> CompiledOp | None:
        """The forward op, from this file or from another of its folder; None where no definition file has it."""
        if self.op is None and self.siblings is not None:
            self.op = self.ops.get(self.op_type) or self.siblings.find(self.op_type)
        return self.op

    def _builder(self, name: str) -> OpBuilder:
        return OpBuilder(name, self._complete)

    def _wanted(
        self, ctx: InferContext, flags: Mapping[Arg, Mapping[str, bool]], needs_grad: Collection[tuple[str, int]] | None
    ) -> frozenset[Arg]:
        if needs_grad is None:
            return frozenset(arg for arg in ctx.inputs if flags[arg]["requires_grad"])
        wanted = frozenset((name, index) for name, index in needs_grad)
        strange = sorted(wanted - set(ctx.inputs))
        if strange:
            name, index = strange[0]
            known = [arg[0] for arg in ctx.inputs]
            said = unknown(f"op {self.op_type!r} has no input", name, known, tail=f" with index {index}")
            raise said.error(InferError, self.span.location)
        return wanted

    def _forward(
        self, inputs: Inputs, attrs: Mapping[str, Any] | None, outputs: Mapping[str, Any] | None, op_name: str
    ) -> InferContext:
        """Return the forward op's context, its outputs inferred or given."""
        given = {name: item for name, item in (outputs or {}).items() if not isinstance(item, int)}
        counts = {name: item if isinstance(item, int) else len(item) for name, item in (outputs or {}).items()}
        op = self.forward_op
        if op is not None:
            ctx = op.prepare(inputs, attrs, counts or None, op_name)
            if not given:
                op.infer_into(ctx)
        else:
            ctx = self._foreign(inputs, attrs, counts, op_name)
        for name, descs in given.items():
            for index, desc in enumerate(descs):
                ctx.descs[name, index] = Desc(Shape(desc.shape), desc.dtype, desc.is_dynamic)
        return ctx

    def _foreign(
        self, inputs: Inputs, attrs: Mapping[str, Any] | None, counts: Mapping[str, int], op_name: str
    ) -> InferContext:
        """Return the context of a forward op that this file does not register."""
        descs: dict[Arg, Desc] = {}
        for name, items in inputs.items():
            for index, desc in enumerate(items):
                descs[name, index] = Desc(Shape(desc.shape), desc.dtype, desc.is_dynamic)
        in_order = list(descs)
        counts = {**self.foreign_outputs, **counts}
        out_order = [(name, index) for name, count in counts.items() for index in range(count)]
        for arg in out_order:
            descs[arg] = Desc(Shape(), "invalid", False)
        runtime = {}
        for name, value in (attrs or {}).items():
            kind = self.attr_types.get(name)
            if kind is not None:
                runtime[f"{name}:{kind}"] = runtime_value(kind, value)
        blobs_in = {name: [forward_blob("in", name, i) for i in range(len(items))] for name, items in inputs.items()}
        blobs_out = {name: [forward_blob("out", name, i) for i in range(count)] for name, count in counts.items()}
        conf = Conf(op_name, self.op_type, blobs_in, blobs_out, runtime)
        return InferContext(descs, runtime, in_order, out_order, conf)

    def _complete(self, builder: OpBuilder) -> None:
        """Check a backward op against its registration, where it is known, and fill in defaults."""
        op = self.ops.get(builder.type)
        if op is None:
            if self.known_ops and builder.type not in self.known_ops:
                what = f"the gradient of {self.op_type!r} uses the op type"
                said = unknown(what, builder.type, set(self.ops) | self.known_ops, tail=", which is not registered")
                raise said.error(InferError, self.span.location)
            return
        for name, (kind, _) in builder.attrs.items():
            spec = op.attrs.get(name)
            if spec is None or spec.type != kind:
                found = "no such attribute" if spec is None else f"it is of type {spec.type}"
                raise InferError(
                    f"the gradient of {self.op_type!r} gives {builder.type!r} the attribute {name!r} "
                    f"of type {kind}: {found}",
                    where=self.span.location,
                )
        for name, spec in op.attrs.items():
            if name not in builder.attrs:
                builder.attrs[name] = (spec.type, runtime_value(spec.type, spec.default))
        for spec_out in op.outputs:
            if spec_out.name not in builder.outputs and not spec_out.is_optional and not spec_out.is_variadic:
                builder.output(spec_out.name, spec_out.count)
        op._counts(op.inputs, {name: len(blobs) for name, blobs in builder.inputs.items()}, "input")
        op._counts(op.outputs, {name: len(blobs) for name, blobs in builder.outputs.items()}, "output")
        unit = op.units.get("check_attr")
        if unit is not None:
            attrs = {f"{name}:{kind}": value for name, (kind, value) in builder.attrs.items()}
            op._run_check(unit, Conf(builder.name, builder.type, builder.inputs, builder.outputs, attrs), is_part=True)

    def _given_floats(self, attrs: Mapping[str, Any] | None) -> dict[tuple[str, str], Any]:
        """Return the forward op's float attributes as given, by what the gradient function sees of them: float32.

        A backward op that is handed one of them gets the very number that forward's kernel got.
        """
        found: dict[tuple[str, str], Any] = {}
        for name, value in (attrs or {}).items():
            kind = self.attr_types.get(name) or (self.op.attrs[name].type if self.op and name in self.op.attrs else "")
            if kind in ("float", "list_float"):
                plain = attr_value(kind, value)
                found[_float_key(kind, runtime_value(kind, plain))] = plain
        return found

    def _graph(
        self,
        fw: FwOp,
        ctx: InferContext,
        flags: Mapping[Arg, Mapping[str, bool]],
        wanted: frozenset[Arg],
        given: Mapping[tuple[str, str], Any],
    ) -> GradGraph:
        ops = []
        blobs = _Known(ctx, fw.added)
        for conf in fw.added:
            attrs = {}
            for key, value in conf.attrs.items():
                name, _, kind = key.rpartition(":")
                attrs[name] = given.get(_float_key(kind, value)) or plain_value(kind, value)
            ops.append(BackwardOp(conf.op_name, conf.op_type, blobs.of(conf.inputs), blobs.of(conf.outputs), attrs))
        return GradGraph(
            ops,
            {arg: blobs.one(blob) for arg, blob in fw.bindings.items()},
            [arg for arg in ctx.inputs if arg in wanted and arg not in fw.bindings],
            {f"{name}_{index}": flags[name, index]["requires_grad"] for name, index in ctx.inputs},
        )

    def python_source(self) -> str:
        """Return the generated Python of its function and of what that calls."""
        if self.unit is None:
            return ""
        return "\n\n".join(item.source for item in self.linker.program.reachable(self.unit))


class _Known:
    """The blobs of one graph, for strings that a definition's code put together itself."""

    __slots__ = ("_added", "_by_text", "_ctx")

    def __init__(self, ctx: InferContext, added: Sequence[Conf]) -> None:
        self._ctx = ctx
        self._added = added
        self._by_text: dict[str, Blob] | None = None

    def of(self, given: Mapping[str, Sequence[str]]) -> dict[str, list[Blob]]:
        """Return the blobs of an op's arguments."""
        return {name: [self.one(text) for text in texts] for name, texts in given.items()}

    def one(self, text: str) -> Blob:
        """Return the blob that a string names."""
        if isinstance(text, Blob):
            return text
        if self._by_text is None:
            found = [forward_blob("in", *arg) for arg in self._ctx.inputs]
            found += [forward_blob(kind, *arg) for arg in self._ctx.outputs for kind in _OF_OUTPUTS]
            made = [blob for conf in self._added for blobs in conf.outputs.values() for blob in blobs]
            found += [blob for blob in made if isinstance(blob, Blob)]
            self._by_text = {str(blob): blob for blob in found}
        return self._by_text.get(text) or Blob("foreign", text, 0)
