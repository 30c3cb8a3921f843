"""Arguments of numpy's functions by name, so that dialects need not mind how the kernel passed them.

Signatures are numpy's.
"""

from __future__ import annotations

from typing import Any

from opkit.export.trace.graph import Node, UntraceableError

#: numpy's ufuncs that every framework writes as an operator.
INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "left_shift": "<<",
    "right_shift": ">>",
    "matmul": "@",
}
_REDUCE = "a axis dtype out keepdims initial where"
_SIGNATURES = {
    "sum": _REDUCE,
    "prod": _REDUCE,
    "max": "a axis out keepdims initial where",
    "amax": "a axis out keepdims initial where",
    "min": "a axis out keepdims initial where",
    "amin": "a axis out keepdims initial where",
    "mean": "a axis dtype out keepdims where",
    "var": "a axis dtype out ddof keepdims where mean correction",
    "std": "a axis dtype out ddof keepdims where mean correction",
    "any": "a axis out keepdims where",
    "all": "a axis out keepdims where",
    "count_nonzero": "a axis keepdims",
    "argmax": "a axis out keepdims",
    "argmin": "a axis out keepdims",
    "cumsum": "a axis dtype out",
    "cumprod": "a axis dtype out",
    "sort": "a axis kind order stable",
    "argsort": "a axis kind order stable",
    "searchsorted": "a v side sorter",
    "reshape": "a shape order",
    "ravel": "a order",
    "transpose": "a axes",
    "matrix_transpose": "a",
    "swapaxes": "a axis1 axis2",
    "moveaxis": "a source destination",
    "expand_dims": "a axis",
    "squeeze": "a axis",
    "broadcast_to": "a shape subok",
    "concatenate": "arrays axis out dtype casting",
    "concat": "arrays axis out dtype casting",
    "stack": "arrays axis out dtype casting",
    "vstack": "arrays",
    "hstack": "arrays",
    "split": "a indices axis",
    "array_split": "a indices axis",
    "flip": "a axis",
    "flipud": "a",
    "fliplr": "a",
    "roll": "a shift axis",
    "repeat": "a repeats axis",
    "tile": "a reps",
    "pad": "a width mode constant_values",
    "diff": "a n axis prepend append",
    "where": "condition x y",
    "clip": "a min max out",
    "zeros_like": "a dtype order subok shape",
    "ones_like": "a dtype order subok shape",
    "empty_like": "a dtype order subok shape",
    "full_like": "a fill dtype order subok shape",
    "zeros": "shape dtype order",
    "ones": "shape dtype order",
    "empty": "shape dtype order",
    "full": "shape fill dtype order",
    "eye": "n m k dtype",
    "identity": "n dtype",
    "arange": "start stop step dtype",
    "linspace": "start stop num",
    "take_along_axis": "a indices axis",
    "put_along_axis": "a indices values axis",
    "take": "a indices axis out mode",
    "astype": "a dtype",
    "copy": "a order subok",
    "array": "a dtype",
    "asarray": "a dtype",
    "positive": "a",
    "conjugate": "a",
    "dot": "a b out",
    "inner": "a b",
    "outer": "a b out",
    "vdot": "a b",
    "tensordot": "a b axes",
    "diagonal": "a offset axis1 axis2",
    "diag": "a k",
    "tril": "a k",
    "triu": "a k",
    "round": "a decimals out",
    "linalg.inv": "a",
    "linalg.det": "a",
    "linalg.slogdet": "a",
    "linalg.solve": "a b",
    "linalg.cholesky": "a",
    "add.reduce": "a axis dtype out keepdims initial where",
    "maximum.reduce": "a axis dtype out keepdims initial where",
    "minimum.reduce": "a axis dtype out keepdims initial where",
    "multiply.reduce": "a axis dtype out keepdims initial where",
    "add.accumulate": "a axis dtype out",
    "multiply.accumulate": "a axis dtype out",
    "maximum.accumulate": "a axis dtype out",
    "minimum.accumulate": "a axis dtype out",
    "logaddexp.accumulate": "a axis dtype out",
    "logaddexp.reduce": "a axis dtype out keepdims initial where",
    "sliding_window_view": "a window axis",
    "nan_to_num": "a copy nan posinf neginf",
}
#: Other names of parameters.
_ALIASES = {
    "arr": "a", "x": "a", "ary": "a", "array": "a", "m": "a", "object": "a", "newshape": "shape", "fill_value": "fill",
    "N": "n", "window_shape": "window", "indices_or_sections": "indices", "pad_width": "width", "a_min": "min",
    "a_max": "max",
}  # fmt: skip
#: Arguments that change nothing for what is traced.
_IDLE = {"out", "copy", "subok", "casting", "order", "kind", "stable"}


def arguments(node: Node) -> dict[str, Any]:
    """Return a node's arguments by numpy's parameter names, those left out or None excepted.

    Raises:
        UntraceableError: the function is not known.
    """
    signature = _SIGNATURES.get(node.function)
    if signature is None:
        raise UntraceableError(f"calls np.{node.function}, which has no form in the target", node.line)
    names = signature.split()
    found = {key: value for key, value in node.kwargs.items() if value is not None}
    found |= {name: value for name, value in zip(names, node.args) if value is not None}
    for old, new in _ALIASES.items():
        if old in found and old not in names and new in names:
            found[new] = found.pop(old)
    unknown = set(found) - set(names) - {"a"}
    if unknown or ("where" in found and node.function != "where"):
        what = ", ".join(sorted(unknown or {"where"}))
        raise UntraceableError(f"calls np.{node.function} with {what}=, which has no form in the target", node.line)
    return {key: found[key] for key in names if key in found and key not in _IDLE}
