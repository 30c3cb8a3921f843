"""CompiledOp: a defined op, ready to infer shapes and dtypes and to list sharding signatures.

Gradients are in ``compiled_grad``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from opkit.diagnostics import Span
from opkit.errors import InferError, Location, unknown
from opkit.ir.desc import TensorDesc
from opkit.ops.core.types import Attrs
from opkit.record import entity, mutable_entity
from opkit.spec.lower.link import Linker
from opkit.spec.lower.units import Unit
from opkit.spec.registry.schema import ArgSpec, AttrSpec, attr_value, runtime_value
from opkit.spec.runtime.contexts import Arg, Conf, InferContext, Modifier, modifier_getter
from opkit.spec.runtime.objects import Blob, Desc, Shape, forward_blob
from opkit.spec.runtime.sbp_contexts import SbpContext

Inputs = Mapping[str, Sequence[TensorDesc]]


@entity
class SbpClaim:
    """A sharding signature that a definition builds.

    Args:
        parts: "S(axis)", "B" or "P" for each (argument, index) that it names.
        places: where the definition gives each of them, as far as it does so itself.
        where: where it builds the signature.
    """

    parts: Mapping[Arg, str]
    places: Mapping[Arg, Location]
    where: Location


@mutable_entity
class CompiledOp:
    """An op registration of a spec.

    Args:
        name: the op type.
        inputs, outputs: declared arguments in order.
        attrs: declared attributes by name, in order.
        span: where it is registered.
        is_cpu_only: whether it is registered with REGISTER_CPU_ONLY_USER_OP.
        has_no_grad: whether it is registered as having no gradient.
        units: the Python of its functions by slot: check_attr, data_type, tensor_desc, physical, sbp, input_modify, ...
        has_errors: whether one of its functions does not compile; then ``infer`` refuses.
    """

    name: str
    inputs: tuple[ArgSpec, ...]
    outputs: tuple[ArgSpec, ...]
    attrs: dict[str, AttrSpec]
    span: Span
    linker: Linker
    is_cpu_only: bool = False
    has_no_grad: bool = False
    units: dict[str, Unit] = field(default_factory=dict)
    has_errors: bool = False
    _defaults: dict[str, Any] = field(default_factory=dict)
    _runtime: dict[str, Any] = field(default_factory=dict)
    _default_outputs: tuple[dict[str, int], list[Arg]] | None = None

    # -- attributes ---------------------------------------------------------------------------

    def check_attrs(self, attrs: Attrs | None = None) -> dict[str, Any]:
        """Return the attributes complete, each as the plain Python value of its type.

        Args:
            attrs: given values by name; numpy scalars are accepted, a bool is not an integer.

        Raises:
            InferError: an unknown name, a value of the wrong type, or the definition's own check refuses.
        """
        plain = self._plain_attrs(attrs)
        unit = self.units.get("check_attr")
        if unit is not None:
            conf = Conf("op", self.name, {}, {}, self._runtime_attrs(plain) if attrs else self._runtime)
            self._run_check(unit, conf)
        return dict(plain)

    def _run_check(self, unit: Unit, conf: Conf, is_part: bool = False) -> None:
        """Run the definition's own check; ``is_part`` where that is a part of a call which is running already."""
        run = self.linker.run_within if is_part else self.linker.run
        run(unit, f"checking the attributes of {self.name!r}", self, conf)

    def _plain_attrs(self, attrs: Attrs | None) -> dict[str, Any]:
        if not self._defaults and self.attrs:
            self._defaults.update((name, spec.default) for name, spec in self.attrs.items())
            self._runtime.update(self._runtime_attrs(self._defaults))
        if not attrs:
            return self._defaults
        plain = dict(self._defaults)
        for name, value in attrs.items():
            spec = self.attrs.get(name)
            if spec is None:
                otherwise = f"it has {', '.join(self.attrs) or 'none'}"
                said = unknown(f"op {self.name!r} has no attribute", name, self.attrs, otherwise=otherwise)
                raise said.error(InferError, self.span.location)
            try:
                plain[name] = attr_value(spec.type, value)
            except TypeError as error:
                where = spec.span.location if spec.span else None
                raise InferError(
                    f"attribute {name!r} of op {self.name!r} is of type {spec.type}: {error}", where=where
                ) from error
        return plain

    def _runtime_attrs(self, plain: Mapping[str, Any]) -> dict[str, Any]:
        return {f"{name}:{spec.type}": runtime_value(spec.type, plain[name]) for name, spec in self.attrs.items()}

    # -- arguments ----------------------------------------------------------------------------

    def _counts(self, declared: tuple[ArgSpec, ...], given: Mapping[str, int], kind: str) -> list[Arg]:
        """Return (name, index) of every argument, in declared order, after checking counts."""
        order: list[Arg] = []
        known = 0
        for spec in declared:
            count = given.get(spec.name)
            if count is None:
                count = 0
            else:
                known += 1
            if count != spec.count and not (
                (count == 0 and spec.is_optional) or (spec.is_variadic and count > spec.count)
            ):
                raise self._wrong_count(spec, count, kind)
            if count == 1:
                order.append((spec.name, 0))
            else:
                order += [(spec.name, index) for index in range(count)]
        if known != len(given):
            self._unknown_argument(declared, given, kind)
        return order

    def _wrong_count(self, spec: ArgSpec, count: int, kind: str) -> InferError:
        least = "at least " if spec.is_variadic else ""
        wanted = f"{least}{spec.count} tensor{'s' * (spec.count != 1)}"
        where = spec.span.location if spec.span else None
        message = f"{kind} {spec.name!r} of op {self.name!r} needs {wanted}, {count} given"
        help_line = f"say how many: outputs={{{spec.name!r}: {max(spec.count, 1)}}}" if kind == "output" else ""
        return InferError(message, where=where, help=help_line)

    def _unknown_argument(self, declared: tuple[ArgSpec, ...], given: Mapping[str, int], kind: str) -> None:
        names = [spec.name for spec in declared]
        for name in given:
            if name not in names:
                otherwise = f"it has {', '.join(names) or 'none'}"
                said = unknown(f"op {self.name!r} has no {kind}", name, names, otherwise=otherwise)
                raise said.error(InferError, self.span.location)

    def _output_counts(self, outputs: Mapping[str, int] | None) -> dict[str, int]:
        counts = {spec.name: spec.count for spec in self.outputs if not spec.is_optional and not spec.is_variadic}
        if outputs:
            for name, count in outputs.items():
                if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                    raise InferError(f"the count of output {name!r} of op {self.name!r} is {count!r}, not a number")
                counts[name] = count
        return counts

    def _usable(self) -> None:
        if self.has_errors:
            raise InferError(
                f"op {self.name!r} has errors in its definition",
                where=self.span.location,
                help="opkit build shows them",
            )

    def prepare(
        self, inputs: Inputs, attrs: Attrs | None, outputs: Mapping[str, int] | None, op_name: str
    ) -> InferContext:
        """Check an op's configuration as OneFlow does and return the context for its functions.

        The order is OneFlow's: attributes, output defaults, input counts, output counts, the definition's own check.

        Raises:
            InferError: as ``infer``.
        """
        self._usable()
        plain = self._plain_attrs(attrs)
        runtime = self._runtime_attrs(plain) if attrs else self._runtime
        given: dict[str, int] = {}
        for name, descs in inputs.items():
            if isinstance(descs, TensorDesc):
                raise InferError(
                    f"input {name!r} of op {self.name!r} is a TensorDesc, not a list of them",
                    help=f"write {{{name!r}: [TensorDesc(...)]}}",
                )
            if descs:
                given[name] = len(descs)
        in_order = self._counts(self.inputs, given, "input")
        if outputs:
            out_counts = self._output_counts(outputs)
            out_order = self._counts(self.outputs, out_counts, "output")
        else:
            if self._default_outputs is None:
                counts = self._output_counts(None)
                self._default_outputs = counts, self._counts(self.outputs, counts, "output")
            out_counts, out_order = self._default_outputs
        conf = Conf(op_name, self.name, _Blobs(given, "in"), _Blobs(out_counts, "out"), runtime)
        unit = self.units.get("check_attr")
        if unit is not None:
            self._run_check(unit, conf)
        descs_by_arg: dict[Arg, Desc] = {}
        for arg in in_order:
            desc = inputs[arg[0]][arg[1]]
            descs_by_arg[arg] = Desc(Shape(desc.shape), desc.dtype, desc.is_dynamic)
        first = descs_by_arg[in_order[0]] if in_order else None
        for arg in out_order:
            descs_by_arg[arg] = (
                Desc(Shape(), "invalid", False)
                if first is None
                else Desc(Shape(first.shape.dims), first.dtype, first.is_dynamic)
            )
        return InferContext(descs_by_arg, runtime, in_order, out_order, conf)

    # -- inference ----------------------------------------------------------------------------

    def infer(
        self, inputs: Inputs, attrs: Attrs | None = None, outputs: Mapping[str, int] | None = None
    ) -> dict[str, list[TensorDesc]]:
        """Infer the outputs of one op on one device.

        Args:
            inputs: one list of TensorDesc for each input argument; optional ones may be left out.
            attrs: attribute values; the others take their defaults.
            outputs: counts of variadic and optional outputs.

        Returns:
            one list of TensorDesc for each output argument that is there.

        Raises:
            InferError: a name, count or type is wrong, or a check of the definition fails; ``where`` is the
                definition's line.

        Source: OneFlow v0.4.0, UserOp::InferLogicalOutBlobDescs: outputs start as copies of the first input, then the
            dtype function runs, then the shape function.
        """
        ctx = self.prepare(inputs, attrs, outputs, "op")
        self.infer_into(ctx)
        result: dict[str, list[TensorDesc]] = {}
        descs = ctx.descs
        for arg in ctx.outputs:
            desc = descs[arg]
            made = TensorDesc(desc.shape.dims, desc.dtype, desc.is_dynamic)
            if arg[1]:
                result[arg[0]].append(made)
            else:
                result[arg[0]] = [made]
        return result

    def infer_into(self, ctx: InferContext) -> None:
        """Run the dtype and the shape function on a context."""
        for stage, (slot, what) in enumerate((("data_type", "dtype"), ("tensor_desc", "shape"))):
            unit = self.units.get(slot)
            if unit is not None:
                try:
                    self.linker.run(unit, f"inferring the {what} of {self.name!r}", ctx)
                except InferError as error:
                    error.stage = stage
                    raise

    # -- sharding -----------------------------------------------------------------------------

    def sbp_signatures(
        self,
        inputs: Inputs,
        attrs: Attrs | None = None,
        parallel_num: int = 1,
        outputs: Mapping[str, int] | None = None,
    ) -> list[dict[str, list[str | None]]]:
        """Return the sharding signatures that the definition's function builds, in its order.

        Args:
            inputs: the logical descriptions.
            attrs: attribute values.
            parallel_num: number of devices.
            outputs: counts of variadic and optional outputs.

        Returns:
            for each signature, argument name to one of "S(axis)", "B", "P" for each index; None where it gives none.

        Raises:
            InferError: as ``infer``.
        """
        return [_signature(item.parts) for item in self.sbp_claims(inputs, attrs, parallel_num, outputs)]

    def sbp_claims(
        self,
        inputs: Inputs,
        attrs: Attrs | None = None,
        parallel_num: int = 1,
        outputs: Mapping[str, int] | None = None,
    ) -> list[SbpClaim]:
        """Return what ``sbp_signatures`` does, each signature with the places in the definition that built it.

        Raises:
            InferError: as ``infer``.
        """
        if isinstance(parallel_num, bool) or not isinstance(parallel_num, int) or parallel_num < 1:
            raise InferError(f"parallel_num is {parallel_num!r}, not a positive number of devices")
        ctx = self.prepare(inputs, attrs, outputs, "op")
        unit = self.units.get("sbp")
        if unit is None:
            return []
        logical = {arg: ctx.descs[arg] for arg in ctx.inputs}
        sbp = SbpContext(logical, ctx.attrs, ctx.inputs, ctx.outputs, ctx.conf, parallel_num)
        self.linker.run(unit, f"listing the sharding signatures of {self.name!r}", sbp)
        sites, whole = self.linker.program.sites, self.linker.program.tree.span(unit.node).location
        return [
            SbpClaim(
                dict(item),
                {arg: sites[site].span.location for arg, site in item.sites.items()},
                whole if item.site is None else sites[item.site].span.location,
            )
            for item in sbp.found
        ]

    @property
    def makes_claims(self) -> bool:
        """Whether a function of the definition builds sharding signatures."""
        return "sbp" in self.units

    # -- modifiers ----------------------------------------------------------------------------

    def input_modifiers(self, ctx: InferContext) -> dict[Arg, dict[str, bool]]:
        """Return what SetInputArgModifyFn says of each input: requires_grad, is_mutable, use_header_only."""
        found = {arg: Modifier() for arg in ctx.inputs}
        unit = self.units.get("input_modify")
        if unit is not None:
            self.linker.run(unit, f"modifying the inputs of {self.name!r}", modifier_getter(found), ctx.conf)
        return {arg: {"requires_grad": True, "is_mutable": False, **item.flags} for arg, item in found.items()}

    def python_source(self) -> str:
        """Return the generated Python of all its functions."""
        seen: set[str] = set()
        parts: list[str] = []
        for slot, unit in self.units.items():
            for item in self.linker.program.reachable(unit):
                if item.name not in seen:
                    seen.add(item.name)
                    parts.append(f"# {self.name}: {slot}\n{item.source}" if item is unit else item.source)
        return "\n\n".join(parts)

    @property
    def ok(self) -> bool:
        """Whether all its functions compile."""
        return not self.has_errors


class _Blobs(dict[str, list[Blob]]):
    """Blobs of an op's arguments, made when asked for."""

    __slots__ = ("counts", "side")

    def __init__(self, counts: Mapping[str, int], side: Literal["in", "out"]) -> None:
        self.counts = counts
        self.side = side

    def get(self, name: str, default: Any = ()) -> Any:
        """Return the blobs of an argument."""
        count = self.counts.get(name, 0)
        return [forward_blob(self.side, name, index) for index in range(count)] if count else default


def _signature(parts: Mapping[Arg, str]) -> dict[str, list[str | None]]:
    made: dict[str, list[str | None]] = {}
    for (name, index), sbp in parts.items():
        places = made.setdefault(name, [])
        if index > 10_000 or index < 0:
            raise InferError(f"a sharding signature names {name!r} at index {index}")
        places += [None] * (index + 1 - len(places))
        places[index] = sbp
    return made
