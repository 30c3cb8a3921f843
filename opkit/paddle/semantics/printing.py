"""How Tensors and static Variables print: Paddle 2.6's layout, with its options (``paddle.set_printoptions``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.record import mutable


@mutable
class PrintOptions:
    """Options for printing.

    Args:
        precision: digits after the point.
        threshold: a tensor with more elements is abbreviated.
        edgeitems: how many items an abbreviated axis shows at either end.
        linewidth: characters a line.
        sci_mode: print floats in scientific notation.
    """

    precision: int = 8
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool = False


PRINT_OPTIONS = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Change how Tensors print; options that are left out keep their values.

    Raises:
        UsageError: an option has the wrong type.
    """
    given: dict[str, Any] = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "sci_mode": sci_mode,
        "linewidth": linewidth,
    }
    for name, value in given.items():
        if value is None:
            continue
        kind = bool if name == "sci_mode" else int
        if not isinstance(value, kind):
            raise UsageError(f"set_printoptions: {name} must be {kind.__name__}, got {type(value).__name__}")
        setattr(PRINT_OPTIONS, name, value)


def text_of(array: ndarray, dtype: str, stop_gradient: bool, prefix: str = "Tensor") -> str:
    """Return the text of a Tensor.

    Args:
        array: its data.
        dtype: its dtype's name.
        stop_gradient: its flag.
        prefix: what stands before the parenthesis.
    """
    indent = len(prefix) + 1
    is_short = array.ndim > 0 and array.size > PRINT_OPTIONS.threshold
    shown = _edges(array) if is_short else array
    items = [_item(item) for item in shown.ravel()] if shown.size else []
    width = max(map(len, items), default=0)
    kind = array.dtype.kind
    signed = kind in "if" and bool((shown < 0).any())
    body = _block(array, is_short, indent, width, signed)
    return (
        f"{prefix}(shape={list(array.shape)}, dtype={dtype}, place=Place(cpu), stop_gradient={stop_gradient},\n"
        f"{' ' * indent}{body})"
    )


def _edges(array: ndarray) -> ndarray:
    """Return what an abbreviated array shows, without the dots."""
    edge = PRINT_OPTIONS.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = array.take([*range(edge), *range(size - edge, size)], axis)
    return array


def _item(item: Any) -> str:
    if isinstance(item, np.floating):
        if PRINT_OPTIONS.sci_mode:
            return f"{item:.{PRINT_OPTIONS.precision}e}"
        number = float(item)
        if math.isinf(number) or math.isnan(number):
            return f"{number}." if math.isinf(number) else "nan"
        return f"{number:.0f}." if number.is_integer() else f"{number:.{PRINT_OPTIONS.precision}f}"
    return str(item)


def _padded(item: Any, width: int, signed: bool) -> str:
    text = _item(item)
    if width <= len(text):
        return text
    if signed and not item < 0:
        return " " + text.ljust(width - 1)
    return text.ljust(width)


def _block(array: ndarray, is_short: bool, indent: int, width: int, signed: bool) -> str:
    if array.ndim == 0:
        return _padded(array[()], width, signed)
    edge = PRINT_OPTIONS.edgeitems
    is_cut = is_short and array.shape[0] > 2 * edge
    rows: Sequence[Any] = [*array[:edge], *array[-edge:]] if is_cut else list(array)
    if array.ndim == 1:
        texts = [_padded(item, width, signed) for item in rows]
        if is_cut:
            texts.insert(edge, "...")
        per_line = max(1, (PRINT_OPTIONS.linewidth - indent) // (width + 2))
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    texts = [_block(row, is_short, indent + 1, width, signed) for row in rows]
    if is_cut:
        texts.insert(edge, "...")
    if not texts:
        return "[]"
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def tensor_text(tensor: Any) -> str:
    """Return the text of a Tensor, of a parameter with its heading."""
    text = text_of(tensor._data, tensor._data.dtype.name, tensor._sg)
    return f"Parameter containing:\n{text}" if tensor.is_parameter else text


def variable_text(variable: Any) -> str:
    """Return the text of a static Variable."""
    kind = f"{'trainable ' if variable.trainable else ''}param" if variable.is_parameter else "var"
    held = "persist " if variable.persistable else ""
    value = variable.value
    return (
        f"{held}{kind} {variable.name} : LOD_TENSOR.shape{tuple(value.shape)}.dtype({value.dtype.name})"
        f".stop_gradient({variable.stop_gradient})"
    )
