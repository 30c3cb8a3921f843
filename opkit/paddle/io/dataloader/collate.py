"""``paddle.io.dataloader.collate``: how the samples of a batch are joined."""

from opkit.paddle.io.loader import default_collate_fn, with_tensors
from opkit.shim.missing import guard

default_convert_fn = with_tensors

__all__ = ["default_collate_fn", "default_convert_fn"]

__getattr__ = guard(globals())
