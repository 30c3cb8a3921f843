"""The constant of a tempered softmax, found by iterations and differentiated where it has converged."""

from pytorch_optimizer.loss.bi_tempered import ComputeNormalization  # noqa: F401


def cases(rng):
    for t, num_iters in [(1.5, 60), (0.6, 60)]:
        yield {"activations": rng.standard_normal((3, 5)), "t": t, "num_iters": num_iters}
