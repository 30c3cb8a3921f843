"""``paddle.io.dataloader``: the parts of ``paddle.io`` under their longer paths."""

from opkit.paddle.io.dataloader import collate
from opkit.shim.missing import guard

__all__ = ["collate"]

__getattr__ = guard(globals())
