"""Tensor-parallel layers, whole on the one process: the same parameters and results as the plain layers'."""

from __future__ import annotations

from typing import Any

from opkit.ops.core.types import Name
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.common import Embedding, Linear
from opkit.paddle.nn.layer.layers import Layer

__all__ = ["ColumnParallelLinear", "ParallelCrossEntropy", "RowParallelLinear", "VocabParallelEmbedding"]


class ColumnParallelLinear(Linear):
    """A linear map whose outputs are divided.

    Args:
        in_features: the size of the last axis of the input.
        out_features: that of the output.
        weight_attr: of the weight.
        has_bias: whether there is a bias (None: there is).
        gather_output: accepted; the output is whole.
        fuse_matmul_bias: accepted, without effect.
        mp_group: accepted, without effect.
        name: its name.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool | None = None,
        gather_output: bool = True,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: Name = None,
    ) -> None:
        super().__init__(in_features, out_features, weight_attr, False if has_bias is False else None, name)
        self.gather_output = gather_output
        self.is_mp = False


class RowParallelLinear(Linear):
    """A linear map whose inputs are divided.

    Args:
        in_features: the size of the last axis of the input.
        out_features: that of the output.
        weight_attr: of the weight.
        has_bias: whether there is a bias.
        input_is_parallel: accepted; the input is whole.
        fuse_matmul_bias: accepted, without effect.
        mp_group: accepted, without effect.
        name: its name.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool = True,
        input_is_parallel: bool = False,
        fuse_matmul_bias: bool = False,
        mp_group: Any = None,
        name: Name = None,
    ) -> None:
        super().__init__(in_features, out_features, weight_attr, None if has_bias else False, name)
        self.input_is_parallel = input_is_parallel
        self.is_mp = False


class VocabParallelEmbedding(Embedding):
    """A table whose rows are divided.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the size of a row.
        weight_attr: of the table.
        mp_group: accepted, without effect.
        name: its name.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, weight_attr: Any = None, mp_group: Any = None, name: Name = None
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, weight_attr=weight_attr, name=name)
        self.is_mp = False


class ParallelCrossEntropy(Layer):
    """Softmax and cross entropy per sample, of logits whose classes are divided.

    Args:
        mp_group: accepted, without effect.
        name: its name.
        ignore_index: the label whose samples give zero.
    """

    def __init__(self, mp_group: Any = None, name: Name = None, ignore_index: int = -100) -> None:
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, input: Any, label: Any) -> Any:
        """Return the losses; the last axis has size one."""
        return functional.softmax_with_cross_entropy(input, label, ignore_index=self.ignore_index)
