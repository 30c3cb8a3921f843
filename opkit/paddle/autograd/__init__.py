"""``paddle.autograd``: PyLayer, and gradients of dynamic mode."""

from opkit.eager import PyLayer, PyLayerContext, saved_tensors_hooks
from opkit.paddle.autograd import py_layer
from opkit.paddle.autograd.backward_mode import backward, grad
from opkit.shim.missing import guard

__all__ = ["PyLayer", "PyLayerContext", "backward", "grad", "py_layer", "saved_tensors_hooks"]

__getattr__ = guard(globals())
