"""Spikes and quantisers, mostly with ``setup_context``."""

import torch
from spikingjelly.activation_based.layer.online_learning import ReplaceforGrad  # noqa: F401
from spikingjelly.activation_based.quantize import ClampATGF, KBitQuantizeATGF, RoundATGF  # noqa: F401
from spikingjelly.activation_based.surrogate import atan, piecewise_leaky_relu, rect, s2nn, sigmoid  # noqa: F401

SURROGATE_sigmoid = {"forward": lambda x, alpha: torch.sigmoid(alpha * x)}
SURROGATE_atan = {"forward": lambda x, alpha: torch.atan(torch.pi / 2 * alpha * x) / torch.pi}
SURROGATE_rect = {"forward": lambda x, alpha: alpha * x.clamp(-0.5 / alpha, 0.5 / alpha)}
SURROGATE_s2nn = {
    "forward": lambda x, alpha, beta: torch.where(x < 0, torch.sigmoid(alpha * x), 0.5 + beta * torch.log(x.abs() + 1))
}
SURROGATE_RoundATGF = {"forward": lambda x: 1 * x}
SURROGATE_KBitQuantizeATGF = {"forward": lambda x, k: 1 * x}
SURROGATE_ReplaceforGrad = {"forward": lambda x, x_r: x + x_r}


def SURROGATE_piecewise_leaky_relu_forward(x, w=1, c=0.01):
    return c * x + (1 / (2 * w) - c) * x.clamp(-w, w)


SURROGATE_piecewise_leaky_relu = {"forward": SURROGATE_piecewise_leaky_relu_forward}


def cases(rng):
    yield {"x": rng.standard_normal((3, 5)), "alpha": 2.0}


def cases_s2nn(rng):
    yield {"x": rng.standard_normal((3, 5)), "alpha": 4.0, "beta": 1.0}


def cases_RoundATGF(rng):
    yield {"x": 3 * rng.standard_normal((3, 5))}


def cases_piecewise_leaky_relu(rng):
    yield {"x": rng.standard_normal((3, 5)), "w": 1.0, "c": 0.01}


def cases_KBitQuantizeATGF(rng):
    yield {"x": rng.uniform(0, 1, (3, 5)), "k": 3}


def cases_ClampATGF(rng):
    yield {"x": rng.standard_normal((3, 5)), "min_value": -0.5, "max_value": 0.8}


def cases_ReplaceforGrad(rng):
    yield {"x": rng.standard_normal((3, 5)), "x_r": rng.standard_normal((3, 5))}
