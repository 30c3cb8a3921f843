"""Soft dynamic time warping, by compiled loops in float32."""

import torch
from tslearn.metrics.soft_dtw_loss_pytorch import _SoftDTWLossPyTorch  # noqa: F401


def REFERENCE(D, gamma):
    batch, m, n = D.shape
    table = {(i, j): D.new_full((batch,), torch.inf) for i in range(m + 1) for j in range(n + 1)}
    table[0, 0] = D.new_zeros(batch)
    for i in range(m):
        for j in range(n):
            before = torch.stack([table[i, j], table[i, j + 1], table[i + 1, j]])
            table[i + 1, j + 1] = D[:, i, j] - gamma * torch.logsumexp(-before / gamma, 0)
    return table[m, n]


def cases(rng):
    for shape in [(2, 3, 4), (1, 4, 4)]:
        yield {"D": torch.from_numpy(rng.uniform(0.1, 2, shape)).float(), "gamma": 1.0}
