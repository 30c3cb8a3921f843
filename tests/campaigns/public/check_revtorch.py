"""Reversible blocks of modules, where parameters get their gradient beside the Function's own."""

import torch
from revtorch.revtorch import ReversibleBlock, _ReversibleModuleFunction  # noqa: F401


def cases(rng):
    torch.manual_seed(0)
    blocks = torch.nn.ModuleList(
        ReversibleBlock(torch.nn.Linear(2, 2).double(), torch.nn.Linear(2, 2).double(), split_along_dim=1)
        for _ in range(2)
    )
    yield {"x": rng.standard_normal((3, 4)), "reversible_blocks": blocks, "eagerly_discard_variables": False}
