"""Filters of finite and infinite response, and a gradient that is scaled."""

from torchaudio.functional.filtering import DifferentiableFIR, DifferentiableIIR  # noqa: F401
from torchaudio.models.wav2vec2.components import GradMultiply  # noqa: F401

SURROGATE_GradMultiply = {"forward": lambda x, scale: scale * x}


def cases(rng):
    yield {"x": rng.standard_normal((3, 4)), "scale": 0.1}


def cases_DifferentiableFIR(rng):
    for batch, channels, time, order in [(2, 3, 8, 3), (1, 2, 5, 2)]:
        yield {"waveform": rng.standard_normal((batch, channels, time)), "b_coeffs": rng.standard_normal((channels, order))}


def cases_DifferentiableIIR(rng):
    for batch, channels, time, order in [(2, 3, 8, 3), (1, 2, 5, 2)]:
        a = 0.3 * rng.standard_normal((channels, order))
        a[:, 0] = 1
        yield {"waveform": rng.standard_normal((batch, channels, time)), "a_coeffs_normalized": a}
