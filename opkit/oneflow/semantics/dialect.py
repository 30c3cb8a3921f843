"""ONEFLOW: the rules and words that the blobs of OneFlow's jobs follow.

Tensors are not promoted, and a number takes the blob's dtype (the attributes of ``scalar_add`` and ``scalar_mul`` are
converted to it), so that an integer blob stays one.

Source: OneFlow v0.4.0, scalar_add_kernel.cpp, scalar_mul_kernel.cpp, binary_func.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.ir import Dialect, Words
from opkit.oneflow.semantics.dtypes import dtype_of


def _number(dtype: np.dtype, number: Any) -> np.dtype | None:
    return dtype if dtype.kind != "b" or isinstance(number, (bool, np.bool_)) else None


#: OneFlow v0.4.
ONEFLOW = Dialect(
    "oneflow",
    meet_number=_number,
    add_number=_number,
    show_dtype=dtype_of,
    words=Words(
        make_tensor="feed the job an array, or use flow.constant",
        keep_gradient="use a function of flow.math",
        python_in_graph="write an op directory: opkit new NAME",
    ),
)
