"""A linear layer whose weight may be packed."""

from optimum.quanto.tensor.function import QuantizedLinearFunction  # noqa: F401


def cases(rng):
    for lead in [(3,), (2, 3)]:
        yield {
            "input": rng.standard_normal((*lead, 4)),
            "other": rng.standard_normal((5, 4)),
            "bias": rng.standard_normal(5),
        }
