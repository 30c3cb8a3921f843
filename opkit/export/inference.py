"""Inference as code: an op's compiled shape and dtype functions as one plain Python function of the exported file.

The compiled functions are rewritten (``rewriting``) and put together here; nothing is evaluated. Sizes are only
passed through, so they may be symbolic.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from opkit.export.emitted_names import Names, result_of
from opkit.export.layout import short
from opkit.export.model import ExportKernel
from opkit.export.rewriting import Rewriter, parsed
from opkit.export.signature import names_of
from opkit.export.unsupported import unknown_use


def inference_code(kernel: ExportKernel, safe: Mapping[str, str], framework: str) -> tuple[str, dict[str, str]]:
    """Return the function ``_infer_NAME`` of an op and the functions that it needs besides, by name.

    It takes the inputs and attributes and returns one (shape, dtype) per output.

    Args:
        kernel: the op.
        safe: {argument or attribute: its name in the file}.
        framework: the module that dtypes belong to in the file.

    Raises:
        ExportError: its definition uses something that has no form in the file; the message names it.
    """
    names = Names(kernel, safe, framework)
    found = {slot: _slot(names, slot) for slot in ("check_attr", "data_type", "tensor_desc") if slot in _units(kernel)}
    body = [item for slot, (items, _) in found.items() for item in _called(names, slot, items, list(found)[-1] == slot)]
    returned = {slot for slot, (_, is_early) in found.items() if is_early}
    given = [safe[arg.name] for arg in kernel.inputs]
    head = f"def _infer_{kernel.name}({', '.join([*given, *(safe[spec.name] for spec in kernel.attrs)])}):"
    lines = [head, f'    """Return (shape, dtype) of each output of {kernel.name}, or refuse the inputs."""']
    whole = {target for item in body if isinstance(item, ast.Assign) for target in _targets(item)}
    for arg in kernel.outputs:
        for what, slot in (("shape", "tensor_desc"), ("dtype", "data_type")):
            name = f"{safe[arg.name]}_{what}"
            if name not in whole or slot in returned:
                lines.append(f"    {name} = {_first(kernel, safe, arg.name, what)}.{what}")
    if names.asks_given:
        lines.append(f"    given = {_given(kernel, safe)}")
    texts = [line for item in body for line in ast.unparse(ast.fix_missing_locations(item)).splitlines()]
    lines += [part for line in texts for part in short("    " + line)]
    if not body or not isinstance(body[-1], ast.Return):
        lines.append(f"    return {result_of(kernel, safe)}")
    return "\n".join(lines) + "\n", names.helpers


def list_inference(kernel: ExportKernel, model: str) -> str:
    """Return the function ``_infer_NAME`` of a backward kernel that gives the gradients of a list.

    Args:
        kernel: the backward kernel.
        model: its argument with the list whose gradients it gives.

    Raises:
        ExportError: it is not given that list.
    """
    safe = names_of(kernel)
    if not model:
        raise unknown_use(kernel, "a list of outputs whose number it is not given")
    names = ", ".join([safe[arg.name] for arg in (*kernel.inputs,)] + [safe[spec.name] for spec in kernel.attrs])
    said = f"Return (shape, dtype) of each output of {kernel.name}: those of {model}, whose gradients they are."
    return (
        f'def _infer_{kernel.name}({names}):\n    """{said}"""\n'
        f"    return [(tuple(item.shape), item.dtype) for item in {safe[model]}]\n"
    )


def _units(kernel: ExportKernel) -> dict[str, Any]:
    return {slot: unit for slot, unit in kernel.compiled.units.items() if unit is not None}


def _slot(names: Names, slot: str) -> tuple[list[ast.stmt], bool]:
    """Return the statements of one of the definition's functions and whether it returns before its end."""
    unit = _units(names.kernel)[slot]
    tree = ast.parse(unit.source)
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef) or len(tree.body) != 1:
        raise unknown_use(names.kernel, "several functions")
    last = function.body[-1] if function.body else None
    is_early = any(isinstance(node, ast.Return) and node is not last for node in ast.walk(function))
    return Rewriter(names, unit).function(function), is_early


def _called(names: Names, slot: str, items: list[ast.stmt], is_last: bool) -> list[ast.stmt]:
    """Return a slot's statements; where it returns early, as a function of its own that is called."""
    if not any(isinstance(node, ast.Return) for item in items for node in ast.walk(item)):
        return items
    if is_last:
        return items if isinstance(items[-1], ast.Return) else [*items, parsed(f"return {names.result}")]
    what = {"data_type": "dtype", "tensor_desc": "shape"}.get(slot)
    outputs = [f"{names.safe[arg.name]}_{what}" for arg in names.kernel.outputs] if what else []
    value: ast.expr = ast.Tuple([ast.Name(name) for name in outputs]) if outputs else ast.Constant(None)
    defaults = [
        parsed(f"{name} = {_first(names.kernel, names.safe, arg.name, str(what))}.{what}")
        for name, arg in zip(outputs, names.kernel.outputs)
    ]
    body = [*defaults, *(_returning(item, value) for item in items), ast.Return(value)]
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    function = ast.FunctionDef(name=f"{what or 'attribute'}s_of", args=empty, body=body, decorator_list=[])
    call: ast.expr = ast.Call(ast.Name(function.name), [], [])
    after = ast.Assign([ast.Tuple([ast.Name(name) for name in outputs])], call) if outputs else ast.Expr(call)
    return [function, after]


class _Returns(ast.NodeTransformer):
    def __init__(self, value: ast.expr) -> None:
        self.value = value

    def visit_Return(self, node: ast.Return) -> Any:
        return ast.Return(self.value)


def _returning(item: ast.stmt, value: ast.expr) -> ast.stmt:
    changed: ast.stmt = _Returns(value).visit(item)
    return changed


def _first(kernel: ExportKernel, safe: Mapping[str, str], name: str, what: str) -> str:
    if not kernel.inputs:
        raise unknown_use(kernel, f"an output {name!r} whose {what} is never set")
    first = kernel.inputs[0].name
    return safe[first] + ("[0]" if kernel.is_list(first) else "")


def _given(kernel: ExportKernel, safe: Mapping[str, str]) -> str:
    """Return the text of a dict of all that is given, by name and place."""
    parts = []
    for arg in kernel.inputs:
        name = safe[arg.name]
        if kernel.is_list(arg.name):
            parts.append(f'**{{("{arg.name}", place): item for place, item in enumerate({name})}}')
        else:
            parts.append(
                f'**({{}} if {name} is None else {{("{arg.name}", 0): {name}}})'
                if arg.is_optional
                else f'("{arg.name}", 0): {name}'
            )
    return "{" + ", ".join(parts) + "}"


def _targets(item: ast.Assign) -> list[str]:
    """Return the variables that are assigned what does not depend on them."""
    read = {node.id for node in ast.walk(item.value) if isinstance(node, ast.Name)}
    return [target.id for target in item.targets if isinstance(target, ast.Name) and target.id not in read]
