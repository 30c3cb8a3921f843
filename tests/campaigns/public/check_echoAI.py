"""Activations in pieces."""

from echoAI.Activation.Torch.apl import apl_function  # noqa: F401
from echoAI.Activation.Torch.brelu import BReLU  # noqa: F401
from echoAI.Activation.Torch.maxout import Maxout  # noqa: F401


def cases_BReLU(rng):
    yield {"input": rng.standard_normal((5, 3))}


def cases_apl_function(rng):
    yield {"input": rng.standard_normal((2, 3)), "a": rng.standard_normal((2, 1, 3)), "b": rng.standard_normal((2, 1, 3))}


def cases_Maxout(rng):
    yield {"input": rng.standard_normal((2, 8, 3, 2))}
