"""compile_spec: from the text of a definition file to its ops, gradients and findings. It never raises on bad input.

Each step is in a module of its own; this one puts them in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from opkit.diagnostics import Diagnostic, SourceText
from opkit.paths import StrPath
from opkit.record import record
from opkit.spec.check import check_program
from opkit.spec.findings import Findings
from opkit.spec.lower.link import Linker
from opkit.spec.lower.program import SpecProgram
from opkit.spec.parse.parser import parse
from opkit.spec.registry.built_types import Siblings
from opkit.spec.registry.chains import GradEntry, OpEntry
from opkit.spec.registry.compiled_grad import CompiledGrad
from opkit.spec.registry.compiled_op import CompiledOp
from opkit.spec.registry.registrations import read_registrations
from opkit.spec.text.decoding import check_text, read_source
from opkit.spec.text.preprocessor import preprocess


@record
class CompileResult:
    """What a definition file holds.

    Args:
        ops: op type to op, in the order of registration.
        grads: forward op type to gradient, in the order of registration.
        diagnostics: every finding, sorted by position.
        source: the text that was compiled.
    """

    ops: Mapping[str, CompiledOp]
    grads: Mapping[str, CompiledGrad]
    diagnostics: tuple[Diagnostic, ...]
    source: SourceText

    @property
    def ok(self) -> bool:
        """Whether there is no error among the findings."""
        return not any(item.is_error for item in self.diagnostics)


def compile_spec(
    path: StrPath | SourceText,
    include_dirs: Iterable[StrPath] = (),
    known_ops: Iterable[str] | Mapping[str, CompiledOp] = (),
) -> CompileResult:
    """Compile a definition file.

    Args:
        path: a ``*_cpp_def.cpp`` file, or its text.
        include_dirs: folders in which ``#include "..."`` is looked up, besides the file's own.
        known_ops: op types that gradients may use besides those of the definition file; empty: any. A mapping to
            compiled ops lets a gradient check and complete the backward ops that it builds, and find a forward op of
            another definition file.

    Returns:
        the ops and gradients, and every finding. Bad input gives findings, never an exception.

    Example:
        >>> text = 'REGISTER_USER_OP("twice").Input("x").Output("y")'
        >>> text += ".SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);"
        >>> result = compile_spec(SourceText(text, "twice_cpp_def.cpp"))
        >>> list(result.ops), len(result.diagnostics)
        (['twice'], 0)
    """
    findings = Findings()
    source = check_text(path, findings) if isinstance(path, SourceText) else read_source(path, findings)
    folders = tuple(os.fspath(item) for item in include_dirs)
    try:
        return _compiled(source, folders, known_ops, findings)
    except RecursionError:
        findings.add("SPEC011", "this definition file is nested too deeply for the remaining stack", source.span(0, 0))
        return CompileResult(MappingProxyType({}), MappingProxyType({}), findings.sorted(), source)


def _compiled(
    source: SourceText,
    folders: tuple[str, ...],
    known_ops: Iterable[str] | Mapping[str, CompiledOp],
    findings: Findings,
) -> CompileResult:
    """Go through the steps of the pipeline."""
    tokens = preprocess(source, folders, findings)
    tree = parse(tokens, findings)
    program = SpecProgram(tree, findings)
    expressions = program.collect(tree.items)
    linker = Linker(program)
    entries, grad_entries = read_registrations(program, linker, expressions, findings)
    known = frozenset(known_ops)
    bad_grads = check_program(program, entries, grad_entries, findings, known)
    ops = {entry.name: _op(entry, linker) for entry in entries}
    siblings = Siblings(source.path, lambda file: compile_spec(file, folders).ops)
    others = {}
    if isinstance(known_ops, Mapping):
        others = {name: op for name, op in known_ops.items() if isinstance(op, CompiledOp)}
    grads = {
        entry.name: _grad(entry, linker, {**others, **ops}, known, bad_grads.get(entry.name, ()), siblings)
        for entry in grad_entries
    }
    return CompileResult(MappingProxyType(ops), MappingProxyType(grads), findings.sorted(), source)


def _op(entry: OpEntry, linker: Linker) -> CompiledOp:
    units = dict(entry.units)
    broken = any(item.has_errors for unit in units.values() for item in linker.program.reachable(unit))
    return CompiledOp(
        entry.name,
        tuple(entry.inputs),
        tuple(entry.outputs),
        entry.attrs,
        linker.program.tree.span(entry.name_node),
        linker,
        entry.is_cpu_only,
        entry.has_no_grad,
        units,
        entry.has_errors or broken,
    )


def _grad(
    entry: GradEntry,
    linker: Linker,
    ops: Mapping[str, CompiledOp],
    known: frozenset[str],
    errors: tuple[str, ...],
    siblings: Siblings,
) -> CompiledGrad:
    units = linker.program.reachable(entry.unit) if entry.unit is not None else []
    broken = entry.unit is None or any(unit.has_errors for unit in units)
    uses = [use for unit in units for use in unit.uses]
    bound = tuple(dict.fromkeys(use.name for use in uses if use.kind == "bind"))
    attr_types = {use.name: use.detail[0] for use in uses if use.kind == "attr"}
    foreign = {use.name: 1 for use in uses if use.owner in ("FwOp", "OpConf") and use.kind in ("grad", "out")}
    return CompiledGrad(
        entry.name,
        linker.program.tree.span(entry.name_node),
        linker,
        entry.unit,
        entry.is_new_style,
        ops.get(entry.name),
        bound,
        entry.has_errors or broken or bool(errors),
        errors,
        ops,
        known,
        attr_types,
        foreign,
        siblings,
    )
