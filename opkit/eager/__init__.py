"""Dynamic mode: Tensors, the recorded graph and PyLayer. Importing it makes eager the default mode."""

from opkit.eager.backward import grad, run_backward
from opkit.eager.node import Node, apply, install
from opkit.eager.pylayer import PyLayer
from opkit.eager.pylayer_context import PyLayerContext
from opkit.eager.tensor import Tensor, wrap

install()

__all__ = ["Node", "PyLayer", "PyLayerContext", "Tensor", "apply", "grad", "install", "run_backward", "wrap"]
