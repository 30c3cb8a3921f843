"""KernelTree: what the syntax tree of a kernel function shows for certain, without running it.

The comparison with the definitions is in ``kernel_check``. Whatever a tree leaves open (a decorator, a parameter
that is assigned again, a name that is bound twice) is left out, so that what is listed here holds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from opkit.record import mutable, record

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: Nodes below which something may not happen, or not fail: a read there proves nothing about every call.
_BRANCHES = (
    ast.If, ast.IfExp, ast.BoolOp, ast.For, ast.While, ast.Try, ast.Match, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, *_SCOPES,
)  # fmt: skip


@record
class Taking:
    """An expression that unpacks a number of values from the arguments.

    Args:
        node: the targets of ``x, y = args``, or the subscript ``args[2]``.
        count: how many there must be.
        is_exact: exactly so many, not at least.
    """

    node: ast.expr
    count: int
    is_exact: bool


@record
class AttrRead:
    """A read of an attribute by a constant name.

    Args:
        name: the attribute.
        node: the constant.
        is_certain: whether every call reads it, and fails where it is missing.
    """

    name: str
    node: ast.Constant
    is_certain: bool


@mutable
class KernelTree:
    """A kernel function.

    Args:
        name: of the function.
        node: its definition.
        takings: what it unpacks from its arguments on every call.
        reads: the attributes that it reads.
        shares_attrs: whether it passes the dict of attributes to something else, which may add to it.
        never_returns_a_value: whether it ends, and returns no value on any path.
    """

    name: str
    node: ast.FunctionDef
    takings: list[Taking] = field(default_factory=list)
    reads: list[AttrRead] = field(default_factory=list)
    shares_attrs: bool = False
    never_returns_a_value: bool = False


def kernel_trees(tree: ast.Module) -> dict[str, KernelTree]:
    """Return the functions at the top level of a kernel file that are never rebound or decorated, by name."""
    if any(_is_open(node) for node in ast.walk(tree)):
        return {}
    bound = list(_bound_names(tree))
    found: dict[str, KernelTree] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list and bound.count(node.name) == 1:
            made = found[node.name] = KernelTree(node.name, node)
            _read(made)
    return found


def _is_open(node: ast.AST) -> bool:
    """Whether names of the module may be bound in a way that the tree does not show."""
    if isinstance(node, ast.ImportFrom):
        return any(name.name == "*" for name in node.names)
    return isinstance(node, ast.Name) and node.id in ("globals", "exec", "setattr", "vars", "__dict__")


def _bound_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names
    for node in own_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from ((item.asname or item.name).partition(".")[0] for item in node.names)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, except those inside the functions and classes that it defines."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, _SCOPES):
            yield from own_nodes(child)


def _read(kernel: KernelTree) -> None:
    node = kernel.node
    own = list(own_nodes(node))
    if any(isinstance(item, (ast.Yield, ast.YieldFrom)) for item in own):
        return
    returned = (item.value for item in own if isinstance(item, ast.Return))
    has_value = any(
        item is not None and not (isinstance(item, ast.Constant) and item.value is None) for item in returned
    )
    kernel.never_returns_a_value = not has_value and not _never_ends(node.body)
    positional = [*node.args.posonlyargs, *node.args.args]
    if positional and _is_kept(node, positional[0].arg):
        kernel.takings = list(_takings(node, positional[0].arg))
    if len(positional) > 1 and _is_kept(node, positional[1].arg):
        kernel.reads = list(_reads(node, positional[1].arg))
        kernel.shares_attrs = _is_shared(node, positional[1].arg)


def _is_kept(function: ast.FunctionDef, name: str) -> bool:
    """Whether a parameter is the caller's object throughout: nothing in the function binds its name again."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.ExceptHandler)) and node.name == name:
            return False
        if isinstance(node, _SCOPES) and node is not function and name in _parameters(node):
            return False
    return True


def _parameters(scope: ast.AST) -> list[str]:
    arguments = getattr(scope, "args", None)
    names = [item.arg for item in ast.walk(arguments) if isinstance(item, ast.arg)] if arguments is not None else []
    return [*names, getattr(scope, "name", "")]


def _never_ends(body: list[ast.stmt]) -> bool:
    """Whether a block cannot be left at its end: it ends in an exception, an exit or an endless loop."""
    match body[-1]:
        case ast.If(body=one, orelse=other):
            return bool(other) and _never_ends(one) and _never_ends(other)
        case ast.With(body=inner):
            return _never_ends(inner)
        case ast.Expr(value=ast.Call(func=function)):
            return _may_raise_only(function)
        case ast.While(test=ast.Constant(value=value)):
            return bool(value)
        case ast.Assert(test=ast.Constant(value=value)):
            return not value
    return isinstance(body[-1], (ast.Raise, ast.Try, ast.Match))


def _may_raise_only(function: ast.expr) -> bool:
    """Whether a function may be one that never returns: one of this file or of ``sys``, unlike numpy's."""
    match function:
        case ast.Name() | ast.Attribute(value=ast.Name(id="sys" | "os")):
            return True
    return False


def _takings(function: ast.FunctionDef, args: str) -> Iterator[Taking]:
    """Yield what every call unpacks from the arguments, up to the first statement that may leave early."""
    for statement in _straight(function.body):
        if any(isinstance(node, (ast.Return, ast.Raise)) for node in own_nodes(statement)):
            return
        if isinstance(statement, ast.Assign) and _is_name(statement.value, args):
            for target in statement.targets:
                if isinstance(target, (ast.Tuple, ast.List)):
                    starred = sum(isinstance(item, ast.Starred) for item in target.elts)
                    yield Taking(target, len(target.elts) - starred, not starred)
        for node in _certain(statement):
            index = _constant_index(node, args)
            if index is not None and isinstance(node, ast.expr):
                yield Taking(node, index + 1 if index >= 0 else -index, False)
        if isinstance(statement, (ast.Return, ast.Raise)):
            return


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run one after the other, with ``with`` blocks replaced by their statements."""
    for statement in body:
        if isinstance(statement, ast.With) and all(_is_no_guard(item) for item in statement.items):
            yield from _straight(statement.body)
        elif isinstance(statement, ast.With):
            return
        else:
            yield statement


def _is_no_guard(item: ast.withitem) -> bool:
    """Whether a context manager lets exceptions pass, as far as is known: numpy's ``errstate``."""
    match item.context_expr:
        case ast.Call(func=ast.Attribute(attr="errstate") | ast.Name(id="errstate")):
            return True
    return False


def _certain(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and everything below it that always runs with it."""
    if not isinstance(node, _BRANCHES):
        yield node
    for child in _certain_parts(node):
        yield from _certain(child)


def _certain_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts of a node that always run with it: of a condition, only what is evaluated first."""
    match node:
        case ast.If(test=first) | ast.IfExp(test=first) | ast.While(test=first):
            return [first]
        case ast.For(iter=first) | ast.Match(subject=first) | ast.BoolOp(values=[first, *_]):
            return [first]
        case ast.ListComp(generators=[part, *_]) | ast.SetComp(generators=[part, *_]):
            return [part.iter]
        case _ if isinstance(node, _BRANCHES):
            return []
    return list(ast.iter_child_nodes(node))


def _constant_index(node: ast.AST, args: str) -> int | None:
    match node:
        case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=index)):
            sign = 1
        case ast.Subscript(
            value=ast.Name(id=owner), slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=index))
        ):
            sign = -1
        case _:
            return None
    return sign * index if owner == args and type(index) is int else None


def _reads(function: ast.FunctionDef, attrs: str) -> Iterator[AttrRead]:
    """Yield the reads of attributes; none where the dict is changed or its keys are tested."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    if any(_changes(node, attrs) for node in nodes):
        return
    certain: set[ast.AST] = set()
    for statement in _straight(function.body):
        certain.update(_certain(statement))
        if any(isinstance(node, (ast.Return, ast.Raise)) for node in (statement, *own_nodes(statement))):
            break
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str(name)) as place):
                is_certain = node in certain
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="get"),
                args=[ast.Constant(value=str(name)) as place, *_],
            ):
                is_certain = False
            case _:
                continue
        if owner == attrs:
            yield AttrRead(name, place, is_certain)


def _changes(node: ast.AST, attrs: str) -> bool:
    match node:
        case ast.Subscript(value=owner, ctx=context):
            return _is_name(owner, attrs) and not isinstance(context, ast.Load)
        case ast.Compare(comparators=items):
            return any(_is_name(item, attrs) for item in items)
        case ast.AugAssign(target=owner):
            return _is_name(owner, attrs)
        case ast.Attribute(value=owner, attr=name):
            return _is_name(owner, attrs) and name not in ("get", "items", "keys", "values", "copy")
    return False


def _is_shared(function: ast.FunctionDef, attrs: str) -> bool:
    """Whether the dict is used in any other way than ``attrs[...]`` and ``attrs.get``."""
    nodes = list(ast.walk(function))
    owners = {id(node.value) for node in nodes if isinstance(node, (ast.Subscript, ast.Attribute))}
    return any(_is_name(node, attrs) and id(node) not in owners for node in nodes)


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
