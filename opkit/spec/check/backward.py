"""Backward checks: what a gradient passes to its backward ops, compared with their registrations.

Only where it can be known without building the gradient: names that are constants, op types of this file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from opkit.diagnostics import Severity
from opkit.errors import unknown
from opkit.spec.lower.uses import Use
from opkit.spec.registry.entries import OpEntry


class Add(Protocol):
    """Adds a finding about a use; see ``check.consistency``."""

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
