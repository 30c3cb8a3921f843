"""Names and defaults as an exported file writes them, for every framework alike.

No framework's own words stand here.
"""

from __future__ import annotations

import ast
import keyword
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from opkit.export.model import ExportError, ExportKernel, ExportOp

#: What a file uses itself: modules, the variables of its functions, and what it calls of Python's.
_TAKEN = {"torch", "jax", "jnp", "np", "math", "functools", "inspect", "json", "ctx", "inputs", "output", "residuals"}
_TAKEN |= {"grads", "self", "given"}
_TAKEN |= {"len", "tuple", "list", "range", "int", "float", "str", "bool", "dict", "zip", "enumerate", "isinstance"}
_TAKEN |= {"next", "reversed", "sorted"}
#: What torch's context has itself.
_OF_CONTEXTS = {"metadata", "needs_input_grad", "next_functions", "saved_tensors", "saved_variables", "to_save"}
_OF_CONTEXTS |= {"dirty_tensors", "materialize_grads", "non_differentiable", "requires_grad", "save_for_backward"}
#: Variables of the file's functions that an array's name must not hide.
_OF_ARRAYS = {"shape", "dtype", "described"}


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Return {declared name: identifier}: keywords and names that the file uses itself get an underscore."""
    return {name: safe_name(name) for name in names}


def safe_name(name: str) -> str:
    """Return an identifier for a declared name."""
    safe = re.sub(r"\W", "_", name)
    is_taken = keyword.iskeyword(safe) or safe in _TAKEN or not safe.isidentifier()
    return safe + "_" if is_taken else safe


def class_name(name: str) -> str:
    """Return a name in the way of classes: ``soft_max`` gives ``SoftMax``; never the function's own."""
    made = "".join(part[:1].upper() + part[1:] for part in name.split("_") if part) or "Op"
    return made if made != name else made + "Function"


def literal(value: Any) -> str:
    """Return a default as Python text; a list becomes a tuple, infinities ``float("inf")``."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return f'float("{value}")'
    if isinstance(value, (list, tuple)):
        inner = ", ".join(literal(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, str):
        text = repr(value)
        return f'"{value}"' if text == f"'{value}'" and '"' not in value else text
    return repr(value)


def takes_attrs(kernel: ExportKernel) -> bool:
    """Return whether a kernel gets attributes."""
    return kernel.op.kernel is not None and kernel.op.kernel.takes_attrs


def kernel_source(op: ExportOp) -> str:
    """Return the kernel file's text without its docstring, as it can stand within another file.

    Raises:
        ExportError: it imports what does not come with Python or numpy.
    """
    tree = ast.parse(op.source)
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        line = getattr(node, "lineno", 0)
        for name in names:
            if name.partition(".")[0] not in {"numpy", *sys.stdlib_module_names}:
                raise ExportError(
                    f"the kernel file of {op.name!r} imports {name!r}, line {line}: the callback form carries "
                    "the file along, which may import numpy and the standard library only",
                    where=op.forward.where,
                )
    lines = op.source.splitlines()
    dropped: set[int] = set()
    for index, item in enumerate(tree.body):
        is_docstring = index == 0 and isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
        is_future = isinstance(item, ast.ImportFrom) and item.module == "__future__"
        is_numpy = isinstance(item, ast.Import) and ast.unparse(item) == "import numpy as np"
        if is_docstring or is_future or is_numpy:
            dropped.update(range(item.lineno, (item.end_lineno or item.lineno) + 1))
    text = "\n".join(line for number, line in enumerate(lines, 1) if number not in dropped).strip("\n")
    return re.sub(r"\n{4,}", "\n\n\n", text) + "\n"


def names_of(kernel: ExportKernel) -> Mapping[str, str]:
    """Return the identifiers of a kernel's arguments and attributes."""
    found = {
        name: safe + "_" if safe in _OF_ARRAYS else safe
        for name, safe in safe_names(arg.name for arg in (*kernel.inputs, *kernel.outputs)).items()
    }
    # Inference and gradients have variables named after the arguments.
    made = {f"{safe}_{what}" for safe in found.values() for what in ("shape", "dtype")}
    made |= {f"grad_{safe}" for safe in found.values()} | set(found.values())
    for name, safe in safe_names(spec.name for spec in kernel.attrs).items():
        found[name] = safe + "_" if safe in made | _OF_CONTEXTS else safe
    return found


def parameters_of(kernel: ExportKernel) -> list[str]:
    """Return the identifiers of a kernel's inputs and attributes, in order."""
    safe = names_of(kernel)
    return [*(safe[arg.name] for arg in kernel.inputs), *(safe[spec.name] for spec in kernel.attrs)]
