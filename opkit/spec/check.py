"""Checks: mistakes about names, outputs and gradients in definitions that compile.

Each check looks at the uses that the units of an op or gradient noted while they were lowered. What a gradient passes
to its backward ops is compared with their registrations where that can be known without building the gradient: names
that are constants, op types of this file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from typing import Protocol

from opkit.diagnostics import Note, Severity
from opkit.errors import Unknown, unknown
from opkit.record import mutable
from opkit.spec.findings import Findings
from opkit.spec.lower.program import SpecProgram
from opkit.spec.lower.units import Unit
from opkit.spec.lower.uses import Use
from opkit.spec.registry.chains import GradEntry, OpEntry
from opkit.spec.registry.schema import ArgSpec


class Add(Protocol):
    """Adds a finding about a use; see ``opkit.spec.check``."""

    def __call__(
        self, code: str, message: str, use: Use, *, help: str, subject: str, severity: Severity | None = None
    ) -> None:
        """Add it."""


def check_backward_ops(
    uses: list[Use], op: OpEntry, ops: Mapping[str, OpEntry], known: Collection[str], add: Add
) -> list[str]:
    """Report op types that are not registered, and inputs, outputs and attributes that the op types do not have.

    Args:
        uses: the names that the gradient function uses.
        op: the forward op.
        ops: the op types of this file.
        known: the op types of others.
        add: takes the findings, which are errors.

    Returns:
        their messages.
    """
    types = [use for use in uses if use.kind == "bwtype"]
    found = list(_unknown_types(types, op, ops, known))
    targets = [ops[use.name] for use in types if use.name in ops]
    is_complete = len(targets) == len(types) and not any(use.kind == "bwcomputed" for use in uses)
    if is_complete and targets and not any(target.has_errors for target in targets):
        found += _unknown_names(uses, targets)
        if len(targets) == 1 and not any(use.kind == "dynamic" for use in uses):
            found += _missing_inputs(uses, types[0], targets[0])
    for code, message, use, help in found:
        add(code, message, use, help=help, subject=op.name, severity=Severity.ERROR)
    return [message for _, message, _, _ in found]


Finding = tuple[str, str, Use, str]


def _unknown_types(
    types: list[Use], op: OpEntry, ops: Mapping[str, OpEntry], known: Collection[str]
) -> Iterator[Finding]:
    for use in types:
        if use.name not in ops and use.name not in known:
            said = unknown(
                f"the gradient of {op.name!r} uses the op type",
                use.name,
                [*ops, *known],
                tail=", which is not registered",
                otherwise="register it, or use a built-in op",
            )
            yield "SPEC049", said.message, use, said.help


def _unknown_names(uses: list[Use], targets: list[OpEntry]) -> Iterator[Finding]:
    inputs = [spec.name for target in targets for spec in target.inputs]
    outputs = [spec.name for target in targets for spec in target.outputs]
    attrs = [name for target in targets for name in target.attrs]
    title = " or ".join(dict.fromkeys(repr(target.name) for target in targets))
    for use in uses:
        code, what, names = "SPEC040", "input", inputs
        if use.kind == "bwattr":
            code, what, names = "SPEC041", "attribute", attrs
        elif use.kind == "bwout" or (use.kind == "out" and use.owner == "OpConf"):
            what, names = "output", outputs
        elif use.kind != "bwin":
            continue
        if use.name not in names:
            said = unknown(f"op {title} has no {what}", use.name, names, otherwise=_declares(what, names))
            yield code, said.message, use, said.help


def _missing_inputs(uses: list[Use], type_use: Use, target: OpEntry) -> Iterator[Finding]:
    given = {use.name for use in uses if use.kind == "bwin"}
    missing = [spec.name for spec in target.inputs if spec.name not in given and not spec.is_optional]
    # A misspelt name is reported already.
    if missing and given <= {spec.name for spec in target.inputs}:
        message = f"the gradient gives op {target.name!r} no input {missing[0]!r}"
        yield "SPEC051", message, type_use, f'add .InputBind("{missing[0]}", ...)'


def _declares(what: str, names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in dict.fromkeys(names) if name != "device_sub_tag")
    return f"its {what}s are {shown}" if shown else f"it declares no {what}"


_TICK = "UserSourceOpTickInput"
_INFER_OWNERS = frozenset({"InferContext", "SbpContext", "SbpBuilder"})
_SETS_ALL = ("unchanged", "in_out_correspond")
_SHAPE_SLOTS = ("tensor_desc", "physical")


def check_program(
    program: SpecProgram, ops: list[OpEntry], grads: list[GradEntry], findings: Findings, known_ops: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """Check all registrations.

    Returns:
        by op type, the errors of gradients that name what the op does not have.
    """
    check = _Checks(program, findings)
    by_name = {entry.name: entry for entry in ops}
    open_ = sorted(by_name.keys() - {entry.name for entry in grads})
    check.ops(ops)
    for entry in grads:
        op = by_name.get(entry.name)
        if op is None and entry.name not in known_ops and not findings.has_gaps:
            near = get_close_matches(entry.name, open_, 1, 0.85)
            said = unknown(
                "this is the gradient of",
                entry.name,
                by_name,
                tail=", which this file does not register",
                otherwise="register the op, or look for a misspelt name",
            )
            findings.add(
                "SPEC048",
                said.message,
                program.tree.span(entry.name_node),
                program.tree.expansion(entry.name_node),
                help=said.help,
                subject=near[0] if near else entry.name,
                severity=Severity.ERROR if near else None,  # the near one would have no gradient
            )
    pairs = [(entry, by_name[entry.name]) for entry in grads if entry.name in by_name and entry.unit is not None]
    bad = check.grads(pairs)
    if known_ops and not findings.has_gaps:
        for entry, op in pairs:
            assert entry.unit is not None
            errors = check_backward_ops(check.uses([entry.unit]), op, by_name, known_ops, check.add)
            if errors:
                bad[entry.name] = (*bad.get(entry.name, ()), *errors)
    return bad


@mutable
class _Shared:
    """One use, and the registrations from which it is reached."""

    use: Use
    owners: list[OpEntry] = field(default_factory=list)


class _Checks:
    def __init__(self, program: SpecProgram, findings: Findings) -> None:
        self.program = program
        self.findings = findings

    def add(
        self,
        code: str,
        message: str,
        use: Use,
        *notes: Note | None,
        help: str = "",
        subject: str = "",
        severity: Severity | None = None,
    ) -> None:
        tree = self.program.tree
        self.findings.add(
            code,
            message,
            tree.span(use.node),
            tree.expansion(use.node),
            *notes,
            help=help,
            subject=subject,
            severity=severity,
        )

    def uses(self, units: Iterable[Unit]) -> list[Use]:
        seen: dict[str, Unit] = {}
        for unit in units:
            for item in self.program.reachable(unit):
                seen[item.name] = item
        return [use for item in seen.values() for use in item.uses]

    # -- ops ----------------------------------------------------------------------------------

    def ops(self, ops: list[OpEntry]) -> None:
        """Check the names that infer and SBP functions use, and what they leave unset."""
        shared: dict[int, _Shared] = {}
        queried: dict[str, set[str]] = {}
        for entry in ops:
            uses = self.uses(entry.units.values())
            queried[entry.name] = {use.name for use in uses if use.kind == "query"}
            for use in uses:
                item = shared.setdefault(id(use), _Shared(use))
                item.owners.append(entry)
            self.defaults(entry)
        for item in shared.values():
            use = item.use
            if use.kind in ("any", "in", "out") and use.owner in _INFER_OWNERS:
                self.argument(item, queried)
            elif use.kind == "attr":
                self.attribute(item)

    def argument(self, item: _Shared, queried: dict[str, set[str]]) -> None:
        """Warn of an argument name that none of the ops which reach it declares."""
        name = item.use.name
        for entry in item.owners:
            specs = entry.inputs if item.use.kind == "in" else [*entry.inputs, *entry.outputs]
            if name == _TICK or name in queried[entry.name] or any(spec.name == name for spec in specs):
                return
        entry = item.owners[0]
        kind = "input" if item.use.kind == "in" else "input or output"
        specs = entry.inputs if item.use.kind == "in" else [*entry.inputs, *entry.outputs]
        said = _undeclared(f"op {entry.name!r} has no {kind}", name, specs)
        self.add("SPEC040", said.message, item.use, *_declared(specs), help=said.help, subject=entry.name)

    def attribute(self, item: _Shared) -> None:
        """Warn of an attribute that none of the ops which reach it declares, or declares as this type."""
        name, kind = item.use.name, item.use.detail[0]
        declared = [entry.attrs[name] for entry in item.owners if name in entry.attrs]
        entry = item.owners[0]
        if not declared:
            otherwise = f"it declares {', '.join(entry.attrs) or 'none'}"
            said = unknown(f"op {entry.name!r} declares no attribute", name, entry.attrs, otherwise=otherwise)
            self.add("SPEC041", said.message, item.use, help=said.help, subject=entry.name)
        elif all(spec.type != kind for spec in declared):
            spec = declared[0]
            self.add(
                "SPEC042",
                f"attribute {name!r} is declared as {spec.type} and read as {kind}",
                item.use,
                Note("declared here", spec.span),
                help="read it as its declared type",
                subject=entry.name,
            )

    def defaults(self, entry: OpEntry) -> None:
        """Warn of outputs that the shape function never mentions; they keep the first input's description."""
        units = [entry.units[slot] for slot in _SHAPE_SLOTS if slot in entry.units]
        if not units or entry.has_errors:
            return
        uses = self.uses(units)
        sources = "".join(item.source for unit in units for item in self.program.reachable(unit))
        if any(use.kind == "dynamic" for use in uses) or any(word in sources for word in _SETS_ALL):
            return
        if "ctx.outputs" in sources:
            return
        mentioned = {use.name for use in uses if use.kind in ("any", "out") and use.owner == "InferContext"}
        for spec in entry.outputs:
            if spec.name not in mentioned:
                what = f"keeps the shape of input {entry.inputs[0].name!r}" if entry.inputs else "has no shape"
                self.findings.add(
                    "SPEC043",
                    f"the shape of output {spec.name!r} is never set: it {what}",
                    spec.span,
                    help=f'set *ctx->Shape4ArgNameAndIndex("{spec.name}", 0)',
                    subject=entry.name,
                )

    # -- gradients ----------------------------------------------------------------------------

    def grads(self, pairs: list[tuple[GradEntry, OpEntry]]) -> dict[str, tuple[str, ...]]:
        """Check gradients against their ops; return the errors by op type."""
        reached: dict[int, _Shared] = {}
        by_grad: dict[str, list[Use]] = {}
        for entry, op in pairs:
            assert entry.unit is not None
            by_grad[entry.name] = self.uses([entry.unit])
            for use in by_grad[entry.name]:
                reached.setdefault(id(use), _Shared(use)).owners.append(op)
        bad: dict[str, tuple[str, ...]] = {}
        for entry, op in pairs:
            uses = by_grad[entry.name]
            errors = [message for use in uses if (message := self.grad_name(use, reached[id(use)], op, uses))]
            if errors:
                bad[entry.name] = tuple(errors)
            self.grad_attributes(uses, reached, op)
            if not errors and not entry.has_errors:
                self.completeness(entry, op, uses)
        return bad

    def grad_name(self, use: Use, shared: _Shared, op: OpEntry, uses: list[Use]) -> str:
        """Report an argument that the forward op does not have; return the message, "" where everything works."""
        specs, kind = self.wanted(use, op)
        if not kind or any(spec.name == use.name for spec in specs):
            return ""
        if len(shared.owners) > 1:
            for other in shared.owners:
                if any(spec.name == use.name for spec in self.wanted(use, other)[0]):
                    return ""
        if any(item.kind == "query" and item.name == use.name for item in uses):
            return ""
        said = _undeclared(f"op {op.name!r} has no {kind}", use.name, specs)
        self.add(
            "SPEC040", said.message, use, *_declared(specs), help=said.help, subject=op.name, severity=Severity.ERROR
        )
        return said.message

    def wanted(self, use: Use, op: OpEntry) -> tuple[list[ArgSpec], str]:
        """Return the arguments among which a use has to be found, and what they are called."""
        if use.owner != "FwOp":
            return [], ""
        if use.kind in ("in", "need", "bind"):
            return op.inputs, "input"
        if use.kind in ("out", "grad"):
            return op.outputs, "output"
        return ([*op.inputs, *op.outputs], "input or output") if use.kind == "any" else ([], "")

    def grad_attributes(self, uses: list[Use], reached: dict[int, _Shared], op: OpEntry) -> None:
        for use in uses:
            if use.kind == "attr" and use.owner == "FwOp" and reached[id(use)].owners[0] is op:
                self.attribute(reached[id(use)])

    def completeness(self, entry: GradEntry, op: OpEntry, uses: list[Use]) -> None:
        """Warn of outputs that are ignored, inputs that are not bound and backward outputs that nothing uses."""
        if any(use.kind == "dynamic" for use in uses):
            return
        used_outputs = {use.name for use in uses if use.owner == "FwOp" and use.kind in ("grad", "out", "query")}
        for spec in op.outputs:
            if spec.name not in used_outputs:
                self.report_grad("SPEC044", f"the gradient of {op.name!r} ignores output {spec.name!r}", entry, spec)
        bound = {use.name for use in uses if use.kind in ("bind", "need", "query")}
        modified = {use.name for use in self.uses(op.units.values()) if use.kind == "modifier"}
        for spec in op.inputs:
            if spec.name not in bound | modified and not spec.is_optional:
                message = f"input {spec.name!r} of {op.name!r} gets no gradient: it counts as a constant"
                self.report_grad("SPEC045", message, entry, spec)
        taken = {use.name for use in uses if use.kind == "out" and use.owner == "OpConf"}
        for use in uses:
            if use.kind == "bwout" and use.name not in taken:
                self.add(
                    "SPEC046",
                    f"backward output {use.name!r} is computed, but not used",
                    use,
                    help="bind it as the gradient of an input, or remove it",
                    subject=op.name,
                )

    def report_grad(self, code: str, message: str, entry: GradEntry, spec: ArgSpec) -> None:
        tree = self.program.tree
        self.findings.add(
            code,
            message,
            tree.span(entry.name_node),
            tree.expansion(entry.name_node),
            Note("declared here", spec.span) if spec.span else None,
            subject=entry.name,
        )


def _declared(specs: list[ArgSpec]) -> list[Note]:
    return [Note(f"{spec.name!r} is declared here", spec.span) for spec in specs[:3] if spec.span is not None]


def _undeclared(what: str, name: str, specs: list[ArgSpec]) -> Unknown:
    known = [spec.name for spec in specs]
    return unknown(what, name, known, otherwise=f"the op declares {', '.join(map(repr, known)) or 'none'}")
