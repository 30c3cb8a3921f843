"""``paddle.hapi``: what a network is made of; ``paddle.Model`` can be imported only."""

from opkit.paddle.hapi.dynamic_flops import flops
from opkit.paddle.hapi.model_summary import summary
from opkit.shim.missing import guard

__all__ = ["flops", "summary"]

__getattr__ = guard(globals())
