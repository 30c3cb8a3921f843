"""Roundings of a codec, and gaps that are filled by lines."""

import torch
from diffsptk.modules.magic_intpl import MagicNumberInterpolationImpl  # noqa: F401
from diffsptk.modules.quantize import Floor, Round  # noqa: F401

SURROGATE_Floor = SURROGATE_Round = {"forward": lambda x: 1 * x}


def cases(rng):
    for shape in [(4,), (3, 5)]:
        yield {"x": 3 * rng.standard_normal(shape)}


def cases_MagicNumberInterpolationImpl(rng):
    x = rng.standard_normal(7)
    x[2:4] = 0
    yield {"x": x, "magic_number": torch.zeros(()).double()}
