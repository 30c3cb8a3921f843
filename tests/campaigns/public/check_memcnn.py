"""Reversible blocks: modules as arguments, and their weights after them."""

import torch
from memcnn.models.additive import AdditiveBlockFunction, AdditiveBlockFunction2  # noqa: F401
from memcnn.models.affine import AffineBlockFunction2  # noqa: F401


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 4)

    def forward(self, x):
        scale, shift = self.inner(x).chunk(2, dim=1)
        return torch.nn.functional.softplus(scale) + 1, shift


def block(make, rng):
    first, second = make().double(), make().double()
    weights = [*first.parameters(), *second.parameters()]
    return {
        "xin": torch.from_numpy(rng.standard_normal((3, 4))).requires_grad_(),
        "Fm": first,
        "Gm": second,
        "weights": weights,
    }


def cases(rng):
    torch.manual_seed(0)
    yield block(lambda: torch.nn.Linear(2, 2), rng)


def cases_AffineBlockFunction2(rng):
    torch.manual_seed(0)
    yield block(Two, rng)
