"""``paddle.base.backward``."""

from opkit.paddle.static.program import gradients
from opkit.shim.missing import guard
from opkit.static import append_backward

calc_gradient = gradients

__all__ = ["append_backward", "calc_gradient", "gradients"]

__getattr__ = guard(globals())
