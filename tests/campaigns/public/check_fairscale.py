"""What orders the branches of a graph, and changes no gradient."""

import torch
from fairscale.nn.pipe.dependency import Fork, Join  # noqa: F401


def cases_Fork(rng):
    yield {"input": rng.standard_normal((3, 4))}


def cases_Join(rng):
    yield {"input": rng.standard_normal((3, 4)), "phony": torch.zeros(0).double()}
