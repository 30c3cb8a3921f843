"""Reversible halves, which hand values on as if they were gradients."""

import torch
from revlib.core import ReversibleWrapper, _ReplaceGrad, _ReversibleHalfResidualSwapFn  # noqa: F401


def cases__ReplaceGrad(rng):
    yield {name: rng.standard_normal((3, 4)) for name in ("inp0", "inp1", "tmp_inp0", "tmp_inp1")}


def cases__ReversibleHalfResidualSwapFn(rng):
    torch.manual_seed(0)
    yield {
        **{name: rng.standard_normal((3, 4)) for name in ("x0", "x1", "back_x0", "back_x1")},
        "mod": ReversibleWrapper(torch.nn.Linear(4, 4).double(), lambda x, y: x + y, lambda x, y: x - y),
        "target_device": "",
        "cuda": False,
        "optimizer_step": None,
        "args": (),
        "kwargs": {},
    }
