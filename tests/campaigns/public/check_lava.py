"""Filters, delays, roundings and spikes over time, the last axis."""

import torch
from lava.lib.dl.slayer.axon.delay import _delayFunctionNoGradient  # noqa: F401
from lava.lib.dl.slayer.spike.spike import Spike  # noqa: F401
from lava.lib.dl.slayer.utils.filter.conv import _conv, _corr  # noqa: F401
from lava.lib.dl.slayer.utils.int_utils import Q2Zero  # noqa: F401
from lava.lib.dl.slayer.utils.quantize import _floor, _quantize  # noqa: F401

SURROGATE_Q2Zero = {"forward": lambda x: 1 * x}


def SURROGATE_quantize_forward(input, step):
    return 1 * input


SURROGATE__quantize = SURROGATE__floor = {"forward": SURROGATE_quantize_forward}


def cases(rng):
    yield {"input": 3 * rng.standard_normal((3, 5)), "step": 0.5}


def cases_Q2Zero(rng):
    yield {"x": 3 * rng.standard_normal((3, 5))}


def cases__conv(rng):
    yield {"input": rng.standard_normal((2, 3, 7)), "filter": torch.from_numpy(rng.standard_normal(3)), "sampling_time": 0.5}


cases__corr = cases__conv


def cases__delayFunctionNoGradient(rng):
    for delay in (2, 1):
        yield {"input": rng.standard_normal((2, 3, 7)), "delay_val": delay, "sampling_time": 1}


def SURROGATE_Spike_forward(voltage, threshold, tau_rho, scale_rho, graded_spike, voltage_last, scale):
    apart = voltage - threshold
    return scale_rho / 2 * torch.sign(apart) * (1 - torch.exp(-apart.abs() / tau_rho))


SURROGATE_Spike = {"forward": SURROGATE_Spike_forward}


def cases_Spike(rng):
    yield {
        "voltage": rng.standard_normal((2, 3, 5)),
        "threshold": 0.3,
        "tau_rho": 0.5,
        "scale_rho": 1.5,
        "graded_spike": False,
        "voltage_last": 0,
        "scale": 1,
    }
