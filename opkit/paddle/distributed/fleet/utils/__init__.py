"""``paddle.distributed.fleet.utils``."""

from opkit.paddle.distributed.fleet.recompute import recompute
from opkit.paddle.distributed.fleet.utils import hybrid_parallel_util
from opkit.shim.missing import guard

__all__ = ["hybrid_parallel_util", "recompute"]

__getattr__ = guard(globals())
