"""``paddle.distributed.fleet.base``: the older path of role makers."""

from opkit.paddle.distributed.fleet.base import role_maker
from opkit.shim.missing import guard

__all__ = ["role_maker"]

__getattr__ = guard(globals())
