"""Dynamic mode: Tensors, the recorded graph and PyLayer. Importing it makes eager the default mode."""

from opkit.eager.backward import run_backward
from opkit.eager.node import Node, apply, install
from opkit.eager.tensor import Tensor, wrap

install()

__all__ = ["Node", "Tensor", "apply", "install", "run_backward", "wrap"]
