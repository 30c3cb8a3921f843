"""OpNames: what the kernel and API files call the parts of each op type, read from their syntax trees.

Neither file is run. What the definition says is not looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from opkit.project.api_tree import BuilderChain, builder_chains
from opkit.project.attribute import ScaffoldAttr
from opkit.project.directory import OpDirectory
from opkit.project.findings import source_of
from opkit.project.kernel_tree import KernelTree, kernel_trees, own_nodes
from opkit.record import record

#: What Python values the attribute types have, the first that fits.
_CPP = {bool: "bool", int: "int64_t", float: "float", str: "std::string"}


@record
class OpNames:
    """The parts of an op type.

    Args:
        op_type: its name.
        inputs: names in order.
        outputs: names in order; () where neither file tells.
        attrs: {name: the attribute with its type and default}, in the order of the files.
        untyped: attributes whose type neither file tells.
        returned: how many values the kernel returns, 0 where its tree does not tell.
    """

    op_type: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attrs: Mapping[str, ScaffoldAttr] = field(default_factory=dict)
    untyped: tuple[str, ...] = ()
    returned: int = 0


def names_of(directory: OpDirectory) -> dict[str, OpNames]:
    """Return what the files of an op directory call the parts of its op types; nothing of a file that does not parse.

    An op type is one that the API file builds, or the one of the kernels ``forward`` and ``backward``.
    """
    kernels = kernel_trees(_parsed(directory.kernel))
    chains = {str(chain.op.value): chain for chain in builder_chains(_parsed(directory.api)) if chain.op is not None}
    types = [name for name in chains if _suffix(directory.name, name) in kernels]
    types += [f"{directory.name}_{name}" for name in ("forward", "backward") if name in kernels]
    return {
        op_type: _names(op_type, kernels[_suffix(directory.name, op_type)], chains.get(op_type), chains.values())
        for op_type in dict.fromkeys(types)
        if not (op_type == f"{directory.name}_forward" and directory.name in chains)
    }


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(source_of(path).text if path.is_file() else "")
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _suffix(directory: str, op_type: str) -> str:
    return "forward" if op_type == directory else op_type.removeprefix(f"{directory}_")


def _names(op_type: str, kernel: KernelTree, chain: BuilderChain | None, others: Any) -> OpNames:
    attrs: dict[str, ScaffoldAttr] = {}
    untyped: list[str] = []
    for name in dict.fromkeys((*(read.name for read in kernel.reads), *(chain.values if chain else ()))):
        typed = _attr(name, (chain, *others) if chain else others)
        if typed is not None:
            attrs[name] = typed
        elif name != "device_sub_tag":
            untyped.append(name)
    inputs = _of(chain, "Input") if chain and not chain.is_open else _unpacked(kernel)
    outputs = _of(chain, "Output") if chain and not chain.is_open else ()
    return OpNames(op_type, inputs, outputs, attrs, tuple(untyped), _returned(kernel))


def _of(chain: BuilderChain, method: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(literal.value) for kind, literal in chain.names if kind == method))


def _unpacked(kernel: KernelTree) -> tuple[str, ...]:
    """Return the names that a kernel unpacks all its arguments into."""
    for taking in kernel.takings:
        if taking.is_exact and isinstance(taking.node, (ast.Tuple, ast.List)):
            names = [item.id for item in taking.node.elts if isinstance(item, ast.Name)]
            if len(names) == taking.count:
                return tuple(names)
    return ()


def _returned(kernel: KernelTree) -> int:
    counts = {
        len(node.value.elts) if isinstance(node.value, (ast.Tuple, ast.List)) else 1
        for node in own_nodes(kernel.node)
        if isinstance(node, ast.Return) and node.value is not None
    }
    return counts.pop() if len(counts) == 1 else 0


def _attr(name: str, chains: Iterable[BuilderChain]) -> ScaffoldAttr | None:
    """Return an attribute with the type of the default that an API function gives it."""
    for chain in chains:
        value = chain.values.get(name)
        if value is None:
            continue
        default = _constant(value) if not isinstance(value, ast.Name) else _default(chain.function, value.id)
        cpp = _cpp_type(default)
        if cpp:
            return ScaffoldAttr(name, cpp, cpp, list(default) if isinstance(default, (list, tuple)) else default)
    return None


def _default(function: ast.FunctionDef | None, name: str) -> Any:
    if function is None:
        return None
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(reversed(positional), reversed(function.args.defaults))]
    pairs += [(arg, value) for arg, value in zip(function.args.kwonlyargs, function.args.kw_defaults) if value]
    return next((_constant(value) for arg, value in pairs if arg.arg == name), None)


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


def _cpp_type(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        kinds = {type(item) for item in value}
        return f"std::vector<{_CPP[kinds.pop()]}>" if len(kinds) == 1 and kinds <= {int, float, str} else ""
    if isinstance(value, float) and value - value != 0:
        return ""
    return _CPP.get(type(value), "")
