"""What an op's kernel cannot take its inference refuses: a saved program or a definition may name any op as it likes."""

from __future__ import annotations

from typing import Any

import pytest

from opkit import ops
from opkit.errors import OpkitError
from opkit.ir import TensorDesc

WINDOW = {"padding_before": (0, 0), "data_format": "channels_first", "strides": (1, 1), "dilation_rate": (1, 1)}
CONV = {**WINDOW, "filters": 4, "kernel_size": (2, 2), "groups": 1}
POOL = {**WINDOW, "padding": "customized", "padding_after": (0, 0), "pool_size": (2, 2), "ceil_mode": False}
IMAGE, MATRIX, VECTOR = (2, 4, 6, 6), (2, 4), (4,)
MATMUL: dict[str, Any] = {"transpose_a": False, "transpose_b": True, "alpha": 1.0}
NORM = {"axis": 1, "epsilon": 1e-5, "training": False, "momentum": 0.9}

#: op, shapes of its inputs ("i" before integers), attributes, a change to each that is refused.
ROWS: list[tuple[str, list[Any], dict[str, Any], list[tuple[str, Any]]]] = [
    ("conv2d", [IMAGE, (4, 4, 2, 2), None, None], CONV, [("groups", -1), ("strides", (0, 1)), ("dilation_rate", (1, 0))]),
    ("avg_pool_2d", [IMAGE], {**POOL, "exclusive": True}, [("strides", (-1, 1)), ("pool_size", (0, 2))]),
    ("max_pool_2d", [IMAGE], POOL, [("strides", (-1, 1)), ("pool_size", (2, -2))]),
    ("matmul", [MATRIX, MATRIX, (2, 2)], MATMUL, [("2", (2, 3)), ("2", (1, 2, 2)), ("2", (3, 2))]),
    ("normalization", [MATRIX, VECTOR, VECTOR, VECTOR, VECTOR, None], NORM, [(str(i), MATRIX) for i in range(1, 5)]),
    ("normalization_grad", [MATRIX, MATRIX, VECTOR, VECTOR, VECTOR], {"axis": 1, "epsilon": 1e-5}, [("1", VECTOR), ("4", (3,))]),
    ("moving_average_update", [VECTOR, VECTOR], {"momentum": 0.9}, [("1", (3,))]),
    ("cumsum", [MATRIX], {"axis": 1, "reverse": False}, [("axis", 2), ("axis", 2**40)]),
    ("cumprod", [MATRIX], {"axis": 1}, [("axis", -3)]),
    ("tile", [MATRIX], {"reps": (2, 1)}, [("reps", (2, -1))]),
    ("flip", [MATRIX], {"axis": (1,)}, [("axis", (2,)), ("axis", (1, 7))]),
    ("roll", [MATRIX], {"shifts": (1,), "axis": (1,)}, [("axis", (2,))]),
    ("dim_gather", [MATRIX, ("i", 2, 3)], {"dim": 1}, [("dim", 2)]),
    ("put_along_axis", [MATRIX, ("i", 2, 3), (2, 3)], {"dim": 1}, [("dim", 5), ("1", ("i", 3)), ("2", (2, 2))]),
    ("dim_scatter_add_like", [MATRIX, (2, 3), ("i", 2, 3)], {"dim": 1}, [("dim", 5), ("1", (2, 2))]),
]  # fmt: skip


def described(shape: Any) -> TensorDesc | None:
    if shape is None:
        return None
    return TensorDesc(shape[1:], "int64") if shape[:1] == ("i",) else TensorDesc(shape, "float32")


@pytest.mark.parametrize(("name", "shapes", "attrs", "changes"), ROWS, ids=[row[0] for row in ROWS])
def test_what_a_kernel_cannot_take_is_refused(name: str, shapes: Any, attrs: Any, changes: Any) -> None:
    """The row itself is accepted; each change of an attribute, or of an input by its number, is an error of opkit's."""
    infer = ops.BUILTIN.get(name).infer
    assert infer is not None
    infer([described(shape) for shape in shapes], attrs)
    for what, value in changes:
        inputs = [value if what == str(place) else shape for place, shape in enumerate(shapes)]
        with pytest.raises(OpkitError):
            infer([described(shape) for shape in inputs], {**attrs, what: value} if what in attrs else attrs)
