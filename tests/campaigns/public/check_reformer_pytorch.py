"""A reversible sequence, whose blocks are an argument."""

import torch
from reformer_pytorch.reversible import ReversibleBlock, _ReversibleFunction  # noqa: F401


def cases(rng):
    torch.manual_seed(0)
    blocks = torch.nn.ModuleList(
        ReversibleBlock(torch.nn.Linear(2, 2).double(), torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()).double())
        for _ in range(2)
    )
    yield {"x": rng.standard_normal((2, 3, 4)), "blocks": blocks, "kwargs": {}}
