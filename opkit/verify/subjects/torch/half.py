"""Half precision against float32 (GC207), where a function takes bfloat16 or float16.

The same values run in both; only what is off in most entries is a fault, since rounding moves values across jumps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from opkit.checker.model.agreement import mostly_agree
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.own import Fault
from opkit.verify.subjects.foreign.halves import difference
from opkit.verify.subjects.torch.runner import OwnRunner, gradients_of
from opkit.verify.subjects.torch.tensors import array_of

#: Values beyond this in float32 may overflow on the way in float16.
_SMALL = 100.0


def half_precision(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC207: results and gradients in bfloat16 and float16 against float32; what is not served there is a line."""
    lines: list[Fault] = []
    for dtype in (torch.bfloat16, torch.float16):

        def narrow(array: np.ndarray, dtype: Any = dtype) -> Any:
            tensor = runner.device.private(array)
            return tensor.to(dtype) if tensor.dtype.is_floating_point else tensor

        def wide(array: np.ndarray, dtype: Any = dtype) -> Any:
            tensor = runner.device.private(array)
            return tensor.to(dtype).float() if tensor.dtype.is_floating_point else tensor

        try:
            expected = runner.apply(arrays, attrs, make=wide)
            actual = runner.apply(arrays, attrs, make=narrow)
        except Exception:  # user code: it does not take the dtype
            continue
        one, other = [array_of(item) for item in expected.outputs], [array_of(item) for item in actual.outputs]
        if dtype is torch.float16 and any(
            np.abs(item).max(initial=0.0) > _SMALL for item in one if item.dtype.kind == "f"
        ):
            continue
        name = str(dtype).removeprefix("torch.")
        eps = float(torch.finfo(dtype).eps)
        if not all(np.isfinite(item).all() for item in other if item.dtype.kind == "f"):
            lines.append(Fault(f"{name}, in which forward gives NaN or infinity", is_line=True))
            continue
        if not mostly_agree(one, other, eps, _largest(arrays)):
            return [Fault(f"forward gives other results in {name} than in float32")]
        seeds = [runner.device.private(np.asarray(dout)).to(dtype) for dout in douts]
        try:
            wanted, found = gradients_of(expected, seeds), gradients_of(actual, seeds)
        except Exception as error:  # user code
            said = f"{type(error).__name__}: {error}".partition("\n")[0]
            lines.append(Fault(f"{name}, in which backward raises ({said})", is_line=True))
            continue
        sources = [item for _, item in leaves_of(arrays)]
        for key, value in wanted.items():
            given = found.get(key)
            if value is None or given is None:
                continue
            found_off = difference(array_of(value), array_of(given), name, eps, douts, other, sources)
            if found_off:
                return [Fault(f"the gradient of {key[0]} {found_off}", input=key[0])]
    return lines


def _largest(arrays: Mapping[str, Any]) -> float:
    """Return the largest magnitude among float inputs."""
    sizes = [float(np.abs(array).max(initial=0.0)) for _, array in leaves_of(arrays) if array.dtype.kind == "f"]
    return max(sizes, default=0.0)
