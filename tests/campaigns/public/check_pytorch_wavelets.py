"""Filter banks, in one dimension and two, and a smooth modulus."""

import torch
from pytorch_wavelets.dwt.lowlevel import AFB1D, AFB2D, SFB1D  # noqa: F401
from pytorch_wavelets.scatternet.lowlevel import SmoothMagFn  # noqa: F401


def drawn(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape))


def cases_AFB1D(rng):
    for mode, n in [(0, 8), (2, 8), (0, 10)]:
        yield {
            "x": drawn(rng, 2, 3, n).requires_grad_(),
            "h0": drawn(rng, 1, 1, 4),
            "h1": drawn(rng, 1, 1, 4),
            "mode": mode,
        }


def cases_AFB2D(rng):
    filters = {key: drawn(rng, 1, 1, 1, 4) for key in ("h0_row", "h1_row")}
    filters |= {key: drawn(rng, 1, 1, 4, 1) for key in ("h0_col", "h1_col")}
    yield {"x": drawn(rng, 2, 1, 8, 8).requires_grad_(), **filters, "mode": 1}


def cases_SFB1D(rng):
    low, high = drawn(rng, 2, 1, 5).requires_grad_(), drawn(rng, 2, 1, 5).requires_grad_()
    yield {"low": low, "high": high, "g0": drawn(rng, 1, 1, 4), "g1": drawn(rng, 1, 1, 4), "mode": 0}


def cases_SmoothMagFn(rng):
    yield {"x": drawn(rng, 3, 4).requires_grad_(), "y": drawn(rng, 3, 4).requires_grad_(), "b": 0.1}
