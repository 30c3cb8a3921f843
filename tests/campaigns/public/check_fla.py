"""A penalty that is in the gradient alone."""

from fla.modules.l2warp import L2Wrap  # noqa: F401


def SURROGATE_forward(loss, logits, l2_penalty_factor):
    count = logits.shape[0] * logits.shape[1]
    return loss + l2_penalty_factor / count * logits.max(-1).values.pow(2).sum() / 2


SURROGATE = {"forward": SURROGATE_forward}


def cases(rng):
    yield {"loss": rng.standard_normal(()), "logits": rng.standard_normal((2, 3, 5)), "l2_penalty_factor": 0.1}
