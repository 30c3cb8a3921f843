"""``paddle.geometric``: rows reduced by segment, and messages along the edges of graphs."""

from opkit.paddle.geometric.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_sum,
    send_u_recv,
    send_ue_recv,
    send_uv,
)
from opkit.shim.missing import guard

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_sum", "send_u_recv", "send_ue_recv", "send_uv"]

__getattr__ = guard(globals())
