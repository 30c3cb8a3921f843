"""Checking a kernel file against the op definitions by its syntax tree, without running it.

The file is parsed, not run. What a tree shows for certain is in ``kernel_tree``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from opkit.diagnostics import Diagnostic, Note, Severity, SourceText
from opkit.errors import unknown
from opkit.project.findings import finding
from opkit.project.kernel_tree import AttrRead, KernelTree, Taking, kernel_trees
from opkit.project.place import span_of
from opkit.spec import CompiledGrad, CompiledOp, CompileResult

_TAG = "device_sub_tag"


def check_kernels(source: SourceText, name: str, result: CompileResult) -> list[Diagnostic]:
    """Compare the functions of a kernel file with the definitions.

    Args:
        source: the kernel file.
        name: of the op directory.
        result: its compiled definitions; nothing is reported about op types that have errors.
    """
    try:
        trees = kernel_trees(ast.parse(source.text))
    except (SyntaxError, ValueError, RecursionError):
        return []
    kernels: dict[str, KernelTree] = {}
    for op in result.ops.values():
        kernel = trees.get(op.name[len(name) + 1 :] or "forward")
        if kernel is not None and not op.has_errors and (op.name == name or op.name.startswith(f"{name}_")):
            kernels[op.name] = kernel
    found: list[Diagnostic] = []
    for op_type, kernel in kernels.items():
        found.extend(_check(source, kernel, result.ops[op_type]))
    for grad in result.grads.values():
        found.extend(_forgotten_attrs(source, grad, result.ops, kernels))
    return found


def _check(source: SourceText, kernel: KernelTree, op: CompiledOp) -> Iterator[Diagnostic]:
    if kernel.never_returns_a_value and any(not arg.is_optional for arg in op.outputs):
        names = ", ".join(repr(arg.name) for arg in op.outputs)
        yield finding(
            "PROJ027",
            f"kernel {kernel.name!r} of op type {op.name!r} returns no value on any path; "
            f"the op's output{'s are' if len(op.outputs) > 1 else ' is'} {names}",
            span_of(source, kernel.node.body[-1]),
            _registered(op),
            help="end the kernel with a return statement",
            subject=op.name,
        )
    for taking in kernel.takings:
        if len(op.inputs) < taking.count or (taking.is_exact and len(op.inputs) != taking.count):
            yield _wrong_count(source, kernel, taking, op)
            break
    reported: set[str] = set()
    for read in kernel.reads:
        is_known = read.name in op.attrs and read.name != _TAG
        if not is_known and read.name not in reported and not (kernel.shares_attrs and not read.is_certain):
            reported.add(read.name)
            yield _undeclared(source, kernel, read, op)


def _wrong_count(source: SourceText, kernel: KernelTree, taking: Taking, op: CompiledOp) -> Diagnostic:
    names = [arg.name for arg in op.inputs]
    wanted = f"{'' if taking.is_exact else 'at least '}{taking.count} value{'' if taking.count == 1 else 's'}"
    has = f"{len(names)} input{'' if len(names) == 1 else 's'} ({', '.join(names)})" if names else "no input"
    return finding(
        "PROJ026",
        f"kernel {kernel.name!r} unpacks {wanted} from its arguments, but op type {op.name!r} declares {has}",
        span_of(source, taking.node),
        _registered(op),
        help=f"write {', '.join(names)}{',' if len(names) == 1 else ''} = {kernel.node.args.args[0].arg}"
        if names and all(name.isidentifier() for name in names) and kernel.node.args.args
        else "",
        subject=op.name,
    )


def _undeclared(source: SourceText, kernel: KernelTree, read: AttrRead, op: CompiledOp) -> Diagnostic:
    declared = [name for name in op.attrs if name != _TAG]
    what = f"kernel {kernel.name!r} reads the attribute"
    tail = f", not declared by op type {op.name!r}" if read.name != _TAG else ", which kernels do not get"
    otherwise = f'declare it: .Attr<float>("{read.name}", 0)' if read.name != _TAG else ""
    said = unknown(what, read.name, declared, tail=tail, has="it declares", otherwise=otherwise)
    return finding(
        "PROJ025" if read.is_certain else "PROJ029",
        said.message,
        span_of(source, read.node),
        _registered(op),
        help=said.help,
        subject=op.name,
    )


def _forgotten_attrs(
    source: SourceText, grad: CompiledGrad, ops: Mapping[str, CompiledOp], kernels: Mapping[str, KernelTree]
) -> Iterator[Diagnostic]:
    """Find attributes of a forward op that its gradient does not pass on, although the backward kernel reads them."""
    given, forward = grad.given_attrs, ops.get(grad.op_type)
    if grad.has_errors or given is None or forward is None:
        return
    own = kernels.get(forward.name)
    for name in sorted(grad.built_types.names & set(kernels)):
        reported: set[str] = set()
        for read in kernels[name].reads:
            mine, its = forward.attrs.get(read.name), ops[name].attrs.get(read.name)
            if mine is None or its is None or mine.type != its.type or read.name in given or read.name in reported:
                continue
            reported.add(read.name)
            is_read = own is not None and any(item.name == read.name for item in own.reads)
            yield _forgotten(source, grad, ops[name], read, is_certain=is_read)


def _forgotten(
    source: SourceText, grad: CompiledGrad, op: CompiledOp, read: AttrRead, *, is_certain: bool
) -> Diagnostic:
    default = op.attrs[read.name].default
    return Diagnostic(
        "PROJ028",
        Severity.ERROR if is_certain else Severity.WARNING,
        f"the gradient of {grad.op_type!r} does not pass on the attribute {read.name!r}, which the kernel of "
        f"{op.name!r} reads: backward always gets the default {default!r}",
        grad.span,
        (Note("read here", span_of(source, read.node)),),
        f'add .Attr("{read.name}", ...) with the forward op\'s value where the gradient builds {op.name!r}',
        grad.op_type,
    )


def _registered(op: CompiledOp) -> Note:
    return Note(f"{op.name!r} is registered here", op.span)
