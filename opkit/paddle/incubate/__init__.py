"""``paddle.incubate``: fused linear functions and reductions of segments; the rest can be imported only."""

from opkit.paddle.geometric.segments import segment_max, segment_mean, segment_min, segment_sum
from opkit.paddle.geometric.segments import send_u_recv as graph_send_recv
from opkit.paddle.incubate import nn
from opkit.shim.missing import guard

__all__ = ["graph_send_recv", "nn", "segment_max", "segment_mean", "segment_min", "segment_sum"]

__getattr__ = guard(globals())
