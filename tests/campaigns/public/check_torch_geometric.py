"""Cross entropy of sparse labels."""

import torch
from torch_geometric.utils.cross_entropy import SparseCrossEntropy  # noqa: F401


def cases(rng):
    label = torch.tensor([[0, 0, 1, 3], [0, 2, 1, 2]])
    yield {"inputs": rng.standard_normal((4, 3)), "edge_label_index": label, "edge_label_weight": None}
    weight = torch.from_numpy(rng.uniform(0.5, 2, 4))
    yield {"inputs": rng.standard_normal((4, 3)), "edge_label_index": label, "edge_label_weight": weight}
